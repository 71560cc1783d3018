//! From a request to a finished run: testbed up, journal open, studies run, testbed gone.
//!
//! Owns the order in which side effects happen, and what becomes of a run that is interrupted.
//! Never reads a flag's meaning: a request is complete.

use std::path::Path;

use agents::controller::deed_notes::Origin;
use agents::controller::{Stop, killed_at};
use jiff::Timestamp;
use journal::{Journal, Store};
use measure::{Nanos, Refused};
use page::Figure;
use study::acceptance::SheetClaim;
use study::run::{RunMeta, RunStatus, SweepPoint, TrialTotals};
use study::{Estimate, Known, StudySpec, numbered};
use trial::RoundTrips;
use trial::topology::AnotherTime;
use trial::{Futile, Observed, Testbed, TestbedError, Topology};

use super::figures::{self, RunFigures, StudyPages};
use super::left_deeds::REMEDY;
use super::memory::Need;
use super::options::{Data, Measuring};
use super::output::{self, Finished};
use super::privilege::{Prepared, prepare_shown};
use super::run_request::{DATA_SHEET, Request};
use super::{Failure, Outcome, another_time, before, left_deeds, lone, own, preflight};
use crate::config::resolved::{Source, Testbed as Place};
use crate::config::{ConfigError, outline, testbed, way_back};
use crate::controller::{CableRun, Opened, RecordedCable};
use crate::ownership::own_files_only;
use crate::speak::{self, print_stderr};
use crate::terminal::progress::Watched;
use page::numbers;

/// Longest run that is begun without the user's consent.
const LONGEST: Nanos = Nanos::from_secs(3 * 24 * 3600);

/// A verb that makes one run, and no more.
pub fn run(
    measuring: &Measuring,
    request: impl FnOnce() -> Result<Request, Failure>,
) -> Result<Outcome, Failure> {
    if measuring.dry_run {
        return rehearse(&request()?);
    }
    let data = &measuring.data;
    let (finished, _prepared) = one(measuring, |_| true, request)?;
    let outcome = output::show(&finished, data)?;
    output::write_report(data, &[finished], measuring.report.as_deref())?;
    Ok(outcome)
}

/// A run: new, or an interrupted one of a verb that `goes_on` with it, taken up again. With it,
/// what stops whatever follows.
pub fn one(
    measuring: &Measuring,
    goes_on: impl FnOnce(&str) -> bool,
    request: impl FnOnce() -> Result<Request, Failure>,
) -> Result<(Finished, Prepared), Failure> {
    let data = &measuring.data;
    not_rehearsed(measuring)?;
    if let Some(path) = &measuring.report {
        output::check_report(path)?;
    }
    let path = output::store_path(data)?;
    let (place, start, prepared) = if let Some(asked) = &measuring.resume {
        let store = Store::open(&path)?;
        let meta = store.load(asked)?;
        if !goes_on(&meta.verb) {
            let message = format!("run {} was made by `{}`", meta.id, meta.verb);
            let hint = format!("go on with `switchmark run --resume {}`", meta.id);
            return Err(ConfigError::bare(message, hint).into());
        }
        // An earlier version may have begun what this one cannot go on with.
        meta.studies.iter().try_for_each(|study| study.check(&meta.topology))?;
        let named = meta.topology.name.clone();
        own::may_go_on(&store.summary(&meta.id)?, &path, &meta.folder)?;
        let resolved = own_files_only(|| testbed::from_folder("--resume", &named, &meta.folder))?;
        let place = Place { name: named, ..resolved };
        let prepared = prepare_shown(&[&place], &measuring.beside, &measuring.data, &path)?;
        (place, Start::Again(Box::new(meta)), prepared)
    } else {
        let request = request()?;
        check(&request)?;
        let prepared =
            prepare_shown(&[&request.testbed], &measuring.beside, &measuring.data, &path)?;
        let seed = measuring.seed.or(request.seed).unwrap_or_else(lone::seed);
        let (place, run) = NewRun::from_request(measuring, request, seed, &path)?;
        (place, Start::New(run), prepared)
    };
    let stop = &prepared.stop;
    let finished = carry_out(&Store::open(&path)?, &place, start, stop, data, &|_| ())?;
    Ok((finished, prepared))
}

