//! Names of kernel counters and what a movement of each means, once for validity and
//! the books.
//!
//! Never reads a counter; unknown names mean nothing here.
//!
//! A veth that can't hand a frame to its peer counts it as its own `tx_dropped` although the peer
//! has counted it as `rx_dropped`: such a frame belongs to the peer, and is counted once.

use crate::record::{PortCounters, Side};

/// Receive-side losses of the host's own NIC and socket layer, and of its own queue: certain.
pub const TESTER_LOSS: [&str; 7] = [
    "rx_missed_errors",
    "rx_no_buffer",
    "rx_no_buffer_count",
    "rx_out_of_buffer",
    "rx_fifo_errors",
    "rx_over_errors",
    "qdisc_drops",
];

/// Frames that an emulated device handed to hosts.
pub const EMULATOR_DELIVERED: &str = "emulator_delivered";

/// Of these, so many later than its model says by more than it may be: see
/// [`crate::validity::EMULATOR_LATE_TOLERANCE`].
pub const EMULATOR_LATE: &str = "emulator_late";

/// How late the latest frame of an emulated device was, in nanoseconds.
pub const EMULATOR_LATENESS_MAX: &str = "emulator_lateness_max_ns";

/// Frames for which an emulated device had no room, because it was kept from its processor.
pub const EMULATOR_OVERFLOW: &str = "emulator_overflow";

/// Frames of an emulated device that the host they were for had no room for: its kernel did not
/// come to taking them in.
pub const EMULATOR_REFUSED: &str = "emulator_refused";

/// Frames of hosts that had the wire to an emulated device.
pub const EMULATOR_ENTERED: &str = "emulator_entered";

/// Of these, so many that the model saw later than they were sent, by more than its queues forgive:
/// see [`crate::validity::UNTIMELY_TOLERANCE`].
pub const EMULATOR_DISPLACED: &str = "emulator_displaced";

/// Frames that a port received and sent, and their octets; which of them hold the FCS is the
/// driver's choice.
pub const RX_PACKETS: &str = "rx_packets";
/// Frames that left.
pub const TX_PACKETS: &str = "tx_packets";
/// Octets that came.
pub const RX_BYTES: &str = "rx_bytes";
/// Octets that left.
pub const TX_BYTES: &str = "tx_bytes";

/// Frames that were for another host's address (kernels from 6.0 on).
pub const RX_OTHERHOST: &str = "rx_otherhost_dropped";

/// Dropped on the way up: the backlog was full, but also any frame of a protocol nobody speaks.
pub const RX_DROPPED: &str = "rx_dropped";

/// Dropped by the driver on the way out.
pub const TX_DROPPED: &str = "tx_dropped";

/// Dropped by a queueing discipline.
pub const QDISC_DROPS: &str = "qdisc_drops";

/// Dropped by the NIC for want of descriptors.
pub const RX_MISSED: &str = "rx_missed_errors";

/// Frames that came with a wrong FCS: they died on the cable (RFC 3635, dot3StatsFCSErrors).
pub const RX_CRC_ERRORS: &str = "rx_crc_errors";

/// All that were not well received (RFC 2863, ifInErrors), those with a wrong FCS among them.
pub const RX_ERRORS: &str = "rx_errors";

/// Frames that could not be sent (RFC 2863, ifOutErrors).
pub const TX_ERRORS: &str = "tx_errors";

/// PAUSE frames (IEEE 802.3 annex 31B) by which a port was told to wait.
pub const RX_PAUSE: &str = "rx_pause";
/// PAUSE frames by which a port told the other end to wait.
pub const TX_PAUSE: &str = "tx_pause";
/// For how long a port had to wait, in microseconds.
pub const RX_PAUSE_US: &str = "rx_pause_us";
/// For how long a port had the other end wait, in microseconds.
pub const TX_PAUSE_US: &str = "tx_pause_us";

/// Whole-host counters of the network namespace: certain.
pub const HOST_LOSS: [&str; 2] = ["udp_rcvbuf_errors", "udp_mem_errors"];

/// The machine's backlog drops; every namespace reads the same number.
pub const SOFTNET_DROPPED: &str = "softnet_dropped";

/// The link went down or came up.
pub const LINK_CHANGES: [&str; 3] = ["carrier_changes", "carrier_up_count", "carrier_down_count"];

/// Whether a counter is about PAUSE frames; drivers agree on no name.
pub fn is_pause(name: &str) -> bool {
    name.contains("pause")
}

/// One counter's sum over all ports of a side.
pub fn sum(ports: &[PortCounters], side: Side, name: &str) -> u64 {
    ports.iter().filter(|p| p.side == side).filter_map(|p| p.counters.get(name)).sum()
}
