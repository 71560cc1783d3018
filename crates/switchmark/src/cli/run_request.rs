//! What a run shall do, complete.
//!
//! Data alone: how it came about is the verbs' matter, how it is carried out the session's.

use method::StudySpec;
use method::acceptance::SheetClaim;

use crate::config::resolved::Testbed as Place;

/// As the journal names the runs of a data sheet, which go on by their own verb.
pub const DATA_SHEET: &str = "xray";

/// What shall be done.
pub struct Request {
    /// As the journal names it.
    pub verb: &'static str,
    /// Where.
    pub testbed: Place,
    /// What.
    pub studies: Vec<StudySpec>,
    /// The plan's own seed; a flag goes before it.
    pub seed: Option<u64>,
    /// What the figures are held against, where anything is claimed.
    pub claims: Vec<SheetClaim>,
}
