//! Utilisation of the links of client, storage host and replicas by a job's operations, and the
//! rate of messages next to them.
//!
//! Owns the sum of an operation's octets at each port and in each direction. On a full link
//! operations wait for each other's octets, whatever the delay. Pure.

use measure::FrameRate;
use trial::topology::{Pair, PortRef};
use trial::{Messages, Topology};

use super::StorageSpec;
use super::cell::{Cell, CellData, Sample};
use crate::capacity::{Capacity, Of, rate};
use crate::verdict::{LINE_RATE, TESTER_SHARE};

/// Maximum share of a path for messages next to a job, so that they do not delay it.
const BESIDE: f64 = 0.02;
/// Assumed rate of a path of unknown rate, in bits a second.
const UNKNOWN: f64 = 1e9;
/// Minimum number of messages next to a load, however long each takes.
const FEWEST: f64 = 2.0;

/// Messages a second of each kind, next to the operations of a cell.
pub(super) fn probe_rate(
    spec: &StorageSpec,
    cell: Cell,
    topology: &Topology,
    pair: &Pair,
) -> FrameRate {
    let all = cell.messages(spec);
    let way = |pick: fn(&Messages) -> u64| all.iter().map(|(_, of)| pick(of)).sum::<u64>();
    let octets = way(|of| of.request.0).max(way(|of| of.answer.0));
    let held = rate(topology, pair).map_or(UNKNOWN, |(rate, _)| rate.bits_per_second());
    let most = BESIDE * held / (8.0 * octets as f64);
    FrameRate(spec.probes.0.min(most).max(FEWEST / spec.duration.as_secs_f64()))
}

/// Path with a cell's operations on it.
pub(super) struct Path {
    /// Capacity from the client to the storage host.
    there: Capacity,
    back: Capacity,
    client: Capacity,
    storage: Capacity,
    /// Capacity of the slowest replica's port; `None` without replicas.
    replica: Option<Capacity>,
    messages: Vec<(bool, Messages)>,
    /// True if a connection may send several messages at a time, so that TCP may merge them into
    /// one segment.
    is_joined: bool,
    /// Number of copies of a write that the storage host sends on, by the port at which it arrived.
    pub(super) copies: f64,
}

impl Path {
    /// Capacities of a cell's path; `None` if a rate or a segment's size is unknown.
    pub(super) fn for_cell(
        spec: &StorageSpec,
        cell: Cell,
        data: &CellData,
        topology: &Topology,
        pair: &Pair,
    ) -> Option<Self> {
        let segment = data.samples.iter().find_map(|sample| sample.segment)?;
        let over = |pair: &Pair| Capacity::for_pair(topology, pair, segment);
        let port = |port: &PortRef| over(&Pair { from: port.clone(), to: port.clone() });
        let replicas = spec.job.replicas.iter().filter_map(port);
        Some(Self {
            there: over(pair)?,
            back: over(&pair.back())?,
            client: port(&pair.from)?,
            storage: port(&pair.to)?,
            replica: replicas.reduce(|a, b| if a.payload() <= b.payload() { a } else { b }),
            messages: cell.messages(spec),
            is_joined: cell.depth > 1 || (!spec.job.replicas.is_empty() && spec.job.numjobs > 1),
            copies: spec.job.replicas.len() as f64,
        })
    }

    /// Utilisation of the busiest link in its busier direction by a block's operations: minimum and
    /// maximum. Counts `beside` of the separate messages, and `copies` of each write. The number of
    /// acknowledgements is known within one per message. Merged messages need fewer segments.
    fn used(&self, sample: &Sample, copies: f64, beside: f64, joined: bool) -> [f64; 2] {
        let mut links = [[[0.0; 2]; 2]; 3];
        let add = |link: &mut [[f64; 2]; 2], port: &Capacity, messages, per_second| {
            add_messages(link, port, joined, messages, per_second);
        };
        for (write, of) in &self.messages {
            let Some(kind) = sample.kind(*write) else { continue };
            let crossing = kind.per_second + beside * kind.beside_per_second;
            let [request, answer] = [of.request, of.answer].map(|octets| octets.0 as f64);
            add(&mut links[0], &self.client, [request, answer], crossing);
            add(&mut links[1], &self.storage, [request, answer], crossing);
            if *write {
                add(&mut links[1], &self.storage, [answer, request], copies * kind.per_second);
                if let Some(replica) = self.replica.as_ref().filter(|_| copies > 0.0) {
                    add(&mut links[2], replica, [request, answer], kind.per_second);
                }
            }
        }
        let ways = || links.iter().flatten();
        [0, 1].map(|end| ways().map(|way| way[end]).fold(0.0, f64::max))
    }

