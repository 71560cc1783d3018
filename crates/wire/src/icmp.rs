//! ICMP echo request and reply for IPv4 (RFC 792) and IPv6 (RFC 4443 section 4). No other ICMP
//! message is read or written.
//!
//! The payload stays the caller's: a probe goes there, as into UDP.

use std::net::IpAddr;

use crate::octets::{put_u16, split, u16_at};
use crate::{Checksum, WireError};

const WHAT: &str = "an icmp echo";

mod field {
    use std::ops::Range;
    pub const TYPE: usize = 0;
    pub const CODE: usize = 1;
    pub const CHECKSUM: Range<usize> = 2..4;
    pub const IDENTIFIER: Range<usize> = 4..6;
    pub const SEQUENCE: Range<usize> = 6..8;
}

/// Kind of echo message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpEchoKind {
    /// Request.
    Request,
    /// Reply.
    Reply,
}

/// Version of IP that carries a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpVersion {
    /// The checksum is in the message's own octets.
    V4,
    /// The checksum covers addresses too: the kernel writes and verifies it (RFC 3542 section 3.1).
    V6,
}

impl IcmpVersion {
    /// Version that an address has.
    pub const fn from_address(address: IpAddr) -> Self {
        if address.is_ipv6() { Self::V6 } else { Self::V4 }
    }

    /// Types of a request and of a reply.
    const fn types(self) -> [u8; 2] {
        match self {
            Self::V4 => [8, 0],
            Self::V6 => [128, 129],
        }
    }
}

/// The first 8 octets of an echo message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpEcho {
    /// Request or reply.
    pub kind: IcmpEchoKind,
    /// Distinguishes conversations; the kernel's ping sockets put their own here.
    pub identifier: u16,
    /// Distinguishes messages of a conversation.
    pub sequence: u16,
}

impl IcmpEcho {
    /// Octets of the header.
    pub const LEN: usize = 8;

    /// The header and the echoed payload. Verifies the checksum of IPv4, which covers both.
    pub fn parse(version: IcmpVersion, message: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, payload) = split(WHAT, message, Self::LEN)?;
        let [request, reply] = version.types();
        let kind = match header[field::TYPE] {
            found if found == request => IcmpEchoKind::Request,
            found if found == reply => IcmpEchoKind::Reply,
            _ => return Err(WireError::Unsupported { what: WHAT, feature: "another icmp type" }),
        };
        if header[field::CODE] != 0 {
            let value = header[field::CODE].into();
            return Err(WireError::Malformed { what: WHAT, field: "code", value });
        }
        if version == IcmpVersion::V4 && !Checksum::new().with(message).verifies() {
            let found = u16_at(header, field::CHECKSUM);
            return Err(WireError::Checksum { what: WHAT, found });
        }
        let header = Self {
            kind,
            identifier: u16_at(header, field::IDENTIFIER),
            sequence: u16_at(header, field::SEQUENCE),
        };
        Ok((header, payload))
    }

    /// Writes the header into the first [`Self::LEN`] octets of `message`, whose payload is already
    /// in place, with the checksum over all of it for IPv4; panics where there are fewer.
    pub fn emit(&self, version: IcmpVersion, message: &mut [u8]) {
        let [request, reply] = version.types();
        message[field::TYPE] = match self.kind {
            IcmpEchoKind::Request => request,
            IcmpEchoKind::Reply => reply,
        };
        message[field::CODE] = 0;
        put_u16(message, field::CHECKSUM, 0);
        put_u16(message, field::IDENTIFIER, self.identifier);
        put_u16(message, field::SEQUENCE, self.sequence);
        if version == IcmpVersion::V4 {
            let sum = Checksum::new().with(message).finish();
            put_u16(message, field::CHECKSUM, sum);
        }
    }
}
