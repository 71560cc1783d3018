//! Complete request for a run.
//!
//! Data alone: how it came about is the verbs' matter, how it is carried out the session's.

use study::StudySpec;
use study::acceptance::SheetClaim;

use crate::config::resolved::Testbed as Place;

/// Name in the journal for the runs of a data sheet, which are resumed by their own verb.
pub const DATA_SHEET: &str = "xray";

/// Request for a run.
pub struct Request {
    /// Name of the verb in the journal.
    pub verb: &'static str,
    /// Testbed to measure on.
    pub testbed: Place,
    /// Studies to run.
    pub studies: Vec<StudySpec>,
    /// Seed from the plan; a flag takes precedence.
    pub seed: Option<u64>,
    /// Claims that the figures are checked against; empty without any.
    pub claims: Vec<SheetClaim>,
}
