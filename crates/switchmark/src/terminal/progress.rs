//! Progress on stderr: which trial runs, how many are done, how long it will take.
//!
//! A testbed around a testbed, so that studies know nothing of it. Silent for the first two seconds;
//! a line every ten seconds where stderr is no terminal; nothing at all when quiet.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use measure::Nanos;
use method::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::numbers;

const PATIENCE: Duration = Duration::from_secs(2);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows what passes through it.
pub struct Watched<'a> {
    inner: &'a mut dyn Testbed,
    shown: Shown,
    began: Timestamp,
    estimate: Nanos,
    spent: Nanos,
    trials: u64,
}

enum Shown {
    Bar(ProgressBar),
    Lines { last: Timestamp },
    Nothing,
}

impl<'a> Watched<'a> {
    /// Watches `inner`, whose trials should take `estimate` in all.
    pub fn new(inner: &'a mut dyn Testbed, estimate: Nanos, quiet: bool) -> Self {
        let began = Timestamp::now();
        let shown = if quiet {
            Shown::Nothing
        } else if std::io::stderr().is_terminal() {
            Shown::Bar(bar())
        } else {
            Shown::Lines { last: began }
        };
        Self { inner, shown, began, estimate, spent: Nanos::ZERO, trials: 0 }
    }

    fn announce(&mut self, trial: &Trial) {
        let now = Timestamp::now();
        if since(now, self.began) < PATIENCE {
            return;
        }
        let left = self.estimate.saturating_sub(self.spent);
        let left = if left == Nanos::ZERO {
            "soon done".into()
        } else {
            format!("{} left", numbers::span(left))
        };
        let share = self.spent.as_secs_f64() / self.estimate.as_secs_f64().max(1e-9);
        let path = match trial.path {
            method::trial::Path::Device => "",
            method::trial::Path::Bypass => " (bypass)",
        };
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.set_position((share.min(1.0) * 1000.0) as u64);
                bar.set_prefix(format!("{} trials, {left}", self.trials));
                bar.set_message(format!("{}{path}", trial.label));
                bar.tick();
            }
            Shown::Lines { last } => {
                if since(now, *last) >= LINE_EVERY {
                    *last = now;
                    eprintln!("{} trials done, {left}: {}{path}", self.trials, trial.label);
                }
            }
            Shown::Nothing => {}
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

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
