//! Latency budget of an operation: the client, the network, the storage node, its disk, and an
//! unexplained rest; and the latency with another network.
//!
//! Owns the sum: parts that could not be measured remain in the rest. The network's part is
//! measured by separate messages, so it takes no more than the directly measured parts leave. On a
//! full link it takes all of that. Pure.

use super::StorageSpec;
use super::cell::{CellData, Kind, Sample};
use super::fill::Path;

/// Parts in the order in which a request meets them; the rest is the remainder.
pub(super) const PARTS: [&str; 5] = ["client", "network", "storage-node", "disk", "rest"];

/// Ratio of an operation's latency to that of one alone, above which operations waited for each
/// other.
const WAITED: f64 = 2.0;

/// Path of a cell's operations.
pub(super) struct Crossing<'a> {
    spec: &'a StorageSpec,
    /// Capacity of the path; `None` if a rate is unknown.
    pub(super) path: Option<Path>,
    is_remote: bool,
    /// True if the operations fill a link of the path.
    pub(super) is_full: bool,
    /// True if they may fill it, which short messages leave open.
    pub(super) may_be_full: bool,
}

impl<'a> Crossing<'a> {
    /// Analyses a cell's blocks over this path.
    pub(super) fn new(spec: &'a StorageSpec, data: &CellData, path: Option<Path>) -> Self {
        let is_remote = data.is_remote();
        let own = Self { spec, path, is_remote, is_full: false, may_be_full: false };
        let Some(path) = own.path.as_ref().filter(|_| is_remote) else { return own };
        let may_be_full = path.may_be_full(data, |sample| own.waited(sample));
        let is_full = path.is_full(data, |sample| own.waited(sample));
        Self { is_full, may_be_full, ..own }
    }

    /// Requested share of reads.
    pub(super) fn reads(&self) -> f64 {
        f64::from(self.spec.job.rwmixread.get()) / 100.0
    }

    fn copies(&self) -> f64 {
        self.spec.job.replicas.len() as f64
    }

    /// Additional time of a write for copies beyond the first.
    fn more_copies(&self, write: bool, copies: f64) -> f64 {
        self.path.as_ref().filter(|_| write).map_or(0.0, |path| path.more_copies_ns(copies))
    }

    /// Time of the messages that represent an operation.
    pub(super) fn messages(&self, kind: &Kind) -> f64 {
        self.spec.crossings(kind.write) * kind.rtt + self.more_copies(kind.write, self.copies())
    }

    /// Times of client, storage node and disk, as far as known.
    fn others(&self, kind: &Kind) -> [Option<f64>; 3] {
        let asked = self.spec.job.server.map(|server| {
            let delay = if kind.write { server.write } else { server.read };
            delay.0 as f64
        });
        // A server made for the trial has no disk but its delay; the excess over that is its own.
        let disk = kind.disk.or(asked);
        let node = kind.served.zip(asked).map(|(served, asked)| (served - asked).max(0.0));
        [kind.client, node, disk]
    }

    /// Parts of one kind's operations in one block, in nanoseconds and in the order of [`PARTS`];
    /// `None` for unknown ones.
    ///
    /// A read is RTT + node + disk + client. A copied write waits for the slowest copy: its own
    /// disk, or a replica's one RTT further away. Here that RTT belongs to the network, and one
    /// disk's time counts.
    pub(super) fn parts(&self, kind: &Kind) -> [Option<f64>; 5] {
        if !self.is_remote {
            let rest = kind.latency - kind.client.unwrap_or(0.0);
            return [kind.client, None, None, None, Some(rest)];
        }
        let [client, node, disk] = self.others(kind);
        let left = kind.latency - sum([client, node, disk]);
        // Operations that wait for each other's octets also wait in the hosts' buffers, where
        // separate messages do not wait.
        let most = if self.is_full && disk.is_some() { left } else { self.messages(kind) };
        let network = most.min(left.max(0.0));
        [client, Some(network), node, disk, Some(left - network)]
    }

    /// Part of the network in an operation that crosses it.
    pub(super) fn network(&self, kind: &Kind) -> f64 {
        self.parts(kind)[1].unwrap_or(0.0)
    }

    /// True if the network's part is only what the others leave, clearly less than the messages
    /// took. The messages then did not represent the operations.
    pub(super) fn is_bound(&self, kind: &Kind) -> bool {
        const LITTLE: f64 = 0.05;
        !self.is_full && self.messages(kind) * (1.0 - LITTLE) > self.network(kind)
    }

    /// True if operations waited for each other, and not at the disk: they took far longer than
    /// alone.
    fn waited(&self, sample: &Sample) -> bool {
        let known = sample.kinds.iter().all(|kind| self.others(kind)[2].is_some());
        let alone = sample.over_kinds(|kind| {
            sum(self.others(kind))
                + self.spec.crossings(kind.write) * kind.alone
                + self.more_copies(kind.write, self.copies())
        });
        known && sample.latency > WAITED * alone
    }

