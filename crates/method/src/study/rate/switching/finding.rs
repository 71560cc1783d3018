//! Results of the study: device by device, test by test, a structure for each kind of test.
//!
//! Owns that structure, the order of its values, and the values that several tests share. Each
//! test's file makes its own. Never draws.

use measure::{FrameSize, Histogram};

use super::super::counts::Count;
use super::{Pattern, SwitchTest};
use crate::study::Row;
use crate::study::view::Who;
use page::{Caveat, Figure, Key, Metric, Unit, phrase};

/// Results of a switching study.
#[derive(Debug)]
pub struct SwitchingFinding {
    pub(super) devices: Vec<DeviceFinding>,
}

/// Results of one device.
#[derive(Debug)]
pub(super) struct DeviceFinding {
    pub(super) who: Who,
    /// Ports that took part.
    pub(super) ports: usize,
    pub(super) tests: Vec<TestFinding>,
}

/// Results of one test.
#[derive(Debug)]
pub(super) struct TestFinding {
    pub(super) test: SwitchTest,
    pub(super) cases: Cases,
}

/// Cases of each kind of test, in the order in which they were measured.
#[derive(Debug)]
pub(super) enum Cases {
    /// The test can't be made where it runs.
    NotMade(Figure),
    Pattern(Vec<PatternCase>),
    Congestion(Vec<CongestionCase>),
    AddressTable {
        size: FrameSize,
        entries: Figure,
    },
    AddressLearning {
        size: FrameSize,
        rate: Figure,
    },
    Broadcast(Vec<BroadcastCase>),
    LineRate(Vec<LineRateCase>),
    Microburst(Vec<MicroburstCase>),
    Incast(Vec<IncastCase>),
}

/// Traffic in a pattern, with frames of one size. Rates are of all sending ports together.
#[derive(Debug)]
pub(super) struct PatternCase {
    pub(super) size: FrameSize,
    pub(super) throughput: Figure,
    /// Rates at the maximum offered load (FRMOL).
    pub(super) at_max_load: Rates,
    /// Rates at the load of which most came through (MFR).
    pub(super) highest: Rates,
    /// Frames that went astray at the maximum offered load.
    pub(super) flooded: Figure,
}

/// An uncongested port beside a congested one.
#[derive(Debug)]
pub(super) struct CongestionCase {
    pub(super) size: FrameSize,
    /// The first of the four ports that did worst, where fours were tried in turn.
    pub(super) worst_from: Option<String>,
    /// Empty where no trial could be used.
    pub(super) egresses: Vec<Egress>,
    pub(super) blocking: Figure,
    pub(super) backpressure: Option<Figure>,
    pub(super) flooded: Option<Figure>,
}

/// Rates at a port.
#[derive(Debug)]
pub(super) struct Egress {
    /// Code word in rows.
    pub(super) name: &'static str,
    pub(super) rates: Rates,
}

impl Egress {
    /// `uncongested (control)`
    pub(super) fn in_words(&self) -> String {
        phrase::code(&Key::Egress, self.name)
    }
}

/// Frames to everybody.
#[derive(Debug)]
pub(super) struct BroadcastCase {
    pub(super) size: FrameSize,
    pub(super) throughput: Figure,
    pub(super) receivers: Vec<Receiver>,
}

/// A port that everybody's frames came to.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) port: String,
    pub(super) delays: Delays,
}

/// All ports at the line's rate. Without a usable trial there is only a loss that has no value.
#[derive(Debug)]
pub(super) struct LineRateCase {
    pub(super) pattern: Pattern,
    pub(super) size: FrameSize,
    pub(super) offered: Option<Figure>,
    pub(super) received: Option<Figure>,
    pub(super) lost: Figure,
    pub(super) flooded: Option<Figure>,
    /// The largest delay less the smallest, where frames were stamped.
    pub(super) spread: Option<Figure>,
    pub(super) delays: Option<Delays>,
}

/// The longest burst without loss.
#[derive(Debug)]
pub(super) struct MicroburstCase {
    pub(super) size: FrameSize,
    pub(super) senders: usize,
    pub(super) receivers: usize,
    /// Octets that wait at each receiver's port; none where no burst's length is known.
    pub(super) held: Option<u64>,
    pub(super) frames: Figure,
}

/// Traffic of several ports into one.
#[derive(Debug)]
pub(super) struct IncastCase {
    pub(super) traffic: &'static str,
    pub(super) size: FrameSize,
    /// The congested port, where each was in turn.
    pub(super) into: Option<String>,
    /// TCP's, where there was any.
    pub(super) goodput: Option<Figure>,
    pub(super) retransmits: Option<Figure>,
    /// Datagrams', where there were any.
    pub(super) lost: Option<Figure>,
    pub(super) delays: Option<Delays>,
}

/// Offered load, forwarding rate and loss of one load.
#[derive(Debug)]
pub(super) struct Rates {
    pub(super) offered: Figure,
    pub(super) received: Figure,
    pub(super) lost: Figure,
}

