//! The Ethernet II header and its addresses, without preamble, gap or FCS: no socket shows them.
//!
//! Never interprets an EtherType; the caller does.

use std::fmt;
use std::str::FromStr;

use crate::WireError;
use crate::octets::{array, put_u16, split, u16_at};

mod field {
    use std::ops::Range;
    pub const DESTINATION: Range<usize> = 0..6;
    pub const SOURCE: Range<usize> = 6..12;
    pub const ETHER_TYPE: Range<usize> = 12..14;
}

/// A MAC address, written `02:00:00:00:00:01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// Broadcast address, all ones.
    pub const BROADCAST: Self = Self([0xff; 6]);
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = self.0.map(|octet| format!("{octet:02x}"));
        f.pad(&octets.join(":"))
    }
}

impl FromStr for MacAddr {
    type Err = WireError;
    fn from_str(text: &str) -> Result<Self, WireError> {
        let mut address = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut address {
            let digits = parts.next().ok_or(WireError::MacText)?;
            // `from_str_radix` alone would take "+1" and "001".
            if digits.len() != 2 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(WireError::MacText);
            }
            *octet = u8::from_str_radix(digits, 16).map_err(|_| WireError::MacText)?;
        }
        if parts.next().is_some() { Err(WireError::MacText) } else { Ok(Self(address)) }
    }
}

/// Protocol that an Ethernet frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// An 802.1Q tag, and then the real type.
    pub const VLAN: Self = Self(0x8100);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
}

/// The first 14 octets of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Destination address.
    pub destination: MacAddr,
    /// Source address.
    pub source: MacAddr,
    /// Type of the payload; below 0x0600 its length (IEEE 802.3).
    pub ether_type: EtherType,
}

impl EthernetHeader {
    /// Octets of the header.
    pub const LEN: usize = 14;

    /// The header and what follows it, padding included.
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, payload) = split("an ethernet header", frame, Self::LEN)?;
        let header = Self {
            destination: MacAddr(array(header, field::DESTINATION)),
            source: MacAddr(array(header, field::SOURCE)),
            ether_type: EtherType(u16_at(header, field::ETHER_TYPE)),
        };
        Ok((header, payload))
    }

    /// Writes the header into the first [`Self::LEN`] octets; panics where there are fewer.
    pub fn emit(&self, into: &mut [u8]) {
        into[field::DESTINATION].copy_from_slice(&self.destination.0);
        into[field::SOURCE].copy_from_slice(&self.source.0);
        put_u16(into, field::ETHER_TYPE, self.ether_type.0);
    }
}
