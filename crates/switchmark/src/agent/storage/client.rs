//! A client: one job of fio's, from a job that is data to a record that is data.
//!
//! Owns the job's text, which goes to fio over its stdin. Never writes a file of its own, and never
//! starts fio at a storage that was not looked at first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Child, Stdio};

use dataplane::{End, FlowError, Halt, Window, clock};
use import::fio;
use measure::{Histogram, Nanos};
use trial::record::{OperationsRecord, ServerRecord, StorageRecord};
use trial::{Pattern, Storage};

use super::server::{EXPORT, export_name};
use super::{contents, end, find, last_words, leashed, scratch, target, wait};
use crate::agent::cancel::Cancel;
use crate::fio_options::{self, Admitted};

/// fio says when it is over; where it does not for so long beyond its time, it hangs.
const OVERTIME: Nanos = Nanos::from_secs(30);
/// A file is laid out at this many octets a second at least.
const SLOWEST_LAYOUT: u64 = 1 << 20;
/// A record has to fit a message: what fio printed is kept up to this.
const MOST_KEPT: usize = 4 << 20;

/// A job that can be run.
pub struct Client {
    spec: End<Storage>,
    reins: Cancel,
}

impl Client {
    /// Looks at the storage, and lays out a file that is not there yet.
    pub fn prepare(spec: &End<Storage>, reins: &Cancel) -> Result<Self, FlowError> {
        let spec = spec.with(admitted(&spec.flow)?);
        find("fio")?;
        if target::must_be_laid_out(&spec.flow, reins)? {
            lay_out(&spec, reins)?;
        }
        Ok(Self { spec, reins: reins.clone() })
    }

    /// Runs fio from the window's start for as long as the window's load lasts.
    pub fn run(self, window: Window, halt: &Halt) -> Result<StorageRecord, FlowError> {
        let load = window.stop.saturating_sub(window.start);
        clock::rest_until(window.start, || halt.asked());
        let job = format!("{}time_based=1\nruntime={}ms\n", text(&self.spec), load.0 / 1_000_000);
        let held: &[_] = if target::only_reads(&self.spec.flow) { &["--readonly"] } else { &[] };
        let born = target::birth(&self.spec.flow, &self.reins);
        let printed = fio(&job, &self.spec, held, window.stop + OVERTIME, halt);
        target::renote(&self.spec.flow, &self.reins, born)?;
        record(&self.spec.flow, printed?)
    }
}

/// Runs fio with this job. What it printed is kept in journals, and an export's name has the
/// trial's token.
fn fio(
    job: &str,
    spec: &End<Storage>,
    flags: &[&str],
    until: Nanos,
    halt: &Halt,
) -> Result<String, FlowError> {
    let secret = export_name(spec.identity);
    let contents = |file: &_| contents(file).map(|text| text.replace(&secret, EXPORT));
    let [output, complaints] = [scratch()?, scratch()?];
    let pipe = |file: &std::fs::File| {
        file.try_clone().map(Stdio::from).map_err(|e| FlowError::kernel("open", "a pipe", e))
    };
    let mut child = leashed(&find("fio")?)
        .args(flags)
        .args(["--output-format=json+", "-"])
        .stdin(Stdio::piped())
        .stdout(pipe(&output)?)
        .stderr(pipe(&complaints)?)
        .spawn()
        .map_err(|e| FlowError::kernel("start", "fio", e))?;
    let given = child.stdin.take().map(|mut stdin| stdin.write_all(job.as_bytes()));
    let ended = watch(&mut child, until, halt);
    let said = contents(&complaints)?;
    match (ended?, given) {
        (true, _) => {}
        (false, _) if halt.asked() => {
            return Err(FlowError::Unsuitable("fio was ended: the trial is over".into()));
        }
        (false, _) => {
            return Err(FlowError::Unsuitable(format!(
                "fio hangs, and was ended: {}",
                last_words(&said)
            )));
        }
    }
    let printed = contents(&output)?;
    let status = child.wait().map_err(|e| FlowError::kernel("wait for", "fio", e))?;
    if status.success() {
        return Ok(printed);
    }
    let before_json = printed.split("\n{").next().unwrap_or_default();
    let words = if said.trim().is_empty() { before_json } else { &said };
    Err(FlowError::Unsuitable(format!("fio failed ({status}): {}", last_words(words))))
}

fn watch(child: &mut Child, until: Nanos, halt: &Halt) -> Result<bool, FlowError> {
    let ended = wait(child, until, halt);
    if !matches!(ended, Ok(true)) {
        end(child);
    }
    ended
}

