//! The sending side: opens a backend, and sends a load greedily or on schedule.
//!
//! Owns the loops and the sender's counts. A frame uses a sequence number only once the kernel took
//! it, so numbers run from 0 without holes and `sent` is unique arrivals plus losses. A paced frame
//! that the kernel drops, or whose time passes while the way out is closed, is offered and not sent;
//! it is never tried again. Two things may end shortly after the window's stop: a greedy batch begun
//! before it, and the catching-up of a paced load whose sender was held up near the end, which keeps
//! to the burst limit and has a grace of 10 ms at most.

use std::thread;
use std::time::Duration;

use measure::{Histogram, Nanos};

use super::Pace;
use super::batch::SLOTS;
use super::output::{Output, Refusal};
use super::pacer::Schedule;
use super::{SenderBackend, SenderReport, SenderSpec, Way, frames, learning, packet, udp};
use crate::socket::TICK;
use crate::unfit::Unfit;
use crate::{FlowError, Halt, Window, affinity, clock};

/// Between two attempts while the way out is closed.
const CLOSED_PAUSE: Duration = Duration::from_millis(1);

/// How long a paced load may catch up after its stop, and what share of the residual time that may
/// take: another program's time slice, but never so long that receivers close before the last frame.
const GRACE: Nanos = Nanos::from_millis(10);
const GRACE_SHARE: u64 = 4;

/// A greedy batch should take about this long, so that a slow link is not overrun at the stop.
const BATCH_LONG: Nanos = Nanos::from_micros(500);
const BATCH_SHORT: Nanos = Nanos::from_micros(150);

/// Below this a wait spins, so that a processor that a paced load keeps coming back to never goes
/// idle: waking an idle one takes a virtual machine up to some milliseconds, about once a second, and
/// a NIC's host some microseconds each time. Above it a load is light enough for either.
const SPIN: Nanos = Nanos::from_millis(1);

/// A sender with its socket and frames ready.
#[derive(Debug)]
pub struct Sender {
    spec: SenderSpec,
    output: Output,
    reason: String,
}

impl Sender {
    /// Takes the socket, resolves the next hop and builds every frame. Frames that exceed the MTU of
    /// the route, and addresses that are not IPv4, are unsuitable. May wait three seconds for a next
    /// hop that does not answer.
    pub fn open(spec: &SenderSpec) -> Result<Self, FlowError> {
        learning::check_limit(spec.limit)?;
        frames::check(spec.remote.is_ipv6(), spec.vlan, &spec.frames)?;
        spec.spread.check(spec.remote.ip())?;
        if let Pace::Every(gap) = spec.pace
            && !(gap.is_finite() && gap > 0.0)
        {
            return Err(FlowError::Unsuitable(format!("send a frame every {gap} ns")));
        }
        let (output, reason) = choose(spec)?;
        Ok(Self { spec: spec.clone(), output, reason })
    }

    /// `udp` or `packet`, and why that one.
    pub fn backend(&self) -> (&'static str, String) {
        (self.output.name(), self.reason.clone())
    }

