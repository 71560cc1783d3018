//! Trend over a list of runs, figure by figure: what moved, since which run, by how much, and
//! whether the direct cable moved as well.
//!
//! Owns which runs' figures form a series, and what so few can show. Figures are matched as between
//! two runs; `measure::step` has the statistics. Reports only the clearest step of each figure.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use ::page::{Conditions, Metric, Unit};
use measure::comparison::{CONFIDENCE, Decision, ERROR};
use measure::quantile::median;
use measure::step::{self, Splits, Step};
use measure::{Interval, comparison::Scale};
use serde::Serialize;
use trial::Subject;

use super::cells::{self, Better, Case, Cell, Place as At, Values, better};
use super::{Comparable, Kinds, Side, label};

/// Fewest runs of a trend: two do not define a noise level for a third.
pub const FEWEST_RUNS: usize = 4;

/// One of the runs, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Id of the run.
    pub id: String,
    /// Name for the reader: release, firmware or date.
    pub name: String,
    /// Time of the run, in nanoseconds since 1970.
    pub unix_ns: u64,
}

/// Step of a figure, and the run where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Moved {
    /// Index of the first run after the step.
    pub since: usize,
    /// Earliest index that it may be, at 95 %.
    pub earliest: usize,
    /// Latest index that it may be.
    pub latest: usize,
    /// Scale: after / before, or after - before if a value is zero.
    pub scale: Scale,
    /// Size of the step.
    pub value: f64,
    /// Interval of the size.
    pub interval: Interval,
    /// Size in the figure's own unit.
    pub difference: f64,
    /// Interval of the difference.
    pub difference_interval: Interval,
    /// P-value against a step within the margin, corrected for all places and all figures.
    pub p_adjusted: f64,
}

/// Attribution of a step to the device, by the direct cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cable {
    /// The direct cable's own figure moved by less than the device's.
    Steady,
    /// The direct cable may have moved as much.
    Moved,
    /// No direct cable was measured beside the device in all of these runs.
    None,
}

/// One figure over the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Metric of the series.
    pub metric: Metric,
    /// Quantile of a distribution; `None` for other figures.
    pub quantile: Option<f64>,
    /// Unit of the values.
    pub unit: Unit,
    /// Conditions of the figure.
    #[serde(rename = "where")]
    pub conditions: Conditions,
    /// Device of the figure, if a run has several.
    pub subject: Option<String>,
    /// Direction in which a value is better.
    pub better: Better,
    /// Indices of the runs that have the figure.
    pub runs: Vec<usize>,
    /// Values in these runs: medians over repetitions.
    pub values: Vec<f64>,
    /// Decision: moved, unchanged throughout, or undecided.
    pub decision: Decision,
    /// Clearest step, whatever was decided; `None` with too few runs.
    pub step: Option<Moved>,
    /// State of the direct cable, if the figure moved.
    pub cable: Cable,
}

/// Trends of all figures over the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    /// Runs, oldest first.
    pub runs: Vec<Place>,
    /// Series of all figures that at least two runs have.
    pub series: Vec<Series>,
    /// Relative difference that does not matter.
    pub margin: f64,
}

impl Series {
    /// Label of the series: `rtt p50 (udp, 64 octets, idle)`.
    pub fn label(&self) -> String {
        format!("{}{}", self.metric_label(), label::in_brackets(&self.conditions))
    }

    /// Metric and quantile, `rtt p50`, with the device if there are several.
    pub fn metric_label(&self) -> String {
        let of = self.subject.as_ref().map_or_else(String::new, |subject| format!(" of {subject}"));
        format!("{}{of}", label::of_metric(self.metric, self.quantile))
    }

    /// Case without punctuation: `udp 64 idle`.
    pub fn case_label(&self) -> String {
        label::parts(&self.conditions, "").join(" ")
    }

    /// True if too few runs have the figure.
    pub fn is_too_few(&self) -> bool {
        self.runs.len() < FEWEST_RUNS
    }

    /// True if the figure moved for the better, false for the worse; `None` if it may not have
    /// moved.
    pub fn is_better(&self) -> Option<bool> {
        let step = self.step.filter(|_| self.decision == Decision::Different)?;
        Some((step.difference > 0.0) == (self.better == Better::More))
    }

    /// True if the figure moved for the worse, attributable to the device.
    pub fn is_worse(&self) -> bool {
        self.is_better() == Some(false) && self.cable == Cable::Steady
    }

    /// True if the figure is shown to be unchanged throughout, or better.
    pub fn is_kept(&self) -> bool {
        self.decision == Decision::Equivalent || self.is_better() == Some(true)
    }
}

impl Trend {
    /// True if some figure moved for the worse, attributable to the device.
    pub fn is_worse(&self) -> bool {
        self.series.iter().any(Series::is_worse)
    }

