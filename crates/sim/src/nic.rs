//! Port of a simulated host: its queue, and the frame that leaves next.
//!
//! Owns the line's rate and gap, the host's packet limit, PAUSE, and the order of senders. Queued
//! frames come first (answers, acknowledgements, requests), then due paced frames, then in turn the
//! streams and loads that always have more. So TCP never fills its own host's queue: it is asked
//! for a segment when the line is free, as small queues make Linux do. Also owns the lateness of
//! the host. Never knows what a frame means.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::Ipv4Addr;

use device::{Edge, Frame, Mac};
use measure::units::FRAMING_OCTETS;
use measure::{Picos, Rate};
use trial::PortRef;
use trial::counters::{
    QDISC_DROPS, RX_DROPPED, RX_OTHERHOST, RX_PACKETS, RX_PAUSE, TX_DROPPED, TX_PACKETS,
};

use crate::HostModel;
use crate::jitter::Jitter;
use crate::stations::Stations;

/// Octets of preamble with start delimiter, and of the gap between frames.
const PREAMBLE_AND_GAP: u64 = 20;

/// Divisor of a frame's time, by which TCP may miss the moment when a busy line becomes free. The
/// mean is a ten-thousandth: as little as two clocks differ by (IEEE 802.3: 100 ppm), which do not
/// keep in step either.
const MISSED: u64 = 5000;

/// Far end of the port's cable.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Far {
    /// Edge of the network.
    Edge(Edge),
    /// Port of another host, by its number, and the cable's delay.
    Nic(u32, Picos),
}

/// Source that has frames whenever the line is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pull {
    /// Load of datagrams, by its place.
    Load(u32),
    /// TCP stream, by its place.
    Stream(u32),
}

/// Counters of the port.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NicCounts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Frames refused because the queue was full.
    pub(crate) refused: u64,
    /// Frames received for another host: flooded.
    pub(crate) others: u64,
    /// PAUSE frames that stopped the port.
    pub(crate) pauses: u64,
    /// Number of times that the link went down or came up.
    pub(crate) carrier_changes: u64,
}

/// Host port. The data used per frame comes first and lies together, because with a thousand ports
/// in turn none stays in the processor's nearest cache.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Nic {
    pub(crate) mac: Mac,
    /// Earliest time of the next frame.
    pub(crate) free: Picos,
    pub(crate) far: Far,
    /// True while paused.
    pub(crate) held: bool,
    /// True while the link is down.
    pub(crate) down: bool,
    /// True if the host has failed.
    pub(crate) dead: bool,
    /// True if the host fails during the run.
    pub(crate) mortal: bool,
    /// Time of one octet if it is a whole number of picoseconds.
    octet: Option<u64>,
    /// Minimum time between the starts of two frames, by the packet limit.
    least: Picos,
    /// Time beyond the hosts' turnaround until the program has a frame.
    pub(crate) late: Picos,
    pub(crate) counts: NicCounts,
    pub(crate) paced: BinaryHeap<Reverse<(Picos, u32)>>,
    pub(crate) pulls: VecDeque<Pull>,
    queue: VecDeque<Frame>,
    waiting: u64,
    room: u64,
    rate: Rate,
    /// Line time of the largest frame, with preamble and gap.
    largest: Picos,
    jitter: Jitter,
    turn: u64,
    /// Stations for which the port also receives.
    pub(crate) stations: Option<Stations>,
    pub(crate) place: PortRef,
    pub(crate) address: Ipv4Addr,
}

impl Nic {
    /// Creates an idle port with the hosts' queue, frame rate limit and MTU.
    pub(crate) fn new(
        place: PortRef,
        far: Far,
        mac: Mac,
        address: Ipv4Addr,
        rate: Rate,
        hosts: &HostModel,
        jitter: Jitter,
    ) -> Self {
        let bits = 8_000_000_000_000;
        let largest = u64::from(hosts.mtu + FRAMING_OCTETS) + PREAMBLE_AND_GAP;
        Self {
            place,
            far,
            mac,
            address,
            counts: NicCounts::default(),
            free: Picos::ZERO,
            held: false,
            down: false,
            dead: false,
            mortal: false,
            late: Picos::ZERO,
            stations: None,
            paced: BinaryHeap::new(),
            pulls: VecDeque::new(),
            rate,
            octet: (rate.0 > 0 && bits % rate.0 == 0).then(|| bits / rate.0),
            least: hosts.sends_at_most.map_or(Picos::ZERO, |limit| Picos((1e12 / limit.0) as u64)),
            largest: Picos::to_send(largest, rate),
            jitter,
            turn: 0,
            queue: VecDeque::new(),
            waiting: 0,
            room: hosts.queue.0,
        }
    }

