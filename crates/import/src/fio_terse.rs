//! fio's semicolon-separated lines (`--output-format=terse`), versions 2 to 5.
//!
//! Owns the positions of reads, writes and trims in a line: each has twenty percentiles, surrounded
//! by its other fields. The format does not report the number of operations in flight.

use crate::contradiction::Contradiction;
use crate::fio_parts::{KINDS, Latency, Part, Points, add_parts};
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
    let begins = KINDS.into_iter().zip(begins).filter(|(_, first)| *first >= 12);
    let kinds: Vec<(Part, usize)> =
        begins.filter_map(|(name, first)| Some((part(fields, name, first)?, first))).collect();
    let row = kinds.iter().fold(Row::new("fio").on_line(found.at), |row, (_, first)| {
        row.contradicted(moved(fields, *first))
    });
    let row = kinds.iter().fold(row, |row, (part, first)| {
        let [slat, clat] = [first - 8, first - 4].map(|at| latency(fields, at));
        let latencies = [slat, clat, latency(fields, first + PERCENTILES)];
        row.contradicted(Latency::contradiction(latencies, part.count.map(|count| count as f64)))
    });
    let parts: Vec<Part> = kinds.into_iter().map(|(part, _)| part).collect();
    add_parts(found, &row, &parts, None);
    true
}

/// Reads a kind of operations, whose percentiles begin at a field; `None` if there were none.
fn part(fields: &[&str], name: &'static str, first: usize) -> Option<Part> {
    let field = |at: usize| fields.get(at).and_then(|field| number(field));
    let per_second = field(first - 10).filter(|rate| *rate > 0.0)?;
    let seconds = field(first - 9)? / 1e3;
    let [least, most, mean] = [0, 1, 2].map(|at| Some(field(first + PERCENTILES + at)? * US));
    let of_part = |pair: &&str| {
        let (percent, us) = pair.split_once("%=")?;
        Some((share(number(percent)?), number(us)? * US)).filter(|(q, _)| *q > 0.0)
    };
    let pairs = fields[first..(first + PERCENTILES).min(fields.len())].iter();
    let points = pairs.filter_map(of_part).collect();
    Some(Part {
        name,
        per_second,
        mean_latency: mean.filter(|ns| *ns > 0.0),
        count: Some((per_second * seconds).max(0.0) as u64),
        ends: least.zip(most).filter(|(_, most)| *most > 0.0),
        tables: vec![Points { points, is_whole: false }],
    })
}
