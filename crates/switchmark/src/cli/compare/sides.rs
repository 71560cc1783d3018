//! The two sides of a comparison: runs of the journal, or devices of one of them.
//!
//! Owns the reading of `RUN/DEVICE:VARIANT` and of a campaign's `RUN/FACTOR=LEVEL`. Never compares.

use journal::Store;
use measure::{Nanos, UnitError};
use page::{Answer, Figure, Page};
use study::StudySpec;
use study::comparison::{Compared, Level, Side, is_compared, metric_label, subjects};
use study::run::RunMeta;
use trial::Subject;

use crate::cli::Failure;
use crate::cli::figures::{self, RunFigures};
use crate::config::{ConfigError, suggest};

/// Reference and subject, with the runs that they come from.
pub struct Sides {
    reference: Loaded,
    subject: Loaded,
}

struct Loaded {
    run: RunFigures,
    part: Part,
    name: String,
    /// Label of the run, if all of it is compared.
    label: Option<String>,
}

/// Part of a run that is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Whole run, of its one device.
    Whole,
    Subject(Subject),
    /// Factor and level of a campaign.
    Level(String, String),
}

/// Side as written on the command line.
struct Asked<'a> {
    run: &'a str,
    part: Part,
}

impl Sides {
    /// Loads both sides from the journal, or the baseline from its own journal if it has one.
    pub fn load(
        store: &Store,
        runs: &[String],
        baseline: Option<(&str, &Store)>,
    ) -> Result<Self, Failure> {
        let (baseline, before) = baseline.unzip();
        let before = before.unwrap_or(store);
        let asked: Vec<Asked<'_>> =
            baseline.into_iter().chain(runs.iter().map(String::as_str)).map(Asked::parse).collect();
        let (mut reference, mut subject) = match &asked[..] {
            [one] => two_of_one(store, one)?,
            [reference, subject] => (load(before, reference)?, load(store, subject)?),
            _ => {
                let hint = "name one run beside --baseline, or two without it";
                return Err(ConfigError::bare("compare: three runs were named", hint).into());
            }
        };
        let same = reference.run.meta.id == subject.run.meta.id;
        if same && reference.part == subject.part {
            let message = format!("compare: both sides are {}", reference.name);
            let hint = "name two runs, or two devices of one: RUN/DEVICE RUN/DEVICE";
            return Err(ConfigError::bare(message, hint).into());
        }
        if !same {
            name_apart(&mut reference, &mut subject);
        }
        Ok(Self { reference, subject })
    }

    /// Keeps the figures of these names alone; all of them if none is named.
    pub fn only(mut self, names: &[String]) -> Result<Self, Failure> {
        if names.is_empty() {
            return Ok(self);
        }
        let mut known: Vec<String> = Vec::new();
        for figure in self.reference.run.figures.iter().chain(&self.subject.run.figures) {
            let name = metric_label(figure);
            if is_compared(figure) && !known.contains(&name) {
                known.push(name);
            }
        }
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            let message = format!("compare: neither run has a figure `{name}`");
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(ConfigError::bare(message, suggest::hint(name, &known)).into());
        }
        let is_wanted = |figure: &Figure| names.contains(&metric_label(figure));
        for side in [&mut self.reference, &mut self.subject] {
            side.run.figures.retain(is_wanted);
            side.run.comparable.retain(names);
        }
        Ok(self)
    }

    /// Reference and subject, to be compared.
    pub fn both(&self) -> (Side<'_>, Side<'_>) {
        (self.reference.side(), self.subject.side())
    }

    /// Returns the comparison as a page, `first` before all other answers.
    pub fn page(&self, compared: &Compared, first: Option<Answer>) -> Page {
        let metas = [self.reference_meta(), self.subject_meta()];
        compared.page(metas, first, self.subject_figures())
    }

    /// All figures of the subject's run.
    pub fn subject_figures(&self) -> &[Figure] {
        &self.subject.run.figures
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

/// Two runs by what people call them, where they do: the file of a testbed calls both switches
/// `sw1`. Otherwise by their devices, and where these are called alike, by the runs' ids.
fn name_apart(reference: &mut Loaded, subject: &mut Loaded) {
    let alike = reference.name == subject.name;
    match (reference.label.take(), subject.label.take()) {
        (Some(one), Some(other)) if one != other => {
            (reference.name, subject.name) = (one, other);
        }
        _ if alike => {
            for side in [reference, subject] {
                side.name.clone_from(&side.run.meta.id);
            }
        }
        _ => {}
    }
}

impl Loaded {
    fn side(&self) -> Side<'_> {
        let (subject, level) = match &self.part {
            Part::Whole => (None, None),
            Part::Subject(subject) => (Some(subject), None),
            Part::Level(factor, level) => (None, Some(Level { factor, level })),
        };
        Side {
            name: &self.name,
            run: &self.run.meta.id,
            subject,
            level,
            figures: &self.run.figures,
            comparable: &self.run.comparable,
        }
    }
}

