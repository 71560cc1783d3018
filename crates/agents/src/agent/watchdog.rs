//! Ends the agent with its controller, after restoring its changes.
//!
//! Four events end it: the end of stdin; missing heartbeats, for a cut link or a controller that
//! hangs; the signals that ask a process to end; and the kernel's parent-death signal, which also
//! works for an agent that hangs. The last is disabled while changes to the host are in place,
//! because a killed agent restores nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dataplane::clock;
use measure::Nanos;
use nix::sys::signal::{SigSet, Signal};

use super::cancel::Cancel;
use super::leave::{self, End};
use super::parent_death::TIE;
use crate::failed::Failed;
use crate::protocol::{LEASE, LOST_TOUCH};

/// Interval at which the silence is measured.
const GLANCE: Duration = Duration::from_millis(100);
/// Maximum silence counted per interval: if this process itself was delayed, the controller may not
/// have been silent.
const MOST_AT_A_GLANCE: Nanos = Nanos::from_millis(200);

/// True if a message arrived since the last check.
#[derive(Clone, Default)]
pub struct Heard(Arc<AtomicBool>);

impl Heard {
    /// Notes a message.
    pub fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Ends this process once its controller has been silent for [`LEASE`], or at a signal that asks
/// for it. Must be called before any other thread starts, which would receive the signals.
pub fn watch(cancel: &Cancel, heard: Heard) -> Result<(), Failed> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    // Ctrl-C reaches the whole terminal, and there the controller decides: blocked, and not waited
    // for.
    signals.thread_block().map_err(Failed::to(TIE))?;
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block().map_err(Failed::to(TIE))?;
    leave::tie("signals", cancel, move || match signals.wait() {
        Ok(signal) => End::because(1, format!("ended by {signal}")),
        Err(_) => End::because(1, "signals cannot be waited for"),
    })?;
    leave::tie("lease", cancel, move || {
        wait_for_silence(&heard);
        let silence = LEASE.as_millis();
        End::because(LOST_TOUCH, format!("the controller was silent for {silence} ms"))
    })
}

fn wait_for_silence(heard: &Heard) {
    let (mut silent, mut before) = (Nanos::ZERO, clock::monotonic());
    while silent < LEASE.into() {
        thread::park_timeout(GLANCE);
        let now = clock::monotonic();
        let passed = now.saturating_sub(before).min(MOST_AT_A_GLANCE);
        before = now;
        silent = if heard.take() { Nanos::ZERO } else { silent + passed };
    }
}
