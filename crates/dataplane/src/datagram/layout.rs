//! Layout of a flow's frames, in octets. Arithmetic only.

use measure::FrameSize;
use trial::VlanId;
use wire::FrameLayout;

/// The headers of a flow's frames.
pub(crate) fn layout(ipv6: bool, vlan: Option<VlanId>) -> FrameLayout {
    FrameLayout { ipv6, tagged: vlan.is_some() }
}

/// Octets of UDP payload in a frame of this size; the frame holds at least a probe.
pub(crate) fn payload_octets(layout: FrameLayout, size: FrameSize) -> usize {
    size.octets_without_fcs() as usize - layout.header_octets()
}

/// The smallest MTU that carries a frame: neither the Ethernet header nor the tag is part of it.
pub(super) fn mtu(layout: FrameLayout, size: FrameSize) -> u32 {
    size.octets_without_fcs() - layout.ip_at() as u32
}
