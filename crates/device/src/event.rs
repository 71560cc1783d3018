//! Events that the model emits. Data only.

use measure::Picos;

use crate::{Edge, Frame};

/// Event of a frame, or of a cable at an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The last bit reached the host at an edge. A flooded frame does so at several.
    Delivered {
        /// Time of delivery.
        at: Picos,
        /// Edge of the host.
        edge: Edge,
        /// Delivered frame; a router has written its own and the next hop's address into it.
        frame: Frame,
    },
    /// A frame was flooded: `copies` were made beyond the first, each of which is delivered or
    /// dropped under the frame's own tag.
    Copied {
        /// Time of the flooding.
        at: Picos,
        /// Flooded frame.
        frame: Frame,
        /// Number of additional copies.
        copies: u16,
    },
    /// A frame, or one copy of it, was dropped.
    Dropped {
        /// Time of the drop.
        at: Picos,
        /// Dropped frame.
        frame: Frame,
        /// Cause of the drop.
        cause: Cause,
    },
    /// The device makes the host at an edge stop, or lets it continue (802.3x).
    Pause {
        /// Time at which it reaches the host.
        at: Picos,
        /// Edge of the host.
        edge: Edge,
        /// True to stop, false to continue.
        stop: bool,
    },
}

/// Cause of a drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The queue of its egress port had reached its share of the buffer.
    QueueFull,
    /// The uplink into the backplane had no room.
    UplinkFull,
    /// The packet rate exceeded a software device's limit.
    Overrun,
    /// The rate exceeded a policer's limit.
    Policed,
    /// Random loss, as set in the profile.
    Random,
    /// The frame's ingress port was also its egress port.
    SamePort,
    /// A router has no route to its target, or it is not IPv4.
    NoRoute,
    /// The frame was longer than the device's maximum.
    TooLong,
    /// The device was reset.
    Reset,
    /// The host's cable is broken in that direction.
    Broken,
    /// The frame had a wrong FCS after a host's cable: at the device's port, or at the host.
    Damaged,
    /// The ingress or egress port has no link.
    LinkDown,
    /// The egress port was made a black hole.
    Blackholed,
}
