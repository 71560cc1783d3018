//! Sending loops of a load: greedy, paced, or a burst.
//!
//! Owns the sender's counts. A frame uses a number only once the kernel took it, so numbers run
//! from 0 without gaps. A paced frame is offered and not sent if the kernel drops it, or if its
//! time passes while the output is closed. It is never retried.
//!
//! Two things may end shortly after the window's stop. One is a greedy batch begun before it. The
//! other is the catching-up of a paced load whose sender was delayed near the end. It keeps to the
//! burst limit and has a grace of 10 ms at most.

use std::thread;
use std::time::Duration;

use measure::{Histogram, Nanos};
use trial::Schedule;
use trial::record::DatagramsRecord;

use super::batch::SLOTS;
use super::output::{Output, Refusal};
use super::pacer::Pacer;
use super::turns::Turns;
use super::{Traffic, gap_ns, udp_socket};
use crate::socket::TICK;
use crate::{End, FlowError, Halt, Window, clock};

/// Pause between two attempts while the output is closed.
const CLOSED_PAUSE: Duration = Duration::from_millis(1);

/// Longest catching-up of a paced load after its stop: enough for another program's time slice.
/// [`GRACE_SHARE`] limits it further, so that receivers do not close before the last frame.
pub(crate) const GRACE: Nanos = Nanos::from_millis(10);
/// Divisor of the residual time that bounds [`GRACE`].
pub(crate) const GRACE_SHARE: u64 = 4;

/// Intended duration of a greedy batch, so that a slow link is not overrun at the stop.
const BATCH_LONG: Nanos = Nanos::from_micros(500);
const BATCH_SHORT: Nanos = Nanos::from_micros(150);

/// Wait below which a paced sender spins, so that its processor never goes idle. Waking an idle one
/// takes a virtual machine up to some milliseconds, about once a second, and a NIC's host some
/// microseconds each time. Longer waits mean a load light enough for either.
const SPIN: Nanos = Nanos::from_millis(1);

/// Longest spin before the load begins: longer than a scheduler's slice, so that a sender knows by
/// then whether it shares its processor.
const SPIN_BEFORE: Nanos = Nanos::from_millis(10);

/// Longest spin while other programs want the processor: it does not go idle then, and a waking
/// sleeper runs before them.
const SPIN_CROWDED: Nanos = Nanos::from_micros(10);
/// Shortest wait worth the two context switches of sleeping while other programs want the
/// processor.
const SLEEP_CROWDED: Nanos = Nanos::from_micros(40);

/// Gap between two clock readings of a wait that shows a preemption: longer than any interrupt,
/// shorter than another program's slice.
const PUT_ASIDE: Nanos = Nanos::from_micros(500);

/// Running load.
struct Load<'a> {
    output: Output,
    tally: Tally,
    spec: &'a End<Traffic>,
    turns: Turns,
}

/// Sends from the window's start to its stop, or until a halt is asked for, on the calling thread.
pub(super) fn run(
    output: Output,
    spec: &End<Traffic>,
    window: Window,
    halt: &Halt,
) -> Result<DatagramsRecord, FlowError> {
    let mut load = Load {
        output,
        tally: Tally::default(),
        spec,
        turns: Turns::begin(spec.flow.cpu.is_some()),
    };
    wait(window.start, SPIN_BEFORE, halt, &mut load.turns);
    load.turns.settle(clock::monotonic());
    let (limit, burst_limit) = (spec.flow.limit, spec.flow.asked.burst_limit);
    let (offered, longest_burst, late) = match spec.flow.asked.schedule {
        Schedule::Greedy => (load.run_greedy(limit, window, halt)?, 0, 0),
        Schedule::Burst(frames) => (load.run_greedy(frames.min(limit), window, halt)?, 0, 0),
        Schedule::Paced(rate) => {
            let schedule = Pacer::new(&window, gap_ns(rate), limit, burst_limit);
            load.run_paced(schedule, window, halt)?
        }
        Schedule::Falling { from, to, after } => {
            let (from, to) = (gap_ns(from), gap_ns(to));
            let schedule = Pacer::falling(&window, from, to, after, limit, burst_limit);
            load.run_paced(schedule, window, halt)?
        }
    };
    let never_left = load.output.settle();
    let tally = load.tally;
    Ok(DatagramsRecord {
        backend: load.output.name().to_owned(),
        offered,
        sent: tally.sent.saturating_sub(never_left),
        sending: tally.last.saturating_sub(tally.first.unwrap_or(tally.last)),
        departures: tally.departures,
        longest_burst,
        late,
        overran: tally.last.saturating_sub(window.stop),
        ..DatagramsRecord::default()
    })
}

/// Frames that left so far.
#[derive(Default)]
struct Tally {
    sent: u64,
    /// Time before the first frame was handed to the kernel.
    first: Option<Nanos>,
    /// Time when the kernel had taken the last frame.
    last: Nanos,
    departures: Histogram,
}

/// Result of one send attempt of several frames.
struct Go {
    /// Frames tried: taken or dropped by the kernel.
    tried: u64,
    /// Reason for ending before all were tried.
    cut: Option<Cut>,
}

/// Reason why an attempt ended early.
enum Cut {
    /// There was no room in time.
    Full,
    /// The output is closed.
    Closed,
}

