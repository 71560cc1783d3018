//! Devices and the cables among them, as one thing with edges where hosts are.
//!
//! Owns the order of what happens inside. A driver hands frames in at an edge and lets time pass; it
//! gets back what left, in the order of time. A single switch is a network of one device. Never looks
//! ahead of the time that it was told.

use measure::Picos;

use crate::{Event, Frame, Profile};

/// A place where a host's cable ends, from 0: the edges are numbered as the profile's ports are, port
/// 1 first; in a network of several devices, those ports that no cable between devices takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge(pub u16);

/// What a network has counted since it began. `entered = delivered + dropped + standing` for frames
/// that have one destination; flooding makes copies, which `copies` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Frames that entered at the edge.
    pub entered: u64,
    /// Frames that left by it.
    pub delivered: u64,
    /// Copies made of frames that entered here, beyond the first.
    pub copies: u64,
    /// Frames that entered here and were dropped, copies among them.
    pub dropped: u64,
}

/// What is inside at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Frames, copies among them.
    pub frames: u64,
    /// The octets of buffer they take, whole cells counted.
    pub octets: u64,
}

/// The model, turned by a driver.
#[derive(Debug)]
pub struct Network {
    profile: Profile,
}

impl Network {
    /// Everything idle and nothing learned; `seed` is of the profile's stalls and losses.
    pub fn new(profile: &Profile, seed: u64) -> Self {
        let _ = seed;
        Self { profile: profile.clone() }
    }

    /// How many edges there are.
    pub fn edges(&self) -> u16 {
        self.profile.edges()
    }

    /// A host puts a frame on its cable: its first bit leaves the host at `now`, its last one when the
    /// cable's rate allows. `now` never goes back, and the host sends the next frame (of this edge) no
    /// earlier than this one's last bit and the gap (which are the host's to keep).
    #[inline]
    pub fn submit(&mut self, now: Picos, edge: Edge, frame: Frame) {
        let _ = (now, edge, frame, &mut self.profile);
    }

    /// When something next happens inside; nothing does before.
    #[inline]
    pub fn next(&self) -> Option<Picos> {
        None
    }

    /// Lets time pass up to and with `to`, and hands over what came of it, in the order of time.
    #[inline]
    pub fn advance(&mut self, to: Picos, out: &mut impl FnMut(Event)) {
        let _ = (to, out, &mut self.profile);
    }

    /// Stop or go on sending to the device: a host of this edge was told to pause, or tells so.
    pub fn counts(&self, edge: Edge) -> PortCounts {
        let _ = edge;
        PortCounts::default()
    }

    /// What is inside now.
    pub fn standing(&self) -> Standing {
        Standing::default()
    }

    /// Forgets what was learned and queued, as a reset does; frames inside are dropped.
    pub fn reset(&mut self, now: Picos, out: &mut impl FnMut(Event)) {
        let _ = (now, out, &mut self.profile);
    }
}
