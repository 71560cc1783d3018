//! Claims held against the truth: what a figure says, whether that is so, and how often it was.
//!
//! Owns what counts as a claim, when a claim is wrong, and the certificate that adds them up. Knows
//! no testbed and draws no device: whoever asks a study says what is true of what it was asked
//! about.

mod certificate;
mod claim;
mod judge;
mod page;
mod truth;

pub use certificate::{Certificate, Noted, Place, Row, Skipped, Tally, WrongClaim};
pub use claim::{Claim, Says};
pub use judge::{Judged, Judgement, TOLERANCE, judge};
pub use truth::{Known, Truth};
