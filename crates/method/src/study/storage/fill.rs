//! How full a job's operations make the path between client and storage host, and how many messages
//! may go beside them.
//!
//! Owns the sum of an operation's octets each way. On a full path operations wait for each other's
//! octets, whatever its latency is. Pure.

use measure::FrameRate;
use trial::topology::Pair;
use trial::{Messages, Topology};

use super::StorageSpec;
use super::cell::{Cell, CellData, Sample};
use crate::study::capacity::{Capacity, Of, rate};
use crate::verdict::LINE_RATE;

/// Messages beside a job take no more than this share of a path, else they would hold it up.
const BESIDE: f64 = 0.02;
/// What a path is taken for whose rate nobody knows, in bits a second.
const UNKNOWN: f64 = 1e9;
/// So many messages go beside a load all the same, however long each takes.
const FEWEST: f64 = 2.0;

/// Messages a second of each kind beside the operations of a cell.
pub(super) fn beside(
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

/// A path with a cell's operations on it.
pub(super) struct Path {
    /// From the client to the storage host.
    there: Capacity,
    back: Capacity,
    messages: Vec<(bool, Messages)>,
    /// Copies of a write that the storage host sends on, by the port at which it came.
    copies: f64,
}

impl Path {
    /// `None` where a rate or a segment's size is not known.
    pub(super) fn of(
        (spec, cell): (&StorageSpec, Cell),
        data: &CellData,
        topology: &Topology,
        pair: &Pair,
    ) -> Option<Self> {
        let segment = data.samples.iter().find_map(|sample| sample.segment)?;
        let there = Capacity::of(topology, pair, segment)?;
        let back = Capacity::of(topology, &pair.back(), segment)?;
        let messages = cell.messages(spec);
        Some(Self { there, back, messages, copies: spec.job.replicas.len() as f64 })
    }

    /// The share of the path's time, in the fuller direction, that operations and the messages
    /// beside them took in a block.
    fn used(&self, sample: &Sample) -> f64 {
        let (mut there, mut back) = (0.0, 0.0);
        for (write, of) in &self.messages {
            let Some(kind) = sample.kind(*write) else { continue };
            let per_second = kind.per_second + kind.beside_per_second;
            let [request, answer] = [of.request, of.answer].map(|octets| octets.0 as f64);
            there += self.there.share(request, per_second)
                + self.there.share_of_answers(answer, per_second);
            back += self.back.share(answer, per_second)
                + self.back.share_of_answers(request, per_second);
            if *write {
                back += self.copies * self.back.share(request, kind.per_second);
                there += self.copies * self.there.share(answer, kind.per_second);
            }
        }
        there.max(back)
    }

    /// Whether a block filled it: its operations are counted, and one more may have been near.
    fn filled(&self, sample: &Sample) -> bool {
        let count: u64 = sample.kinds.iter().map(|kind| kind.count).sum();
        self.used(sample) * (1.0 + 1.0 / count.max(1) as f64) >= LINE_RATE
    }

    /// Whether most of the blocks did.
    pub(super) fn is_full(&self, data: &CellData) -> bool {
        data.most(|sample| self.filled(sample))
    }

    /// Whether it is the link that is held to its rate, and not a device's port.
    pub(super) fn is_link(&self) -> bool {
        self.there.of == Of::Link
    }

    /// How many times as many operations as in this block there can be at most.
    pub(super) fn room(&self, sample: &Sample) -> f64 {
        if self.filled(sample) { 1.0 } else { 1.0 / self.used(sample) }
    }
}
