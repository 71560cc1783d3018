//! Frames as bytes: Ethernet, VLAN tag, IPv4, IPv6, UDP, ICMP echo, and the probe in every packet.
//!
//! Each header is a parsed value (`UdpHeader`) that also emits itself. If octets follow the header,
//! `parse` returns them, bounds checked. Byte ranges are named once, in each file's `field`. Never
//! does I/O, never reads a clock, and knows nothing of flows beyond their numbers: lengths are
//! plain integers, in octets, and a frame is without its FCS.

mod checksum;
mod classify;
mod error;
mod ethernet;
mod frame;
mod icmp;
mod ipv4;
mod ipv6;
mod layout;
mod octets;
mod probe;
mod udp;
mod vlan;

pub use checksum::Checksum;
pub use classify::{
    Captured, Content, Network, Transport, UdpChecksum, UdpProbe, classify, parse_udp_probe,
};
pub use error::WireError;
pub use ethernet::{EtherType, EthernetHeader, MacAddr};
pub use frame::{UdpEndpoints, UdpFrame};
pub use icmp::{IcmpEcho, IcmpEchoKind, IcmpVersion};
pub use ipv4::{IpProtocol, Ipv4Header};
pub use ipv6::Ipv6Header;
pub use layout::{FrameLayout, Glance};
pub use probe::Probe;
pub use udp::UdpHeader;
pub use vlan::VlanTag;
