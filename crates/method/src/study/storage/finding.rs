//! What the storage study found, case by case: a job in one size and depth, on one way.
//!
//! Owns the structure, and the order in which its values are rows. Never reckons: `measured`,
//! `added` and `what_if` make values of blocks.

use page::{Figure, Key, Reply, phrase};
use trial::Storage;
use trial::record::StorageLocation;

use super::budget::PARTS;
use super::cell::QUANTILES;
use crate::study::view::{Place, Values, values};

/// Round trips of a small message, in nanoseconds: a cable's, a switch's, a room's, a town's.
pub(super) const ROUND_TRIPS_NS: [f64; 6] = [0.0, 20e3, 50e3, 100e3, 200e3, 500e3];

/// Reads and writes of one job.
#[derive(Debug)]
pub struct StorageFinding {
    /// For each size and depth, a case a way.
    pub(super) cells: Vec<Vec<StorageCase>>,
}

/// A job in one size and depth on one way.
#[derive(Debug)]
pub(super) struct StorageCase {
    pub(super) place: Place,
    /// False over a cable, be it the one beside a device or the only way.
    pub(super) has_device: bool,
    /// The job as it ran, with its size and depth.
    pub(super) job: Storage,
    /// The storage's location; none where no trial was valid.
    pub(super) location: Option<StorageLocation>,
    /// True where the operations fill a link.
    pub(super) is_full: bool,
    /// True where the network's part is only what the others leave.
    pub(super) is_network_at_most: bool,
    pub(super) all: Operations,
    pub(super) reads: Option<Operations>,
    pub(super) writes: Option<Operations>,
    /// Operations a second over the same link without latency, at most.
    pub(super) without_latency: Option<Figure>,
    /// Operations a second over a faster link, at most.
    pub(super) over_faster_link: Option<Figure>,
    /// Operations a second that the round trips and the cable's operations predict.
    pub(super) predicted: Option<Figure>,
    /// Operations a second through a device without latency, at most.
    pub(super) without_device: Option<Figure>,
    pub(super) what_if: Vec<WhatIf>,
}

/// Reads, writes, or both together.
#[derive(Debug)]
pub(super) struct Operations {
    /// `all`, `read`, `write`
    pub(super) word: &'static str,
    pub(super) rate: Figure,
    /// The mean.
    pub(super) latency: Figure,
    /// Operations a second by Little's law, of both together.
    pub(super) rate_from_latency: Option<Figure>,
    /// Latencies at [`QUANTILES`], of one kind.
    pub(super) quantiles: Option<[Figure; QUANTILES.len()]>,
    /// Round trips of messages of their size: the mean, the median and p99. Of one kind.
    pub(super) round_trips: Option<[Figure; 3]>,
    /// The network's share of the latency; none of operations that cross no network.
    pub(super) network_share: Option<Figure>,
    /// Means of [`PARTS`], as far as they are known.
    pub(super) parts: [Option<Figure>; PARTS.len()],
    /// The device's part; none without a direct cable to compare with.
    pub(super) added: Option<Added>,
}

/// The time that a device adds to an operation.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) observed: Figure,
    /// The prediction from the round trips.
    pub(super) predicted: Figure,
    /// Observed less predicted.
    pub(super) rest: Figure,
    /// Yes where the rest is nothing that matters.
    pub(super) agrees: Reply,
}

/// Operations a second at one depth over other networks.
#[derive(Debug)]
pub(super) struct WhatIf {
    /// True where writes wait for a copy on another node.
    pub(super) copied: bool,
    pub(super) depth: u16,
    /// `at-most`, `at-least`; none at the depth that was measured.
    pub(super) bound: Option<&'static str>,
    /// Rates with small round trips of [`ROUND_TRIPS_NS`].
    pub(super) rates: [Figure; ROUND_TRIPS_NS.len()],
}

impl WhatIf {
    /// `at most`, `at least`; none at the depth that was measured.
    pub(super) fn bound_in_words(&self) -> Option<String> {
        self.bound.map(|bound| phrase::code(&Key::Bound, bound))
    }
}

/// Heads of [`PARTS`].
pub(super) fn part_names() -> [String; PARTS.len()] {
    PARTS.map(|part| phrase::code(&Key::Part, part))
}

impl StorageFinding {
    /// Every case, in the order of its values' rows.
    pub(super) fn cases(&self) -> impl Iterator<Item = &StorageCase> {
        self.cells.iter().flatten()
    }
}

impl StorageCase {
    /// All operations together, then each kind that there was.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operations> {
        std::iter::once(&self.all).chain(self.kinds())
    }

    /// Reads and writes, as far as there were any.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Operations> {
        self.reads.iter().chain(&self.writes)
    }

    /// The operations that a reader is told of: writes where there are any, since they cross the
    /// network most.
    pub(super) fn foremost(&self) -> &Operations {
        self.kinds().last().unwrap_or(&self.all)
    }

    /// Adds the values measured on its way, then to `after` those made of them with another way's
    /// or a model.
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>, after: &mut Vec<&'a mut Figure>) {
        let [mut trips, mut shares, mut parts] = [const { Vec::new() }; 3];
        for own in std::iter::once(&mut self.all).chain(&mut self.reads).chain(&mut self.writes) {
            all.extend([&mut own.rate, &mut own.latency]);
            own.rate_from_latency.gather(all);
            own.quantiles.gather(all);
            own.round_trips.gather(&mut trips);
            own.network_share.gather(&mut shares);
            own.parts.gather(&mut parts);
            own.added.gather(after);
        }
        all.extend(trips.into_iter().chain(shares));
        all.extend(self.without_latency.iter_mut().chain(&mut self.over_faster_link));
        all.append(&mut parts);
        after.extend(self.predicted.iter_mut().chain(&mut self.without_device));
        self.what_if.gather(after);
    }
}

values! {
    Added: observed, predicted, rest;
    WhatIf: rates;
}

impl Values for StorageFinding {
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
        for cell in &mut self.cells {
            let mut after = Vec::new();
            for case in cell {
                case.gather(all, &mut after);
            }
            all.append(&mut after);
        }
    }
}
