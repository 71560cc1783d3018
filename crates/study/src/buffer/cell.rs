//! One case of the buffer study: congestion control, number of streams and background load; its
//! trial, and what is kept of each record.
//!
//! Never judges a series: that takes a fair share, which is known only after all trials.

use measure::{FrameSize, Nanos, Rate};

use super::ends::Ends;
use super::{Background, BufferSpec};
use crate::series::Series;
use crate::{Noted, Tried, Way, burst};
use page::{Caveat, Conditions, Key, phrase};
use trial::record::{DatagramsRecord, FlowRecord};
use trial::validity::taken_by_others;
use trial::{Bulk, Flow, FlowKind, PortRef, Role, Schedule};

/// Congestion control, number of streams and background load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) control: String,
    pub(super) streams: u16,
    pub(super) beside: Beside,
}

/// Background load on the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Beside {
    /// No load: the baseline.
    Nothing,
    /// Load into the same egress port, which oversubscribes it.
    SameWay(Background),
    /// Load of the same rate between the same ports in the other direction, which oversubscribes
    /// nothing: the control.
    OtherWay(Background),
}

impl Beside {
    /// `baseline`, `background` or `control`
    pub(super) const fn scenario(self) -> &'static str {
        match self {
            Self::Nothing => "baseline",
            Self::SameWay(_) => "background",
            Self::OtherWay(_) => "control",
        }
    }

    pub(super) const fn background(self) -> Option<Background> {
        match self {
            Self::Nothing => None,
            Self::SameWay(background) | Self::OtherWay(background) => Some(background),
        }
    }

    /// `nothing`, `udp 2Gbit/s`, `udp 20.0 %, back`
    pub(super) fn to_words(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::SameWay(background) => format!("udp {}", amount(background)),
            Self::OtherWay(background) => format!("udp {}, back", amount(background)),
        }
    }
}

/// `2Gbit/s`, or `20.0 %` of the link.
fn amount(background: Background) -> String {
    match background {
        Background::Share(share) => format!("{:.1} %", share * 100.0),
        Background::Payload(rate) => format!("{rate}/s"),
    }
}

impl Cell {
    /// `tcp 2 cubic beside udp 2Gbit/s`
    pub(super) fn label(&self, spec: &BufferSpec) -> String {
        let seconds = spec.duration.as_secs_f64();
        let load = phrase::condition(&self.load(spec.background_size), &Key::Load);
        let way = if matches!(self.beside, Beside::OtherWay(_)) { " the other way" } else { "" };
        let load = load.unwrap_or_default();
        format!("tcp {} {} {seconds} s, {load}{way}", self.streams, self.control)
    }

    /// Conditions of the background load.
    pub(super) fn load(&self, size: FrameSize) -> Conditions {
        let Some(background) = self.beside.background() else {
            return Conditions::from([(Key::Load, "idle".into())]);
        };
        let amount = match background {
            Background::Share(share) => (Key::BackgroundShare, share.into()),
            Background::Payload(rate) => (Key::BackgroundPayload, rate.0.into()),
        };
        let size = (Key::BackgroundFrameSize, u64::from(size.octets()).into());
        Conditions::from([(Key::Load, "udp".into()), size, amount])
    }

    /// `2 streams of cubic`
    pub(super) fn tcp(&self) -> String {
        let streams = if self.streams == 1 { "stream" } else { "streams" };
        format!("{} {streams} of {}", self.streams, self.control)
    }

    /// Flows of one trial: TCP, and the background load if there is one.
    pub(super) fn flows(&self, ends: &Ends, spec: &BufferSpec, link: Option<Rate>) -> Vec<Flow> {
        let bulk = FlowKind::Bulk(Bulk {
            streams: self.streams,
            congestion_control: self.control.clone(),
            interval: spec.interval,
        });
        let flow = |id, from: &PortRef, to: &PortRef, role, kind| Flow {
            id,
            from: from.clone(),
            to: to.clone(),
            role,
            kind,
        };
        let mut flows = vec![flow(1, &ends.from, &ends.to, Role::Measured, bulk)];
        let rate = self.beside.background().and_then(|b| b.frames(spec.background_size, link));
        if let (Some(rate), Some((from, to))) = (rate, &ends.background) {
            let kind = burst::plain(spec.background_size, Schedule::Paced(rate));
            let (from, to) = match self.beside {
                Beside::OtherWay(_) => (to, from),
                _ => (from, to),
            };
            flows.push(flow(2, from, to, Role::Load, kind));
        }
        flows
    }
}

/// Cell on one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    pub(super) way: Way,
    /// Index of the cell.
    pub(super) cell: usize,
}

/// Result of one block's trial of a case.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    pub(super) series: Series,
    /// Lost share of the background load; `None` without one.
    pub(super) background_loss: Option<f64>,
    /// True if other programs used a host's processors during the trial.
    pub(super) busy: bool,
}

/// All blocks of a case on one path.
#[derive(Debug, Clone, Default)]
pub(super) struct CellData {
    pub(super) samples: Vec<Sample>,
    /// Trials of the case, and those repeated or given up.
    pub(super) noted: Noted,
}

impl CellData {
    /// Keeps the result of one block's trial.
    pub(super) fn take(&mut self, tried: &Tried, spec: &BufferSpec) {
        self.noted.observe(tried);
        let flows = tried.valid().map(|record| &record.flows);
        let busy = tried.record.hosts.iter().any(|host| taken_by_others(host).is_some());
        let Some(bulk) = flows.and_then(|flows| flows.iter().find_map(FlowRecord::bulk)) else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        let background_loss = flows
            .and_then(|flows| flows.iter().find_map(datagrams_of))
            .map(DatagramsRecord::loss_ratio);
        let series = Series::from_record(bulk, spec.omit, spec.duration, spec.interval);
        if busy {
            self.noted.doubt(Caveat::BusyHosts);
        }
        self.samples.push(Sample { block: tried.trial.block, series, background_loss, busy });
    }

    /// Median goodput over blocks.
    pub(super) fn goodput(&self) -> Option<f64> {
        let rates: Vec<f64> = self.samples.iter().map(|s| s.series.goodput()).collect();
        measure::quantile::median(&rates)
    }

    /// Smallest RTT of any block.
    pub(super) fn min_rtt(&self) -> Option<Nanos> {
        self.samples.iter().filter_map(|s| s.series.min_rtt()).min()
    }
}

fn datagrams_of(flow: &FlowRecord) -> Option<&DatagramsRecord> {
    match flow {
        FlowRecord::Datagrams(datagrams) => Some(datagrams),
        _ => None,
    }
}
