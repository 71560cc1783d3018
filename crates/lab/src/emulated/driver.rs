//! The model's main loop: frames in, advance the time, frames out.
//!
//! Owns the order of these steps, so that the model sees every frame at the time of the kernel's
//! time stamp, however late this thread runs. The model only advances to a time up to which all
//! frames have been read. A frame that is read later than that is displaced, which is counted, as
//! are frames that leave late. Spins while frames pass; sleeps when none has for a while.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use device::{Edge, Event, Network};
use measure::{Nanos, Picos};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;

use super::displacement;
use super::frames::Frames;
use super::header;
use super::host_queue::HostQueue;
use super::reading::{EmulatorReading, LATE};
use super::{Model, Orders, PortOrder};
use crate::equipment::{FramePort, Switchboard};
use crate::unpoisoned::unpoisoned;

/// Maximum number of frames read from one port before the other ports are read.
const TURN: usize = 32;

/// Time after a frame during which the thread does not sleep: longer than the gaps of any trial's
/// load.
const AWAKE: Picos = Picos(100_000_000_000);
/// Wake-up time to allow for. The thread spins, without sleep, until any event that is due sooner.
const WAKING: Picos = Picos(200_000_000);

/// The model with its ports and the frames inside.
pub(super) struct Driver {
    model: Network,
    sides: Vec<Side>,
    frames: Frames,
    routes: bool,
    board: Arc<dyn Switchboard>,
    /// Clock reading at the model's time 0.
    began: Nanos,
    /// Current time of the model.
    until: Picos,
    awake_until: Picos,
    /// Time at which the thread last read the clock.
    seen_at: Picos,
    /// Delay since transmission beyond which a frame counts as displaced.
    displaced_after: Picos,
    /// Extra delay on top of the profile's own.
    longer: Picos,
    reading: EmulatorReading,
    orders: Arc<Orders>,
    bell: UnixStream,
}

/// Port and queues at one edge.
struct Side {
    port: Box<dyn FramePort>,
    queue: HostQueue,
    /// Frames that the model has delivered, each with its delivery time.
    outbox: Vec<(u64, Picos)>,
}

impl Side {
    /// Discards the frames that wait on either side of the cable.
    fn clear(&mut self, frames: &mut Frames) {
        for (tag, _) in self.outbox.drain(..) {
            frames.ended(tag);
        }
        for frame in self.queue.clear() {
            frames.ended(frame.tag);
        }
    }
}

impl Driver {
    pub(super) fn new(
        model: &Model<'_>,
        ports: Vec<Box<dyn FramePort>>,
        board: Arc<dyn Switchboard>,
        orders: Arc<Orders>,
        bell: UnixStream,
    ) -> Self {
        let profile = &model.spec.profile;
        let mut network = Network::new(profile, model.spec.seed);
        network.set_addresses(&model.addresses);
        let side = |(edge, port)| Side {
            port,
            queue: HostQueue::new(profile.edge_rate(Edge(edge))),
            outbox: Vec::new(),
        };
        let sides: Vec<Side> = (0..).zip(ports).map(side).collect();
        let edges = vec![super::EdgeReading::default(); sides.len()];
        Self {
            model: network,
            sides,
            frames: Frames::default(),
            routes: profile.is_router(),
            began: board.now(),
            until: Picos::ZERO,
            board,
            awake_until: Picos::ZERO,
            seen_at: Picos::ZERO,
            displaced_after: displacement::limit(profile),
            longer: Picos::ZERO,
            reading: EmulatorReading { edges, ..EmulatorReading::default() },
            orders,
            bell,
        }
    }

    /// Runs until the device is dropped.
    pub(super) fn run(mut self, processor: Option<usize>) {
        if let Some(processor) = processor {
            let mut set = CpuSet::new();
            // Works without it as well, only less evenly.
            let _ = set.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
        }
        loop {
            if self.orders.any.load(Ordering::Acquire) && !self.obey() {
                return;
            }
            let now = self.now();
            self.notice_absence(now);
            let (came, read_until) = self.take_in(now);
            self.turn(read_until.max(self.until));
            if self.send_out() + came > 0 {
                self.awake_until = now + AWAKE;
            } else {
                self.rest(now);
            }
        }
    }

    /// Records the longest absence. An awake thread looks every few microseconds, unless it is off
    /// its processor.
    fn notice_absence(&mut self, now: Picos) {
        if now < self.awake_until {
            let absent = now.saturating_sub(self.seen_at).to_nanos();
            self.reading.absence = self.reading.absence.max(absent);
        }
        self.seen_at = now;
    }

