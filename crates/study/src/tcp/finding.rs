//! Findings of the tcp study by case: the payload carried, the readings of each flow's sender, and
//! the utilisation of the hosts.
//!
//! Owns the structure of the result and the order of its rows. Never computes a value: `rows` does.

use page::{Figure, Verdict};

use super::TcpDirection;
use super::cell::{FirstFlow, HostLimit};
use crate::capacity::Of;
use crate::view::{Place, values};

/// Result of the tcp study.
#[derive(Debug)]
pub struct TcpFinding {
    pub(super) streams: u16,
    pub(super) congestion_control: String,
    /// Cases by test, the devices' before the direct cables'.
    pub(super) cases: Vec<TcpCase>,
}

/// Test through one device or over one direct cable.
#[derive(Debug)]
pub(super) struct TcpCase {
    pub(super) test: TcpDirection,
    /// Label of its trials.
    pub(super) label: String,
    /// Case over its direct cable, by index among the cases; `None` without one.
    pub(super) cable: Option<usize>,
    /// Two opposite flows, if both ran at once.
    pub(super) flows: Vec<Part>,
    /// Single flow, or both together.
    pub(super) whole: Part,
    pub(super) hosts: Vec<HostBusy>,
}

/// Flow, or both together.
#[derive(Debug)]
pub(super) struct Part {
    /// Place, with its ports in the direction of the payload.
    pub(super) place: Place,
    pub(super) goodput: Figure,
    pub(super) ceiling: Option<Ceiling>,
    /// True if segments stood in a queue on the path, no host held TCP up, in most blocks, and the
    /// same hosts filled the link in the other direction. Without a direct cable it shows that the
    /// limit was on the way, not that it was the device.
    pub(super) queued: bool,
    /// Host limit; `None` if the device or the link was the limit.
    pub(super) host_limit: Option<HostLimit>,
    /// Retransmits; `None` if not counted.
    pub(super) retransmits: Option<Retransmits>,
    /// Readings of the sender; `None` without readings of its sockets, and for both together.
    pub(super) sender: Option<SenderValues>,
    /// Flow of the case's first valid trial; `None` if not kept.
    pub(super) first: Option<FirstFlow>,
}

/// Retransmitted segments.
#[derive(Debug)]
pub(super) struct Retransmits {
    pub(super) count: Figure,
    pub(super) per_gigabyte: Figure,
}

/// Readings of a flow's sender under its own load.
#[derive(Debug)]
pub(super) struct SenderValues {
    pub(super) smoothed_rtt: Figure,
    pub(super) smallest_rtt: Figure,
    pub(super) cwnd: Figure,
    /// Share of the busy time spent waiting for the receiver's window.
    pub(super) window: Figure,
    /// Share of the busy time spent waiting for its own buffer.
    pub(super) buffer: Figure,
    /// Octets that waited on the path, at the median and the 99th percentile; empty with both
    /// directions at once.
    pub(super) waiting: Vec<Figure>,
    /// Round trips a minute of the connections.
    pub(super) rpm: Figure,
}

/// Utilisation of all processors of a host.
#[derive(Debug)]
pub(super) struct HostBusy {
    pub(super) host: String,
    pub(super) share: Figure,
}

impl TcpFinding {
    /// Case over the direct cable of another.
    pub(super) fn cable_beside(&self, case: &TcpCase) -> Option<&TcpCase> {
        self.cases.get(case.cable?)
    }
}

impl TcpCase {
    /// Flows, then both together.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.flows.iter().chain([&self.whole])
    }

    /// Host with the highest utilisation.
    pub(super) fn busiest(&self) -> Option<&HostBusy> {
        let share = |host: &HostBusy| host.share.value.unwrap_or(0.0);
        self.hosts.iter().max_by(|a, b| share(a).total_cmp(&share(b)))
    }
}

impl Part {
    /// Standing queue on the path in nanoseconds, if it was the limit and not a host.
    pub(super) fn queue_ns(&self) -> Option<f64> {
        let is_limit = self.queued && self.goodput.verdict == Verdict::Undetermined;
        let sender = self.sender.as_ref().filter(|_| is_limit)?;
        Some(sender.smoothed_rtt.value? - sender.smallest_rtt.value?)
    }

    /// Share of the path's capacity.
    pub(super) fn share(&self) -> Option<f64> {
        Some(self.goodput.value? / self.ceiling?.payload)
    }
}

values! {
    TcpFinding: cases;
    TcpCase: flows, whole, hosts;
    HostBusy: share;
    Part: goodput, retransmits, sender;
    Retransmits: count, per_gigabyte;
    SenderValues: smoothed_rtt, smallest_rtt, cwnd, window, buffer, waiting, rpm;
}

/// Capacity of a path in payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ceiling {
    /// Payload in bits a second, without other traffic on the link.
    pub(super) payload: f64,
    /// Payload from which on the link is full; acknowledgements of the other direction also use the
    /// link.
    pub(super) full: f64,
    pub(super) of: Of,
    pub(super) mtu: u32,
}
