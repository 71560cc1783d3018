//! What other tools measured, row by row: there is no study that says which belong together. Pure.

use page::Figure;

use super::grid::Grid;
use super::{Footnotes, Titled, condition};
use crate::terminal::numbers;

/// Conditions that tell one row from another, in the order they are written.
const CASE: [&str; 9] = [
    "protocol",
    "operation",
    "statistic",
    "direction",
    "latency",
    "frame_size",
    "message",
    "series",
    "estimate",
];

/// Whether another tool measured it.
pub fn is_own(figure: &Figure) -> bool {
    !condition(figure, "tool").is_empty()
}

/// One row a figure.
pub fn all(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("tool")
        .words("device")
        .words("figure")
        .words("of")
        .numbers("value")
        .spare("samples", 1)
        .words("limited by");
    for figure in figures {
        let quantile = figure.quantile.map_or_else(String::new, |q| match q {
            0.0 => " min".to_owned(),
            1.0 => " max".to_owned(),
            q => format!(" p{}", (q * 1e7).round() / 1e5),
        });
        let case: Vec<String> = CASE
            .iter()
            .map(|name| condition(figure, name))
            .filter(|said| !said.is_empty())
            .collect();
        let value = figure.value.map(|value| numbers::value(figure.unit, value));
        grid.row(vec![
            condition(figure, "tool"),
            condition(figure, "device"),
            format!("{}{quantile}", figure.metric.as_str()),
            case.join(" "),
            value.unwrap_or_else(|| "–".to_owned()),
            figure.n.to_string(),
            notes.limit(figure, &[figure]),
        ]);
    }
    Some(("What other tools measured".to_owned(), grid.render()?))
}
