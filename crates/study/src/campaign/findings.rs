//! Findings of a whole campaign: the A/A control, each factor's share of the variance, and the
//! width of its intervals.
//!
//! Owns the choice of figures for these: medians and rates through the device, not tails. Never
//! says which level is better: that is for a comparison.

use std::collections::BTreeMap;

use measure::comparison::{self, Blocks, Comparison, repeatability};
use measure::quantile::median;
use measure::variance::{self, Observation, Share, Shares};

use super::CampaignSpec;
use super::figures::Ran;
use crate::comparison::cells::{Case, case, is_compared, shared};
use crate::comparison::{MARGIN, Row, better};
use page::{Figure, Key, Unit};
use page::{Metric, Verdict};

/// Relative difference below which values are equal.
const ROUNDING: f64 = 1e-12;

/// Values of one case by cell, and its figure.
struct Asked<'a> {
    figure: &'a Figure,
    /// Values in the order in which they were measured.
    values: Vec<Measured>,
    /// Values over the direct cable with the first cell, by block.
    bypass: BTreeMap<u32, Vec<f64>>,
}

struct Measured {
    cell: usize,
    control: bool,
    block: u32,
    value: f64,
}

/// Collects the cases, in the order in which the studies report them.
fn collect_cases<'a>(spec: &CampaignSpec, ran: &'a [Ran]) -> Vec<Asked<'a>> {
    let mut places: BTreeMap<Case, usize> = BTreeMap::new();
    let mut all: Vec<Asked<'a>> = Vec::new();
    let typical = |figure: &Figure| figure.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9);
    for one in ran {
        for figure in one.figures.iter().filter(|figure| typical(figure) && is_compared(figure)) {
            let Some(value) = figure.value else { continue };
            let case = case(figure, &shared(figure));
            let place = *places.entry(case).or_insert(all.len());
            if place == all.len() {
                all.push(Asked { figure, values: Vec::new(), bypass: BTreeMap::new() });
            }
            let asked = &mut all[place];
            if !figure.is_bypass() {
                let (cell, control, block) = (one.cell, one.control, one.block);
                asked.values.push(Measured { cell, control, block, value });
            } else if one.cell == 0 && !spec.cells.is_empty() {
                asked.bypass.entry(one.block).or_default().push(value);
            }
        }
    }
    all.retain(|asked| !asked.values.is_empty());
    all
}

impl Asked<'_> {
    /// Returns one value per block, the median of its repetitions.
    fn values_per_block(&self, is: impl Fn(&Measured) -> bool) -> BTreeMap<u32, f64> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for value in self.values.iter().filter(|value| is(value)) {
            blocks.entry(value.block).or_default().push(value.value);
        }
        blocks.iter().filter_map(|(block, values)| Some((*block, median(values)?))).collect()
    }

    fn compared(
        &self,
        subject: &BTreeMap<u32, f64>,
        reference: &BTreeMap<u32, f64>,
    ) -> Option<(Comparison, Vec<(f64, f64)>)> {
        let both = |(block, value): (&u32, &f64)| Some((*value, *reference.get(block)?));
        let pairs: Vec<(f64, f64)> = subject.iter().filter_map(both).collect();
        let repeats = repeatability(&self.cable()).unwrap_or(0.0);
        let compared = comparison::compare(Blocks::Interleaved(&pairs), MARGIN.max(repeats))?;
        Some((compared, pairs))
    }

    fn cable(&self) -> Vec<f64> {
        self.bypass.values().filter_map(|values| median(values)).collect()
    }
}

/// Compares the first cell with itself: one ratio for each case.
pub(super) fn control(spec: &CampaignSpec, ran: &[Ran]) -> Vec<Figure> {
    let row = |asked: &Asked<'_>| {
        let own = asked.values_per_block(|value| value.cell == 0 && value.control);
        let (comparison, pairs) = asked
            .compared(&own, &asked.values_per_block(|value| value.cell == 0 && !value.control))?;
        let (subject, reference) = pairs.into_iter().unzip();
        Some(Row {
            case: asked.figure.case,
            metric: asked.figure.metric,
            quantile: asked.figure.quantile,
            unit: asked.figure.unit,
            conditions: shared(asked.figure),
            subject,
            reference,
            bypass: asked.cable(),
            verdicts: (Verdict::Undetermined, Verdict::Undetermined),
            comparison,
            better: better(asked.figure.metric)?,
            control: None,
            clear_of_tester: false,
            needed: None,
        })
    };
    let mut rows: Vec<Row> = collect_cases(spec, ran).iter().filter_map(row).collect();
    let mut all: Vec<Comparison> = rows.iter().map(|row| row.comparison).collect();
    comparison::holm(&mut all);
    let as_figure = |(row, corrected): (&mut Row, Comparison)| {
        row.comparison = corrected;
        let mut figure = row.figure();
        let first = spec.cells.first().map_or_else(String::new, |cell| spec.cell_name(cell));
        figure.set(Key::Cell, first);
        figure.set(Key::Control, true);
        figure
    };
    rows.iter_mut().zip(all).map(as_figure).collect()
}

