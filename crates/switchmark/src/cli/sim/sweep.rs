//! A sweep carried out: its points on all processors, each a run of its own in the journal.
//!
//! Owns the threads and what becomes of points when one fails or the user asks to stop. Points that
//! ran to their end are kept, whatever comes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use measure::Nanos;
use page::Figure;
use record::report::sweep::SweptRun;
use record::{RunStatus, Store, SweepPoint};
use trial::{Observed, TestbedError};

use super::points::Point;
use super::swept::Swept;
use crate::cli::options::Measuring;
use crate::cli::{Failure, Outcome, lone, output, session};
use crate::config::resolved::Source;
use crate::controller::{Opened, Stop};
use crate::terminal::progress::Wait;
use record::text::numbers;

/// Between two looks at what is told.
const LOOK: Duration = Duration::from_millis(200);

/// What all workers share.
struct Work<'a> {
    verb: &'static str,
    sweep: String,
    points: &'a [Point],
    next: AtomicUsize,
    seed: u64,
    store: PathBuf,
    stop: Stop,
}

/// What a worker tells.
enum Told {
    /// A trial of so much virtual time is done.
    Trial(Nanos),
    /// A point came to its end, one way or another.
    Point(usize, Box<Result<SweptRun, Failure>>),
}

/// Carries it out and shows it, on so many threads; real hosts do one thing at a time.
pub(in crate::cli) fn run(
    verb: &'static str,
    points: &[Point],
    jobs: Option<u16>,
    measuring: &Measuring,
) -> Result<Outcome, Failure> {
    let data = &measuring.data;
    if let Some(path) = &measuring.report {
        output::check_report(path)?;
    }
    let store = output::store_path(data)?;
    // Opened once before the workers do, so that one of them alone need not make it.
    drop(Store::open(&store)?);
    let places: Vec<_> = points.iter().map(|point| &point.testbed).collect();
    let stop = session::prepare(&places)?;
    let seed = measuring.seed.or(points.first().and_then(|point| point.seed));
    let seed = seed.unwrap_or_else(lone::seed);
    let sweep = lone::run_id(Timestamp::now());
    let work = Work { verb, sweep, points, next: AtomicUsize::new(0), seed, store, stop };
    let modelled = |point: &Point| matches!(point.testbed.source, Source::Virtual(_));
    let most = if points.iter().all(modelled) { processors() } else { 1 };
    let workers = jobs.map_or(most, usize::from).min(points.len());
    let (runs, failure) = carry_out(&work, workers, data.quiet);
    let swept = Swept { id: work.sweep.clone(), of: points.len(), runs };
    if swept.runs.is_empty() {
        return failure.map_or_else(|| Err(interrupted(&swept, data.store.as_deref())), Err);
    }
    swept.show(data, measuring.report.as_deref())?;
    match failure {
        Some(failure) => Err(failure),
        None => end(&swept, data.store.as_deref()),
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// All points that were begun, in their order; and what kept the others from being recorded.
fn carry_out(work: &Work<'_>, workers: usize, quiet: bool) -> (Vec<SweptRun>, Option<Failure>) {
    let mut reached: Vec<Option<SweptRun>> = work.points.iter().map(|_| None).collect();
    let mut failure = None;
    let estimate = estimate(work.points);
    let (mut wait, mut spent, mut done) = (Wait::new(quiet), Nanos::ZERO, 0_usize);
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..workers {
            let tell = tell.clone();
            scope.spawn(move || work.points_in_turn(&tell));
        }
        drop(tell);
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Told::Trial(took)) => spent += took,
                Ok(Told::Point(at, ended)) => match *ended {
                    Ok(one) => {
                        done += 1;
                        reached[at] = Some(one);
                    }
                    Err(error) => {
                        work.stop.ask();
                        failure.get_or_insert(error);
                    }
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let of = work.points.len();
            // What real hosts take is not known before they are there.
            let (share, told) = if estimate == Nanos::ZERO {
                (done as f64 / of as f64, format!("{done} of {of} points"))
            } else {
                let told = format!("{done} of {of} points, {}", wait.virtual_time(spent, estimate));
                (spent.as_secs_f64() / estimate.as_secs_f64(), told)
            };
            wait.tell(share, &told, &format!("{workers} at a time"));
        }
    });
    (reached.into_iter().flatten().collect(), failure)
}

