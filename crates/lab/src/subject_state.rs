//! The variants there are, and what a device was put into; what can be done to its ports, and what
//! is. Data only: `variant` and `deeds` do it.

use std::collections::{BTreeMap, BTreeSet};

use netlink::PreviousFeatures;

use crate::equipment::Guard;
use crate::spec::LabDevice;

/// The kernel's name for leaving checksums to whoever sends the frame on.
pub(crate) const CHECKSUM: &str = "tx-checksum-ip-generic";

/// A way to set a device.
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
    /// Both do: how a pair of routers is found.
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

/// What a device was put into, and what it takes to come back.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) variant: Variant,
    /// By node and port: features to restore.
    pub(crate) features: Vec<(String, String, PreviousFeatures)>,
    pub(crate) guards: Vec<Guard>,
}

/// What can be done to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortDeed {
    /// Both ends of its cable lose the carrier.
    LinkDown,
    /// The carrier stays, and every frame is dropped that would leave by it.
    Blackhole,
}

impl PortDeed {
    /// Both.
    pub const ALL: [Self; 2] = [Self::LinkDown, Self::Blackhole];

    /// `link-down`, `blackhole`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LinkDown => "link-down",
            Self::Blackhole => "blackhole",
        }
    }
}

/// A device's port, as node and interface.
pub(crate) type Port = (String, String);

/// What is done to ports now, and what their queues dropped that are no longer there.
#[derive(Debug, Default)]
pub(crate) struct Disturbed {
    pub(crate) now: BTreeSet<(PortDeed, Port)>,
    pub(crate) dropped: BTreeMap<Port, u64>,
}
