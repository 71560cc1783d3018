//! Queues: limiting a link's rate, and the kernel's count of frames that each queue passed and
//! dropped.
//!
//! Owns RTM_*QDISC. The token bucket filter is written byte for byte, because the packet crate has
//! no type for it. Removes only black holes: any other queue goes with its link.

use measure::{ByteCount, Rate};
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAttribute, TcHandle, TcMessage, TcOption, TcStats2, TcStatsBasic, TcStatsQueue,
};

use crate::conversation::Context;
use crate::{Netlink, NetlinkError};

/// A token bucket: a rate, a burst, and the limit of waiting bytes.
///
/// The kernel counts a frame as its Ethernet header and everything after it, *without* FCS,
/// preamble and gap: a 64-byte frame of RFC 2544 counts 60.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Rate in bits a second; rounded down to whole bytes a second.
    pub rate: Rate,
    /// Size of the bucket: bytes that may pass at once after a pause. With tbf, a larger frame is
    /// dropped.
    pub burst: ByteCount,
    /// Maximum number of waiting bytes; a frame that would exceed it is dropped.
    pub limit: ByteCount,
    /// Bytes counted per frame in addition to its octets. 24 accounts for FCS, preamble and gap,
    /// which the kernel does not count.
    pub overhead: u16,
}

/// A queue's handle, `major:minor`; only the major part identifies the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QdiscHandle {
    /// Number of the queue.
    pub major: u16,
    /// Number of a class in it; zero for the queue itself.
    pub minor: u16,
}

/// One queue as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qdisc {
    /// Index of the link that it belongs to.
    pub index: u32,
    /// The kernel's name of the queue's kind: `tbf`, `noqueue`, `fq_codel`, …
    pub kind: String,
    /// Handle of the queue.
    pub handle: QdiscHandle,
    /// True if it is its link's root queue.
    pub root: bool,
    /// Counters of passed, dropped and waiting frames.
    pub stats: QdiscStats,
}

/// A queue's counters since it was made. The kernel keeps all but `bytes` and `packets` in 32 bits:
/// differences must be taken modulo 2³².
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QdiscStats {
    /// Frames that left the queue.
    pub packets: u64,
    /// Octets that left the queue, without FCS.
    pub bytes: u64,
    /// Frames dropped, including those of its inner queue.
    pub drops: u32,
    /// Number of times a frame had to wait for tokens.
    pub overlimits: u32,
    /// Number of times the link accepted no frame.
    pub requeues: u32,
    /// Octets waiting now.
    pub backlog: u32,
    /// Frames waiting now.
    pub qlen: u32,
}

impl Netlink {
    /// Makes a token bucket filter a link's root queue, replacing the existing one.
    pub fn set_tbf(&mut self, index: u32, bucket: &TokenBucket) -> Result<(), NetlinkError> {
        let context = Context { deed: "set token bucket filter on", object: &index };
        let options = tbf_options(context, bucket)?;
        let mut message = TcMessage::with_index(index as i32);
        message.header.parent = TcHandle::ROOT;
        message.header.handle = TcHandle { major: 1, minor: 0 };
        message.attributes =
            vec![TcAttribute::Kind("tbf".to_owned()), TcAttribute::Options(options)];
        let request = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_REPLACE).map(drop)
    }

    /// Replaces a link's root queue by one that drops every frame. The link keeps its carrier.
    pub fn set_blackhole(&mut self, index: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "make a black hole of", object: &index };
        let request = RouteNetlinkMessage::NewQueueDiscipline(blackhole(index));
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_REPLACE).map(drop)
    }

    /// Removes the black hole: the link has its default queue again.
    pub fn remove_blackhole(&mut self, index: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "remove the black hole of", object: &index };
        let request = RouteNetlinkMessage::DelQueueDiscipline(blackhole(index));
        self.route.ask(context, request, 0).map(drop)
    }

    /// Lists every queue of the namespace.
    pub fn qdiscs(&mut self) -> Result<Vec<Qdisc>, NetlinkError> {
        let context = Context { deed: "list", object: &"queues" };
        let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
        let answers = self.route.dump(context, &request)?;
        Ok(answers
            .iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewQueueDiscipline(queue) => Some(as_qdisc(queue)),
                _ => None,
            })
            .collect())
    }
}

