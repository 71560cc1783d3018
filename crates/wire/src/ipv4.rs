//! The IPv4 header of RFC 791, without options and for whole packets only: a probe is never
//! fragmented, and a fragment carries no port to identify its flow.
//!
//! Owns the header checksum, written on every emit and verified on every parse. Never routes or
//! decrements the TTL.

use std::net::Ipv4Addr;

use crate::octets::{array, put_u16, split, u16_at};
use crate::{Checksum, WireError};

const WHAT: &str = "an ipv4 header";

mod field {
    use std::ops::Range;
    pub const VERSION_IHL: usize = 0;
    pub const TRAFFIC_CLASS: usize = 1;
    pub const TOTAL_LENGTH: Range<usize> = 2..4;
    pub const IDENTIFICATION: Range<usize> = 4..6;
    pub const FRAGMENT: Range<usize> = 6..8;
    pub const TIME_TO_LIVE: usize = 8;
    pub const PROTOCOL: usize = 9;
    pub const CHECKSUM: Range<usize> = 10..12;
    pub const SOURCE: Range<usize> = 12..16;
    pub const DESTINATION: Range<usize> = 16..20;
}

const RESERVED: u16 = 0x8000;
const DONT_FRAGMENT: u16 = 0x4000;

/// Protocol that an IP packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// ICMP for IPv4.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
}

/// The first 20 octets of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Protocol of the payload.
    pub protocol: IpProtocol,
    /// Octets of header and payload together, 20…65535.
    pub total_length: u16,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Identifies the packet that a fragment belongs to; has no meaning with `dont_fragment` (RFC
    /// 6864).
    pub identification: u16,
    /// True if routers must drop the packet rather than fragment it.
    pub dont_fragment: bool,
    /// Hops left.
    pub time_to_live: u8,
}

impl Ipv4Header {
    /// Octets of a header without options.
    pub const LEN: usize = 20;

    /// The header and the packet's payload, link padding cut off. Verifies the header checksum.
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, _) = split(WHAT, packet, Self::LEN)?;
        let (version, ihl) = (header[field::VERSION_IHL] >> 4, header[field::VERSION_IHL] & 0xf);
        if version != 4 {
            return Err(malformed("version", version.into()));
        }
        match ihl {
            0..5 => return Err(malformed("header length", ihl.into())),
            5 => {}
            _ => return Err(WireError::Unsupported { what: WHAT, feature: "an option" }),
        }
        if !Checksum::new().with(header).verifies() {
            let found = u16_at(header, field::CHECKSUM);
            return Err(WireError::Checksum { what: WHAT, found });
        }
        let fragment = u16_at(header, field::FRAGMENT);
        if fragment & RESERVED != 0 {
            return Err(malformed("reserved flag", 1));
        }
        if fragment & !DONT_FRAGMENT != 0 {
            return Err(WireError::Unsupported { what: WHAT, feature: "a fragment" });
        }
        let total_length = u16_at(header, field::TOTAL_LENGTH);
        if usize::from(total_length) < Self::LEN {
            return Err(malformed("total length", total_length.into()));
        }
        let (whole, _padding) = split("an ipv4 packet", packet, total_length.into())?;
        let header = Self {
            source: Ipv4Addr::from(array::<4>(header, field::SOURCE)),
            destination: Ipv4Addr::from(array::<4>(header, field::DESTINATION)),
            protocol: IpProtocol(header[field::PROTOCOL]),
            total_length,
            traffic_class: header[field::TRAFFIC_CLASS],
            identification: u16_at(header, field::IDENTIFICATION),
            dont_fragment: fragment & DONT_FRAGMENT != 0,
            time_to_live: header[field::TIME_TO_LIVE],
        };
        Ok((header, &whole[Self::LEN..]))
    }

    /// Writes the header with its checksum into the first [`Self::LEN`] octets; panics where there
    /// are fewer.
    pub fn emit(&self, into: &mut [u8]) {
        into[field::VERSION_IHL] = 0x45;
        into[field::TRAFFIC_CLASS] = self.traffic_class;
        put_u16(into, field::TOTAL_LENGTH, self.total_length);
        put_u16(into, field::IDENTIFICATION, self.identification);
        put_u16(into, field::FRAGMENT, if self.dont_fragment { DONT_FRAGMENT } else { 0 });
        into[field::TIME_TO_LIVE] = self.time_to_live;
        into[field::PROTOCOL] = self.protocol.0;
        put_u16(into, field::CHECKSUM, 0);
        into[field::SOURCE].copy_from_slice(&self.source.octets());
        into[field::DESTINATION].copy_from_slice(&self.destination.octets());
        let sum = Checksum::new().with(&into[..Self::LEN]).finish();
        put_u16(into, field::CHECKSUM, sum);
    }
}

fn malformed(field: &'static str, value: u32) -> WireError {
    WireError::Malformed { what: WHAT, field, value }
}
