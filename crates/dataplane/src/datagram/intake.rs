//! Sources of a receiver's datagrams: a UDP socket, a packet ring, or AF_XDP.
//!
//! Owns how each is emptied, with naps between, so that the sender on a shared machine keeps its
//! processor. The kernel stamps each frame, so napping moves no stamp. Leaves nothing queued at the
//! end. Never judges what arrived.

use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use measure::Nanos;
use measure::reading::Rejected;
use nix::sys::socket::{getsockopt, sockopt};
use trial::Destination;
use wire::Probe;

use super::batch::{ReceiveBatch, SLOTS};
use super::tally::{Datagram, Tally};
use super::{Traffic, interface, socket};
use crate::packet_ring::{self, Arrival, Selection};
use crate::socket::{TICK, bound_waits, drops, enlarge_receive_buffer, is_pause};
use crate::unfit::Unfit;
use crate::{End, FlowError, Identity, af_xdp, clock, stamp};

/// Receive buffer requested for the socket, in octets; the kernel counts its own overhead on top.
const BUFFER_OCTETS: usize = 32 << 20;

/// Longest nap, and the shortest that is worth its wake-up.
const NAP_LONGEST_US: u64 = 500;
const NAP_SHORTEST_US: u64 = 50;

/// Nap of a raw input. It holds thousands of frames, so this is short even at a frame a
/// microsecond.
const RAW_NAP: Duration = Duration::from_micros(200);

/// Difference between two clock readings above which the clock was set.
const STEP: Nanos = Nanos::from_micros(1);

/// Maximum number of datagrams fetched from a reserved socket at the end.
const MOST_STRAYS: usize = 100_000;

/// Input in which datagrams queue.
pub(super) enum Intake {
    Udp(Udp),
    Raw(Raw),
}

/// UDP socket at the flow's port.
pub(super) struct Udp {
    socket: UdpSocket,
    batch: ReceiveBatch,
    nap: Option<Duration>,
    /// Offset of CLOCK_REALTIME, which the kernel stamps by, ahead of CLOCK_MONOTONIC, in
    /// nanoseconds.
    ahead: i128,
}

/// Input of whole frames, beside or before the stack.
pub(super) struct Raw {
    source: Source,
    /// Sockets that reserve the ports, so that the kernel refuses no sender.
    reserved: Vec<UdpSocket>,
    identity: Identity,
}

enum Source {
    Ring(packet_ring::Receive),
    AfXdp(af_xdp::receive::Receive),
}

impl Intake {
    /// Receives by the socket that holds the flow's port.
    pub(super) fn udp(udp: UdpSocket, spec: &End<Traffic>) -> Result<Self, Unfit> {
        check_udp(spec)?;
        enlarge_receive_buffer(&udp, BUFFER_OCTETS);
        bound_waits(&udp, TICK)
            .and_then(|()| stamp::request(&udp))
            .map_err(|e| FlowError::kernel("set options of udp socket at", spec.local, e))?;
        let room = getsockopt(&udp, sockopt::RcvBuf).unwrap_or(0);
        let nap = nap(room, spec.flow.asked.frames.largest().octets());
        Ok(Self::Udp(Udp {
            socket: udp,
            batch: ReceiveBatch::new(),
            nap,
            ahead: clock_difference(),
        }))
    }

    /// Receives by a packet ring on the interface with the flow's address, or on all of them if
    /// none can be named for it.
    pub(super) fn ring(
        reserved: &[UdpSocket],
        first: u16,
        spec: &End<Traffic>,
    ) -> Result<(Self, String), Unfit> {
        let every = || (0, "every interface".to_owned());
        let (index, name) = interface::find(spec.local).unwrap_or_else(|_| every());
        let ring = packet_ring::Receive::bind(index, &name, &selection(first, spec))?;
        let how = format!("frames of {name} come by a packet ring");
        Ok((Self::raw(Source::Ring(ring), reserved, spec)?, how))
    }

