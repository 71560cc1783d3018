//! fio's text for people.
//!
//! Owns the integrity check that Little's law allows: with so many operations under way all the
//! time, operations a second follow from their mean latency. Never reads what fio computed from
//! those again.

use std::collections::BTreeMap;

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::numbers::{behind, between, leading, nanoseconds, number, prefix};
use crate::reader::Reader;

/// By more than this the two must not differ.
pub(crate) const LITTLE: f64 = 0.02;

/// No output has more jobs.
const MOST_JOBS: usize = 4096;

/// Of a distribution: fio prints seventeen more.
const POINTS: [f64; 3] = [0.5, 0.99, 0.999];

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Text {
    group: Group,
    /// By job.
    headers: BTreeMap<String, Header>,
    begun: bool,
    interrupted: bool,
}

impl Reader for Text {
    fn tool(&self) -> &'static str {
        "fio"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if line.contains(": (groupid=") && line.contains("jobs=") {
            self.group.end(found);
            let name = line.split(": (groupid=").next().unwrap_or_default();
            let header = self.headers.get(name).cloned().unwrap_or_default();
            let failed = behind(line, "err=").is_some_and(|error| error != 0.0);
            let jobs = behind(line, "jobs=").filter(|_| !failed);
            self.group = Group { jobs, header, cut: self.interrupted, ..Group::default() };
        } else if line.contains(": (g=") && line.contains("rw=") {
            // The first job of a new output: nothing of the last one holds any more.
            if !std::mem::replace(&mut self.begun, true) {
                self.headers.clear();
                self.interrupted = false;
            }
            let name = line.split(": (g=").next().unwrap_or_default();
            if self.headers.len() < MOST_JOBS {
                self.headers.insert(name.to_owned(), Header::of(line));
            }
        } else if line.starts_with("fio-") || line.starts_with("Run status") {
            self.begun &= !line.starts_with("Run status");
            self.group.end(found);
        } else {
            self.interrupted |= line.starts_with("fio: terminating on signal");
            let own = self.group.jobs.is_some() && self.group.take(line);
            return own || is_chatter(line) || line.contains(": Laying out IO file");
        }
        true
    }

    fn end(&mut self, found: &mut Found) {
        self.group.end(found);
    }
}

/// What a job's first line says.
#[derive(Debug, Clone, Default)]
struct Header {
    pattern: Option<String>,
    octets: Option<f64>,
    depth: Option<f64>,
}

impl Header {
    fn of(line: &str) -> Self {
        let word = |name: &str| between(line, name, ",").map(str::to_owned);
        // `bs=(R) 4096B-4096B, (W) …` of fio 3, `bs=4K-4K/4K-4K/4K-4K` of fio 2
        let octets = between(line, "bs=(R) ", "-").and_then(size);
        let octets = octets.or_else(|| between(line, "bs=", "-").and_then(size_of_two));
        Self { pattern: word("rw="), octets, depth: behind(line, "iodepth=") }
    }
}

/// `4096B`, `4.00KiB`, `64KiB`
fn size(text: &str) -> Option<f64> {
    let (value, unit) = leading(text)?;
    let step = if unit.contains('i') { 1024.0 } else { 1000.0 };
    let letter = unit.chars().next().filter(|c| *c != 'B');
    Some(value * prefix(letter, step)?)
}

/// `4K` is 4096.
fn size_of_two(text: &str) -> Option<f64> {
    let (value, unit) = leading(text)?;
    Some(value * prefix(unit.chars().next(), 1024.0)?)
}

/// The jobs that report together.
#[derive(Debug, Default)]
struct Group {
    jobs: Option<f64>,
    header: Header,
    kinds: Vec<Kind>,
    cut: bool,
}

/// Its reads, or its writes.
#[derive(Debug, Default)]
struct Kind {
    name: &'static str,
    per_second: f64,
    /// Least, mean, most: from submission to completion.
    latency: Option<[f64; 3]>,
    percentiles: Vec<(f64, f64)>,
    percentile_unit: f64,
    /// Whether the percentiles are of the whole time, as the latency is.
    whole: bool,
    count: u64,
}

