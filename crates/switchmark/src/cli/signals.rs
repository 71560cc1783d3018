//! Ctrl-C and friends: the first asks the run to end, the second ends the process.
//!
//! Signals are blocked in every thread and waited for in one of their own, so that no handler runs
//! anywhere. Must be called before any other thread is started.

use std::thread;

use nix::sys::signal::{SigSet, Signal};

use crate::controller::Stop;
use crate::speak::speak;

/// Turns SIGINT, SIGTERM and SIGHUP into `stop`.
pub fn watch(stop: &Stop) -> std::io::Result<()> {
    let stop = stop.clone();
    each(move |signal| {
        if stop.asked() {
            // The kernel removes the lab with this process; the journal lost nothing.
            std::process::exit(1);
        }
        stop.ask();
        speak(&format!("{signal}: ending the trial under way; once more to end at once"));
    })
}

/// Has `end` called by each of them; the second ends the process.
pub fn ending(end: impl Fn() + Send + 'static) -> std::io::Result<()> {
    let mut ended = false;
    each(move |_| {
        if ended {
            std::process::exit(1);
        }
        ended = true;
        end();
    })
}

fn each(mut hear: impl FnMut(Signal) + Send + 'static) -> std::io::Result<()> {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block()?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        while let Ok(signal) = signals.wait() {
            hear(signal);
        }
    })?;
    Ok(())
}
