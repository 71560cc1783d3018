//! Open loop: requests leave on schedule, regardless of answers; a second thread collects answers.
//!
//! A round trip counts from the time the request was due, so a tester that falls behind cannot hide
//! it (no coordinated omission). Never sends after the window's stop.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use measure::Nanos;
use nix::sys::prctl;

use super::line::{LEARNING, Line, Outbound};
use super::tally::{Departures, Tally};
use super::waiting::{AWAY, LONGEST_SPIN, await_time, collect, rest};
use crate::socket::{is_away, is_pause};
use crate::{FlowError, Halt, Window, clock};

/// Sends requests every `gap_ns` over `window`. Returns when the load ended.
pub(super) fn run(
    line: &mut Line,
    tally: &mut Tally,
    gap_ns: f64,
    window: Window,
    halt: &Halt,
) -> Result<Nanos, FlowError> {
    let broken = AtomicBool::new(false);
    let (outbound, inbound) = (line.outbound.as_mut(), line.inbound.as_mut());
    let (sent, received) = thread::scope(|threads| {
        let collector = threads.spawn(|| {
            let over = || halt.is_requested() || broken.load(Ordering::Relaxed);
            let outcome = collect(inbound, tally, window, &over);
            if outcome.is_err() {
                broken.store(true, Ordering::Relaxed);
            }
            outcome
        });
        let over = || halt.is_requested() || broken.load(Ordering::Relaxed);
        let sent = send_on_schedule(outbound, gap_ns, window, &over);
        if sent.is_err() {
            broken.store(true, Ordering::Relaxed);
        }
        let received = collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (sent, received)
    });
    let (sent, end) = match sent {
        Ok(done) => done,
        Err(e) => return Err(line.broke("send request to", e)),
    };
    received.map_err(|e| line.broke("receive answer from", e))?;
    tally.sent = sent;
    Ok(end)
}

/// Removes the timer slack of this thread while the value lives (prctl(2): PR_SET_TIMERSLACK).
struct ExactTimers {
    before: i32,
}

impl ExactTimers {
    fn new() -> Self {
        let before = prctl::get_timerslack().unwrap_or(0);
        // If this fails, requests leave later than due, and their round trips show it.
        let _ = prctl::set_timerslack(1);
        Self { before }
    }
}

impl Drop for ExactTimers {
    fn drop(&mut self) {
        // Zero asks for the default.
        let _ = prctl::set_timerslack(self.before.max(0) as u64);
    }
}

/// Sends requests on schedule; returns their number and the end time of the load.
fn send_on_schedule(
    outbound: &mut dyn Outbound,
    gap_ns: f64,
    window: Window,
    over: &dyn Fn() -> bool,
) -> io::Result<(u64, Nanos)> {
    let _exact = ExactTimers::new();
    let spin = LONGEST_SPIN.min(Nanos((gap_ns / 3.0) as u64));
    let mut sent = 0;
    let mut sequence = 0;
    while sequence < LEARNING {
        let due = Departures::due(window.start, gap_ns, sequence);
        if due >= window.stop {
            rest(window.stop, over);
            break;
        }
        await_time(due, spin, over);
        if over() || clock::monotonic() >= window.stop {
            break;
        }
        match outbound.send(sequence, due) {
            Ok(()) => {
                sent += 1;
                sequence += 1;
            }
            // No room: the same request again. Its lateness will show, as it counts from its due
            // time.
            Err(e) if is_pause(&e) => {}
            Err(e) if is_away(&e) => {
                // Requests due while the path is down stay unsent; go on with the next due one.
                rest(clock::monotonic() + AWAY, over);
                let passed = clock::monotonic().saturating_sub(window.start);
                sequence = (sequence + 1).max((passed.0 as f64 / gap_ns) as u32);
            }
            // The reflector may have received the halt first.
            Err(_) if over() => break,
            Err(e) => return Err(e),
        }
    }
    Ok((sent, clock::monotonic().min(window.stop)))
}
