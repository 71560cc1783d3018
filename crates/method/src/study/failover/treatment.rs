//! What is done to a device while flows run: a deed, or nothing as a control.
//!
//! Owns the impacts of its trials. Never asks for one.

use trial::Spread;
use trial::topology::KnownDeed;

use super::FailoverSpec;
use super::cell::CellData;

/// Flows told apart in one way, and what is done to the device meanwhile.
#[derive(Debug)]
pub(super) struct Treatment {
    pub(super) spread: Spread,
    /// Deed that is done; none where nothing is.
    pub(super) deed: Option<KnownDeed>,
    /// Impacts of its trials on one way.
    pub(super) trials: CellData,
}

impl Treatment {
    pub(super) fn new(spread: Spread, deed: Option<KnownDeed>) -> Self {
        Self { spread, deed, trials: CellData::default() }
    }

    /// The deed's name.
    pub(super) fn name(&self) -> &str {
        self.deed.as_ref().map_or(FailoverSpec::NOTHING, |deed| &deed.name)
    }
}
