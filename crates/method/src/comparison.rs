//! Two sides compared: the same figures of two runs, or of two devices within one; and a list of
//! runs, figure by figure.
//!
//! Owns which figures are compared, which of them the question is about, which of two values is the
//! better, the margin, and whose doing a difference is. Pure; the statistics are
//! `measure::comparison`'s, and the words a page's.

mod attribution;
mod baseline;
mod blocks;
pub(crate) mod cells;
mod comparable;
mod doing;
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
pub use label::metric_label;
pub use plan::{before_start, decidable};
pub use question::Blocking;
pub use trend::{Cable, FEWEST_RUNS, Moved, Place, Series, Trend, Trends};
pub use worth::{Operation, Worth};

use attribution::Measured;
use cells::{Case, Cell, Values};

/// Below this a difference does not matter, unless the caller says otherwise.
pub const MARGIN: f64 = 0.01;

/// A direct cable that repeats no better than this makes no claim of equivalence credible.
pub const COARSE: f64 = 0.10;

/// Where the direct cable carried so many times what a device did, the device was driven far beyond
/// what it carries: by how much more varies from block to block, and is not in the device's rate.
const HEADROOM: f64 = 10.0;

/// One of two sides.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// As the reader knows it.
    pub name: &'a str,
    /// The run's id.
    pub run: &'a str,
    /// Which device of the run, in which variant; none where it has only one.
    pub subject: Option<&'a Subject>,
    /// Which level of which factor, of a campaign; the other factors' levels then tell cases apart.
    pub level: Option<Level<'a>>,
    /// The run's figures.
    pub figures: &'a [Figure],
    /// The same as comparisons need them, with those of each block.
    pub comparable: &'a Comparable,
}

/// A factor of a campaign at one of its levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level<'a> {
    /// `nic`
    pub factor: &'a str,
    /// `x722`
    pub level: &'a str,
}

/// One figure of two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Where in its run the subject's value belongs.
    pub case: CaseId,
    /// What is compared.
    pub metric: Metric,
    /// For a point of a distribution.
    pub quantile: Option<f64>,
    /// Of the values.
    pub unit: Unit,
    /// Under which conditions, those that both share.
    #[serde(rename = "where")]
    pub conditions: Conditions,
    /// The subject's value in each block, in order.
    pub subject: Vec<f64>,
    /// The reference's.
    pub reference: Vec<f64>,
    /// The direct cable's beside the subject, where there is one.
    pub bypass: Vec<f64>,
    /// Whose limit the two sides' own figures show.
    pub verdicts: (Verdict, Verdict),
    /// What the statistics say.
    pub comparison: Comparison,
    /// Which value is the better.
    pub better: Better,
    /// Of two runs: how the direct cable's own figures compare.
    pub control: Option<Comparison>,
    /// Both devices' rate is far below what the direct cable carried in any block: what the tester
    /// alone varies by is not in it.
    pub clear_of_tester: bool,
    /// About how many blocks a side would decide it; none where it is decided, or nothing would.
    pub needed: Option<usize>,
}

impl Row {
    /// Whether the subject is better (`true`) or worse; `None` where no difference is known, and of
    /// a part: a disk that takes its share of a shorter operation is no win.
    pub fn is_better(&self) -> Option<bool> {
        if self.comparison.decision != Decision::Different || self.part().is_some() {
            return None;
        }
        let none = if self.comparison.scale == Scale::Ratio { 1.0 } else { 0.0 };
        let larger = self.comparison.value > none;
        Some(larger == (self.better == Better::More))
    }

    /// How many more repetitions would decide it, about.
    pub fn more_needed(&self) -> Option<usize> {
        self.needed?.checked_sub(self.comparison.blocks.0.min(self.comparison.blocks.1))
    }

    /// The row as a figure: `ratio`, or `difference` where one value is zero.
    pub fn figure(&self) -> Figure {
        let compared = &self.comparison;
        match compared.scale {
            Scale::Ratio => {
                self.as_figure((Metric::Ratio, Unit::Ratio), compared.value, compared.interval)
            }
            Scale::Shift => self.difference(),
        }
    }

    /// By how much the subject exceeds the reference, in the metric's own unit.
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

/// All that two sides have in common, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// What is compared.
    pub subject: String,
    /// With what.
    pub reference: String,
    /// Whether both were measured in the same blocks.
    pub interleaved: bool,
    /// Figure by figure.
    pub rows: Vec<Row>,
    /// Parts of an operation's time: shown, and no part of any score.
    pub parts: Vec<Row>,
    /// Which of the rows the question is about; none without rows.
    pub primary: Option<usize>,
    /// Whether subject and reference are non-blocking, where both were asked.
    pub nonblocking: Option<[Blocking; 2]>,
    /// Which side is a direct cable, where the other is a device.
    pub direct: Option<Direct>,
    /// What the subject has, and what the reference has, where they have no figure in common.
    pub apart: [Vec<String>; 2],
    /// Figures that the reference has and the subject lacks, by their labels.
    pub lacking: Vec<String>,
    /// The difference that does not matter, as it was asked for: a share.
    pub margin: f64,
    /// Whose doing it is.
    pub attribution: Attribution,
}

/// Which of two sides is the hosts' direct cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direct {
    /// What is compared.
    Subject,
    /// What it is compared with.
    Reference,
}

impl Compared {
    /// Whether some figure is different for the worse.
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(|row| row.is_better() == Some(false))
    }
}

/// Compares `subject` with `reference`; `margin` is what does not matter, as a share.
pub fn compare(subject: &Side<'_>, reference: &Side<'_>, margin: f64) -> Compared {
    let interleaved = subject.run == reference.run;
    let (own, others) = (Values::of(subject), Values::of(reference));
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
    let attribution = attribution::attribute((&rows, primary), measured);
    let lacking = others.names_lacking_in(&own);
    let (subject, reference) = (subject.name.to_owned(), reference.name.to_owned());
    Compared {
        subject,
        reference,
        interleaved,
        rows,
        parts,
        primary,
        nonblocking,
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

/// Whether a side's hosts were joined directly: what is measured there is the tester alone.
fn is_cable(side: &Side<'_>) -> bool {
    let mut own = side.figures.iter().filter(|figure| !figure.is_bypass()).peekable();
    own.peek().is_some() && own.all(|figure| figure.text(Key::Device) == Some(::page::CABLE))
}

/// In how many figures a campaign's A/A control came out different, and of how many.
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
    // What the tester alone differs by, from one block to the next, is no device's doing.
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

/// Of a rate: whether every block of the cable exceeds every one of its device by [`HEADROOM`], on
/// both sides.
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
