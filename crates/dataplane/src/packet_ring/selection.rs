//! Which frames a raw receiver lets in, and what it hands over for each.
//!
//! Owns the two descriptions that AF_XDP and the packet ring share. Never compares more than the
//! kernel can at a frame's arrival; whose probe it is remains the receiver's to judge.

use std::ops::RangeInclusive;

use measure::Nanos;

/// UDP datagrams over IPv4 (without options, unfragmented) or IPv6, with or without one VLAN tag,
/// to one of these ports, that begin with the trial's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Destination ports.
    pub ports: RangeInclusive<u16>,
    /// The trial's token: the first four octets of a probe.
    pub token: u32,
}

/// One frame that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// From the Ethernet header on, VLAN tag included, without FCS.
    pub octets: &'a [u8],
    /// When the kernel had it, on this host's CLOCK_MONOTONIC.
    pub at: Nanos,
}
