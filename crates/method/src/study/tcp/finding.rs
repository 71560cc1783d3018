//! The tcp study's result: case by case the payload carried, the readings of each flow's sender,
//! and how busy the hosts were.
//!
//! Owns the structure of the result and the order of its rows. Never makes a value: `rows` does.

use page::Figure;

use super::TcpDirection;
use super::cell::{FirstFlow, HostLimit};
use crate::study::capacity::Of;
use crate::study::view::{Place, values};

/// The tcp study's result.
#[derive(Debug)]
pub struct TcpFinding {
    pub(super) streams: u16,
    pub(super) congestion_control: String,
    /// Test by test, the devices' cases before the direct cables'.
    pub(super) cases: Vec<TcpCase>,
}

/// One test through one device or over one direct cable.
#[derive(Debug)]
pub(super) struct TcpCase {
    pub(super) test: TcpDirection,
    /// The label of its trials.
    pub(super) label: String,
    /// The case over the direct cable beside it, by its index among the cases.
    pub(super) cable: Option<usize>,
    /// The two opposite flows, where both ran at once.
    pub(super) flows: Vec<Part>,
    /// The one flow, or both together.
    pub(super) whole: Part,
    pub(super) hosts: Vec<HostBusy>,
}

/// One flow, or both together.
#[derive(Debug)]
pub(super) struct Part {
    /// With its ports in the direction of the payload.
    pub(super) place: Place,
    pub(super) goodput: Figure,
    pub(super) ceiling: Option<Ceiling>,
    /// The hosts' limit, where neither the device nor the link was the limit.
    pub(super) host_limit: Option<HostLimit>,
    /// Segments sent again; none where nobody counted.
    pub(super) retransmits: Option<Retransmits>,
    /// Readings of the sender; none where nobody read its sockets, and of both together.
    pub(super) sender: Option<SenderValues>,
    /// The flow of the case's first valid trial, where that is kept.
    pub(super) first: Option<FirstFlow>,
}

/// Segments that were sent again.
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
    /// The share of its busy time that it waited for the receiver's window.
    pub(super) window: Figure,
    /// The share of its busy time that it waited for its own buffer.
    pub(super) buffer: Figure,
}

/// Busy share of all processors of a host.
#[derive(Debug)]
pub(super) struct HostBusy {
    pub(super) host: String,
    pub(super) share: Figure,
}

impl TcpFinding {
    /// The case over the direct cable beside another.
    pub(super) fn cable_beside(&self, case: &TcpCase) -> Option<&TcpCase> {
        self.cases.get(case.cable?)
    }
}

impl TcpCase {
    /// Flows, then both together.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.flows.iter().chain([&self.whole])
    }

    /// The host that was busiest.
    pub(super) fn busiest(&self) -> Option<&HostBusy> {
        let share = |host: &HostBusy| host.share.value.unwrap_or(0.0);
        self.hosts.iter().max_by(|a, b| share(a).total_cmp(&share(b)))
    }
}

impl Part {
    /// Share of the most that the path could carry.
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
    SenderValues: smoothed_rtt, smallest_rtt, cwnd, window, buffer;
}

/// The most payload that the path of some flows could carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ceiling {
    /// Bits a second, with nothing else on the link.
    pub(super) payload: f64,
    /// From so many on the link is full: payload of the other direction is acknowledged beside
    /// them.
    pub(super) full: f64,
    pub(super) of: Of,
    pub(super) mtu: u32,
}
