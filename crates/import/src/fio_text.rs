//! fio's text for people.
//!
//! Owns the consistency check by Little's law: with a constant number of operations in flight,
//! operations per second follow from their mean latency. Never reads values that fio computed from
//! these two.

use page::{Caveat, Key, Metric, Unit};

use crate::around::is_around;
use crate::contradiction::Contradiction;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, behind, between, leading, nanoseconds, number, prefix};
use crate::numbers::{printed, scaled, share};
use crate::reader::Reader;

/// Largest accepted relative difference of the two.
pub(crate) const LITTLE: f64 = 0.02;

/// Maximum number of jobs in an output.
const MOST_JOBS: usize = 4096;

/// Kinds of operations.
pub(crate) const KINDS: [&str; 3] = ["read", "write", "trim"];

/// Quantiles that are imported; fio prints seventeen more.
pub(crate) const POINTS: [f64; 3] = [0.5, 0.99, 0.999];

/// Reader of fio's text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    group: Group,
    headers: Vec<Header>,
    begun: bool,
    /// True if a line of dots replaced further jobs like the one before.
    copies: bool,
    interrupted: bool,
}

impl Reader for Text {
    fn tool(&self) -> &'static str {
        "fio"
    }

    fn begins(&self, line: &str) -> bool {
        self.group.jobs.is_some() && (is_group(line) || line.starts_with("Run status"))
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if is_group(line) {
            let name = line.split(": (groupid=").next().unwrap_or_default();
            let failed = behind(line, "err=").is_some_and(|error| error != 0.0);
            let jobs = behind(line, "jobs=").filter(|_| !failed);
            let of_group = behind(line, "groupid=");
            // A group that reports together contains all of its jobs; otherwise each job has its
            // name.
            let own = |header: &&Header| match jobs {
                Some(jobs) if jobs > 1.0 => Some(header.group) == of_group,
                _ => header.name == name,
            };
            let headers: Vec<Header> = self.headers.iter().filter(own).cloned().collect();
            // Each job has its header, or a line of dots replaces its copies.
            let lacks_header = !self.copies
                && !headers.is_empty()
                && jobs.is_some_and(|jobs| jobs > headers.len() as f64);
            let header = headers.into_iter().filter(|_| !lacks_header).reduce(Header::and);
            let cut = self.interrupted;
            self.group = Group { jobs, header, lacks: lacks_header, cut, ..Group::default() };
            return true;
        }
        if line.contains(": (g=") && line.contains("rw=") {
            // The first job of a new output: nothing of the last output applies any more.
            if !std::mem::replace(&mut self.begun, true) {
                self.headers.clear();
                (self.interrupted, self.copies) = (false, false);
            }
            if self.headers.len() < MOST_JOBS {
                self.headers.push(Header::parse(line));
            }
            return true;
        }
        self.begun &= !line.starts_with("Run status");
        self.copies |= line == "...";
        self.interrupted |= line.starts_with("fio: terminating on signal");
        let own = self.group.jobs.is_some() && self.group.take(line);
        own || is_chatter(line)
    }

    fn end(&mut self, found: &mut Found) {
        self.group.end(found);
    }
}

/// True for `fx: (groupid=0, jobs=3): err= 0: pid=13094: …`.
fn is_group(line: &str) -> bool {
    line.contains(": (groupid=") && line.contains("jobs=")
}

/// Values of a job's first line; of several jobs those that all share.
#[derive(Debug, Clone, Default)]
struct Header {
    name: String,
    group: f64,
    pattern: Option<String>,
    octets: Option<f64>,
    depth: Option<f64>,
}

impl Header {
    fn parse(line: &str) -> Self {
        let name = line.split(": (g=").next().unwrap_or_default().to_owned();
        let word = |name: &str| between(line, name, ",").map(str::to_owned);
        // Reads `bs=(R) 4096B-4096B, (W) …` of fio 3, `bs=4K-4K/4K-4K/4K-4K` of fio 2.
        let octets = between(line, "bs=(R) ", "-").and_then(size);
        let octets = octets.or_else(|| scaled(between(line, "bs=", "-")?, 1024.0));
        let group = behind(line, "(g=").unwrap_or(f64::NAN);
        Self { name, group, pattern: word("rw="), octets, depth: behind(line, "iodepth=") }
    }

