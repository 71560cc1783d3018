//! Where an operation's time goes: the client, the network, the storage node, its disk, and a rest
//! that nothing here explains; and how long it would take with another network.
//!
//! Owns the sum: parts that could not be measured stay in the rest, and the rest says so by being
//! there. What is measured beside an operation, the network's part, takes no more than what is
//! measured of itself leaves; on a full link it takes all of that. Pure.

use super::StorageSpec;
use super::cell::{CellData, Kind, Sample};
use super::fill::Path;

/// The parts in the order in which a request meets them; the rest is what is left.
pub(super) const PARTS: [&str; 5] = ["client", "network", "storage-node", "disk", "rest"];

/// Operations that take this many times what they take alone have waited for each other.
const WAITED: f64 = 2.0;

/// What a cell's operations cross.
pub(super) struct Crossing<'a> {
    spec: &'a StorageSpec,
    /// None where a rate is not known.
    pub(super) path: Option<Path>,
    is_remote: bool,
    /// Whether the operations fill a link of it.
    pub(super) is_full: bool,
    /// Whether they may, which short messages leave open.
    pub(super) may_be_full: bool,
}

impl<'a> Crossing<'a> {
    /// Of a cell's blocks, over this path.
    pub(super) fn of(spec: &'a StorageSpec, data: &CellData, path: Option<Path>) -> Self {
        let is_remote = data.is_remote();
        let own = Self { spec, path, is_remote, is_full: false, may_be_full: false };
        let Some(path) = own.path.as_ref().filter(|_| is_remote) else { return own };
        let may_be_full = path.may_be_full(data, |sample| own.waited(sample));
        let is_full = path.is_full(data, |sample| own.waited(sample));
        Self { is_full, may_be_full, ..own }
    }

    /// The share of reads that the job asks for.
    pub(super) fn reads(&self) -> f64 {
        f64::from(self.spec.job.rwmixread.get()) / 100.0
    }

    fn copies(&self) -> f64 {
        self.spec.job.replicas.len() as f64
    }

    /// What copies beyond the first add to a write.
    fn more_copies(&self, write: bool, copies: f64) -> f64 {
        self.path.as_ref().filter(|_| write).map_or(0.0, |path| path.more_copies_ns(copies))
    }

    /// What the messages took that stand for an operation.
    pub(super) fn messages(&self, kind: &Kind) -> f64 {
        self.spec.crossings(kind.write) * kind.rtt + self.more_copies(kind.write, self.copies())
    }

    /// Client, storage node and disk, as far as they are known.
    fn others(&self, kind: &Kind) -> [Option<f64>; 3] {
        let asked = self.spec.job.server.map(|server| {
            let delay = if kind.write { server.write } else { server.read };
            delay.0 as f64
        });
        // A server made for the trial has no disk but its delay; what it took beyond that is its
        // own doing.
        let disk = kind.disk.or(asked);
        let node = kind.served.zip(asked).map(|(served, asked)| (served - asked).max(0.0));
        [kind.client, node, disk]
    }

    /// One kind's operations of one block: nanoseconds of each part of [`PARTS`]; none where it is
    /// not known.
    ///
    /// A read is RTT + node + disk + client. A write that is copied waits for the slowest copy: its
    /// own disk or a replica's, which is one round trip further away; here that round trip is the
    /// network's, and one disk's time counts.
    pub(super) fn parts(&self, kind: &Kind) -> [Option<f64>; 5] {
        if !self.is_remote {
            let rest = kind.latency - kind.client.unwrap_or(0.0);
            return [kind.client, None, None, None, Some(rest)];
        }
        let [client, node, disk] = self.others(kind);
        let left = kind.latency - sum([client, node, disk]);
        // Operations that wait for each other's octets do so in the hosts' buffers, too, where no
        // message beside them waits.
        let most = if self.is_full && disk.is_some() { left } else { self.messages(kind) };
        let network = most.min(left.max(0.0));
        [client, Some(network), node, disk, Some(left - network)]
    }

