//! The verdicts and caveats of rows, and what each means, explained once on a page. Never adds or
//! weighs a doubt: that is the study's.

use std::collections::BTreeSet;

use page::{Caveat, Figure, Verdict};

use super::view::{Block, Cell, Section};
use crate::words;

/// The style of an answer that is good, and of one that is open.
pub(super) const GOOD: &str = "device";
pub(super) const OPEN: &str = "open";

/// The style of a verdict.
pub(super) const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::DeviceLimited => "device",
        Verdict::LinkLimited => "link",
        Verdict::TesterLimited => "tester",
        Verdict::Undetermined => OPEN,
    }
}

/// The caveats of a row of figures; one that not all share names the quantiles it is about.
pub(super) fn names(figures: &[&Figure]) -> Cell {
    names_but(figures, &BTreeSet::new())
}

/// The caveats that every one of the figures has: said once over a table, not in each row.
pub(super) fn shared(figures: &[&Figure]) -> BTreeSet<Caveat> {
    let first = figures.first().map(|f| f.caveats.clone()).unwrap_or_default();
    first.into_iter().filter(|c| figures.iter().all(|f| f.caveats.contains(c))).collect()
}

/// As [`names`], without those said elsewhere.
pub(super) fn names_but(figures: &[&Figure], said: &BTreeSet<Caveat>) -> Cell {
    let all: BTreeSet<Caveat> = figures.iter().flat_map(|f| f.caveats.iter().copied()).collect();
    let all: BTreeSet<Caveat> = all.difference(said).copied().collect();
    let names: Vec<String> =
        all.into_iter().map(|c| said_of(c.as_str(), figures, |f| f.caveats.contains(&c))).collect();
    Cell { class: "small", ..Cell::text(names.join(", ")) }
}

/// The verdict of a row of figures: the median's, or the first's, with those that differ beneath.
pub(super) fn verdict_cell(figures: &[&Figure]) -> Cell {
    let median = figures.iter().find(|f| f.quantile == Some(0.5));
    let Some(main) = median.or(figures.first()).map(|f| f.verdict) else { return Cell::default() };
    let others: BTreeSet<Verdict> =
        figures.iter().map(|f| f.verdict).filter(|v| *v != main).collect();
    let others: Vec<String> =
        others.into_iter().map(|v| said_of(v.as_str(), figures, |f| f.verdict == v)).collect();
    Cell { text: main.as_str().to_owned(), note: others.join(", "), class: class(main) }
}

/// `few-samples (p99.9, max)`, or the name alone where it is said of every figure.
fn said_of(name: &str, figures: &[&Figure], of: impl Fn(&Figure) -> bool) -> String {
    let concerned: Vec<&&Figure> = figures.iter().filter(|f| of(f)).collect();
    let mut quantiles: Vec<f64> = concerned.iter().filter_map(|f| f.quantile).collect();
    if concerned.len() == figures.len() || quantiles.is_empty() {
        return name.to_owned();
    }
    quantiles.sort_by(f64::total_cmp);
    let quantiles: Vec<String> = quantiles.into_iter().map(words::quantile).collect();
    format!("{name} ({})", quantiles.join(", "))
}

/// What an interval spans.
const INTERVALS: &str = "Every interval is of the repetitions of its own run. Another run may differ by more: \
    hosts that were started again, cables that were plugged again, another day. What two runs differ by is \
    found by comparing them, with the direct cable's own figures as the control.";

/// The section that explains whatever occurs among `figures`, once each.
pub(super) fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
    let verdicts: BTreeSet<Verdict> = figures.iter().map(|f| f.verdict).collect();
    let caveats: BTreeSet<Caveat> =
        figures.iter().flat_map(|f| f.caveats.iter().copied()).collect();
    if figures.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Glossary(
        verdicts.into_iter().map(|v| (v.as_str().to_owned(), v.meaning().to_owned())).collect(),
    )];
    if figures.iter().any(|f| f.confidence.is_some()) {
        blocks.push(Block::Paragraph(INTERVALS.to_owned()));
    }
    if !caveats.is_empty() {
        blocks.push(Block::Subheading("Caveats".to_owned()));
        let explained = caveats.into_iter().map(|c| (c.as_str().to_owned(), c.text().to_owned()));
        blocks.push(Block::Glossary(explained.collect()));
    }
    Some(Section {
        id: format!("{prefix}-doubts"),
        heading: "What the verdicts and caveats mean".to_owned(),
        blocks,
    })
}