impl Load<'_> {
    /// Sends as fast as possible until `most` frames are sent; returns the number of frames tried.
    fn run_greedy(&mut self, most: u64, window: Window, halt: &Halt) -> Result<u64, FlowError> {
        let mut offered = 0;
        let mut batch = SLOTS as u64;
        loop {
            let now = clock::monotonic();
            let left = most.saturating_sub(self.tally.sent);
            if now >= window.stop || left == 0 || halt.is_requested() {
                return Ok(offered);
            }
            let go = self.go(batch.min(left), halt)?;
            offered += go.tried;
            if let Some(Cut::Closed) = go.cut {
                offered += 1;
                thread::sleep(CLOSED_PAUSE);
                continue;
            }
            let took = clock::monotonic().saturating_sub(now);
            if took > BATCH_LONG {
                batch = (batch / 2).max(1);
            } else if took < BATCH_SHORT {
                batch = (batch * 2).min(SLOTS as u64);
            }
        }
    }

    /// Sends on schedule. Returns the number of due frames, the most of one attempt, and the number
    /// of late ones.
    fn run_paced(
        &mut self,
        mut schedule: Pacer,
        window: Window,
        halt: &Halt,
    ) -> Result<(u64, u64, u64), FlowError> {
        let residual = window.closed.saturating_sub(window.stop);
        let end = window.stop + GRACE.min(residual / GRACE_SHARE);
        loop {
            let mut now = clock::monotonic();
            // A sender that was delayed past the end sends no more: receivers may be closed.
            let ended = halt.is_requested() || now >= end;
            let due = if ended { 0 } else { schedule.due(now) };
            if due > 0 {
                let go = self.go(due, halt)?;
                schedule.take(go.tried, now);
                if let Some(Cut::Closed) = go.cut {
                    thread::sleep(CLOSED_PAUSE);
                    now = clock::monotonic();
                    schedule.skip(now);
                }
            }
            if ended || schedule.is_over() {
                return Ok((schedule.come(now), schedule.longest_burst(), schedule.late()));
            }
            let from = if schedule.is_behind(now) { clock::monotonic() } else { now };
            wait(schedule.next_look(from).min(end), SPIN, halt, &mut self.turns);
        }
    }

    /// Hands `frames` frames to the kernel, one after another.
    #[inline]
    fn go(&mut self, frames: u64, halt: &Halt) -> Result<Go, FlowError> {
        let mut tried = 0;
        while tried < frames {
            let now = clock::monotonic();
            let count = (frames - tried).min(SLOTS as u64) as usize;
            let stamp = Nanos(now.0.saturating_add_signed(self.spec.flow.receiver_ahead_ns));
            match self.output.send(self.tally.sent as u32, count, stamp) {
                Ok(0) => return Ok(Go { tried, cut: Some(Cut::Full) }),
                Ok(taken) => {
                    self.tally.count(taken as u64, now);
                    tried += taken as u64;
                }
                Err(Refusal::Dropped) => tried += 1,
                Err(Refusal::Again) if !halt.is_requested() => {}
                Err(Refusal::Again | Refusal::Full) => {
                    return Ok(Go { tried, cut: Some(Cut::Full) });
                }
                Err(Refusal::Closed) => return Ok(Go { tried, cut: Some(Cut::Closed) }),
                Err(Refusal::TooLong) => {
                    return Err(udp_socket::too_long(self.spec, None));
                }
                Err(Refusal::Broken(cause)) => {
                    return Err(FlowError::kernel("send frames to", self.spec.remote, cause));
                }
            }
        }
        Ok(Go { tried, cut: None })
    }
}

impl Tally {
    /// Counts frames that the kernel took in one call begun at `begun`. They left during the call;
    /// its end is the reading that includes every delay, wherever in it the sender was held up.
    #[inline]
    fn count(&mut self, frames: u64, begun: Nanos) {
        let taken = clock::monotonic();
        if self.first.is_none() {
            self.first = Some(begun);
        } else {
            self.departures.record(taken.saturating_sub(self.last));
        }
        for _ in 1..frames {
            self.departures.record(Nanos::ZERO);
        }
        self.sent += frames;
        self.last = taken;
    }
}

/// Waits until `at`, within about a microsecond, and spins for the last `spin` of it; shorter only
/// if a halt is requested.
#[inline]
fn wait(at: Nanos, spin: Nanos, halt: &Halt, turns: &mut Turns) {
    let (mut expected, mut offered) = (None, false);
    loop {
        let now = clock::monotonic();
        match expected.map(|expected: Nanos| now.saturating_sub(expected)) {
            Some(late) if late > PUT_ASIDE => turns.look(now),
            Some(_) if offered => turns.came_back(),
            _ => {}
        }
        offered = false;
        let left = at.saturating_sub(now);
        if left == Nanos::ZERO || halt.is_requested() {
            return;
        }
        let sleeps = left > SLEEP_CROWDED && turns.is_crowded(now);
        let spin = if sleeps { spin.min(SPIN_CROWDED) } else { spin };
        if left > spin {
            let pause = (left - spin).min(TICK);
            expected = Some(now + pause);
            thread::sleep(pause.as_duration());
            continue;
        }
        expected = Some(now);
        if turns.gives(now) {
            offered = true;
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
