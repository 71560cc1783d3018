//! Variants of a device and its current one; disturbances of its ports and the current ones. Data
//! only: `variant` and `deeds` apply them.

use std::collections::{BTreeMap, BTreeSet};

use netlink::PreviousFeatures;

use crate::equipment::Guard;
use crate::spec::LabDevice;

/// The kernel's name for the feature that leaves checksums to the hardware or forwarder.
pub(crate) const CHECKSUM: &str = "tx-checksum-ip-generic";

/// A variant of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Generic receive offload at its ports.
    Gro,
    /// Receive packet steering over all processors at its ports.
    Rps,
    /// Frames are received in threads of their own. A virtual cable has them with GRO only.
    Threaded,
    /// Only the first of two routers carries traffic.
    OnePath,
    /// Two routers share the traffic, the default of a pair.
    TwoPaths,
    /// A router's frames are forwarded before the stack.
    Xdp,
}

impl Variant {
    pub(crate) const ALL: [Self; 6] =
        [Self::Gro, Self::Rps, Self::Threaded, Self::OnePath, Self::TwoPaths, Self::Xdp];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Gro => "gro",
            Self::Rps => "rps",
            Self::Threaded => "threaded",
            Self::OnePath => "one-path",
            Self::TwoPaths => "two-paths",
            Self::Xdp => "xdp",
        }
    }

    pub(crate) const fn fits(self, device: &LabDevice) -> bool {
        match (self, device) {
            (_, LabDevice::Vm(_) | LabDevice::Emulated(_) | LabDevice::Cable) => false,
            (Self::Gro | Self::Rps | Self::Threaded, _) | (Self::Xdp, LabDevice::Router) => true,
            (_, device) => matches!(device, LabDevice::Routers),
        }
    }
}

/// Current variant of a device, and the state needed to undo it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) variant: Variant,
    /// Features to restore, by node and port.
    pub(crate) features: Vec<(String, String, PreviousFeatures)>,
    pub(crate) guards: Vec<Guard>,
}

/// Disturbance of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortDeed {
    /// Link down: both ends of the port's cable lose the carrier.
    LinkDown,
    /// The carrier stays, and every frame that would leave by the port is dropped.
    Blackhole,
}

impl PortDeed {
    /// All disturbances.
    pub const ALL: [Self; 2] = [Self::LinkDown, Self::Blackhole];

    /// Name: `link-down`, `blackhole`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LinkDown => "link-down",
            Self::Blackhole => "blackhole",
        }
    }
}

/// A device's port, as node and interface.
pub(crate) type Port = (String, String);

/// Current disturbances of ports, and the drop counts of their replaced queues.
#[derive(Debug, Default)]
pub(crate) struct Disturbed {
    pub(crate) now: BTreeSet<(PortDeed, Port)>,
    pub(crate) dropped: BTreeMap<Port, u64>,
}