/// The kernel's name of the queue that drops all frames.
pub const BLACKHOLE: &str = "blackhole";

/// Builds the black hole, with a handle that no other queue of this program has. The kernel puts it
/// in place of a queue of any kind.
fn blackhole(index: u32) -> TcMessage {
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = TcHandle::ROOT;
    message.header.handle = TcHandle { major: 0xb1ac, minor: 0 };
    message.attributes = vec![TcAttribute::Kind(BLACKHOLE.to_owned())];
    message
}

/// `TCA_TBF_PARMS`, a `struct tc_tbf_qopt`.
const PARAMETERS: u16 = 1;
/// `TCA_TBF_RATE64`, for rates that do not fit in 32 bits of bytes a second.
const RATE64: u16 = 4;
/// `TCA_TBF_BURST`, in bytes: exact, while the parameters hold the burst as a rounded time.
const BURST: u16 = 6;

fn tbf_options(context: Context<'_>, bucket: &TokenBucket) -> Result<Vec<TcOption>, NetlinkError> {
    let rate = RateSpec::new(context, bucket)?;
    let (burst, limit) = (bucket.whole_burst(context)?, bucket.whole_limit(context)?);

    // tc_tbf_qopt: rate and peak rate (tc_ratespec, 12 bytes each), limit, buffer, mtu.
    let mut parameters = [0; 36];
    parameters[..12].copy_from_slice(&rate.octets);
    parameters[24..28].copy_from_slice(&limit.to_ne_bytes());
    parameters[28..32].copy_from_slice(&rate.ticks(burst).to_ne_bytes());

    let option = |kind, value: &[u8]| TcOption::Other(DefaultNla::new(kind, value.to_vec()));
    let mut options = vec![option(PARAMETERS, &parameters), option(BURST, &burst.to_ne_bytes())];
    options.extend(rate.wide().map(|wide| option(RATE64, &wide.to_ne_bytes())));
    Ok(options)
}

impl TokenBucket {
    /// Burst in bytes, as the kernel's 32-bit value.
    pub(crate) fn whole_burst(&self, context: Context<'_>) -> Result<u32, NetlinkError> {
        whole(context, "a burst", self.burst)
    }

    /// Limit in bytes, as the kernel's 32-bit value.
    pub(crate) fn whole_limit(&self, context: Context<'_>) -> Result<u32, NetlinkError> {
        whole(context, "a limit", self.limit)
    }
}

fn whole(context: Context<'_>, quantity: &str, bytes: ByteCount) -> Result<u32, NetlinkError> {
    u32::try_from(bytes.0)
        .ok()
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| context.unsuitable(format!("{quantity} of {bytes} is outside 1B…4GiB")))
}

/// `TC_LINKLAYER_ETHERNET`; with it the kernel needs no rate table.
const ETHERNET: u8 = 1;
/// Length of a packet scheduler tick in nanoseconds, from `PSCHED_SHIFT`.
const TICK_NS: u128 = 64;

/// A rate in the form that queues take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateSpec {
    bytes_per_second: u64,
    /// Encoded `struct tc_ratespec`.
    pub octets: [u8; 12],
}

impl RateSpec {
    pub fn new(context: Context<'_>, bucket: &TokenBucket) -> Result<Self, NetlinkError> {
        let bytes_per_second = bucket.rate.0 / 8;
        if bytes_per_second == 0 {
            return Err(context.unsuitable("the rate is below one byte a second"));
        }
        let narrow = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
        let mut octets = [0; 12];
        octets[1] = ETHERNET;
        octets[2..4].copy_from_slice(&bucket.overhead.to_ne_bytes());
        octets[8..12].copy_from_slice(&narrow.to_ne_bytes());
        Ok(Self { bytes_per_second, octets })
    }

