//! Kernel counters and what a change of each means, for validity and for frame accounting.
//!
//! Never reads a counter; unknown names have no meaning here.
//!
//! A veth that cannot hand a frame to its peer counts it as `tx_dropped`, and the peer counts it as
//! `rx_dropped`. Such a frame belongs to the peer and is counted once.

use crate::record::{PortCounters, Side};

/// Receive-side losses of the host's NIC and socket layer, and drops of its own queue: certain.
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

/// Frames handed over later than the device's model says, by more than the tolerance. See
/// [`crate::validity::EMULATOR_LATE_TOLERANCE`].
pub const EMULATOR_LATE: &str = "emulator_late";

/// Lateness of an emulated device's latest frame, in nanoseconds.
pub const EMULATOR_LATENESS_MAX: &str = "emulator_lateness_max_ns";

/// Frames that an emulated device had no room for because it did not get its processor.
pub const EMULATOR_OVERFLOW: &str = "emulator_overflow";

/// Frames that an emulated device could not deliver because the host's kernel did not take them in.
pub const EMULATOR_REFUSED: &str = "emulator_refused";

/// Frames from hosts on the wire to an emulated device.
pub const EMULATOR_ENTERED: &str = "emulator_entered";

/// Frames that the model saw later than they were sent, by more than its queues tolerate. See
/// [`crate::validity::UNTIMELY_TOLERANCE`].
pub const EMULATOR_DISPLACED: &str = "emulator_displaced";

/// Frames received. Whether the octet counters include the FCS is the driver's choice.
pub const RX_PACKETS: &str = "rx_packets";
/// Frames sent.
pub const TX_PACKETS: &str = "tx_packets";
/// Octets received.
pub const RX_BYTES: &str = "rx_bytes";
/// Octets sent.
pub const TX_BYTES: &str = "tx_bytes";

/// Frames for another host's address (kernels from 6.0 on).
pub const RX_OTHERHOST: &str = "rx_otherhost_dropped";

/// Frames dropped after receipt: a full backlog, but also any protocol without a listener.
pub const RX_DROPPED: &str = "rx_dropped";

/// Frames dropped by the driver on transmit.
pub const TX_DROPPED: &str = "tx_dropped";

/// Frames dropped by a queueing discipline.
pub const QDISC_DROPS: &str = "qdisc_drops";

/// Packets that a tunnel's own queue or device dropped before they were sent: the drops of its
/// queueing discipline, and those of its device, which any other link has as `qdisc_drops` and
/// `tx_dropped`. The queue is a part of the tunnel, so they are losses of the path and not of the
/// tester.
pub const TUNNEL_DROPS: &str = "tunnel_drops";

/// Frames dropped by the NIC for want of descriptors.
pub const RX_MISSED: &str = "rx_missed_errors";

/// Frames received with a wrong FCS: lost on the cable (RFC 3635, dot3StatsFCSErrors).
pub const RX_CRC_ERRORS: &str = "rx_crc_errors";

/// Frames received with errors (RFC 2863, ifInErrors), wrong FCS included.
pub const RX_ERRORS: &str = "rx_errors";

/// Frames that could not be sent (RFC 2863, ifOutErrors).
pub const TX_ERRORS: &str = "tx_errors";

/// PAUSE frames received (IEEE 802.3 annex 31B).
pub const RX_PAUSE: &str = "rx_pause";
/// PAUSE frames sent.
pub const TX_PAUSE: &str = "tx_pause";
/// Time that the port was paused, in microseconds.
pub const RX_PAUSE_US: &str = "rx_pause_us";
/// Time that the port paused the other end, in microseconds.
pub const TX_PAUSE_US: &str = "tx_pause_us";

/// Drop counters of the whole host, per network namespace: certain.
pub const HOST_LOSS: [&str; 2] = ["udp_rcvbuf_errors", "udp_mem_errors"];

/// Backlog drops of the whole machine; every namespace reads the same number.
pub const SOFTNET_DROPPED: &str = "softnet_dropped";

/// Counters of link up and link down events.
pub const LINK_CHANGES: [&str; 3] = ["carrier_changes", "carrier_up_count", "carrier_down_count"];

/// True if a counter is about PAUSE frames; drivers agree on no name.
pub fn is_pause(name: &str) -> bool {
    name.contains("pause")
}

/// Sums one counter over all ports of a side.
pub fn sum(ports: &[PortCounters], side: Side, name: &str) -> u64 {
    ports.iter().filter(|p| p.side == side).filter_map(|p| p.counters.get(name)).sum()
}
