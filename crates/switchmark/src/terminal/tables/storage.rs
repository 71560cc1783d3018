//! Reads and writes behind the network: done, where the time went, what a device adds, what if.
//! Pure.

use page::{Figure, Metric};

use super::grid::Grid;
use super::{Footnotes, Titled, condition, grouped, labels};
use crate::terminal::numbers;

/// What tells one row from another.
const CASE: [&str; 6] = [labels::WAY, "from", "block_size", "jobs", "iodepth", "operation"];
/// The parts of an operation's time.
const PARTS: [&str; 5] = ["client", "network", "storage node", "disk", "rest"];

/// Whether a figure is the storage study's.
pub fn is_own(figure: &Figure) -> bool {
    !condition(figure, "engine").is_empty() && condition(figure, "tool").is_empty()
}

fn under_way(figure: &Figure) -> String {
    format!("{}x{}", condition(figure, "jobs"), condition(figure, "iodepth"))
}

fn value(figure: Option<&Figure>) -> String {
    let told = figure.and_then(|f| Some(numbers::value(f.unit, f.value?)));
    told.unwrap_or_else(|| "–".to_owned())
}

/// What is measured and no estimate and no part, by its metric and quantile.
fn plain<'a>(row: &[&'a Figure], metric: Metric, quantile: Option<f64>) -> Option<&'a Figure> {
    row.iter().copied().find(|f| {
        f.metric == metric
            && f.quantile == quantile
            && condition(f, "estimate").is_empty()
            && condition(f, "part").is_empty()
    })
}

/// Operations a second and their latency.
pub fn done(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("path")
        .numbers("size")
        .numbers("x depth")
        .words("of")
        .numbers("a second")
        .spare("interval", 1)
        .numbers("latency")
        .spare("p99", 2)
        .numbers("round trip")
        .numbers("network")
        .words("limited by");
    let all: Vec<&Figure> = figures.iter().collect();
    for row in grouped(&all, &CASE) {
        let Some(rate) = plain(&row, Metric::Iops, None) else { continue };
        grid.row(vec![
            condition(rate, labels::WAY),
            condition(rate, "block_size"),
            under_way(rate),
            condition(rate, "operation"),
            value(Some(rate)),
            numbers::interval(rate),
            value(plain(&row, Metric::IoLatency, None)),
            value(plain(&row, Metric::IoLatency, Some(0.99))),
            value(plain(&row, Metric::Rtt, None)),
            value(plain(&row, Metric::NetworkShare, None)),
            notes.limit(rate, &[rate]),
        ]);
    }
    Some(("Reads and writes; means, and the network's share of them".to_owned(), grid.render()?))
}

/// Where an operation's time goes.
pub fn budget(figures: &[Figure]) -> Option<Titled> {
    let mut grid = Grid::new().words("path").numbers("size").numbers("x depth").words("of");
    grid = grid.numbers("latency");
    for part in PARTS {
        grid = grid.numbers(part);
    }
    let mut grid = grid.spare("rest's interval", 1);
    let all: Vec<&Figure> = figures.iter().collect();
    for row in grouped(&all, &CASE) {
        let of = |part: &str| row.iter().copied().find(|f| condition(f, "part") == part);
        let Some(rest) = of("rest") else { continue };
        let mut cells = vec![
            condition(rest, labels::WAY),
            condition(rest, "block_size"),
            under_way(rest),
            condition(rest, "operation"),
            value(plain(&row, Metric::IoLatency, None)),
        ];
        cells.extend(PARTS.iter().map(|part| value(of(part))));
        cells.push(numbers::interval(rest));
        grid.row(cells);
    }
    Some(("Where an operation's time goes; – is in the rest".to_owned(), grid.render()?))
}

/// Predicted against observed.
pub fn added(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("path")
        .numbers("size")
        .numbers("x depth")
        .words("of")
        .numbers("predicted")
        .spare("interval", 1)
        .numbers("observed")
        .spare("interval", 1)
        .numbers("rest")
        .numbers("interval")
        .words("agree")
        .words("limited by");
    let all: Vec<&Figure> = figures.iter().filter(|f| f.metric == Metric::IoLatencyAdded).collect();
    for row in grouped(&all, &CASE) {
        let of = |name: &str| row.iter().copied().find(|f| condition(f, "estimate") == name);
        let (Some(seen), Some(predicted), Some(rest)) =
            (of(""), of("predicted from the round trips"), of("observed less predicted"))
        else {
            continue;
        };
        grid.row(vec![
            condition(seen, labels::WAY),
            condition(seen, "block_size"),
            under_way(seen),
            condition(seen, "operation"),
            value(Some(predicted)),
            numbers::interval(predicted),
            value(Some(seen)),
            numbers::interval(seen),
            value(Some(rest)),
            numbers::interval(rest),
            condition(rest, "agrees"),
            notes.limit(seen, &[seen]),
        ]);
    }
    Some((
        "What the device adds to an operation: through it less over the cable".to_owned(),
        grid.render()?,
    ))
}

/// Operations a second by round trip: a column a round trip.
pub fn what_if(figures: &[Figure]) -> Option<Titled> {
    let all: Vec<&Figure> =
        figures.iter().filter(|f| condition(f, "estimate") == "what if").collect();
    let mut trips: Vec<u64> =
        all.iter().filter_map(|f| condition(f, "what_if_rtt_ns").parse().ok()).collect();
    trips.sort_unstable();
    trips.dedup();
    let mut grid =
        Grid::new().words("path").numbers("size").numbers("x depth").words("writes copied");
    for trip in &trips {
        grid = grid.numbers(&format!("{} µs", trip / 1000));
    }
    let case =
        [labels::WAY, "from", "block_size", "jobs", "iodepth", "what_if_iodepth", "what_if_copied"];
    for row in grouped(&all, &case) {
        let first = row[0];
        let at_most = if condition(first, "bound").is_empty() { "" } else { "≤" };
        let mut cells = vec![
            condition(first, labels::WAY),
            condition(first, "block_size"),
            format!(
                "{at_most}{}x{}",
                condition(first, "jobs"),
                condition(first, "what_if_iodepth")
            ),
            condition(first, "what_if_copied"),
        ];
        for trip in &trips {
            let found = row.iter().find(|f| condition(f, "what_if_rtt_ns") == trip.to_string());
            let told = found.and_then(|f| f.value).map(numbers::grouped);
            cells.push(told.unwrap_or_else(|| "–".to_owned()));
        }
        grid.row(cells);
    }
    let title =
        "What if: operations a second by the network's round trip; ≤ if the storage keeps up";
    Some((title.to_owned(), grid.render()?))
}
