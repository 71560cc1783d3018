//! Findings of the latency study: its cases, each with every frame size and every path.
//!
//! Owns the structure and the order of its rows. `measured` computes values from blocks; never
//! draws.

mod added;
mod measured;
mod rounds;
mod under_load;

use measure::{FrameSize, Histogram};

use super::cell::{Cell, MEDIAN};
use super::load::DirectedLoad;
use super::spec::LatencySpec;
use crate::responsiveness::acknowledgements_wait;
use crate::tcp::TcpDirection;
use crate::view::streams::Firsts;
use crate::view::{Frames, Place, Values, values};
use crate::ways::Ways;
use measured::Measured;
use page::Figure;
use trial::{Protocol, Topology};

/// RTTs by protocol and load.
#[derive(Debug)]
pub struct LatencyFinding {
    pub(super) cases: Vec<LatencyCase>,
    /// First trials with TCP as a load.
    pub(super) streams: Firsts,
    /// True if the direct cable was measured at another time than the device.
    pub(super) is_cable_apart: bool,
}

/// RTTs of one protocol under one load.
#[derive(Debug)]
pub(super) struct LatencyCase {
    pub(super) protocol: Protocol,
    pub(super) load: DirectedLoad,
    pub(super) sizes: Vec<SizeTrips>,
}

/// RTTs of frames of one size.
#[derive(Debug)]
pub(super) struct SizeTrips {
    /// Requested octets; the frames sent may be larger.
    pub(super) size: FrameSize,
    /// Paths of the subjects, then the direct cables.
    pub(super) paths: Vec<PathTrips>,
}

/// RTTs on one path.
#[derive(Debug)]
pub(super) struct PathTrips {
    pub(super) place: Place,
    pub(super) frames: Frames,
    /// RTTs of all valid trials together; `None` without a valid trial.
    pub(super) round_trips: Option<Histogram>,
    pub(super) rtt: Vec<Figure>,
    pub(super) pdv: Vec<Figure>,
    pub(super) ipdv: Vec<Figure>,
    /// Payload and retransmits of each flow; empty unless TCP is the load.
    pub(super) load: Vec<LoadValues>,
    /// Queue behind the RTTs; `None` unless TCP is the load.
    pub(super) under_load: Option<UnderLoad>,
    /// Latency added by the device; `None` without a direct cable.
    pub(super) added: Option<Added>,
}

/// Payload and retransmits of TCP as a load.
#[derive(Debug)]
pub(super) struct LoadValues {
    pub(super) goodput: Figure,
    pub(super) retransmits: Figure,
}

/// Queue that a TCP load causes on one path, and round trips a minute beside it.
#[derive(Debug)]
pub(super) struct UnderLoad {
    /// Median idle RTT of the same requests in nanoseconds; `None` if it was not measured.
    pub(super) idle: Option<f64>,
    /// Octets that waited, at the median and the 99th percentile; empty if the load runs both ways.
    pub(super) waiting: Vec<Figure>,
    /// Round trips a minute: of the requests, of the load's connections, and their mean; without
    /// readings of the connections only the first.
    pub(super) rpm: Vec<Figure>,
}

/// RTT of a device less that of its direct cable.
#[derive(Debug)]
pub(super) struct Added {
    /// Index of the cable among the paths.
    pub(super) cable: usize,
    /// Added latency at the median and the 99th percentile.
    pub(super) points: [AddedPoint; 2],
}

/// Added latency at one quantile.
#[derive(Debug)]
pub(super) struct AddedPoint {
    pub(super) value: Figure,
    /// Change of the cable's RTT, if it was measured in several rounds.
    pub(super) drift: Option<Figure>,
}

/// Paths and testbed of the trials.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) ways: &'a Ways,
    pub(super) topology: &'a Topology,
}