    /// Time that this many bytes take, in ticks.
    pub fn ticks(&self, bytes: u32) -> u32 {
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        u32::try_from(nanos / TICK_NS).unwrap_or(u32::MAX).max(1)
    }

    /// Rate in bytes a second; `None` if it fits in 32 bits.
    pub fn wide(&self) -> Option<u64> {
        (self.bytes_per_second > u64::from(u32::MAX)).then_some(self.bytes_per_second)
    }
}

/// `TCA_STATS_PKT64`: frames in 64 bits, sent once 32 bits no longer suffice.
const PACKETS64: u16 = 8;

fn as_qdisc(message: &TcMessage) -> Qdisc {
    let TcHandle { major, minor } = message.header.handle;
    let mut qdisc = Qdisc {
        index: message.header.index as u32,
        kind: String::new(),
        handle: QdiscHandle { major, minor },
        root: message.header.parent == TcHandle::ROOT,
        stats: QdiscStats::default(),
    };
    for attribute in &message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => qdisc.kind.clone_from(kind),
            TcAttribute::Stats2(all) => all.iter().for_each(|one| qdisc.stats.take(one)),
            _ => {}
        }
    }
    qdisc
}

impl QdiscStats {
    fn take(&mut self, stats: &TcStats2) {
        use netlink_packet_core::Nla;
        match stats {
            TcStats2::Basic(TcStatsBasic { bytes, packets, .. }) => {
                self.bytes = *bytes;
                self.packets = self.packets.max(u64::from(*packets));
            }
            TcStats2::Queue(TcStatsQueue {
                qlen, backlog, drops, requeues, overlimits, ..
            }) => {
                (self.qlen, self.backlog, self.drops) = (*qlen, *backlog, *drops);
                (self.requeues, self.overlimits) = (*requeues, *overlimits);
            }
            TcStats2::Other(other) if other.kind() == PACKETS64 => {
                let mut octets = [0; 8];
                if other.value_len() == octets.len() {
                    other.emit_value(&mut octets);
                    self.packets = u64::from_ne_bytes(octets);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Nla;

    use super::*;

    /// The options as kind and octets.
    fn options(rate: u64, burst: u64, limit: u64) -> Vec<(u16, Vec<u8>)> {
        let (rate, burst, limit) = (Rate(rate), ByteCount(burst), ByteCount(limit));
        let bucket = TokenBucket { rate, burst, limit, overhead: 0 };
        let options = tbf_options(Context { deed: "limit", object: &1 }, &bucket).unwrap();
        let octets = |option: &TcOption| {
            let mut octets = vec![0; option.value_len()];
            option.emit_value(&mut octets);
            (option.kind(), octets)
        };
        options.iter().map(octets).collect()
    }

    #[test]
    fn a_rate_beyond_32_bits_is_given_in_64() {
        let word =
            |octets: &[u8], at: usize| u32::from_ne_bytes(octets[at..at + 4].try_into().unwrap());
        let slow = options(8_000_000, 64_000, 1_000);
        assert_eq!(slow.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [PARAMETERS, BURST]);
        let parameters = &slow[0].1;
        assert_eq!((word(parameters, 8), word(parameters, 24)), (1_000_000, 1_000));
        // 64,000 bytes at 1 MB/s are 64 ms: a million ticks of 64 ns.
        assert_eq!(word(parameters, 28), 1_000_000);

        let fast = options(80_000_000_000, 64_000, 1_000);
        assert_eq!(word(&fast[0].1, 8), u32::MAX);
        assert_eq!(fast[2], (RATE64, 10_000_000_000_u64.to_ne_bytes().to_vec()));
    }
}