impl Rates {
    /// Rates of one trial; without values where nothing was counted.
    pub(super) fn new(count: Option<Count>, row: &Row) -> Self {
        let rate = |metric, rate| row.single(metric, Unit::FramesPerSecond, rate);
        Self {
            offered: rate(Metric::Offered, count.map(|count| count.offered)),
            received: rate(Metric::Received, count.map(|count| count.received)),
            lost: row.single(Metric::LossRatio, Unit::Ratio, count.map(|c| c.short_ratio())),
        }
    }

    fn values(&mut self) -> [&mut Figure; 3] {
        [&mut self.offered, &mut self.received, &mut self.lost]
    }
}

/// One-way delays of frames.
#[derive(Debug)]
pub(super) struct Delays {
    pub(super) median: Figure,
    pub(super) largest: Figure,
}

impl Delays {
    /// Delays of one trial; without values where nothing was stamped.
    pub(super) fn new(delays: Option<&Histogram>, mut row: Row) -> Self {
        row.n = delays.map_or(0, Histogram::count);
        if delays.is_none() {
            row.caveats.insert(Caveat::NotStamped);
        }
        let point = |q: f64| {
            let value = delays.map(|delays| delays.quantile(q).0 as f64);
            let figure = row.single(Metric::OneWayDelay, Unit::Nanoseconds, value);
            Figure { quantile: Some(q), ..figure }
        };
        Self { median: point(0.5), largest: point(1.0) }
    }

    fn values(&mut self) -> [&mut Figure; 2] {
        [&mut self.median, &mut self.largest]
    }
}

impl TestFinding {
    /// Cases of a pattern's test; empty for any other.
    pub(super) fn patterns(&self) -> &[PatternCase] {
        if let Cases::Pattern(cases) = &self.cases { cases } else { &[] }
    }

    /// Cases of a test of a congested port; empty for any other.
    pub(super) fn congestions(&self) -> &[CongestionCase] {
        if let Cases::Congestion(cases) = &self.cases { cases } else { &[] }
    }
}

impl SwitchingFinding {
    /// Every value, in the order of the rows.
    pub(super) fn values_mut(&mut self) -> Vec<&mut Figure> {
        let tests = self.devices.iter_mut().flat_map(|device| &mut device.tests);
        tests.flat_map(|test| test.cases.values()).collect()
    }
}

impl Cases {
    /// The reason why a test can't be made, of its row.
    pub(super) fn reason_in_words(value: &Figure) -> String {
        value.in_words(Key::Reason).unwrap_or_default()
    }

    /// Values in the order of their rows.
    fn values(&mut self) -> Vec<&mut Figure> {
        let mut values = Vec::new();
        match self {
            Self::NotMade(value)
            | Self::AddressTable { entries: value, .. }
            | Self::AddressLearning { rate: value, .. } => values.push(value),
            Self::Pattern(cases) => {
                for case in cases {
                    values.push(&mut case.throughput);
                    values.extend(case.at_max_load.values());
                    values.extend(case.highest.values());
                    values.push(&mut case.flooded);
                }
            }
            Self::Congestion(cases) => {
                for case in cases {
                    values
                        .extend(case.egresses.iter_mut().flat_map(|egress| egress.rates.values()));
                    values.push(&mut case.blocking);
                    values.extend(case.backpressure.iter_mut().chain(&mut case.flooded));
                }
            }
            Self::Broadcast(cases) => {
                for case in cases {
                    values.push(&mut case.throughput);
                    values.extend(case.receivers.iter_mut().flat_map(|port| port.delays.values()));
                }
            }
            Self::LineRate(cases) => {
                for case in cases {
                    values.extend(case.offered.iter_mut().chain(&mut case.received));
                    values.push(&mut case.lost);
                    values.extend(case.flooded.iter_mut().chain(&mut case.spread));
                    values.extend(case.delays.iter_mut().flat_map(Delays::values));
                }
            }
            Self::Microburst(cases) => values.extend(cases.iter_mut().map(|case| &mut case.frames)),
            Self::Incast(cases) => {
                for case in cases {
                    values.extend(case.goodput.iter_mut().chain(&mut case.retransmits));
                    values.extend(&mut case.lost);
                    values.extend(case.delays.iter_mut().flat_map(Delays::values));
                }
            }
        }
        values
    }
}

impl IncastCase {
    /// `tcp and a burst`
    pub(super) fn traffic_in_words(&self) -> String {
        phrase::code(&Key::Traffic, self.traffic)
    }

    /// A case without a value yet.
    pub(super) const fn new(traffic: &'static str, into: Option<String>) -> Self {
        let (goodput, retransmits, lost, delays) = (None, None, None, None);
        let size = FrameSize::STANDARD_MAX;
        Self { traffic, size, into, goodput, retransmits, lost, delays }
    }
}
