//! The fixed header of RFC 8200 §3. Extension headers are left to whoever reads `next_header`.
//!
//! Owns no checksum: the header has none. Never follows a chain of headers.

use std::net::Ipv6Addr;

use crate::octets::{array, put_u16, put_u32, split, u16_at, u32_at};
use crate::{IpProtocol, WireError};

mod field {
    use std::ops::Range;
    pub const VERSION_CLASS_LABEL: Range<usize> = 0..4;
    pub const PAYLOAD_LENGTH: Range<usize> = 4..6;
    pub const NEXT_HEADER: usize = 6;
    pub const HOP_LIMIT: usize = 7;
    pub const SOURCE: Range<usize> = 8..24;
    pub const DESTINATION: Range<usize> = 24..40;
}

/// The first 40 octets of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Type of the next header: an extension header or the protocol carried.
    pub next_header: IpProtocol,
    /// Octets after this header.
    pub payload_length: u16,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// 20-bit label shared by all packets of a flow.
    pub flow_label: u32,
    /// Hops left.
    pub hop_limit: u8,
}

impl Ipv6Header {
    /// Octets of the header.
    pub const LEN: usize = 40;

    /// The header and the packet's payload, link padding cut off.
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, rest) = split("an ipv6 header", packet, Self::LEN)?;
        let first = u32_at(header, field::VERSION_CLASS_LABEL);
        if first >> 28 != 6 {
            return Err(WireError::Malformed {
                what: "an ipv6 header",
                field: "version",
                value: first >> 28,
            });
        }
        let payload_length = u16_at(header, field::PAYLOAD_LENGTH);
        let (payload, _padding) = split("an ipv6 packet", rest, payload_length.into())?;
        let header = Self {
            source: Ipv6Addr::from(array::<16>(header, field::SOURCE)),
            destination: Ipv6Addr::from(array::<16>(header, field::DESTINATION)),
            next_header: IpProtocol(header[field::NEXT_HEADER]),
            payload_length,
            traffic_class: (first >> 20) as u8,
            flow_label: first & 0x000f_ffff,
            hop_limit: header[field::HOP_LIMIT],
        };
        Ok((header, payload))
    }

    /// Writes the header into the first [`Self::LEN`] octets; panics where there are fewer. Only
    /// the low 20 bits of the flow label have room.
    pub fn emit(&self, into: &mut [u8]) {
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0x000f_ffff;
        put_u32(into, field::VERSION_CLASS_LABEL, first);
        put_u16(into, field::PAYLOAD_LENGTH, self.payload_length);
        into[field::NEXT_HEADER] = self.next_header.0;
        into[field::HOP_LIMIT] = self.hop_limit;
        into[field::SOURCE].copy_from_slice(&self.source.octets());
        into[field::DESTINATION].copy_from_slice(&self.destination.octets());
    }
}
