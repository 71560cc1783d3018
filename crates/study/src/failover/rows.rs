//! Values of the failover study from its trials: durations of interruptions, number of flows,
//! losses, and recovery.
//!
//! Owns the criterion for the deed's effect: more than any trial without a deed shows. Pure.

use std::collections::BTreeMap;

use super::FailoverSpec;
use super::cell::{Impact, Phase};
use super::finding::{FailoverCase, Interruption, UnseenEnd};
use super::sharing::Sharing;
use super::treatment::Treatment;
use crate::outage::{Outage, Resolution};
use crate::rows::{Direction, Row, set_direction};
use crate::verdict::{Evidence, Setting, Standing};
use crate::ways::{Way, Ways};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::Spread;

/// Cases of the study, path by path: each direction of each treatment.
pub(super) fn cases(
    spec: &FailoverSpec,
    treatments: &BTreeMap<Way, Vec<Treatment>>,
    ways: &Ways,
) -> Vec<FailoverCase> {
    let both = [Some(Direction::Forward), Some(Direction::Reverse)];
    let directions = if spec.bidirectional { &both[..] } else { &[None] };
    let mut cases = Vec::new();
    for (way, all) in treatments {
        for treatment in all {
            // Deeds run with the first kind of flows; a trial without a deed is its own control.
            let control = if treatment.deed.is_some() { &all[0] } else { treatment };
            cases.extend(directions.iter().map(|&direction| {
                let own = treatment.trials.in_direction(direction);
                let control = control.trials.in_direction(direction);
                let way = *way;
                Effect { spec, ways, way, treatment, direction, own, control }.case()
            }));
        }
    }
    cases
}

/// Effect of a treatment on the flows of one direction, with the control.
struct Effect<'a> {
    spec: &'a FailoverSpec,
    ways: &'a Ways,
    way: Way,
    treatment: &'a Treatment,
    direction: Option<Direction>,
    own: Vec<&'a Impact>,
    control: Vec<&'a Impact>,
}

