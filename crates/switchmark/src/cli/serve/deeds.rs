//! Actions of a page on a run, with `--allow-run`: ended, by the signal that Ctrl-C sends;
//! continued, by this program's own `run --resume`.
//!
//! Owns whom a signal goes to: the process that the journal names, if it is still the one, and
//! nobody else. Never writes to a journal, and never waits for a run.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use journal::RunSummary;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serve::{Deed, Deeds, Kind, Possible, Source, Unavailable};
use study::run::RunStatus;

use super::folder::Folder;
use super::journal::Journal;
use crate::cli::run_request::DATA_SHEET;
use crate::cli::{lone, own};
use crate::config::source::plain;

/// Octets kept of a run's last output.
const MOST_SAID: usize = 2048;

/// Journals in which runs are found.
#[derive(Clone)]
pub enum Journals {
    /// One journal.
    One(Arc<Journal>),
    /// Folder of several journals.
    Folder(Folder),
}

impl Journals {
    /// Returns the source of the pages.
    pub fn source(self) -> Arc<dyn Source> {
        match self {
            Self::One(journal) => journal,
            Self::Folder(folder) => Arc::new(folder),
        }
    }
}

/// Carries out actions on runs.
pub struct RunDeeds {
    journals: Journals,
    program: PathBuf,
    known: Arc<Mutex<Known>>,
}

/// Actions since the start.
#[derive(Default)]
struct Known {
    /// Processes that were asked to end, by run.
    stopped: BTreeMap<String, String>,
    /// States of the processes that continue runs, by run.
    resumed: BTreeMap<String, Resumed>,
}

enum Resumed {
    Lives,
    /// Ended, with its last output if it failed.
    Ended(Option<String>),
}

impl std::fmt::Debug for RunDeeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunDeeds")
    }
}

fn refused(message: String, hint: &str) -> Unavailable {
    Unavailable { kind: Kind::State, message, hint: Some(hint.to_owned()) }
}

const fn broke_off(status: &RunStatus) -> bool {
    matches!(status, RunStatus::Interrupted | RunStatus::Died | RunStatus::Failed { .. })
}

impl RunDeeds {
    pub fn new(journals: Journals) -> std::io::Result<Self> {
        Ok(Self { journals, program: std::env::current_exe()?, known: Arc::default() })
    }

    fn lock_known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self, run: &str) -> Result<Arc<Journal>, Unavailable> {
        match &self.journals {
            Journals::One(journal) => Ok(Arc::clone(journal)),
            Journals::Folder(folder) => folder.journal_of(run),
        }
    }

    fn stop(&self, run: &str) -> Result<(), Unavailable> {
        let summary = self.journal(run)?.summary(run)?;
        if summary.status != RunStatus::Running {
            let message = format!("stop run {run}: it is not under way");
            return Err(refused(message, "its page shows how it stands"));
        }
        let holder = summary.holder.unwrap_or_default();
        let mut known = self.lock_known();
        if known.stopped.get(run) == Some(&holder) {
            let hint = "wait for the trial under way; a second signal would end it at once";
            return Err(refused(format!("stop run {run}: it was asked to already"), hint));
        }
        interrupt(run, &holder)?;
        known.stopped.insert(run.to_owned(), holder);
        Ok(())
    }

    fn resume(&self, run: &str) -> Result<(), Unavailable> {
        let journal = self.journal(run)?;
        let summary = journal.summary(run)?;
        if !broke_off(&summary.status) {
            let message = format!("go on with run {run}: it is {}", summary.status.as_str());
            return Err(refused(message, "only a run that broke off can go on"));
        }
        let folder = journal.folder_of(run)?;
        own::may_go_on(&summary, journal.path(), &folder)
            .map_err(|error| refused(error.message, &error.hint))?;
        let mut known = self.lock_known();
        if matches!(known.resumed.get(run), Some(Resumed::Lives)) {
            let message = format!("go on with run {run}: it was asked to already");
            return Err(refused(message, "its page shows how it stands"));
        }
        let child = self.spawn(&summary, journal.path(), &folder)?;
        known.stopped.remove(run);
        known.resumed.insert(run.to_owned(), Resumed::Lives);
        let (all, run) = (Arc::clone(&self.known), run.to_owned());
        let waited = thread::Builder::new().name("resumed".to_owned()).spawn(move || {
            let said = end_of(child);
            let mut known = all.lock().unwrap_or_else(PoisonError::into_inner);
            known.resumed.insert(run, Resumed::Ended(said));
        });
        waited.map(drop).map_err(|cause| Unavailable::new(Kind::State, plain(&cause)))
    }

    /// Continues a run as its user would. The process has a group of its own, so that a signal from
    /// the server's terminal does not end it.
    fn spawn(&self, run: &RunSummary, journal: &Path, folder: &Path) -> Result<Child, Unavailable> {
        let failed = |why: String| {
            let hint = "`switchmark run --resume` in a terminal says more";
            refused(format!("go on with run {}: {why}", run.id), hint)
        };
        // A relative path would be looked up in the run's folder.
        let journal = std::path::absolute(journal).map_err(|cause| failed(plain(&cause)))?;
        let verb = if run.verb == DATA_SHEET { DATA_SHEET } else { "run" };
        let mut command = Command::new(&self.program);
        command.args([verb, "--resume", &run.id, "--quiet", "--journal"]).arg(journal);
        command.current_dir(folder).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let in_folder = |cause| failed(format!("in {}: {}", folder.display(), plain(&cause)));
        command.spawn().map_err(in_folder)
    }
}

