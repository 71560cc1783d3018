//! fio's JSON, of one host or of its client mode; `json+` with its bins. Also for our own runs of
//! fio.
//!
//! Owns the merging of jobs: means by their counts, distributions by their bins. Never averages
//! percentiles of several jobs.

use std::collections::BTreeMap;

use page::{Caveat, Key};
use serde_json::Value;

use crate::ImportError;
use crate::contradiction::Contradiction;
use crate::fio_parts::{KINDS, Latency, POINTS, Part, Points, add_parts};
use crate::found::{Found, Row};
use crate::numbers::{Printed, number, scaled, share};

/// Reads, writes or trims of a fio run, all jobs together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operations {
    /// Kind: `read`, `write`, `trim`.
    pub kind: &'static str,
    /// Number of completed operations.
    pub count: u64,
    /// Completed operations per second, as reported by fio.
    pub per_second: f64,
    /// Octets of the completed operations.
    pub octets: u64,
    /// Mean latency from submission to completion, in nanoseconds; `None` if fio did not measure
    /// it.
    pub mean: Option<f64>,
    /// Part of the mean until the operation was submitted, in nanoseconds.
    pub submitting: Option<f64>,
    /// Smallest and largest latency, in nanoseconds.
    pub ends: Option<(f64, f64)>,
    /// Number of operations by latency in nanoseconds (the middle of fio's bin); `json+` only.
    pub bins: BTreeMap<u64, u64>,
    /// True if the bins cover the whole time from submission to completion, not only the part after
    /// submission.
    pub whole: bool,
}

/// Reads a fio run from its output (`--output-format=json` or `json+`); text before the object,
/// such as an engine's greeting, is skipped. Kinds without an operation are left out.
pub fn run(text: &str) -> Result<Vec<Operations>, ImportError> {
    let begin = text.find('{').unwrap_or(text.len());
    let number = text[..begin].lines().count().max(1);
    let parsed: Result<Value, _> = serde_json::from_str(&text[begin..]);
    let value =
        parsed.map_err(|error| ImportError::BrokenJson { number, why: error.to_string() })?;
    let jobs = jobs(&value).map_err(|problem| problem.at(number))?;
    Ok(operations(&jobs))
}

/// Returns every job's own entry. One failed job makes the whole a failure.
fn jobs(value: &Value) -> Result<Vec<&Value>, ImportError> {
    let jobs = ["jobs", "client_stats"].iter().find_map(|key| value[*key].as_array());
    let jobs = jobs.ok_or(ImportError::missing("fio", "jobs"))?;
    // In client mode the last entry is the sum of the others.
    let single: Vec<&Value> = jobs.iter().filter(|job| job["jobname"] != "All clients").collect();
    if let Some(failed) = single.iter().find(|job| job["error"].as_i64().unwrap_or(0) != 0) {
        let reason = format!("job `{}`: error {}", text(&failed["jobname"]), failed["error"]);
        return Err(ImportError::ToolFailed { number: 0, tool: "fio", reason });
    }
    if single.is_empty() {
        return Err(ImportError::missing("fio", "job that ran"));
    }
    Ok(single)
}

fn operations(jobs: &[&Value]) -> Vec<Operations> {
    let all = KINDS.into_iter().map(|kind| of_kind(jobs, kind));
    all.filter(|operations| operations.per_second > 0.0 || operations.count > 0).collect()
}

fn of_kind(jobs: &[&Value], kind: &'static str) -> Operations {
    let mut all = Operations { kind, ..Operations::default() };
    let mut means = [(0.0, 0.0); 2];
    let mut ends: Option<(f64, f64)> = None;
    let whole = jobs.iter().any(|job| job[kind]["lat_ns"]["bins"].is_object());
    all.whole = whole;
    for job in jobs {
        let own = &job[kind];
        all.per_second += own["iops"].as_f64().unwrap_or(0.0);
        all.octets = all.octets.saturating_add(own["io_bytes"].as_u64().unwrap_or(0));
        // The oldest versions do not report the count.
        let seconds = own["runtime"].as_f64().unwrap_or(0.0) / 1e3;
        let of_rate = (own["iops"].as_f64().unwrap_or(0.0) * seconds).max(0.0) as u64;
        let count = own["total_ios"].as_u64().unwrap_or(of_rate);
        all.count = all.count.saturating_add(count);
        let lat = latency(own, "lat");
        let told = [lat.or_else(|| latency(own, "clat")), latency(own, "slat")];
        for (told, (sum, weights)) in told.into_iter().zip(&mut means) {
            if let Some(Latency { ends: [_, mean, _], .. }) = told.filter(|told| told.ends[1] > 0.0)
            {
                *sum += mean * count as f64;
                *weights += count as f64;
            }
        }
        if let Some([least, _, most]) = lat.map(|lat| lat.ends).filter(|ends| ends[0] > 0.0) {
            let (low, high) = ends.unwrap_or((least, most));
            ends = Some((low.min(least), high.max(most)));
        }
        let name = if whole { "lat_ns" } else { "clat_ns" };
        for (ns, count) in own[name]["bins"].as_object().into_iter().flatten() {
            if let (Ok(ns), Some(count)) = (ns.parse::<u64>(), count.as_u64()) {
                let bin = all.bins.entry(ns).or_insert(0);
                *bin = bin.saturating_add(count);
            }
        }
    }
    let mean = |(sum, weights): (f64, f64)| (weights > 0.0).then(|| sum / weights);
    (all.mean, all.submitting, all.ends) = (mean(means[0]), mean(means[1]), ends);
    all
}