impl Group {
    /// Whether the line is this group's.
    fn take(&mut self, line: &str) -> bool {
        for name in ["read", "write", "trim"] {
            let own = line.strip_prefix(name).and_then(|rest| rest.trim_start().strip_prefix(':'));
            // `read: IOPS=17.0k, BW=…` of fio 3, `read : io=…, bw=…, iops=8042, runt=…` of fio 2
            let Some(rest) = own.filter(|rest| rest.to_ascii_lowercase().contains("iops=")) else {
                continue;
            };
            let name_of = if rest.contains("IOPS=") { "IOPS=" } else { "iops=" };
            let Some(per_second) = fio_number(rest, name_of) else { return false };
            self.kinds.push(Kind { name, per_second, ..Kind::default() });
            return true;
        }
        if line.starts_with("issued") && line.contains("total=") {
            let counts = between(line, "total=", " ").unwrap_or_default();
            let counts: Vec<f64> = counts
                .trim_end_matches(',')
                .split([',', '/'])
                .filter_map(|part| number(part.trim_start_matches(['r', 'w', 'd', '='])))
                .collect();
            for kind in &mut self.kinds {
                let at = ["read", "write", "trim"].iter().position(|name| *name == kind.name);
                let count = at.and_then(|at| counts.get(at)).copied().unwrap_or(0.0);
                kind.count = count.max(0.0) as u64;
            }
            return true;
        }
        self.kinds.last_mut().is_some_and(|kind| kind.take(line))
    }

    fn end(&mut self, found: &mut Found) {
        let Some(jobs) = self.jobs.take() else { return };
        let mut row = Row::of("fio").with(Key::Jobs, jobs.max(0.0) as u64);
        let depth = self.header.depth.unwrap_or(1.0);
        row = row.with(Key::IoDepth, depth.max(0.0) as u64);
        if let Some(octets) = self.header.octets {
            row = row.with(Key::BlockSize, octets.max(0.0) as u64);
        }
        if let Some(pattern) = &self.header.pattern {
            row = row.with(Key::Pattern, pattern.clone());
        }
        row = row.doubting_if(self.cut, Caveat::CutOff);
        let kinds = std::mem::take(&mut self.kinds);
        let parts: Vec<Part> = kinds.iter().map(Kind::part).collect();
        put_all(found, &row, &parts.iter().collect::<Vec<_>>(), jobs * depth);
        for kind in &kinds {
            let row = row.clone().with(Key::Operation, kind.name).samples(kind.count);
            if let Some([least, _, most]) = kind.latency {
                found.at(&row, Metric::IoLatency, 0.0, least);
                found.at(&row, Metric::IoLatency, 1.0, most);
            }
            let completion = row.clone().with(Key::Latency, "completion");
            let row = if kind.whole { &row } else { &completion };
            for (q, value) in kind.percentiles.iter().filter(|(q, _)| POINTS.contains(q)) {
                found.at(row, Metric::IoLatency, *q, *value);
            }
        }
    }
}

impl Kind {
    fn take(&mut self, line: &str) -> bool {
        if line.starts_with("clat percentiles (") || line.starts_with("lat percentiles (") {
            self.whole = line.starts_with("lat ");
            self.percentile_unit = between(line, "(", ")").and_then(nanoseconds).unwrap_or(0.0);
            return self.percentile_unit > 0.0;
        }
        if let Some(rest) = line.strip_prefix('|') {
            for part in rest.split(']') {
                let Some((name, value)) = part.split_once("th=[") else { continue };
                let share = number(name.trim_start_matches([',', ' '])).map(|p| p / 100.0);
                let value = number(value.trim_end_matches(['>', ' ']));
                if let (Some(share), Some(value)) = (share, value) {
                    self.percentiles.push((share, value * self.percentile_unit));
                }
            }
            return true;
        }
        if line.starts_with("lat (") && line.contains("avg=") {
            let unit = between(line, "(", ")").and_then(nanoseconds);
            let ends = |name| fio_number(line, name);
            let all = (ends("min="), ends("avg="), ends("max="), unit);
            let (Some(min), Some(avg), Some(max), Some(unit)) = all else { return false };
            self.latency = Some([min * unit, avg * unit, max * unit]);
            return true;
        }
        // The two parts of the latency, and rates over time, which are in it.
        ["slat (", "clat (", "bw (", "iops "].iter().any(|start| line.starts_with(start))
    }

