//! The latency study's finding: its cases, in each every frame size, of each every path.
//!
//! Owns the structure and the order of its rows. How blocks become values is in `measured`; never
//! draws.

mod added;
mod measured;
mod rounds;

use measure::{FrameSize, Histogram};

use super::cell::{Cell, MEDIAN};
use super::load::Load;
use super::spec::LatencySpec;
use crate::study::view::streams::Firsts;
use crate::study::view::{Frames, Place, Values, values};
use crate::study::ways::Ways;
use measured::Measured;
use page::Figure;
use trial::Protocol;

/// Round-trip times by protocol and load.
#[derive(Debug)]
pub struct LatencyFinding {
    pub(super) cases: Vec<LatencyCase>,
    /// The first trials with TCP as a load.
    pub(super) streams: Firsts,
    /// True if the direct cable was measured at another time than the device.
    pub(super) is_cable_apart: bool,
}

/// Round trips of one protocol under one load.
#[derive(Debug)]
pub(super) struct LatencyCase {
    pub(super) protocol: Protocol,
    pub(super) load: Load,
    pub(super) sizes: Vec<SizeTrips>,
}

/// Round trips of frames of one size.
#[derive(Debug)]
pub(super) struct SizeTrips {
    /// Octets asked for: what was sent may be larger.
    pub(super) size: FrameSize,
    /// The subjects' paths, then the direct cables.
    pub(super) paths: Vec<PathTrips>,
}

/// Round trips on one path.
#[derive(Debug)]
pub(super) struct PathTrips {
    pub(super) place: Place,
    pub(super) frames: Frames,
    /// All valid trials together; none where there was no such trial.
    pub(super) round_trips: Option<Histogram>,
    pub(super) rtt: Vec<Figure>,
    pub(super) pdv: Vec<Figure>,
    pub(super) ipdv: Vec<Figure>,
    /// Payload and retransmits, where TCP is the load.
    pub(super) load: Option<LoadValues>,
    /// Time added by the device, where a direct cable is beside it.
    pub(super) added: Option<Added>,
}

/// Payload and retransmits of TCP as a load.
#[derive(Debug)]
pub(super) struct LoadValues {
    pub(super) goodput: Figure,
    pub(super) retransmits: Figure,
}

/// Round-trip time that a device adds to its direct cable's.
#[derive(Debug)]
pub(super) struct Added {
    /// The cable's place among the paths.
    pub(super) cable: usize,
    /// The median, and the 99th percentile.
    pub(super) points: [AddedPoint; 2],
}

/// Added time at one quantile.
#[derive(Debug)]
pub(super) struct AddedPoint {
    pub(super) value: Figure,
    /// The cable's own change, where it was measured in several rounds.
    pub(super) drift: Option<Figure>,
}

impl LatencyFinding {
    /// Makes each value from its blocks.
    pub(super) fn new(
        spec: &LatencySpec,
        cells: &[Cell],
        ways: &Ways,
        seed: u64,
        streams: Firsts,
    ) -> Self {
        let of_size = |cell: &Cell| {
            let trips = |way| Measured::new(spec, ways, cell, way).trips(seed);
            SizeTrips { size: cell.size, paths: ways.all().into_iter().map(trips).collect() }
        };
        let case = |cells: &[Cell]| LatencyCase {
            protocol: cells[0].protocol,
            load: cells[0].load.clone(),
            sizes: cells.iter().map(of_size).collect(),
        };
        let cases = cells.chunk_by(Cell::is_of_one_case).map(case).collect();
        Self { cases, streams, is_cable_apart: ways.another_time().is_some() }
    }
}

impl SizeTrips {
    /// Round trips over the direct cable beside a subject.
    pub(super) fn over_cable(&self, added: &Added) -> &PathTrips {
        &self.paths[added.cable]
    }

    /// Change of a direct cable from its first round to its last. All subjects beside it tell the
    /// same.
    pub(super) fn drift(&self, cable: &PathTrips) -> Vec<&Figure> {
        let added = self.paths.iter().filter_map(|path| path.added.as_ref());
        let beside = added.filter(|added| std::ptr::eq(self.over_cable(added), cable));
        beside.map(Added::drifts).find(|drifts| !drifts.is_empty()).unwrap_or_default()
    }
}

impl PathTrips {
    /// The middle round trip.
    pub(super) fn median(&self) -> &Figure {
        &self.rtt[MEDIAN]
    }
}

impl Added {
    /// Added to the middle round trip.
    pub(super) const fn median(&self) -> &Figure {
        &self.points[0].value
    }

    fn drifts(&self) -> Vec<&Figure> {
        self.points.iter().filter_map(|point| point.drift.as_ref()).collect()
    }

    /// Added at each quantile.
    pub(super) fn at_quantiles(&self) -> impl Iterator<Item = &Figure> {
        self.points.iter().map(|point| &point.value)
    }
}

values! {
    LatencyFinding: cases;
    LatencyCase: sizes;
    LoadValues: goodput, retransmits;
    Added: points;
    AddedPoint: value, drift;
}

impl Values for SizeTrips {
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
        // Times added stand behind all paths of a size.
        let mut added = Vec::new();
        for path in &mut self.paths {
            let PathTrips { rtt, pdv, ipdv, load, .. } = path;
            all.extend(rtt.iter_mut().chain(pdv).chain(ipdv));
            load.gather(all);
            path.added.gather(&mut added);
        }
        all.append(&mut added);
    }
}
