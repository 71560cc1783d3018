//! Findings of the sessions study by path: the rate of new connections, the number at once, how
//! long idle ones are remembered, and the time of a handshake.
//!
//! Owns the structure of the result and the order of its rows. Never computes a value: `rows` does.

use std::cmp::Reverse;

use page::{Figure, Key, phrase};
use trial::Transport;
use trial::record::Failures;

use crate::view::{Place, values};

/// Result of the sessions study.
#[derive(Debug)]
pub struct SessionsFinding {
    /// Protocol of the connections.
    pub(super) transport: Transport,
    /// Paths, the devices' before the direct cables'.
    pub(super) cases: Vec<SessionsCase>,
}

/// One path.
#[derive(Debug)]
pub(super) struct SessionsCase {
    pub(super) place: Place,
    /// Case over its direct cable, by index among the cases; `None` without one.
    pub(super) cable: Option<usize>,
    /// New connections a second; `None` if not asked for.
    pub(super) rate: Option<Limit>,
    /// Connections at once.
    pub(super) held: Option<Limit>,
    /// Longest silence of a connection that is still known.
    pub(super) idle: Option<Limit>,
    /// Time of a handshake.
    pub(super) handshake: Option<Figure>,
    /// What the device adds to it; `None` without a direct cable.
    pub(super) added: Option<Figure>,
}

/// Largest load that passed.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) figure: Figure,
    /// Failed connections of the loads that did not pass.
    pub(super) failed: Failures,
    /// True if the flows beyond a rate may fill the device's table.
    pub(super) filled: bool,
}

/// Number of connections that failed in one way.
#[derive(Debug, Clone, Copy)]
pub(super) struct WayOfFailing {
    /// Code word of the condition `failed_by`.
    pub(super) code: &'static str,
    pub(super) count: u64,
}

/// Ways in which any connection failed.
pub(super) fn ways_of_failing(failed: &Failures) -> impl Iterator<Item = WayOfFailing> + use<> {
    let all = [
        ("timed-out", failed.timed_out),
        ("refused", failed.refused),
        ("unreachable", failed.unreachable),
        ("unanswered", failed.unanswered),
        ("reset", failed.reset),
    ];
    all.into_iter().map(|(code, count)| WayOfFailing { code, count }).filter(|way| way.count > 0)
}

impl Limit {
    /// Wording of the ways, the commonest first: `SYNs without an answer; reset later`.
    pub(super) fn failures_in_words(&self, transport: Transport) -> String {
        let mut ways: Vec<WayOfFailing> = ways_of_failing(&self.failed).collect();
        ways.sort_by_key(|way| Reverse(way.count));
        let words = ways.iter().map(|way| match (transport, way.code) {
            (Transport::Udp, "timed-out") => "first packets without an answer".to_owned(),
            (Transport::Udp, "refused") => "first packets answered by an ICMP error".to_owned(),
            _ => phrase::code(&Key::FailedBy, way.code),
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

impl SessionsFinding {
    /// Case over the direct cable of another.
    pub(super) fn cable_beside(&self, case: &SessionsCase) -> Option<&SessionsCase> {
        self.cases.get(case.cable?)
    }
}

values! {
    SessionsFinding: cases;
    SessionsCase: rate, held, idle, handshake, added;
    Limit: figure;
}
