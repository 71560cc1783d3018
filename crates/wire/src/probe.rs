//! The probe at the start of every test packet's payload, which identifies it as ours. 18 octets:
//! exactly the UDP payload of a 64-octet frame.
//!
//! Never decides whether a token or a flow is the expected one; the receiver compares them.

use crate::WireError;
use crate::octets::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};

mod field {
    use std::ops::Range;
    pub const TOKEN: Range<usize> = 0..4;
    pub const FLOW: Range<usize> = 4..6;
    pub const SEQUENCE: Range<usize> = 6..10;
    pub const TIME: Range<usize> = 10..18;
}

/// The probe of one packet; big endian on the wire, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Probe {
    /// The trial's random token.
    pub token: u32,
    /// The flow's number in the trial.
    pub flow: u16,
    /// The packet's number in the flow, from 0.
    pub sequence: u32,
    /// Transmit time in nanoseconds of the sender's clock.
    pub time_ns: u64,
}

impl Probe {
    /// Octets on the wire.
    pub const LEN: usize = 18;

    /// Reads the probe at the start of a payload. Anything after it is filler.
    #[inline]
    pub fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let Some(octets) = payload.get(..Self::LEN) else {
            return Err(WireError::Truncated {
                what: "a probe",
                octets: payload.len(),
                needed: Self::LEN,
            });
        };
        Ok(Self {
            token: u32_at(octets, field::TOKEN),
            flow: u16_at(octets, field::FLOW),
            sequence: u32_at(octets, field::SEQUENCE),
            time_ns: u64_at(octets, field::TIME),
        })
    }

    /// Writes the probe into the first [`Self::LEN`] octets; panics where there are fewer.
    #[inline]
    pub fn emit(&self, into: &mut [u8]) {
        let into = &mut into[..Self::LEN];
        put_u32(into, field::TOKEN, self.token);
        put_u16(into, field::FLOW, self.flow);
        put_u32(into, field::SEQUENCE, self.sequence);
        put_u64(into, field::TIME, self.time_ns);
    }

    /// Writes sequence and time alone into an emitted probe, for the hot path; panics where there
    /// are fewer than [`Self::LEN`] octets.
    #[inline]
    pub fn stamp(emitted: &mut [u8], sequence: u32, time_ns: u64) {
        let emitted = &mut emitted[..Self::LEN];
        put_u32(emitted, field::SEQUENCE, sequence);
        put_u64(emitted, field::TIME, time_ns);
    }
}
