//! What may outlast the user's wish to end: other programs and waits, for as long as they last.
//!
//! Owns the list, and what becomes of each where this program has to end first: a program is killed
//! with all that it started, a way back goes on by itself. Never waits for anything.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// What is under way, by number.
static UNDER_WAY: Mutex<Entries> = Mutex::new(Entries { last: 0, all: BTreeMap::new() });

struct Entries {
    last: u64,
    all: BTreeMap<u64, (String, Kind)>,
}

/// What kind of thing it is that may not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A wait inside this process, which ends with it.
    Wait,
    /// A program that leads a process group of its own.
    Program(u32),
    /// The same, and it undoes what this program did: killed halfway it would help nobody.
    WayBack(u32),
}

/// Something that is under way until this is dropped.
#[derive(Debug)]
pub struct UnderWay(u64);

impl Drop for UnderWay {
    fn drop(&mut self) {
        entries().all.remove(&self.0);
    }
}

/// Notes that this is under way, in words that can follow "not ended:".
pub fn note(words: impl Into<String>, kind: Kind) -> UnderWay {
    let mut entries = entries();
    entries.last += 1;
    let number = entries.last;
    entries.all.insert(number, (words.into(), kind));
    UnderWay(number)
}

/// Ends what can be ended, for this process ends now; each in words.
pub fn cut_short() -> Vec<String> {
    let mut entries = entries();
    let all = std::mem::take(&mut entries.all);
    let one = |(words, kind): (String, Kind)| match kind {
        Kind::Wait => format!("not waited for: {words}"),
        Kind::Program(leader) => {
            if let Ok(group) = i32::try_from(leader) {
                // Whoever is left of the group; none is no error.
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