pub(crate) fn read(value: &Value, found: &mut Found) -> Result<(), ImportError> {
    let single = jobs(value)?;
    let global = &value["global options"];
    let said = |job: &Value| {
        ["bs", "rw", "iodepth", "rate_iops", "rate"].map(|name| option(job, global, name))
    };
    let before = found.figures.len();
    let mut rest = &single[..];
    let mut done: Vec<[Option<String>; 5]> = Vec::new();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let options = said(first);
        if done.contains(&options) {
            continue;
        }
        // Jobs with the same options are one measurement, others are separate.
        let alike: Vec<&Value> =
            single.iter().copied().filter(|job| said(job) == options).collect();
        group(&alike, global, found);
        done.push(options);
    }
    if found.figures.len() == before {
        return Err(ImportError::missing("fio", "reads or writes"));
    }
    Ok(())
}

fn option(job: &Value, global: &Value, name: &str) -> Option<String> {
    let own = &job["job options"][name];
    let found = if own.is_null() { &global[name] } else { own };
    found.as_str().map(str::to_owned)
}

fn group(single: &[&Value], global: &Value, found: &mut Found) {
    let count = |job: &Value, name: &str| option(job, global, name).and_then(|text| number(&text));
    let mut under_way = 0.0;
    let mut jobs = 0.0;
    for job in single {
        // A group reports as one job; without a group each of its jobs reports alone.
        let alike = single.iter().filter(|other| other["jobname"] == job["jobname"]).count();
        let own = (count(job, "numjobs").unwrap_or(1.0) / alike as f64).max(1.0);
        jobs += own;
        under_way += own * count(job, "iodepth").unwrap_or(1.0).max(1.0);
    }
    let mut row = Row::new("fio").with(Key::Jobs, jobs.max(0.0) as u64);
    let first = single[0];
    row = row.with(Key::IoDepth, (under_way / jobs.max(1.0)) as u64);
    for (name, condition) in [("bs", Key::BlockSize), ("rw", Key::Pattern)] {
        if let Some(said) = option(first, global, name) {
            row = match (name, octets(&said)) {
                ("bs", Some(octets)) => row.with(condition, octets),
                _ => row.with(condition, said),
            };
        }
    }
    let is_paced = ["rate_iops", "rate"].iter().any(|name| option(first, global, name).is_some());
    row = row.doubting_if(is_paced, Caveat::LoadHeldBack);
    let kinds: Vec<Operations> =
        operations(single).into_iter().filter(|kind| kind.per_second > 0.0).collect();
    let size = option(first, global, "bs").and_then(|said| octets(&said));
    let of_size =
        |row: Row, kind: &Operations| row.contradicted(size.and_then(|size| moved(kind, size)));
    row = kinds.iter().fold(row, of_size);
    let parts = single.iter().flat_map(|job| KINDS.map(|kind| &job[kind]));
    row = parts.fold(row, |row, own| row.contradicted(of_job(own)));
    let parts: Vec<Part> = kinds.into_iter().map(|kind| part(&kind, single)).collect();
    add_parts(found, &row, &parts, Some(under_way));
}

