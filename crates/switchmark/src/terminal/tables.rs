//! Result tables, at most 100 columns wide, caveats as footnotes.
//!
//! Owns which figure goes into which table; the tables themselves are below. Never computes: what is
//! not a figure is not shown.

mod forwarding;
mod notes;
mod times;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{ContentArrangement, LineStyle, Table, presets};
use method::figure::Condition;
use method::{Figure, Metric, Unit};

use super::numbers;
use notes::Footnotes;

const WIDTH: u16 = 100;

/// All figures as tables, with their footnotes; empty where there are none.
pub fn render(figures: &[Figure]) -> String {
    let mut notes = Footnotes::of(figures);
    let mut out = String::new();
    let mut put = |title: &str, table: Option<Table>| {
        if let Some(table) = table {
            let _ = writeln!(out, "{title}\n{}\n", table.trim_fmt());
        }
    };
    for (metric, title) in times::TITLES {
        let of: Vec<&Figure> =
            figures.iter().filter(|f| f.metric == metric && f.quantile.is_some()).collect();
        put(title, times::table(&of, &mut notes));
    }
    let of = |test: &str| -> Vec<&Figure> {
        figures.iter().filter(|f| condition(f, "test") == test).collect()
    };
    let (flood, found, curve) = (of("flood"), of("throughput"), of("loss-curve"));
    put("Flood: frames a second", forwarding::flood(&flood, &mut notes));
    put("Throughput: highest rate without loss", forwarding::throughput(&found, &mut notes));
    put("Loss by load (share of the highest rate)", forwarding::loss_curve(&curve, &mut notes));
    let known = |f: &&Figure| {
        f.quantile.is_none()
            && !["flood", "throughput", "loss-curve"].contains(&condition(f, "test").as_str())
    };
    let rest: Vec<&Figure> = figures.iter().filter(known).collect();
    put("Load beside the round trips", others(&rest, &mut notes));
    out.push_str(&notes.render());
    out
}

/// A row for each figure that has no table of its own.
fn others(figures: &[&Figure], notes: &mut Footnotes) -> Option<Table> {
    let mut table =
        styled(&["what", "proto", "size", "load", "path", "value", "interval", "limited by"]);
    for figure in figures {
        table.add_row([
            name(figure.metric),
            condition(figure, "protocol"),
            condition(figure, "frame_size"),
            condition(figure, "load"),
            condition(figure, "path"),
            shown(figure),
            numbers::interval(figure),
            notes.limit(figure, &[figure]),
        ]);
    }
    (!figures.is_empty()).then_some(table)
}

fn name(metric: Metric) -> String {
    serde_json::to_value(metric)
        .ok()
        .and_then(|v| v.as_str().map(|s| s.replace('_', " ")))
        .unwrap_or_default()
}

fn styled<S: AsRef<str>>(header: &[S]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(header.iter().map(AsRef::as_ref));
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    table
}

/// The value alone, a dash where there is none.
fn shown(figure: &Figure) -> String {
    figure.value.map_or_else(|| "–".to_owned(), |v| numbers::value(figure.unit, v))
}

fn condition(figure: &Figure, key: &str) -> String {
    figure.conditions.get(key).map_or_else(String::new, |value| match value {
        Condition::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Condition::Integer(value) => value.to_string(),
        Condition::Number(value) => format!("{value}"),
        Condition::Text(text) => text.clone(),
    })
}

/// Figures whose named conditions are equal, in order of first appearance.
fn grouped<'a>(figures: &[&'a Figure], keys: &[&str]) -> Vec<Vec<&'a Figure>> {
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Figure>> = Vec::new();
    for figure in figures {
        let key = keys.iter().map(|key| condition(figure, key)).collect();
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(figure);
    }
    groups
}

fn frames<'a>(row: &[&'a Figure], metric: Metric) -> Option<&'a Figure> {
    row.iter().find(|f| f.metric == metric && f.unit == Unit::FramesPerSecond).copied()
}

/// A metric's four bit rates, outermost first, in Mbit/s.
fn bit_rates(row: &[&Figure], metric: Metric) -> String {
    let of = |convention: &measure::RateConvention| {
        let figure = row.iter().find(|f| {
            f.metric == metric && condition(f, "rate_convention") == convention.as_str()
        })?;
        figure.value.map(|bits| format!("{:.1}", bits / 1e6))
    };
    measure::RateConvention::ALL.iter().filter_map(of).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::{Caveat, Verdict};

    fn figure(metric: Metric, quantile: Option<f64>, unit: Unit, value: f64) -> Figure {
        Figure {
            metric,
            quantile,
            unit,
            value: Some(value),
            low: Some(value * 0.99),
            high: Some(value * 1.01),
            confidence: Some(0.95),
            n: 1_234_567,
            blocks: 6,
            conditions: BTreeMap::from([
                ("frame_size".to_owned(), 1518_u64.into()),
                ("path".to_owned(), "device".into()),
                ("protocol".to_owned(), "icmp".into()),
                ("load".to_owned(), "udp 50000/s of 1518".into()),
            ]),
            verdict: Verdict::DeviceLimited,
            caveats: vec![Caveat::QuickProfile],
        }
    }

    #[test]
    fn tables_stay_within_a_hundred_columns() {
        let mut figures: Vec<Figure> = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0]
            .map(|q| figure(Metric::Rtt, Some(q), Unit::Nanoseconds, 123_456.0 * (1.0 + q)))
            .to_vec();
        for metric in [Metric::Offered, Metric::Sent, Metric::Received, Metric::Lost] {
            let mut flood = figure(metric, None, Unit::FramesPerSecond, 1_488_095.0);
            flood.conditions.insert("test".to_owned(), "flood".into());
            figures.push(flood.clone());
            for convention in measure::RateConvention::ALL {
                flood.unit = Unit::BitsPerSecond;
                flood.value = Some(10e9);
                let name = convention.as_str();
                flood.conditions.insert("rate_convention".to_owned(), name.into());
                figures.push(flood.clone());
            }
        }
        for percent in (10..=100_u64).rev().step_by(10) {
            let mut loss = figure(Metric::LossRatio, None, Unit::Ratio, 0.123);
            loss.conditions.insert("test".to_owned(), "loss-curve".into());
            loss.conditions.insert("load_percent".to_owned(), percent.into());
            figures.push(loss);
        }
        let text = render(&figures);
        for line in text.lines() {
            assert!(
                line.chars().count() <= 100,
                "{} columns: {line}\n{text}",
                line.chars().count()
            );
        }
        assert!(text.contains("1,488,095"), "{text}");
        assert!(text.contains("p99.9"), "{text}");
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(render(&[]), "");
    }
}
