//! The internet checksum of RFC 1071: the one's complement of the one's complement sum of 16-bit
//! words. Owns the pseudo headers too, since they exist for nothing else.
//!
//! Never decides what a wrong checksum means: some are left for hardware to fill.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::IpProtocol;

/// A running sum. Parts may be added in any order, as long as each begins at an even offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// Sum over no octets.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Adds octets, an odd last one as if a zero followed (RFC 1071 §1).
    #[must_use]
    pub fn with(mut self, octets: &[u8]) -> Self {
        let mut words = octets.chunks_exact(2);
        for word in &mut words {
            self.0 += u64::from(u16::from_be_bytes([word[0], word[1]]));
        }
        if let [last] = words.remainder() {
            self.0 += u64::from(*last) << 8;
        }
        self
    }

    /// Adds one number of 32 bits, as its two words.
    #[inline]
    #[must_use]
    pub const fn with_u32(self, value: u32) -> Self {
        Self(self.0 + (value >> 16) as u64 + (value & 0xffff) as u64)
    }

    /// Adds one number of 64 bits, as its four words.
    #[inline]
    #[must_use]
    pub const fn with_u64(self, value: u64) -> Self {
        self.with_u32((value >> 32) as u32).with_u32(value as u32)
    }

    /// Adds the pseudo header of UDP over IPv4 (RFC 768).
    #[must_use]
    pub fn with_pseudo_v4(self, source: Ipv4Addr, destination: Ipv4Addr, length: u16) -> Self {
        self.with(&source.octets())
            .with(&destination.octets())
            .with_u32(IpProtocol::UDP.0.into())
            .with_u32(length.into())
    }

    /// Adds the pseudo header of UDP over IPv6 (RFC 8200 §8.1).
    #[must_use]
    pub fn with_pseudo_v6(self, source: Ipv6Addr, destination: Ipv6Addr, length: u16) -> Self {
        self.with(&source.octets())
            .with(&destination.octets())
            .with_u32(length.into())
            .with_u32(IpProtocol::UDP.0.into())
    }

    /// The field's value for what was added (with the field itself as zero).
    #[inline]
    pub const fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// Returns the checksum for UDP, which sends a computed zero as all ones (RFC 768): a zero
    /// field means "no checksum".
    #[inline]
    pub const fn finish_udp(self) -> u16 {
        match self.finish() {
            0 => 0xffff,
            sum => sum,
        }
    }

    /// True if the added octets, checksum field included, are undamaged.
    pub const fn verifies(self) -> bool {
        self.finish() == 0
    }
}
