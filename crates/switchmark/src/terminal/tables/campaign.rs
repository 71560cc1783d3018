//! A campaign's tables: what each cell came to, how its control came out, which factor explains
//! what. Pure.

use method::study::campaign::{CELL, CONTROL};
use page::{Figure, Metric};

use super::grid::Grid;
use super::{Footnotes, Titled, condition, grouped, load};
use crate::terminal::numbers;

/// Over the table of shares.
pub const SHARES: &str = "Where the variance comes from: each factor's share";

/// Whether a campaign's cell has it.
pub fn is_own(figure: &Figure) -> bool {
    figure.conditions.contains_key(CELL)
}

/// What is told of each cell: medians and rates, through the device.
fn is_typical(figure: &Figure) -> bool {
    let compared =
        method::comparison::better(figure.metric).is_some() || figure.metric == Metric::RttAdded;
    let convention = condition(figure, "rate_convention");
    compared
        && condition(figure, "path") != "bypass"
        && figure.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9)
        && (convention.is_empty() || convention == "payload")
}

/// `udp 64 idle`
fn of(figure: &Figure) -> String {
    let words = ["protocol", "frame_size", "test", "goal", "arrangement", "message", "statistic"];
    let mut said: Vec<String> = words.iter().map(|name| condition(figure, name)).collect();
    said.push(load(figure));
    said.retain(|word| !word.is_empty());
    said.join(" ")
}

fn named(metric: &str, quantile: Option<f64>) -> String {
    quantile.map_or_else(|| metric.to_owned(), |q| format!("{metric} p{}", (q * 1e7).round() / 1e5))
}

/// One row a cell and figure.
pub fn cells(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("figure")
        .words("of")
        .words("cell")
        .numbers("value")
        .numbers("interval")
        .spare("blocks", 1)
        .words("limited by");
    let case = |figure: &Figure| (named(figure.metric.as_str(), figure.quantile), of(figure));
    let typical: Vec<&Figure> = figures.iter().filter(|figure| is_typical(figure)).collect();
    let mut cases: Vec<(String, String)> = Vec::new();
    for figure in &typical {
        let own = case(figure);
        if !cases.contains(&own) {
            cases.push(own);
        }
    }
    for known in &cases {
        let own = typical.iter().filter(|figure| case(figure) == *known);
        for (at, figure) in own.enumerate() {
            let value = figure.value.map(|value| numbers::value(figure.unit, value));
            let mut row = super::unless_repeated(at, vec![known.0.clone(), known.1.clone()]);
            row.extend([
                condition(figure, CELL),
                value.unwrap_or_else(|| "–".to_owned()),
                numbers::interval(figure),
                figure.blocks.to_string(),
                notes.limit(figure, &[figure]),
            ]);
            grid.row(row);
        }
    }
    Some(("Each combination, through the device".to_owned(), grid.render()?))
}

/// One row a figure: the first cell under two names.
pub fn control(figures: &[Figure]) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("figure")
        .words("of")
        .numbers("ratio")
        .numbers("interval")
        .numbers("margin")
        .words("decision");
    let own = || figures.iter().filter(|figure| figure.conditions.contains_key(CONTROL));
    for figure in own() {
        let ends = figure.low.zip(figure.high);
        grid.row(vec![
            compared(figure),
            of(figure),
            figure.value.map_or_else(String::new, |value| format!("{value:.3}")),
            ends.map_or_else(String::new, |(low, high)| format!("{low:.3}…{high:.3}")),
            percent(condition(figure, "margin").parse().unwrap_or(0.0)),
            condition(figure, "decision"),
        ]);
    }
    let title = format!("A/A control: {} under two names", condition(own().next()?, CELL));
    Some((title, grid.render()?))
}

fn compared(figure: &Figure) -> String {
    named(&condition(figure, "of"), condition(figure, "of_quantile").parse().ok())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// One row a figure and factor; `None` where no variance was taken apart.
pub fn shares(figures: &[Figure]) -> Option<String> {
    let mut grid = Grid::new()
        .words("figure")
        .words("of")
        .words("factor")
        .numbers("share")
        .numbers("interval");
    let own: Vec<&Figure> =
        figures.iter().filter(|figure| figure.metric == Metric::VarianceShare).collect();
    let keys = ["of", "of_quantile", "protocol", "frame_size", "test", "goal", "load"];
    for group in grouped(&own, &keys) {
        for (at, figure) in group.iter().enumerate() {
            let ends = figure.low.zip(figure.high);
            let mut row = super::unless_repeated(at, vec![compared(figure), of(figure)]);
            row.extend([
                condition(figure, "factor"),
                percent(figure.value.unwrap_or(0.0)),
                ends.map_or_else(String::new, |(low, high)| {
                    format!("{}…{}", percent(low), percent(high))
                }),
            ]);
            grid.row(row);
        }
    }
    grid.render()
}
