//! From trials to the failover study's figures: how long flows were interrupted, how many, what
//! was lost, and whether all came back.
//!
//! Owns what is taken for the deed's doing: more than any trial shows in which nothing is done.
//! Pure.

use crate::study::Noted;
use std::collections::BTreeMap;

use super::cell::{CellData, Impact, Phase};
use super::{FailoverSpec, Way, Ways, sharing, told_apart};
use crate::study::outage::{Outage, Resolution};
use crate::study::rows::{Direction, Row, set_direction};
use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::Spread;
use trial::topology::KnownDeed;

/// By way, by which of the spreads told flows apart, and by deed; of none, what is seen when
/// nothing is done.
pub(super) type Data = BTreeMap<(Way, usize, Option<String>), CellData>;

/// Every figure of the study, way by way and deed by deed, after what is seen when nothing is done.
pub(super) fn all(
    spec: &FailoverSpec,
    data: &Data,
    deeds: &BTreeMap<Way, Vec<KnownDeed>>,
    ways: &Ways,
) -> Vec<Figure> {
    let empty = CellData::default();
    let mut figures = Vec::new();
    for (way, deeds) in deeds {
        let cell = |by: usize, deed: Option<&KnownDeed>| {
            data.get(&(*way, by, deed.map(|deed| deed.name.clone()))).unwrap_or(&empty)
        };
        let controls = (0..spec.spreads.len()).map(|by| (by, None));
        for (by, deed) in controls.chain(deeds.iter().map(|deed| (0, Some(deed)))) {
            for direction in directions(spec) {
                let case = Case {
                    spec,
                    ways,
                    way: *way,
                    by: spec.spreads[by],
                    deed,
                    direction,
                    own: cell(by, deed).of(direction),
                    control: cell(by, None).of(direction),
                    noted: &cell(by, deed).noted,
                };
                figures.extend(case.figures());
            }
        }
    }
    figures
}

fn directions(spec: &FailoverSpec) -> Vec<Option<Direction>> {
    if spec.bidirectional {
        vec![Some(Direction::Forward), Some(Direction::Reverse)]
    } else {
        vec![None]
    }
}

/// One deed on one way, one direction of it.
struct Case<'a> {
    spec: &'a FailoverSpec,
    ways: &'a Ways,
    way: Way,
    by: Spread,
    /// None where nothing is done.
    deed: Option<&'a KnownDeed>,
    direction: Option<Direction>,
    own: Vec<&'a Impact>,
    control: Vec<&'a Impact>,
    noted: &'a Noted,
}