    /// Factor by which the links have room for more operations; infinite if unknown.
    pub(super) fn room(&self, sample: &Sample) -> f64 {
        if self.is_full { 1.0 } else { self.room_with(sample, self.copies()) }
    }

    /// Maximum operations a second without other traffic.
    pub(super) fn most(&self, sample: &Sample) -> f64 {
        sample.per_second * self.room_with(sample, self.copies()).max(1.0)
    }

    /// Longest time that a single message occupies the path: its excess over a small message, and
    /// its octets at the links' rate. A path inside a device may be slower than its links.
    fn occupancy_ns(&self, sample: &Sample, kind: &Kind) -> f64 {
        let longer = kind.alone - sample.small.map_or(0.0, |small| small.least);
        let held = self.path.as_ref().map_or(longer, |path| path.held_ns(kind.write, longer));
        held.clamp(0.0, kind.alone)
    }

    /// Longest time that an operation waits for the separate messages. These are on the path when
    /// it arrives or arrive during its stay, and occupy the path for a time each.
    pub(super) fn disturbance(&self, sample: &Sample, kind: &Kind) -> f64 {
        let on_path = (kind.latency - sum(self.others(kind))).max(0.0);
        let of = |message: &Kind| {
            let held = self.occupancy_ns(sample, message);
            let stays = (on_path.max(message.beside) + held).min(kind.latency);
            message.beside_per_second * held / 1e9 * stays
        };
        sample.kinds.iter().map(of).sum::<f64>().min(kind.latency)
    }

    /// Minimum latency of an operation without separate messages.
    pub(super) fn undisturbed(&self, sample: &Sample, kind: &Kind) -> f64 {
        kind.latency - self.disturbance(sample, kind)
    }

    /// Minimum latency of an operation that never waits for others. Waiting on the path depends on
    /// the order of operations, which another network changes (Denning and Buzen 1978: no more than
    /// n / what each takes alone).
    pub(super) fn never_waiting(&self, sample: &Sample, kind: &Kind) -> f64 {
        let least = self.undisturbed(sample, kind);
        if sample.asked <= 1.0 {
            return least;
        }
        let alone = self.spec.crossings(kind.write) * kind.alone
            + self.more_copies(kind.write, self.copies());
        let others = self.others(kind);
        let without_waiting = if others[2].is_some() {
            sum(others) + alone
        } else {
            least - (self.messages(kind) - alone).max(0.0)
        };
        least.min(without_waiting)
    }

    /// Room for more operations, with copied writes or without.
    pub(super) fn room_for(&self, sample: &Sample, copied: bool) -> f64 {
        let as_measured = copied != self.spec.job.replicas.is_empty();
        if as_measured { self.room(sample) } else { self.room_with(sample, self.copies_if(copied)) }
    }

    fn room_with(&self, sample: &Sample, copies: f64) -> f64 {
        self.path.as_ref().map_or(f64::INFINITY, |path| path.room(sample, copies))
    }

    fn copies_if(&self, copied: bool) -> f64 {
        if copied { self.copies().max(1.0) } else { 0.0 }
    }

    /// Part of an operation that is certainly not the network's. With a server made for the trial,
    /// all others are known and the remainder may be the network's.
    fn without_network(&self, sample: &Sample, kind: &Kind) -> f64 {
        if self.spec.job.server.is_some() {
            return sum(self.others(kind));
        }
        self.undisturbed(sample, kind) - self.network(kind)
    }

    /// Lower bound of an operation's latency over the same link without propagation delay.
    pub(super) fn without_latency(&self, sample: &Sample) -> f64 {
        sample.over_kinds(|kind| {
            let wire = |path: &Path| path.wire_ns(kind.write, self.copies());
            let wire = self.path.as_ref().map_or(0.0, wire);
            (self.without_network(sample, kind) + wire).min(self.undisturbed(sample, kind))
        })
    }

    /// Lower bound of an operation's latency over a faster link with the same delay. `None` if
    /// waiting for the link cannot be separated from waiting for the storage.
    pub(super) fn over_faster_link(&self, sample: &Sample) -> Option<f64> {
        if self.is_full && self.spec.job.server.is_none() {
            return None;
        }
        let small = self.path.as_ref().map_or(0.0, Path::small_ns);
        let kept = sample.small.map_or(0.0, |seen| (seen.least - small).max(0.0));
        Some(sample.over_kinds(|kind| {
            let kept = self.spec.crossings(kind.write) * kept;
            (self.without_network(sample, kind) + kept).min(self.undisturbed(sample, kind))
        }))
    }

