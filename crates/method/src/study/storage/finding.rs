//! What the storage study found, case by case: a job in one size and depth, on one way.
//!
//! Owns the structure, and the order in which its values are rows. Never reckons: `measured`,
//! `added` and `what_if` make values of blocks.

use page::{Figure, Key, Reply, phrase};
use trial::Storage;
use trial::record::StorageLocation;

use super::budget::PARTS;
use super::cell::QUANTILES;
use crate::study::view::Place;

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

    /// The values measured on its way, then those made of them with another way's or a model.
    fn values(&mut self) -> [Vec<&mut Figure>; 2] {
        let [mut done, mut trips, mut shares, mut parts, mut derived] = [const { Vec::new() }; 5];
        for own in std::iter::once(&mut self.all).chain(&mut self.reads).chain(&mut self.writes) {
            done.extend([&mut own.rate, &mut own.latency]);
            done.extend(&mut own.rate_from_latency);
            done.extend(own.quantiles.iter_mut().flatten());
            trips.extend(own.round_trips.iter_mut().flatten());
            shares.extend(&mut own.network_share);
            parts.extend(own.parts.iter_mut().flatten());
            if let Some(Added { observed, predicted, rest, .. }) = &mut own.added {
                derived.extend([observed, predicted, rest]);
            }
        }
        shares.extend(self.without_latency.iter_mut().chain(&mut self.over_faster_link));
        derived.extend(self.predicted.iter_mut().chain(&mut self.without_device));
        derived.extend(self.what_if.iter_mut().flat_map(|line| &mut line.rates));
        let measured = [done, trips, shares, parts];
        [measured.into_iter().flatten().collect(), derived]
    }
}

impl StorageFinding {
    /// Every value, in the order of the rows.
    pub(super) fn values_mut(&mut self) -> Vec<&mut Figure> {
        let mut values = Vec::new();
        for cell in &mut self.cells {
            let mut after = Vec::new();
            for [measured, derived] in cell.iter_mut().map(StorageCase::values) {
                values.extend(measured);
                after.extend(derived);
            }
            values.append(&mut after);
        }
        values
    }
}