/// Refuses to rehearse verbs that make several runs, each after the results of those before.
pub fn not_rehearsed(measuring: &Measuring) -> Result<(), ConfigError> {
    if !measuring.dry_run {
        return Ok(());
    }
    let message = "--dry-run: this makes several runs, and cannot be told beforehand";
    Err(ConfigError::bare(message, "ask it of one of them: `latency`, `forwarding`, `run PLAN`…"))
}

/// Describes what a run would do, from the request alone.
pub fn rehearse(request: &Request) -> Result<Outcome, Failure> {
    check(request)?;
    let topology = request.testbed.topology();
    speak::print(&before::rehearsed(request, topology.as_ref()))?;
    Ok(Outcome::Done)
}

/// Checks what the request alone determines.
pub fn check(request: &Request) -> Result<(), ConfigError> {
    let (outline, topology) = (outline::from_testbed(&request.testbed), request.testbed.topology());
    let known = Known { outline: Some(&outline), topology: topology.as_ref() };
    request.studies.iter().try_for_each(|study| study.check(known)).map_err(Refused::from)?;
    if let (Source::Hosts(_), Some(topology)) = (&request.testbed.source, &topology) {
        way_back::check(&request.studies, topology)?;
    }
    Ok(())
}

/// A run from its beginning, or from where it broke off.
pub enum Start {
    /// Nothing is recorded yet.
    New(NewRun),
    /// Interrupted run, as it was requested then.
    Again(Box<RunMeta>),
}

/// New run to be made.
pub struct NewRun {
    /// Name of the verb in the journal.
    pub verb: &'static str,
    /// Studies to run.
    pub studies: Vec<StudySpec>,
    /// Seed of every random choice.
    pub seed: u64,
    /// True if it may take any time, and any memory.
    pub long: bool,
    /// Point of a sweep; `None` if it belongs to none.
    pub sweep: Option<SweepPoint>,
    /// Label in the journal; `None` without one.
    pub label: Option<String>,
    /// Runs that measured the direct cable at another time than the device.
    pub another_time: Option<AnotherTime>,
    /// Claims that the figures are checked against.
    pub claims: Vec<SheetClaim>,
}

impl NewRun {
    /// Creates a run that a verb makes by itself, without flags.
    pub const fn new(verb: &'static str, studies: Vec<StudySpec>, seed: u64) -> Self {
        Self {
            verb,
            studies,
            seed,
            long: true,
            sweep: None,
            label: None,
            another_time: None,
            claims: Vec::new(),
        }
    }

    /// Creates a requested run, with what the flags add.
    pub fn from_request(
        measuring: &Measuring,
        request: Request,
        seed: u64,
        journal: &Path,
    ) -> Result<(Place, Self), Failure> {
        let Request { verb, testbed, studies, claims, .. } = request;
        let (long, label) = (measuring.yes, measuring.label.clone());
        let another_time = another_time::from_flags(measuring, journal)?;
        let run = Self { long, label, another_time, claims, ..Self::new(verb, studies, seed) };
        Ok((testbed, run))
    }
}

