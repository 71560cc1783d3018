//! Properties of the simulated hosts, which are all alike.
//!
//! Data only.

use measure::{ByteCount, FrameRate, Nanos, Rate};

/// Model of every host of a virtual testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct HostModel {
    /// Number of hosts, each at its own edge, in the order of the edges.
    pub count: u16,
    /// Largest IP packet, in octets: 1500, 9000.
    pub mtu: u32,
    /// Maximum frames per second that a host sends, whatever its port's rate; `None` without a
    /// limit.
    pub sends_at_most: Option<FrameRate>,
    /// Time that a host takes to answer an echo, and also to deliver a frame to its program.
    pub turnaround: Nanos,
    /// Queue limit of a host's own port: answers, acknowledgements, paced frames. TCP never waits
    /// there: it is asked when the line is free.
    pub queue: ByteCount,
    /// Largest receive window of TCP.
    pub receive_window: ByteCount,
    /// Disk of a storage server and of its replicas.
    pub disk: DiskModel,
    /// Failure of a host during the run; `None` if all survive.
    pub dies: Option<Death>,
    /// Hosts that are slower than the others.
    pub slow: Vec<SlowHost>,
}

/// Host that is slower than the others, which its link's speed does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowHost {
    /// Host number, from 0.
    pub host: u16,
    /// Rate at which it sends, below its link's; `None` for the link's.
    pub sends: Option<Rate>,
    /// Time beyond the turnaround until its program has a frame.
    pub late: Nanos,
}

/// Failure of a host: from some time on it sends and receives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// Host number, from 0.
    pub host: u16,
    /// Time after the start of the testbed's first trial.
    pub after: Nanos,
}

/// Disk, including the storage server around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskModel {
    /// Service time of a read.
    pub read: ServiceTime,
    /// Service time of a write.
    pub write: ServiceTime,
    /// Number of operations served at once; others wait in order of arrival.
    pub at_once: u16,
}

/// Service time of an operation once begun: a constant part, and one drawn from an exponential
/// distribution with the given mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceTime {
    /// Constant part.
    pub fixed: Nanos,
    /// Mean of the drawn part; 0 draws nothing.
    pub drawn: Nanos,
}

/// Cabling of each host's ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cabling {
    /// One cable to the device, and another to the next host.
    #[default]
    Both,
    /// Only a cable to the device. A trial over the direct cable finds it joined to the next
    /// host's.
    Device,
    /// Only a cable to the next host; there is no device.
    Direct,
}

impl DiskModel {
    /// Disk that takes no time.
    pub const IDEAL: Self = Self {
        read: ServiceTime { fixed: Nanos::ZERO, drawn: Nanos::ZERO },
        write: ServiceTime { fixed: Nanos::ZERO, drawn: Nanos::ZERO },
        at_once: u16::MAX,
    };
}

impl HostModel {
    /// Creates hosts that add no limits or delays of their own.
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
            slow: Vec::new(),
        }
    }
}
