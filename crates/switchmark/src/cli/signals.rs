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
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block()?;
    let stop = stop.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        while let Ok(signal) = signals.wait() {
            if stop.asked() {
                // The kernel removes the lab with this process; the journal lost nothing.
                std::process::exit(1);
            }
            stop.ask();
            speak(&format!("{signal}: ending the trial under way; once more to end at once"));
        }
    })?;
    Ok(())
}