/// Brings the testbed up, runs or resumes, and takes the testbed down. `hear` gets the time of each
/// trial.
pub fn carry_out(
    store: &Store,
    place: &Place,
    mut start: Start,
    stop: &Stop,
    data: &Data,
    hear: &dyn Fn(Nanos),
) -> Result<Finished, Failure> {
    let seed = match &start {
        Start::Again(meta) => meta.seed,
        Start::New(run) => run.seed,
    };
    let (run, folder) = match &start {
        Start::Again(meta) => (Some(meta.id.as_str()), meta.folder.as_path()),
        Start::New(_) => (None, Path::new("")),
    };
    left_deeds::check(place, folder, run, data.quiet)?;
    let mut opened = Opened::open(place, stop.clone(), seed).map_err(Failure::unusable)?;
    if let Start::Again(meta) = &start {
        undo_left(store, &meta.id, &opened)?;
    }
    let (studies, times) = match &start {
        Start::Again(meta) => (&meta.studies, meta.topology.another_time.clone()),
        Start::New(run) => (&run.studies, run.another_time.clone()),
    };
    let runs = match &times {
        Some(times) => another_time::runs(store, times, opened.topology(), studies)?,
        None => Vec::new(),
    };
    let mut noted = preflight::check(&mut opened, place, studies)?;
    if let Start::New(run) = &mut start {
        let shortened = preflight::shorten(&noted, &mut run.studies);
        noted.doubts.extend(shortened);
    }
    if !data.quiet {
        for direction in &noted.directions {
            print_stderr(&format!("{direction}\n"));
        }
        for doubt in &noted.doubts {
            print_stderr(&format!("warning: {doubt}\n"));
        }
    }
    let meta = match start {
        Start::Again(meta) => {
            hold(&mut opened, store, &meta, place)?;
            store.held_by(&meta.id, &lone::process())?;
            store.set_status(&meta.id, &RunStatus::Running)?;
            *meta
        }
        Start::New(run) => {
            if !run.long {
                is_small_enough(&run.studies, opened.topology())?;
            }
            let label = run.label.clone();
            let mut meta = describe(run, &opened)?;
            meta.notes.extend(noted.into_notes());
            hold(&mut opened, store, &meta, place)?;
            if !data.quiet {
                print_stderr(&before::summary(place, &meta.studies, &meta.topology));
            }
            store.create_held_run(&meta, &lone::process())?;
            store.label(&meta.id, label.as_deref())?;
            meta
        }
    };
    let (id, verb) = (meta.id.clone(), meta.verb.clone());
    let cable = times.map(|times| (times, runs));
    let ran = conduct(store, meta, (opened, cable), data, hear)?;
    ran.map_err(|error| broke_off(store, &id, &verb, error, place, data.store.as_deref()))
}

/// Reserves ports and devices for this run.
fn hold(opened: &mut Opened, store: &Store, meta: &RunMeta, place: &Place) -> Result<(), Failure> {
    opened.hold(&lone::holder(&meta.id)).map_err(Failure::unusable)?;
    opened.used_by(Origin {
        run: meta.id.clone(),
        journal: std::path::absolute(store.path())?,
        testbed: place.name.clone(),
        folder: meta.folder.clone(),
        process: lone::process(),
    });
    Ok(())
}

/// Undoes what an earlier process of the run may have left changed at devices, before any check: a
/// link that is still down would look like the user's fault.
fn undo_left(store: &Store, run: &str, opened: &Opened) -> Result<(), Failure> {
    for begun in store.begun_deeds(run)? {
        opened.undo_left(run, &begun.device, &begun.deed).map_err(Failure::unusable)?;
        store.note_undone(run, &begun)?;
        print_stderr(&format!(
            "device `{}`: `{}`, which an earlier process began, is undone\n",
            begun.device, begun.deed
        ));
    }
    Ok(())
}

/// A new run on a testbed that is up.
pub fn describe(run: NewRun, opened: &Opened) -> Result<RunMeta, Failure> {
    let NewRun { verb, studies, seed, sweep, another_time, claims, .. } = run;
    let topology = Topology { another_time, ..opened.topology().clone() };
    for study in &studies {
        study.check(&topology)?;
    }
    let now = Timestamp::now();
    Ok(RunMeta {
        id: sweep.as_ref().map_or_else(|| lone::run_id(now), SweepPoint::run_id),
        created_unix_ns: lone::unix_ns(now),
        verb: verb.to_owned(),
        command_line: lone::command_line(),
        folder: std::env::current_dir().unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        studies,
        topology,
        facts: opened.facts().to_lists(),
        notes: opened.notes(),
        sweep,
        claims,
        watch: None,
    })
}

