//! Load of an iperf3 test: its flows, and each datagram's header.
//!
//! Owns the header's octets. Never does I/O.

use measure::Nanos;
use serde::{Deserialize, Serialize};
use trial::record::FlowRecord;
use trial::{Backend, Bulk, Datagrams, FlowKind, Headers, Reception, Schedule};

/// Octets of a header with a 32-bit number, after seconds and microseconds.
const HEADER: usize = 12;
/// Octets of a header with a 64-bit number.
const WIDE_HEADER: usize = 16;
/// Largest payload of UDP over IPv4, in octets.
pub(super) const LARGEST: u32 = 65_507;

/// Test with one server: a flow in one direction, or TCP streams in both at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Flows of the test: one or two, of which no two have the same direction.
    pub ways: Vec<Way>,
}

/// A flow of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// The flow's number in the trial.
    pub flow: u16,
    /// True if the server sends.
    pub reverse: bool,
    /// Kind of flow: TCP streams, or datagrams that are [plain](is_plain).
    pub kind: FlowKind,
    /// Maximum number of datagrams in the load.
    pub limit: u64,
}

/// Result of one flow of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WayRecord {
    /// Number of the flow in the trial.
    pub flow: u16,
    /// Counts of both ends.
    pub record: FlowRecord,
}

impl Test {
    /// Streams of one direction.
    pub(super) fn streams(&self, reverse: bool) -> Option<(u16, &Bulk)> {
        self.ways.iter().find(|way| way.reverse == reverse).and_then(|way| match &way.kind {
            FlowKind::Bulk(bulk) => Some((way.flow, bulk)),
            _ => None,
        })
    }
}

/// True if iperf3 can send these datagrams: frames of one size, at one rate, by a UDP socket and
/// with plain headers.
pub fn is_plain(asked: &Datagrams) -> bool {
    let Datagrams { frames, schedule, backend, receiver, headers, destination, .. } = asked;
    matches!(schedule, Schedule::Paced(_))
        && frames.single().is_some()
        && matches!(backend, Backend::Auto | Backend::Udp)
        && matches!(receiver, Reception::Auto | Reception::Udp)
        && *headers == Headers::default()
        && destination.is_receiver()
}

/// Construction and pacing of datagrams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stream {
    /// Octets of UDP payload.
    pub(super) payload: u32,
    /// Nanoseconds between datagrams.
    pub(super) gap_ns: f64,
    /// Maximum frames that a late sender sends back to back; at least 1.
    pub(super) burst_limit: u32,
    /// Maximum number of datagrams in the load.
    pub(super) limit: u64,
}

impl Stream {
    /// Converts a flow's request; the error says why it cannot be sent this way.
    pub(super) fn new(asked: &Datagrams, limit: u64) -> Result<Self, String> {
        let (Schedule::Paced(rate), Some(size), true) =
            (asked.schedule, asked.frames.single(), is_plain(asked))
        else {
            return Err("its datagrams are plain, and go at one rate".to_owned());
        };
        let payload = size.octets().saturating_sub(asked.headers.above_payload());
        let (gap_ns, burst_limit) = (1e9 / rate.0, asked.burst_limit);
        if !(WIDE_HEADER as u32..=LARGEST).contains(&payload) {
            return Err(format!(
                "{payload} octets of payload: {WIDE_HEADER} to {LARGEST} are possible"
            ));
        }
        if gap_ns.is_finite() && gap_ns > 0.0 {
            return Ok(Self { payload, gap_ns, burst_limit, limit });
        }
        Err(format!("send a datagram every {gap_ns} ns"))
    }

    /// True if numbers take 64 bits.
    pub(super) const fn is_wide(&self) -> bool {
        self.limit > i32::MAX as u64
    }

    /// Payload rate in bits per second.
    pub(super) fn bits_per_second(&self) -> u64 {
        (f64::from(self.payload) * 8e9 / self.gap_ns).round().max(1.0) as u64
    }

    pub(super) const fn header(&self) -> usize {
        if self.is_wide() { WIDE_HEADER } else { HEADER }
    }

    /// Writes a datagram's header; numbers count from 1.
    pub(super) fn stamp(&self, into: &mut [u8], number: u64, at: Nanos) {
        let seconds = (at.0 / 1_000_000_000) as u32;
        let micros = (at.0 % 1_000_000_000 / 1_000) as u32;
        into[..4].copy_from_slice(&seconds.to_be_bytes());
        into[4..8].copy_from_slice(&micros.to_be_bytes());
        if self.is_wide() {
            into[8..WIDE_HEADER].copy_from_slice(&number.to_be_bytes());
        } else {
            into[8..HEADER].copy_from_slice(&(number as u32).to_be_bytes());
        }
    }

    /// Number of a received datagram, from 1; `None` if it is too short.
    pub(super) fn number(&self, octets: &[u8]) -> Option<u64> {
        let number = octets.get(8..self.header())?;
        number
            .iter()
            .try_fold(0_u64, |all, octet| all.checked_mul(256)?.checked_add((*octet).into()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_survives_its_header(number: u64, wide: bool, at: u64) {
            let limit = if wide { u64::MAX } else { 9 };
            let load = Stream { payload: 64, gap_ns: 1.0, burst_limit: 1, limit };
            let mut octets = [0; 64];
            load.stamp(&mut octets, number, Nanos(at));
            let kept = if wide { number } else { u64::from(number as u32) };
            prop_assert_eq!(load.number(&octets), Some(kept));
            prop_assert_eq!(load.number(&octets[..load.header() - 1]), None);
        }
    }
}
