//! Runs under way, for any number of pages: one thread reads the journal, each page has a bounded
//! queue.
//!
//! Owns the thread, which is there only while somebody follows a run. A page that does not keep up
//! loses its stream and asks anew; whoever measures never notices either.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use journal::progress::{Progress, TrialLine};
use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::source::{Source, Unavailable, Watch};

/// Interval at which the journal is checked for changes.
const EVERY: Duration = Duration::from_millis(200);
/// Intervals after which runs are read even without a change: a dead process writes nothing.
const AT_LEAST_EVERY: u32 = 10;
/// Events that a page may be behind.
const BEHIND: usize = 32;

/// Follows runs for all pages.
#[derive(Clone)]
pub(crate) struct Hub {
    source: Arc<dyn Source>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
}

#[derive(Default)]
struct Shared {
    runs: BTreeMap<String, Followed>,
    has_thread: bool,
}

/// A run that somebody follows.
struct Followed {
    events: Sender<Bytes>,
    /// True if somebody new has received nothing yet.
    is_fresh: bool,
}

impl Hub {
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, shared: Arc::default() }
    }

    /// A run's events from now on; the first of them has all that is known.
    pub(crate) fn follow(&self, run: &str) -> Receiver<Bytes> {
        let mut shared = self.lock();
        let followed = shared.runs.entry(run.to_owned()).or_insert_with(|| {
            let (events, _) = channel(BEHIND);
            Followed { events, is_fresh: true }
        });
        followed.is_fresh = true;
        let receiver = followed.events.subscribe();
        if !shared.has_thread {
            let hub = self.clone();
            let thread = thread::Builder::new().name("follow".to_owned());
            shared.has_thread = thread.spawn(move || hub.watch()).is_ok();
        }
        self.shared.1.notify_one();
        receiver
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until nobody follows any run.
    fn watch(&self) {
        let mut watch = None;
        let mut seen: BTreeMap<String, Progress> = BTreeMap::new();
        let mut rounds = 0;
        loop {
            let Some((runs, fresh)) = self.next() else { return };
            seen.retain(|run, _| runs.contains(run));
            rounds += 1;
            let told = self.look(&mut watch, rounds % AT_LEAST_EVERY == 0, &runs, &fresh);
            match told {
                Ok(now) => {
                    for (run, progress) in now {
                        let last = seen.get(&run).filter(|_| !fresh.contains(&run));
                        if let Some(event) = event(&progress, last) {
                            self.send_event(&run, event);
                        }
                        seen.insert(run, progress);
                    }
                }
                Err(error) => {
                    watch = None;
                    let text = error.to_string().replace(['\n', '\r'], " ");
                    let event = Bytes::from(format!("event: trouble\ndata: {text}\n\n"));
                    for run in &runs {
                        self.send_event(run, event.clone());
                    }
                }
            }
        }
    }

    /// Waits a while, or until somebody new comes. Returns the followed runs and those that are
    /// followed by somebody new; `None` if there are none.
    fn next(&self) -> Option<(BTreeSet<String>, BTreeSet<String>)> {
        let is_waited_for =
            |shared: &mut Shared| !shared.runs.values().any(|followed| followed.is_fresh);
        let waited = self.shared.1.wait_timeout_while(self.lock(), EVERY, is_waited_for);
        let (mut shared, _) = waited.unwrap_or_else(PoisonError::into_inner);
        shared.runs.retain(|_, followed| followed.events.receiver_count() > 0);
        if shared.runs.is_empty() {
            shared.has_thread = false;
            return None;
        }
        let runs = shared.runs.keys().cloned().collect();
        let fresh = shared.runs.iter().filter(|(_, f)| f.is_fresh).map(|(run, _)| run.clone());
        let fresh = fresh.collect();
        shared.runs.values_mut().for_each(|followed| followed.is_fresh = false);
        Some((runs, fresh))
    }

    /// Reads the progress of runs that may have changed, or that somebody new follows.
    fn look(
        &self,
        watch: &mut Option<Box<dyn Watch>>,
        anyhow: bool,
        runs: &BTreeSet<String>,
        fresh: &BTreeSet<String>,
    ) -> Result<Vec<(String, Progress)>, Unavailable> {
        let watch = match watch {
            Some(watch) => watch,
            none => none.insert(self.source.watch()?),
        };
        let all = watch.changed()? || anyhow;
        let asked = runs.iter().filter(|run| all || fresh.contains(*run));
        asked.map(|run| Ok((run.clone(), watch.progress(run)?))).collect()
    }

    fn send_event(&self, run: &str, event: Bytes) {
        if let Some(followed) = self.lock().runs.get(run) {
            // Nobody may be there any more.
            let _ = followed.events.send(event);
        }
    }
}

/// Formats what has changed since the last time as a server-sent event; `None` without changes.
fn event(now: &Progress, last: Option<&Progress>) -> Option<Bytes> {
    if last == Some(now) {
        return None;
    }
    let is_new = |trial: &&TrialLine| last.is_none_or(|last| !last.trials.contains(trial));
    let trials: Vec<TrialLine> = now.trials.iter().filter(is_new).cloned().collect();
    let text = serde_json::to_string(&Progress { trials, ..now.clone() }).ok()?;
    // JSON has no line breaks of its own.
    Some(Bytes::from(format!("data: {text}\n\n")))
}
