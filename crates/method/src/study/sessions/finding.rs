//! Findings of the sessions study by path: the rate of new connections, the number at once, and the
//! time of a handshake.
//!
//! Owns the structure of the result and the order of its rows. Never computes a value: `rows` does.

use page::Figure;
use trial::record::Failures;

use crate::study::view::{Place, values};

/// Result of the sessions study.
#[derive(Debug)]
pub struct SessionsFinding {
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
}

impl SessionsFinding {
    /// Case over the direct cable of another.
    pub(super) fn cable_beside(&self, case: &SessionsCase) -> Option<&SessionsCase> {
        self.cases.get(case.cable?)
    }
}

values! {
    SessionsFinding: cases;
    SessionsCase: rate, held, handshake, added;
    Limit: figure;
}
