//! Verdict on the limit of a figure: the only place that makes a [`Verdict`], and only from
//! evidence.
//!
//! Owns the rules and their numbers, common to all studies. Never looks at a record and never
//! compares two bare medians: a study reports what it saw, and how often.

mod delays;
mod losses;
mod rates;

use page::Verdict;

pub use delays::Delays;
pub use losses::{LossCount, Losses};
pub use rates::{Bracket, Driven, RateEvidence, Rates};

/// Share of its bypass from which a device is only known to be no worse than the tester.
pub const TESTER_SHARE: f64 = 0.95;

/// Share of the link's capacity from which a figure has reached line rate. RFC 8239 §1.3 calls
/// 99.98 % line rate; the rest is the precision of a quick trial's rate.
pub const LINE_RATE: f64 = 0.999;

/// Share of the link's capacity that no link exceeds. Above it, the stated rate is wrong, or frames
/// of another time were counted. RFC 8239's clocks differ by 0.02 %; the rest is the precision of a
/// short trial's time.
pub const BEYOND_LINE: f64 = 1.01;

/// Confidence of every interval behind a verdict. Fewer repetitions than reach it decide nothing.
pub const CONFIDENCE: f64 = 0.95;

/// Relative change of a direct cable's own figures allowed between two times, if only one was
/// measured: the margin of comparisons.
pub const ALLOWANCE: f64 = 0.01;

/// Weakens a verdict if foreign frames crossed the tester's ports, or if a trial contradicts the
/// figure. A possible effect of others is not the device's own, while a bound stays a bound.
pub(crate) const fn in_doubt(judged: Verdict) -> Verdict {
    match judged {
        Verdict::DeviceLimited => Verdict::Undetermined,
        Verdict::LinkLimited | Verdict::TesterLimited | Verdict::Undetermined => judged,
    }
}

/// Strengthens a verdict if, without a direct cable, the counters of device and hosts place each
/// lost frame in the device. A cable could show no more.
pub(crate) const fn accounted(judged: Verdict) -> Verdict {
    match judged {
        Verdict::Undetermined => Verdict::DeviceLimited,
        Verdict::DeviceLimited | Verdict::LinkLimited | Verdict::TesterLimited => judged,
    }
}

/// Circumstances of a measurement: path and reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Direct cable: the result is the tester's own.
    Cable,
    /// Device without a direct cable between the same hosts.
    Alone,
    /// Device with a direct cable between the same hosts.
    Beside,
    /// Device whose hosts are connected directly at another time. Every difference includes changes
    /// in between, and repetitions of the two sides do not form pairs.
    AnotherTime,
}

/// Properties of a path, whatever is measured over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Path and reference of the measurement.
    pub standing: Standing,
    /// True if hosts and device share one machine: the device's work then slows the hosts.
    pub shared_processors: bool,
}

impl Setting {
    /// Limits a verdict to what the setting can show. Without a bypass, the device cannot be
    /// distinguished from its tester, while a bound holds anyway; line rate is the link's on any
    /// path.
    pub(crate) const fn allows(self, judged: Verdict) -> Verdict {
        match (self.standing, judged) {
            (_, Verdict::LinkLimited) => judged,
            (Standing::Cable, _) => Verdict::TesterLimited,
            (Standing::Alone, Verdict::DeviceLimited) => Verdict::Undetermined,
            (Standing::Alone | Standing::Beside | Standing::AnotherTime, _) => judged,
        }
    }
}

/// Evidence of a study on the two sides of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Evidence<'a> {
    /// Rate: more is better.
    Rate(RateEvidence<'a>),
    /// Time: less is better.
    Delay(Delays<'a>),
    /// Frames lost at one load.
    Loss(Losses),
    /// Behaviour of a device that occurs or not, such as filling up or falling silent.
    Sight {
        /// True if it was seen; otherwise the figure is a bound.
        seen: bool,
        /// True if a control, the same trial without the deed or without the device, showed it too;
        /// `None` without a control.
        in_control: Option<bool>,
    },
    /// Nothing gave way on the path: a bound, whatever else is known.
    Bound,
    /// No evidence.
    Nothing,
}

impl Evidence<'_> {
    /// Verdict on the limit that the figure shows.
    pub fn verdict(&self, setting: Setting) -> Verdict {
        let paired = setting.standing != Standing::AnotherTime;
        let judged = match self {
            Self::Rate(rate) => rate.verdict(setting.shared_processors, paired),
            Self::Delay(delays) => delays.verdict(paired),
            Self::Loss(losses) => losses.verdict(),
            Self::Sight { seen: false, .. } | Self::Bound => Verdict::TesterLimited,
            Self::Sight { in_control: Some(false), .. } => Verdict::DeviceLimited,
            Self::Sight { .. } | Self::Nothing => Verdict::Undetermined,
        };
        setting.allows(judged)
    }
}

#[cfg(test)]
mod tests;
