//! The receiving side: counts what arrives by sequence number, and refuses what is not the flow's.
//!
//! Owns the socket, its drop counter and the arrival stamps. Frames queue in a large socket buffer
//! and are fetched many at once, with short naps between, so that the sender of a shared machine
//! keeps its processor; the kernel stamps each frame, so napping moves no stamp. Never counts a
//! frame of another trial, flow, address or length, and leaves none in the queue at the end.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use measure::reading::Rejected;
use measure::sequence::SequenceTracker;
use measure::{Histogram, Nanos};
use nix::sys::socket::{getsockopt, sockopt};
use wire::Probe;

use super::batch::{Arrival, ReceiveBatch, SLOTS};
use super::{ReceiverReport, ReceiverSpec, learning, socket};
use crate::socket::{TICK, bound_waits, enlarge_receive_buffer, is_pause};
use crate::{FlowError, Halt, Identity, Window, affinity, clock, stamp};

/// What the socket is asked to hold; the kernel counts its own overhead on top.
const BUFFER_OCTETS: usize = 32 << 20;

/// The longest nap, and the shortest that is worth its wake-up.
const NAP_LONGEST_US: u64 = 500;
const NAP_SHORTEST_US: u64 = 50;

/// A bound receiver; frames queue in it from now on.
pub struct Receiver {
    udp: UdpSocket,
    port: u16,
    cpu: Option<usize>,
    nap: Option<Duration>,
    batch: ReceiveBatch,
    tally: Tally,
}

/// What is expected, and what came.
struct Tally {
    identity: Identity,
    peer: IpAddr,
    payload_octets: usize,
    tracker: SequenceTracker,
    limit: u64,
    rejected: Rejected,
    arrivals: Histogram,
    first: Option<Nanos>,
    last: Nanos,
}

impl Receiver {
    /// Takes a socket and all memory. Only IPv4 is suitable.
    pub fn bind(spec: &ReceiverSpec) -> Result<Self, FlowError> {
        learning::check_limit(spec.limit)?;
        let udp = UdpSocket::bind(SocketAddr::new(spec.local, 0))
            .map_err(|e| FlowError::kernel("bind udp socket to", spec.local, e))?;
        enlarge_receive_buffer(&udp, BUFFER_OCTETS);
        let port = bound_waits(&udp, TICK)
            .and_then(|()| stamp::request(&udp))
            .and_then(|()| udp.local_addr())
            .map_err(|e| FlowError::kernel("set options of udp socket at", spec.local, e))?
            .port();
        let room = getsockopt(&udp, sockopt::RcvBuf).unwrap_or(0);
        Ok(Self {
            udp,
            port,
            cpu: spec.cpu,
            nap: nap(room, spec.frames.largest().octets()),
            batch: ReceiveBatch::new(),
            tally: Tally::new(spec),
        })
    }

    /// Where frames are to be sent.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Receives until the window closes or a halt is asked for. Everything that reached the socket by
    /// then is counted; what comes later is not.
    pub fn run(mut self, window: Window, halt: &Halt) -> Result<ReceiverReport, FlowError> {
        affinity::pin(self.cpu)?;
        let mut idle = true;
        while clock::monotonic() < window.closed && !halt.asked() {
            let came = self.fetch(idle)?;
            idle = came == 0;
            if came > 0
                && came < SLOTS
                && let Some(nap) = self.nap
            {
                thread::sleep(nap);
            }
        }
        let socket_drops = self.close()?;
        let tally = self.tally;
        Ok(ReceiverReport {
            backend: "udp".to_owned(),
            backend_reason: "a udp socket".to_owned(),
            delays: None,
            received: tally.tracker.counts(),
            rejected: tally.rejected,
            receiving: tally.last.saturating_sub(tally.first.unwrap_or(tally.last)),
            arrivals: tally.arrivals,
            socket_drops,
        })
    }

    /// Shuts the socket to newcomers, counts what is queued, and tells what it dropped until then.
    fn close(&mut self) -> Result<u64, FlowError> {
        let drops = socket::drops(&self.udp)
            .map_err(|e| FlowError::kernel("read the drops of udp socket at port", self.port, e))?;
        // The filter bounds the draining however much is still coming.
        socket::refuse_all(&self.udp)
            .map_err(|e| FlowError::kernel("close udp socket at port", self.port, e))?;
        while self.fetch(false)? > 0 {}
        Ok(drops)
    }

    /// Counts what is queued, at most one batch; waits a moment for the first one if asked to.
    fn fetch(&mut self, block: bool) -> Result<usize, FlowError> {
        match self.batch.receive(self.udp.as_fd(), block) {
            Ok(came) => {
                for index in 0..came {
                    self.tally.count(&self.batch.arrival(index));
                }
                Ok(came)
            }
            // A signal is not an empty queue, but the next call tells.
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => self.fetch(block),
            Err(e) if is_pause(&e) => Ok(0),
            Err(e) => Err(FlowError::kernel("receive frames at port", self.port, e)),
        }
    }
}

impl Tally {
    fn new(spec: &ReceiverSpec) -> Self {
        Self {
            identity: spec.identity,
            peer: spec.peer,
            payload_octets: spec.frames.largest().udp_payload_v4() as usize,
            tracker: SequenceTracker::new(spec.limit),
            limit: spec.limit,
            rejected: Rejected::default(),
            arrivals: Histogram::new(),
            first: None,
            last: Nanos::ZERO,
        }
    }

    #[inline]
    fn count(&mut self, arrival: &Arrival<'_>) {
        let Ok(probe) = Probe::parse(arrival.head) else {
            self.rejected.malformed += 1;
            return;
        };
        if !self.is_ours(&probe, arrival.source) {
            self.rejected.foreign += 1;
            return;
        }
        // Before the length: the one that resolves a next hop is as short as can be.
        if learning::is_learning(probe.sequence) {
            return;
        }
        if arrival.octets != self.payload_octets {
            self.rejected.malformed += 1;
            return;
        }
        let sequence = u64::from(probe.sequence);
        self.tracker.arrive(sequence);
        if sequence < self.limit {
            self.stamp(arrival.stamp.unwrap_or_else(clock::realtime));
        }
    }

    #[inline]
    fn is_ours(&self, probe: &Probe, source: Ipv4Addr) -> bool {
        probe.token == self.identity.token
            && probe.flow == self.identity.flow
            && IpAddr::V4(source) == self.peer
    }

    #[inline]
    fn stamp(&mut self, at: Nanos) {
        if self.first.is_none() {
            self.first = Some(at);
        } else {
            self.arrivals.record(at.saturating_sub(self.last));
        }
        self.last = at;
    }
}

/// How long a receiver may rest without its buffer filling past a quarter at a frame a microsecond.
fn nap(room_octets: usize, frame_octets: u32) -> Option<Duration> {
    /// What the kernel charges for a frame: its own structures, and memory rounded up.
    const OVERHEAD: u64 = 1_024;
    let frame = OVERHEAD + 2 * u64::from(frame_octets);
    let micros = (room_octets as u64 / frame / 4).min(NAP_LONGEST_US);
    (micros >= NAP_SHORTEST_US).then(|| Duration::from_micros(micros))
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("port", &self.port).finish_non_exhaustive()
    }
}
