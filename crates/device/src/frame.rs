//! Frame in the model: lengths and addresses, and a handle on its driver's data.
//!
//! Never holds octets.

use std::net::Ipv4Addr;

/// MAC address, in the low 48 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub u64);

impl Mac {
    /// Broadcast address.
    pub const BROADCAST: Self = Self(0xffff_ffff_ffff);

    /// True if the address is a group's: the first octet's lowest bit is set.
    pub const fn is_group(self) -> bool {
        self.0 & 0x0100_0000_0000 != 0
    }
}

/// Frame in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Octets from the destination address through the FCS.
    pub octets: u32,
    /// Source MAC address.
    pub source: Mac,
    /// Destination MAC address.
    pub destination: Mac,
    /// IPv4 destination, which a router evaluates; `None` for frames that a router does not
    /// forward.
    pub target: Option<Ipv4Addr>,
    /// Driver's own data: the model returns it with every copy of the frame.
    pub tag: u64,
}
