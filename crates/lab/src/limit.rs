//! The limit of a port: rate, bucket and queue, and why these sizes.
//!
//! Owns the choice of defaults. Never touches the kernel.

use measure::{ByteCount, Rate};
use serde::{Deserialize, Serialize};

/// What holds a port to its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shaper {
    /// A token bucket filter.
    #[default]
    Tbf,
    /// A hierarchical token bucket with one class for all frames. It counts as tbf counts.
    Htb,
}

impl Shaper {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Tbf, Self::Htb];

    /// As it is written, and as the kernel calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tbf => "tbf",
            Self::Htb => "htb",
        }
    }
}

/// A token bucket on a port's way out.
///
/// **What the rate counts**: the frame from its Ethernet header to its last payload octet,
/// *without* FCS, preamble and gap, because that is what the kernel's queues see. A frame of 1518
/// octets (RFC 2544) counts 1514, one of 64 counts 60. A port of this rate therefore forwards `rate
/// / (8 * (frame size - 4))` frames a second, which is more than a real link of that rate does.
/// Only a limit that [`Self::of_wire`] made counts these too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortLimit {
    /// Bits a second, counted as above.
    pub rate: Rate,
    /// What may go at once after a pause.
    pub burst: ByteCount,
    /// What may wait; the frame that would exceed it is dropped.
    pub queue: ByteCount,
    /// What each frame counts beyond its octets, in octets.
    #[serde(default)]
    pub overhead: u16,
    /// Which of the kernel's buckets it is.
    #[serde(default)]
    pub shaper: Shaper,
}

/// Ethernet header: what a frame is larger than its IP packet, without FCS.
const HEADER_OCTETS: u64 = 14;
/// A millisecond of tokens outlives the pauses of a busy machine's timers; a thousandth of a second
/// is 0.05 % of a trial of two seconds.
const BURST_NS: u64 = 1_000_000;
/// Two milliseconds, 0.1 % of a trial of two seconds.
const QUEUE_NS: u64 = 2_000_000;
/// 10 ms.
const SWITCH_QUEUE_NS: u64 = 10_000_000;
/// One frame on its way and one behind it: of a queue, and of the tokens in a bucket.
const LEAST_FRAMES: u64 = 2;

/// FCS, preamble, delimiter and gap (IEEE 802.3).
const WIRE_OVERHEAD: u16 = 24;
/// What may go at once on a wire that another holds to its rate: the kernel's timers are late by so
/// much at times.
const WIRE_BURST_NS: u64 = 250_000;
/// How many frames of the largest size wait at an interface of Linux.
const INTERFACE_FRAMES: u64 = 1000;

impl PortLimit {
    /// The limit for ports of `rate` that carry packets up to `mtu`.
    ///
    /// A trial of T seconds can pass `rate * T + burst + queue` bytes: a full bucket at its start
    /// and a full queue that drains after its end. The burst is 1 ms at the rate and the queue,
    /// where not given, 2 ms, so that a trial of two seconds shows at most 0.15 % more than the
    /// rate. Neither is less than two frames: a bucket of one is full whenever a frame may go, and
    /// what the kernel's timer is late by is lost to it (1.3 % were, at 7.7 Mbit/s and 1518
    /// octets). With jumbo frames that floor takes over below 144 Mbit/s, and at 10 Mbit/s it comes
    /// to 1.4 % of two seconds.
    ///
    /// The price of a short queue: a greedy sender that is kept off its core for longer than burst
    /// and queue together leaves the port idle, and a paced one that catches up afterwards
    /// overflows it. On a busy machine give a longer `queue`, and a longer trial to keep its share
    /// small.
    pub fn new(rate: Rate, queue: Option<ByteCount>, mtu: u32) -> Self {
        let frame = u64::from(mtu) + HEADER_OCTETS;
        let burst = ByteCount(octets_over(rate, BURST_NS).max(LEAST_FRAMES * frame));
        let fitting = ByteCount(octets_over(rate, QUEUE_NS).max(LEAST_FRAMES * frame));
        let queue = queue.unwrap_or(fitting);
        Self { rate, burst, queue, overhead: 0, shaper: Shaper::Tbf }
    }

    /// What a port of a switch does, where the rate is a wire's, counted with FCS, preamble and
    /// gap: a bucket as [`Self::new`]'s, and a queue of 10 ms at the rate where not given, no less
    /// than two frames. It swallows what senders on a busy machine send late and at once, and adds
    /// 2 % to what passes in half a second.
    pub fn of_switch(rate: Rate, queue: Option<ByteCount>, mtu: u32) -> Self {
        let plain = Self::new(rate, queue, mtu);
        let fitting = ByteCount((plain.queue.0).max(octets_over(rate, SWITCH_QUEUE_NS)));
        Self { queue: queue.unwrap_or(fitting), overhead: WIRE_OVERHEAD, ..plain }
    }

    /// What a network interface of that rate does to its host: it takes frames at the speed of the
    /// wire, counted with FCS, preamble and gap, and lets a thousand wait. So a sender is held up,
    /// and loses nothing that its socket did not allow.
    pub fn of_wire(rate: Rate, mtu: u32) -> Self {
        let frame = u64::from(mtu) + HEADER_OCTETS + u64::from(WIRE_OVERHEAD);
        Self {
            rate,
            burst: ByteCount(octets_over(rate, WIRE_BURST_NS).max(LEAST_FRAMES * frame)),
            queue: ByteCount(INTERFACE_FRAMES * frame),
            overhead: WIRE_OVERHEAD,
            shaper: Shaper::Tbf,
        }
    }

    /// The same by another bucket of the kernel's.
    #[must_use]
    pub fn by(self, shaper: Shaper) -> Self {
        Self { shaper, ..self }
    }
}

/// What passes in so long, as far as the kernel can count.
fn octets_over(rate: Rate, nanos: u64) -> u64 {
    let octets = u128::from(rate.0) * u128::from(nanos) / 8_000_000_000;
    u64::try_from(octets).unwrap_or(u64::MAX).min(u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_rate() {
        let check = |rate: &str, mtu, burst, queue| {
            let limit = PortLimit::new(rate.parse().unwrap(), None, mtu);
            assert_eq!((limit.burst.0, limit.queue.0), (burst, queue), "{rate} {mtu}");
        };
        check("10Mbit", 9000, 18_028, 18_028);
        check("10Mbit", 1500, 3028, 3028);
        check("100Mbit", 9000, 18_028, 25_000);
        check("1Gbit", 9000, 125_000, 250_000);
        check("100Gbit", 9000, 12_500_000, 25_000_000);
        check("1000000Tbit", 9000, u64::from(u32::MAX), u64::from(u32::MAX));
    }

    #[test]
    fn excess_of_a_short_trial() {
        for rate in ["144Mbit", "200Mbit", "1Gbit", "10Gbit"] {
            let limit = PortLimit::new(rate.parse().unwrap(), None, 9000);
            let trial = limit.rate.bits_per_second() / 8.0 * 2.0;
            let excess = (limit.burst.0 + limit.queue.0) as f64 / trial;
            assert!(excess <= 0.0016, "{rate}: {excess}");
        }
    }
}
