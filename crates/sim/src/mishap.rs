//! Reasons why a trial has no record.
//!
//! Data only.

use crate::build::Unfit;
use crate::world::Interrupted;

/// Reason why there is no record.
#[derive(Debug)]
pub(crate) enum Mishap {
    /// The user asked to stop.
    Stopped,
    /// The trial cannot be simulated here.
    Unfit(Unfit),
}

impl From<Interrupted> for Mishap {
    fn from(_: Interrupted) -> Self {
        Self::Stopped
    }
}

impl From<Unfit> for Mishap {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}
