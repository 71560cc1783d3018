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
    /// What a storage server's disk is like, and its replicas'.
    pub disk: DiskModel,
    /// A host that dies in the middle; none: all live.
    pub dies: Option<Death>,
}

/// From some moment on a host sends nothing, and takes nothing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// Which, from 0.
    pub host: u16,
    /// So long after the testbed's first trial began.
    pub after: Nanos,
}

/// A disk, with whatever stands around it in a storage server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskModel {
    /// How long a read takes it.
    pub read: ServiceTime,
    /// How long a write takes it.
    pub write: ServiceTime,
    /// How many operations it works on at once; others wait, the first to come first.
    pub at_once: u16,
}

/// How long an operation takes once it is begun: a part that is always the same, and one that is
/// drawn from an exponential distribution with this mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceTime {
    /// Always.
    pub fixed: Nanos,
    /// On average on top of it; 0 draws nothing.
    pub drawn: Nanos,
}

/// Where the cables of each host's ports lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cabling {
    /// One to the device, and another to the next host.
    #[default]
    Both,
    /// Its only one to the device. A trial over the direct cable finds it joined to the next
    /// host's.
    Device,
    /// Its only one to the next host's; there is no device.
    Direct,
}

impl DiskModel {
    /// One that takes no time.
    pub const IDEAL: Self = Self {
        read: ServiceTime { fixed: Nanos::ZERO, drawn: Nanos::ZERO },
        write: ServiceTime { fixed: Nanos::ZERO, drawn: Nanos::ZERO },
        at_once: u16::MAX,
    };
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
            disk: DiskModel::IDEAL,
            dies: None,
        }
    }
}
