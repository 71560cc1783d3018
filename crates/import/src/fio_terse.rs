//! fio's semicolon-separated lines (`--output-format=terse`), versions 2 to 5.
//!
//! Owns the positions of reads, writes and trims in a line: each has twenty percentiles, surrounded
//! by its other fields. The format does not report the number of operations in flight.

use page::{Key, Metric};

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::fio_parts::{KINDS, Latency, Part, add_parts, add_points};
use crate::found::{Found, Row};
use crate::numbers::{Printed, number, share};
use crate::reader::Reader;

/// Number of percentiles that fio prints, zeros included.
const PERCENTILES: usize = 20;
const US: f64 = 1e3;

/// Reader of terse lines.
#[derive(Debug, Default)]
pub(crate) struct Terse;

impl Reader for Terse {
    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        let fields: Vec<&str> = line.split(';').collect();
        // A truncated part may be a kind of operations.
        let least = if fields[0] == "5" { 180 } else { 120 };
        let is_terse = fields.len() >= least && fields[1].starts_with("fio-");
        is_terse && job(&fields, found)
    }
}

/// Least, most, mean and deviation from a field on, in microseconds.
fn latency(fields: &[&str], at: usize) -> Option<Latency> {
    let field = |at: usize| Some(number(fields.get(at)?)? * US);
    let (least, most, mean) = (field(at)?, field(at + 1)?, field(at + 2)?);
    let ends = [least, mean, most];
    (most > 0.0).then_some(Latency { ends, deviation: field(at + 3), step: US, mean_step: 1.0 })
}

/// Contradiction if a kind's octets are not its bandwidth over its time; both are in KiB.
fn moved(fields: &[&str], first: usize) -> Option<Contradiction> {
    let field = |at: usize| number(fields.get(at)?);
    let [octets, per_second, milliseconds] =
        [field(first - 12)?, field(first - 11)?, field(first - 9)?].map(|value| 1024.0 * value);
    let counted = per_second * milliseconds / 1024.0 / 1e3;
    let counted = Printed::near(counted, 0.05).plus_step(4096.0);
    Contradiction::unless_same("octets-of-rate", octets, counted)
}

/// Reads one job's kinds of operations.
fn job(fields: &[&str], found: &mut Found) -> bool {
    let is_percentile = |at: usize| fields.get(at).is_some_and(|field| field.contains("%="));
    let mut at = 0;
    let mut begins = Vec::new();
    while at < fields.len() {
        if is_percentile(at) {
            begins.push(at);
            at += PERCENTILES;
        } else {
            at += 1;
        }
    }
    let field = |at: usize| fields.get(at).and_then(|field| number(field));
    let kinds: Vec<(Part, usize)> = KINDS
        .into_iter()
        .zip(begins)
        .filter(|(_, first)| *first >= 12)
        .filter_map(|(name, first)| {
            let per_second = field(first - 10)?;
            let mean = field(first + PERCENTILES + 2).map(|us| us * US).filter(|ns| *ns > 0.0);
            let milliseconds = field(first - 9)?;
            let count = (per_second * milliseconds / 1e3).max(0.0) as u64;
            (per_second > 0.0)
                .then_some((Part { name, per_second, mean_latency: mean, count }, first))
        })
        .collect();
    let row = kinds.iter().fold(Row::new("fio").on_line(found.at), |row, (_, first)| {
        row.contradicted(moved(fields, *first))
    });
    let row = kinds.iter().fold(row, |row, (part, first)| {
        let [slat, clat] = [first - 8, first - 4].map(|at| latency(fields, at));
        let latencies =
            [slat.filter(|slat| slat.ends[2] > 0.0), clat, latency(fields, first + PERCENTILES)];
        let of_mean = latencies[2].and_then(|lat| lat.described().contradiction(part.count));
        row.contradicted(Latency::of_parts(latencies, part.count as f64)).contradicted(of_mean)
    });
    let parts: Vec<&Part> = kinds.iter().map(|(part, _)| part).collect();
    add_parts(found, &row, &parts, None);
    for (part, first) in &kinds {
        let row = row.clone().with(Key::Operation, part.name).samples(part.count);
        let ends = field(first + PERCENTILES).zip(field(first + PERCENTILES + 1));
        if let Some((least, most)) = ends.filter(|(_, most)| *most > 0.0) {
            let ends = Described::new(&[(0.0, least * US), (1.0, most * US)], None);
            found.distribution(&row, Metric::IoLatency, &ends);
        }
        let of_part = |pair: &&str| {
            let (percent, us) = pair.split_once("%=")?;
            Some((share(number(percent)?), number(us)? * US)).filter(|(q, _)| *q > 0.0)
        };
        let pairs = fields[*first..(first + PERCENTILES).min(fields.len())].iter();
        let points: Vec<(f64, f64)> = pairs.filter_map(of_part).collect();
        add_points(found, &row, &points, false);
    }
    true
}
