//! fio's text for people.
//!
//! Owns the checks of a group against its jobs' headers and its start. Never reads values that fio
//! computed from others.

use page::{Caveat, Key};

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::fio_parts::{KINDS, LITTLE, Latency, Part, Points, add_parts, in_flight};
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, behind, between, nanoseconds, number, scaled, share};
use crate::reader::Reader;
use crate::shapes::{Values, is_around};

/// Maximum number of jobs in an output.
const MOST_JOBS: usize = 4096;

/// Reader of fio's text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    group: Group,
    headers: Vec<Header>,
    begun: bool,
    /// True if a line of dots replaced further jobs like the one before.
    copies: bool,
    interrupted: bool,
    /// Number of jobs that were started, and of those that have reported.
    started: f64,
    reported: f64,
    /// Position of the output's first figure.
    first_figure: usize,
}

impl Reader for Text {
    fn begins(&self, line: &str) -> bool {
        self.group.jobs.is_some()
            && (is_around("fio.group", line) || line.starts_with("Run status"))
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(values) = Values::read("fio.group", line) {
            let name = values.text("name").unwrap_or_default();
            let jobs = values.number("jobs").filter(|_| values.number("error") == Some(0.0));
            let of_group = values.number("group");
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
            let first_depth = headers.first().and_then(|header| header.depth);
            let header = headers.into_iter().filter(|_| !lacks_header).reduce(Header::and);
            let cut = self.interrupted;
            let contradiction = jobs.and_then(|jobs| self.of_start(jobs));
            found.contradict(self.first_figure, contradiction);
            self.group = Group {
                jobs,
                header,
                first_depth,
                lacks: lacks_header,
                cut,
                contradiction,
                ..Group::default()
            };
            return true;
        }
        if line.contains(": (g=") && line.contains("rw=") {
            // The first job of a new output: nothing of the last output applies any more.
            if !std::mem::replace(&mut self.begun, true) {
                self.headers.clear();
                (self.interrupted, self.copies) = (false, false);
                (self.started, self.reported) = (0.0, 0.0);
                self.first_figure = found.figures.len();
            }
            if self.headers.len() < MOST_JOBS {
                self.headers.push(Header::parse(line));
            }
            return true;
        }
        self.begun &= !line.starts_with("Run status");
        self.copies |= line == "...";
        self.interrupted |= line.starts_with("fio: terminating on signal");
        if let Some(jobs) = started(line) {
            self.started += jobs;
            return true;
        }
        let own = self.group.jobs.is_some() && self.group.take(line);
        // A client prints its server's name before the server's lines.
        let is_server = line.starts_with('<') && line.ends_with('>') && !line.contains(' ');
        own || is_server || is_around("fio", line)
    }

    fn end(&mut self, found: &mut Found) {
        self.group.end(found);
    }
}

impl Text {
    /// Contradiction if more jobs report than were started, or if those of the only group are
    /// others.
    fn of_start(&mut self, jobs: f64) -> Option<Contradiction> {
        self.reported += jobs;
        let group = self.headers.first().map(|header| header.group);
        let is_only = self.headers.iter().all(|header| Some(header.group) == group);
        let counted = if jobs > 1.0 && is_only { self.reported } else { jobs };
        let fits = self.reported <= self.started && (jobs <= 1.0 || !is_only)
            || counted.total_cmp(&self.started).is_eq();
        (self.started > 0.0 && !fits)
            .then(|| Contradiction::new("jobs-of-start", counted, self.started))
    }
}

/// Parses `Starting 3 processes`, `Starting 2 threads and 1 process`.
fn started(line: &str) -> Option<f64> {
    let is_own = line.ends_with("process") || line.ends_with("processes");
    let is_own = is_own || line.ends_with("thread") || line.ends_with("threads");
    let rest = line.strip_prefix("Starting ").filter(|_| is_own)?;
    Some(rest.split(' ').filter_map(number).sum())
}

/// Values of a job's first line; of several jobs those that all share.
#[derive(Debug, Clone, Default)]
struct Header {
    name: String,
    group: f64,
    pattern: Option<String>,
    /// Size of reads, writes and trims.
    octets: [Option<f64>; 3],
    depth: Option<f64>,
}

impl Header {
    fn parse(line: &str) -> Self {
        let name = line.split(": (g=").next().unwrap_or_default().to_owned();
        let word = |name: &str| between(line, name, ",").map(str::to_owned);
        // Reads `bs=(R) 4096B-4096B, (W) …` of fio 3, `bs=4K-4K/4K-4K/4K-4K` of fio 2.
        let new = ["(R) ", "(W) ", "(T) "].map(|name| between(line, name, ",").and_then(range));
        let old = between(line, "bs=", ",").unwrap_or_default();
        let mut old = old.split('/').map(range);
        let octets = new.map(|own| own.or_else(|| old.next().flatten()));
        let group = behind(line, "(g=").unwrap_or(f64::NAN);
        Self { name, group, pattern: word("rw="), octets, depth: behind(line, "iodepth=") }
    }

