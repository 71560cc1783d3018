//! The loops that put a load on its way: greedy, paced, or a burst.
//!
//! Owns the sender's counts. A frame uses a number only once the kernel took it, so numbers run
//! from 0 without holes. A paced frame that the kernel drops, or whose time passes while the way
//! out is closed, is offered and not sent; it is never tried again. Two things may end shortly
//! after the window's stop: a greedy batch begun before it, and the catching-up of a paced load
//! whose sender was held up near the end, which keeps to the burst limit and has a grace of 10 ms
//! at most.

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

/// Between two attempts while the way out is closed.
const CLOSED_PAUSE: Duration = Duration::from_millis(1);

/// How long a paced load may catch up after its stop, and what share of the residual time that may
/// take: another program's time slice, but never so long that receivers close before the last
/// frame.
pub(crate) const GRACE: Nanos = Nanos::from_millis(10);
/// See [`GRACE`].
pub(crate) const GRACE_SHARE: u64 = 4;

/// A greedy batch should take about this long, so that a slow link is not overrun at the stop.
const BATCH_LONG: Nanos = Nanos::from_micros(500);
const BATCH_SHORT: Nanos = Nanos::from_micros(150);

/// Below this a wait spins, so that a processor that a paced load keeps coming back to never goes
/// idle: waking an idle one takes a virtual machine up to some milliseconds, about once a second,
/// and a NIC's host some microseconds each time. Above it a load is light enough for either.
const SPIN: Nanos = Nanos::from_millis(1);

/// The same before the load begins: longer than a scheduler's slice, so that a sender knows by then
/// whether it shares its processor.
const SPIN_BEFORE: Nanos = Nanos::from_millis(10);

/// The same where others want the processor: it does not go idle then, and a sleeper that wakes is
/// let in before them.
const SPIN_CROWDED: Nanos = Nanos::from_micros(10);
/// There, a shorter wait is not worth the two switches that sleeping takes.
const SLEEP_CROWDED: Nanos = Nanos::from_micros(40);

/// Between two looks at the clock of a wait: longer than any interrupt, shorter than the slice of
/// another program.
const PUT_ASIDE: Nanos = Nanos::from_micros(500);

/// A load under way.
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
            let gaps = (gap_ns(from), gap_ns(to));
            let schedule = Pacer::falling(&window, gaps, after, limit, burst_limit);
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

/// What left so far.
#[derive(Default)]
struct Tally {
    sent: u64,
    /// Before the first frame was handed to the kernel.
    first: Option<Nanos>,
    /// When the kernel had taken the last.
    last: Nanos,
    departures: Histogram,
}

/// What one go came to.
struct Go {
    /// Frames tried: taken or dropped by the kernel.
    tried: u64,
    /// Why it ended before all were tried.
    cut: Option<Cut>,
}

/// Why a go ended early.
enum Cut {
    /// There was no room in time.
    Full,
    /// The way out is closed.
    Closed,
}

impl Load<'_> {
    /// As fast as it goes, until `most` frames are sent; how many frames were tried.
    fn run_greedy(&mut self, most: u64, window: Window, halt: &Halt) -> Result<u64, FlowError> {
        let mut offered = 0;
        let mut batch = SLOTS as u64;
        loop {
            let now = clock::monotonic();
            let left = most.saturating_sub(self.tally.sent);
            if now >= window.stop || left == 0 || halt.asked() {
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

    /// On schedule; how many frames were due, the most of one go, and how many were late.
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
            // A sender that was held up past the end sends no more: receivers may be closed.
            let ended = halt.asked() || now >= end;
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
                Err(Refusal::Again) if !halt.asked() => {}
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
    /// Counts frames that the kernel took in one call begun at `begun`. They departed during the
    /// call; its end is the reading that leaves no delay out, wherever in it the sender was held
    /// up.
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

/// Waits until `at`, within about a microsecond, the last `spin` of it awake; shorter only when a
/// halt is asked for.
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
        if left == Nanos::ZERO || halt.asked() {
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