    /// Sends a few frames that teach the path its addresses (RFC 2544 §23); they are never counted.
    /// One that the kernel drops is not an error.
    pub fn learn(&mut self) -> Result<(), FlowError> {
        for index in 0..learning::FRAMES {
            if index > 0 {
                thread::sleep(learning::GAP);
            }
            match self.output.send(learning::sequence(index), 1, clock::monotonic()) {
                Err(Refusal::TooLong) => {
                    return Err(udp::too_long(&self.spec, None));
                }
                Err(Refusal::Broken(cause)) => {
                    return Err(FlowError::kernel(
                        "send learning frames to",
                        self.spec.remote,
                        cause,
                    ));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Sends from the window's start to its stop, or until a halt is asked for. Works on the calling
    /// thread, which it binds to the processor asked for and whose timer slack it sets to the least.
    pub fn run(self, window: Window, halt: &Halt) -> Result<SenderReport, FlowError> {
        affinity::pin(self.spec.cpu)?;
        // Coarser sleeping is no error.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut load = Load { output: self.output, tally: Tally::default(), remote: &self.spec };
        wait(window.start, halt);
        let (offered, longest_burst, late) = match self.spec.pace {
            Pace::Greedy => (load.run_greedy(window, halt)?, 0, 0),
            Pace::Every(gap) => {
                let limit = self.spec.limit;
                let mut schedule = Schedule::new(&window, gap, limit, self.spec.burst_limit);
                let offered = load.run_paced(&mut schedule, window, halt)?;
                (offered, schedule.longest_burst(), schedule.late())
            }
            Pace::Burst(_) | Pace::Falling { .. } => {
                return Err(FlowError::Unsuitable("send bursts".to_owned()));
            }
        };
        let tally = load.tally;
        Ok(SenderReport {
            backend: load.output.name().to_owned(),
            backend_reason: self.reason,
            offered,
            sent: tally.sent,
            sending: tally.finished.saturating_sub(tally.first.unwrap_or(tally.finished)),
            departures: tally.departures,
            longest_burst,
            late,
        })
    }
}

fn choose(spec: &SenderSpec) -> Result<(Output, String), FlowError> {
    let by_udp = |why: String| match udp::open(spec) {
        Ok(output) => Ok((output, why)),
        Err(Unfit::NotHere(why)) => Err(FlowError::Unsuitable(why)),
        Err(Unfit::Failed(error)) => Err(error),
    };
    let by_packet = || Way::find(spec).and_then(|way| packet::open(spec, way));
    match spec.backend {
        SenderBackend::Udp => by_udp("a udp socket was asked for".to_owned()),
        SenderBackend::Packet => match by_packet() {
            Ok((output, how)) => Ok((output, format!("a packet socket was asked for; {how}"))),
            Err(Unfit::Failed(error)) => Err(error),
            Err(Unfit::NotHere(why)) => Err(FlowError::Unsuitable(format!(
                "send by packet socket to {}: {why}",
                spec.remote
            ))),
        },
        SenderBackend::XdpLive | SenderBackend::AfXdp | SenderBackend::UdpGso => {
            Err(FlowError::Unsuitable("send that way".to_owned()))
        }
        SenderBackend::Auto => match by_packet() {
            Ok((output, how)) => {
                Ok((output, format!("a packet socket is the fastest here; {how}")))
            }
            Err(Unfit::Failed(error)) => Err(error),
            Err(Unfit::NotHere(why)) => by_udp(format!("a udp socket, because {why}")),
        },
    }
}

/// A load under way.
struct Load<'a> {
    output: Output,
    tally: Tally,
    remote: &'a SenderSpec,
}

/// What left so far.
#[derive(Default)]
struct Tally {
    sent: u64,
    first: Option<Nanos>,
    last: Nanos,
    finished: Nanos,
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
    /// As fast as it goes; how many frames were tried.
    fn run_greedy(&mut self, window: Window, halt: &Halt) -> Result<u64, FlowError> {
        let mut offered = 0;
        let mut batch = SLOTS as u64;
        loop {
            let now = clock::monotonic();
            let left = self.remote.limit.saturating_sub(self.tally.sent);
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

    /// On schedule; how many frames were due.
    fn run_paced(
        &mut self,
        schedule: &mut Schedule,
        window: Window,
        halt: &Halt,
    ) -> Result<u64, FlowError> {
        let residual = window.closed.saturating_sub(window.stop);
        let end = window.stop + GRACE.min(residual / GRACE_SHARE);
        loop {
            let now = clock::monotonic();
            let halted = halt.asked();
            let due = if halted { 0 } else { schedule.due(now) };
            if due > 0 {
                let go = self.go(due, halt)?;
                schedule.take(go.tried, now);
                if let Some(Cut::Closed) = go.cut {
                    thread::sleep(CLOSED_PAUSE);
                    schedule.skip(clock::monotonic());
                }
            }
            if halted || now >= end || schedule.is_over() {
                return Ok(schedule.come(now));
            }
            let from = if schedule.is_behind(now) { clock::monotonic() } else { now };
            wait(schedule.next_look(from).min(end), halt);
        }
    }

    /// Hands `frames` frames to the kernel, one after another.
    #[inline]
    fn go(&mut self, frames: u64, halt: &Halt) -> Result<Go, FlowError> {
        let mut tried = 0;
        while tried < frames {
            let now = clock::monotonic();
            let count = (frames - tried).min(SLOTS as u64) as usize;
            match self.output.send(self.tally.sent as u32, count, now) {
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
                    return Err(udp::too_long(self.remote, None));
                }
                Err(Refusal::Broken(cause)) => {
                    return Err(FlowError::kernel("send frames to", self.remote.remote, cause));
                }
            }
        }
        Ok(Go { tried, cut: None })
    }
}

impl Tally {
    /// Counts frames that the kernel took in one call begun at `at`.
    #[inline]
    fn count(&mut self, frames: u64, at: Nanos) {
        if self.first.is_none() {
            self.first = Some(at);
        } else {
            self.departures.record(at.saturating_sub(self.last));
        }
        for _ in 1..frames {
            self.departures.record(Nanos::ZERO);
        }
        self.sent += frames;
        self.last = at;
        self.finished = clock::monotonic();
    }
}

/// Waits until `at`, within about a microsecond; shorter only when a halt is asked for.
#[inline]
fn wait(at: Nanos, halt: &Halt) {
    loop {
        let left = at.saturating_sub(clock::monotonic());
        if left == Nanos::ZERO || halt.asked() {
            return;
        }
        if left > SPIN {
            thread::sleep((left - SPIN).min(TICK).as_duration());
        } else {
            std::hint::spin_loop();
        }
    }
}