    /// Merges the headers of two jobs.
    fn and(self, other: Self) -> Self {
        Self {
            pattern: self.pattern.filter(|own| other.pattern.as_ref() == Some(own)),
            octets: if self.octets == other.octets { self.octets } else { [None; 3] },
            depth: self.depth.filter(|own| other.depth == Some(*own)),
            ..other
        }
    }
}

/// Parses the one size of `4096B-4096B`, `64KiB-64KiB`, `4K-4K`.
fn range(text: &str) -> Option<f64> {
    let (from, to) = text.split_once('-')?;
    (from == to).then(|| scaled(from, 1024.0)).flatten().map(|octets| octets.value)
}

/// Jobs that report together.
#[derive(Debug, Default)]
struct Group {
    jobs: Option<f64>,
    header: Option<Header>,
    /// Queue depth in the group's own lines: the first job's, whose header has it too.
    depth: Option<f64>,
    first_depth: Option<f64>,
    kinds: Vec<Kind>,
    /// True if its operations were counted, which is near its end.
    is_counted: bool,
    /// True if operations were counted of a kind without a line, or a job's header is missing.
    lacks: bool,
    cut: bool,
    contradiction: Option<Contradiction>,
}

/// Reads or writes of a group.
#[derive(Debug, Default)]
struct Kind {
    name: &'static str,
    per_second: Printed,
    seconds: Option<f64>,
    octets: Option<Printed>,
    /// Latency until submission, from there to completion, and of both.
    latencies: [Option<Latency>; 3],
    tables: Vec<Percentiles>,
    count: Option<f64>,
}

/// Latencies, in the order of a kind's lines.
const LATENCIES: [&str; 3] = ["slat", "clat", "lat"];

/// Table of percentiles.
#[derive(Debug)]
struct Percentiles {
    /// Position of the measured latency.
    of: usize,
    unit: f64,
    points: Vec<(f64, f64)>,
}

impl Group {
    /// Reads a line; true if it belongs to this group.
    fn take(&mut self, line: &str) -> bool {
        let own = self.kinds.last_mut();
        if let Some(rest) = line.strip_prefix('|') {
            return own.is_some_and(|kind| kind.percentiles(rest));
        }
        // Skips rates over time.
        if begins(&["bw (", "iops "], line) {
            return own.is_some();
        }
        let Some(values) = Values::read("fio.kind", line) else { return false };
        if values.text("rate").is_some() {
            let kind = Kind::parse(&values);
            let is_kind = kind.is_some();
            self.kinds.extend(kind);
            return is_kind;
        }
        if values.text("read").is_some() {
            self.counted(&values);
            return true;
        }
        if values.text("depth").is_some() {
            self.depth = values.number("depth");
            // With a target it is the depth that was found.
            self.first_depth = self.first_depth.filter(|_| values.number("target") == Some(0.0));
            return true;
        }
        own.is_some_and(|kind| kind.take(&values))
    }

    /// Reads the number of operations of each kind.
    fn counted(&mut self, values: &Values) {
        self.is_counted = true;
        for name in KINDS {
            let count = values.number(name);
            let own = self.kinds.iter_mut().find(|kind| kind.name == name);
            self.lacks |= own.is_none() && count > Some(0.0);
            if let Some(kind) = own {
                kind.count = count;
            }
        }
    }

    fn end(&mut self, found: &mut Found) {
        let Some(jobs) = self.jobs.take() else { return };
        let depth = self.depth.filter(|_| !self.lacks);
        let has_header = self.header.is_some();
        let header = self.header.take().unwrap_or_default();
        let whole = |number: f64| number.max(0.0) as u64;
        let kinds = std::mem::take(&mut self.kinds);
        let size = |kind: &Kind| header.octets[KINDS.iter().position(|of| *of == kind.name)?];
        let mut sizes = kinds.iter().map(&size);
        let first = sizes.next().flatten();
        let size_of_all = first.filter(|first| sizes.all(|size| size == Some(*first)));
        let contradictions = kinds.iter().map(|kind| kind.contradiction(size(kind)));
        let contradiction = contradictions.fold(None, Option::or);
        let parts: Vec<Part> = kinds.into_iter().map(Kind::part).collect();
        // Without headers the first job's depth is all jobs' only if their latency says so.
        let fits = |depth: &f64| {
            let own = in_flight(&parts).map(|own| Printed::near(own, LITTLE));
            jobs <= 1.0 || Contradiction::unless_same("", jobs * depth, own).is_none()
        };
        let depth = if has_header { header.depth } else { depth.filter(fits) };
        let row = Row::new("fio")
            .with(Key::Jobs, whole(jobs))
            .with_known(Key::IoDepth, depth.map(whole))
            .with_known(Key::BlockSize, size_of_all.map(whole))
            .with_known(Key::Pattern, header.pattern.clone())
            .doubting_if(self.lacks, Caveat::UnreadLines)
            .doubting_if(self.cut || !self.is_counted, Caveat::CutOff)
            .contradicted(self.contradiction)
            .unless_same("depth-of-job", self.first_depth, self.depth)
            .contradicted(contradiction);
        add_parts(found, &row, &parts, depth.map(|depth| jobs * depth));
    }
}

