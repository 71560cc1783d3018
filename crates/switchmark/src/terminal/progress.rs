//! Progress on stderr: which trial runs, how many are done, how long it will take.
//!
//! A testbed around a testbed, so that studies know nothing of it. Silent for the first two
//! seconds; a line every ten seconds where stderr is no terminal; nothing at all when quiet. How
//! much of the estimate is done follows from the trials' phases; how long that takes, with all the
//! trials that are repeated, or how long a second of virtual time takes, is seen as it goes.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use measure::Nanos;
use method::TRIAL_OVERHEAD;
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::speak::{plain, speak, tell};
use record::text::numbers;

const PATIENCE: Duration = Duration::from_secs(2);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Something that takes a while, shown to a person who waits.
pub struct Wait {
    shown: Shown,
    began: Timestamp,
}

enum Shown {
    Bar(ProgressBar),
    Lines { last: Timestamp },
    Nothing,
}

impl Wait {
    /// Begins now.
    pub fn new(quiet: bool) -> Self {
        let began = Timestamp::now();
        let shown = if quiet {
            Shown::Nothing
        } else if std::io::stderr().is_terminal() {
            Shown::Bar(bar())
        } else {
            Shown::Lines { last: began }
        };
        Self { shown, began }
    }

    /// Shows how far it is: a share, what is done and left, what is under way.
    pub fn tell(&mut self, share: f64, done: &str, now_at: &str) {
        let now = Timestamp::now();
        if since(now, self.began) < PATIENCE {
            return;
        }
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.set_position((share.min(1.0) * 1000.0) as u64);
                bar.set_prefix(plain(done).into_owned());
                bar.set_message(plain(now_at).into_owned());
                bar.tick();
            }
            Shown::Lines { last } => {
                if since(now, *last) >= LINE_EVERY {
                    *last = now;
                    speak(&format!("{done}: {now_at}"));
                }
            }
            Shown::Nothing => {}
        }
    }

    /// Prints whole lines, which stay.
    pub fn print(&self, lines: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| tell(lines)),
            Shown::Lines { .. } => tell(lines),
            Shown::Nothing => {}
        }
    }

    /// `34 s of 2 min 0 s simulated, about 8 s left`: by how long virtual time took so far.
    pub fn virtual_time(&self, spent: Nanos, estimate: Nanos) -> String {
        let estimate = estimate.max(spent);
        let (done, all) = (numbers::span(spent), numbers::span(estimate));
        if spent == Nanos::ZERO {
            return format!("{done} of {all} simulated");
        }
        let took = since(Timestamp::now(), self.began).as_secs_f64();
        let left = took * (estimate - spent).as_secs_f64() / spent.as_secs_f64();
        let left = numbers::span(Nanos::from_secs_f64(left));
        format!("{done} of {all} simulated, about {left} left")
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

/// The bar stays hidden until there has been something to wait for.
fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{bar:24} {prefix}  {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn since(now: Timestamp, then: Timestamp) -> Duration {
    now.duration_since(then).unsigned_abs()
}

/// How much of an estimate is done, and how long that takes.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    /// Trials that an estimate counts: a repeat is not among them.
    done: Nanos,
    /// The same of late, in seconds, and what they and their repeats took. Both fade.
    planned: f64,
    took: f64,
}

impl Pace {
    /// What of the past is left after each trial with its repeats.
    const FADE: f64 = 0.97;

    /// A trial that took so long; what a journal knew takes no time, and tells nothing of it.
    fn learn(&mut self, phases: Nanos, attempt: u32, took: Duration) {
        let planned = if attempt == 0 { phases + TRIAL_OVERHEAD } else { Nanos::ZERO };
        self.done += planned;
        if took.as_secs_f64() >= phases.as_secs_f64() {
            let kept = if attempt == 0 { Self::FADE } else { 1.0 };
            self.planned = self.planned * kept + planned.as_secs_f64();
            self.took = self.took * kept + took.as_secs_f64();
        }
    }

    /// `1 min 5 s left`, at the pace of late.
    fn left(&self, estimate: Nanos) -> String {
        if estimate <= self.done {
            return format!("longer than the {} expected", numbers::span(estimate));
        }
        let pace = if self.planned > 0.0 { self.took / self.planned } else { 1.0 };
        let left = (estimate - self.done).as_secs_f64() * pace;
        format!("{} left", numbers::span(Nanos::from_secs_f64(left)))
    }
}

/// Shows what passes through it.
pub struct Watched<'a> {
    inner: &'a mut dyn Testbed,
    wait: Wait,
    estimate: Nanos,
    spent: Nanos,
    pace: Pace,
    trials: u64,
    /// The warm-up of trials whose TCP is printed second by second.
    seconds: Option<Nanos>,
}

impl<'a> Watched<'a> {
    /// Watches `inner`, whose trials should take `estimate` in all, in the testbed's own time.
    pub fn new(inner: &'a mut dyn Testbed, estimate: Nanos, quiet: bool) -> Self {
        let (wait, pace) = (Wait::new(quiet), Pace::default());
        let (spent, trials, seconds) = (Nanos::ZERO, 0, None);
        Self { inner, wait, estimate, spent, pace, trials, seconds }
    }

    /// From now on prints each trial's TCP second by second when the trial is over, after a warm-up
    /// of so long; none, nothing of the kind.
    pub const fn print_seconds(&mut self, omit: Option<Nanos>) {
        self.seconds = omit;
    }

    fn announce(&mut self, trial: &Trial) {
        let (left, done) = if self.inner.topology().is_simulated() {
            (self.wait.virtual_time(self.spent, self.estimate), self.spent)
        } else {
            (self.pace.left(self.estimate), self.pace.done)
        };
        let share = done.as_secs_f64() / self.estimate.as_secs_f64().max(1e-9);
        let path = match trial.path {
            trial::Path::Device => "",
            trial::Path::Bypass => " (bypass)",
        };
        let done = format!("{} trials done, {left}", self.trials);
        self.wait.tell(share, &done, &format!("{}{path}", trial.label));
    }
}

impl Testbed for Watched<'_> {
    fn topology(&self) -> &Topology {
        self.inner.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self.announce(trial);
        let began = Timestamp::now();
        let record = self.inner.run(trial)?;
        let took = since(Timestamp::now(), began);
        self.pace.learn(trial.phases.total(), trial.attempt, took);
        self.trials += 1;
        self.spent += trial.phases.total();
        if let Some(omit) = self.seconds
            && let Some(lines) = record::seconds::lines(trial, &record, omit)
        {
            self.wait.print(&lines);
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: Nanos = Nanos::from_millis(940);

    /// What is left of 100 trials of a second after so many of them, each tried so often and so
    /// long.
    fn left(trials: u32, tries: u32, took: Duration) -> String {
        let mut pace = Pace::default();
        for attempt in (0..trials).flat_map(|_| 0..tries) {
            pace.learn(PHASES, attempt, took);
        }
        pace.left(Nanos::from_secs(100))
    }

    #[test]
    fn what_is_left_follows_from_what_it_took_so_far() {
        let second = Duration::from_secs(1);
        assert_eq!(left(0, 1, second), "1 min 40 s left");
        assert_eq!(left(40, 1, second), "1 min 0 s left");
        assert_eq!(left(40, 3, second), "3 min 0 s left", "two of three are repeats");
        assert_eq!(left(40, 1, 2 * second), "2 min 0 s left", "each takes twice as long");
        assert_eq!(left(40, 1, Duration::ZERO), "1 min 0 s left", "all were in the journal");
        assert_eq!(left(120, 1, second), "longer than the 1 min 40 s expected");
    }
}
