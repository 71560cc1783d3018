//! The receiving end: what came in order, and when to say so.

use measure::Picos;

use super::{Ack, Segment};

/// The receiving end of one connection. Payload that is in order is read at once.
#[derive(Debug, Clone)]
pub struct Receiver {
    window: u64,
}

impl Receiver {
    /// With that much room.
    pub fn new(window: u64) -> Self {
        Self { window }
    }

    /// A segment came: what to answer at once, if anything (RFC 5681 §4.2: every second full segment,
    /// and whenever order is broken or repaired).
    pub fn receive(&mut self, now: Picos, segment: &Segment) -> Option<Ack> {
        let _ = (now, segment, self.window);
        None
    }

    /// When a delayed acknowledgement is due.
    pub fn deadline(&self) -> Option<Picos> {
        None
    }

    /// It is due.
    pub fn expire(&mut self, now: Picos) -> Option<Ack> {
        let _ = now;
        None
    }

    /// Payload that came in order so far.
    pub fn in_order(&self) -> u64 {
        0
    }
}
