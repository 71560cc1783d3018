//! Progress on stderr: which trial runs, how many are done, how long it will take.
//!
//! A testbed around a testbed, so that studies know nothing of it. Silent for the first two seconds;
//! a line every ten seconds where stderr is no terminal; nothing at all when quiet. Phases tell how
//! long real trials take; how long a second of virtual time takes is seen as it goes.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use measure::Nanos;
use method::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::numbers;

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
                bar.set_prefix(done.to_owned());
                bar.set_message(now_at.to_owned());
                bar.tick();
            }
            Shown::Lines { last } => {
                if since(now, *last) >= LINE_EVERY {
                    *last = now;
                    eprintln!("{done}: {now_at}");
                }
            }
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

/// Shows what passes through it.
pub struct Watched<'a> {
    inner: &'a mut dyn Testbed,
    wait: Wait,
    estimate: Nanos,
    spent: Nanos,
    trials: u64,
}

impl<'a> Watched<'a> {
    /// Watches `inner`, whose trials should take `estimate` in all, in the testbed's own time.
    pub fn new(inner: &'a mut dyn Testbed, estimate: Nanos, quiet: bool) -> Self {
        Self { inner, wait: Wait::new(quiet), estimate, spent: Nanos::ZERO, trials: 0 }
    }

    fn announce(&mut self, trial: &Trial) {
        let left = if self.inner.topology().is_simulated() {
            self.wait.virtual_time(self.spent, self.estimate)
        } else if self.estimate > self.spent {
            format!("{} left", numbers::span(self.estimate - self.spent))
        } else {
            "soon done".to_owned()
        };
        let share = self.spent.as_secs_f64() / self.estimate.as_secs_f64().max(1e-9);
        let path = match trial.path {
            method::trial::Path::Device => "",
            method::trial::Path::Bypass => " (bypass)",
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
        let record = self.inner.run(trial)?;
        self.trials += 1;
        self.spent += trial.phases.total();
        Ok(record)
    }
}