/// Returns each factor's share of each case's variance, then the shares of combinations, blocks and
/// repetition.
pub(super) fn shares(spec: &CampaignSpec, ran: &[Ran]) -> Vec<Figure> {
    // Another size is another case, so sizes are not compared.
    let is_varied = |at: &usize| {
        let factor = &spec.factors[*at];
        factor.levels.len() > 1 && !factor.is_size()
    };
    let varied: Vec<usize> = (0..spec.factors.len()).filter(is_varied).collect();
    let mut figures = Vec::new();
    for asked in collect_cases(spec, ran) {
        let positive = asked.values.iter().all(|value| value.value > 0.0);
        let observation = |value: &Measured| Observation {
            levels: varied.iter().map(|at| spec.cells[value.cell][*at]).collect(),
            block: value.block as usize,
            value: if positive { value.value.ln() } else { value.value },
        };
        let own = asked.values.iter().filter(|value| !value.control);
        let observations: Vec<Observation> = own.map(observation).collect();
        // Values that differ only by rounding, as those of a noiseless model, have no variance to
        // split.
        let ends = observations.iter().map(|one| one.value);
        let (low, high) = (ends.clone().fold(f64::MAX, f64::min), ends.fold(f64::MIN, f64::max));
        if high - low <= ROUNDING * high.abs().max(low.abs()) {
            continue;
        }
        let Some(found) = variance::shares(&observations, varied.len()) else { continue };
        let names = varied.iter().map(|at| spec.factors[*at].name.as_str());
        for (factor, share) in name_shares(names, &found) {
            figures.push(as_figure(asked.figure, factor, share, &observations));
        }
    }
    figures
}

fn name_shares<'a>(
    names: impl Iterator<Item = &'a str>,
    found: &Shares,
) -> impl Iterator<Item = (&'a str, Share)> {
    let rest = [
        ("interaction", found.interaction),
        ("block", Some(found.block)),
        ("repetition", Some(found.repetition)),
    ];
    let rest = rest.into_iter().filter_map(|(name, share)| Some((name, share?)));
    names.zip(found.factors.clone()).chain(rest)
}

fn as_figure(of: &Figure, factor: &str, share: Share, all: &[Observation]) -> Figure {
    let mut blocks: Vec<usize> = all.iter().map(|one| one.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mut conditions = shared(of);
    conditions.insert(Key::Of, of.metric.as_str().into());
    if let Some(quantile) = of.quantile {
        conditions.insert(Key::OfQuantile, quantile.into());
    }
    conditions.insert(Key::Factor, factor.into());
    conditions.insert(Key::Cell, "all".into());
    let mut figure = Figure {
        case: of.case,
        n: all.len() as u64,
        blocks: blocks.len() as u32,
        conditions,
        ..Figure::new(Metric::VarianceShare, Unit::Ratio, Some(share.share))
    };
    figure.set_interval(Some(share.interval));
    figure
}

/// Returns the widest interval of any cell's ratio to the first of its case, as a share; `None` if
/// unknown yet.
pub(super) fn widest(spec: &CampaignSpec, ran: &[Ran]) -> Option<f64> {
    let mut widest: Option<f64> = None;
    for asked in collect_cases(spec, ran) {
        let mut cells: Vec<usize> = asked.values.iter().map(|value| value.cell).collect();
        cells.sort_unstable();
        cells.dedup();
        let (first, others) = cells.split_first()?;
        let reference = asked.values_per_block(|value| value.cell == *first && !value.control);
        for cell in others {
            let own = asked.values_per_block(|value| value.cell == *cell && !value.control);
            let interval = asked.compared(&own, &reference)?.0.interval;
            if interval.confidence < comparison::CONFIDENCE {
                return None;
            }
            let width = interval.high - interval.low;
            widest = Some(widest.map_or(width, |known| known.max(width)));
        }
    }
    widest
}
