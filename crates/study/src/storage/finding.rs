//! Findings of the storage study by case: a job with one size and depth, on one path.
//!
//! Owns the structure, and the order of its rows. Never computes: `measured`, `added` and `what_if`
//! compute values from blocks.

use page::{Figure, Key, Reply, phrase};
use trial::Storage;
use trial::record::StorageLocation;

use super::budget::PARTS;
use super::cell::QUANTILES;
use crate::view::{Place, Values, values};

/// RTTs of a small message in nanoseconds, as in a cable, a switch, a room and a town.
pub(super) const ROUND_TRIPS_NS: [f64; 6] = [0.0, 20e3, 50e3, 100e3, 200e3, 500e3];

/// Reads and writes of one job.
#[derive(Debug)]
pub struct StorageFinding {
    /// Cases by size and depth, one for each path.
    pub(super) cells: Vec<Vec<StorageCase>>,
}

/// Job with one size and depth on one path.
#[derive(Debug)]
pub(super) struct StorageCase {
    pub(super) place: Place,
    /// Direct cable of the same hosts; `None` without one, and for the cable itself.
    pub(super) cable: Option<Place>,
    /// True through a device; false over a cable, even if it is the only path.
    pub(super) has_device: bool,
    /// Job as it ran, with its size and depth.
    pub(super) job: Storage,
    /// Location of the storage; `None` without a valid trial.
    pub(super) location: Option<StorageLocation>,
    /// True if the operations fill a link.
    pub(super) is_full: bool,
    /// True if the network's part is only what the other parts leave.
    pub(super) is_network_at_most: bool,
    pub(super) all: Operations,
    pub(super) reads: Option<Operations>,
    pub(super) writes: Option<Operations>,
    /// Maximum operations a second over the same link without latency.
    pub(super) without_latency: Option<Figure>,
    /// Maximum operations a second over a faster link.
    pub(super) over_faster_link: Option<Figure>,
    /// Operations a second predicted from the RTTs and the cable's operations.
    pub(super) predicted: Option<Figure>,
    /// Maximum operations a second through a device without latency.
    pub(super) without_device: Option<Figure>,
    pub(super) what_if: Vec<WhatIf>,
}

/// Reads, writes, or both together.
#[derive(Debug)]
pub(super) struct Operations {
    /// `all`, `read`, `write`
    pub(super) word: &'static str,
    pub(super) rate: Figure,
    /// Mean latency.
    pub(super) latency: Figure,
    /// Operations a second by Little's law, for both together.
    pub(super) rate_from_latency: Option<Figure>,
    /// Latencies at [`QUANTILES`]; `None` for both kinds together.
    pub(super) quantiles: Option<[Figure; QUANTILES.len()]>,
    /// RTTs of messages of their size: the mean, the median and p99; `None` for both kinds
    /// together.
    pub(super) round_trips: Option<[Figure; 3]>,
    /// Share of the network in the latency; `None` for operations that cross no network.
    pub(super) network_share: Option<Figure>,
    /// Means of [`PARTS`], as far as known.
    pub(super) parts: [Option<Figure>; PARTS.len()],
    /// Latency added by the device; `None` without a direct cable.
    pub(super) added: Option<Added>,
}

/// Latency that a device adds to an operation.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) observed: Figure,
    /// Prediction from the RTTs.
    pub(super) predicted: Figure,
    /// Observed less predicted latency.
    pub(super) rest: Figure,
    /// Yes if the rest is irrelevant.
    pub(super) agrees: Reply,
}

/// Operations a second at one depth over other networks.
#[derive(Debug)]
pub(super) struct WhatIf {
    /// True if writes wait for a copy on another node.
    pub(super) copied: bool,
    pub(super) depth: u16,
    /// Bound: `at-most` or `at-least`; `None` at the measured depth.
    pub(super) bound: Option<&'static str>,
    /// Rates with small RTTs of [`ROUND_TRIPS_NS`].
    pub(super) rates: [Figure; ROUND_TRIPS_NS.len()],
}

impl WhatIf {
    /// Bound in words: `at most` or `at least`; `None` at the measured depth.
    pub(super) fn bound_in_words(&self) -> Option<String> {
        self.bound.map(|bound| phrase::code(&Key::Bound, bound))
    }
}

/// Heads of [`PARTS`].
pub(super) fn part_names() -> [String; PARTS.len()] {
    PARTS.map(|part| phrase::code(&Key::Part, part))
}

impl StorageFinding {
    /// Cases, in the order of their values' rows.
    pub(super) fn cases(&self) -> impl Iterator<Item = &StorageCase> {
        self.cells.iter().flatten()
    }
}

impl StorageCase {
    /// All operations together, then each kind that occurred.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operations> {
        std::iter::once(&self.all).chain(self.kinds())
    }

    /// Reads and writes, as far as they occurred.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Operations> {
        self.reads.iter().chain(&self.writes)
    }

    /// Operations to state first: writes if there are any, since they cross the network most.
    pub(super) fn foremost(&self) -> &Operations {
        self.kinds().last().unwrap_or(&self.all)
    }

    /// Adds the values measured on its path, and to `after` those that need another path's or a
    /// model.
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
