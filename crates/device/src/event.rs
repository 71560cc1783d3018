//! What comes out of the model. Data only.

use measure::Picos;

use crate::{Edge, Frame};

/// Something that happened to a frame, or to a cable at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The last bit reached the host at an edge. A flooded frame does so at several.
    Delivered {
        /// When.
        at: Picos,
        /// Where.
        edge: Edge,
        /// Which; a router has written its own and the next hop's address into it.
        frame: Frame,
    },
    /// A frame was flooded: so many copies were made beyond the first, each of which is delivered
    /// or dropped under the frame's own tag.
    Copied {
        /// When.
        at: Picos,
        /// Which.
        frame: Frame,
        /// How many more there are now.
        copies: u16,
    },
    /// A frame, or one copy of it, is gone.
    Dropped {
        /// When.
        at: Picos,
        /// Which.
        frame: Frame,
        /// Why.
        cause: Cause,
    },
    /// The device tells the host at an edge to stop, or to go on (802.3x).
    Pause {
        /// When it reaches the host.
        at: Picos,
        /// Which host.
        edge: Edge,
        /// Stop or go.
        stop: bool,
    },
}

/// Why a frame was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The queue of its egress port had reached its share of the buffer.
    QueueFull,
    /// The way into the backplane had no room.
    UplinkFull,
    /// More packets a second than a software device forwards.
    Overrun,
    /// More than a policer lets pass.
    Policed,
    /// Lost at random, as the profile has it.
    Random,
    /// It came from where it was to go.
    SamePort,
    /// A router knows no way to its target, or it is no IPv4.
    NoRoute,
    /// Longer than the device takes.
    TooLong,
    /// The device was reset.
    Reset,
    /// The host's cable is broken that way.
    Broken,
    /// It came off a host's cable with a wrong FCS: at the device's port, or at the host.
    Damaged,
    /// The port that it came by, or was to leave by, has no link.
    LinkDown,
    /// The port that it was to leave by was made a black hole.
    Blackholed,
}
