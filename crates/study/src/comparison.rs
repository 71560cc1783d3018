//! Comparison of two sides: the same figures of two runs, or of two devices in one run; and of a
//! list of runs, figure by figure.
//!
//! Owns which figures are compared, which one answers the question, which of two values is better,
//! the margin, and the attribution of a difference. Pure; `measure::comparison` has the statistics,
//! and `page` the words.

mod attribution;
mod baseline;
mod blocks;
pub(crate) mod cells;
mod comparable;
mod doing;
mod exchanged;
mod label;
mod page;
mod plan;
mod question;
#[cfg(test)]
mod tests;
mod trend;
mod worth;

use std::collections::BTreeMap;

use measure::Interval;
use measure::comparison::{self, Blocks, Comparison, Decision, Scale};
use serde::Serialize;

use ::page::{CaseId, Condition, Conditions, Figure, Key, Metric, Unit, Verdict};
use trial::Subject;

pub use attribution::Attribution;
pub use baseline::Baseline;
pub use blocks::per_block;
pub use cells::{Better, better, is_compared};
pub use comparable::{Comparable, Kinds, subjects};
pub use doing::{Doing, Path, whose};
pub use exchanged::{Exchanged, Slowness};
pub use label::metric_label;
pub use plan::{before_start, decidable};
pub use question::Blocking;
pub use trend::{Cable, FEWEST_RUNS, Moved, Place, Series, Trend, Trends};
pub use worth::{Operation, Worth};

use attribution::Measured;
use cells::{Case, Cell, Values};

/// Default of the relative difference that does not matter.
pub const MARGIN: f64 = 0.01;

/// Repeatability of a direct cable beyond which equivalence is not credible.
pub const COARSE: f64 = 0.10;

/// Ratio of the direct cable's rate to the device's above which the cable's variation is ignored.
/// The device was then driven far beyond its rate, and that excess does not affect it.
const HEADROOM: f64 = 10.0;

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Name for the reader.
    pub name: &'a str,
    /// Id of the run.
    pub run: &'a str,
    /// Device and variant in the run; `None` if it has only one.
    pub subject: Option<&'a Subject>,
    /// Level of a campaign's factor; the levels of its other factors then distinguish cases.
    pub level: Option<Level<'a>>,
    /// Figures of the run.
    pub figures: &'a [Figure],
    /// Figures of the run and of each block, in the form for comparisons.
    pub comparable: &'a Comparable,
}

/// Factor of a campaign at one of its levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level<'a> {
    /// Name of the factor: `nic`.
    pub factor: &'a str,
    /// Level of the factor: `x722`.
    pub level: &'a str,
}

/// Comparison of one figure between two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Place of the subject's value in its run.
    pub case: CaseId,
    /// Metric that is compared.
    pub metric: Metric,
    /// Quantile of a distribution; `None` for other figures.
    pub quantile: Option<f64>,
    /// Unit of the values.
    pub unit: Unit,
    /// Conditions that both sides share.
    #[serde(rename = "where")]
    pub conditions: Conditions,
    /// Values of the subject, one per block, in order.
    pub subject: Vec<f64>,
    /// Values of the reference.
    pub reference: Vec<f64>,
    /// Values of the direct cable beside the subject; empty without one.
    pub bypass: Vec<f64>,
    /// Limits of the two sides' own figures.
    pub verdicts: (Verdict, Verdict),
    /// Result of the statistics.
    pub comparison: Comparison,
    /// Direction in which a value is better.
    pub better: Better,
    /// Comparison of the direct cable's own figures between two runs.
    pub control: Option<Comparison>,
    /// True if both devices' rates are far below the direct cable's rate in any block: the tester's
    /// own variation is then ignored.
    pub clear_of_tester: bool,
    /// Approximate number of blocks per side that would decide; `None` if decided, or if no number
    /// would.
    pub needed: Option<usize>,
}

impl Row {
    /// True if the subject is better, false if worse. `None` without a known difference, and for a
    /// part: a disk that takes its share of a shorter operation is no gain.
    pub fn is_better(&self) -> Option<bool> {
        if self.comparison.decision != Decision::Different || self.part().is_some() {
            return None;
        }
        let none = if self.comparison.scale == Scale::Ratio { 1.0 } else { 0.0 };
        let larger = self.comparison.value > none;
        Some(larger == (self.better == Better::More))
    }

    /// Approximate number of further repetitions that would decide.
    pub fn more_needed(&self) -> Option<usize> {
        self.needed?.checked_sub(self.comparison.blocks.0.min(self.comparison.blocks.1))
    }

