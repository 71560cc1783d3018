//! A run's figures for other programs and for people: CSV, Markdown, Prometheus' text, Influx' line
//! protocol; and round trips as HdrHistogram V2, which every tool of that family reads and merges.
//!
//! Owns each format's own rules of quoting. Never rounds or converts: base units throughout.

mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use measure::Histogram;
use page::Figure;
use page::{Condition, Key};

use trial::RoundTrips;

use crate::RunLabels;
use crate::exposition;
pub use markdown::markdown;

/// RFC 4180: one row a figure, a column for each condition that occurs.
pub fn csv(run: RunLabels<'_>, figures: &[Figure]) -> String {
    let conditions: BTreeSet<&Key> = figures.iter().flat_map(|f| f.conditions.keys()).collect();
    let own =
        ["run", "metric", "quantile", "unit", "value", "low", "high", "confidence", "n", "blocks"];
    let mut head: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
    head.extend(["verdict", "caveats"].map(str::to_owned));
    head.extend(conditions.iter().map(|name| format!("where_{name}")));
    let mut out = row(&head);
    for figure in figures {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let caveats: Vec<&str> = figure.caveats.iter().map(|c| c.as_str()).collect();
        let mut cells = vec![
            run.id.to_owned(),
            figure.metric.as_str().to_owned(),
            number(figure.quantile),
            figure.unit.as_str().to_owned(),
            number(figure.value),
            number(figure.low),
            number(figure.high),
            number(figure.confidence),
            figure.n.to_string(),
            figure.blocks.to_string(),
            figure.verdict.as_str().to_owned(),
            caveats.join(" "),
        ];
        let said =
            |key: &&Key| figure.conditions.get(key).map_or_else(String::new, Condition::to_string);
        cells.extend(conditions.iter().map(said));
        out += &row(&cells);
    }
    out
}

fn row(cells: &[String]) -> String {
    let quoted = cells.iter().map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\r\n"
}

/// Prometheus' text format: [`exposition`] has its names and units.
pub fn prometheus(run: RunLabels<'_>, figures: &[Figure]) -> String {
    let mut families = vec![exposition::run_info(run)];
    families.extend(exposition::figures(run, figures));
    exposition::render(&families)
}

/// Formats one line a figure, stamped with the run's beginning; tags sorted, as the protocol
/// advises.
pub fn influx(run: RunLabels<'_>, figures: &[Figure]) -> String {
    let mut out = String::new();
    for figure in figures {
        let Some(value) = figure.value else { continue };
        let (told, explained): (Vec<_>, Vec<_>) =
            figure.conditions.iter().partition(|(key, _)| exposition::tells_apart(key));
        let mut tags: BTreeMap<&str, String> =
            told.into_iter().map(|(name, said)| (name.as_str(), said.to_string())).collect();
        tags.insert("run", run.id.to_owned());
        tags.insert("unit", figure.unit.as_str().to_owned());
        tags.insert("verdict", figure.verdict.as_str().to_owned());
        if let Some(quantile) = figure.quantile {
            tags.insert("quantile", quantile.to_string());
        }
        let _ = write!(out, "switchmark_{}", figure.metric.as_str());
        // A tag without a value is not allowed.
        for (tag, said) in tags.iter().filter(|(_, said)| !said.is_empty()) {
            let _ = write!(out, ",{}={}", tagged(tag), tagged(said));
        }
        let _ = write!(out, " value={value}");
        for (field, end) in [("low", figure.low), ("high", figure.high)] {
            if let Some(end) = end {
                let _ = write!(out, ",{field}={end}");
            }
        }
        for (key, said) in explained {
            let field = match said {
                Condition::Integer(number) => number.to_string(),
                Condition::Number(number) => number.to_string(),
                other => format!("\"{}\"", quoted(&other.to_string())),
            };
            let _ = write!(out, ",{}={field}", tagged(key.as_str()));
        }
        let _ = writeln!(out, ",n={}i,blocks={}i {}", figure.n, figure.blocks, run.created_unix_ns);
    }
    out
}

/// Escapes a text for the quotation marks of a field.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Line breaks cannot be escaped in a tag.
fn tagged(text: &str) -> String {
    let flat = text.replace(['\n', '\r'], " ").replace('\\', "/");
    flat.replace(',', "\\,").replace('=', "\\=").replace(' ', "\\ ")
}

/// The compressed encoding of V2, which is what histogram logs hold: some readers take no other.
fn compressed(histogram: &Histogram) -> String {
    const COOKIE: u32 = 0x1c84_9314;
    let plain = BASE64.decode(histogram.to_base64()).expect("our own text");
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = zlib.write_all(&plain).and_then(|()| zlib.finish()).expect("memory takes it");
    let length = u32::try_from(packed.len()).expect("a histogram is small");
    BASE64.encode([&COOKIE.to_be_bytes()[..], &length.to_be_bytes(), &packed].concat())
}

/// Round trips as HdrHistogram V2: `name<tab>base64` a line.
pub fn histograms(round_trips: &RoundTrips) -> String {
    round_trips.labelled_histograms().into_iter().fold(
        String::new(),
        |mut out, (label, path, histogram)| {
            let _ = writeln!(out, "{label} {path}\t{}", compressed(histogram));
            out
        },
    )
}
