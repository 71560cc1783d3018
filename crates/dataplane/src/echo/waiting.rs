//! Waiting in both loops: until a time, and for outstanding answers.
//!
//! Never sends.

use std::{io, thread};

use measure::Nanos;

use super::line::Inbound;
use super::tally::Tally;
use crate::{Halt, Window, clock};

/// Pause while the path is down, so that a dead link is not flooded.
pub(super) const AWAY: Nanos = Nanos::from_millis(1);

/// Lateness of a timer without slack, with a margin.
pub(super) const LONGEST_SPIN: Nanos = Nanos::from_micros(50);

/// Collects arrivals until the window closes or `over`.
pub(super) fn collect(
    inbound: &mut dyn Inbound,
    tally: &mut Tally,
    window: Window,
    over: &dyn Fn() -> bool,
) -> io::Result<()> {
    loop {
        let now = clock::monotonic();
        if now >= window.closed || over() {
            return Ok(());
        }
        match inbound.receive() {
            Ok(arrival) => {
                tally.arrive(arrival);
            }
            // The load has ended and so may the reflector: no more answers will arrive.
            Err(_) if now >= window.stop || over() => {
                rest(window.closed, over);
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
}

/// Waits until `at`, or until `halt` is requested.
pub(super) fn pause_until(at: Nanos, halt: &Halt) {
    rest(at, &|| halt.is_requested());
}

/// Waits until `at`, or until `over`.
pub(super) fn rest(at: Nanos, over: &dyn Fn() -> bool) {
    await_time(at, LONGEST_SPIN, over);
}

/// Waits until `at`, asleep for as long as possible. A thread that spins from one request to the
/// next uses up its slice, and is preempted just as the next is due.
pub(super) fn await_time(at: Nanos, spin: Nanos, over: &dyn Fn() -> bool) {
    /// Longest delay until `over` is noticed.
    const LONGEST_SLEEP: Nanos = Nanos::from_millis(100);
    loop {
        let left = at.saturating_sub(clock::monotonic());
        if left == Nanos::ZERO || over() {
            return;
        }
        if left > spin {
            thread::sleep(left.saturating_sub(spin).min(LONGEST_SLEEP).as_duration());
        } else {
            std::hint::spin_loop();
        }
    }
}
