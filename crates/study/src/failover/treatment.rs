//! Treatment of a device while flows run: a deed, or nothing as a control.
//!
//! Owns the impacts of its trials. Never requests one.

use trial::Spread;
use trial::topology::KnownDeed;

use super::FailoverSpec;
use super::cell::CellData;

/// Flows distinguished by one kind of fields, and the deed during their trials.
#[derive(Debug)]
pub(super) struct Treatment {
    pub(super) spread: Spread,
    /// Deed; `None` for the control.
    pub(super) deed: Option<KnownDeed>,
    /// Impacts of its trials on one path.
    pub(super) trials: CellData,
}

impl Treatment {
    pub(super) fn new(spread: Spread, deed: Option<KnownDeed>) -> Self {
        Self { spread, deed, trials: CellData::default() }
    }

    /// Name of the deed.
    pub(super) fn name(&self) -> &str {
        self.deed.as_ref().map_or(FailoverSpec::NOTHING, |deed| &deed.name)
    }
}