    fn part(&self) -> Part {
        Part {
            name: self.name,
            per_second: self.per_second,
            mean_latency: self.latency.map(|[_, mean, _]| mean),
            count: self.count,
        }
    }
}

/// fio shortens long numbers: `max=124k`.
fn fio_number(line: &str, name: &str) -> Option<f64> {
    let from = line.find(name)? + name.len();
    let (value, rest) = leading(&line[from..])?;
    let letter = rest.chars().next().filter(char::is_ascii_alphabetic);
    Some(value * prefix(letter, 1000.0)?)
}

/// Lines around the results.
fn is_chatter(line: &str) -> bool {
    const STARTS: [&str; 21] = [
        "note: both iodepth",
        "hostname=",
        "Laying out",
        "fio-",
        "fio:",
        "Jobs:",
        "lat (",
        "cpu ",
        "IO depths",
        "submit ",
        "complete ",
        "latency ",
        "Run status",
        "READ:",
        "WRITE:",
        "TRIM:",
        "Disk stats",
        "...",
        "sync (",
        "clat (",
        "errors ",
    ];
    let words = line.split(' ').count();
    let starts = line.starts_with("Starting ") && words <= 6;
    let kinds = ["process", "processes", "thread", "threads"];
    // A client names its server in front of the server's lines.
    let is_server = line.starts_with('<') && line.ends_with('>') && words == 1;
    (starts && kinds.iter().any(|kind| line.ends_with(kind)))
        || is_server
        || STARTS.iter().any(|start| line.starts_with(start))
        || line.contains(": ios=")
        || (line.contains("$ fio ") || line.contains("# fio "))
}

/// Reads or writes, in what both of fio's forms tell of them.
pub(crate) struct Part {
    pub name: &'static str,
    pub per_second: f64,
    pub mean_latency: Option<f64>,
    pub count: u64,
}

/// Operations a second and mean latency, of each kind and of all, and what Little's law makes of
/// them.
pub(crate) fn put_all(found: &mut Found, row: &Row, parts: &[&Part], under_way: f64) {
    let parts: Vec<&Part> = parts.iter().copied().filter(|part| part.per_second > 0.0).collect();
    let all: f64 = parts.iter().map(|part| part.per_second).sum();
    let weight = |part: &Part| if part.count > 0 { part.count as f64 } else { part.per_second };
    let weights: f64 = parts.iter().map(|part| weight(part)).sum();
    let means = parts.iter().map(|part| Some(part.mean_latency? * weight(part)));
    let mean = means.sum::<Option<f64>>().filter(|_| weights > 0.0).map(|sum| sum / weights);
    let from_latency = mean.filter(|ns| *ns > 0.0).map(|ns| under_way * 1e9 / ns);
    let from_latency = from_latency.filter(|predicted| *predicted > 0.0);
    // More than their latency allows can't be; fewer can, where a job was not always asking.
    let row = row
        .clone()
        .doubting_if(
            from_latency.is_some_and(|most| all > (1.0 + LITTLE) * most),
            Caveat::Inconsistent,
        )
        .doubting_if(
            from_latency.is_some_and(|most| all < (1.0 - LITTLE) * most),
            Caveat::LoadHeldBack,
        );
    let whole =
        row.clone().with(Key::Operation, "all").samples(parts.iter().map(|p| p.count).sum());
    if all > 0.0 {
        found.put(&whole, Metric::Iops, Unit::OperationsPerSecond, all);
    }
    if let Some(mean) = mean {
        found.mean(&whole, Metric::IoLatency, Unit::Nanoseconds, mean);
    }
    if let Some(predicted) = from_latency {
        let estimate = whole.with(Key::Estimate, "from-latency");
        found.put(&estimate, Metric::Iops, Unit::OperationsPerSecond, predicted);
    }
    for part in parts {
        let row = row.clone().with(Key::Operation, part.name).samples(part.count);
        found.put(&row, Metric::Iops, Unit::OperationsPerSecond, part.per_second);
        if let Some(mean) = part.mean_latency {
            found.mean(&row, Metric::IoLatency, Unit::Nanoseconds, mean);
        }
    }
}
