//! Sender whose frames the kernel creates itself: BPF_PROG_TEST_RUN with live frames, Linux 5.18. A
//! program runs repeatedly on one page, and its frames are redirected out of the egress interface.
//!
//! Owns the sending program, its memory, and the loop of calls that keep it running. `sent` counts
//! frames that the driver took, as the kernel reports them. Never sends if frames would vanish:
//! opening sends one that is never counted, and a driver that refuses it is unfit.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use measure::{FrameSize, Nanos};
use trial::Schedule;
use trial::record::DatagramsRecord;
use wire::{UdpEndpoints, UdpFrame};

use super::bpf::{self, ProgramKind};
use super::buckets;
use super::image::{self, Image, SIZES, Shape};
use super::load::{Load, Turns};
use super::memory::Mapped;
use super::programs::{Programs, refusal, refusal_without};
use super::registered::Registered;
use crate::datagram::{Spread, Traffic, Way};
use crate::unfit::Unfit;
use crate::{End, FlowError, Halt, Window, affinity, clock};

static OBJECT: &[u8] = include_bytes!("../../bpf/sender.bpf.o");

/// Batch of a greedy load: frames handed to the driver at once. A longer batch would be handed over
/// in parts, and a refused part would leave a gap in the numbers.
const GREEDY_BATCH: u32 = 16;
/// Batch of a paced load: a due frame waits for the end of its batch.
const PACED_BATCH: u32 = 1;
/// Intended duration of one call: each costs some thirty microseconds in which nothing is sent.
/// Requests meanwhile go through the program's memory.
const CALL: Nanos = Nanos::from_millis(20);
/// Intended duration of a call if frames are so rare that sleeping between them pays.
const SHORT_CALL: Nanos = Nanos::from_millis(2);
/// Interval between two checks for a halt.
const LOOK: Duration = Duration::from_millis(2);
/// Time by which a paced load's first call begins before its first frame is due.
const LEAD: Nanos = Nanos::from_micros(200);
/// First number that is never counted: see `datagram/learning.rs`.
const LEARNING: u64 = u32::MAX as u64 - 16;
const LEARNING_FRAMES: u64 = 3;
const LEARNING_GAP: Duration = Duration::from_millis(2);
/// Minimum runs per call.
const FEWEST: u32 = 64;
const MOST: u32 = 1 << 22;
/// Capability for creating a private namespace, in which the kernel verifies the program.
const NAMESPACING: &str = "CAP_SYS_ADMIN, beside the other backends' capabilities,";
/// Pause between two attempts while the driver takes nothing.
const CLOSED_PAUSE: Duration = Duration::from_millis(1);
/// Wait below which the program spins, inside the kernel.
const SPIN: Nanos = Nanos::from_millis(1);
/// Longest catching-up of a paced load after its stop, as for every other sender.
const GRACE: Nanos = Nanos::from_millis(10);
const GRACE_SHARE: u64 = 4;

/// Sender whose program is loaded.
pub(crate) struct LiveSender {
    schedule: Schedule,
    limit: u64,
    cpu: Option<usize>,
    send: OwnedFd,
    /// Released with its descriptor.
    _taken: OwnedFd,
    _registered: Registered,
    load: Mapped<Load>,
    frame: Vec<u8>,
    batch: u32,
    /// Path of the frames; reserves the source port.
    way: Way,
}

impl LiveSender {
    /// Loads the program and tries it with one frame that is never counted. The string describes
    /// how it sends.
    pub(crate) fn open(spec: &End<Traffic>, way: Way) -> Result<(Self, String), Unfit> {
        let frames = frames(spec, &way)?;
        let paced =
            matches!(spec.flow.asked.schedule, Schedule::Paced(_) | Schedule::Falling { .. });
        let batch = if paced { PACED_BATCH } else { GREEDY_BATCH };
        let programs = programs(spec, &frames, paced, batch)?;
        bpf::update(programs.map("exits")?, 0, &way.index.to_ne_bytes())
            .map_err(|e| refusal("giving an xdp program its way out", &e))?;
        let send = programs.load("xdp", ProgramKind::Xdp { fragments: false })?;
        let taken = programs.load("raw_tracepoint", ProgramKind::RawTracepoint)?;
        let taken = bpf::attach_to_tracepoint(&taken, c"xdp_devmap_xmit")
            .map_err(|e| refusal("hearing what the driver took (xdp_devmap_xmit)", &e))?;
        let registered = Registered::new(&send)
            .map_err(|e| refusal_without(NAMESPACING, "making a network namespace", &e))?;
        let sender = Self {
            schedule: spec.flow.asked.schedule,
            limit: spec.flow.limit,
            cpu: spec.flow.cpu,
            _registered: registered,
            send,
            _taken: taken,
            load: programs.memory("load")?,
            frame: frames.into_iter().max_by_key(Vec::len).unwrap_or_default(),
            batch,
            way,
        };
        sender.load.limit_bursts(spec.flow.asked.burst_limit);
        sender.try_out()?;
        let how = format!(
            "the kernel makes the frames and hands them to the driver of {}",
            sender.way.interface
        );
        Ok((sender, how))
    }

