//! Pairs of ports that exchange messages, on the page: whether the device blocks, the mean by
//! nodes, the worst pair by message size, and a picture of the pairs. Never computes a figure.

mod groups;
mod map;

use std::borrow::Borrow;
use std::collections::BTreeSet;

use page::{Block, Cell, Column, Figure, Key, Metric, Section, Table};

use super::reading;
use super::subject::Who;
use page::words;

/// Bits a second in a megabyte a second.
const MEGABYTE_BITS: f64 = 8e6;

/// The section; `None` where nothing of the kind was measured.
pub(super) fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
    let of: Vec<&Figure> = reading::of(figures, Metric::PairGoodput).collect();
    let mut blocks = Vec::new();
    blocks.extend(by_nodes(&of).map(Block::Table));
    blocks.extend(by_message(&of).map(Block::Table));
    for pictures in [groups::pictures(figures), map::pictures(&of)] {
        if !pictures.is_empty() {
            blocks.push(Block::Pictures(pictures));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-fabric"),
        heading: "Fabric".to_owned(),
        blocks,
    })
}

fn is(figure: &Figure, statistic: &str) -> bool {
    reading::text(figure, Key::Statistic).as_deref() == Some(statistic)
}

fn text(figure: &Figure, name: impl Borrow<Key>) -> String {
    reading::text(figure, name).unwrap_or_default()
}

fn whole(figure: &Figure, name: impl Borrow<Key>) -> u64 {
    figure.number(name).unwrap_or(0.0) as u64
}

/// The mean over pairs of every number of nodes, and the worst round of arrangements that have
/// many.
fn by_nodes(figures: &[&Figure]) -> Option<Table> {
    let means: Vec<&Figure> = figures.iter().filter(|f| is(f, "mean")).copied().collect();
    let message =
        means.iter().min_by_key(|f| whole(f, Key::Nodes)).map(|f| whole(f, Key::Message))?;
    let of: Vec<&Figure> = figures
        .iter()
        .filter(|f| whole(f, Key::Message) == message)
        .filter(|f| is(f, "worst-round") || (is(f, "mean") && !has_rounds(f)))
        .copied()
        .collect();
    let title = format!(
        "Exchanges by nodes, MB/s each way: mean over pairs, messages of {}",
        measure::ByteCount(message)
    );
    let table = table(&of, &Key::Nodes, title, |figure| whole(figure, Key::Nodes).to_string())?;
    Some(table.with_note("Of an arrangement of several rounds its worst round."))
}

/// The worst pair of every message size, at the most nodes.
fn by_message(figures: &[&Figure]) -> Option<Table> {
    let of: Vec<&Figure> =
        figures.iter().filter(|f| is(f, "minimum") && !has_rounds(f)).copied().collect();
    let most = of.iter().map(|f| whole(f, Key::Nodes)).max()?;
    let of: Vec<&Figure> = of.into_iter().filter(|f| whole(f, Key::Nodes) == most).collect();
    let title = format!("Exchanges by message size, MB/s each way: the worst pair of {most} nodes");
    let size = |figure: &Figure| measure::ByteCount(whole(figure, Key::Message)).to_string();
    table(&of, &Key::Message, title, size)
}

fn has_rounds(figure: &Figure) -> bool {
    let name = text(figure, Key::Arrangement);
    matches!(name.as_str(), "sweep" | "tournament") || name.starts_with("bisections")
}

/// A row for each subject and value of `key`, a column for each arrangement.
fn table(
    figures: &[&Figure],
    key: &Key,
    title: String,
    name: impl Fn(&Figure) -> String,
) -> Option<Table> {
    let mut arrangements: Vec<String> = Vec::new();
    for figure in figures.iter().filter(|f| !f.is_bypass()) {
        let arrangement = text(figure, Key::Arrangement);
        if !arrangements.contains(&arrangement) {
            arrangements.push(arrangement);
        }
    }
    let subjects: BTreeSet<Who> =
        figures.iter().map(|f| Who::of_figure(f)).filter(|who| !who.is_cable()).collect();
    let values: BTreeSet<u64> = figures.iter().map(|f| whole(f, key)).collect();
    let mut rows = Vec::new();
    for (subject, value) in subjects.iter().flat_map(|s| values.iter().map(move |v| (s, *v))) {
        let alike: Vec<&Figure> = figures
            .iter()
            .filter(|f| whole(f, key) == value)
            .filter(|f| f.is_bypass() || Who::of_figure(f) == *subject)
            .copied()
            .collect();
        let of = |arrangement: &String| {
            let own = |f: &&&Figure| !f.is_bypass() && text(f, Key::Arrangement) == *arrangement;
            alike.iter().find(own).copied()
        };
        let own: Vec<&Figure> = arrangements.iter().filter_map(of).collect();
        let Some(first) = own.first() else { continue };
        let mut row = vec![Cell::path(subject.name()), Cell::number(name(first))];
        row.extend(arrangements.iter().map(|arrangement| cell(of(arrangement))));
        row.push(cell(alike.iter().find(|f| f.is_bypass()).copied()));
        let limit = first.number(Key::WireLimit).map(megabytes);
        row.push(Cell::number(limit.unwrap_or_default()));
        row.push(Cell::limit_of(slowest(&own), &own));
        rows.push(row);
    }
    let mut columns: Vec<Column> = vec!["device".into(), key.as_str().into()];
    columns.extend(arrangements.into_iter().map(Column::from));
    columns.extend(["direct cables", "wire", "worst limited by"].map(Column::from));
    Table::new(title, columns).sparing(&["wire", "direct cables"]).with_rows(rows).unless_empty()
}

