//! Ctrl-C and friends: the first asks for an end in order, which has a deadline; the second ends
//! the process at once.
//!
//! Owns that deadline: whatever a verb waits for, its process is gone within three seconds of the
//! first signal. What had to be put back is left to those who do it by themselves (agents, once
//! their pipes close; the kernel, for a lab) or is written down (deeds at devices). Signals are
//! blocked in every thread and waited for in one of their own, so that no handler runs anywhere.
//! Must be called before any other thread is started.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use agents::controller::Stop;
use agents::unfinished;
use nix::sys::signal::{SigSet, Signal};

use super::exit::Status;
use crate::speak::speak;

/// Time for an end in order; the rest of the three seconds is for the forced end.
const IN_ORDER: Duration = Duration::from_millis(2400);

/// True once one of them came.
static CAME: AtomicBool = AtomicBool::new(false);

/// Turns SIGINT, SIGTERM and SIGHUP into `stop`.
pub fn watch(stop: &Stop) -> std::io::Result<()> {
    let stop = stop.clone();
    on_signal(Status::Failed, move |signal| {
        stop.ask();
        speak(&format!("{signal}: ending the trial under way; once more to end at once"));
    })
}

/// Calls `end` on the first signal. A process that does not end in order ends with `cut_short`.
pub fn ending(cut_short: Status, end: impl Fn() + Send + 'static) -> std::io::Result<()> {
    on_signal(cut_short, move |_| end())
}

/// True if the user asked for an end.
pub fn is_end_requested() -> bool {
    CAME.load(Ordering::Relaxed)
}

fn on_signal(
    cut_short: Status,
    first: impl FnOnce(Signal) + Send + 'static,
) -> std::io::Result<()> {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block()?;
    let (begin, begun) = mpsc::channel::<()>();
    // Made now: at the end there may be no thread to be had.
    thread::Builder::new().name("deadline".to_owned()).spawn(move || {
        if begun.recv().is_ok() {
            rest(IN_ORDER);
            speak("this did not end in order within 2.4 s, and is ended now");
            end_now(cut_short);
        }
    })?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Ok(signal) = signals.wait() {
            CAME.store(true, Ordering::Relaxed);
            let _ = begin.send(());
            first(signal);
        }
        if signals.wait().is_ok() {
            end_now(Status::Failed);
        }
    })?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the deadline of an end, and no part of a trial")]
fn rest(time: Duration) {
    thread::sleep(time);
}

/// Ends the process at once. The journal loses nothing, and the kernel removes a lab with this
/// process.
fn end_now(status: Status) -> ! {
    for words in unfinished::cut_short() {
        speak(&words);
    }
    process::exit(status.code().into());
}
