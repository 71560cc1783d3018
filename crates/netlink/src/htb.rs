//! Hierarchical token bucket (HTB): one class for all frames limits a link's rate.
//!
//! Owns the octets of HTB's queue and class, for which the packet crate has no type, and the
//! first-in first-out queue within. Never builds a hierarchy. Never changes or removes a queue that
//! it made: the queue is removed with its link.

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

use crate::conversation::Context;
use crate::qdisc::{RateSpec, TokenBucket};
use crate::{Netlink, NetlinkError};

/// Handle of the root queue, `1:`.
const ROOT: TcHandle = TcHandle { major: 1, minor: 0 };
/// Handle of the only class, for every frame: `1:1`.
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };
/// Handle of the class's own queue, `2:`.
const LEAF: TcHandle = TcHandle { major: 2, minor: 0 };

impl Netlink {
    /// Makes HTB with one class a link's root queue, replacing the default queue. Frames are
    /// counted as [`TokenBucket`] documents. A frame passes while any token is left, so up to one
    /// frame more than the burst passes at once.
    pub fn set_htb(&mut self, index: u32, bucket: &TokenBucket) -> Result<(), NetlinkError> {
        let context = Context { deed: "set hierarchical token bucket on", object: &index };
        let (class, limit) = (class_options(context, bucket)?, bucket.whole_limit(context)?);
        let message = |parent, handle, kind: &str, options| {
            let mut message = TcMessage::with_index(index as i32);
            (message.header.parent, message.header.handle) = (parent, handle);
            message.attributes = vec![TcAttribute::Kind(kind.to_owned()), options];
            message
        };
        let whole = TcAttribute::Options(queue_options());
        let whole = message(TcHandle::ROOT, ROOT, "htb", whole);
        let class = message(ROOT, CLASS, "htb", TcAttribute::Options(class));
        // A plain `struct tc_fifo_qopt`, without an attribute of its own.
        let leaf = DefaultNla::new(OPTIONS, limit.to_ne_bytes().to_vec());
        let leaf = message(CLASS, LEAF, "bfifo", TcAttribute::Other(leaf));
        for request in [
            RouteNetlinkMessage::NewQueueDiscipline(whole),
            RouteNetlinkMessage::NewTrafficClass(class),
            RouteNetlinkMessage::NewQueueDiscipline(leaf),
        ] {
            self.route.ask(context, request, NLM_F_CREATE | NLM_F_REPLACE)?;
        }
        Ok(())
    }
}

/// `TCA_OPTIONS`.
const OPTIONS: u16 = 2;
/// `TCA_HTB_PARMS`, a `struct tc_htb_opt`.
const PARAMETERS: u16 = 1;
/// `TCA_HTB_INIT`, a `struct tc_htb_glob`.
const INIT: u16 = 2;
/// `TCA_HTB_RATE64`, `TCA_HTB_CEIL64`: for rates that do not fit in 32 bits of bytes a second.
const WIDE: [u16; 2] = [6, 7];
/// `HTB_VER` of the kernel without its lower half.
const VERSION: u32 = 3;
/// Divisor of tc's default: a turn of a class is a tenth of its bytes a second. A single class
/// always has the turn.
const RATE_TO_QUANTUM: u32 = 10;
/// Octets in a turn; set explicitly, within the range that the kernel accepts without a warning.
const QUANTUM: u32 = 60_000;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Encodes version, rate to quantum, default class, debug, direct packets.
fn queue_options() -> Vec<TcOption> {
    let octets = words(&[VERSION, RATE_TO_QUANTUM, u32::from(CLASS.minor), 0, 0]);
    vec![TcOption::Other(DefaultNla::new(INIT, octets))]
}

fn class_options(
    context: Context<'_>,
    bucket: &TokenBucket,
) -> Result<Vec<TcOption>, NetlinkError> {
    let rate = RateSpec::new(context, bucket)?;
    let ticks = rate.ticks(bucket.whole_burst(context)?);
    // Rate and ceiling are the same: there is no other class to borrow from. Then the bucket of
    // each, quantum, level and priority.
    let mut parameters = [rate.octets, rate.octets].concat();
    parameters.extend(words(&[ticks, ticks, QUANTUM, 0, 0]));
    let mut options = vec![TcOption::Other(DefaultNla::new(PARAMETERS, parameters))];
    if let Some(wide) = rate.wide() {
        options.extend(
            WIDE.map(|kind| TcOption::Other(DefaultNla::new(kind, wide.to_ne_bytes().to_vec()))),
        );
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use measure::{ByteCount, Rate};
    use netlink_packet_core::Nla;

    use super::*;

    fn class(rate: u64) -> Vec<(u16, Vec<u8>)> {
        let (burst, limit) = (ByteCount(64_000), ByteCount(1_000));
        let bucket = TokenBucket { rate: Rate(rate), burst, limit, overhead: 24 };
        let options = class_options(Context { deed: "limit", object: &1 }, &bucket).unwrap();
        let octets = |option: &TcOption| {
            let mut octets = vec![0; option.value_len()];
            option.emit_value(&mut octets);
            (option.kind(), octets)
        };
        options.iter().map(octets).collect()
    }

    #[test]
    fn a_class_has_its_rate_twice() {
        let slow = class(8_000_000);
        let [(kind, octets)] = &slow[..] else { panic!("{slow:?}") };
        assert_eq!((*kind, octets.len()), (PARAMETERS, 44));
        let word = |at: usize| u32::from_ne_bytes(octets[at..at + 4].try_into().unwrap());
        assert_eq!(octets[..12], octets[12..24]);
        // 64,000 bytes at 1 MB/s are 64 ms: a million ticks of 64 ns.
        assert_eq!([word(8), word(24), word(28)], [1_000_000; 3]);
        assert_eq!((octets[1], octets[2..4].to_vec()), (1, 24_u16.to_ne_bytes().to_vec()));

        let fast = class(80_000_000_000);
        let wide = 10_000_000_000_u64.to_ne_bytes().to_vec();
        assert_eq!(fast[1..], [(WIDE[0], wide.clone()), (WIDE[1], wide)]);
        assert_eq!(fast[0].1[8..12], u32::MAX.to_ne_bytes());
    }
}