    /// True if every figure is shown to be unchanged throughout, or better.
    pub fn is_kept(&self) -> bool {
        !self.series.is_empty() && self.series.iter().all(Series::is_kept)
    }
}

/// Identity of a series: device and case.
type Key = (Option<String>, Case);

/// Values of a figure per block, the device's and the direct cable's, by run in order.
#[derive(Debug)]
struct Cells {
    quantile: Option<f64>,
    unit: Unit,
    conditions: Conditions,
    own: Vec<(usize, Box<[f64]>)>,
    cable: Vec<(usize, Box<[f64]>)>,
}

/// Places of each kind of figure, for runs of one kind and one device.
type Known = (Arc<Kinds>, Option<Subject>, Rc<[Option<At>]>);

/// Collector of runs, taken one at a time; keeps only their compared numbers.
#[derive(Debug, Default)]
pub struct Trends {
    runs: Vec<Place>,
    order: Vec<Key>,
    all: BTreeMap<Key, Cells>,
    /// Newest few kinds: runs of one plan have the same kinds of figures.
    known: Vec<Known>,
}

/// Largest number of kinds of runs in memory.
const MOST_KNOWN: usize = 16;

impl Trends {
    /// Begins the next run; runs come oldest first.
    pub fn begin(&mut self, run: Place) {
        self.runs.push(run);
    }

    /// Takes the figures of one device of the latest run, or of the only one if `subject` is
    /// `None`. `name` is the device's name.
    pub fn take(&mut self, name: &str, subject: Option<&Subject>, comparable: &Comparable) {
        let Some(run) = self.runs.len().checked_sub(1) else { return };
        let places = self.places(subject, comparable);
        let values = Values::placed(comparable, &places);
        let subject = subject.map(|_| name.to_owned());
        for case in values.cases() {
            let Some(own) = values.device(case) else { continue };
            let key = (subject.clone(), case.clone());
            let cells = self.all.entry(key).or_insert_with_key(|key| {
                self.order.push(key.clone());
                Cells {
                    quantile: own.quantile,
                    unit: own.unit,
                    conditions: own.conditions.clone(),
                    own: Vec::new(),
                    cable: Vec::new(),
                }
            });
            let blocks = |cell: &Cell| (run, cell.blocks.values().copied().collect());
            cells.own.push(blocks(own));
            cells.cable.extend(values.bypass(case).map(blocks));
        }
    }

    fn places(&mut self, subject: Option<&Subject>, comparable: &Comparable) -> Rc<[Option<At>]> {
        let known = self.known.iter().find(|(kinds, of, _)| {
            of.as_ref() == subject && (Arc::ptr_eq(kinds, &comparable.kinds))
        });
        if let Some((.., places)) = known {
            return places.clone();
        }
        let side = Side { name: "", run: "", subject, level: None, figures: &[], comparable };
        let places: Rc<[Option<At>]> = cells::places(&side).into();
        self.known.truncate(MOST_KNOWN - 1);
        self.known.insert(0, (comparable.kinds.clone(), subject.cloned(), places.clone()));
        places
    }

    /// Returns the trends; `margin` is the relative difference that does not matter. Between
    /// neighbouring runs of the same name, as of one release, nothing can have moved.
    pub fn found(self, margin: f64) -> Trend {
        let Self { runs, order, all, .. } = self;
        let devices: BTreeSet<&Option<String>> = order.iter().map(|key| &key.0).collect();
        let several = devices.len() > 1;
        let of = |key: &Key| series(key, several, &all[key], &runs, margin);
        let mut found: Vec<(Series, f64)> = order.iter().filter_map(of).collect();
        decide(&mut found);
        let series = found.into_iter().map(|(series, _)| series).collect();
        Trend { runs, series, margin }
    }
}