impl Effect<'_> {
    fn case(&self) -> FailoverCase {
        let mut row = self.row();
        let Treatment { spread, deed, .. } = self.treatment;
        let undone = deed.as_ref().filter(|deed| deed.undo);
        let failure = deed.as_ref().map(|_| self.interruption(&row, Phase::Failure));
        let restoration = undone.map(|_| self.interruption(&row, Phase::Restoration));
        if deed.is_some() {
            row.verdict = self.sight();
        }
        let count = |metric, value: fn(&Impact) -> u64| {
            row.over_blocks(metric, Unit::Count, &self.values(|one| Some(value(one) as f64)))
        };
        FailoverCase {
            place: self.ways.place(self.way).with_direction(self.direction),
            deed: self.treatment.name().to_owned(),
            flows: spread.conversations(),
            told_apart: told_apart(*spread).replace('-', " "),
            failure,
            restoration,
            lost: count(Metric::LostFrames, |one| one.lost),
            reordered: count(Metric::ReorderedFrames, |one| one.reordered),
            duplicated: count(Metric::DuplicatedFrames, |one| one.duplicated),
            silent: count(Metric::FlowsSilent, |one| one.silent),
            sharing: self.sharing(row),
        }
    }

    /// Paths' shares of both directions' flows, stated with the first direction.
    fn sharing(&self, mut row: Row) -> Option<Sharing> {
        if self.treatment.deed.is_some() || self.direction == Some(Direction::Reverse) {
            return None;
        }
        row.conditions.remove(&Key::Direction);
        Sharing::new(&row, &self.own, self.treatment.spread.conversations())
    }

    fn row(&self) -> Row {
        let mut row = Row::for_path(self.ways, self.way, self.spec.profile);
        // A deed has its own control, and needs no cable.
        row.caveats.remove(&Caveat::NoBypass);
        set_direction(&mut row, self.direction);
        let spread = self.treatment.spread;
        row.set(Key::Deed, self.treatment.name());
        row.set(Key::Flows, spread.conversations());
        row.set(Key::FlowsBy, told_apart(spread));
        row.set(Key::FrameSize, u64::from(self.spec.frame_size.octets()));
        row.set(Key::LoadRate, self.spec.load_rate(spread).0);
        if let Some(took) = self.own.iter().filter_map(|one| one.took).max_by(f64::total_cmp) {
            row.set(Key::DeedTook, took);
        }
        row.note(&self.treatment.trials.noted);
        row.n = self.own.len() as u64;
        row
    }

    /// Time between two frames of one flow, in nanoseconds.
    fn spacing(&self) -> f64 {
        1e9 / self.spec.rate.0
    }

    /// Longest run of lost frames of a flow without a deed.
    fn own_run(&self, phase: Phase) -> u64 {
        self.control.iter().map(|one| one.run(phase)).max().unwrap_or(0)
    }

    /// Verdict on an effect that no trial without the deed shows.
    fn sight(&self) -> page::Verdict {
        let setting = Setting { standing: Standing::Beside, ..self.ways.setting(self.way) };
        let beyond = |phase| {
            let own = self.own_run(phase);
            self.own.iter().all(|one| one.affected(phase, own) > 0.0)
        };
        let seen = !self.own.is_empty() && beyond(Phase::Failure);
        let in_control = (!self.control.is_empty()).then_some(false);
        Evidence::Sight { seen, in_control }.verdict(setting)
    }

    /// Interruption of the flows in one phase.
    fn interruption(&self, row: &Row, phase: Phase) -> Interruption {
        let (own_run, spacing) = (self.own_run(phase), self.spacing());
        let mut row = row.clone();
        row.set(Key::Phase, phase.as_str());
        let is_gone = self.own.iter().any(|one| one.flows_gone(phase, own_run) > 0);
        row.caveats.extend(is_gone.then_some(Caveat::NotRecovered));
        // A deed that is never undone ends by itself.
        let deed = self.treatment.deed.as_ref().filter(|_| phase == Phase::Failure);
        let waited = deed.is_some_and(|deed| deed.undo)
            && self.own.iter().any(|one| one.waited_for_the_end(own_run));
        row.caveats.extend(waited.then_some(Caveat::UntilUndone));
        let ends_after = is_gone.then_some(UnseenEnd::TrialOver);
        let unseen_end = if waited { Some(UnseenEnd::Undone) } else { ends_after };
        let interrupted = self.own.iter().filter(|one| one.affected(phase, own_run) > 0.0);
        let trials = interrupted.count() as u64;
        row.set(Key::TrialsInterrupted, trials);
        let (longest, is_shown) = self.longest(&row, phase, unseen_end);
        row.verdict = longest.verdict;
        let median = || {
            let typical = |one: &Impact| one.typical(phase, own_run, spacing);
            self.time(&row, Metric::Outage, typical).with(Key::Statistic, "median")
        };
        let all_back = || self.time(&row, Metric::AllBack, |one| one.all_back(phase, own_run));
        let first = || self.time(&row, Metric::FirstLost, |one| one.first_lost(phase, own_run));
        let gone = || self.values(|one| Some(one.flows_gone(phase, own_run) as f64));
        let (affected, is_least) = self.affected(&row, phase);
        Interruption {
            longest,
            median: (is_shown && unseen_end.is_none()).then(median),
            first_lost: is_shown.then(first),
            all_back: (is_shown && !is_gone).then(all_back),
            affected: is_shown.then_some(affected),
            gone: is_shown.then(|| row.over_blocks(Metric::FlowsGone, Unit::Count, &gone())),
            is_least,
            trials,
            unseen_end,
        }
    }

    /// Longest outage; also true if one was found beyond those without a deed.
    fn longest(&self, row: &Row, phase: Phase, unseen_end: Option<UnseenEnd>) -> (Figure, bool) {
        let spacing = self.spacing();
        let longest = |all: &[&Impact]| -> Vec<f64> {
            all.iter().map(|one| one.longest(phase, spacing)).collect()
        };
        let own = longest(&self.own);
        let outage = Outage::from_trials(&own, &longest(&self.control));
        let is_shown = matches!(outage, Outage::Shown { .. });
        let resolution = Resolution { spacing, inside: 0.0 };
        let setting = self.ways.setting(self.way);
        let mut figure = outage.figure(row.clone(), Metric::Outage, setting, resolution);
        figure.set(Key::Statistic, "longest");
        if unseen_end.is_some() {
            // The end was not observed, so only a lower bound is known.
            let least = own.iter().copied().min_by(f64::total_cmp).filter(|_| is_shown);
            (figure.value, figure.high) = (None, None);
            figure.low = least.map(|least| least - spacing);
        }
        (figure, is_shown)
    }

    fn values(&self, value: impl Fn(&Impact) -> Option<f64>) -> Vec<f64> {
        self.own.iter().filter_map(|one| value(one)).collect()
    }

    /// Time over the trials, with a resolution of one frame on either side.
    fn time(&self, row: &Row, metric: Metric, value: impl Fn(&Impact) -> Option<f64>) -> Figure {
        let spacing = self.spacing();
        let mut figure = row.over_blocks(metric, Unit::Nanoseconds, &self.values(value));
        figure.low = figure.low.map(|low| low - spacing);
        figure.high = figure.high.map(|high| high + spacing);
        figure
    }

    /// Share of interrupted flows; also true if it is only a lower bound.
    fn affected(&self, row: &Row, phase: Phase) -> (Figure, bool) {
        let own_run = self.own_run(phase);
        let shares = self.values(|one| Some(one.affected(phase, own_run)));
        let mut figure = row.over_blocks(Metric::FlowsAffected, Unit::Ratio, &shares);
        let sees_all = self.own.iter().all(|one| one.sees_all(phase, own_run));
        let is_least = !sees_all && figure.value.is_some_and(|share| share < 1.0);
        if is_least {
            // Other flows had no frame due in the meantime.
            figure.high = None;
            figure.set(Key::Bound, page::AT_LEAST);
        }
        (figure, is_least)
    }
}

/// Name of the fields that distinguish flows, in figures and labels.
pub(super) fn told_apart(spread: Spread) -> &'static str {
    match [spread.source_ports, spread.destination_ports, spread.addresses].map(|n| n > 1) {
        [_, false, false] => "source-ports",
        [false, true, false] => "destination-ports",
        [false, false, true] => "addresses",
        _ => "several",
    }
}