/// There is at least one.
fn slowest<'a>(figures: &[&'a Figure]) -> &'a Figure {
    let value = |f: &Figure| f.value.unwrap_or(f64::NEG_INFINITY);
    let worst = figures.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
    worst.copied().unwrap_or(figures[0])
}

fn cell(figure: Option<&Figure>) -> Cell {
    let Some(figure) = figure else { return Cell::number("") };
    let value = figure.value.map_or_else(|| "–".to_owned(), megabytes);
    let ends = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{}…{}", megabytes(low), megabytes(high)),
        _ => String::new(),
    };
    let round = reading::text(figure, Key::Round).map(|round| format!("{round} "));
    Cell::number(value).with_note(round.unwrap_or_default() + &ends)
}

/// Megabytes of 10^6 octets, to three digits.
fn megabytes(bits: f64) -> String {
    let value = bits / MEGABYTE_BITS;
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    words::trimmed(value, decimals)
}

#[cfg(test)]
mod tests {
    use page::Condition;
    use page::{Unit, Verdict};

    use super::*;

    fn figure(arrangement: &str, nodes: u64, statistic: &str, megabytes: Option<f64>) -> Figure {
        let path = if arrangement == "direct cables" { "bypass" } else { "device" };
        let conditions: [(Key, Condition); 6] = [
            (Key::Path, path.into()),
            (Key::Device, "sw<1>".into()),
            (Key::Arrangement, arrangement.into()),
            (Key::Nodes, nodes.into()),
            (Key::Message, 65_536_u64.into()),
            (Key::Statistic, statistic.into()),
        ];
        Figure {
            low: Some(1e8),
            high: Some(2e8),
            confidence: Some(0.95),
            n: 1,
            blocks: 6,
            conditions: conditions.map(|(key, value)| (key, value)).into(),
            verdict: Verdict::DeviceLimited,
            ..Figure::new(
                Metric::PairGoodput,
                Unit::BitsPerSecond,
                megabytes.map(|value| value * MEGABYTE_BITS),
            )
        }
    }

    fn pair(from: &str, to: &str, megabytes: Option<f64>) -> Figure {
        let mut figure = figure("offset=2", 4, "pair", megabytes);
        figure.set(Key::From, from);
        figure.set(Key::To, to);
        figure
    }

    #[test]
    fn two_tables_and_a_map() {
        let figures = [
            figure("offset=2", 2, "mean", Some(108.0)),
            figure("offset=2", 4, "mean", Some(41.26)),
            figure("offset=2", 4, "minimum", Some(0.3)),
            figure("direct cables", 4, "mean", Some(111.0)),
            figure("sweep", 4, "mean", Some(90.0)),
            figure("sweep", 4, "worst-round", Some(40.0)),
            pair("h2/eth1", "h10/eth1", Some(41.0)),
            pair("h1/eth1", "h3/eth1", None),
        ];
        let section = section("run1", &figures).expect("something was measured");
        let [Block::Table(nodes), Block::Table(messages), Block::Pictures(maps)] =
            &section.blocks[..]
        else {
            panic!("{section:?}")
        };
        let text = |cell: &Cell| match cell {
            Cell::Text { text, .. } => text.clone(),
            _ => String::new(),
        };
        let texts = |row: &[Cell]| row.iter().map(text).collect::<Vec<_>>();
        let heads: Vec<&str> = nodes.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(heads[..5], ["device", "nodes", "offset=2", "sweep", "direct cables"]);
        assert_eq!(texts(&nodes.rows[0])[1..5], ["2", "108", "", ""]);
        assert_eq!(texts(&nodes.rows[1])[1..5], ["4", "41.3", "40", "111"]);
        assert_eq!(texts(&messages.rows[0])[1..3], ["64KiB", "0.3"]);
        let svg = crate::svg::of(&maps[0].image);
        assert_eq!(svg.matches("<rect").count(), 4, "both halves of the square");
        assert!(svg.contains(">nothing<") || svg.contains(": nothing"));
        assert!(!svg.contains("sw<1>"), "a hostile name is escaped");
        let [two, ten] = ["h2/eth1<", "h10/eth1<"].map(|port| svg.find(port));
        assert!(two.is_some() && two < ten, "in the order of their numbers");
    }

    #[test]
    fn nothing_exchanged_is_no_section() {
        assert!(section("run1", &[]).is_none());
    }
}
