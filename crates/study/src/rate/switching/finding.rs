//! Findings of the study by device and test, with a structure for each kind of test.
//!
//! Owns that structure, the order of its values, and the values that several tests share. Each
//! test's file computes its own. Never draws.

use measure::{FrameSize, Histogram};

use super::super::counts::Count;
use super::{Pattern, SwitchTest};
use crate::Row;
use crate::view::{Values, Who, values};
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
    /// Number of ports that took part.
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
    /// Row of a test that cannot be run here.
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

/// Traffic in a pattern, with frames of one size. Rates are those of all sending ports together.
#[derive(Debug)]
pub(super) struct PatternCase {
    pub(super) size: FrameSize,
    pub(super) throughput: Figure,
    /// Rates at the maximum offered load (FRMOL).
    pub(super) at_max_load: Rates,
    /// Rates at the load with the highest forwarding rate (MFR).
    pub(super) highest: Rates,
    /// Frames flooded to other hosts at the maximum offered load.
    pub(super) flooded: Figure,
}

/// Uncongested port next to a congested one.
#[derive(Debug)]
pub(super) struct CongestionCase {
    pub(super) size: FrameSize,
    /// First of the four ports with the worst result; `None` if all were tested at once.
    pub(super) worst_from: Option<String>,
    /// Egress ports; empty if no trial was usable.
    pub(super) egresses: Vec<Egress>,
    pub(super) blocking: Figure,
    pub(super) backpressure: Option<Figure>,
    pub(super) flooded: Option<Figure>,
}

/// Rates at a port.
#[derive(Debug)]
pub(super) struct Egress {
    /// `uncongested-control`
    pub(super) name: &'static str,
    pub(super) rates: Rates,
}

impl Egress {
    /// `uncongested (control)`
    pub(super) fn to_words(&self) -> String {
        phrase::code(&Key::Egress, self.name)
    }
}

/// Broadcast frames.
#[derive(Debug)]
pub(super) struct BroadcastCase {
    pub(super) size: FrameSize,
    pub(super) throughput: Figure,
    pub(super) receivers: Vec<Receiver>,
}

/// Port that received the broadcast frames.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) port: String,
    pub(super) delays: Delays,
}

/// All ports at line rate. Without a usable trial there is only a loss without a value.
#[derive(Debug)]
pub(super) struct LineRateCase {
    pub(super) pattern: Pattern,
    pub(super) size: FrameSize,
    pub(super) offered: Option<Figure>,
    pub(super) received: Option<Figure>,
    pub(super) lost: Figure,
    pub(super) flooded: Option<Figure>,
    /// Largest delay less the smallest; `None` if frames were not stamped.
    pub(super) spread: Option<Figure>,
    pub(super) delays: Option<Delays>,
}

/// Longest burst without loss.
#[derive(Debug)]
pub(super) struct MicroburstCase {
    pub(super) size: FrameSize,
    pub(super) senders: usize,
    pub(super) receivers: usize,
    /// Octets queued at each receiver's port; `None` without a burst length.
    pub(super) held: Option<u64>,
    pub(super) frames: Figure,
}

/// Traffic of several ports into one.
#[derive(Debug)]
pub(super) struct IncastCase {
    pub(super) traffic: &'static str,
    pub(super) size: FrameSize,
    /// Congested port; `None` unless the ports take turns.
    pub(super) into: Option<String>,
    /// Goodput of TCP; `None` without TCP.
    pub(super) goodput: Option<Figure>,
    pub(super) retransmits: Option<Figure>,
    /// Loss of the datagrams; `None` without datagrams.
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
    /// Rates of one trial; without values if nothing was counted.
    pub(super) fn new(count: Option<Count>, row: &Row) -> Self {
        let rate = |metric, rate| row.single(metric, Unit::FramesPerSecond, rate);
        Self {
            offered: rate(Metric::Offered, count.map(|count| count.offered)),
            received: rate(Metric::Received, count.map(|count| count.received)),
            lost: row.single(Metric::LossRatio, Unit::Ratio, count.map(|c| c.short_ratio())),
        }
    }
}

/// One-way delays of frames.
#[derive(Debug)]
pub(super) struct Delays {
    pub(super) median: Figure,
    pub(super) largest: Figure,
}

impl Delays {
    /// Delays of one trial; without values if nothing was stamped.
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

values! {
    SwitchingFinding: devices;
    DeviceFinding: tests;
    TestFinding: cases;
    PatternCase: throughput, at_max_load, highest, flooded;
    CongestionCase: egresses, blocking, backpressure, flooded;
    Egress: rates;
    BroadcastCase: throughput, receivers;
    Receiver: delays;
    LineRateCase: offered, received, lost, flooded, spread, delays;
    MicroburstCase: frames;
    IncastCase: goodput, retransmits, lost, delays;
    Rates: offered, received, lost;
    Delays: median, largest;
}

impl Cases {
    /// Reason in the row of a test that cannot be run.
    pub(super) fn reason_in_words(value: &Figure) -> String {
        value.condition_text(Key::Reason).unwrap_or_default()
    }
}

impl Values for Cases {
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
        match self {
            Self::NotMade(value)
            | Self::AddressTable { entries: value, .. }
            | Self::AddressLearning { rate: value, .. } => value.gather(all),
            Self::Pattern(cases) => cases.gather(all),
            Self::Congestion(cases) => cases.gather(all),
            Self::Broadcast(cases) => cases.gather(all),
            Self::LineRate(cases) => cases.gather(all),
            Self::Microburst(cases) => cases.gather(all),
            Self::Incast(cases) => cases.gather(all),
        }
    }
}

impl IncastCase {
    /// `tcp and a burst`
    pub(super) fn traffic_in_words(&self) -> String {
        phrase::code(&Key::Traffic, self.traffic)
    }

    /// Creates a case without values.
    pub(super) const fn new(traffic: &'static str, into: Option<String>) -> Self {
        let (goodput, retransmits, lost, delays) = (None, None, None, None);
        let size = FrameSize::STANDARD_MAX;
        Self { traffic, size, into, goodput, retransmits, lost, delays }
    }
}
