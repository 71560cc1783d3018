//! Frames in flight: the meaning of the frames that the model carries without reading them.
//!
//! Owns the handles that travel as a frame's tag. Holds as many entries as were ever in flight at
//! once, and no more. A flooded frame's entry lives until its last copy is delivered or dropped.

use measure::Picos;

use crate::tcp::{Ack, Segment};

/// Purpose of a frame; the tag's top octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Frame that teaches addresses; nothing is stored for it.
    Learning,
    /// Frame of a datagram flow.
    Datagram,
    /// Request or answer of an echo flow.
    Echo,
    /// Part of a message, or credit, of an exchange over datagrams.
    ExchangeHeader,
    /// TCP payload.
    Segment,
    /// TCP acknowledgement.
    Ack,
    /// Frame of a connection that is opened.
    Session,
}

/// Tag of a frame for which nothing is stored.
pub(crate) const LEARNING: u64 = 0;

const KIND_SHIFT: u32 = 56;

/// Numbered frame of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Flow, by its place among those of its kind.
    pub(crate) flow: u32,
    /// Meaning defined by the flow: a direction, a part of a message.
    pub(crate) mark: u32,
    /// Sequence number of the frame.
    pub(crate) number: u64,
    /// Departure time, or due time.
    pub(crate) stamp: Picos,
}

/// Entries by number; freed ones are reused.
#[derive(Debug)]
struct Slots<T> {
    slots: Vec<(T, u32)>,
    free: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    #[inline]
    fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = (value, 1);
            return slot;
        }
        self.slots.push((value, 1));
        (self.slots.len() - 1) as u32
    }

    #[inline]
    fn release(&mut self, slot: u32) -> T {
        let (value, copies) = &mut self.slots[slot as usize];
        *copies -= 1;
        if *copies == 0 {
            self.free.push(slot);
        }
        *value
    }

    fn copy(&mut self, slot: u32, more: u16) {
        self.slots[slot as usize].1 += u32::from(more);
    }
}

/// Payload of a TCP stream, with the stream's number.
type OfStream<T> = (u32, T);

/// Marker of a segment without an acknowledgement.
const NONE: u32 = u32::MAX;

/// All frames in flight.
#[derive(Debug)]
pub(crate) struct Flight {
    probes: Slots<Probe>,
    /// Segments, each with the place of the acknowledgement that it carries.
    segments: Slots<(OfStream<Segment>, u32)>,
    acks: Slots<OfStream<Ack>>,
}

/// Contents of a frame that ended its flight.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cargo {
    /// Nothing.
    Nothing,
    /// Numbered frame of the flow kind that the tag names.
    Probe(Kind, Probe),
    /// Segment of a stream, with an acknowledgement for another one.
    Segment(u32, Segment, Option<OfStream<Ack>>),
    /// Acknowledgement of a stream.
    Ack(u32, Ack),
}

impl Flight {
    pub(crate) const fn new() -> Self {
        Self { probes: Slots::new(), segments: Slots::new(), acks: Slots::new() }
    }

    /// Stores a numbered frame of a datagram, echo or exchange flow; returns its tag.
    #[inline]
    pub(crate) fn probe(&mut self, kind: Kind, probe: Probe) -> u64 {
        tag(kind, self.probes.insert(probe))
    }

    /// Stores a stream's segment and its accompanying acknowledgement; returns the tag.
    #[inline]
    pub(crate) fn segment(
        &mut self,
        stream: u32,
        segment: Segment,
        along: Option<OfStream<Ack>>,
    ) -> u64 {
        let along = along.map_or(NONE, |ack| self.acks.insert(ack));
        tag(Kind::Segment, self.segments.insert(((stream, segment), along)))
    }

    /// Stores a stream's acknowledgement; returns its tag.
    #[inline]
    pub(crate) fn ack(&mut self, stream: u32, ack: Ack) -> u64 {
        tag(Kind::Ack, self.acks.insert((stream, ack)))
    }

    /// Records that a frame was flooded.
    pub(crate) fn copied(&mut self, tag: u64, more: u16) {
        let slot = tag as u32;
        match Kind::from_tag(tag) {
            Kind::Learning => {}
            Kind::Segment => {
                self.segments.copy(slot, more);
                let along = self.segments.slots[slot as usize].0.1;
                if along != NONE {
                    self.acks.copy(along, more);
                }
            }
            Kind::Ack => self.acks.copy(slot, more),
            Kind::Datagram | Kind::Echo | Kind::ExchangeHeader | Kind::Session => {
                self.probes.copy(slot, more);
            }
        }
    }

    /// Ends the flight of one copy of a frame.
    #[inline]
    pub(crate) fn land(&mut self, tag: u64) -> Cargo {
        let slot = tag as u32;
        match Kind::from_tag(tag) {
            Kind::Learning => Cargo::Nothing,
            Kind::Segment => {
                let ((stream, segment), along) = self.segments.release(slot);
                let along = (along != NONE).then(|| self.acks.release(along));
                Cargo::Segment(stream, segment, along)
            }
            Kind::Ack => {
                let (stream, ack) = self.acks.release(slot);
                Cargo::Ack(stream, ack)
            }
            kind => Cargo::Probe(kind, self.probes.release(slot)),
        }
    }

    /// Number of frames in flight.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let used = |slots: usize, free: usize| slots - free;
        used(self.probes.slots.len(), self.probes.free.len())
            + used(self.segments.slots.len(), self.segments.free.len())
            + used(self.acks.slots.len(), self.acks.free.len())
    }
}

#[inline]
fn tag(kind: Kind, slot: u32) -> u64 {
    ((kind as u64) << KIND_SHIFT) | u64::from(slot)
}

impl Kind {
    /// Purpose of a frame with this tag.
    #[inline]
    pub(crate) const fn from_tag(tag: u64) -> Self {
        match tag >> KIND_SHIFT {
            1 => Self::Datagram,
            2 => Self::Echo,
            3 => Self::ExchangeHeader,
            4 => Self::Segment,
            5 => Self::Ack,
            6 => Self::Session,
            _ => Self::Learning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_lives_until_its_last_copy_has_landed() {
        let mut flight = Flight::new();
        let probe = Probe { flow: 1, mark: 0, number: 9, stamp: Picos(3) };
        let tag = flight.probe(Kind::Echo, probe);
        flight.copied(tag, 1);
        for left in [1, 0] {
            assert!(matches!(flight.land(tag), Cargo::Probe(Kind::Echo, p) if p == probe));
            assert_eq!(flight.len(), left);
        }
        assert_eq!(flight.probe(Kind::Datagram, probe) as u32, tag as u32, "used again");
        assert!(matches!(flight.land(LEARNING), Cargo::Nothing));
    }
}
