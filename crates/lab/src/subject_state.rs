//! The variants there are, and what a device was put into. Data only: `variant` does it.

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