/// Contradiction among one job's numbers of a kind: its operations, their time and octets, their
/// latency and its parts.
fn of_job(own: &Value) -> Option<Contradiction> {
    let seconds = own["runtime"].as_f64().filter(|ms| *ms >= 500.0)? / 1e3;
    let count = own["total_ios"].as_f64();
    let counted = count.map(|count| Printed::near(count / seconds, 0.05).plus_step(1.0));
    let rate = Contradiction::unless_same("rate-of-count", own["iops"].as_f64(), counted);
    // The bandwidth is in KiB a second, as the octets of the oldest versions are.
    let moved = own["bw"].as_f64().map(|rate| Printed::near(rate * seconds, 0.05).plus_step(4.0));
    let differs = |scale: f64| {
        let octets = own["io_bytes"].as_f64().map(|octets| octets * scale);
        Contradiction::unless_same("octets-of-rate", octets, moved)
    };
    let moved = || differs(1.0).and_then(|_| differs(1.0 / 1024.0));
    let latencies = ["slat", "clat", "lat"].map(|name| latency(own, name));
    let latencies = || Latency::contradiction(latencies, count);
    let bins = || ["lat_ns", "clat_ns"].into_iter().find_map(|name| count_of_bins(&own[name]));
    rate.or_else(moved).or_else(latencies).or_else(bins)
}

/// Contradiction if the bins do not have all operations.
fn count_of_bins(of: &Value) -> Option<Contradiction> {
    let counts = of["bins"].as_object()?.values().map(Value::as_f64).sum::<Option<f64>>();
    Contradiction::unless_same("count-of-bins", of["N"].as_f64(), counts)
}

/// Latency of a kind by its name, in nanoseconds; fio 2 has microseconds.
fn latency(own: &Value, name: &str) -> Option<Latency> {
    let of_new = &own[format!("{name}_ns")];
    let (of, scale) = if of_new.is_object() { (of_new, 1.0) } else { (&own[name], 1e3) };
    let number = |name: &str| of[name].as_f64().map(|value| value * scale);
    let ends = [number("min")?, number("mean")?, number("max")?];
    (ends[2] > 0.0).then_some(Latency {
        ends,
        deviation: number("stddev"),
        step: scale,
        mean_step: 0.01 * scale,
    })
}

/// Contradiction if a kind's octets are not those of its operations; the oldest versions count in
/// KiB.
fn moved(of: &Operations, size: u64) -> Option<Contradiction> {
    let counted = of.count as f64 * size as f64;
    let counted = Printed::near(counted, 0.02).plus_step(4096.0);
    let differs = |scale: f64| {
        Contradiction::unless_same("octets-of-count", of.octets as f64 * scale, counted)
    };
    differs(1024.0).and_then(|_| differs(1.0))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

/// Parses `4k`, `64k`, `1m`, `4096`.
fn octets(text: &str) -> Option<u64> {
    let value = scaled(text, 1024.0)?.value;
    (0.0..=1e12).contains(&value).then_some(value as u64)
}

/// Values of a kind with its quantiles: from merged bins, or one job's own percentiles.
fn part(of: &Operations, jobs: &[&Value]) -> Part {
    let ran = |job: &&Value| job[of.kind]["iops"].as_f64().unwrap_or(0.0) > 0.0;
    let ran: Vec<&Value> = jobs.iter().copied().filter(ran).collect();
    let tables = if !of.bins.is_empty() {
        let points = POINTS.map(|q| (q, of_bins(&of.bins, q))).into_iter();
        let points = points.chain(of.ends.map(|(_, most)| (1.0, most))).collect();
        vec![Points { points, is_whole: of.whole }]
    } else if let [job] = ran[..] {
        [("clat_ns", 1.0), ("clat", 1e3), ("lat_ns", 1.0)]
            .into_iter()
            .map(|(name, scale)| Points {
                points: percentiles(&job[of.kind][name], scale),
                is_whole: name == "lat_ns",
            })
            .collect()
    } else {
        Vec::new()
    };
    Part {
        name: of.kind,
        per_second: of.per_second,
        mean_latency: of.mean,
        count: Some(of.count),
        ends: of.ends,
        tables,
    }
}

fn percentiles(of: &Value, scale: f64) -> Vec<(f64, f64)> {
    let told = of["percentile"].as_object().into_iter().flatten();
    told.filter_map(|(name, value)| Some((share(number(name)?), value.as_f64()? * scale))).collect()
}

fn of_bins(bins: &BTreeMap<u64, u64>, q: f64) -> f64 {
    let all: f64 = bins.values().map(|count| *count as f64).sum();
    let rank = (q * all).ceil().max(1.0);
    let mut sum = 0.0;
    for (ns, count) in bins {
        sum += *count as f64;
        if sum >= rank {
            return *ns as f64;
        }
    }
    f64::NAN
}
