//! Findings of the buffer study: all values of each case, and its first valid trial.
//!
//! Owns the order of the values' rows. Never judges a case, and never draws.

use std::collections::BTreeSet;

use measure::Nanos;

use super::StabilityLimits;
use super::cell::{Case, Cell};
use super::judgement::Reason;
use super::ratios;
use super::rows::{CaseRows, Measured};
use crate::view::streams::Firsts;
use crate::view::{Place, values};
use page::{Figure, Metric, Unit};

/// All findings.
#[derive(Debug)]
pub struct BufferFinding {
    /// Limits within which TCP counted as stable.
    pub(super) limits: StabilityLimits,
    /// Cases in the order of their rows.
    pub(super) cases: Vec<BufferCase>,
    /// First valid trial of each case.
    pub(super) firsts: Firsts,
}

/// Case of one cell on one path.
#[derive(Debug)]
pub(super) struct BufferCase {
    pub(super) cell: Cell,
    pub(super) place: Place,
    /// Fair share in payload bits a second.
    pub(super) fair_share: f64,
    /// Rate of the link in bits a second; if unknown, the fair share.
    pub(super) rate: f64,
    /// Smallest RTT of the path.
    pub(super) rtt: Option<Nanos>,
    /// Reasons why TCP is not known to be stable.
    pub(super) reasons: BTreeSet<Reason>,
    pub(super) stable: Figure,
    pub(super) goodput: Figure,
    retransmits: Figure,
    pub(super) retransmits_per_gigabyte: Figure,
    pub(super) variation: Figure,
    pub(super) ramp_up: Figure,
    pub(super) cwnd_max: Figure,
    pub(super) cwnd_cuts: Figure,
    pub(super) bdp: Figure,
    /// Two lower bounds of the buffer's size: from the windows, and from the RTTs.
    pub(super) by_tcp: Figure,
    pub(super) by_delay: Option<Figure>,
    pub(super) efficiency: Figure,
    pub(super) buffer_delay: Figure,
    pub(super) transfer_time_ratio: Figure,
    pub(super) background_loss: Option<Figure>,
}

impl BufferFinding {
    pub(super) fn new(measured: &Measured<'_>, firsts: Firsts) -> Self {
        let cases = measured.cases.iter().map(|case| BufferCase::new(measured, *case)).collect();
        Self { limits: measured.spec.limits, cases, firsts }
    }
}

impl BufferCase {
    fn new(measured: &Measured<'_>, case: Case) -> Self {
        let rows = CaseRows::new(measured, case);
        let (fair_share, rtt, segment) = (rows.fair_share, rows.rtt, measured.spec.segment());
        let by_delay = |rate| rows.buffer("delay", |s| ratios::waited(&s.series, rate, rtt));
        Self {
            cell: measured.cells[case.cell].clone(),
            place: measured.ways.place(case.way),
            fair_share,
            rate: rows.rate(),
            rtt,
            reasons: rows.reasons(),
            stable: rows.stable(),
            goodput: rows.goodput(),
            retransmits: rows.over_blocks(Metric::Retransmits, Unit::Count, |s| {
                Some(s.series.retransmits(s.series.first) as f64)
            }),
            retransmits_per_gigabyte: rows.over_judged(
                Metric::RetransmitsPerGigabyte,
                Unit::Count,
                |j| Some(j.per_gigabyte),
            ),
            variation: rows
                .over_judged(Metric::GoodputVariation, Unit::Ratio, |j| Some(j.variation)),
            ramp_up: rows.over_judged(Metric::RampUpTime, Unit::Nanoseconds, |j| {
                j.ramp_up.map(|time| time.0 as f64)
            }),
            cwnd_max: rows.over_blocks(Metric::CwndMax, Unit::Bytes, |s| {
                s.series.cwnd_max().map(|octets| octets.0 as f64)
            }),
            cwnd_cuts: rows
                .over_blocks(Metric::CwndCuts, Unit::Count, |s| Some(s.series.falls().into())),
            bdp: rows.bdp(),
            by_tcp: rows.buffer("tcp", |s| ratios::queued_octets(&s.series, fair_share, rtt)),
            by_delay: rows.frames_rate().map(by_delay),
            efficiency: rows.over_blocks(Metric::Efficiency, Unit::Ratio, |s| {
                ratios::efficiency(&s.series, segment)
            }),
            buffer_delay: rows.over_blocks(Metric::BufferDelay, Unit::Ratio, |s| {
                ratios::buffer_delay(&s.series, rtt)
            }),
            transfer_time_ratio: rows.over_blocks(Metric::TransferTimeRatio, Unit::Ratio, |s| {
                Some(s.series.goodput()).filter(|rate| *rate > 0.0).map(|rate| fair_share / rate)
            }),
            background_loss: rows.background_loss(),
        }
    }

    /// Values of TCP next to the load.
    pub(super) const fn stability_values(&self) -> [&Figure; 5] {
        let (again, variation) = (&self.retransmits_per_gigabyte, &self.variation);
        [&self.stable, &self.goodput, again, variation, &self.ramp_up]
    }

    /// Values of TCP's windows, and those derived from them.
    pub(super) fn window_values(&self) -> Vec<&Figure> {
        let windows = [&self.cwnd_max, &self.cwnd_cuts, &self.bdp, &self.by_tcp];
        let ratios = [&self.buffer_delay, &self.efficiency, &self.transfer_time_ratio];
        let windows = windows.into_iter().chain(&self.by_delay);
        windows.chain(ratios).chain(&self.background_loss).collect()
    }
}

values! {
    BufferFinding: cases;
    BufferCase: stable, goodput, retransmits, retransmits_per_gigabyte, variation, ramp_up,
        cwnd_max, cwnd_cuts, bdp, by_tcp, by_delay, efficiency, buffer_delay, transfer_time_ratio,
        background_loss;
}
