//! A client: one job of fio's, from a job that is data to a record that is data.
//!
//! Owns the job's text, which goes to fio over its stdin. Never starts fio at a storage that was
//! not looked at first.

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

/// fio says when it is over; where it does not for so long beyond its time, it hangs.
const OVERTIME: Nanos = Nanos::from_secs(30);
/// A file is laid out at this many octets a second at least.
const SLOWEST_LAYOUT: u64 = 1 << 20;
/// A record has to fit a message: what fio printed is kept up to this.
const MOST_KEPT: usize = 4 << 20;

/// A job that can be run.
pub struct StorageClient {
    spec: End<Storage>,
    /// The file that was laid out for it, in the place of its `filename`.
    file: Option<File>,
    location: StorageLocation,
}

impl Side for StorageClient {
    type Flow = Job;
    type Report = StorageRecord;

    /// Looks at the storage, and lays out a file where there is none.
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
        clock::rest_until(window.start, || halt.asked());
        let file = self.file.as_ref().map(nameless::inheritable).transpose()?;
        let named = file.as_ref().map(nameless::name_for_children);
        let text = text(&self.spec, named.as_deref());
        let job = format!("{text}time_based=1\nruntime={}ms\n", load.0 / 1_000_000);
        let held: &[_] = if target::only_reads(&self.spec.flow) { &["--readonly"] } else { &[] };
        let mut replaced = vec![(export_name(self.spec.identity), EXPORT.to_owned())];
        // Whoever reads the journal knows the file by the name that the job has for it.
        replaced.extend(named.map(|named| (named, self.spec.flow.filename.clone())));
        let printed = fio(&job, &replaced, held, window.stop + OVERTIME, halt)?;
        Ok(StorageRecord { location: Some(self.location), ..record(&self.spec.flow, printed)? })
    }
}

/// The file for a job whose path is free, so that no trial measures how it is laid out. It is as
/// long as all that the job reads: what fio makes longer it makes anew.
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
    copy(files.lay_out(&job.filename, octets, (clock::monotonic() + patience, halt))?)
}

/// Runs fio with this job. What it printed is kept in journals: each of `replaced` stands there as
/// the word beside it, as an export's name, which has the trial's token.
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
                return Err(FlowError::Unsuitable(format!("{refused}: {}", refused.hint)));
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

/// The job as fio reads it, of the file `named` where one was laid out; what is ours comes last and
/// holds.
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
