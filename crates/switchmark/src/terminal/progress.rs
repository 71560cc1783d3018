//! Progress on stderr: which trial runs, how many are done, how long it will take.
//!
//! A testbed around a testbed, so that studies know nothing of it. Silent for the first two
//! seconds; few lines, further and further apart, where stderr is no terminal; nothing at all when
//! quiet. The trials' phases give the share of the estimate that is done. The time for that is
//! observed: repeated trials, or the real time of a second of virtual time.

use std::time::Duration;

use jiff::Timestamp;
use measure::Nanos;
use study::{Estimate, trial_overhead};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::screen;
use crate::speak::{clear, print_stderr, redraw, speak};
use page::numbers;

const PATIENCE: Duration = Duration::from_secs(2);
/// First wait for a line in a log. Each wait is three times the one before, up to ten minutes, so
/// that a long run does not look dead.
const FIRST_LINE: Duration = Duration::from_secs(10);
const LINES_APART: u32 = 3;
const MOST_SILENT: Duration = Duration::from_mins(10);
const REDRAWN_EVERY: Duration = Duration::from_millis(100);
/// Length of the bar, in characters.
const BAR: usize = 10;

/// Something that takes a while, shown to a person who waits.
pub struct Wait {
    shown: Shown,
    began: Timestamp,
    last: Timestamp,
    next_line: Duration,
}

enum Shown {
    /// One line, redrawn in place.
    Bar,
    /// Lines from time to time, which stay.
    Lines,
    Nothing,
}

impl Wait {
    /// Begins now.
    pub fn new(quiet: bool) -> Self {
        let shown = match quiet {
            true => Shown::Nothing,
            false if screen::is_redrawn() => Shown::Bar,
            false => Shown::Lines,
        };
        let began = Timestamp::now();
        Self { shown, began, last: began, next_line: FIRST_LINE }
    }

    /// Shows the progress: a share, what is done and left, what is under way.
    pub fn update(&mut self, share: f64, done: &str, now_at: &str) {
        let now = Timestamp::now();
        let every = match self.shown {
            Shown::Nothing => return,
            Shown::Bar => REDRAWN_EVERY,
            Shown::Lines => self.next_line,
        };
        if since(now, self.began) < PATIENCE || since(now, self.last) < every {
            return;
        }
        self.last = now;
        if matches!(self.shown, Shown::Bar) {
            redraw(&format!("{} {done}: {now_at}", bar(share)), screen::line());
        } else {
            self.next_line = (self.next_line * LINES_APART).min(MOST_SILENT);
            speak(&format!("{done}: {now_at}"));
        }
    }

    /// Prints whole lines, which stay.
    pub fn print(&self, lines: &str) {
        if !matches!(self.shown, Shown::Nothing) {
            print_stderr(lines);
        }
    }

    /// `about 8 s left`, at the pace of virtual time so far; if all that was expected is done, what
    /// is known.
    pub fn virtual_time(&self, spent: Nanos, estimate: Estimate) -> String {
        let took = since(Timestamp::now(), self.began);
        if spent == Nanos::ZERO {
            return format!("{} to simulate", numbers::span(estimate.time));
        }
        if spent >= estimate.time {
            return beyond(took, estimate);
        }
        let left = took.as_secs_f64() * (estimate.time - spent).as_secs_f64();
        let left = Nanos::from_secs_f64(left / spent.as_secs_f64());
        format!("about {} left", numbers::span(left))
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if matches!(self.shown, Shown::Bar) {
            clear();
        }
    }
}

/// `███░░░░░░░`
fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR as f64) as usize;
    "█".repeat(full) + &"░".repeat(BAR - full)
}

fn since(now: Timestamp, then: Timestamp) -> Duration {
    now.duration_since(then).unsigned_abs()
}

/// Progress of an estimate, and its pace.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    /// Trials that an estimate counts: a repeat is not among them.
    done: Nanos,
    /// Planned time of recent trials, in seconds, and the time that they and their repeats took.
    /// Both fade.
    planned: f64,
    took: f64,
}

impl Pace {
    /// Share of the past that is kept after each trial with its repeats.
    const FADE: f64 = 0.97;

