//! Segmentation and receive offloads: the features that make one "frame" out of many.
//!
//! Owns the list of feature names that matter to a frame count, and turning them off and back.
//! Checksum offload is left alone: on a veth it leaves partial checksums in frames that never leave
//! the machine, which changes no count. Never restores by itself.

use std::collections::BTreeMap;

use crate::{Netlink, NetlinkError};

/// Offloads that let an interface carry super-frames, by the short names of `ethtool -k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offloads {
    /// TCP segmentation in any of its variants: sends up to 64 KiB as one frame.
    pub tso: bool,
    /// Generic segmentation: in software, just before the driver.
    pub gso: bool,
    /// Generic receive: merges frames of a flow before the stack sees them.
    pub gro: bool,
    /// Large receive, in hardware.
    pub lro: bool,
    /// UDP segmentation.
    pub udp_segmentation: bool,
}

/// Features that must be off so that each frame is one frame on the wire, by the kernel's names.
const ESSENTIAL: [&str; 10] = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-generic-segmentation",
    "tx-udp-segmentation",
    "rx-gro",
    "rx-lro",
    "rx-gro-hw",
    "rx-gro-list",
];

/// Values of changed features before the change, for [`Netlink::restore`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreviousFeatures {
    /// Changed features, each with its previous value.
    pub changed: Vec<(String, bool)>,
    /// Offload features that are on and fixed by the driver: for tunnels and for protocols that are
    /// not used here.
    pub left_on: Vec<String>,
}

impl Offloads {
    /// Summarises a feature list.
    pub fn from_features(features: &BTreeMap<String, bool>) -> Self {
        let on = |name: &str| features.get(name).copied().unwrap_or(false);
        Self {
            tso: features.iter().any(|(name, on)| *on && name.starts_with("tx-tcp")),
            gso: on("tx-generic-segmentation"),
            gro: on("rx-gro") || on("rx-gro-hw") || on("rx-gro-list"),
            lro: on("rx-lro"),
            udp_segmentation: on("tx-udp-segmentation"),
        }
    }

    /// True if any of them is on.
    pub fn any(self) -> bool {
        self.tso || self.gso || self.gro || self.lro || self.udp_segmentation
    }

    /// True if the kernel's feature of this name merges or splits frames.
    pub fn covers(feature: &str) -> bool {
        ESSENTIAL.contains(&feature)
            || feature.ends_with("-segmentation")
            || matches!(feature, "tx-gso-partial" | "tx-gso-list" | "rx-udp-gro-forwarding")
    }
}

impl Netlink {
    /// Returns all features that the kernel knows, by its own names (`tx-tcp-segmentation`), each
    /// true if it is on. Needs Linux 5.7.
    pub fn features(&mut self, interface: &str) -> Result<BTreeMap<String, bool>, NetlinkError> {
        let features = self.ethtool.features(interface)?;
        Ok(features.into_iter().map(|(name, feature)| (name, feature.active)).collect())
    }

    /// Returns the summary of the offload features.
    pub fn offloads(&mut self, interface: &str) -> Result<Offloads, NetlinkError> {
        Ok(Offloads::from_features(&self.features(interface)?))
    }

    /// Sets features and reads them back; fails with the names of features that kept their value.
    pub fn set_features(
        &mut self,
        interface: &str,
        wanted: &[(&str, bool)],
    ) -> Result<(), NetlinkError> {
        if wanted.is_empty() {
            return Ok(());
        }
        self.ethtool.set_features(interface, wanted)?;
        let now = self.features(interface)?;
        let kept = wanted.iter().filter(|(name, on)| now.get(*name) != Some(on));
        fixed(interface, kept.map(|(name, _)| (*name).to_owned()).collect())
    }

    /// Returns the features that [`Self::offloads_off`] would change and leave. Fails if the driver
    /// fixes a feature that matters to TCP or UDP.
    pub fn offloads_to_turn_off(
        &mut self,
        interface: &str,
    ) -> Result<PreviousFeatures, NetlinkError> {
        let before = self.ethtool.features(interface)?;
        let on = |name: &&String| Offloads::covers(name) && before[*name].active;
        let (change, keep): (Vec<_>, Vec<_>) =
            before.keys().filter(on).partition(|name| before[*name].changeable);
        let stuck = keep.iter().filter(|name| ESSENTIAL.contains(&name.as_str()));
        fixed(interface, stuck.map(|name| (*name).clone()).collect())?;
        Ok(PreviousFeatures {
            changed: change.into_iter().map(|name| (name.clone(), true)).collect(),
            left_on: keep.into_iter().cloned().collect(),
        })
    }

    /// Turns off everything that merges or splits frames, and verifies that it is off. Returns the
    /// previous values.
    pub fn offloads_off(&mut self, interface: &str) -> Result<PreviousFeatures, NetlinkError> {
        let previous = self.offloads_to_turn_off(interface)?;
        let wanted: Vec<_> =
            previous.changed.iter().map(|(name, _)| (name.as_str(), false)).collect();
        self.set_features(interface, &wanted)?;
        Ok(previous)
    }

    /// Restores the previous values of the features.
    pub fn restore(
        &mut self,
        interface: &str,
        previous: &PreviousFeatures,
    ) -> Result<(), NetlinkError> {
        let wanted: Vec<_> =
            previous.changed.iter().map(|(name, on)| (name.as_str(), *on)).collect();
        self.set_features(interface, &wanted)
    }
}

fn fixed(interface: &str, features: Vec<String>) -> Result<(), NetlinkError> {
    if features.is_empty() {
        return Ok(());
    }
    Err(NetlinkError::Fixed { interface: interface.to_owned(), features })
}
