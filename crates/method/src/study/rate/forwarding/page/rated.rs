//! A rate that a page tells: how it was found, over which way, and whether it is only a bound.
//!
//! Owns what a rate is called. Never states one without its count.

use page::{Caveat, Figure, Verdict, words};

use super::super::finding::{FloodCounts, GoalCase, OneWay, RateValue, Traffic};
use crate::search::GoalName;
use crate::study::line_share::share_in_words;
use crate::verdict::TESTER_SHARE;

/// A kind of rate. Two goals are two quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flood,
    Goal(GoalName),
}

impl Kind {
    pub(super) fn name(self) -> String {
        match self {
            Self::Flood => "under flood".to_owned(),
            Self::Goal(goal) => format!("throughput ({})", goal.as_str()),
        }
    }
}

/// The test behind a rate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    Flood(&'a FloodCounts),
    Search(&'a GoalCase),
}

/// A rate one way, and that of the same procedure over the direct cable beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rated<'a> {
    pub(super) way: OneWay<'a, RateValue>,
    pub(super) origin: Origin<'a>,
    pub(super) cable: Option<&'a Figure>,
    /// True if it is a cable's, and stands beside a device's.
    pub(super) is_beside: bool,
}

impl<'a> Rated<'a> {
    pub(super) const fn kind(&self) -> Kind {
        match self.origin {
            Origin::Flood(_) => Kind::Flood,
            Origin::Search(goal) => Kind::Goal(goal.goal),
        }
    }

    pub(super) const fn value(&self) -> &'a Figure {
        &self.way.found.frames
    }

    pub(super) const fn traffic(&self) -> &'a Traffic {
        self.way.traffic
    }

    /// True if it is a device's, of all of a load.
    pub(super) fn is_whole_of_device(&self) -> bool {
        let place = self.way.place();
        !place.is_cable() && place.is_whole()
    }

    /// True if the device may do more than the value says. Line rate is nobody's bound.
    pub(super) fn is_bound(&self) -> bool {
        let value = self.value();
        value.verdict == Verdict::TesterLimited
            || value.verdict != Verdict::LinkLimited
                && value.caveats.contains(&Caveat::SearchCeiling)
    }

    /// The reason why it is only a bound, where the tester was the limit.
    pub(super) fn bound(&self) -> Option<String> {
        bound(&self.way.with(self.value()), self.cable)
    }

    /// ` = 97.3 % of line rate`; nothing where the link's rate is not known.
    pub(super) fn of_line(&self) -> String {
        let share = share_in_words(self.value());
        share.map_or_else(String::new, |share| format!(" = {share} of line rate"))
    }

    /// The cable's rate for a sentence.
    pub(super) fn over_cable(&self) -> String {
        let Some((cable, value)) = self.cable.and_then(|cable| Some((cable, cable.value?))) else {
            return String::new();
        };
        // The cable is searched no further than the verdict needs.
        let least = if cable.caveats.contains(&Caveat::SearchCeiling) { "at least " } else { "" };
        format!("; the direct cable carried {least}{}", words::value(cable.unit, value))
    }
}

/// The reason why a value that the tester limited is only a bound. `None` where it shows the
/// device's own limit, or where there is no device to be bounded.
pub(super) fn bound(way: &OneWay<'_, Figure>, cable: Option<&Figure>) -> Option<String> {
    let OneWay { traffic, found, .. } = way;
    if !traffic.has_device || found.verdict != Verdict::TesterLimited {
        return None;
    }
    // Where the tester did more over the cable, its limit alone does not explain the value.
    let more = cable.and_then(|cable| Some(cable.value? * TESTER_SHARE > found.value?));
    Some(if more == Some(true) {
        "the traffic generator was the bottleneck on this path".to_owned()
    } else {
        format!("the test hosts were the limit, not {}", traffic.place.who.in_words())
    })
}
