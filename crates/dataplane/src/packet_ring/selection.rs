//! Selection of frames for a raw receiver, and the form in which each is delivered.
//!
//! Owns the two descriptions that AF_XDP and the packet ring share. Never compares more than the
//! kernel can on arrival of a frame; the receiver decides whose probe it is.

use std::ops::RangeInclusive;

use measure::Nanos;

/// Selection of UDP datagrams that begin with the trial's token, to one of these ports. They come
/// over IPv4 (without options, unfragmented) or IPv6, with or without one VLAN tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Destination ports.
    pub ports: RangeInclusive<u16>,
    /// Token of the trial: the first four octets of a probe.
    pub token: u32,
}

/// Received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// Octets from the Ethernet header on, including the VLAN tag, without FCS.
    pub octets: &'a [u8],
    /// Time at which the kernel received it, on this host's CLOCK_MONOTONIC.
    pub at: Nanos,
}
