//! What the simulated hosts are like: all alike.
//!
//! Data only.

use measure::{ByteCount, FrameRate, Nanos};

/// Every host of a virtual testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct HostModel {
    /// How many, each at an edge of its own, in the order of the edges.
    pub count: u16,
    /// The largest IP packet, in octets: 1500, 9000.
    pub mtu: u32,
    /// The most frames a second that a host sends, whatever its port's rate; none without a limit.
    pub sends_at_most: Option<FrameRate>,
    /// How long a host takes to answer an echo, and to hand a frame up, each.
    pub turnaround: Nanos,
    /// What may wait at a host's own port: answers, acknowledgements, paced frames. TCP never waits
    /// there: it is asked when the line is free.
    pub queue: ByteCount,
    /// TCP's largest receive window.
    pub receive_window: ByteCount,
}

impl HostModel {
    /// Hosts that stand in nobody's way.
    pub fn ideal(count: u16) -> Self {
        Self {
            count,
            mtu: 1500,
            sends_at_most: None,
            turnaround: Nanos::ZERO,
            queue: ByteCount(4 << 20),
            receive_window: ByteCount(1 << 30),
        }
    }
}
