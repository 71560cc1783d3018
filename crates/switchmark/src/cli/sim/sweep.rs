//! A sweep carried out: its points side by side, each a run of its own in the journal.
//!
//! Owns their number and order, and what becomes of them when one fails or the user asks to stop:
//! points that ran to their end are kept, whatever comes. How one runs is any run's.

use std::path::PathBuf;
use std::sync::mpsc::Sender;

use agents::controller::Stop;
use jiff::Timestamp;
use journal::Store;
use measure::Nanos;
use study::Estimate;
use study::campaign::combinations;
use study::run::{SweepPoint, SweptValue, TrialAccount};
use trial::TestbedError;

use crate::cli::memory::Need;
use crate::cli::options::{Data, Measuring};
use crate::cli::run_request::Request;
use crate::cli::session::{self, NewRun, Start};
use crate::cli::side_by_side::{processors, side_by_side};
use crate::cli::{Failure, Outcome, another_time, lone, output, privilege, report};
use crate::config::ConfigError;
use crate::config::resolved::Source;
use crate::terminal::progress::Wait;

/// Maximum runs of one command.
const MOST_POINTS: usize = 1000;

/// One run of a sweep, complete.
pub(in crate::cli) struct Point {
    /// The swept parameters here.
    values: Vec<SweptValue>,
    request: Request,
}

/// Returns a point for every value, or every pair of two parameters' values, each checked before
/// the first is run; the first parameter moves slowest.
pub(in crate::cli) fn points(
    factors: &[Vec<SweptValue>],
    request: impl Fn(&[SweptValue]) -> Result<Request, ConfigError>,
) -> Result<Vec<Point>, ConfigError> {
    if factors.len() > 2 {
        let message = format!("{} parameters are swept at once", factors.len());
        return Err(ConfigError::bare(message, "two are the most that a table and a plot show"));
    }
    let count = factors.iter().map(Vec::len).product::<usize>();
    if count > MOST_POINTS {
        let message = format!("the sweep has {count} points, {MOST_POINTS} are the most");
        return Err(ConfigError::bare(message, "take larger steps, or several sweeps"));
    }
    let point = |values: Vec<SweptValue>| {
        let request = request(&values)?;
        session::check(&request)?;
        Ok(Point { values, request })
    };
    combinations(factors.iter().cloned()).into_iter().map(point).collect()
}

/// State that all threads share.
struct Work<'a> {
    sweep: String,
    points: &'a [Point],
    seed: u64,
    store: PathBuf,
    stop: Stop,
    data: Data,
}

/// Message of a thread.
enum Told {
    /// A trial of this length is done.
    Trial(Nanos),
    /// A point ended, one way or another.
    Point(Result<(), Failure>),
}

/// Carries the sweep out and shows it, on `jobs` threads; real hosts do one thing at a time.
pub(in crate::cli) fn run(
    points: &[Point],
    jobs: Option<u16>,
    measuring: &Measuring,
) -> Result<Outcome, Failure> {
    session::not_rehearsed(measuring)?;
    if let Some(path) = &measuring.report {
        output::check_report(path)?;
    }
    another_time::refuse(measuring)?;
    let store = output::store_path(&measuring.data)?;
    // Opened once before the threads do, so that one of them alone need not make it.
    drop(Store::open(&store)?);
    let places: Vec<_> = points.iter().map(|point| &point.request.testbed).collect();
    let prepared = privilege::prepare_shown(&places, &measuring.beside, &measuring.data, &store)?;
    let modelled = places.iter().all(|place| matches!(place.source, Source::Virtual(_)));
    let workers = jobs.map_or(if modelled { processors() } else { 1 }, usize::from);
    let workers = workers.min(points.len());
    if !measuring.yes {
        memory_needed(points, workers).check()?;
    }
    let planned = points.first().and_then(|point| point.request.seed);
    let work = Work {
        sweep: lone::run_id(Timestamp::now()),
        points,
        seed: measuring.seed.or(planned).unwrap_or_else(lone::seed),
        store,
        stop: prepared.stop.clone(),
        // One line of progress is enough.
        data: Data { quiet: true, ..measuring.data.clone() },
    };
    let failure = work.carry_out(workers, measuring.data.quiet);
    // Writable: the points' figures are kept.
    let swept = report::sweep(&Store::open(&work.store)?, &work.sweep)?;
    let Some(swept) = swept else {
        return Err(failure.unwrap_or_else(|| work.interrupted(0)));
    };
    report::show(&swept, &measuring.data, measuring.report.as_deref())?;
    match failure {
        Some(failure) => Err(failure.hinted(work.kept(swept.done()))),
        None if swept.done() < points.len() => Err(work.interrupted(swept.done())),
        None => Ok(output::outcome(&swept.figures(), &TrialAccount::default())),
    }
}