impl Case<'_> {
    fn figures(&self) -> Vec<Figure> {
        let mut row = self.row();
        let mut figures = Vec::new();
        if let Some(deed) = self.deed {
            figures.extend(self.phase(&row, Phase::Failure));
            if deed.undo {
                figures.extend(self.phase(&row, Phase::Restoration));
            }
            row.verdict = self.sight();
        }
        figures.extend(self.counts(&row));
        if self.deed.is_none() && self.direction != Some(Direction::Reverse) {
            row.conditions.remove(&Key::Direction);
            figures.extend(sharing::figures(&row, &self.own, self.by.conversations()));
        }
        figures
    }

    fn row(&self) -> Row {
        let mut row = Row::of(self.ways, self.way, self.spec.profile);
        // A deed has its control beside it, and no cable.
        row.caveats.remove(&Caveat::NoBypass);
        set_direction(&mut row, self.direction);
        let deed = self.deed.map_or(FailoverSpec::NOTHING, |deed| &deed.name);
        row.set(Key::Deed, deed);
        row.set(Key::Flows, self.by.conversations());
        row.set(Key::FlowsBy, told_apart(self.by));
        row.set(Key::FrameSize, u64::from(self.spec.frame_size.octets()));
        row.set(Key::LoadRate, self.spec.load_rate(self.by).0);
        if let Some(took) = self.own.iter().filter_map(|one| one.took).max_by(f64::total_cmp) {
            row.set(Key::DeedTook, took);
        }
        row.note(self.noted);
        row.n = self.own.len() as u64;
        row
    }

    /// Between two frames of one flow, nanoseconds.
    fn spacing(&self) -> f64 {
        1e9 / self.spec.rate.0
    }

    /// The longest run of lost frames that a flow has when nothing is done.
    fn own_run(&self, phase: Phase) -> u64 {
        self.control.iter().map(|one| one.run(phase)).max().unwrap_or(0)
    }

    /// Whether something was seen that no trial without the deed shows.
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

    /// How long flows were interrupted, and from when to when.
    fn phase(&self, row: &Row, phase: Phase) -> Vec<Figure> {
        let own_run = self.own_run(phase);
        let mut row = row.clone();
        row.set(Key::Phase, phase.as_str());
        let gone = self.own.iter().any(|one| one.gone(phase, own_run) > 0);
        row.caveats.extend(gone.then_some(Caveat::NotRecovered));
        // What nobody undoes ends by itself.
        let undone = phase == Phase::Failure && self.deed.is_some_and(|deed| deed.undo);
        let waited = undone && self.own.iter().any(|one| one.waited_for_the_end(own_run));
        row.caveats.extend(waited.then_some(Caveat::UntilUndone));
        let interrupted = self.own.iter().filter(|one| one.affected(phase, own_run) > 0.0);
        row.set(Key::TrialsInterrupted, interrupted.count() as u64);
        let spacing = self.spacing();
        let longest = |all: &[&Impact]| -> Vec<f64> {
            all.iter().map(|one| one.longest(phase, spacing)).collect()
        };
        let (own, control) = (longest(&self.own), longest(&self.control));
        let outage = Outage::of(&own, &control);
        let setting = self.ways.setting(self.way);
        let resolution = Resolution { spacing, inside: 0.0 };
        let mut figure = outage.figure(row.clone(), Metric::Outage, setting, resolution);
        figure.set(Key::Statistic, "longest");
        if gone || waited {
            // Nobody saw what its end would have been.
            let shown = matches!(outage, Outage::Shown { .. });
            let least = own.iter().copied().min_by(f64::total_cmp).filter(|_| shown);
            (figure.value, figure.high) = (None, None);
            figure.low = least.map(|least| least - spacing);
        }
        row.verdict = figure.verdict;
        let mut figures = vec![figure];
        if !matches!(outage, Outage::Shown { .. }) {
            return figures;
        }
        if !(gone || waited) {
            figures.push(self.middle(&row, phase, own_run));
        }
        figures.extend(self.moments(&row, phase, own_run, gone));
        figures
    }

    fn values(&self, of: impl Fn(&Impact) -> Option<f64>) -> Vec<f64> {
        self.own.iter().filter_map(|one| of(one)).collect()
    }

    /// A time over the trials, no finer than a frame on either side.
    fn time(&self, row: &Row, metric: Metric, values: &[f64]) -> Figure {
        let spacing = self.spacing();
        let mut figure = row.over_blocks(metric, Unit::Nanoseconds, values);
        figure.low = figure.low.map(|low| low - spacing);
        figure.high = figure.high.map(|high| high + spacing);
        figure
    }

    /// Of flows that were interrupted: for how long the middle one was.
    fn middle(&self, row: &Row, phase: Phase, own_run: u64) -> Figure {
        let each = self.values(|one| one.typical(phase, own_run, self.spacing()));
        let mut figure = self.time(row, Metric::Outage, &each);
        figure.set(Key::Statistic, "median");
        figure
    }

    /// Of flows that were interrupted: from when to when, and how many they were.
    fn moments(&self, row: &Row, phase: Phase, own_run: u64, any_gone: bool) -> Vec<Figure> {
        let first = self.values(|one| one.first_lost(phase, own_run));
        let mut figures = vec![self.time(row, Metric::FirstLost, &first)];
        if !any_gone {
            let back = self.values(|one| one.all_back(phase, own_run));
            figures.push(self.time(row, Metric::AllBack, &back));
        }
        let affected = self.values(|one| Some(one.affected(phase, own_run)));
        let mut affected = row.over_blocks(Metric::FlowsAffected, Unit::Ratio, &affected);
        let sees_all = self.own.iter().all(|one| one.sees_all(phase, own_run));
        if !sees_all && affected.value.is_some_and(|share| share < 1.0) {
            // Of others no frame was due meanwhile.
            affected.high = None;
            affected.set(Key::Bound, "at least");
        }
        figures.push(affected);
        let gone = self.values(|one| Some(one.gone(phase, own_run) as f64));
        figures.push(row.over_blocks(Metric::FlowsGone, Unit::Count, &gone));
        figures
    }

    /// What became of the frames of a whole trial.
    fn counts(&self, row: &Row) -> Vec<Figure> {
        let count = |metric, value: fn(&Impact) -> u64| {
            let values: Vec<f64> = self.own.iter().map(|one| value(one) as f64).collect();
            row.over_blocks(metric, Unit::Count, &values)
        };
        vec![
            count(Metric::LostFrames, |one| one.lost),
            count(Metric::ReorderedFrames, |one| one.reordered),
            count(Metric::DuplicatedFrames, |one| one.duplicated),
            count(Metric::FlowsSilent, |one| one.silent),
        ]
    }
}
