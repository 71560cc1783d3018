//! Whose limit a figure shows: the only place that makes a [`Verdict`], and it makes it from
//! evidence.
//!
//! Owns the rules and their numbers, the same for every study. Never looks at a record and never
//! takes two bare medians: a study says what it saw, and how often.

mod delays;
mod losses;
mod rates;

use page::Verdict;

pub use delays::Delays;
pub use losses::{LossCount, Losses};
pub use rates::{Bracket, Driven, RateEvidence, Rates};

/// A device at or above this share of its bypass is only known to be no worse than the tester.
pub const TESTER_SHARE: f64 = 0.95;

/// A figure at or above this share of what the link carries has reached line rate. RFC 8239 §1.3
/// calls 99.98 % of it line rate; the rest is how well a quick trial knows its own rate.
pub const LINE_RATE: f64 = 0.999;

/// More than this share of what a link carries passes over no link of that rate: the rate that was
/// stated is not the link's, or frames of another time were counted. RFC 8239's clocks differ by
/// 0.02 %; the rest is how well a short trial knows its own time.
pub const BEYOND_LINE: f64 = 1.01;

/// Of every interval that a verdict rests on. Fewer repetitions than reach it decide nothing.
pub const CONFIDENCE: f64 = 0.95;

/// By this share a direct cable's own figures may change from one time to another, where only one
/// time was measured: the margin of comparisons.
pub const ALLOWANCE: f64 = 0.01;

/// What is left of a verdict where other people's frames crossed the tester's ports, or where a
/// trial did what the figure says can't be: what may be another's doing is not the device's own,
/// while a bound stays one.
pub(crate) const fn in_doubt(judged: Verdict) -> Verdict {
    match judged {
        Verdict::DeviceLimited => Verdict::Undetermined,
        Verdict::LinkLimited | Verdict::TesterLimited | Verdict::Undetermined => judged,
    }
}

/// What is known where no direct cable stands beside a device, and the device's own counters and
/// the hosts' account for each frame that was lost: it died in the device. No cable tells more.
pub(crate) const fn accounted(judged: Verdict) -> Verdict {
    match judged {
        Verdict::Undetermined => Verdict::DeviceLimited,
        Verdict::DeviceLimited | Verdict::LinkLimited | Verdict::TesterLimited => judged,
    }
}

/// What a figure was measured over, and beside what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A direct cable: what it shows is the tester's own.
    Cable,
    /// A device without a direct cable between the same hosts.
    Alone,
    /// A device with one.
    Beside,
    /// A device whose hosts are joined directly at another time: what changed in between is in
    /// every difference, and no repetition of one side belongs to one of the other.
    AnotherTime,
}

/// What holds of a path whatever is measured over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// A cable's, or a device's.
    pub standing: Standing,
    /// Hosts and device are one machine: what the device does slows the hosts.
    pub shared_processors: bool,
}

impl Setting {
    /// What is left of a verdict. What would be a device's own can't be told from its tester's
    /// without a bypass, while a bound is one anyway; line rate is the link's on any path.
    pub(crate) const fn allows(self, judged: Verdict) -> Verdict {
        match (self.standing, judged) {
            (_, Verdict::LinkLimited) => judged,
            (Standing::Cable, _) => Verdict::TesterLimited,
            (Standing::Alone, Verdict::DeviceLimited) => Verdict::Undetermined,
            (Standing::Alone | Standing::Beside | Standing::AnotherTime, _) => judged,
        }
    }
}

/// What a study knows of a figure's two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Evidence<'a> {
    /// More is better: a rate.
    Rate(RateEvidence<'a>),
    /// Less is better: a time.
    Delay(Delays<'a>),
    /// Frames lost at one load.
    Loss(Losses),
    /// Something that a device does or does not, such as filling up or falling silent.
    Sight {
        /// Whether it was seen; where not, the figure is a bound.
        seen: bool,
        /// Whether a control, the same trial without the deed or without the device, showed it too;
        /// `None` where there was none.
        in_control: Option<bool>,
    },
    /// Nothing gave way on the path: a bound, whatever else is known.
    Bound,
    /// Nothing.
    Nothing,
}

impl Evidence<'_> {
    /// Whose limit the figure shows.
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
