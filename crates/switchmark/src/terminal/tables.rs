//! Result tables, at most 100 columns wide, caveats as footnotes.
//!
//! Owns which figure goes into which cell. Never computes: what is not a figure is not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use method::figure::Condition;
use method::{Caveat, Figure, Metric, Unit};

use super::{caveats, numbers};

const WIDTH: u16 = 100;

/// All figures as tables, with their footnotes; empty where there are none.
pub fn render(figures: &[Figure]) -> String {
    let (times, others): (Vec<&Figure>, Vec<&Figure>) =
        figures.iter().partition(|f| f.quantile.is_some() && f.unit == Unit::Nanoseconds);
    let mut notes = Footnotes::default();
    let mut out = String::new();
    for metric in metrics(&times) {
        let of_metric: Vec<&Figure> =
            times.iter().copied().filter(|f| f.metric == metric).collect();
        let _ = writeln!(out, "{}", title(metric));
        let _ = writeln!(out, "{}\n", distribution(&of_metric, &mut notes));
    }
    if !others.is_empty() {
        let _ = writeln!(out, "{}\n", values(&others, &mut notes));
    }
    out.push_str(&notes.render());
    out
}

fn metrics(figures: &[&Figure]) -> Vec<Metric> {
    figures.iter().map(|f| f.metric).collect::<BTreeSet<_>>().into_iter().collect()
}

fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Rtt => "Round-trip time",
        Metric::RttAdded => "Round-trip time added by the device (device path less direct cable)",
        Metric::Pdv => "Delay variation above the minimum (PDV)",
        Metric::Ipdv => "Delay variation from packet to packet (IPDV)",
        _ => "",
    }
}

/// One row for each set of conditions, one column for each quantile.
fn distribution(figures: &[&Figure], notes: &mut Footnotes) -> Table {
    let mut quantiles: Vec<f64> = figures.iter().filter_map(|f| f.quantile).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    let mut header: Vec<String> = ["protocol", "size", "load", "path"].map(str::to_owned).to_vec();
    for q in &quantiles {
        header.push(numbers::quantile(*q));
        if is_median(*q) {
            header.push("interval".to_owned());
        }
    }
    header.extend(["n", "verdict"].map(str::to_owned));
    let mut table = table(header);
    for row in grouped(figures) {
        let first = row[0];
        let mut cells: Vec<String> =
            ["protocol", "frame_size", "load", "path"].map(|key| condition(first, key)).to_vec();
        for q in &quantiles {
            let figure = row.iter().find(|f| f.quantile == Some(*q));
            cells.push(figure.map_or_else(String::new, |f| shown(f)));
            if is_median(*q) {
                cells.push(figure.map_or_else(String::new, |f| numbers::interval(f)));
            }
        }
        cells.push(numbers::grouped(first.n as f64));
        cells.push(notes.verdict(&row));
        table.add_row(cells);
    }
    table
}

fn is_median(q: f64) -> bool {
    (q - 0.5).abs() < 1e-9
}

/// Frame rates and the rest: a row for each figure, the four bit rates beside their frame rate.
fn values(figures: &[&Figure], notes: &mut Footnotes) -> Table {
    const KNOWN: [&str; 7] =
        ["from", "to", "device", "path", "frame_size", "rate_convention", "protocol"];
    let header = [
        "what",
        "size",
        "path",
        "value",
        "95 % interval",
        "Mbit/s L1/L2/L3/payload",
        "n",
        "verdict",
    ];
    let mut table = table(header.map(str::to_owned).to_vec());
    for row in by_metric(figures) {
        let Some(first) = row.iter().find(|f| !is_bit_rate(f)).or(row.first()).copied() else {
            continue;
        };
        let mut what = name(first.metric);
        for (key, value) in &first.conditions {
            if !KNOWN.contains(&key.as_str()) {
                let _ = write!(what, " {}", stated(key, value));
            }
        }
        table.add_row([
            what,
            condition(first, "frame_size"),
            condition(first, "path"),
            shown(first),
            numbers::interval(first),
            bit_rates(&row),
            numbers::grouped(first.n as f64),
            notes.verdict(&[first]),
        ]);
    }
    table
}

