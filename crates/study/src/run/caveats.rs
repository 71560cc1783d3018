//! Explanations of the verdicts and caveats on a page, each once. Never adds or weighs a caveat:
//! the study does.

use page::{Block, Caveat, Figure, Section, Verdict};
use std::collections::BTreeSet;

/// Explanation of what an interval covers.
const INTERVALS: &str = "Every interval is of the repetitions of its own run. Another run may differ by more: \
    hosts that were started again, cables that were plugged again, another day. What two runs differ by is \
    found by comparing them, with the direct cable's own figures as the control.";

/// Section that explains whatever occurs among `figures`, each once.
pub fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
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
        let explained =
            caveats.into_iter().map(|c| (c.as_str().to_owned(), c.text_among(figures).to_owned()));
        blocks.push(Block::Glossary(explained.collect()));
    }
    Some(Section {
        id: format!("{prefix}-doubts"),
        heading: "What the verdicts and caveats mean".to_owned(),
        blocks,
    })
}
