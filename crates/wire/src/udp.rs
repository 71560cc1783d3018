//! The UDP header of RFC 768. The checksum is a plain field here: it covers the addresses of the IP
//! packet, so the caller computes or verifies it (`Checksum::with_pseudo_v4`).
//!
//! Never looks into the payload.

use std::ops::Range;

use crate::WireError;
use crate::octets::{put_u16, split, u16_at};

mod field {
    use std::ops::Range;
    pub const SOURCE: Range<usize> = 0..2;
    pub const DESTINATION: Range<usize> = 2..4;
    pub const LENGTH: Range<usize> = 4..6;
    pub const CHECKSUM: Range<usize> = 6..8;
}

/// The first 8 octets of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Octets of header and payload together, 8…65535.
    pub length: u16,
    /// Checksum as sent; over IPv4, 0 means "no checksum".
    pub checksum: u16,
}

impl UdpHeader {
    /// Octets of the header.
    pub const LEN: usize = 8;

    /// Position of the checksum, for frames that are stamped repeatedly.
    pub(crate) const CHECKSUM: Range<usize> = field::CHECKSUM;

    /// Splits a datagram into its header and payload, without anything that follows. Does not
    /// verify the checksum.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, _) = split("a udp header", datagram, Self::LEN)?;
        let length = u16_at(header, field::LENGTH);
        if usize::from(length) < Self::LEN {
            return Err(WireError::Malformed {
                what: "a udp header",
                field: "length",
                value: length.into(),
            });
        }
        let (whole, _) = split("a udp datagram", datagram, length.into())?;
        let header = Self {
            source: u16_at(header, field::SOURCE),
            destination: u16_at(header, field::DESTINATION),
            length,
            checksum: u16_at(header, field::CHECKSUM),
        };
        Ok((header, &whole[Self::LEN..]))
    }

    /// Writes the header into the first [`Self::LEN`] octets; panics where there are fewer.
    pub fn emit(&self, into: &mut [u8]) {
        put_u16(into, field::SOURCE, self.source);
        put_u16(into, field::DESTINATION, self.destination);
        put_u16(into, field::LENGTH, self.length);
        put_u16(into, field::CHECKSUM, self.checksum);
    }
}