/// Builds a figure's series, with the p-value of its clearest step, corrected for all places.
fn series(
    key: &Key,
    several: bool,
    cells: &Cells,
    places: &[Place],
    margin: f64,
) -> Option<(Series, f64)> {
    let better = better(key.1.metric)?;
    if cells.own.len() < 2 || cells.conditions.contains_key(&::page::Key::Part) {
        return None;
    }
    let runs: Vec<usize> = cells.own.iter().map(|(run, _)| *run).collect();
    let own = || cells.own.iter().map(|(_, blocks)| &**blocks);
    let plain = Sample::from_runs(own(), Scale::Shift)?;
    let is_positive = plain.values.iter().all(|value| *value > 0.0);
    let scale = if is_positive { Scale::Ratio } else { Scale::Shift };
    let limit = match scale {
        Scale::Ratio => margin.ln_1p(),
        Scale::Shift => margin * median(&plain.values)?.abs(),
    };
    let sample = if is_positive { Sample::from_runs(own(), scale)? } else { plain.clone() };
    let firsts: Vec<usize> =
        (1..runs.len()).filter(|at| places[runs[*at]].name != places[runs[at - 1]].name).collect();
    let splits = sample.splits(limit);
    let at = |first: &usize| splits.as_ref()?.at(*first);
    let steps: Vec<Step> = firsts.iter().filter_map(at).collect();
    let enough = runs.len() >= FEWEST_RUNS;
    let likely = step::most_likely(&steps, runs.len()).filter(|_| enough);
    let within = |step: &Step| step.interval.low >= -limit && step.interval.high <= limit;
    let is_same = enough && !steps.is_empty() && steps.iter().all(within);
    let back = |value: f64| if scale == Scale::Ratio { value.exp() } else { value };
    let chance = likely.map_or(1.0, |(step, ..)| (step.p() * steps.len() as f64).min(1.0));
    let moved = likely.and_then(|(step, earliest, latest)| {
        let own = plain.splits(0.0)?.at(step.first)?;
        let interval = step.interval;
        Some(Moved {
            since: runs[step.first],
            earliest: runs[earliest],
            latest: runs[latest],
            scale,
            value: back(step.difference),
            interval: Interval { low: back(interval.low), high: back(interval.high), ..interval },
            difference: own.difference,
            difference_interval: own.interval,
            p_adjusted: chance,
        })
    });
    let cable = moved.map_or(Cable::None, |moved| cable(cells, &runs, &moved));
    let series = Series {
        metric: key.1.metric,
        quantile: cells.quantile,
        unit: cells.unit,
        conditions: cells.conditions.clone(),
        subject: key.0.clone().filter(|_| several),
        better,
        values: plain.values,
        decision: if is_same { Decision::Equivalent } else { Decision::Inconclusive },
        step: moved,
        cable,
        runs,
    };
    Some((series, chance))
}

/// Applies Holm's correction over all figures (Scand. J. Statist. 6, 1979).
fn decide(found: &mut [(Series, f64)]) {
    let mut order: Vec<usize> = (0..found.len()).filter(|at| found[*at].0.step.is_some()).collect();
    order.sort_by(|a, b| found[*a].1.total_cmp(&found[*b].1));
    let mut least = 0.0_f64;
    for (rank, at) in order.iter().enumerate() {
        let (series, chance) = &mut found[*at];
        least = least.max((*chance * (order.len() - rank) as f64).min(1.0));
        if let Some(step) = &mut series.step {
            step.p_adjusted = least;
        }
        if least <= ERROR {
            series.decision = Decision::Different;
        }
    }
}

/// Judges whether the direct cable, in the same runs and split at the same place, may have moved as
/// much as the device, in the figure's own unit.
fn cable(cells: &Cells, runs: &[usize], moved: &Moved) -> Cable {
    // The cable has no run that the device lacks.
    let beside: Vec<&[f64]> = cells.cable.iter().map(|(_, blocks)| &**blocks).collect();
    let first = runs.iter().position(|run| *run == moved.since).unwrap_or(0);
    let split = Sample::from_runs(beside.iter().copied(), Scale::Shift)
        .filter(|_| beside.len() == runs.len())
        .and_then(|sample| sample.splits(0.0)?.at(first));
    let Some(split) = split else { return Cable::None };
    let most = split.interval.low.abs().max(split.interval.high.abs());
    let own = moved.difference_interval;
    let least = if moved.difference > 0.0 { own.low } else { -own.high };
    if least > most { Cable::Steady } else { Cable::Moved }
}

/// Values of the runs, and the variance that repetitions leave in a run's value.
#[derive(Debug, Clone)]
struct Sample {
    values: Vec<f64>,
    within: f64,
}

impl Sample {
    fn from_runs<'a>(runs: impl Iterator<Item = &'a [f64]>, scale: Scale) -> Option<Self> {
        let (mut values, mut variances) = (Vec::new(), Vec::new());
        for blocks in runs {
            let on_scale = |value: &f64| if scale == Scale::Ratio { value.ln() } else { *value };
            let blocks: Vec<f64> = blocks.iter().map(on_scale).collect();
            let value = median(&blocks)?;
            let n = blocks.len() as f64;
            let squares: f64 = blocks.iter().map(|block| (block - value).powi(2)).sum();
            if blocks.len() > 1 {
                // Variance of a median: half of pi times that of a mean.
                variances.push(squares / (n - 1.0) / n * std::f64::consts::FRAC_PI_2);
            }
            values.push(value);
        }
        let finite = values.iter().all(|value| value.is_finite());
        finite.then(|| Self { values, within: median(&variances).unwrap_or(0.0) })
    }

    fn splits(&self, margin: f64) -> Option<Splits<'_>> {
        Splits::new(&self.values, self.within, margin, CONFIDENCE)
    }
}

#[cfg(test)]
mod tests;
