//! A receiver's counts of a flow, for any input: by sequence number, and foreign datagrams apart.
//!
//! Pure: the caller passes octets and stamps. Never counts a frame of another trial, flow or
//! address, nor one whose size or VLAN does not match its number. UDP checksums are checked by the
//! input, or not at all.

use std::net::{IpAddr, SocketAddr};

use measure::reading::Rejected;
use measure::sequence::SequenceTracker;
use measure::{FrameMix, Histogram, Nanos};
use trial::record::{Clocks, DatagramsRecord, Delays};
use wire::{FrameLayout, Probe};

use super::layout::{layout, payload_octets};
use super::{Spread, Traffic, learning};
use crate::{End, Identity};

/// Expected flow, and what arrived of it.
pub(super) struct Tally {
    identity: Identity,
    /// Sender's address; the port is ignored.
    peer: SocketAddr,
    /// Destination of the first frame.
    local: SocketAddr,
    spread: Spread,
    vlan: Option<u16>,
    layout: FrameLayout,
    frames: FrameMix,
    tracker: SequenceTracker,
    limit: u64,
    tells_apart: bool,
    rejected: Rejected,
    arrivals: Histogram,
    delays: Option<Histogram>,
    first: Option<Nanos>,
    last: Nanos,
}

/// Datagram as any input delivers it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram<'a> {
    /// Address of the sender.
    pub source: IpAddr,
    /// First octets of the payload; fewer than a probe's if it is shorter.
    pub head: &'a [u8],
    /// Octets of the payload.
    pub octets: usize,
    /// Arrival time, on this host's monotonic clock.
    pub at: Nanos,
}

/// Ports and addresses as they arrive: a NAT that translates replaces every source.
fn seen_spread(spec: &End<Traffic>) -> Spread {
    let spread = spec.flow.spread();
    match spec.opening.translated {
        Some(_) => Spread { sources: None, ..spread },
        None => spread,
    }
}

impl Tally {
    /// Creates the tally of a flow to `port` and the ports above it. Allocates all memory.
    pub(super) fn new(spec: &End<Traffic>, port: u16) -> Self {
        Self {
            identity: spec.identity,
            peer: SocketAddr::new(spec.seen_peer(), 0),
            local: SocketAddr::new(spec.local, port),
            spread: seen_spread(spec),
            vlan: spec.flow.vlan(),
            layout: layout(spec.local.is_ipv6(), spec.flow.asked.headers.vlan),
            frames: spec.flow.asked.frames.clone(),
            tracker: SequenceTracker::of_conversations(
                spec.flow.limit,
                spec.flow.spread().conversations(),
            ),
            limit: spec.flow.limit,
            tells_apart: spec.flow.asked.conversations,
            rejected: Rejected::default(),
            arrivals: Histogram::new(),
            delays: Some(Histogram::new()),
            first: None,
            last: Nanos::ZERO,
        }
    }

    /// Counts a whole frame, from the Ethernet header on.
    #[inline]
    pub(super) fn frame(&mut self, octets: &[u8], at: Nanos) {
        let Some(glance) = self.layout.glance(octets) else {
            self.rejected.malformed += 1;
            return;
        };
        let datagram = Datagram {
            source: glance.source,
            head: glance.payload,
            octets: glance.payload.len(),
            at,
        };
        let destination = SocketAddr::new(glance.destination, glance.destination_port);
        let (local, spread, vlan) = (self.local, self.spread, self.vlan);
        self.count(&datagram, |number| {
            glance.vlan == vlan && spread.destination(local, number) == destination
        });
    }

    /// Counts a datagram of a socket that only receives for its own address and port.
    #[inline]
    pub(super) fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.count(datagram, |_| true);
    }

    #[inline]
    fn count(&mut self, datagram: &Datagram<'_>, fits: impl FnOnce(u64) -> bool) {
        let Ok(probe) = Probe::parse(datagram.head) else {
            self.rejected.malformed += 1;
            return;
        };
        let number = u64::from(probe.sequence);
        let is_learning = learning::is_learning(probe.sequence);
        if !self.is_ours(&probe, datagram.source, is_learning) {
            self.rejected.foreign += 1;
            return;
        }
        // Checked before the length: the frame that resolves a next hop is as short as possible.
        if is_learning {
            return;
        }
        let expected = payload_octets(self.layout, self.frames.at(number));
        if datagram.octets != expected || !fits(number) {
            self.rejected.malformed += 1;
            return;
        }
        self.tracker.arrive(number);
        if number < self.limit {
            self.stamp(datagram.at, &probe);
        }
    }

    #[inline]
    fn is_ours(&self, probe: &Probe, source: IpAddr, is_learning: bool) -> bool {
        if probe.token != self.identity.token || probe.flow != self.identity.flow {
            return false;
        }
        if is_learning {
            // Their addresses do not follow the number; the first one even leaves by a socket, from
            // the peer.
            return source == self.peer.ip() || self.spread.has_source(source);
        }
        source == self.spread.source(self.peer, probe.sequence.into()).ip()
    }

    #[inline]
    fn stamp(&mut self, at: Nanos, probe: &Probe) {
        if self.first.is_none() {
            self.first = Some(at);
        } else {
            self.arrivals.record(at.saturating_sub(self.last));
        }
        self.last = at;
        if let Some(delays) = &mut self.delays {
            delays.record(at.saturating_sub(Nanos(probe.time_ns)));
        }
    }

    /// Adds rejected datagrams counted by an input.
    pub(super) fn reject(&mut self, strays: &Rejected) {
        self.rejected.merge(strays);
    }

    /// Discards the delays: the clocks did not stay synchronised.
    pub(super) fn doubt_delays(&mut self) {
        self.delays = None;
    }

    /// Reports all arrivals until the window closed, for an input that dropped `socket_drops`
    /// itself.
    pub(super) fn report(
        self,
        backend: &str,
        reason: String,
        closed: Nanos,
        socket_drops: u64,
    ) -> DatagramsRecord {
        let delays = self.delays.map(|histogram| Delays { clocks: Clocks::Same, histogram });
        DatagramsRecord {
            receiver: backend.to_owned(),
            receiver_reason: reason,
            delays,
            received: self.tracker.counts(),
            conversations: if self.tells_apart { self.tracker.conversations() } else { Vec::new() },
            rejected: self.rejected,
            receiving: self.last.saturating_sub(self.first.unwrap_or(self.last)),
            quiet: self.first.map(|_| closed.saturating_sub(self.last)),
            arrivals: self.arrivals,
            socket_drops,
            ..DatagramsRecord::default()
        }
    }
}