impl LatencyFinding {
    /// Computes each value from its blocks.
    pub(super) fn new(
        spec: &LatencySpec,
        cells: &[Cell],
        testbed: Surroundings<'_>,
        seed: u64,
        streams: Firsts,
    ) -> Self {
        let ways = testbed.ways;
        let of_size = |cell: &Cell| {
            let is_idle =
                |other: &&Cell| other.load.load.is_idle() && other.has_same_requests(cell);
            let idle = cells.iter().find(is_idle);
            let trips = |way| Measured::new(spec, testbed, cell, idle, way).trips(seed);
            SizeTrips { size: cell.size, paths: ways.all().into_iter().map(trips).collect() }
        };
        let case = |cells: &[Cell]| LatencyCase {
            protocol: cells[0].protocol,
            load: cells[0].load.clone(),
            sizes: cells.iter().map(of_size).collect(),
        };
        let cases = cells.chunk_by(Cell::is_of_one_case).map(case).collect();
        let mut finding = Self { cases, streams, is_cable_apart: ways.another_time().is_some() };
        finding.withdraw_acknowledgements();
        finding
    }

    /// Withdraws the octets that waited where the way back is so slow that acknowledgements may
    /// have been what waited.
    fn withdraw_acknowledgements(&mut self) {
        let goodputs: Vec<Vec<Option<f64>>> =
            self.cases.iter().map(LatencyCase::goodputs).collect();
        for at in 0..self.cases.len() {
            let back = self.cases.iter().position(|other| other.is_opposite(&self.cases[at]));
            let Some(back) = back else { continue };
            let paths = self.cases[at].sizes.iter_mut().flat_map(|size| &mut size.paths);
            for (path, (own, back)) in paths.zip(goodputs[at].iter().zip(&goodputs[back])) {
                if let Some(under_load) = &mut path.under_load
                    && acknowledgements_wait(*own, *back)
                {
                    under_load.waiting.clear();
                }
            }
        }
    }
}

impl LatencyCase {
    /// Goodput of a load's first flow on each path of each size.
    fn goodputs(&self) -> Vec<Option<f64>> {
        let paths = self.sizes.iter().flat_map(|size| &size.paths);
        paths.map(|path| path.load.first()?.goodput.value).collect()
    }

    /// True if the same load runs in the other direction alone.
    fn is_opposite(&self, other: &Self) -> bool {
        use TcpDirection::{Forward, Reverse};
        let directions = (self.load.direction, other.load.direction);
        self.protocol == other.protocol
            && self.load.load == other.load.load
            && matches!(directions, (Forward, Reverse) | (Reverse, Forward))
    }
}

impl SizeTrips {
    /// RTTs over the direct cable of a subject.
    pub(super) fn over_cable(&self, added: &Added) -> &PathTrips {
        &self.paths[added.cable]
    }

    /// Change of a direct cable from its first round to its last. All subjects with that cable
    /// state the same.
    pub(super) fn drift(&self, cable: &PathTrips) -> Vec<&Figure> {
        let added = self.paths.iter().filter_map(|path| path.added.as_ref());
        let beside = added.filter(|added| std::ptr::eq(self.over_cable(added), cable));
        beside.map(Added::drifts).find(|drifts| !drifts.is_empty()).unwrap_or_default()
    }
}

impl PathTrips {
    /// Median RTT.
    pub(super) fn median(&self) -> &Figure {
        &self.rtt[MEDIAN]
    }
}

impl Added {
    /// Added latency at the median.
    pub(super) const fn median(&self) -> &Figure {
        &self.points[0].value
    }

    fn drifts(&self) -> Vec<&Figure> {
        self.points.iter().filter_map(|point| point.drift.as_ref()).collect()
    }

    /// Added latency at each quantile.
    pub(super) fn at_quantiles(&self) -> impl Iterator<Item = &Figure> {
        self.points.iter().map(|point| &point.value)
    }
}

values! {
    LatencyFinding: cases;
    LatencyCase: sizes;
    LoadValues: goodput, retransmits;
    UnderLoad: waiting, rpm;
    Added: points;
    AddedPoint: value, drift;
}

impl Values for SizeTrips {
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
        // Added latencies come after all paths of a size.
        let mut added = Vec::new();
        for path in &mut self.paths {
            let PathTrips { rtt, pdv, ipdv, load, under_load, .. } = path;
            all.extend(rtt.iter_mut().chain(pdv).chain(ipdv));
            load.gather(all);
            under_load.gather(all);
            path.added.gather(&mut added);
        }
        all.append(&mut added);
    }
}