    /// Converts the row to a figure: `ratio`, or `difference` if one value is zero.
    pub fn figure(&self) -> Figure {
        let compared = &self.comparison;
        match compared.scale {
            Scale::Ratio => {
                self.as_figure((Metric::Ratio, Unit::Ratio), compared.value, compared.interval)
            }
            Scale::Shift => self.difference(),
        }
    }

    /// Difference between subject and reference, in the metric's own unit.
    pub fn difference(&self) -> Figure {
        let own = self.comparison.difference;
        self.as_figure((Metric::Difference, self.unit), own.value, own.interval)
    }

    fn as_figure(&self, named: (Metric, Unit), value: f64, interval: Interval) -> Figure {
        let compared = &self.comparison;
        let (metric, unit) = named;
        let mut conditions = self.conditions.clone();
        let mut say = |key: Key, value: Condition| conditions.insert(key, value);
        say(Key::Of, self.metric.as_str().into());
        if let Some(quantile) = self.quantile {
            say(Key::OfQuantile, quantile.into());
        }
        say(Key::Decision, compared.decision.as_str().into());
        say(Key::Margin, compared.margin.into());
        say(Key::PDifferent, compared.p_different.into());
        say(Key::PAdjusted, compared.p_adjusted.into());
        say(Key::PEquivalent, compared.p_equivalent.into());
        say(Key::Dominance, compared.dominance.into());
        if let Some(needed) = self.needed {
            say(Key::BlocksNeeded, (needed as u64).into());
        }
        let blocks = compared.blocks.0.min(compared.blocks.1);
        let mut figure = Figure {
            case: self.case,
            n: (compared.blocks.0 + compared.blocks.1) as u64,
            blocks: blocks as u32,
            conditions,
            verdict: self.verdicts.0.max(self.verdicts.1),
            ..Figure::new(metric, unit, Some(value))
        };
        figure.set_interval(Some(interval));
        if interval.confidence < comparison::CONFIDENCE {
            figure.caveats.push(::page::Caveat::FewBlocks);
        }
        figure
    }
}

/// Comparison of all figures that two sides share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Name of the subject.
    pub subject: String,
    /// Name of the reference.
    pub reference: String,
    /// True if both were measured in the same blocks.
    pub interleaved: bool,
    /// Comparisons of the figures.
    pub rows: Vec<Row>,
    /// Comparisons of the parts of an operation's time: shown, but not counted.
    pub parts: Vec<Row>,
    /// Index of the row that answers the question; `None` without rows.
    pub primary: Option<usize>,
    /// Results of the non-blocking test of subject and reference, if both were tested.
    pub nonblocking: Option<[Blocking; 2]>,
    /// Ports that were slow in the reference, in another run than the subject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exchanged: Vec<Exchanged>,
    /// Side that is a direct cable, if the other is a device.
    pub direct: Option<Direct>,
    /// Figures of the subject and of the reference, if they have none in common.
    pub apart: [Vec<String>; 2],
    /// Labels of figures that the reference has and the subject lacks.
    pub lacking: Vec<String>,
    /// Relative difference that does not matter, as requested.
    pub margin: f64,
    /// Attribution of the differences.
    pub attribution: Attribution,
}

/// Side that is the hosts' direct cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direct {
    /// The subject.
    Subject,
    /// The reference.
    Reference,
}

impl Compared {
    /// True if any figure is worse.
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(|row| row.is_better() == Some(false))
    }
}

/// Compares `subject` with `reference`; `margin` is the relative difference that does not matter.
pub fn compare(subject: &Side<'_>, reference: &Side<'_>, margin: f64) -> Compared {
    let interleaved = subject.run == reference.run;
    let (own, others) = (Values::from_side(subject), Values::from_side(reference));
    let all = others.cases().filter_map(|case| row(case, &own, &others, interleaved, margin));
    let (mut parts, mut rows): (Vec<Row>, Vec<Row>) = all.partition(|row| row.part().is_some());
    let primary = question::primary(&rows);
    for (rows, first) in [(&mut rows, primary), (&mut parts, None)] {
        decide(rows, first.unwrap_or(0), interleaved, margin);
    }
    let direct = match (is_cable(subject), is_cable(reference)) {
        (true, false) => Some(Direct::Subject),
        (false, true) => Some(Direct::Reference),
        _ => None,
    };
    let asked = [subject, reference].map(|side| question::nonblocking(side.figures));
    let nonblocking = match asked {
        [Some(own), Some(other)] => Some([own, other]),
        _ => None,
    };
    let apart = if rows.is_empty() && parts.is_empty() {
        [own.names(), others.names()]
    } else {
        [Vec::new(), Vec::new()]
    };
    let another_time = [subject, reference].iter().any(|side| {
        let apart = ::page::Caveat::BypassAtAnotherTime;
        side.figures.iter().any(|figure| figure.caveats.contains(&apart))
    });
    let control = control_of(subject.figures);
    let measured = Measured { interleaved, control, direct, another_time };
    let attribution = attribution::attribute(&rows, primary, measured);
    let lacking = others.names_lacking_in(&own);
    let exchanged = if interleaved {
        Vec::new()
    } else {
        exchanged::exchanged(reference.figures, subject.figures)
    };
    let (subject, reference) = (subject.name.to_owned(), reference.name.to_owned());
    Compared {
        subject,
        reference,
        interleaved,
        rows,
        parts,
        primary,
        nonblocking,
        exchanged,
        direct,
        apart,
        lacking,
        margin,
        attribution,
    }
}

