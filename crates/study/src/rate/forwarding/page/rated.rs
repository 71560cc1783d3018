//! Rate on a page: its test, its path, and whether it is only a bound.
//!
//! Owns the name of a rate. Never states one without its count.

use page::{Answer, Bound, Caveat, Figure, Gauge, MarkKind, Verdict, words};

use super::super::finding::{FloodCounts, GoalCase, OneWay, RateValue, Traffic};
use crate::line_share::line_rate_of;
use crate::search::GoalName;
use crate::verdict::TESTER_SHARE;
use crate::view::{PlaceLabels, line_rate, stated};

/// Kind of rate; two goals are two quantities.
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

/// Test behind a rate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    Flood(&'a FloodCounts),
    Search(&'a GoalCase),
}

/// Rate in one direction, and that of the same procedure over the direct cable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rated<'a> {
    pub(super) way: OneWay<'a, RateValue>,
    pub(super) origin: Origin<'a>,
    pub(super) cable: Option<&'a Figure>,
    /// True for a cable's rate that belongs to a device's.
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

    /// True for a device's rate of a whole load.
    pub(super) fn is_whole_of_device(&self) -> bool {
        let place = self.way.place();
        !place.is_cable() && place.is_whole()
    }

    /// True if the device may exceed the value. Line rate is not such a bound.
    pub(super) fn is_bound(&self) -> bool {
        let value = self.value();
        value.verdict == Verdict::TesterLimited
            || value.verdict != Verdict::LinkLimited
                && value.caveats.contains(&Caveat::SearchCeiling)
    }

    /// Reason why the value is only a bound; `None` unless the tester was the limit.
    pub(super) fn bound(&self) -> Option<String> {
        bound(&self.way.with(self.value()), self.cable)
    }

    /// Answer with the direct cable's rate and line rate, and whether line rate was reached.
    pub(super) fn answer(&self, places: PlaceLabels) -> Answer {
        let (value, Traffic { frames, place, .. }) = (self.value(), self.traffic());
        let (axis, question) = match self.kind() {
            Kind::Flood => ("Received under flood", "Forwarding rate under flood"),
            Kind::Goal(_) => ("Throughput", "Throughput"),
        };
        let gauge = Gauge::new(format!("{axis}, {}", frames.to_phrase()), value.unit)
            .with_cable(self.cable)
            .with_limit("line rate", line_rate_of(value))
            .with(MarkKind::Device, place.who.name(), value);
        let why = self.bound().map(|why| format!("{}.", words::capital(&why)));
        let bound = self.is_bound().then_some(Bound::Least);
        let labels = [Some(frames.to_phrase()), self.condition(), places.label(place)];
        let labels: Vec<String> = labels.into_iter().flatten().collect();
        let answer = stated(why.unwrap_or_default(), value).led_by(value).bounded(bound);
        line_rate(answer.with_gauge(gauge), value, question).of_case(labels.join(", "))
    }

    /// Conditions other than a throughput without loss in one direction; `None` if there are none.
    fn condition(&self) -> Option<String> {
        let goal = match self.kind() {
            Kind::Flood | Kind::Goal(GoalName::Rfc2544) => None,
            Kind::Goal(goal) => Some(goal.as_str().to_owned()),
        };
        let ways = self.way.direction.is_some().then(|| "both ways".to_owned());
        let is_counted = self.traffic().place.is_counted_by_device;
        let counted = is_counted.then(|| "counted by the device".to_owned());
        let all: Vec<String> = [goal, ways, counted].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Reason why a value limited by the tester is only a bound. `None` for a device's own limit, or
/// without a device.
pub(super) fn bound(way: &OneWay<'_, Figure>, cable: Option<&Figure>) -> Option<String> {
    let OneWay { traffic, found, .. } = way;
    if !traffic.has_device || found.verdict != Verdict::TesterLimited {
        return None;
    }
    // If the cable carried more, the tester alone does not explain the value.
    let more = cable.and_then(|cable| Some(cable.value? * TESTER_SHARE > found.value?));
    Some(if more == Some(true) {
        "the traffic generator was the bottleneck on this path".to_owned()
    } else {
        format!("the test hosts were the limit, not {}", traffic.place.who.to_phrase())
    })
}