    /// Sends one frame that is never counted, and checks whether it was taken.
    fn try_out(&self) -> Result<(), Unfit> {
        let (name, octets) = (&self.way.interface, self.frame.len());
        match self.send_one(LEARNING) {
            Ok(1) => Ok(()),
            Ok(_) => Err(Unfit::NotHere(format!(
                "{name} takes no redirected frames (a veth does where its peer has an xdp program or gro)"
            ))),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Err(Unfit::NotHere(format!(
                "a live frame of {octets} octets does not fit a page, or the kernel is older than 5.18"
            ))),
            Err(e) => Err(refusal("sending live frames", &e)),
        }
    }

    /// Sends a few frames that teach the path its addresses (RFC 2544 §23); they are never counted.
    /// A frame that the driver refuses is not an error.
    pub(crate) fn learn(&mut self) -> Result<(), FlowError> {
        for index in 0..LEARNING_FRAMES {
            if index > 0 {
                thread::sleep(LEARNING_GAP);
            }
            self.send_one(LEARNING + index).map_err(|e| {
                FlowError::kernel("send learning frames by", &self.way.interface, e)
            })?;
        }
        Ok(())
    }

    /// Sends one frame of this number at once; returns the number that the driver took.
    fn send_one(&self, number: u64) -> io::Result<u64> {
        self.load.arm(number, number + 1, Nanos::ZERO, Nanos(u64::MAX), None);
        bpf::run_live(&self.send, &self.frame, 1, 1)?;
        Ok(self.load.sent.load(Relaxed))
    }

    /// Sends from the window's start to its stop, or until a halt is requested. Works on the
    /// calling thread, which it pins to the requested processor.
    pub(crate) fn run(self, window: Window, halt: &Halt) -> Result<DatagramsRecord, FlowError> {
        let turns = Turns::from_schedule(self.schedule, &window, self.limit);
        let residual = window.closed.saturating_sub(window.stop);
        let (begin, end, limit) = match self.schedule {
            Schedule::Greedy => (window.start, window.stop, self.limit),
            Schedule::Burst(frames) => (window.start, window.stop, self.limit.min(frames)),
            Schedule::Paced(_) | Schedule::Falling { .. } => {
                let grace = GRACE.min(residual / GRACE_SHARE);
                (window.start.saturating_sub(LEAD), window.stop + grace, self.limit)
            }
        };
        self.load.arm(0, limit, window.start, end, turns);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            // Started before this thread is pinned, so that it runs elsewhere.
            let looking = scope.spawn(|| self.look_for(halt, &done));
            let ran = affinity::pin(self.cpu).and_then(|()| {
                let _ = nix::sys::prctl::set_timerslack(1);
                clock::rest_until(begin.saturating_sub(SPIN), || halt.is_requested());
                clock::wait_until(begin);
                self.keep_running(end, limit, turns, halt)
            });
            done.store(true, Relaxed);
            looking.thread().unpark();
            ran
        })?;
        Ok(self.report(limit, turns, window.stop))
    }

    /// Ends the load inside the kernel once a halt is requested: calls are long.
    fn look_for(&self, halt: &Halt, done: &AtomicBool) {
        while !done.load(Relaxed) {
            if halt.is_requested() {
                self.load.end.store(0, Relaxed);
                return;
            }
            thread::park_timeout(LOOK);
        }
    }

    fn keep_running(
        &self,
        end: Nanos,
        limit: u64,
        turns: Option<Turns>,
        halt: &Halt,
    ) -> Result<(), FlowError> {
        let load = &*self.load;
        let wanted = if turns.is_some_and(|turns| turns.are_rare()) { SHORT_CALL } else { CALL };
        let mut repeat = match self.schedule {
            // Makes one call, because there is a gap between two.
            Schedule::Burst(_) => limit.clamp(u64::from(FEWEST), u64::from(MOST)) as u32,
            _ => FEWEST,
        };
        loop {
            let begun = clock::monotonic();
            let over = load.sent.load(Relaxed) >= limit
                || turns.is_some_and(|turns| load.turns.load(Relaxed) >= turns.total);
            if begun >= end || over || halt.is_requested() {
                return Ok(());
            }
            if turns.is_some() {
                clock::rest_until(
                    Nanos(load.due.load(Relaxed)).min(end).saturating_sub(SPIN),
                    || halt.is_requested(),
                );
            }
            let (sent, refused) = (load.sent.load(Relaxed), load.refused.load(Relaxed));
            // Batches begin with a call.
            load.runs.store(0, Relaxed);
            let repeated = repeat.next_multiple_of(self.batch);
            match bpf::run_live(&self.send, &self.frame, repeated, self.batch) {
                Ok(()) => {}
                Err(e) if e.raw_os_error() == Some(libc::EINTR) => continue,
                Err(e) if e.raw_os_error() == Some(libc::ENOMEM) => thread::sleep(CLOSED_PAUSE),
                Err(e) => {
                    return Err(FlowError::kernel("send live frames by", &self.way.interface, e));
                }
            }
            if turns.is_none()
                && load.sent.load(Relaxed) == sent
                && load.refused.load(Relaxed) > refused
            {
                thread::sleep(CLOSED_PAUSE);
            }
            let now = clock::monotonic();
            let took = now.saturating_sub(begun);
            repeat = runs_for(repeated, took, wanted.min(end.saturating_sub(now)));
        }
    }

    fn report(&self, limit: u64, turns: Option<Turns>, stop: Nanos) -> DatagramsRecord {
        let load = &*self.load;
        let (sent, refused) = (load.sent.load(Relaxed), load.refused.load(Relaxed));
        let offered = match (self.schedule, turns) {
            (_, Some(turns)) if load.turns.load(Relaxed) >= turns.total => turns.total,
            (_, Some(turns)) => turns.come(clock::monotonic()),
            (Schedule::Burst(_), None) => limit,
            (_, None) => sent + refused,
        };
        let (paced, last) = (turns.is_some(), Nanos(load.last.load(Relaxed)));
        DatagramsRecord {
            backend: "xdp-live".to_owned(),
            offered,
            sent,
            sending: last.saturating_sub(Nanos(load.first.load(Relaxed))),
            departures: buckets::histogram(&load.departures()),
            longest_burst: if paced { load.longest_burst.load(Relaxed) } else { 0 },
            late: if paced { load.late.load(Relaxed) } else { 0 },
            overran: last.saturating_sub(stop),
            ..DatagramsRecord::default()
        }
    }
}

