//! What a receiver counts of a flow, whatever hands it the datagrams: by sequence number, and what
//! is not the flow's apart.
//!
//! Pure: the caller hands in octets and stamps. Never counts a frame of another trial, flow or
//! address, nor one whose size or VLAN is not its number's. UDP checksums were looked at by whoever
//! handed the datagram over, or by nobody.

use std::net::{IpAddr, SocketAddr};

use measure::reading::Rejected;
use measure::sequence::SequenceTracker;
use measure::{FrameMix, Histogram, Nanos};
use trial::record::{Clocks, DatagramsRecord, Delays};
use wire::{FrameLayout, Probe};

use super::layout::{layout, payload_octets};
use super::{Spread, Traffic, learning};
use crate::{End, Identity};

/// What is expected, and what came.
pub(super) struct Tally {
    identity: Identity,
    /// Where frames come from; the port is not looked at.
    peer: SocketAddr,
    /// Where the first frame goes.
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

/// A datagram as any input hands it over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram<'a> {
    /// Who sent it.
    pub source: IpAddr,
    /// Its payload's first octets; fewer than a probe's when it is shorter.
    pub head: &'a [u8],
    /// Octets of its payload.
    pub octets: usize,
    /// When it came, on this host's monotonic clock.
    pub at: Nanos,
}

impl Tally {
    /// For a flow to `port` and those above it. All memory is taken here.
    pub(super) fn new(spec: &End<Traffic>, port: u16) -> Self {
        Self {
            identity: spec.identity,
            peer: SocketAddr::new(spec.peer(), 0),
            local: SocketAddr::new(spec.local, port),
            spread: spec.flow.spread(),
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

    /// A whole frame, from the Ethernet header on.
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

    /// A datagram of a socket that only takes what is for its own address and port.
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
        // Before the length: the one that resolves a next hop is as short as can be.
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
            // Their addresses go by no number; the first one even leaves by a socket, from the
            // peer.
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

    /// Adds what an input kept apart.
    pub(super) fn reject(&mut self, strays: &Rejected) {
        self.rejected.merge(strays);
    }

    /// Forgets the delays: the clocks did not stay together.
    pub(super) fn doubt_delays(&mut self) {
        self.delays = None;
    }

    /// All that came until the window closed, for an input that dropped `socket_drops` itself.
    pub(super) fn report(
        self,
        backend: &str,
        reason: String,
        (closed, socket_drops): (Nanos, u64),
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