/// Corrects for the number of figures, the one at `first` before the others.
fn decide(rows: &mut [Row], first: usize, interleaved: bool, margin: f64) {
    let mut all: Vec<Comparison> = rows.iter().map(|row| row.comparison).collect();
    comparison::correct(&mut all, first);
    let figures = rows.len();
    for (row, compared) in rows.iter_mut().zip(all) {
        row.comparison = compared;
        if compared.decision == Decision::Equivalent && compared.margin > margin.max(COARSE) {
            row.comparison.decision = Decision::Inconclusive;
        } else {
            row.needed = compared.blocks_needed(figures, interleaved);
        }
    }
}

/// True if a side's hosts were connected directly: its figures are the tester's alone.
fn is_cable(side: &Side<'_>) -> bool {
    let mut own = side.figures.iter().filter(|figure| !figure.is_bypass()).peekable();
    own.peek().is_some() && own.all(|figure| figure.text(Key::Device) == Some(::page::CABLE))
}

/// Number of figures in which a campaign's A/A control differed, and their total.
pub fn control_of(figures: &[Figure]) -> (usize, usize) {
    let own = |figure: &&Figure| figure.conditions.contains_key(&Key::Control);
    let different =
        |figure: &&Figure| figure.text(Key::Decision) == Some(Decision::Different.as_str());
    (figures.iter().filter(own).filter(different).count(), figures.iter().filter(own).count())
}

fn row(case: &Case, own: &Values, others: &Values, interleaved: bool, margin: f64) -> Option<Row> {
    let better = better(case.metric)?;
    let (subject, reference) = (own.device(case)?, others.device(case)?);
    let (cable, other_cable) = (own.bypass(case), others.bypass(case));
    let in_order = |blocks: &BTreeMap<usize, f64>| blocks.values().copied().collect::<Vec<f64>>();
    let bypass = cable.map(|cell| in_order(&cell.blocks)).unwrap_or_default();
    let is_clear = is_clear_of_tester(better, [(subject, cable), (reference, other_cable)]);
    // Variation of the tester between blocks is not the device's.
    let repeats = comparison::repeatability(&bypass).filter(|_| !is_clear).unwrap_or(0.0);
    let wider = margin.max(repeats);
    let pairs: Vec<(f64, f64)> = subject
        .blocks
        .iter()
        .filter_map(|(block, value)| Some((*value, *reference.blocks.get(block)?)))
        .collect();
    let (subject_values, reference_values): (Vec<f64>, Vec<f64>) = if interleaved {
        pairs.iter().copied().unzip()
    } else {
        (in_order(&subject.blocks), in_order(&reference.blocks))
    };
    let apart = Blocks::Apart { subject: &subject_values, reference: &reference_values };
    let blocks = if interleaved { Blocks::Interleaved(&pairs) } else { apart };
    let control = || {
        let other = in_order(&other_cable?.blocks);
        comparison::compare(Blocks::Apart { subject: &bypass, reference: &other }, margin)
    };
    Some(Row {
        case: subject.found,
        metric: case.metric,
        quantile: subject.quantile,
        unit: subject.unit,
        conditions: subject.conditions.clone(),
        comparison: comparison::compare(blocks, wider)?,
        control: (!interleaved).then(control).flatten(),
        clear_of_tester: is_clear,
        subject: subject_values,
        reference: reference_values,
        verdicts: (subject.verdict, reference.verdict),
        bypass,
        better,
        needed: None,
    })
}

/// True if, for a rate, every block of the cable exceeds every block of its device by [`HEADROOM`],
/// on both sides.
fn is_clear_of_tester(better: Better, sides: [(&Cell, Option<&Cell>); 2]) -> bool {
    better == Better::More
        && sides.into_iter().all(|(device, cable)| {
            let most = device.blocks.values().copied().fold(0.0, f64::max);
            let least = cable.into_iter().flat_map(|cable| cable.blocks.values().copied());
            let least = least.fold(f64::INFINITY, f64::min);
            device.verdict == Verdict::DeviceLimited
                && least.is_finite()
                && least >= HEADROOM * most
        })
}
