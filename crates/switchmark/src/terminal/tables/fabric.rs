//! Pairs of ports that exchange messages: the mean by nodes, the worst pair by message size. Pure.
//!
//! In MB/s each way, as message-passing programs state it. Arrangements stand side by side; of one
//! with several rounds the worst is shown, never a mean over them.

use page::{Figure, Metric};

use super::grid::Grid;
use super::labels::{SUBJECT, WAY};
use super::{Footnotes, Titled, condition, grouped, path};
use crate::terminal::numbers;

/// Octets a second that a bit rate comes to, in millions.
const MEGABYTE_BITS: f64 = 8e6;

/// What every pair of so many ports got, on average.
pub fn by_nodes(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of: Vec<&Figure> = pairs(figures).filter(|f| is(f, &["mean", "worst-round"])).collect();
    let message = table_message(&of)?;
    let of: Vec<&Figure> = of
        .into_iter()
        .filter(|f| condition(f, "message") == message)
        .filter(|f| shown(f))
        .collect();
    let names = arrangements(&of);
    let mut grid = Grid::new().words("device").numbers("nodes");
    for name in &names {
        grid = grid.numbers(name);
    }
    grid = grid.spare("cable", 1).spare("wire", 2).words("limited by");
    for row in rows(&of, "nodes") {
        let mut cells = vec![condition(row[0], SUBJECT), condition(row[0], "nodes")];
        cells.extend(names.iter().map(|name| cell(on(&row, "device", name))));
        cells.push(cell(row.iter().find(|f| path(f) == "cable").copied()));
        cells.push(wire(row[0]));
        cells.push(notes.limit(slowest(&row), &row));
        grid.row(cells);
    }
    let title = format!(
        "Exchanges by nodes, MB/s each way: mean over pairs, messages of {}",
        size(&message)
    );
    Some((title, grid.render()?))
}

/// What the worst of all pairs got, and in its worst interval.
pub fn by_message(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of: Vec<&Figure> =
        pairs(figures).filter(|f| is(f, &["minimum", "worst-interval"])).collect();
    let most = of.iter().filter_map(|f| condition(f, "nodes").parse::<u64>().ok()).max()?;
    let of: Vec<&Figure> = of
        .into_iter()
        .filter(|f| condition(f, "nodes") == most.to_string() && !has_rounds(f))
        .collect();
    let names = arrangements(&of);
    let mut grid = Grid::new().words("device").numbers("message");
    for name in &names {
        grid = grid.numbers(name).spare("interval", 3);
    }
    grid = grid.spare("cable", 1).spare("wire", 2).words("limited by");
    for row in rows(&of, "message") {
        let with = |statistic: &str| -> Vec<&Figure> {
            row.iter().filter(|f| is(f, &[statistic])).copied().collect()
        };
        let (minimum, interval) = (with("minimum"), with("worst-interval"));
        let mut cells = vec![condition(row[0], SUBJECT), size(&condition(row[0], "message"))];
        for name in &names {
            cells.push(cell(on(&minimum, "device", name)));
            cells.push(cell(on(&interval, "device", name)));
        }
        cells.push(cell(minimum.iter().find(|f| path(f) == "cable").copied()));
        cells.push(wire(row[0]));
        cells.push(notes.limit(slowest(&minimum), &row));
        grid.row(cells);
    }
    let title = format!(
        "Exchanges by message size, MB/s each way: the worst pair of {most} nodes, and its worst interval"
    );
    Some((title, grid.render()?))
}

fn pairs(figures: &[Figure]) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(|f| f.metric == Metric::PairGoodput)
}

fn is(figure: &Figure, statistics: &[&str]) -> bool {
    statistics.contains(&condition(figure, "statistic").as_str())
}

/// Arrangements of several rounds are only run with one message: the table's.
fn has_rounds(figure: &Figure) -> bool {
    let name = condition(figure, "arrangement");
    matches!(name.as_str(), "sweep" | "tournament") || name.starts_with("bisections")
}

/// Their mean over rounds hides what their worst round shows.
fn shown(figure: &Figure) -> bool {
    !has_rounds(figure) || is(figure, &["worst-round"])
}

/// The message that was exchanged by the fewest nodes.
fn table_message(figures: &[&Figure]) -> Option<String> {
    let nodes = |f: &&&Figure| condition(f, "nodes").parse().unwrap_or(u64::MAX);
    figures.iter().min_by_key(nodes).map(|f| condition(f, "message"))
}

fn arrangements(figures: &[&Figure]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figure in figures.iter().filter(|f| condition(f, "path") == "device") {
        let name = condition(figure, "arrangement");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Those of one subject and one value of the key, with the direct cables' of the same value.
fn rows<'a>(figures: &[&'a Figure], key: &str) -> Vec<Vec<&'a Figure>> {
    let number = |f: &&Figure| condition(f, key).parse::<u64>().unwrap_or(0);
    let of = |wanted: &str| -> Vec<&'a Figure> {
        figures.iter().filter(|f| condition(f, "path") == wanted).copied().collect()
    };
    let cables = of("bypass");
    let mut rows = grouped(&of("device"), &[SUBJECT, key]);
    rows.sort_by_key(|row| number(&row[0]));
    rows.sort_by_key(|row| condition(row[0], SUBJECT));
    for row in &mut rows {
        let same = number(&row[0]);
        row.extend(cables.iter().filter(|f| number(f) == same));
    }
    rows
}

