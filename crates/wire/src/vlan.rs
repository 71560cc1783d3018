//! The 802.1Q tag, as it follows the EtherType 0x8100. One tag only: no provider bridging.
//!
//! Never assigns a VLAN to an untagged frame.

use crate::octets::{put_u16, split, u16_at};
use crate::{EtherType, WireError};

mod field {
    use std::ops::Range;
    pub const CONTROL: Range<usize> = 0..2;
    pub const ETHER_TYPE: Range<usize> = 2..4;
}

/// Priority, drop eligibility and VLAN of a frame, and the type of what it carries (IEEE 802.1Q
/// §9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// Priority code point, 0…7.
    pub priority: u8,
    /// True if the frame may be dropped first under congestion.
    pub drop_eligible: bool,
    /// VLAN identifier, 0…4095; 0 is a priority tag without a VLAN.
    pub id: u16,
    /// EtherType of the tag's content.
    pub ether_type: EtherType,
}

impl VlanTag {
    /// Octets of the tag, after the EtherType that announced it.
    pub const LEN: usize = 4;

    /// The tag and what follows it.
    pub fn parse(octets: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (tag, payload) = split("a vlan tag", octets, Self::LEN)?;
        let control = u16_at(tag, field::CONTROL);
        let tag = Self {
            priority: (control >> 13) as u8,
            drop_eligible: control & 0x1000 != 0,
            id: control & 0x0fff,
            ether_type: EtherType(u16_at(tag, field::ETHER_TYPE)),
        };
        Ok((tag, payload))
    }

    /// Writes the tag into the first [`Self::LEN`] octets; panics where there are fewer. Only the
    /// low 3 bits of the priority and 12 of the identifier are used.
    pub fn emit(&self, into: &mut [u8]) {
        let control = u16::from(self.priority & 7) << 13
            | u16::from(self.drop_eligible) << 12
            | self.id & 0x0fff;
        put_u16(into, field::CONTROL, control);
        put_u16(into, field::ETHER_TYPE, self.ether_type.0);
    }
}
