//! Actions that a modelled device offers, by a lab's names for them. Data only.

use measure::Nanos;
use trial::topology::KnownDeed;

/// Action on the device's port towards the receiver of the first measured flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    /// Takes the port's link down.
    LinkDown,
    /// Keeps the link up and loses every frame that would leave by the port.
    Blackhole,
}

impl Offered {
    const ALL: [Self; 2] = [Self::LinkDown, Self::Blackhole];

    const fn as_str(self) -> &'static str {
        match self {
            Self::LinkDown => "link-down",
            Self::Blackhole => "blackhole",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|deed| deed.as_str() == name)
    }

    /// Lists the actions for a topology: each can be undone.
    pub(crate) fn known_deeds() -> Vec<KnownDeed> {
        let known = |deed: Self| KnownDeed {
            name: deed.as_str().to_owned(),
            undo: true,
            settle: Nanos::ZERO,
        };
        Self::ALL.map(known).to_vec()
    }
}
