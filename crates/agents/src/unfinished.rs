//! Programs and waits in progress, which may outlast the user's request to end.
//!
//! Owns the list, and the handling of each if this program has to end first. A program is killed
//! with everything that it started; a command that undoes something continues by itself. Never
//! waits for anything.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Entries in progress, by number.
static UNDER_WAY: Mutex<Entries> = Mutex::new(Entries { last: 0, all: BTreeMap::new() });

struct Entries {
    last: u64,
    all: BTreeMap<u64, (String, Kind)>,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A wait inside this process, which ends with it.
    Wait,
    /// A program that leads a process group of its own.
    Program(u32),
    /// A program that undoes a change of this program. It is not killed, because a half-done undo
    /// would not help.
    WayBack(u32),
}

/// An entry that stays in progress until this is dropped.
#[derive(Debug)]
pub struct UnderWay(u64);

impl Drop for UnderWay {
    fn drop(&mut self) {
        entries().all.remove(&self.0);
    }
}

/// Adds an entry, described by words that fit after "not ended:".
pub fn note(words: impl Into<String>, kind: Kind) -> UnderWay {
    let mut entries = entries();
    entries.last += 1;
    let number = entries.last;
    entries.all.insert(number, (words.into(), kind));
    UnderWay(number)
}

/// Ends every entry that can be ended, because this process ends now; describes each.
pub fn cut_short() -> Vec<String> {
    let mut entries = entries();
    let all = std::mem::take(&mut entries.all);
    let one = |(words, kind): (String, Kind)| match kind {
        Kind::Wait => format!("not waited for: {words}"),
        Kind::Program(leader) => {
            if let Ok(group) = i32::try_from(leader) {
                // Any remaining process of the group; if there is none, that is no error.
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            format!("ended: {words}")
        }
        Kind::WayBack(leader) => format!(
            "still under way, as process {leader}: {words}; `switchmark doctor --restore` makes sure \
             of it"
        ),
    };
    all.into_values().map(one).collect()
}

fn entries() -> MutexGuard<'static, Entries> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}