    /// Receives by AF_XDP on the interface that has the flow's address.
    pub(super) fn af_xdp(
        reserved: &[UdpSocket],
        first: u16,
        spec: &End<Traffic>,
    ) -> Result<(Self, String), Unfit> {
        let (index, name) = interface::find(spec.local)?;
        let largest = spec.flow.asked.frames.largest().octets_without_fcs() as usize;
        let selection = selection(first, spec);
        let (queues, how) = af_xdp::receive::Receive::bind(index, &name, &selection, largest)?;
        Ok((Self::raw(Source::AfXdp(queues), reserved, spec)?, how))
    }

    fn raw(source: Source, reserved: &[UdpSocket], spec: &End<Traffic>) -> Result<Self, FlowError> {
        let keep = |socket: &UdpSocket| {
            socket::refuse_token(socket, spec.identity.token)?;
            socket.try_clone()
        };
        let reserved: std::io::Result<_> = reserved.iter().map(keep).collect();
        let reserved =
            reserved.map_err(|e| FlowError::kernel("keep udp ports at", spec.local, e))?;
        Ok(Self::Raw(Raw { source, reserved, identity: spec.identity }))
    }

    /// Counts queued frames; waits briefly for the first one if asked to. Returns the number of
    /// frames, and the rest before the next fetch.
    pub(super) fn fetch(
        &mut self,
        tally: &mut Tally,
        block: bool,
    ) -> Result<(usize, Option<Duration>), FlowError> {
        match self {
            Self::Udp(udp) => {
                let came = udp.fetch(tally, block)?;
                Ok((came, udp.nap.filter(|_| came > 0 && came < SLOTS)))
            }
            Self::Raw(raw) => {
                let wait = if block { TICK } else { Nanos::ZERO };
                let came = raw.source.receive(wait, |frame| tally.frame(frame.octets, frame.at))?;
                Ok((came, (came > 0).then_some(RAW_NAP)))
            }
        }
    }

    /// Stops receiving, counts queued frames, and returns the number of frames dropped until then.
    pub(super) fn close(self, tally: &mut Tally) -> Result<u64, FlowError> {
        match self {
            Self::Udp(udp) => udp.close(tally),
            Self::Raw(raw) => raw.close(tally),
        }
    }
}

impl Udp {
    fn fetch(&mut self, tally: &mut Tally, block: bool) -> Result<usize, FlowError> {
        match self.batch.receive(self.socket.as_fd(), block) {
            Ok(came) => {
                for index in 0..came {
                    let arrival = self.batch.arrival(index);
                    let at = match arrival.stamp {
                        Some(stamp) => Nanos((i128::from(stamp.0) - self.ahead) as u64),
                        None => clock::monotonic(),
                    };
                    let (source, head, octets) = (arrival.source, arrival.head, arrival.octets);
                    tally.datagram(&Datagram { source, head, octets, at });
                }
                Ok(came)
            }
            // A signal does not mean an empty queue; the next call shows it.
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => self.fetch(tally, block),
            Err(e) if is_pause(&e) => Ok(0),
            Err(e) => Err(FlowError::kernel("receive frames by", "udp socket", e)),
        }
    }

    fn close(mut self, tally: &mut Tally) -> Result<u64, FlowError> {
        let failed = |e| FlowError::kernel("close", "udp socket", e);
        let drops = drops(&self.socket).map_err(failed)?;
        // The filter bounds the draining even if more frames keep arriving.
        socket::refuse_all(&self.socket).map_err(failed)?;
        while self.fetch(tally, false)? > 0 {}
        if clock_difference().abs_diff(self.ahead) > u128::from(STEP.0) {
            tally.doubt_delays();
        }
        Ok(drops)
    }
}

impl Source {
    fn receive(
        &mut self,
        longest: Nanos,
        take: impl FnMut(Arrival<'_>),
    ) -> Result<usize, FlowError> {
        match self {
            Self::Ring(ring) => ring.receive(longest, take),
            Self::AfXdp(queues) => queues.receive(longest, take),
        }
        .map_err(|e| FlowError::kernel("receive frames by", self.name(), e))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Ring(_) => "packet ring",
            Self::AfXdp(_) => "af_xdp",
        }
    }
}