    /// Merges the headers of two jobs.
    fn and(self, other: Self) -> Self {
        Self {
            pattern: self.pattern.filter(|own| other.pattern.as_ref() == Some(own)),
            octets: self.octets.filter(|own| other.octets == Some(*own)),
            depth: self.depth.filter(|own| other.depth == Some(*own)),
            ..other
        }
    }
}

/// Parses `4096B`, `4.00KiB`, `64KiB`.
fn size(text: &str) -> Option<f64> {
    let step = if text.contains('i') { 1024.0 } else { 1000.0 };
    scaled(text.trim_end_matches('B'), step)
}

/// Jobs that report together.
#[derive(Debug, Default)]
struct Group {
    jobs: Option<f64>,
    header: Option<Header>,
    /// Queue depth in the group's own lines: the first job's.
    depth: Option<f64>,
    kinds: Vec<Kind>,
    /// True if its operations were counted, which is near its end.
    is_counted: bool,
    /// True if operations were counted of a kind without a line, or a job's header is missing.
    lacks: bool,
    cut: bool,
}

/// Reads or writes of a group.
#[derive(Debug, Default)]
struct Kind {
    name: &'static str,
    per_second: Printed,
    seconds: Option<f64>,
    /// Minimum, mean and maximum from submission to completion.
    latency: Option<[f64; 3]>,
    tables: Vec<Percentiles>,
    count: Option<f64>,
}

/// Table of percentiles.
#[derive(Debug)]
struct Percentiles {
    /// Measured time: `lat` for the whole time, `clat`, `slat`.
    of: &'static str,
    unit: f64,
    points: Vec<(f64, f64)>,
}

impl Group {
    /// Reads a line; true if it belongs to this group.
    fn take(&mut self, line: &str) -> bool {
        for name in KINDS {
            let own = line.strip_prefix(name).and_then(|rest| rest.trim_start().strip_prefix(':'));
            // Reads `read: IOPS=17.0k, BW=…` of fio 3, `read : io=…, bw=…, iops=8042, runt=…` of
            // fio 2.
            let Some(rest) = own.filter(|rest| rest.to_ascii_lowercase().contains("iops=")) else {
                continue;
            };
            let name_of = if rest.contains("IOPS=") { "IOPS=" } else { "iops=" };
            let Some(per_second) = fio_number(rest, name_of) else { return false };
            let milliseconds = behind(rest, "runt=").or_else(|| {
                let (_, last) =
                    rest.split_once("msec)").map_or(rest, |(own, _)| own).rsplit_once('/')?;
                number(last)
            });
            let seconds = milliseconds.map(|ms| ms / 1e3);
            self.kinds.push(Kind { name, per_second, seconds, ..Kind::default() });
            return true;
        }
        if line.starts_with("issued") && line.contains("total=") {
            let counts = between(line, "total=", " ").unwrap_or_default();
            let counts: Vec<f64> = counts
                .trim_end_matches(',')
                .split([',', '/'])
                .filter_map(|part| number(part.trim_start_matches(['r', 'w', 'd', '='])))
                .collect();
            self.is_counted = true;
            for (name, count) in KINDS.into_iter().zip(counts) {
                let own = self.kinds.iter_mut().find(|kind| kind.name == name);
                self.lacks |= own.is_none() && count > 0.0;
                if let Some(kind) = own {
                    kind.count = Some(count);
                }
            }
            return true;
        }
        if line.starts_with("latency ") && line.contains("target=") {
            self.depth = behind(line, "depth=");
            return true;
        }
        self.kinds.last_mut().is_some_and(|kind| kind.take(line))
    }

