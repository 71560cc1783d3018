//! The table of a comparison: both sides' medians, their ratio with its interval, and the decision.
//! Pure.

use measure::comparison::Scale;
use measure::quantile::median;
use method::comparison::{Compared, Row};
use page::Unit;
use page::{LEAST_CONFIDENCE, RANGE};

use super::grid::Grid;
use crate::terminal::numbers;

/// One row a figure; `None` where the sides have none in common.
pub fn comparison(compared: &Compared) -> Option<String> {
    let mut grid = Grid::new()
        .words("figure")
        .words("of")
        .numbers(&short(&compared.reference))
        .numbers(&short(&compared.subject))
        .numbers("ratio")
        .numbers("interval")
        .spare("confidence", 2)
        .spare("blocks", 1)
        .spare("margin", 3)
        .words("decision");
    for row in &compared.rows {
        let own = &row.comparison;
        let blocks = own.blocks;
        let typical = |values: &[f64]| {
            median(values).map_or_else(|| "–".to_owned(), |value| numbers::value(row.unit, value))
        };
        grid.row(vec![
            row.metric_label(),
            row.case_label(),
            typical(&row.reference),
            typical(&row.subject),
            on_scale(row, own.value),
            interval(row),
            confidence(own.interval.confidence),
            if blocks.0 == blocks.1 {
                blocks.0.to_string()
            } else {
                format!("{}, {}", blocks.1, blocks.0)
            },
            margin(row),
            decision(row),
        ]);
    }
    grid.render()
}

/// A column's head that leaves room for the others: a run's id is told by its end.
fn short(name: &str) -> String {
    let over = name.chars().count().saturating_sub(15);
    let kept: String = name.chars().skip(over).collect();
    if over > 0 { format!("…{kept}") } else { kept }
}

fn on_scale(row: &Row, value: f64) -> String {
    match row.comparison.scale {
        Scale::Ratio => format!("{value:.3}"),
        Scale::Shift => numbers::value(row.unit, value),
    }
}

fn interval(row: &Row) -> String {
    let interval = row.comparison.interval;
    if interval.low >= interval.high && interval.confidence < LEAST_CONFIDENCE {
        return "–".to_owned();
    }
    format!("{}…{}", on_scale(row, interval.low), on_scale(row, interval.high))
}

fn confidence(confidence: f64) -> String {
    match confidence {
        sure if sure >= LEAST_CONFIDENCE => format!("{:.1} %", sure * 100.0),
        _ => RANGE.to_owned(),
    }
}

fn margin(row: &Row) -> String {
    match row.comparison.scale {
        Scale::Ratio => numbers::value(Unit::Ratio, row.comparison.margin),
        Scale::Shift => numbers::value(row.unit, row.comparison.margin),
    }
}

fn decision(row: &Row) -> String {
    match row.is_better() {
        Some(true) => "better".to_owned(),
        Some(false) => "worse".to_owned(),
        None => row.comparison.decision.as_str().to_owned(),
    }
}