    /// Learns from a trial that took so long. One from a journal takes no time, and does not count.
    fn learn(&mut self, phases: Nanos, flows: usize, attempt: u32, took: Duration) {
        let first = || phases + trial_overhead(flows as u64);
        let planned = if attempt == 0 { first() } else { Nanos::ZERO };
        self.done += planned;
        if took.as_secs_f64() >= phases.as_secs_f64() {
            let kept = if attempt == 0 { Self::FADE } else { 1.0 };
            self.planned = self.planned * kept + planned.as_secs_f64();
            self.took = self.took * kept + took.as_secs_f64();
        }
    }

    /// `about 1 min 5 s left`, at the recent pace; `None` if the estimate is used up.
    fn remaining_text(&self, estimate: Nanos) -> Option<String> {
        if estimate <= self.done {
            return None;
        }
        let pace = if self.planned > 0.0 { self.took / self.planned } else { 1.0 };
        let left = (estimate - self.done).as_secs_f64() * pace;
        Some(format!("about {} left", numbers::span(Nanos::from_secs_f64(left))))
    }
}

/// Shows the trials that pass through it.
pub struct Watched<'a> {
    inner: &'a mut dyn Testbed,
    wait: Wait,
    estimate: Estimate,
    spent: Nanos,
    pace: Pace,
    /// Number of trials, and of those repeated.
    trials: u64,
    repeats: u64,
    /// The warm-up of trials whose TCP is printed second by second.
    seconds: Option<Nanos>,
}

impl<'a> Watched<'a> {
    /// Watches `inner`, whose trials should take `estimate` in all, in the testbed's own time.
    pub fn new(inner: &'a mut dyn Testbed, estimate: Estimate, quiet: bool) -> Self {
        let (wait, pace) = (Wait::new(quiet), Pace::default());
        let (spent, trials, repeats, seconds) = (Nanos::ZERO, 0, 0, None);
        Self { inner, wait, estimate, spent, pace, trials, repeats, seconds }
    }

    /// Prints each trial's TCP second by second after the trial, from now on, without a warm-up of
    /// this length; `None` prints nothing of it.
    pub const fn print_seconds(&mut self, omit: Option<Nanos>) {
        self.seconds = omit;
    }

    fn announce(&mut self, trial: &Trial) {
        let Estimate { time, searching, trials, .. } = self.estimate;
        let (done, left) = if self.inner.topology().is_simulated() {
            (self.spent, self.wait.virtual_time(self.spent, self.estimate))
        } else {
            let took = since(Timestamp::now(), self.wait.began);
            let left =
                self.pace.remaining_text(time).unwrap_or_else(|| beyond(took, self.estimate));
            (self.pace.done, left)
        };
        let share = done.as_secs_f64() / time.as_secs_f64().max(1e-9);
        let path = match trial.path {
            trial::Path::Device => "",
            trial::Path::Bypass => " (bypass)",
        };
        let of = if searching { String::new() } else { format!(" of {trials}") };
        let again = match self.repeats {
            0 => String::new(),
            repeats => format!(" and {repeats} repeated"),
        };
        let done = format!("{}{of}{again} trials done, {left}", self.trials);
        self.wait.update(share, &done, &format!("{}{path}", trial.label));
    }
}

/// Describes the progress when everything that was expected is done.
fn beyond(took: Duration, estimate: Estimate) -> String {
    let took = numbers::span(took.into());
    if estimate.searching {
        format!("{took} so far, results decide how many more")
    } else {
        format!("{took} so far, more than was expected")
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
        self.pace.learn(trial.phases.total(), trial.flows.len(), trial.attempt, took);
        if trial.attempt == 0 {
            self.trials += 1;
        } else {
            self.repeats += 1;
        }
        self.spent += trial.phases.total();
        if let Some(omit) = self.seconds
            && let Some(lines) = study::seconds::lines(trial, &record, omit)
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
            pace.learn(PHASES, 1, attempt, took);
        }
        pace.remaining_text(Nanos::from_secs(100)).unwrap_or_default()
    }

    #[test]
    fn what_is_left_follows_from_what_it_took_so_far() {
        let second = Duration::from_secs(1);
        assert_eq!(left(0, 1, second), "about 1 min 40 s left");
        assert_eq!(left(40, 1, second), "about 1 min 0 s left");
        assert_eq!(left(40, 3, second), "about 3 min 0 s left", "two of three are repeats");
        assert_eq!(left(40, 1, 2 * second), "about 2 min 0 s left", "each takes twice as long");
        assert_eq!(left(40, 1, Duration::ZERO), "about 1 min 0 s left", "all were in the journal");
        let none = "nothing is known of what comes after";
        assert_eq!(left(120, 1, second), "", "{none}");
    }
}
