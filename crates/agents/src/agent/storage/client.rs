//! The client side: runs one fio job, from structured parameters to a structured record.
//!
//! Owns the job's text, which goes to fio over its stdin. Never starts fio without checking the
//! storage first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::sync::PoisonError;

use dataplane::{End, FlowError, Halt, Side, Window, clock};
use import::fio;
use measure::{Histogram, Nanos};
use trial::record::{OperationsRecord, ServerRecord, StorageLocation, StorageRecord};
use trial::{Pattern, Storage};

use super::server::{EXPORT, export_name};
use super::{
    Files, Job, contents, end, find, last_words, leashed, location, nameless, scratch, target, wait,
};
use crate::fio_options::{self, Admitted};

/// Time that fio may take beyond the job's end; after it, fio has hung.
const OVERTIME: Nanos = Nanos::from_secs(30);
/// Minimum speed of laying out a file, in octets a second.
const SLOWEST_LAYOUT: u64 = 1 << 20;
/// Maximum size of fio's output in a record, so that it fits a message.
const MOST_KEPT: usize = 4 << 20;

/// A job that is ready to run.
pub struct StorageClient {
    spec: End<Storage>,
    /// File laid out for the job, used in place of its `filename`; `None` if none was needed.
    file: Option<File>,
    location: StorageLocation,
}

impl Side for StorageClient {
    type Flow = Job;
    type Report = StorageRecord;

    /// Checks the storage, and lays out a file if there is none.
    fn open(end: &End<Job>, halt: &Halt) -> Result<Self, FlowError> {
        let Job { asked, files } = &end.flow;
        let spec = end.with(admitted(asked)?);
        find("fio")?;
        let file = laid_out(&spec.flow, files, halt)?;
        let location = location::locate(&spec.flow, file.as_ref());
        Ok(Self { spec, file, location })
    }

    /// Runs fio from the window's start for as long as the window's load lasts.
    fn run(self, window: Window, halt: &Halt) -> Result<StorageRecord, FlowError> {
        let load = window.stop.saturating_sub(window.start);
        clock::rest_until(window.start, || halt.is_requested());
        let file = self.file.as_ref().map(nameless::inheritable).transpose()?;
        let named = file.as_ref().map(nameless::name_for_children);
        let text = text(&self.spec, named.as_deref());
        let job = format!("{text}time_based=1\nruntime={}ms\n", load.0 / 1_000_000);
        let held: &[_] = if target::only_reads(&self.spec.flow) { &["--readonly"] } else { &[] };
        let mut replaced = vec![(export_name(self.spec.identity), EXPORT.to_owned())];
        // The journal has the file's name from the job.
        replaced.extend(named.map(|named| (named, self.spec.flow.filename.clone())));
        let printed = fio(&job, &replaced, held, window.stop + OVERTIME, halt)?;
        Ok(StorageRecord { location: Some(self.location), ..record(&self.spec.flow, printed)? })
    }
}

/// Lays out the file of a job whose path is free, so that no trial measures the layout. It is as
/// long as everything that the job reads: fio would lay out a shorter one again.
fn laid_out(job: &Storage, files: &Files, halt: &Halt) -> Result<Option<File>, FlowError> {
    let octets = target::octets(job);
    let copy = |file: &File| {
        file.try_clone().map(Some).map_err(|e| FlowError::kernel("open", &job.filename, e))
    };
    let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
    if target::is_path(job)
        && let Some(file) = files.get(&job.filename, octets)
    {
        return copy(file);
    }
    if !target::must_be_laid_out(job)? {
        return Ok(None);
    }
    let patience = Nanos::from_secs(10 + octets / SLOWEST_LAYOUT);
    copy(files.lay_out(&job.filename, octets, clock::monotonic() + patience, halt)?)
}

/// Runs fio with this job and returns its output for journals. Each word of `replaced` is exchanged
/// for its replacement, such as an export's name, which contains the trial's token.
fn fio(
    job: &str,
    replaced: &[(String, String)],
    flags: &[&str],
    until: Nanos,
    halt: &Halt,
) -> Result<String, FlowError> {
    let contents = |file: &File| -> Result<String, FlowError> {
        let text = contents(file)?;
        Ok(replaced.iter().fold(text, |text, (word, by)| text.replace(word, by)))
    };
    let [output, complaints] = [scratch()?, scratch()?];
    let pipe = |file: &File| {
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
        (false, _) if halt.is_requested() => {
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

/// Returns the job with only harmless options, checked as for a job file, whoever sends it.
fn admitted(job: &Storage) -> Result<Storage, FlowError> {
    let mut options = BTreeMap::new();
    for (name, value) in &job.options {
        match fio_options::admit(name, value) {
            Ok(Admitted::Passed(value)) => {
                options.insert(name.clone(), value);
            }
            Ok(Admitted::Ours) => {}
            Err(refused) => {
                return Err(FlowError::Unsuitable(format!("{refused}: {}", refused.hint)));
            }
        }
    }
    // Each is on a line of its own: neither may end it, or begin a comment.
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

/// Writes the job for fio, with the file `named` if one was laid out; our own options come last and
/// take precedence.
fn text(spec: &End<Storage>, named: Option<&str>) -> String {
    let job = &spec.flow;
    let mut out = "[switchmark]\n".to_owned();
    for (name, value) in &job.options {
        let _ = writeln!(out, "{name}={value}");
    }
    let random = if job.pattern == Pattern::Random { "rand" } else { "" };
    let rw = match job.rwmixread.get() {
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
    if (1..100).contains(&job.rwmixread.get()) {
        let _ = writeln!(out, "rwmixread={}", job.rwmixread);
    }
    if let Some(server) = job.server {
        let name = export_name(spec.identity);
        let _ = write!(out, "uri=nbd://{}/{name}\nsize={}\n", spec.remote, server.size.0);
    } else if let Some(named) = named {
        let _ = writeln!(out, "filename={named}");
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
        numjobs: job.numjobs.get(),
        iodepth: job.iodepth.get(),
        bs: job.bs,
        reads: of("read").map(operations).unwrap_or_default(),
        writes: of("write").map(operations).unwrap_or_default(),
        elapsed: Nanos((count as f64 / rate * 1e9) as u64),
        fio: Some(printed).filter(|text| text.len() <= MOST_KEPT),
        server: ServerRecord::default(),
        location: None,
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
