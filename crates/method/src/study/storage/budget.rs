//! Where an operation's time goes: the client, the network, the storage node, its disk, and a rest
//! that nothing here explains.
//!
//! Owns the sum: parts that could not be measured stay in the rest, and the rest says so by being
//! there. What is measured beside an operation, the network's part, takes no more than what is
//! measured of itself leaves. Pure.

use super::StorageSpec;
use super::cell::Kind;

/// The parts in the order in which a request meets them; the rest is what is left.
pub(super) const PARTS: [&str; 5] = ["client", "network", "storage node", "disk", "rest"];

/// One kind's operations of one block: nanoseconds of each part of [`PARTS`]; none where it is not
/// known.
///
/// A read is RTT + node + disk + client. A write that is copied waits for the slowest copy: its own
/// disk or a replica's, which is one round trip further away; here that round trip is the
/// network's, and one disk's time counts.
pub(super) fn parts(spec: &StorageSpec, kind: &Kind, is_remote: bool) -> [Option<f64>; 5] {
    if !is_remote {
        let rest = kind.latency - kind.client.unwrap_or(0.0);
        return [kind.client, None, None, None, Some(rest)];
    }
    let messages = spec.crossings(kind.write) * kind.rtt;
    let asked = spec.job.server.map(|server| {
        let delay = if kind.write { server.write } else { server.read };
        delay.0 as f64
    });
    // A server made for the trial has no disk but its delay; what it took beyond that is its own
    // doing.
    let disk = kind.disk.or(asked);
    let node = kind.served.zip(asked).map(|(served, asked)| (served - asked).max(0.0));
    let left = kind.latency - [kind.client, node, disk].iter().flatten().sum::<f64>();
    let network = messages.min(left.max(0.0));
    [kind.client, Some(network), node, disk, Some(left - network)]
}

/// The network's part of an operation that crosses it.
pub(super) fn network(spec: &StorageSpec, kind: &Kind) -> f64 {
    parts(spec, kind, true)[1].unwrap_or(0.0)
}

/// Whether that is only what the others leave, by more than a share that is nobody's business: the
/// messages were no likeness of the operations.
pub(super) fn is_bound(spec: &StorageSpec, kind: &Kind) -> bool {
    const LITTLE: f64 = 0.05;
    let messages = spec.crossings(kind.write) * kind.rtt;
    messages * (1.0 - LITTLE) > network(spec, kind)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measure::{ByteCount, Nanos};

    use super::*;
    use trial::{Pattern, ServedMemory, Storage};

    fn spec(replicas: usize, server: bool) -> StorageSpec {
        let (read, write) = (Nanos::from_millis(1), Nanos::from_millis(2));
        let server = server.then_some(ServedMemory { size: ByteCount(1 << 20), read, write });
        StorageSpec::quick(Storage {
            ioengine: "nbd".into(),
            filename: String::new(),
            pattern: Pattern::Random,
            rwmixread: 50,
            bs: ByteCount(4096),
            numjobs: 1,
            iodepth: 1,
            replicas: vec!["h3/eth1".parse().expect("a port's name"); replicas],
            options: BTreeMap::new(),
            server,
            disk: None,
            allow_destroy: false,
        })
    }

    fn kind(write: bool) -> Kind {
        Kind {
            write,
            count: 10,
            per_second: 1.0,
            latency: 2_500_000.0,
            quantiles: [0.0; 5],
            client: Some(20_000.0),
            served: Some(2_060_000.0),
            disk: None,
            rtt: 100_000.0,
            beside: 110_000.0,
            beside_per_second: 200.0,
            round_trips: 400,
            rtt_quantiles: [0.0; 5],
        }
    }

    #[test]
    fn what_is_not_known_stays_in_the_rest() {
        let [client, network, node, disk, rest] = parts(&spec(0, true), &kind(true), true);
        assert_eq!((client, network), (Some(20_000.0), Some(100_000.0)));
        assert_eq!((node, disk, rest), (Some(60_000.0), Some(2_000_000.0), Some(320_000.0)));
        let [_, _, node, disk, rest] = parts(&spec(0, false), &kind(true), true);
        assert_eq!((node, disk, rest), (None, None, Some(2_380_000.0)));
    }

    #[test]
    fn a_local_operation_has_no_part_of_the_network() {
        let parts = parts(&spec(2, false), &kind(true), false);
        assert_eq!(parts, [Some(20_000.0), None, None, None, Some(2_480_000.0)]);
    }

    #[test]
    fn the_network_has_no_more_than_the_others_leave() {
        let slow = Kind { rtt: 600_000.0, ..kind(true) };
        let [_, network, _, _, rest] = parts(&spec(0, true), &slow, true);
        assert_eq!((network, rest), (Some(420_000.0), Some(0.0)));
        assert!(is_bound(&spec(0, true), &slow) && !is_bound(&spec(0, true), &kind(true)));
    }

    #[test]
    fn a_copied_write_crosses_twice_and_a_read_once() {
        let two = spec(2, true);
        assert_eq!(parts(&two, &kind(true), true)[1], Some(200_000.0));
        assert_eq!(parts(&two, &kind(false), true)[1], Some(100_000.0));
    }
}