    /// True if a frame to this address is for the port's host.
    #[inline]
    pub(crate) fn hears(&self, destination: Mac) -> bool {
        destination == self.mac || self.stations.is_some_and(|stations| stations.have(destination))
    }

    /// Transmission time of the given octets.
    #[inline]
    pub(crate) fn to_send(&self, octets: u64) -> Picos {
        match self.octet {
            Some(each) => Picos(octets * each),
            None => Picos::to_send(octets, self.rate),
        }
    }

    /// Time in which a full queue drains: a paced frame later than this would not have been taken.
    pub(crate) fn patience(&self) -> Picos {
        self.to_send(self.room)
    }

    /// Adds a frame to the queue; false if it is full.
    #[inline]
    pub(crate) fn enqueue(&mut self, frame: Frame) -> bool {
        if self.waiting + u64::from(frame.octets) > self.room {
            self.counts.refused += 1;
            return false;
        }
        self.waiting += u64::from(frame.octets);
        self.queue.push_back(frame);
        true
    }

    /// Removes the next frame of the queue.
    #[inline]
    pub(crate) fn dequeue(&mut self) -> Option<Frame> {
        let frame = self.queue.pop_front()?;
        self.waiting -= u64::from(frame.octets);
        Some(frame)
    }

    /// True if a frame may begin once the line is free.
    #[inline]
    pub(crate) const fn is_open(&self) -> bool {
        !self.held && !self.down && !self.dead
    }

    /// True if the port's cable ends at the network.
    pub(crate) const fn is_at_network(&self) -> bool {
        matches!(self.far, Far::Edge(_))
    }

    /// Begins to send a frame at `now`.
    #[inline]
    pub(crate) fn begin(&mut self, now: Picos, frame: &Frame) {
        let taken = self.slot(frame.octets);
        self.free = now + taken.max(self.least);
        self.counts.sent += 1;
    }

    /// Hands over frames released by an acknowledgement or a credit. On an idle line they are up to
    /// a frame's time late; a busy one continues at its own pace.
    #[inline]
    pub(crate) fn hand_over(&mut self, now: Picos) {
        if self.free <= now {
            self.free = now + self.late(self.largest);
        }
    }

    /// Delays the frame that follows a TCP segment a little.
    #[inline]
    pub(crate) fn miss(&mut self) {
        let missed = self.late(Picos(self.largest.0 / MISSED));
        self.free += missed;
    }

    #[inline]
    fn late(&mut self, most: Picos) -> Picos {
        self.turn += 1;
        self.jitter.late(self.turn, most)
    }

    /// Line time of a frame, with preamble and gap.
    #[inline]
    pub(crate) fn slot(&self, octets: u32) -> Picos {
        self.to_send(u64::from(octets) + PREAMBLE_AND_GAP)
    }

    /// Time at which there will be something to send, as far as known.
    #[inline]
    pub(crate) fn next(&self) -> Picos {
        if !self.is_open() {
            return Picos::MAX;
        }
        if !self.queue.is_empty() || !self.pulls.is_empty() {
            return self.free;
        }
        self.paced.peek().map_or(Picos::MAX, |Reverse((due, _))| self.free.max(*due))
    }

    /// Counters by the kernel's names.
    pub(crate) fn counters(&self) -> BTreeMap<String, u64> {
        let NicCounts { sent, received, refused, others, pauses, carrier_changes } = self.counts;
        let named = [
            (TX_PACKETS, sent),
            (RX_PACKETS, received),
            (RX_DROPPED, 0),
            (TX_DROPPED, 0),
            (QDISC_DROPS, refused),
            (RX_OTHERHOST, others),
            (RX_PAUSE, pauses),
            ("carrier_changes", carrier_changes),
        ];
        named.into_iter().map(|(name, by)| (name.to_owned(), by)).collect()
    }
}