    /// The network's part of an operation that crosses it.
    pub(super) fn network(&self, kind: &Kind) -> f64 {
        self.parts(kind)[1].unwrap_or(0.0)
    }

    /// Whether that is only what the others leave, by more than a share that is nobody's business:
    /// the messages were no likeness of the operations.
    pub(super) fn is_bound(&self, kind: &Kind) -> bool {
        const LITTLE: f64 = 0.05;
        !self.is_full && self.messages(kind) * (1.0 - LITTLE) > self.network(kind)
    }

    /// Whether operations waited for each other, and not at the disk: they took far longer than all
    /// that each takes alone.
    fn waited(&self, sample: &Sample) -> bool {
        let known = sample.kinds.iter().all(|kind| self.others(kind)[2].is_some());
        let alone = sample.over_kinds(|kind| {
            sum(self.others(kind))
                + self.spec.crossings(kind.write) * kind.alone
                + self.more_copies(kind.write, self.copies())
        });
        known && sample.latency > WAITED * alone
    }

    /// How many times as many operations the links have room for; where nobody knows, without end.
    pub(super) fn room(&self, sample: &Sample) -> f64 {
        if self.is_full { 1.0 } else { self.room_with(sample, self.copies()) }
    }

    /// The most of them that there can be with nothing beside them.
    pub(super) fn most(&self, sample: &Sample) -> f64 {
        sample.per_second * self.room_with(sample, self.copies()).max(1.0)
    }

    /// How long a message alone holds up the path, at most: as long as it takes more than a small
    /// one, and its octets at the links' rate. A way inside a device may be slower than its links.
    fn held(&self, sample: &Sample, kind: &Kind) -> f64 {
        let longer = kind.alone - sample.small.map_or(0.0, |small| small.least);
        let held = self.path.as_ref().map_or(longer, |path| path.held_ns(kind.write, longer));
        held.clamp(0.0, kind.alone)
    }

    /// How long an operation waits for the messages beside it, at most: for those that are on the
    /// path as it comes and those that come while it is there, each as long as it holds it up.
    pub(super) fn disturbance(&self, sample: &Sample, kind: &Kind) -> f64 {
        let on_path = (kind.latency - sum(self.others(kind))).max(0.0);
        let of = |message: &Kind| {
            let held = self.held(sample, message);
            let stays = (on_path.max(message.beside) + held).min(kind.latency);
            message.beside_per_second * held / 1e9 * stays
        };
        sample.kinds.iter().map(of).sum::<f64>().min(kind.latency)
    }

    /// The least that an operation takes with no messages beside it.
    pub(super) fn undisturbed(&self, sample: &Sample, kind: &Kind) -> f64 {
        kind.latency - self.disturbance(sample, kind)
    }

    /// The least that it takes with other operations beside it that it never waits for. Where they
    /// wait on the path, for how long is a matter of their order, which is another one behind
    /// another network (Denning and Buzen 1978: no more than n / what each takes alone).
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

    /// The room were writes copied, or not.
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

    /// All of an operation that can't be the network's: where a server was made for the trial all
    /// others are known, and what is left may be.
    fn without_network(&self, sample: &Sample, kind: &Kind) -> f64 {
        if self.spec.job.server.is_some() {
            return sum(self.others(kind));
        }
        self.undisturbed(sample, kind) - self.network(kind)
    }

    /// At least what an operation takes over the same link without latency.
    pub(super) fn without_latency(&self, sample: &Sample) -> f64 {
        sample.over_kinds(|kind| {
            let wire = |path: &Path| path.wire_ns(kind.write, self.copies());
            let wire = self.path.as_ref().map_or(0.0, wire);
            (self.without_network(sample, kind) + wire).min(self.undisturbed(sample, kind))
        })
    }

    /// At least what it takes over a faster link with the latency as it is; none where waiting for
    /// the link can't be told from waiting for the storage.
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

    /// What an operation would take with small round trips of so long.
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
            // On a full link they wait for its octets, however long a round trip is.
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
        // One at a time waits for no other; of several, none may.
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