    fn end(&mut self, found: &mut Found) {
        let Some(jobs) = self.jobs.take() else { return };
        let own = self.depth.filter(|_| !self.lacks);
        let depth = self.header.as_ref().map_or(own, |header| header.depth);
        let header = self.header.take().unwrap_or_default();
        let whole = |number: f64| number.max(0.0) as u64;
        let row = Row::new("fio")
            .with(Key::Jobs, whole(jobs))
            .with_known(Key::IoDepth, depth.map(whole))
            .with_known(Key::BlockSize, header.octets.map(whole))
            .with_known(Key::Pattern, header.pattern)
            .doubting_if(self.lacks, Caveat::UnreadLines)
            .doubting_if(self.cut || !self.is_counted, Caveat::CutOff);
        let kinds = std::mem::take(&mut self.kinds);
        let row = kinds.iter().fold(row, |row, kind| row.contradicted(kind.contradiction()));
        let parts: Vec<Part> = kinds.iter().map(Kind::part).collect();
        let under_way = depth.map(|depth| jobs * depth);
        add_parts(found, &row, &parts.iter().collect::<Vec<_>>(), under_way);
        for kind in &kinds {
            let count = kind.count.map_or(1, whole);
            let row = row.clone().with(Key::Operation, kind.name).samples(count);
            if let Some([least, mean, most]) = kind.latency {
                let ends = [(0.0, least), (1.0, most)];
                let row = row.clone().contradicted(Contradiction::of_order(&ends, Some(mean), 0.0));
                found.distribution(&row, Metric::IoLatency, &ends, None);
            }
            for table in kind.tables.iter().filter(|table| table.of != "slat") {
                add_points(found, &row, &table.points, table.of == "lat");
            }
        }
    }
}

/// Adds the imported quantiles of a distribution.
pub(crate) fn add_points(found: &mut Found, row: &Row, points: &[(f64, f64)], is_whole: bool) {
    let completion = (!is_whole).then_some("completion");
    let row = row.clone().with_known(Key::Latency, completion);
    let row = row.contradicted(Contradiction::of_order(points, None, 0.0));
    for (q, value) in points.iter().filter(|(q, _)| POINTS.contains(q)) {
        found.at(&row, Metric::IoLatency, *q, *value);
    }
}

impl Kind {
    fn take(&mut self, line: &str) -> bool {
        if let Some((name, unit)) = line.split_once(" percentiles (") {
            let of = ["slat", "clat", "lat"].into_iter().find(|of| *of == name);
            let unit = unit.strip_suffix("):").and_then(nanoseconds);
            let table = of.zip(unit).map(|(of, unit)| Percentiles { of, unit, points: Vec::new() });
            self.tables.extend(table);
            return of.is_some() && unit.is_some();
        }
        if let Some(rest) = line.strip_prefix('|') {
            return self.percentiles(rest);
        }
        if line.starts_with("lat (") && line.contains("avg=") {
            let unit = between(line, "(", ")").and_then(nanoseconds);
            let ends = |name| fio_number(line, name).map(|number| number.value);
            let all = (ends("min="), ends("avg="), ends("max="), unit);
            let (Some(min), Some(avg), Some(max), Some(unit)) = all else { return false };
            // A second one is of another kind, whose first line is missing.
            if self.latency.is_some() {
                return false;
            }
            self.latency = Some([min * unit, avg * unit, max * unit]);
            return true;
        }
        // Skips the two parts of the latency, and rates over time, which it includes.
        begins(&["slat (", "clat (", "bw (", "iops "], line)
    }

    /// Reads `  1.00th=[   52],  5.00th=[   53],`; ignores a table whose heading is missing.
    fn percentiles(&mut self, rest: &str) -> bool {
        let parts = rest.split(']').map(|part| part.trim_start_matches([',', ' ']));
        let points: Option<Vec<(f64, f64)>> = parts
            .filter(|part| !part.is_empty())
            .map(|part| {
                let (percent, value) = part.split_once("th=[")?;
                Some((share(number(percent)?), number(value.trim_end_matches(['>', ' ']))?))
            })
            .collect();
        let Some(points) = points else { return false };
        if let Some(table) = self.tables.last_mut() {
            let last = table.points.last().map_or(0.0, |(q, _)| *q);
            let is_next = points.first().is_some_and(|(q, _)| *q > last);
            let unit = table.unit;
            let scaled = points.into_iter().map(|(q, value)| (q, value * unit));
            if is_next && table.points.len() < 64 {
                table.points.extend(scaled);
            } else {
                self.tables.push(Percentiles { of: "slat", unit, points: scaled.collect() });
            }
        }
        true
    }

