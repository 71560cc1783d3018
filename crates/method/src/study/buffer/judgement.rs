//! Whether a flow was stable at its fair share, and why not.
//!
//! Owns the rule and the names of its reasons. Pure: a series and a share in, a judgement out.
//! Never blames a buffer for what was not lost in one.

use std::collections::BTreeSet;

use measure::Nanos;

use super::StabilityLimits;
use crate::study::series::{Series, Total, mean, variation};
use page::{Key, phrase};

/// More of the busy time than this spent waiting for a window or a socket: the hosts were the
/// limit.
const STALLED: f64 = 0.5;

/// A last third of a trial this much faster than its first is still growing.
const GROWTH: f64 = 1.1;

/// What remains after the ramp-up must be this share of what counts, or all of it is judged.
const ENOUGH: f64 = 0.25;

/// So many falls of the window make a sawtooth.
const TEETH: u32 = 2;

/// What one trial's series is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    /// None where it can't be told: see the reasons.
    pub(super) stable: Option<bool>,
    /// Why it is not `true`; none where it is.
    pub(super) reasons: Vec<Reason>,
    /// When the first step at the fair share began, after the load's start.
    pub(super) ramp_up: Option<Nanos>,
    /// Coefficient of variation of the goodput, of the steps judged.
    pub(super) variation: f64,
    /// Segments sent again for each gigabyte, in the steps judged.
    pub(super) per_gigabyte: f64,
}

impl Judgement {
    /// The same of a trial in which other programs had the hosts' processors: a flow that kept
    /// stable did so under worse conditions; why another did not can't be told.
    pub(super) fn on_busy_hosts(self) -> Self {
        if self.stable == Some(true) {
            return self;
        }
        Self { stable: None, reasons: vec![Reason::BusyHosts], ..self }
    }
}

/// Why a flow is not known to be stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// More segments sent again than the limit.
    Retransmits,
    /// The goodput varies by more than the limit.
    Variation,
    /// The window was cut again and again.
    Sawtooth,
    /// The mean goodput is below the share of the fair share.
    BelowFairShare,
    /// Can't be told: other programs had the hosts' processors.
    BusyHosts,
    /// Can't be told: the hosts were waiting for themselves.
    HostLimited,
    /// Can't be told: it was growing until the end.
    StillGrowing,
    /// Can't be told: below the fair share, and nothing was lost.
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
pub(super) fn in_words(reasons: &BTreeSet<Reason>) -> String {
    let words = reasons.iter().map(|reason| phrase::code(&Key::Reasons, reason.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

/// Judges what comes after the warm-up and after the ramp-up, whichever ends later; a flow that
/// never reaches the share is judged by all that comes after the warm-up.
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
        // Few may have been sent again, and each may yet cost much: a long path recovers slowly.
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