/// Number of runs that take about `wanted`, given that `runs` took `took`.
fn runs_for(runs: u32, took: Nanos, wanted: Nanos) -> u32 {
    let fitting = u64::from(runs) * wanted.0 / took.0.max(1);
    fitting.min(u64::from(runs) * 4).clamp(u64::from(FEWEST), u64::from(MOST)) as u32
}

/// First frame of each size of the pattern.
fn frames(spec: &End<Traffic>, way: &Way) -> Result<Vec<Vec<u8>>, FlowError> {
    let first = way.endpoints();
    let ends = UdpEndpoints {
        source: spec.flow.spread().source(first.source, 0),
        destination: spec.flow.spread().destination(first.destination, 0),
        ..first
    };
    let frame = |size: &FrameSize| {
        let octets = size.octets_without_fcs() as usize;
        let (token, flow) = (spec.identity.token, spec.identity.flow);
        UdpFrame::new(&ends, spec.flow.vlan(), token, flow, octets)
            .map(|frame| frame.octets().to_vec())
            .map_err(|e| {
                FlowError::Unsuitable(format!(
                    "build frames of {} octets: {e}",
                    spec.flow.asked.frames
                ))
            })
    };
    spec.flow.asked.frames.pattern().iter().map(frame).collect()
}

/// Programs for these frames, not yet loaded.
fn programs(
    spec: &End<Traffic>,
    frames: &[Vec<u8>],
    paced: bool,
    batch: u32,
) -> Result<Programs, Unfit> {
    let images: Option<Vec<Image>> = frames.iter().map(|frame| image::image(frame)).collect();
    let Some(images) = images.filter(|images| (1..=SIZES).contains(&images.len())) else {
        return Err(Unfit::NotHere(format!(
            "frames of {} are not for live sending",
            spec.flow.asked.frames
        )));
    };
    let shape = Shape {
        tagged: images[0].tagged,
        paced,
        octets: frames.iter().map(Vec::len).max().unwrap_or(0),
        sizes: images.len(),
        batch,
        ends: images[0].ends,
        spread: spec.flow.spread(),
    };
    let Spread { sources, destinations, .. } = spec.flow.spread();
    for (first, range) in [(shape.ends.source, sources), (shape.ends.destination, destinations)] {
        let count = range.map_or(1, |range| u32::from(range.count.max(1)));
        // The program adds only to the low 32 bits.
        if first.checked_add(count - 1).is_none() {
            return Err(Unfit::NotHere("the addresses cross a block of 2^32".to_owned()));
        }
    }
    let images: Vec<u8> = images.into_iter().flat_map(|image| image.octets).collect();
    let settings = [("shape", Cow::Owned(shape.octets())), ("images", Cow::Owned(images))];
    Programs::new("switchmark_send", OBJECT, &settings, &[])
}

impl fmt::Debug for LiveSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSender").field("interface", &self.way.interface).finish_non_exhaustive()
    }
}