fn estimate(points: &[Point]) -> Nanos {
    let of = |point: &Point| match &point.testbed.source {
        Source::Virtual(config) => {
            session::estimate(&point.studies, &config.topology(&point.testbed.name))
        }
        Source::Lab(_) | Source::Hosts(_) => Nanos::ZERO,
    };
    points.iter().map(of).fold(Nanos::ZERO, |sum, one| sum + one)
}

impl Work<'_> {
    fn points_in_turn(&self, tell: &Sender<Told>) {
        let store = match Store::open(&self.store) {
            Ok(store) => store,
            Err(error) => {
                let _ = tell.send(Told::Point(0, Box::new(Err(error.into()))));
                return;
            }
        };
        while !self.stop.asked() {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(point) = self.points.get(at) else { return };
            let _ = tell.send(Told::Point(at, Box::new(self.point(at, point, &store, tell))));
        }
    }

    /// One run, from its beginning to its end. A point that breaks off is none that fails.
    fn point(
        &self,
        at: usize,
        point: &Point,
        store: &Store,
        tell: &Sender<Told>,
    ) -> Result<SweptRun, Failure> {
        let opened = Opened::open(&point.testbed, self.stop.clone(), self.seed)
            .map_err(Failure::unusable)?;
        let mut meta = session::describe(self.verb, point.studies.clone(), self.seed, &opened)?;
        let (number, of) = (at + 1, self.points.len());
        let digits = of.to_string().len();
        meta.id = format!("{}.{number:0digits$}", self.sweep);
        meta.sweep = Some(SweepPoint {
            sweep: self.sweep.clone(),
            point: number as u32,
            of: of as u32,
            values: point.values.clone(),
        });
        store.create_run(&meta)?;
        let kept = meta.clone();
        let ran = session::conduct(store, meta, opened, |meta, journal| {
            let mut counted = Observed::new(journal, |trial, _| {
                let _ = tell.send(Told::Trial(trial.phases.total()));
            });
            let mut figures: Vec<Figure> = Vec::new();
            for study in &meta.studies {
                figures.extend(study.run(&mut counted, meta.seed)?);
            }
            Ok(figures)
        })?;
        match ran {
            Ok(finished) => Ok(SweptRun::new(finished.meta, RunStatus::Done, finished.figures)),
            Err(error) => {
                let status = session::ending(&error);
                store.set_status(&kept.id, &status)?;
                Ok(SweptRun::new(kept, status, Vec::new()))
            }
        }
    }
}

/// Whether all of it was reached, and if not, what the user can do.
fn end(swept: &Swept, flag: Option<&Path>) -> Result<Outcome, Failure> {
    let failed = swept.runs.iter().find_map(|one| match &one.status {
        RunStatus::Failed { reason } => Some((one, reason)),
        _ => None,
    });
    if let Some((one, reason)) = failed {
        let label = one.meta.id.clone();
        let error = TestbedError::Unavailable { label, reason: reason.clone() };
        let hint = format!("the other points are kept: `switchmark report {}`", swept.id);
        return Err(Failure::from(error).hinted(hint));
    }
    if swept.done() < swept.of {
        return Err(interrupted(swept, flag));
    }
    Ok(output::outcome(&swept.figures()))
}

fn interrupted(swept: &Swept, flag: Option<&Path>) -> Failure {
    let store = flag.map_or_else(String::new, |path| format!(" --store {}", path.display()));
    let (done, of) = (numbers::grouped(swept.done() as f64), numbers::grouped(swept.of as f64));
    let hint = if swept.done() == 0 {
        "no point had come to its end".to_owned()
    } else {
        format!("{done} of {of} points are kept: `switchmark report {}{store}`", swept.id)
    };
    Failure::from(TestbedError::Interrupted).hinted(hint)
}
