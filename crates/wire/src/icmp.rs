//! ICMP echo request and reply for IPv4 (RFC 792). No other ICMP message is read or written.
//!
//! The payload stays the caller's: a probe goes there, as into UDP.

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
    /// Type 8.
    Request,
    /// Type 0.
    Reply,
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

    /// The header and the echoed payload. Verifies the checksum, which covers both.
    pub fn parse(message: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, payload) = split(WHAT, message, Self::LEN)?;
        let kind = match header[field::TYPE] {
            8 => IcmpEchoKind::Request,
            0 => IcmpEchoKind::Reply,
            _ => return Err(WireError::Unsupported { what: WHAT, feature: "another icmp type" }),
        };
        if header[field::CODE] != 0 {
            let value = header[field::CODE].into();
            return Err(WireError::Malformed { what: WHAT, field: "code", value });
        }
        if !Checksum::new().with(message).verifies() {
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
    /// in place, with the checksum over all of it; panics where there are fewer.
    pub fn emit(&self, message: &mut [u8]) {
        message[field::TYPE] = match self.kind {
            IcmpEchoKind::Request => 8,
            IcmpEchoKind::Reply => 0,
        };
        message[field::CODE] = 0;
        put_u16(message, field::CHECKSUM, 0);
        put_u16(message, field::IDENTIFIER, self.identifier);
        put_u16(message, field::SEQUENCE, self.sequence);
        let sum = Checksum::new().with(message).finish();
        put_u16(message, field::CHECKSUM, sum);
    }
}