/// Estimates the memory of the largest points that run at a time. That of labs and hosts is unknown
/// before they are up.
fn memory_needed(points: &[Point], workers: usize) -> Need {
    let of = |Request { testbed, studies, .. }: &Request| {
        Some(Need::for_studies(studies, &testbed.topology()?))
    };
    let needs = points.iter().filter_map(|point| of(&point.request)).collect();
    Need::side_by_side(needs, workers)
}

impl Work<'_> {
    /// Carries out all points; returns the first failure, or `None`.
    fn carry_out(&self, workers: usize, quiet: bool) -> Option<Failure> {
        let (estimate, of) = (self.estimate(), self.points.len());
        let (mut wait, mut spent, mut done, mut failure) = (Wait::new(quiet), Nanos::ZERO, 0, None);
        let next = |at: usize, tell: &Sender<Told>| {
            let point = self.points.get(at).filter(|_| !self.stop.is_requested());
            let ended = point.map(|point| Told::Point(self.point(at, point, tell)));
            ended.map(|ended| tell.send(ended)).is_some()
        };
        side_by_side(workers, next, |told| {
            match told {
                Some(Told::Trial(took)) => spent += took,
                Some(Told::Point(ended)) => {
                    done += 1;
                    failure = failure.take().or(ended.err());
                }
                None => {}
            }
            let told = format!("{done} of {of} points");
            // The time on real hosts is unknown before they are up.
            let (share, told) = if estimate.time == Nanos::ZERO {
                (f64::from(done) / of as f64, told)
            } else {
                let told = format!("{told}, {}", wait.virtual_time(spent, estimate));
                (spent.as_secs_f64() / estimate.time.as_secs_f64(), told)
            };
            wait.update(share, &told, &format!("{workers} at a time"));
        });
        failure
    }

    fn estimate(&self) -> Estimate {
        let of = |Request { testbed, studies, .. }: &Request| match &testbed.source {
            Source::Virtual(config) => session::estimate(studies, &config.topology(&testbed.name)),
            Source::Lab(_) | Source::Hosts(_) => Estimate::NONE,
        };
        self.points.iter().map(|point| of(&point.request)).sum()
    }

    /// Carries out one run. A failure to begin would stop the others too; if one breaks off, the
    /// others go on.
    fn point(&self, at: usize, point: &Point, tell: &Sender<Told>) -> Result<(), Failure> {
        let store = Store::open(&self.store)?;
        let Request { verb, testbed, studies, .. } = &point.request;
        let sweep = SweepPoint {
            sweep: self.sweep.clone(),
            point: at as u32 + 1,
            of: self.points.len() as u32,
            values: point.values.clone(),
        };
        let run = sweep.run_id();
        let (studies, seed, sweep) = (studies.clone(), self.seed, Some(sweep));
        let start = Start::New(NewRun { sweep, ..NewRun::new(verb, studies, seed) });
        let hear = |took| drop(tell.send(Told::Trial(took)));
        let ran = session::carry_out(&store, testbed, start, &self.stop, &self.data, &hear);
        if ran.is_err() && store.load(&run).is_err() {
            self.stop.ask();
        }
        ran.map(drop)
    }

    fn interrupted(&self, done: usize) -> Failure {
        Failure::from(TestbedError::Interrupted).hinted(self.kept(done))
    }

    fn kept(&self, done: usize) -> String {
        if done == 0 {
            return "no point had come to its end".to_owned();
        }
        let flag = |path: &PathBuf| format!(" --journal {}", path.display());
        let store = self.data.store.as_ref().map_or_else(String::new, flag);
        let of = self.points.len();
        format!("{done} of {of} points are kept: `switchmark report {}{store}`", self.sweep)
    }
}
