//! A frame as the model sees it: lengths and addresses, and a handle on what its driver keeps of
//! it.
//!
//! Never holds octets.

use std::net::Ipv4Addr;

/// A MAC address, in the low 48 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub u64);

impl Mac {
    /// To everybody.
    pub const BROADCAST: Self = Self(0xffff_ffff_ffff);

    /// Whether it stands for several stations: the first octet's lowest bit.
    pub const fn is_group(self) -> bool {
        self.0 & 0x0100_0000_0000 != 0
    }
}

/// One frame under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// From the destination address through the FCS.
    pub octets: u32,
    /// Who sends it.
    pub source: Mac,
    /// Who shall have it.
    pub destination: Mac,
    /// Its IPv4 destination, which a router looks at; none for what a router does not forward.
    pub target: Option<Ipv4Addr>,
    /// The driver's own: the model gives it back with every copy of the frame.
    pub tag: u64,
}
