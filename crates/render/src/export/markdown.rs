//! A run's figures as tables of Markdown, to be pasted into an issue, a wiki or a mail.
//!
//! Owns the escaping that Markdown's tables need. Rounds as the terminal does; base units are in
//! the other formats.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use page::{Caveat, Figure, Key, phrase};

use crate::RunLabels;
use page::words;

/// Conditions that are in the heading, or that mean nothing to a reader.
const LEFT_OUT: [Key; 5] = [Key::Study, Key::Device, Key::File, Key::Variant, Key::RateConvention];

/// Formats one table a device, and the meaning of its caveats.
pub fn markdown(run: RunLabels<'_>, figures: &[Figure]) -> String {
    let mut out = format!("### switchmark {} `{}`\n", cell(run.verb), cell(run.id));
    let of = |figure: &Figure| -> String {
        let said = |key| figure.conditions.get(&key).map_or_else(String::new, ToString::to_string);
        let (device, variant) = (said(Key::Device), said(Key::Variant));
        if variant.is_empty() { device } else { format!("{device}, {variant}") }
    };
    let mut devices: Vec<String> = Vec::new();
    for device in figures.iter().map(of) {
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    for device in devices {
        if !device.is_empty() {
            let _ = write!(out, "\n**{}**\n", cell(&device));
        }
        out += "\n| figure | of | value | interval | limited by | caveats |\n";
        out += "|---|---|---:|---|---|---|\n";
        for figure in figures.iter().filter(|figure| of(figure) == device) {
            out += &row(figure);
        }
    }
    let caveats: BTreeSet<Caveat> =
        figures.iter().flat_map(|figure| figure.caveats.iter().copied()).collect();
    if !caveats.is_empty() {
        out.push('\n');
    }
    for caveat in caveats {
        let _ = writeln!(out, "- `{}`: {}", caveat.as_str(), cell(caveat.text_among(figures)));
    }
    out
}

fn row(figure: &Figure) -> String {
    let quantile = figure.quantile.map_or_else(String::new, |q| format!(" {}", words::quantile(q)));
    let shown = |value: Option<f64>| value.map(|value| words::value(figure.unit, value));
    let interval = match (shown(figure.low), shown(figure.high)) {
        (Some(low), Some(high)) => format!("{low} … {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => String::new(),
    };
    let case: Vec<String> = phrase::conditions(&figure.conditions)
        .into_iter()
        .filter(|(key, _)| !LEFT_OUT.contains(key))
        .map(|(key, said)| format!("{} {said}", key.as_str().replace('_', " ")))
        .collect();
    let caveats: Vec<&str> = figure.caveats.iter().map(|caveat| caveat.as_str()).collect();
    let cells = [
        format!("{}{quantile}", figure.metric.as_str()),
        case.join(", "),
        shown(figure.value).unwrap_or_else(|| "–".to_owned()),
        interval,
        figure.verdict.as_str().to_owned(),
        caveats.join(" "),
    ];
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Escapes characters that would end a cell or a line, or begin markup of somebody else's.
fn cell(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '|' | '\\' | '`' | '*' | '<' | '>' | '[' | ']' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        out
    })
}