    /// Contradiction if operations per second differ from the count over the time.
    fn contradiction(&self) -> Option<Contradiction> {
        let (count, seconds) = (self.count?, self.seconds.filter(|seconds| *seconds >= 0.5)?);
        // Jobs of one group do not end at exactly the same time.
        let counted = count / seconds;
        let counted = Printed { value: counted, step: 0.05 * counted };
        Contradiction::unless_same("rate-of-count", self.per_second, counted)
    }

    fn part(&self) -> Part {
        Part {
            name: self.name,
            per_second: self.per_second.value,
            mean_latency: self.latency.map(|[_, mean, _]| mean),
            count: self.count.unwrap_or(0.0).max(0.0) as u64,
        }
    }
}

/// Parses a number that fio shortens: `max=124k`.
fn fio_number(line: &str, name: &str) -> Option<Printed> {
    let from = line.find(name)? + name.len();
    let text = line[from..].trim_start();
    let (_, rest) = leading(text)?;
    let letter = rest.chars().next().filter(char::is_ascii_alphabetic);
    Some(printed(&text[..text.len() - rest.len()])?.times(prefix(letter, 1000.0)?))
}

/// True for lines around the results.
fn is_chatter(line: &str) -> bool {
    let words = line.split(' ').count();
    let starts = line.starts_with("Starting ") && words <= 6;
    let kinds = ["process", "processes", "thread", "threads"];
    // A client prints its server's name before the server's lines.
    let is_server = line.starts_with('<') && line.ends_with('>') && words == 1;
    (starts && kinds.iter().any(|kind| line.ends_with(kind))) || is_server || is_around("fio", line)
}

/// Reads or writes, with the values that both of fio's formats report.
pub(crate) struct Part {
    pub name: &'static str,
    pub per_second: f64,
    pub mean_latency: Option<f64>,
    pub count: u64,
}

/// Adds operations per second and mean latency, of each kind and of all, with the result of the
/// check by Little's law.
pub(crate) fn add_parts(found: &mut Found, row: &Row, parts: &[&Part], under_way: Option<f64>) {
    let parts: Vec<&Part> = parts.iter().copied().filter(|part| part.per_second > 0.0).collect();
    let all: f64 = parts.iter().map(|part| part.per_second).sum();
    let weight = |part: &Part| if part.count > 0 { part.count as f64 } else { part.per_second };
    let weights: f64 = parts.iter().map(|part| weight(part)).sum();
    let means = parts.iter().map(|part| Some(part.mean_latency? * weight(part)));
    let mean = means.sum::<Option<f64>>().filter(|_| weights > 0.0).map(|sum| sum / weights);
    let from_latency = mean.filter(|ns| *ns > 0.0).zip(under_way);
    let from_latency = from_latency.map(|(ns, under_way)| under_way * 1e9 / ns);
    let from_latency = from_latency.filter(|predicted| *predicted > 0.0);
    // More operations than their latency allows are impossible; fewer are possible, if a job was
    // not always busy.
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
        found.add(&whole, Metric::Iops, Unit::OperationsPerSecond, all);
    }
    if let Some(mean) = mean {
        found.mean(&whole, Metric::IoLatency, Unit::Nanoseconds, mean);
    }
    if let Some(predicted) = from_latency {
        let estimate = whole.with(Key::Estimate, "from-latency");
        found.add(&estimate, Metric::Iops, Unit::OperationsPerSecond, predicted);
    }
    for part in parts {
        let row = row.clone().with(Key::Operation, part.name).samples(part.count);
        found.add(&row, Metric::Iops, Unit::OperationsPerSecond, part.per_second);
        if let Some(mean) = part.mean_latency {
            found.mean(&row, Metric::IoLatency, Unit::Nanoseconds, mean);
        }
    }
}
