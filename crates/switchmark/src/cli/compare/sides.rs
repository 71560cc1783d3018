//! Which two things are compared: runs of the journal, or devices of one of them.
//!
//! Owns the reading of `RUN/DEVICE:VARIANT`. Never compares.

use measure::{Nanos, UnitError};
use method::Figure;
use method::comparison::{Side, per_block};
use method::figure::Condition;
use method::trial::Subject;
use record::{RunMeta, Store};

use crate::cli::Failure;
use crate::cli::output::Finished;
use crate::cli::report;
use crate::config::ConfigError;

/// Both sides, with what they were found from.
pub struct Sides {
    reference: Loaded,
    subject: Loaded,
}

struct Loaded {
    run: Finished,
    blocks: Vec<Vec<Figure>>,
    subject: Option<Subject>,
    name: String,
}

/// As it is written on the command line.
struct Asked<'a> {
    run: &'a str,
    device: Option<Subject>,
}

impl Sides {
    /// From the journal.
    pub fn load(store: &Store, runs: &[String], baseline: Option<&str>) -> Result<Self, Failure> {
        let asked: Vec<Asked<'_>> =
            baseline.into_iter().chain(runs.iter().map(String::as_str)).map(Asked::parse).collect();
        let (mut reference, mut subject) = match &asked[..] {
            [one] => two_of_one(store, one)?,
            [reference, subject] => (load(store, reference)?, load(store, subject)?),
            _ => {
                let hint = "name one run beside --baseline, or two without it";
                return Err(ConfigError::bare("compare: three runs were named", hint).into());
            }
        };
        let same = reference.run.meta.id == subject.run.meta.id;
        if same && reference.subject == subject.subject {
            let message = format!("compare: both sides are {}", reference.name);
            let hint = "name two runs, or two devices of one: RUN/DEVICE RUN/DEVICE";
            return Err(ConfigError::bare(message, hint).into());
        }
        if reference.name == subject.name {
            for side in [&mut reference, &mut subject] {
                side.name.clone_from(&side.run.meta.id);
            }
        }
        Ok(Self { reference, subject })
    }

    /// Reference and subject, to be compared.
    pub fn both(&self) -> (Side<'_>, Side<'_>) {
        (self.reference.side(), self.subject.side())
    }

    /// The reference's run.
    pub const fn reference_meta(&self) -> &RunMeta {
        &self.reference.run.meta
    }

    /// The subject's run.
    pub const fn subject_meta(&self) -> &RunMeta {
        &self.subject.run.meta
    }
}

impl Loaded {
    fn side(&self) -> Side<'_> {
        Side {
            name: &self.name,
            run: &self.run.meta.id,
            subject: self.subject.as_ref(),
            figures: &self.run.figures,
            blocks: &self.blocks,
        }
    }
}

impl<'a> Asked<'a> {
    fn parse(text: &'a str) -> Self {
        let Some((run, device)) = text.split_once('/') else {
            return Self { run: text, device: None };
        };
        let (device, variant) = match device.split_once(':') {
            Some((device, variant)) => (device, Some(variant.to_owned())),
            None => (device, None),
        };
        Self { run, device: Some(Subject { device: device.to_owned(), variant }) }
    }
}

fn load(store: &Store, asked: &Asked<'_>) -> Result<Loaded, Failure> {
    let run = report::replay(store, asked.run)?;
    let known = subjects(&run.figures);
    let subject = match (&asked.device, &known[..]) {
        (Some(device), _) if known.contains(device) => Some(device.clone()),
        (Some(device), _) => {
            let message = format!("run `{}` has no figures of `{}`", run.meta.id, name(device));
            return Err(ConfigError::bare(message, among(&known)).into());
        }
        (None, [] | [_]) => known.first().cloned(),
        (None, _) => {
            let message = format!("run `{}` has several devices", run.meta.id);
            return Err(ConfigError::bare(message, among(&known)).into());
        }
    };
    of(run, subject)
}

/// A run alone: its two devices.
fn two_of_one(store: &Store, asked: &Asked<'_>) -> Result<(Loaded, Loaded), Failure> {
    let run = report::replay(store, asked.run)?;
    let known = subjects(&run.figures);
    let [first, second] = &known[..] else {
        let found = if known.len() == 1 { "one device" } else { "not two devices" };
        let message = format!("compare: run `{}` has {found}", run.meta.id);
        return Err(ConfigError::bare(message, among(&known)).into());
    };
    let again = report::replay(store, asked.run)?;
    Ok((of(run, Some(first.clone()))?, of(again, Some(second.clone()))?))
}

fn of(run: Finished, subject: Option<Subject>) -> Result<Loaded, Failure> {
    let blocks = per_block(&run.meta.studies, &run.meta.topology, &run.records, run.meta.seed)?;
    let name = subject.as_ref().map_or_else(|| run.meta.id.clone(), name);
    Ok(Loaded { run, blocks, subject, name })
}

/// The devices that have figures, in the run's order.
fn subjects(figures: &[Figure]) -> Vec<Subject> {
    let text = |figure: &Figure, name: &str| match figure.conditions.get(name) {
        Some(Condition::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let mut known: Vec<Subject> = Vec::new();
    for figure in figures.iter().filter(|f| text(f, "path").as_deref() != Some("bypass")) {
        let Some(device) = text(figure, "device") else { continue };
        let subject = Subject { device, variant: text(figure, "variant") };
        if !known.contains(&subject) {
            known.push(subject);
        }
    }
    known
}

fn name(subject: &Subject) -> String {
    match &subject.variant {
        Some(variant) => format!("{}:{variant}", subject.device),
        None => subject.device.clone(),
    }
}

fn among(known: &[Subject]) -> String {
    let names: Vec<String> = known.iter().map(name).collect();
    format!("name two runs, or a run's device as RUN/DEVICE; this one has: {}", names.join(", "))
}

/// A share: `1%`, `0.01`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, divisor) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share =
        number.parse::<f64>().map_err(|_| format!("`{text}` is no share such as 1%"))? / divisor;
    if share > 0.0 && share < 1.0 {
        Ok(share)
    } else {
        Err("a share lies between 0 and 100 %".to_owned())
    }
}

/// How long a storage's operation takes: `800us`.
pub fn operation(text: &str) -> Result<Nanos, String> {
    let latency: Nanos = text.parse().map_err(|e: UnitError| e.to_string())?;
    if latency > Nanos::ZERO { Ok(latency) } else { Err("an operation takes time".to_owned()) }
}