impl Deeds for RunDeeds {
    fn possible(&self, run: &RunSummary) -> Possible {
        let known = self.lock_known();
        let mut possible = Possible::default();
        match known.resumed.get(&run.id) {
            Some(Resumed::Lives) => possible.is_starting = run.status != RunStatus::Running,
            Some(Resumed::Ended(said)) => possible.said.clone_from(said),
            None => {}
        }
        let holder = run.holder.as_deref().unwrap_or_default();
        let was_stopped = known.stopped.get(&run.id).is_some_and(|asked| asked == holder);
        possible.deed = match &run.status {
            RunStatus::Running if was_stopped => {
                let said = "It was asked to end: it does so after the trial under way.";
                possible.said = Some(said.to_owned());
                None
            }
            RunStatus::Running => lone::number_here(holder).map(|_| Deed::Stop),
            status if broke_off(status) && !possible.is_starting => {
                own::foreign(run).is_none().then_some(Deed::Resume)
            }
            _ => None,
        };
        possible
    }

    fn carry_out(&self, deed: Deed, run: &str) -> Result<(), Unavailable> {
        match deed {
            Deed::Stop => self.stop(run),
            Deed::Resume => self.resume(run),
        }
    }
}

/// Sends SIGINT to the process, if it still carries out the run.
fn interrupt(run: &str, holder: &str) -> Result<(), Unavailable> {
    let failed = |why: &str, hint: &str| Err(refused(format!("stop run {run}: {why}"), hint));
    let elsewhere = "end it where it runs, by Ctrl-C or SIGINT";
    let gone = "the process that carries it out is not on this machine, or not known";
    let Some(number) = lone::number_here(holder) else { return failed(gone, elsewhere) };
    // The held process cannot become another one between the check and the signal.
    let raw = i32::try_from(number).ok().and_then(Pid::from_raw);
    let Some(Ok(held)) = raw.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return failed("its process ended just now, or cannot be held", elsewhere);
    };
    if lone::number_here(holder) != Some(number) || !has_our_name(number) {
        return failed("the process that the journal names is no switchmark", elsewhere);
    }
    match pidfd_send_signal(&held, Signal::INT) {
        Ok(()) => Ok(()),
        Err(cause) => failed(&plain(&cause.into()), elsewhere),
    }
}

/// True if the process has this program's name: a journal may name any process.
fn has_our_name(process: u32) -> bool {
    let name = |of: &str| std::fs::read_to_string(format!("/proc/{of}/comm")).unwrap_or_default();
    let own = name("self");
    !own.is_empty() && name(&process.to_string()) == own
}

/// Waits for the process; returns its output if it failed.
fn end_of(mut child: Child) -> Option<String> {
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        let mut piece = [0; 512];
        while let Ok(read @ 1..) = stderr.read(&mut piece) {
            said.extend(&piece[..read]);
            said.drain(..said.len().saturating_sub(MOST_SAID));
        }
    }
    let status = child.wait();
    if status.is_ok_and(|status| status.success()) {
        return None;
    }
    let text = String::from_utf8_lossy(&said).trim().to_owned();
    Some(format!("It went on and ended: {text}"))
}
