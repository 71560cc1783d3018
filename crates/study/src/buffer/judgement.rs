//! Stability of a flow at its fair share, and the reasons against it.
//!
//! Owns the rule and the names of its reasons. Pure: a series and a share in, a judgement out.
//! Never blames a buffer for frames that were not lost in one.

use std::collections::BTreeSet;

use measure::Nanos;

use super::StabilityLimits;
use crate::series::{Series, Total, mean, variation};
use page::{Key, phrase};

/// Share of the busy time spent waiting for a window or a socket, above which the hosts were the
/// limit.
const STALLED: f64 = 0.5;

/// Ratio of the goodput in the last third of a trial to that in the first, above which it still
/// grows.
const GROWTH: f64 = 1.1;

/// Least share of the counted steps that must remain after the ramp-up; with fewer, all counted
/// steps are judged.
const ENOUGH: f64 = 0.25;

/// Number of falls of the window that make a sawtooth.
const TEETH: u32 = 2;

/// Judgement of one trial's series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    /// True if the flow was stable; `None` if undetermined, see `reasons`.
    pub(super) stable: Option<bool>,
    /// Reasons why `stable` is not `true`; empty if it is.
    pub(super) reasons: Vec<Reason>,
    /// Start of the first step at the fair share, after the start of the load.
    pub(super) ramp_up: Option<Nanos>,
    /// Coefficient of variation of the goodput over the judged steps.
    pub(super) variation: f64,
    /// Retransmitted segments per gigabyte over the judged steps.
    pub(super) per_gigabyte: f64,
}

impl Judgement {
    /// Adjusts the judgement of a trial in which other programs used the hosts' processors. A
    /// stable flow stays stable, as it had worse conditions; any other becomes undetermined.
    pub(super) fn on_busy_hosts(self) -> Self {
        if self.stable == Some(true) {
            return self;
        }
        Self { stable: None, reasons: vec![Reason::BusyHosts], ..self }
    }
}

/// Reason why a flow is not known to be stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Retransmits exceed the limit.
    Retransmits,
    /// Variation of the goodput exceeds the limit.
    Variation,
    /// The window was cut repeatedly.
    Sawtooth,
    /// The mean goodput is below the required part of the fair share.
    BelowFairShare,
    /// Undetermined: other programs used the hosts' processors.
    BusyHosts,
    /// Undetermined: the hosts were the limit.
    HostLimited,
    /// Undetermined: the goodput grew until the end.
    StillGrowing,
    /// Undetermined: below the fair share, but nothing was lost.
    NothingLost,
}

impl Reason {
    /// Code word in rows.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Retransmits => "retransmits",
            Self::Variation => "variation",
            Self::Sawtooth => "sawtooth",
            Self::BelowFairShare => "below-fair-share",
            Self::BusyHosts => "busy-hosts",
            Self::HostLimited => "host-limited",
            Self::StillGrowing => "still-growing",
            Self::NothingLost => "nothing-lost",
        }
    }
}

/// `retransmits, sawtooth`
pub(super) fn join_reasons(reasons: &BTreeSet<Reason>) -> String {
    let words = reasons.iter().map(|reason| phrase::code(&Key::Reasons, reason.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

/// Judges the steps after the warm-up and after the ramp-up, whichever ends later. A flow that
/// never reaches the share is judged by all steps after the warm-up.
pub(super) fn judge(series: &Series, fair_share: f64, limits: StabilityLimits) -> Judgement {
    let enough = limits.share.get() * fair_share;
    let reached = series.steps.iter().position(|step| step.goodput >= enough);
    let ramp_up = reached.map(|at| series.step * at as u64);
    let counted = series.steps.len() - series.first;
    let least = ((counted as f64 * ENOUGH).ceil() as usize).max(3);
    let from = reached.map_or(series.first, |at| at.max(series.first));
    let from = if series.steps.len() - from < least { series.first } else { from };

    let goodputs = series.goodputs(from);
    let gigabytes = series.octets(from) / 1e9;
    let retransmits = series.retransmits(from);
    let per_gigabyte = retransmits as f64 / gigabytes.max(f64::MIN_POSITIVE);
    let variation = variation(&goodputs);

    let lossy = per_gigabyte > limits.retransmits_per_gigabyte.get();
    let short = mean(&goodputs) < enough;
    let varies = variation > limits.variation.get();
    let reasons = if !lossy && !short && !varies {
        Vec::new()
    } else if !lossy && stalled(series) > STALLED {
        vec![Reason::HostLimited]
    } else if retransmits == 0 {
        vec![if growing(&goodputs) { Reason::StillGrowing } else { Reason::NothingLost }]
    } else {
        // A few retransmits can still cost much, as a long path recovers slowly.
        let found = [
            (lossy, Reason::Retransmits),
            (varies, Reason::Variation),
            (series.falls() >= TEETH, Reason::Sawtooth),
            (short, Reason::BelowFairShare),
        ];
        found.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect()
    };
    let untold = [Reason::HostLimited, Reason::StillGrowing, Reason::NothingLost];
    let stable = match reasons.first() {
        None => Some(true),
        Some(reason) if untold.contains(reason) => None,
        Some(_) => Some(false),
    };
    Judgement { stable, reasons, ramp_up, variation, per_gigabyte }
}

/// Share of the senders' busy time spent waiting for the receiver's window or their own buffer.
fn stalled(series: &Series) -> f64 {
    let since = |(first, last): (&Total, &Total)| {
        let busy = last.busy.saturating_sub(first.busy).as_secs_f64();
        last.stalled().saturating_sub(first.stalled()).as_secs_f64() / busy.max(f64::MIN_POSITIVE)
    };
    series.span().map_or(0.0, since)
}

fn growing(goodputs: &[f64]) -> bool {
    let third = goodputs.len() / 3;
    third > 0 && mean(&goodputs[goodputs.len() - third..]) > GROWTH * mean(&goodputs[..third])
}

#[cfg(test)]
#[path = "judgement/tests.rs"]
mod tests;