/// Runs the studies over the run's journal, takes the testbed down, and gathers what there is. The
/// inner error is a run that broke off: its status is not set yet.
fn conduct(
    store: &Store,
    meta: RunMeta,
    (mut opened, cable): (Opened, Option<(AnotherTime, Vec<CableRun>)>),
    data: &Data,
    hear: &dyn Fn(Nanos),
) -> Result<Result<Finished, TestbedError>, Failure> {
    opened.left_in(store.applied(&meta.id)?);
    let futile = Futile::new(opened);
    let testbed: Box<dyn Testbed> = match cable {
        Some((times, runs)) => Box::new(RecordedCable::new(futile, times, runs)),
        None => Box::new(futile),
    };
    let mut journal = Journal::new(store, &meta.id, testbed)?;
    let mut trials = TrialTotals::default();
    let mut round_trips = RoundTrips::default();
    let mut heard = Observed::new(&mut journal, |trial, record| {
        hear(trial.phases.total());
        trials.take(trial, record);
        round_trips.take(trial, record);
    });
    let ended = studies(&meta, &mut heard, data);
    // The lab is removed before anything else can fail.
    drop(journal);
    let (figures, pages) = match ended {
        Ok(found) => found,
        Err(error) => return Ok(Err(error)),
    };
    store.set_status(&meta.id, &RunStatus::Done)?;
    let found = match figures::in_blocks(store, &meta, &figures) {
        Ok(comparable) => {
            let found = figures::found(&meta, &figures, &pages, &comparable);
            let run = RunFigures { meta, found, figures, comparable, round_trips };
            let RunFigures { meta, figures, comparable, .. } = figures::kept(store, run);
            Finished { meta, figures, pages, trials, comparable: Some(comparable) }
        }
        Err(_) => Finished { meta, figures, pages, trials, comparable: None },
    };
    Ok(Ok(found))
}

fn studies(
    meta: &RunMeta,
    testbed: &mut dyn Testbed,
    data: &Data,
) -> Result<(Vec<Figure>, StudyPages), TestbedError> {
    let estimate = estimate(&meta.studies, &meta.topology);
    let mut watched = Watched::new(testbed, estimate, data.quiet);
    let (mut rows, mut pages, mut asked) = (Vec::new(), Vec::new(), 0);
    for (place, study) in numbered(&meta.studies) {
        let is_heard = !data.quiet && !data.json;
        watched.print_seconds(study.needs().printed_after.filter(|_| is_heard));
        let mut finding = study.find_as(place, &mut watched, &mut asked, meta.seed)?;
        let (own, page) = figures::shown(&mut *finding);
        rows.extend(own);
        pages.push((place.number, page));
    }
    Ok((rows, pages))
}

/// Refuses a run that would go on for days or fill the memory: that is a slip more often than a
/// wish.
fn is_small_enough(studies: &[StudySpec], topology: &Topology) -> Result<(), ConfigError> {
    Need::for_studies(studies, topology).check()?;
    let estimate = estimate(studies, topology).time;
    if estimate <= LONGEST {
        return Ok(());
    }
    let said = format!("this would take about {}", numbers::span(estimate));
    let hint =
        "ask for fewer repetitions, sizes or hosts or shorter trials; --yes begins it all the same";
    Err(ConfigError::bare(said, hint))
}

/// Estimates all studies together.
pub fn estimate(studies: &[StudySpec], topology: &Topology) -> Estimate {
    studies.iter().map(|study| study.estimate(topology)).sum()
}

/// Returns the status of a run that broke off.
pub fn ending(error: &TestbedError) -> RunStatus {
    match error {
        TestbedError::Interrupted => RunStatus::Interrupted,
        other => RunStatus::Failed { reason: agents::protocol::describe_error(other) },
    }
}

/// Records how a run ended, and tells the user how to continue.
fn broke_off(
    store: &Store,
    run: &str,
    verb: &str,
    error: TestbedError,
    place: &Place,
    flag: Option<&Path>,
) -> Failure {
    // A full disk keeps this out too; the run then still reads as running, which is resumable.
    let _ = store.set_status(run, &ending(&error));
    let own_hint = journal::hint_for(&error);
    let store = flag.map_or_else(String::new, |path| format!(" --journal {}", path.display()));
    // A data sheet is more than its run.
    let verb = if verb == DATA_SHEET { verb } else { "run" };
    let resume = format!("`switchmark {verb} --resume {run}{store}` goes on from the last trial");
    let hints = [own_hint.map(str::to_owned), left_on_host(&error, place), Some(resume)];
    let hints: Vec<String> = hints.into_iter().flatten().collect();
    Failure::from(error).hinted(hints.join("; "))
}

/// Names the command that puts back what a killed agent changed on a host that stays.
fn left_on_host(error: &TestbedError, place: &Place) -> Option<String> {
    let host = killed_at(error)?;
    let is_real = matches!(place.source, Source::Hosts(_));
    is_real.then(|| {
        format!("`{REMEDY} --testbed {}` puts back what was changed on host `{host}`", place.name)
    })
}
