//! Waiting, in both loops: for a moment, and for the answers that are still to come.
//!
//! Never sends.

use std::{io, thread};

use measure::Nanos;

use super::line::Inbound;
use super::tally::Tally;
use crate::{Halt, Window, clock};

/// How long to wait where the way is gone, so that a dead link is not hammered.
pub(super) const AWAY: Nanos = Nanos::from_millis(1);

/// A timer's lateness without slack, with room.
pub(super) const LONGEST_SPIN: Nanos = Nanos::from_micros(50);

/// Takes arrivals until the window closes or `over`.
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
            // The load is over and so may be the reflector: nothing more will come.
            Err(_) if now >= window.stop || over() => {
                rest(window.closed, over);
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
}

/// Waits until `at`, or until `halt` is asked.
pub(super) fn pause_until(at: Nanos, halt: &Halt) {
    rest(at, &|| halt.asked());
}

/// Waits until `at`, or until `over`.
pub(super) fn rest(at: Nanos, over: &dyn Fn() -> bool) {
    await_time(at, LONGEST_SPIN, over);
}

/// Asleep as long as can be, and precise enough: a thread that spins from one request to the next
/// uses up its turn, and is put aside just when the next is due.
pub(super) fn await_time(at: Nanos, spin: Nanos, over: &dyn Fn() -> bool) {
    /// How long `over` may be overlooked.
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