/// Fills a file that is to be, so that no trial measures that.
fn lay_out(spec: &End<Storage>, reins: &Cancel) -> Result<(), FlowError> {
    let octets = target::size(&spec.flow);
    let patience = Nanos::from_secs(10 + octets.unwrap_or(0) / SLOWEST_LAYOUT);
    let until = clock::monotonic() + patience;
    let file = target::make(&spec.flow, reins)?;
    target::fill(&file, &spec.flow, until)?;
    // Whatever else its options ask for, fio lays out.
    let job = format!("{}create_only=1\n", text(spec));
    let born = target::birth(&spec.flow, reins);
    let laid_out = fio(&job, spec, &[], until, &Halt::new()).map(drop);
    target::renote(&spec.flow, reins, born)?;
    laid_out
}

/// The job with the options that are known to do no harm, as a job file's are, whoever asks.
fn admitted(job: &Storage) -> Result<Storage, FlowError> {
    let mut options = BTreeMap::new();
    for (name, value) in &job.options {
        match fio_options::admit(name, value) {
            Ok(Admitted::Passed(value)) => {
                options.insert(name.clone(), value);
            }
            Ok(Admitted::Ours) => {}
            Err(refused) => {
                return Err(FlowError::Unsuitable(format!(
                    "{}: {}",
                    refused.message, refused.hint
                )));
            }
        }
    }
    // A line of its own for each: neither may end it, or begin a comment.
    let place = job.filename.replace(':', "");
    let engine = job.ioengine.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !engine || !fio_options::is_plain_path(&place) {
        let (engine, place) = (&job.ioengine, &job.filename);
        return Err(FlowError::Unsuitable(format!(
            "fio reads `{engine}` or `{place}` as more than that"
        )));
    }
    Ok(Storage { options, ..job.clone() })
}

/// The job as fio reads it; what is ours comes last and holds.
fn text(spec: &End<Storage>) -> String {
    let job = &spec.flow;
    let mut out = "[switchmark]\n".to_owned();
    for (name, value) in &job.options {
        let _ = writeln!(out, "{name}={value}");
    }
    let random = if job.pattern == Pattern::Random { "rand" } else { "" };
    let rw = match job.rwmixread {
        100 => format!("{random}read"),
        0 => format!("{random}write"),
        _ => format!("{random}rw"),
    };
    let _ = write!(
        out,
        "ioengine={}\nrw={rw}\nbs={}\nnumjobs={}\niodepth={}\n\
         group_reporting=1\nthread=1\nlat_percentiles=1\n",
        job.ioengine, job.bs.0, job.numjobs, job.iodepth
    );
    if (1..100).contains(&job.rwmixread) {
        let _ = writeln!(out, "rwmixread={}", job.rwmixread);
    }
    if let Some(server) = job.server {
        let name = export_name(spec.identity);
        let _ = write!(out, "uri=nbd://{}/{name}\nsize={}\n", spec.remote, server.size.0);
    } else if !job.filename.is_empty() {
        let name = if job.ioengine == "nbd" { "uri" } else { "filename" };
        let _ = writeln!(out, "{name}={}", job.filename);
    }
    out
}

fn record(job: &Storage, printed: String) -> Result<StorageRecord, FlowError> {
    let read = fio::run(&printed);
    let kinds = read.map_err(|e| FlowError::Unsuitable(format!("read what fio printed: {e}")))?;
    let of = |kind: &str| kinds.iter().find(|found| found.kind == kind);
    let (count, rate) = kinds
        .iter()
        .filter(|found| found.kind != "trim")
        .fold((0, 0.0), |(count, rate), found| (count + found.count, rate + found.per_second));
    if count == 0 || rate <= 0.0 {
        return Err(FlowError::Unsuitable("fio completed no read or write".into()));
    }
    Ok(StorageRecord {
        numjobs: job.numjobs,
        iodepth: job.iodepth,
        bs: job.bs,
        reads: of("read").map(operations).unwrap_or_default(),
        writes: of("write").map(operations).unwrap_or_default(),
        elapsed: Nanos((count as f64 / rate * 1e9) as u64),
        fio: Some(printed).filter(|text| text.len() <= MOST_KEPT),
        server: ServerRecord::default(),
    })
}

fn operations(found: &fio::Operations) -> OperationsRecord {
    let mut latency = Histogram::new();
    for (ns, count) in &found.bins {
        latency.record_many(Nanos(*ns), *count);
    }
    OperationsRecord {
        count: found.count,
        octets: measure::ByteCount(found.octets),
        errors: 0,
        latency,
        mean: found.mean,
        submitting: found.submitting,
    }
}
