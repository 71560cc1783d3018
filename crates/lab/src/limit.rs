//! The limit of a port: rate, bucket and queue, and the reasons for these sizes.
//!
//! Owns the choice of defaults. Never touches the kernel.

use measure::{ByteCount, Rate};
use serde::{Deserialize, Serialize};

/// Kernel queue that limits a port's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shaper {
    /// A token bucket filter.
    #[default]
    Tbf,
    /// A hierarchical token bucket with one class for all frames. It counts frames as tbf does.
    Htb,
}

impl Shaper {
    /// All shapers.
    pub const ALL: [Self; 2] = [Self::Tbf, Self::Htb];

    /// Name of the shaper, as users and the kernel write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tbf => "tbf",
            Self::Htb => "htb",
        }
    }
}

/// A token bucket at a port's egress.
///
/// **Octets that the rate counts**: the frame from its Ethernet header to its last payload octet,
/// *without* FCS, preamble and gap, because that is what the kernel's queues see. A frame of 1518
/// octets (RFC 2544) counts 1514, one of 64 counts 60. A port of this rate therefore forwards `rate
/// / (8 * (frame size - 4))` frames a second, which is more than a real link of that rate does.
/// Only limits with an `overhead`, as from [`Self::of_wire`], count these too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortLimit {
    /// Rate in bits a second, counted as above.
    pub rate: Rate,
    /// Bytes that may pass at once after a pause.
    pub burst: ByteCount,
    /// Bytes that may wait; a frame that would exceed it is dropped.
    pub queue: ByteCount,
    /// Octets counted per frame in addition to its own.
    #[serde(default)]
    pub overhead: u16,
    /// Kernel queue that enforces the limit.
    #[serde(default)]
    pub shaper: Shaper,
}

/// Octets of the Ethernet header: the difference between a frame without FCS and its IP packet.
const HEADER_OCTETS: u64 = 14;
/// Length of a burst. A millisecond of tokens outlasts the timer delays of a busy machine, and is
/// 0.05 % of a trial of two seconds.
const BURST_NS: u64 = 1_000_000;
/// Length of a queue: two milliseconds, 0.1 % of a trial of two seconds.
const QUEUE_NS: u64 = 2_000_000;
/// Length of a switch port's queue: 10 ms.
const SWITCH_QUEUE_NS: u64 = 10_000_000;
/// Minimum frames in a queue and in a bucket: one in transmission and one waiting.
const LEAST_FRAMES: u64 = 2;

/// Octets of FCS, preamble, delimiter and gap (IEEE 802.3).
const WIRE_OVERHEAD: u16 = 24;
/// Burst on a wire whose rate is limited elsewhere: the kernel's timers are sometimes late by this
/// much.
const WIRE_BURST_NS: u64 = 250_000;
/// Default number of frames that wait at an interface of Linux.
const INTERFACE_FRAMES: u64 = 1000;

impl PortLimit {
    /// Creates the limit for ports of `rate` that carry packets up to `mtu`.
    ///
    /// A trial of T seconds can pass `rate * T + burst + queue` bytes: a full bucket at its start
    /// and a full queue that drains after its end. The burst is 1 ms at the rate and the queue, by
    /// default, 2 ms, so a trial of two seconds shows at most 0.15 % more than the rate. Neither is
    /// less than two frames. A bucket of one frame is full whenever a frame may pass, so it loses
    /// the time by which the kernel's timer is late (1.3 % at 7.7 Mbit/s and 1518 octets). With
    /// jumbo frames that minimum applies below 144 Mbit/s; at 10 Mbit/s it is 1.4 % of two seconds.
    ///
    /// A short queue has a price. If a greedy sender is off its core for longer than burst and
    /// queue together, the port idles; a paced sender that catches up overflows it. On a busy
    /// machine use a longer `queue`, and a longer trial to keep its share small.
    pub fn new(rate: Rate, queue: Option<ByteCount>, mtu: u32) -> Self {
        let frame = u64::from(mtu) + HEADER_OCTETS;
        let burst = ByteCount(octets_over(rate, BURST_NS).max(LEAST_FRAMES * frame));
        let fitting = ByteCount(octets_over(rate, QUEUE_NS).max(LEAST_FRAMES * frame));
        let queue = queue.unwrap_or(fitting);
        Self { rate, burst, queue, overhead: 0, shaper: Shaper::Tbf }
    }

    /// Creates the limit of a switch port, whose rate is a wire's: FCS, preamble and gap count. The
    /// bucket is that of [`Self::new`]; the queue is 10 ms at the rate by default, at least two
    /// frames. It absorbs bursts of late senders on a busy machine, and adds 2 % to the frames that
    /// pass in half a second.
    pub fn of_switch(rate: Rate, queue: Option<ByteCount>, mtu: u32) -> Self {
        let plain = Self::new(rate, queue, mtu);
        let fitting = ByteCount((plain.queue.0).max(octets_over(rate, SWITCH_QUEUE_NS)));
        Self { queue: queue.unwrap_or(fitting), overhead: WIRE_OVERHEAD, ..plain }
    }

    /// Creates the limit of a host's network interface at this rate: frames leave at the speed of
    /// the wire, counted with FCS, preamble and gap, and a thousand may wait. A sender is therefore
    /// blocked, and loses nothing that its socket did not allow.
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

    /// Replaces the kernel queue that enforces the limit.
    #[must_use]
    pub fn by(self, shaper: Shaper) -> Self {
        Self { shaper, ..self }
    }
}

/// Bytes that pass in this time, within the kernel's 32 bits.
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