    /// Transmission time of an operation in nanoseconds, without latency: its octets' time on the
    /// client's link, and for a copied write on the storage host's.
    pub(super) fn wire_ns(&self, write: bool, copies: f64) -> f64 {
        let Some((_, of)) = self.messages.iter().find(|of| of.0 == write) else { return 0.0 };
        let [request, answer] = [of.request, of.answer].map(|octets| octets.0 as f64);
        let own = self.there.wire_ns(request) + self.back.wire_ns(answer);
        if !write || copies < 1.0 {
            return own;
        }
        own + copies * self.storage.wire_ns(request) + self.storage.wire_ns(answer)
    }

    /// Additional time of the storage host's link for copies beyond the first, in nanoseconds: they
    /// leave one after the other.
    pub(super) fn more_copies_ns(&self, copies: f64) -> f64 {
        let Some((_, of)) = self.messages.iter().find(|of| of.0) else { return 0.0 };
        (copies - 1.0).max(0.0) * self.storage.wire_ns(of.request.0 as f64)
    }

    /// Time of a small round trip for storing frames in a switch and for the link itself, in
    /// nanoseconds. A faster link removes it.
    pub(super) fn small_ns(&self) -> f64 {
        let Messages { request, answer } = trial::Storage::small_messages();
        2.0 * (self.there.wire_ns(request.0 as f64) + self.back.wire_ns(answer.0 as f64))
    }

    /// Longest time that a message occupies the path, if it takes `longer` nanoseconds more than a
    /// small one. The excess is its octets' time less a small one's, at any rate.
    pub(super) fn held_ns(&self, write: bool, longer: f64) -> f64 {
        let own = self.wire_ns(write, 0.0);
        let more = own - self.small_ns() / 2.0;
        if more > 0.0 { own.max(longer * own / more) } else { own.max(longer) }
    }

    /// True if a block filled the path. Operations are counted, so one more may have been almost
    /// complete. If they waited, those in flight at the end may have been too, and the maximum of
    /// acknowledgements counts.
    fn filled(&self, sample: &Sample, waited: bool) -> bool {
        let [least, most] = self.used(sample, self.copies, 1.0, false);
        let one_more = 1.0 + 1.0 / sample.count().max(1) as f64;
        least * one_more >= LINE_RATE
            || (waited
                && least >= TESTER_SHARE
                && most * sample.with_those_under_way() >= LINE_RATE)
    }

    /// True if most of the blocks filled the path, as far as segments can be counted.
    pub(super) fn may_be_full(&self, data: &CellData, waited: impl Fn(&Sample) -> bool) -> bool {
        data.most(|sample| self.filled(sample, waited(sample)))
    }

    /// True if they did even if TCP merged several messages into one segment.
    pub(super) fn is_full(&self, data: &CellData, waited: impl Fn(&Sample) -> bool) -> bool {
        let least = |sample: &Sample| self.used(sample, self.copies, 1.0, self.is_joined)[0];
        self.may_be_full(data, waited) && data.most(|sample| least(sample) >= TESTER_SHARE)
    }

    /// True if the link sets the rate, and not a device's port limit.
    pub(super) fn is_link(&self) -> bool {
        self.there.of == Of::Link
    }

    /// Maximum factor on a block's operations that the links allow, with `copies` of each write.
    pub(super) fn room(&self, sample: &Sample, copies: f64) -> f64 {
        1.0 / self.used(sample, copies, 0.0, true)[0]
    }
}

/// Adds messages that leave and return by a port to both directions of its link, minimum and
/// maximum.
fn add_messages(
    link: &mut [[f64; 2]; 2],
    port: &Capacity,
    joined: bool,
    [out, back]: [f64; 2],
    per_second: f64,
) {
    for (way, (data, acknowledged)) in link.iter_mut().zip([(out, back), (back, out)]) {
        // Merged acknowledgements may all travel with payload.
        let (payload, answers) = if joined {
            (per_second * data * 8.0 / port.payload(), [0.0; 2])
        } else {
            (port.share(data, per_second), port.share_of_answers(acknowledged, per_second))
        };
        for (end, answers) in way.iter_mut().zip(answers) {
            *end += payload + answers;
        }
    }
}