impl Kind {
    /// Parses `read: IOPS=17.0k, BW=…` of fio 3, `read : io=…, bw=…, iops=8042, runt=…` of fio 2.
    fn parse(values: &Values) -> Option<Self> {
        let name = KINDS.into_iter().find(|name| values.text("name") == Some(name))?;
        let per_second = scaled(values.text("rate")?, 1000.0)?;
        let seconds = values.number("milliseconds").map(|ms| ms / 1e3);
        // The units of fio 2 are powers of two as well.
        let octets = values.text("moved").and_then(|text| scaled(text, 1024.0));
        Some(Self { name, per_second, seconds, octets, ..Self::default() })
    }

    /// Reads the heading of a table, or a latency.
    fn take(&mut self, values: &Values) -> bool {
        let Some(unit) = values.text("unit").and_then(nanoseconds) else { return false };
        let at = |name: &str| LATENCIES.iter().position(|own| values.text(name) == Some(own));
        if let Some(of) = at("of") {
            self.tables.push(Percentiles { of, unit, points: Vec::new() });
            return true;
        }
        let Some(place) = at("latency").map(|at| &mut self.latencies[at]) else { return false };
        let read = latency(values, unit);
        // A second one is of another kind, whose first line is missing.
        let is_new = read.is_some() && place.is_none();
        *place = place.or(read);
        is_new
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
            let in_ns = points.into_iter().map(|(q, value)| (q, value * unit));
            if is_next && table.points.len() < 64 {
                table.points.extend(in_ns);
            } else {
                self.tables.push(Percentiles { of: 0, unit, points: in_ns.collect() });
            }
        }
        true
    }

    /// Contradiction among the kind's lines, and with the size of its operations.
    fn contradiction(&self, size: Option<f64>) -> Option<Contradiction> {
        let counted = self.count.zip(self.seconds.filter(|seconds| *seconds >= 0.5));
        // Jobs of one group do not end at exactly the same time.
        let counted = counted.map(|(count, seconds)| Printed::near(count / seconds, 0.05));
        let rate = Contradiction::unless_same("rate-of-count", self.per_second, counted);
        let counted = self.count.zip(size).map(|(count, size)| Printed::near(count * size, 0.01));
        // 19.98 MiB are printed as 19.0 by some versions.
        let octets = self.octets.map(|octets| octets.plus_step(9.0 * octets.step));
        let moved = || Contradiction::unless_same("octets-of-count", octets, counted);
        let n = self.count.unwrap_or(0.0) as u64;
        let of_table = |table: &Percentiles| {
            let Latency { ends: [_, mean, _], step, .. } = self.latencies[table.of]?;
            Described::new(&table.points, Some(mean)).with(None, step).contradiction(n)
        };
        let tables = || self.tables.iter().find_map(of_table);
        let latencies = || Latency::contradiction(self.latencies, self.count);
        rate.or_else(moved).or_else(latencies).or_else(tables)
    }

    fn part(self) -> Part {
        let told = self.latencies[2].map(|lat| lat.ends);
        // Of submissions no quantiles are imported.
        let tables = self.tables.into_iter().filter(|table| table.of > 0);
        Part {
            name: self.name,
            per_second: self.per_second.value,
            mean_latency: told.map(|[_, mean, _]| mean),
            count: self.count.map(|count| count.max(0.0) as u64),
            ends: told.map(|[least, _, most]| (least, most)),
            tables: tables.map(|of| Points { points: of.points, is_whole: of.of == 2 }).collect(),
        }
    }
}

/// Parses `min=46, max=124k, avg=445.38, stdev=501.52`.
fn latency(values: &Values, unit: f64) -> Option<Latency> {
    let of = |name| scaled(values.text(name)?, 1000.0).map(|number| number.times(unit));
    let (least, mean, most) = (of("least")?, of("mean")?, of("most")?);
    let deviation = of("deviation").map(|number| number.value);
    let ends = [least.value, mean.value, most.value];
    Some(Latency { ends, deviation, step: least.step.max(most.step), mean_step: mean.step })
}
