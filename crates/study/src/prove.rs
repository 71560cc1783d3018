//! Self-test: claims of figures are judged against known values, and counted.
//!
//! Owns what counts as a claim, when a claim is wrong, and the certificate with the counts. Knows
//! no testbed and draws no device: the caller supplies the known values.

mod certificate;
mod claim;
mod judge;
mod page;
mod truth;

pub use certificate::{Certificate, Noted, Place, Row, Skipped, Tally, WrongClaim};
pub use claim::{Claim, Says};
pub use judge::{Judged, Judgement, TOLERANCE, judge};
pub use truth::{Known, Truth};
