//! A simulated host's port: what waits there, and what leaves next.
//!
//! Owns the line's rate and gap, the host's packet limit, PAUSE, and the order of those who want to
//! send: first what was handed down (answers, acknowledgements, requests), then paced frames whose
//! time has come, then in turn the streams and loads that always have more. So TCP never fills its
//! own host's queue: it is asked for a segment when the line is free, as small queues make Linux
//! do. Also owns how late its host is with what it hands over. Never knows what a frame means.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::Ipv4Addr;

use device::{Edge, Frame, Mac};
use measure::{FrameRate, Picos, Rate};
use trial::PortRef;
use trial::counters::{
    QDISC_DROPS, RX_DROPPED, RX_OTHERHOST, RX_PACKETS, RX_PAUSE, TX_DROPPED, TX_PACKETS,
};

use crate::jitter::Jitter;
use crate::stations::Stations;

/// Preamble with start delimiter, and the gap between frames.
const PREAMBLE_AND_GAP: u64 = 20;
/// Ethernet's header and FCS around an IP packet.
const ETHERNET: u64 = 18;

/// The part of a frame's time by which TCP may miss the moment in which a busy line comes free. Its
/// mean is a ten-thousandth: as little as two clocks differ by (IEEE 802.3: 100 ppm), and they do
/// not keep in step either.
const MISSED: u64 = 5000;

/// Where the port's cable ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Far {
    /// At the network.
    Edge(Edge),
    /// At another host's port, by its number; so long away.
    Nic(u32, Picos),
}

/// Who has frames whenever the line is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pull {
    /// A load of datagrams, by its place.
    Load(u32),
    /// A TCP stream, by its place.
    Stream(u32),
}

/// What the port has counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NicCounts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Handed down and not taken: the queue was full.
    pub(crate) refused: u64,
    /// Arrived and meant for another host: flooded.
    pub(crate) others: u64,
    /// PAUSE frames that told it to stop.
    pub(crate) pauses: u64,
    /// The link went down or came up.
    pub(crate) carrier_changes: u64,
}

/// A port. What each frame touches comes first and lies together: of a thousand ports in turn none
/// stays in the processor's nearest memory.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Nic {
    pub(crate) mac: Mac,
    /// When the next frame may begin.
    pub(crate) free: Picos,
    pub(crate) far: Far,
    /// Told to pause.
    pub(crate) held: bool,
    /// Without a link.
    pub(crate) down: bool,
    /// Of a host that has died.
    pub(crate) dead: bool,
    /// Of a host that dies.
    pub(crate) mortal: bool,
    /// One octet's time where it is a whole number of picoseconds.
    octet: Option<u64>,
    /// Between two frames' beginnings, by the packet limit.
    least: Picos,
    pub(crate) counts: NicCounts,
    pub(crate) paced: BinaryHeap<Reverse<(Picos, u32)>>,
    pub(crate) pulls: VecDeque<Pull>,
    queue: VecDeque<Frame>,
    waiting: u64,
    room: u64,
    rate: Rate,
    /// Of the largest frame, with all that it takes of the line.
    largest: Picos,
    jitter: Jitter,
    turn: u64,
    /// Stations that it hears for beside itself.
    pub(crate) stations: Option<Stations>,
    pub(crate) place: PortRef,
    pub(crate) address: Ipv4Addr,
}

impl Nic {
    /// An idle port with a queue of `room` octets, for IP packets of up to `mtu`.
    pub(crate) fn new(
        (place, far): (PortRef, Far),
        (mac, address): (Mac, Ipv4Addr),
        rate: Rate,
        limit: Option<FrameRate>,
        (room, mtu): (u64, u32),
        jitter: Jitter,
    ) -> Self {
        let bits = 8_000_000_000_000;
        let largest = u64::from(mtu) + ETHERNET + PREAMBLE_AND_GAP;
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
            stations: None,
            paced: BinaryHeap::new(),
            pulls: VecDeque::new(),
            rate,
            octet: (rate.0 > 0 && bits % rate.0 == 0).then(|| bits / rate.0),
            least: limit.map_or(Picos::ZERO, |limit| Picos((1e12 / limit.0) as u64)),
            largest: Picos::to_send(largest, rate),
            jitter,
            turn: 0,
            queue: VecDeque::new(),
            waiting: 0,
            room,
        }
    }

    /// Whether a frame to this address is for its host.
    #[inline]
    pub(crate) fn hears(&self, destination: Mac) -> bool {
        destination == self.mac || self.stations.is_some_and(|stations| stations.have(destination))
    }

    /// How long so many octets take.
    #[inline]
    pub(crate) fn to_send(&self, octets: u64) -> Picos {
        match self.octet {
            Some(each) => Picos(octets * each),
            None => Picos::to_send(octets, self.rate),
        }
    }

    /// How long a full queue takes to leave: a paced frame later than this would not have been
    /// taken.
    pub(crate) fn patience(&self) -> Picos {
        self.to_send(self.room)
    }

    /// Takes a frame into the queue; false where it is full.
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

    /// The next frame of the queue.
    #[inline]
    pub(crate) fn dequeue(&mut self) -> Option<Frame> {
        let frame = self.queue.pop_front()?;
        self.waiting -= u64::from(frame.octets);
        Some(frame)
    }

    /// Whether a frame may begin once the line is free.
    #[inline]
    pub(crate) const fn is_open(&self) -> bool {
        !self.held && !self.down && !self.dead
    }

    /// Whether its cable ends at the network.
    pub(crate) const fn is_at_network(&self) -> bool {
        matches!(self.far, Far::Edge(_))
    }

    /// A frame begins at `now`.
    #[inline]
    pub(crate) fn begin(&mut self, now: Picos, frame: &Frame) {
        let taken = self.slot(frame.octets);
        self.free = now + taken.max(self.least);
        self.counts.sent += 1;
    }

    /// The host hands over what an acknowledgement or a credit released: to a line at rest up to a
    /// frame's time late, while a busy one goes on at its own pace.
    #[inline]
    pub(crate) fn hand_over(&mut self, now: Picos) {
        if self.free <= now {
            self.free = now + self.late(self.largest);
        }
    }

    /// What follows a TCP segment may miss the end of it by a little.
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

    /// What a frame takes of the line, with preamble and gap.
    #[inline]
    pub(crate) fn slot(&self, octets: u32) -> Picos {
        self.to_send(u64::from(octets) + PREAMBLE_AND_GAP)
    }

    /// When there will be something to send, as far as is known.
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

    /// By the kernel's names.
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