    fn now(&self) -> Picos {
        self.board.now().saturating_sub(self.began).into()
    }

    /// Carries out requests; returns false when the thread is to end.
    fn obey(&mut self) -> bool {
        self.orders.any.store(false, Ordering::Relaxed);
        let (end, reset, read, ports) = {
            let mut asked = unpoisoned(&self.orders.asked);
            if let Some(longer) = asked.longer.take() {
                self.longer = longer.into();
            }
            let both = (std::mem::take(&mut asked.reset), std::mem::take(&mut asked.read));
            (asked.end, both.0, both.1, asked.ports.clone())
        };
        if !ports.is_empty() {
            for (edge, order) in &ports {
                self.change_port(*edge, *order);
            }
            unpoisoned(&self.orders.asked).ports.drain(..ports.len());
            self.orders.answered.notify_all();
        }
        if reset {
            self.reset();
        }
        if read {
            let reading = self.read();
            unpoisoned(&self.orders.asked).reading = Some(reading);
            self.orders.answered.notify_all();
        }
        !end
    }

    fn read(&mut self) -> EmulatorReading {
        let sides = (0..).map(Edge).zip(&mut self.sides);
        for ((number, side), edge) in sides.zip(&mut self.reading.edges) {
            edge.overflow = side.port.overflow();
            edge.model = self.model.counts(number);
        }
        let reading = self.reading.clone();
        self.reading.lateness = measure::Histogram::new();
        self.reading.displacement = Nanos::ZERO;
        self.reading.absence = Nanos::ZERO;
        reading
    }

    /// Changes a port. A link that goes down loses the frames that its host has not sent yet, and
    /// those on their way to it.
    fn change_port(&mut self, edge: Edge, order: PortOrder) {
        let now = self.now().max(self.until);
        self.turn(now);
        let Self { model, sides, frames, reading, routes, .. } = self;
        match order {
            PortOrder::Blackhole { on } => model.set_blackhole(edge, on),
            PortOrder::Link { up } => {
                let out = &mut |event| happen(event, &mut *sides, frames, reading, *routes);
                model.set_link(edge, up, out);
                if let Some(side) = sides.get_mut(usize::from(edge.0)).filter(|_| !up) {
                    side.clear(frames);
                }
            }
        }
    }

    /// Resets the device like a power cycle: frames inside are lost, and so are those waiting at
    /// the hosts' cables.
    fn reset(&mut self) {
        let now = self.now().max(self.until);
        self.turn(now);
        let Self { model, sides, frames, reading, routes, .. } = self;
        model.reset(now, &mut |event| happen(event, sides, frames, reading, *routes));
        for side in sides {
            side.clear(frames);
        }
    }

    /// Reads the frames that arrived at every port into its host's queue. Returns their number, and
    /// the time, at most `now`, up to which no other frame can have arrived.
    fn take_in(&mut self, now: Picos) -> (usize, Picos) {
        let Self { sides, frames, reading, began, until, routes, .. } = self;
        let (mut came, mut read_until) = (0, now);
        for (edge, side) in (0_u16..).zip(sides) {
            let (port, queue) = (&mut side.port, &mut side.queue);
            let count = &mut reading.edges[usize::from(edge)];
            let mut last = now;
            let from_here = port.receive(TURN, &mut |octets, at| {
                let at = Picos::from(at.saturating_sub(*began));
                last = at.max(*until);
                if queue.is_full() {
                    count.host_overrun += 1;
                    return;
                }
                if *routes && !header::may_live(octets) {
                    count.expired += 1;
                    return;
                }
                let tag = frames.keep(octets, edge);
                match header::frame(octets, tag) {
                    Some(frame) => queue.push(at, frame),
                    None => frames.ended(tag),
                }
            });
            came += from_here;
            if from_here == TURN {
                // There may be more, no older than the last.
                read_until = read_until.min(last);
            }
        }
        (came, read_until)
    }

    /// Advances the model to `until`, with every frame that starts by then, in the order of time.
    fn turn(&mut self, until: Picos) {
        loop {
            let starts = self.sides.iter().map(|side| side.queue.next_start());
            let (edge, meant) =
                starts.enumerate().min_by_key(|(_, start)| *start).unwrap_or((0, Picos::MAX));
            if meant > until {
                break;
            }
            // The model cannot go back for a frame that was read late.
            let start = meant.max(self.until);
            self.go_on(start);
            // The model may have paused this host meanwhile.
            if self.sides[edge].queue.next_start() != meant {
                continue;
            }
            if let Some(frame) = self.sides[edge].queue.pop(start) {
                self.reading.enter(start - meant, self.displaced_after);
                self.model.submit(start, Edge(edge as u16), frame);
            }
        }
        self.go_on(until);
        self.until = until;
    }