impl Raw {
    fn close(self, tally: &mut Tally) -> Result<u64, FlowError> {
        let name = self.source.name();
        let drops = match self.source {
            Source::Ring(ring) => ring.close(|frame| tally.frame(frame.octets, frame.at)),
            Source::AfXdp(queues) => queues.close(|frame| tally.frame(frame.octets, frame.at)),
        }
        .map_err(|e| FlowError::kernel("close", name, e))?;
        tally.reject(&strays(&self.reserved, self.identity)?);
        Ok(drops)
    }
}

/// Counts datagrams that reached a flow's ports past the counting input and do not belong to the
/// flow.
pub(super) fn strays(sockets: &[UdpSocket], identity: Identity) -> Result<Rejected, FlowError> {
    let mut rejected = Rejected::default();
    let mut head = [0; Probe::LEN];
    for socket in sockets {
        socket
            .set_nonblocking(true)
            .map_err(|e| FlowError::kernel("set options of", "udp socket", e))?;
        for _ in 0..MOST_STRAYS {
            let Ok(octets) = socket.recv(&mut head) else { break };
            match Probe::parse(&head[..octets]) {
                Err(_) => rejected.malformed += 1,
                Ok(probe) if probe.token == identity.token && probe.flow == identity.flow => {}
                Ok(_) => rejected.foreign += 1,
            }
        }
    }
    Ok(rejected)
}

/// Refuses flows that a UDP socket cannot receive fully.
fn check_udp(spec: &End<Traffic>) -> Result<(), Unfit> {
    let unfit = |why: &str| Err(Unfit::NotHere(why.to_owned()));
    if spec.flow.asked.headers.vlan.is_some() {
        return unfit("a udp socket sees no vlan tag");
    }
    if spec.flow.spread().destination_ports > 1 {
        return unfit("a udp socket has one port");
    }
    if matches!(spec.flow.asked.destination, Destination::Stations { .. }) {
        return unfit("a udp socket gets no frames for other stations");
    }
    if spec.flow.spread().destinations.is_some() {
        return unfit("a udp socket is at one address");
    }
    Ok(())
}

fn selection(first: u16, spec: &End<Traffic>) -> Selection {
    let last = first + (spec.flow.spread().destination_ports.max(1) - 1);
    Selection { ports: first..=last, token: spec.identity.token }
}

/// Longest nap of a receiver that fills at most a quarter of its buffer at a frame a microsecond.
fn nap(room_octets: usize, frame_octets: u32) -> Option<Duration> {
    /// Octets that the kernel charges for a frame: its own structures, and memory rounded up.
    const OVERHEAD: u64 = 1_024;
    let frame = OVERHEAD + 2 * u64::from(frame_octets);
    let micros = (room_octets as u64 / frame / 4).min(NAP_LONGEST_US);
    (micros >= NAP_SHORTEST_US).then(|| Duration::from_micros(micros))
}

/// CLOCK_REALTIME less CLOCK_MONOTONIC, from the tightest of several readings; in nanoseconds.
fn clock_difference() -> i128 {
    const READINGS: u32 = 16;
    let reading = |_| {
        let before = clock::monotonic();
        let realtime = clock::realtime();
        let apart = clock::monotonic().saturating_sub(before);
        let between = i128::from(before.0) + i128::from(apart.0 / 2);
        (apart, i128::from(realtime.0) - between)
    };
    (0..READINGS).map(reading).min_by_key(|(apart, _)| *apart).map_or(0, |(_, ahead)| ahead)
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Udp(udp) => f.debug_tuple("Udp").field(&udp.socket).finish(),
            Self::Raw(raw) => f.debug_tuple("Raw").field(&raw.source.name()).finish(),
        }
    }
}

/// Refuses a peer address whose IP version differs from the receiver's.
pub(super) fn check_versions(local: IpAddr, peer: IpAddr) -> Result<(), FlowError> {
    if local.is_ipv6() == peer.is_ipv6() {
        return Ok(());
    }
    Err(FlowError::Unsuitable(format!("receive at {local} from {peer}: their ip versions differ")))
}
