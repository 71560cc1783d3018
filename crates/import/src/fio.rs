//! fio's JSON, of one host or of its client mode; `json+` with its bins.
//!
//! Owns the merging of jobs: means by their counts, distributions by their bins; percentiles of several
//! jobs are never averaged.

use std::collections::BTreeMap;

use method::Metric;
use serde_json::Value;

use crate::ImportError;
use crate::fio_text::{Part, put_all};
use crate::found::{Found, Row};
use crate::numbers::number;

const KINDS: [&str; 3] = ["read", "write", "trim"];

pub(crate) fn read(value: &Value, found: &mut Found) -> Result<(), ImportError> {
    let jobs = ["jobs", "client_stats"].iter().find_map(|key| value[*key].as_array());
    let jobs = jobs.ok_or(ImportError::Missing { tool: "fio", what: "jobs" })?;
    // In client mode the last entry sums up the others.
    let single: Vec<&Value> = jobs.iter().filter(|job| job["jobname"] != "All clients").collect();
    if let Some(failed) = single.iter().find(|job| job["error"].as_i64().unwrap_or(0) != 0) {
        let reason = format!("job `{}`: error {}", text(&failed["jobname"]), failed["error"]);
        return Err(ImportError::ToolFailed { tool: "fio", reason });
    }
    if single.is_empty() {
        return Err(ImportError::Missing { tool: "fio", what: "job that ran" });
    }
    let global = &value["global options"];
    let option = |job: &Value, name: &str| -> Option<String> {
        let own = &job["job options"][name];
        let found = if own.is_null() { &global[name] } else { own };
        found.as_str().map(str::to_owned)
    };
    let count = |job: &Value, name: &str| option(job, name).and_then(|text| number(&text));
    let mut under_way = 0.0;
    let mut jobs = 0.0;
    for job in &single {
        // A group reports as one job; without a group each of its jobs reports alone.
        let alike = single.iter().filter(|other| other["jobname"] == job["jobname"]).count();
        let own = (count(job, "numjobs").unwrap_or(1.0) / alike as f64).max(1.0);
        jobs += own;
        under_way += own * count(job, "iodepth").unwrap_or(1.0).max(1.0);
    }
    let mut row = Row::of("fio").with("jobs", jobs.max(0.0) as u64);
    let first = single[0];
    row = row.with("iodepth", (under_way / jobs.max(1.0)) as u64);
    for (name, condition) in [("bs", "block_size"), ("rw", "pattern")] {
        if let Some(said) = option(first, name) {
            row = match (name, octets(&said)) {
                ("bs", Some(octets)) => row.with(condition, octets),
                _ => row.with(condition, said),
            };
        }
    }
    let parts: Vec<Part> = KINDS.iter().filter_map(|kind| part(&single, kind)).collect();
    if parts.is_empty() {
        return Err(ImportError::Missing { tool: "fio", what: "reads or writes" });
    }
    put_all(found, &row, &parts, under_way);
    for part in &parts {
        let row = row.clone().with("operation", part.name).samples(part.count);
        distribution(found, &row, &single, part.name);
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

/// `4k`, `64k`, `1m`, `4096`
fn octets(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b']);
    let text = text.trim_end_matches('i');
    let (digits, letter) = match text.chars().last() {
        Some(last) if last.is_ascii_alphabetic() => (&text[..text.len() - 1], Some(last)),
        _ => (text, None),
    };
    let value = number(digits)? * crate::numbers::prefix(letter, 1024.0)?;
    (0.0..=1e12).contains(&value).then_some(value as u64)
}

fn part(jobs: &[&Value], kind: &&'static str) -> Option<Part> {
    let (mut per_second, mut count, mut weighted, mut weights) = (0.0, 0, 0.0, 0.0);
    for job in jobs {
        let own = &job[*kind];
        per_second += own["iops"].as_f64().unwrap_or(0.0);
        let ios = own["total_ios"].as_u64().unwrap_or(0);
        count += ios;
        let latency = ["lat_ns", "clat_ns"].iter().find_map(|name| own[*name]["mean"].as_f64());
        if let Some(mean) = latency.filter(|mean| *mean > 0.0) {
            weighted += mean * ios as f64;
            weights += ios as f64;
        }
    }
    let mean_latency = (weights > 0.0).then(|| weighted / weights);
    (per_second > 0.0).then_some(Part { name: kind, per_second, mean_latency, count })
}

/// The smallest, the largest, and quantiles: from merged bins, or one job's own percentiles.
fn distribution(found: &mut Found, row: &Row, jobs: &[&Value], kind: &str) {
    let of =
        |name: &'static str| jobs.iter().filter_map(move |job| job[kind]["lat_ns"][name].as_f64());
    let ran = jobs.iter().filter(|job| job[kind]["total_ios"].as_u64().unwrap_or(0) > 0).count();
    if let (Some(least), Some(most)) =
        (of("min").filter(|v| *v > 0.0).min_by(f64::total_cmp), of("max").max_by(f64::total_cmp))
    {
        found.at(row, Metric::IoLatency, 0.0, least);
        found.at(row, Metric::IoLatency, 1.0, most);
    }
    let completion = row.clone().with("latency", "completion");
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, count) in
        jobs.iter().filter_map(|job| job[kind]["clat_ns"]["bins"].as_object()).flatten()
    {
        if let (Ok(ns), Some(count)) = (ns.parse::<u64>(), count.as_u64()) {
            let bin = bins.entry(ns).or_insert(0);
            *bin = bin.saturating_add(count);
        }
    }
    if !bins.is_empty() {
        for q in [0.5, 0.99, 0.999] {
            found.at(&completion, Metric::IoLatency, q, of_bins(&bins, q));
        }
    } else if ran == 1 {
        let told = jobs.iter().filter_map(|job| job[kind]["clat_ns"]["percentile"].as_object());
        for (name, value) in told.flatten() {
            if let (Some(percent), Some(ns)) = (number(name), value.as_f64()) {
                found.at(&completion, Metric::IoLatency, percent / 100.0, ns);
            }
        }
    }
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