fn is_bit_rate(figure: &Figure) -> bool {
    figure.conditions.contains_key("rate_convention")
}

/// The four conventions in order; empty where the figure has none.
fn bit_rates(row: &[&Figure]) -> String {
    let of = |convention: &measure::RateConvention| {
        let figure = row.iter().find(|f| condition(f, "rate_convention") == convention.as_str())?;
        figure.value.map(|bits| format!("{:.1}", bits / 1e6))
    };
    let rates: Vec<String> = measure::RateConvention::ALL.iter().filter_map(of).collect();
    rates.join("/")
}

fn stated(key: &str, value: &Condition) -> String {
    match value {
        Condition::Flag(true) => key.to_owned(),
        Condition::Flag(false) => format!("not {key}"),
        Condition::Number(share) if key.contains("share") || key.contains("load") => {
            format!("{key} {}", numbers::value(Unit::Ratio, *share))
        }
        Condition::Text(text) => text.clone(),
        other => format!("{key} {}", text_of(other)),
    }
}

/// Figures of equal conditions together, in order of first appearance.
fn grouped<'a>(figures: &[&'a Figure]) -> Vec<Vec<&'a Figure>> {
    collect(figures, |f| format!("{:?}", f.conditions))
}

/// A frame rate together with its own bit rates.
fn by_metric<'a>(figures: &[&'a Figure]) -> Vec<Vec<&'a Figure>> {
    collect(figures, |f| {
        let mut conditions = f.conditions.clone();
        conditions.remove("rate_convention");
        format!("{:?} {:?} {conditions:?}", f.metric, f.quantile)
    })
}

fn collect<'a>(figures: &[&'a Figure], key: impl Fn(&Figure) -> String) -> Vec<Vec<&'a Figure>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Figure>> = Vec::new();
    for figure in figures {
        let place = *places.entry(key(figure)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(figure);
    }
    groups
}

fn shown(figure: &Figure) -> String {
    figure.value.map_or_else(|| "–".to_owned(), |v| numbers::value(figure.unit, v))
}

fn name(metric: Metric) -> String {
    serde_json::to_value(metric)
        .ok()
        .and_then(|v| v.as_str().map(|s| s.replace('_', " ")))
        .unwrap_or_default()
}

fn condition(figure: &Figure, key: &str) -> String {
    figure.conditions.get(key).map_or_else(String::new, text_of)
}

fn text_of(condition: &Condition) -> String {
    match condition {
        Condition::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Condition::Integer(value) => value.to_string(),
        Condition::Number(value) => format!("{value}"),
        Condition::Text(text) => text.clone(),
    }
}

fn table(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    let columns = header.len();
    table.set_header(header);
    for at in 0..columns {
        if let Some(column) = table.column_mut(at) {
            column.set_padding((0, 1));
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    table
}

/// Caveats under letters, in order of appearance.
#[derive(Debug, Default)]
struct Footnotes(Vec<Caveat>);

impl Footnotes {
    /// The row's verdict with its footnotes' letters: `device-limited a b`.
    fn verdict(&mut self, row: &[&Figure]) -> String {
        let verdict = row.first().map_or("", |f| caveats::verdict(f.verdict));
        let all: BTreeSet<Caveat> = row.iter().flat_map(|f| f.caveats.iter().copied()).collect();
        let mut letters: Vec<char> = all.into_iter().map(|c| self.letter(c)).collect();
        letters.sort_unstable();
        if letters.is_empty() {
            return verdict.to_owned();
        }
        format!("{verdict} [{}]", letters.into_iter().collect::<String>())
    }

    fn letter(&mut self, caveat: Caveat) -> char {
        let at = self.0.iter().position(|c| *c == caveat).unwrap_or_else(|| {
            self.0.push(caveat);
            self.0.len() - 1
        });
        char::from(b'a' + at as u8)
    }

    fn render(&self) -> String {
        let mut out = String::new();
        for (at, caveat) in self.0.iter().enumerate() {
            let _ = writeln!(out, "[{}] {}", char::from(b'a' + at as u8), caveats::advice(*caveat));
        }
        out
    }
}