    fn go_on(&mut self, to: Picos) {
        let Self { model, sides, frames, reading, routes, .. } = self;
        model.advance(to, &mut |event| happen(event, sides, frames, reading, *routes));
    }

    /// Sends delivered frames to the hosts; returns their number.
    fn send_out(&mut self) -> usize {
        let Self { sides, frames, reading, board, began, longer, .. } = self;
        let mut went = 0;
        for (side, edge) in sides.iter_mut().zip(&mut reading.edges) {
            let mut sent = 0;
            let mut ready = side.outbox.len();
            if *longer > Picos::ZERO && ready > 0 {
                let now = Picos::from(board.now().saturating_sub(*began));
                ready = side.outbox.partition_point(|(_, at)| *at + *longer <= now);
            }
            while sent < ready {
                let rest = &side.outbox[sent..ready];
                let mut octets =
                    rest.iter().map(|(tag, _)| frames.octets(*tag).unwrap_or_default());
                let taken = match side.port.send(&mut octets) {
                    Ok(taken) => taken.min(rest.len()),
                    Err(_) => 0,
                };
                let now = Picos::from(board.now().saturating_sub(*began));
                for (tag, at) in &rest[..taken] {
                    let late = now.saturating_sub(*at + *longer).to_nanos();
                    reading.lateness.record(late);
                    reading.late += u64::from(late > LATE);
                    frames.ended(*tag);
                }
                edge.delivered += taken as u64;
                sent += taken;
                if taken == 0 {
                    // The far end or the link refused the first frame, which is lost there.
                    edge.refused += 1;
                    frames.ended(rest[0].0);
                    sent += 1;
                }
            }
            side.outbox.drain(..sent);
            went += sent;
        }
        went
    }

    /// Waits for frames, requests, or the model's next event.
    fn rest(&mut self, now: Picos) {
        let starts = self.sides.iter().map(|side| side.queue.next_start());
        let held = self.sides.iter().filter_map(|side| Some(side.outbox.first()?.1 + self.longer));
        let due = starts.chain(self.model.next()).chain(held).min().unwrap_or(Picos::MAX);
        if now < self.awake_until || due.saturating_sub(now) <= WAKING {
            std::hint::spin_loop();
            return;
        }
        let left = (due != Picos::MAX).then(|| (due - now).saturating_sub(WAKING).to_nanos());
        let left = left.map(|left| TimeSpec::from(left.as_duration()));
        let mut waits = vec![PollFd::new(self.bell.as_fd(), PollFlags::POLLIN)];
        waits.extend(
            self.sides.iter().map(|side| PollFd::new(side.port.descriptor(), PollFlags::POLLIN)),
        );
        // If a signal interrupts this, the loop returns here.
        let _ = ppoll(&mut waits, left, None);
        let down = PollFlags::POLLERR;
        let broken: Vec<bool> = waits[1..]
            .iter()
            .map(|wait| wait.revents().is_some_and(|events| events.contains(down)))
            .collect();
        for (side, _) in self.sides.iter().zip(broken).filter(|(_, broken)| *broken) {
            side.port.calm();
        }
        let _ = self.bell.read(&mut [0; 64]);
    }
}

/// Handles an event of the model.
#[inline]
fn happen(
    event: Event,
    sides: &mut [Side],
    frames: &mut Frames,
    reading: &mut EmulatorReading,
    routes: bool,
) {
    match event {
        Event::Delivered { at, edge, frame } => {
            // A router's frame goes to one host, so the header is written into the only copy.
            if routes && let Some(octets) = frames.octets_mut(frame.tag) {
                header::route(octets, &frame);
            }
            match sides.get_mut(usize::from(edge.0)) {
                Some(side) => side.outbox.push((frame.tag, at)),
                // No host is connected.
                None => frames.ended(frame.tag),
            }
        }
        Event::Copied { frame, copies, .. } => frames.copied(frame.tag, copies),
        Event::Dropped { frame, cause, .. } => {
            let edge = &mut reading.edges[frames.edge(frame.tag)];
            *edge.dropped.entry(cause).or_default() += 1;
            frames.ended(frame.tag);
        }
        Event::Pause { at, edge, stop } => {
            if let Some(side) = sides.get_mut(usize::from(edge.0)) {
                side.queue.pause(at, stop);
            }
        }
    }
}