fn on<'a>(row: &[&'a Figure], way: &str, arrangement: &str) -> Option<&'a Figure> {
    let here =
        |f: &&&Figure| condition(f, "path") == way && condition(f, "arrangement") == arrangement;
    row.iter().find(here).copied()
}

/// Whose limit is told: that of the arrangement that did worst.
fn slowest<'a>(row: &[&'a Figure]) -> &'a Figure {
    let of = |f: &&&Figure| condition(f, WAY) != "cable";
    let value = |f: &Figure| f.value.unwrap_or(f64::NEG_INFINITY);
    let worst = row.iter().filter(of).min_by(|a, b| value(a).total_cmp(&value(b)));
    worst.copied().unwrap_or(row[0])
}

fn cell(figure: Option<&Figure>) -> String {
    figure.map_or_else(String::new, |f| f.value.map_or_else(|| "–".to_owned(), megabytes))
}

fn megabytes(bits: f64) -> String {
    numbers::plain(bits / MEGABYTE_BITS)
}

fn wire(figure: &Figure) -> String {
    condition(figure, "wire_limit_bits_per_s").parse().map_or_else(|_| String::new(), megabytes)
}

fn size(octets: &str) -> String {
    octets.parse().map_or_else(|_| octets.to_owned(), |n| measure::ByteCount(n).to_string())
}

#[cfg(test)]
mod tests {
    use page::Condition;
    use page::{Caveat, Unit, Verdict};

    use super::super::labels::labelled;
    use super::*;

    fn figure(path: &str, arrangement: &str, of: (u64, u64, &str), megabytes: f64) -> Figure {
        let (nodes, message, statistic) = of;
        let conditions: [(&str, Condition); 7] = [
            ("path", path.into()),
            ("device", if path == "device" { "sw1" } else { "cable" }.into()),
            ("arrangement", arrangement.into()),
            ("nodes", nodes.into()),
            ("message", message.into()),
            ("statistic", statistic.into()),
            ("wire_limit_bits_per_s", 949_284_785.4.into()),
        ];
        Figure {
            metric: Metric::PairGoodput,
            quantile: None,
            unit: Unit::BitsPerSecond,
            value: Some(megabytes * MEGABYTE_BITS),
            low: None,
            high: None,
            confidence: None,
            n: 1,
            blocks: 3,
            conditions: conditions.map(|(key, value)| (key.to_owned(), value)).into(),
            verdict: if megabytes < 90.0 { Verdict::DeviceLimited } else { Verdict::TesterLimited },
            caveats: vec![Caveat::FewBlocks],
        }
    }

    fn figures() -> Vec<Figure> {
        let mut all = Vec::new();
        for (arrangement, drop) in [("neighbours", 1.0), ("offset=12", 0.4)] {
            for (nodes, message) in [(2, 65_536), (48, 65_536), (48, 1_024)] {
                let by = if nodes == 48 { drop } else { 1.0 };
                for (statistic, value) in
                    [("mean", 108.0), ("minimum", 105.0), ("worst-interval", 99.0)]
                {
                    let of = (nodes, message, statistic);
                    all.push(figure("device", arrangement, of, value * by));
                }
            }
        }
        for statistic in ["mean", "minimum", "worst-interval"] {
            all.push(figure("bypass", "direct cables", (48, 65_536, statistic), 112.0));
        }
        for (statistic, value) in [("mean", 97.5), ("minimum", 3.0), ("worst-round", 41.0)] {
            all.push(figure("device", "sweep", (48, 65_536, statistic), value));
        }
        all
    }

    fn rows(table: &str) -> Vec<Vec<&str>> {
        table.lines().map(|line| line.split_whitespace().collect()).collect()
    }

    #[test]
    fn arrangements_stand_side_by_side() {
        let figures = labelled(&figures());
        let mut notes = Footnotes::of(&figures);
        let (title, table) = by_nodes(&figures, &mut notes).expect("a table");
        assert!(title.contains("messages of 64KiB"), "{title}");
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
        let rows = rows(&table);
        assert!(rows.contains(&vec!["2", "108", "108", "119", "tester"]), "{table}");
        let all = vec!["48", "108", "43.2", "41.0", "112", "119", "device"];
        assert!(rows.contains(&all), "of the sweep its worst round: {table}");
    }

    #[test]
    fn the_worst_pair_stands_for_a_message() {
        let figures = labelled(&figures());
        let mut notes = Footnotes::of(&figures);
        let (title, table) = by_message(&figures, &mut notes).expect("a table");
        assert!(title.contains("48 nodes"), "{title}");
        let rows = rows(&table);
        let sizes: Vec<&str> = rows.iter().filter_map(|row| row.first().copied()).collect();
        let places = ["1KiB", "64KiB"].map(|size| sizes.iter().position(|s| *s == size));
        assert!(places[0] < places[1] && places[0].is_some(), "by size: {table}");
        let all = vec!["64KiB", "105", "99.0", "42.0", "39.6", "112", "119", "device"];
        assert!(rows.contains(&all), "{table}");
        assert!(!table.contains("sweep"), "rounds have no worst pair here: {table}");
    }

    #[test]
    fn nothing_exchanged_is_no_table() {
        let mut notes = Footnotes::of(&[]);
        assert!(by_nodes(&[], &mut notes).is_none() && by_message(&[], &mut notes).is_none());
    }
}