    /// Estimated latency of an operation with small RTTs of `rtt` nanoseconds.
    pub(super) fn with_round_trip(&self, sample: &Sample, rtt: f64, copied: bool) -> f64 {
        sample.over_kinds(|kind| {
            let wire = |path: &Path| path.wire_ns(kind.write, 0.0);
            let guess = || kind.alone - self.path.as_ref().map_or(0.0, wire);
            let base = sample.small.map_or_else(guess, |small| small.median).clamp(0.0, kind.alone);
            let crossing = |crossings: f64, rtt: f64, copies: f64| {
                crossings * (rtt + kind.alone - base) + self.more_copies(kind.write, copies)
            };
            let now = crossing(self.spec.crossings(kind.write), base, self.copies());
            let crossings = if kind.write && copied { 2.0 } else { 1.0 };
            let then = crossing(crossings, rtt, self.copies_if(copied));
            let others = self.others(kind);
            // On a full link they wait for its octets, whatever the RTT.
            let rest = if self.is_full && others[2].is_some() {
                sum(others)
            } else {
                kind.latency - now.min(self.network(kind))
            };
            rest + then
        })
    }
}

fn sum(parts: [Option<f64>; 3]) -> f64 {
    parts.iter().flatten().sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measure::{ByteCount, Nanos};

    use super::super::cell::Small;
    use super::*;
    use trial::record::StorageLocation;
    use trial::{Pattern, ServedMemory, Storage};

    fn spec(replicas: usize, server: bool) -> StorageSpec {
        let (read, write) = (Nanos::from_millis(1), Nanos::from_millis(2));
        let server = server.then_some(ServedMemory { size: ByteCount(1 << 20), read, write });
        StorageSpec::quick(Storage {
            ioengine: "nbd".into(),
            filename: String::new(),
            pattern: Pattern::Random,
            rwmixread: trial::ReadPercent::known(50),
            bs: ByteCount(4096),
            numjobs: trial::Jobs::known(1),
            iodepth: trial::QueueDepth::known(1),
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
            alone: 100_000.0,
        }
    }

    /// The parts of an operation over a path of unknown rate.
    fn parts(spec: &StorageSpec, kind: &Kind, is_remote: bool) -> [Option<f64>; 5] {
        Crossing { spec, path: None, is_remote, is_full: false, may_be_full: false }.parts(kind)
    }

    fn is_bound(spec: &StorageSpec, kind: &Kind) -> bool {
        Crossing { spec, path: None, is_remote: true, is_full: false, may_be_full: false }
            .is_bound(kind)
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

    fn sample(kinds: Vec<Kind>, asked: f64) -> Sample {
        let per_second = kinds.iter().map(|kind| kind.per_second).sum();
        let latency =
            kinds.iter().map(|kind| kind.latency * kind.per_second).sum::<f64>() / per_second;
        Sample {
            block: 0,
            asked,
            under_way: asked,
            per_second,
            latency,
            kinds,
            small: Some(Small { least: 60_000.0, median: 60_000.0 }),
            segment: None,
            location: StorageLocation::Remote,
        }
    }

    #[test]
    fn messages_hold_up_an_operation_while_it_is_on_the_path() {
        let spec = spec(0, true);
        let crossing = Crossing {
            spec: &spec,
            path: None,
            is_remote: true,
            is_full: false,
            may_be_full: false,
        };
        // 420 us of it are not the server's or the client's, and 200 messages of 40 us a second.
        let one = sample(vec![kind(true)], 1.0);
        let waits = crossing.disturbance(&one, &one.kinds[0]);
        assert!((waits - 200.0 * 40e-6 * (420_000.0 + 40_000.0)).abs() < 1e-3, "{waits}");
        // A single operation waits for no other; with several, none may wait.
        let undisturbed = crossing.undisturbed(&one, &one.kinds[0]);
        assert!((crossing.never_waiting(&one, &one.kinds[0]) - undisturbed).abs() < 1e-6);
        let four = sample(vec![kind(true)], 4.0);
        let alone = 20_000.0 + 60_000.0 + 2_000_000.0 + 100_000.0;
        assert!((crossing.never_waiting(&four, &four.kinds[0]) - alone).abs() < 1e-6);
    }

    #[test]
    fn the_share_of_reads_is_the_jobs_and_not_chances() {
        let fast = Kind { latency: 500_000.0, per_second: 3.0, ..kind(false) };
        let slow = Kind { latency: 1_500_000.0, ..kind(true) };
        let asked = sample(vec![fast.clone(), slow], 1.0).with_reads(0.5).expect("both are there");
        assert!((asked.latency - 1_000_000.0).abs() < 1e-6, "{}", asked.latency);
        assert!((asked.per_second - 3.0).abs() < 1e-9, "{}", asked.per_second);
        assert!((asked.kinds[0].per_second - 1.5).abs() < 1e-9);
        assert!(sample(vec![fast], 1.0).with_reads(0.5).is_none());
    }
}