impl<'a> Asked<'a> {
    fn parse(text: &'a str) -> Self {
        let Some((run, part)) = text.split_once('/') else {
            return Self { run: text, part: Part::Whole };
        };
        if let Some((factor, level)) = part.split_once('=') {
            return Self { run, part: Part::Level(factor.to_owned(), level.to_owned()) };
        }
        let (device, variant) = match part.split_once(':') {
            Some((device, variant)) => (device, Some(variant.to_owned())),
            None => (part, None),
        };
        Self { run, part: Part::Subject(Subject { device: device.to_owned(), variant }) }
    }
}

fn load(store: &Store, asked: &Asked<'_>) -> Result<Loaded, Failure> {
    let run = figures::load(store, asked.run)?;
    let known = subjects(&run.figures);
    let id = &run.meta.id;
    let part = match (&asked.part, &known[..]) {
        (Part::Level(factor, level), _) => {
            check_level(&run, factor, level)?;
            asked.part.clone()
        }
        (Part::Subject(device), _) if known.contains(device) => asked.part.clone(),
        (Part::Subject(device), _) => {
            let message = format!("run `{id}` has no figures of `{}`", name(device));
            return Err(ConfigError::bare(message, among(&known)).into());
        }
        (Part::Whole, []) => Part::Whole,
        (Part::Whole, [one]) => Part::Subject(one.clone()),
        (Part::Whole, _) => {
            let message = format!("run `{id}` has several devices");
            return Err(ConfigError::bare(message, among(&known)).into());
        }
    };
    let label = match asked.part {
        Part::Whole => store.summary(id)?.label,
        Part::Subject(_) | Part::Level(..) => None,
    };
    Ok(Loaded { label, ..load_part(run, part) })
}

fn check_level(run: &RunFigures, factor: &str, level: &str) -> Result<(), Failure> {
    let id = &run.meta.id;
    let Some(spec) = run.meta.studies.iter().find_map(StudySpec::campaign) else {
        let hint = "only a campaign's factors have levels: RUN/DEVICE or RUN/DEVICE:VARIANT";
        return Err(ConfigError::bare(format!("run `{id}` is no campaign"), hint).into());
    };
    let factors: Vec<&str> = spec.factors.iter().map(|factor| factor.name.as_str()).collect();
    let Some(found) = spec.factors.iter().find(|known| known.name == factor) else {
        let message = format!("run `{id}` has no factor `{factor}`");
        return Err(ConfigError::bare(message, suggest::hint(factor, &factors)).into());
    };
    let levels: Vec<&str> = found.levels.iter().map(|level| level.name.as_str()).collect();
    if levels.contains(&level) {
        return Ok(());
    }
    let message = format!("factor `{factor}` of run `{id}` has no level `{level}`");
    Err(ConfigError::bare(message, suggest::hint(level, &levels)).into())
}

/// A run alone: its two devices, or the first two levels of a campaign's first factor that has two.
fn two_of_one(store: &Store, asked: &Asked<'_>) -> Result<(Loaded, Loaded), Failure> {
    let run = figures::load(store, asked.run)?;
    let campaign = run.meta.studies.iter().find_map(StudySpec::campaign);
    let varied = campaign.and_then(|spec| {
        spec.factors.iter().find(|factor| factor.levels.len() > 1 && !factor.is_size())
    });
    let known = subjects(&run.figures);
    let (first, second) = match (varied, &known[..]) {
        (Some(factor), _) => {
            let part = |at: usize| Part::Level(factor.name.clone(), factor.levels[at].name.clone());
            (part(0), part(1))
        }
        (None, [first, second]) => (Part::Subject(first.clone()), Part::Subject(second.clone())),
        (None, _) => {
            let found = if known.len() == 1 { "one device" } else { "not two devices" };
            let message = format!("compare: run `{}` has {found}", run.meta.id);
            return Err(ConfigError::bare(message, among(&known)).into());
        }
    };
    Ok((load_part(run.clone(), first), load_part(run, second)))
}

fn load_part(run: RunFigures, part: Part) -> Loaded {
    let name = match &part {
        Part::Whole => run.meta.id.clone(),
        Part::Subject(subject) => name(subject),
        Part::Level(factor, level) => format!("{factor} {level}"),
    };
    Loaded { run, part, name, label: None }
}

pub fn name(subject: &Subject) -> String {
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

/// Parses the duration of a storage operation: `800us`.
pub fn operation(text: &str) -> Result<Nanos, String> {
    let latency: Nanos = text.parse().map_err(|e: UnitError| e.to_string())?;
    if latency > Nanos::ZERO { Ok(latency) } else { Err("an operation takes time".to_owned()) }
}
