//! Which figures are only bounds on a device, and why: where the tester was the limit. Never
//! decides that; the study's verdict does.

use page::{Block, Caveat, Cell, Figure, Metric, Style, Table, Unit, Verdict};

use super::super::frames::{self, Frames};
use super::super::subject::{self, Who};
use super::super::{among, answers, reading};
use super::goal::Kind;
use page::words;

/// Every figure of a rate or a burst that shows the tester's limit and not the device's, and why.
pub(super) fn blocks(figures: &[Figure]) -> Vec<Block> {
    let mut bounded: Vec<&Figure> = figures
        .iter()
        .filter(|f| matches!(f.metric, Metric::Throughput | Metric::Received | Metric::BackToBack))
        .filter(|f| matches!(f.unit, Unit::FramesPerSecond | Unit::Count))
        .filter(|f| f.verdict == Verdict::TesterLimited && !f.is_bypass())
        .filter(|f| f.value.is_some() && reading::is_whole(f))
        .collect();
    bounded.sort_by_key(|f| (Frames::of_figure(f), Who::of_figure(f), Kind::of(f)));
    let rows: Vec<Vec<Cell>> = bounded
        .iter()
        .map(|f| {
            let what = match f.metric {
                Metric::BackToBack => "longest burst".to_owned(),
                _ => Kind::of(f).name(),
            };
            let value = f.value.map(|v| words::value(f.unit, v));
            let cable = among::bypass_of(f, figures).and_then(|b| b.value);
            vec![
                frames::cell(f),
                subject::cell(f),
                Cell::text(what),
                Cell::number_or_missing(value.map(|v| format!("≥ {v}"))),
                Cell::number_or_missing(cable.map(|v| words::value(f.unit, v))),
                Cell::text(why(f, figures)).with_style(Style::Long),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let head = ["octets", "device", "what", "at least", "direct cable", "why"];
    let title = "Tester-limited: the device does at least this, and how much more is not known";
    vec![Block::Table(Table::new(title, head).page_only(&["why"]).with_rows(rows))]
}

fn why(figure: &Figure, all: &[Figure]) -> String {
    if figure.caveats.contains(&Caveat::SearchCeiling) {
        return "it was never seen to fail: the search ended at the highest load that could be \
                offered"
            .to_owned();
    }
    answers::bound(figure, all).unwrap_or_else(|| "there is no device in this path".to_owned())
}
