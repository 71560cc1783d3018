//! Header fields that the model reads from a frame, and those that a router changes.
//!
//! Owns the offsets of Ethernet, one VLAN tag, and IPv4. Never looks further into a frame.

use std::net::Ipv4Addr;

use device::{Frame, Mac};

/// IEEE 802.3: the minimum size of a frame, and the FCS that the kernel does not show.
const LEAST: usize = 64;
const FCS: usize = 4;
const ADDRESSES: usize = 12;
const IPV4: [u8; 2] = [0x08, 0x00];
/// IEEE 802.1Q: EtherTypes of a customer's tag and a provider's.
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const TAG: usize = 4;
const IP_HEADER: usize = 20;
const TTL: usize = 8;
const CHECKSUM: usize = 10;
const DESTINATION: usize = 16;

/// The model's view of a frame; `None` if it is shorter than a header.
#[inline]
pub(super) fn frame(octets: &[u8], tag: u64) -> Option<Frame> {
    let addresses = octets.get(..ADDRESSES + 2)?;
    let target = ip_header(octets).and_then(|at| {
        let target: [u8; 4] = octets[at + DESTINATION..at + DESTINATION + 4].try_into().ok()?;
        Some(Ipv4Addr::from(target))
    });
    Some(Frame {
        octets: (octets.len() + FCS).max(LEAST) as u32,
        source: mac(&addresses[6..12]),
        destination: mac(&addresses[..6]),
        target,
        tag,
    })
}

/// Writes the model's addresses into a frame and forwards it like a router: decrements the TTL and
/// updates the checksum (RFC 1812 §5.3.1, RFC 1624).
pub(super) fn route(octets: &mut [u8], frame: &Frame) {
    if octets.len() < ADDRESSES {
        return;
    }
    octets[..6].copy_from_slice(&frame.destination.0.to_be_bytes()[2..]);
    octets[6..12].copy_from_slice(&frame.source.0.to_be_bytes()[2..]);
    let Some(at) = ip_header(octets) else { return };
    octets[at + TTL] = octets[at + TTL].saturating_sub(1);
    let checksum = u16::from_be_bytes([octets[at + CHECKSUM], octets[at + CHECKSUM + 1]]);
    // The word of TTL and protocol became 0x0100 less.
    let (sum, carry) = checksum.overflowing_add(0x0100);
    let checksum = sum + u16::from(carry);
    octets[at + CHECKSUM..at + CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// True if a router may forward the frame: its TTL is above 1 (RFC 1812 §5.3.1).
pub(super) fn may_live(octets: &[u8]) -> bool {
    ip_header(octets).is_none_or(|at| octets[at + TTL] > 1)
}

/// Offset of the IPv4 header; `None` if the frame has no complete one.
#[inline]
fn ip_header(octets: &[u8]) -> Option<usize> {
    let mut at = ADDRESSES;
    if TAGS.contains(&octets.get(at..at + 2)?.try_into().ok()?) {
        at += TAG;
    }
    let kind = octets.get(at..at + 2)?;
    (kind == IPV4 && octets.len() >= at + 2 + IP_HEADER).then_some(at + 2)
}

#[inline]
fn mac(octets: &[u8]) -> Mac {
    Mac(octets.iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header whose checksum is right, from 198.18.1.2 to 198.18.1.6, with that TTL.
    fn packet(ttl: u8, tagged: bool) -> Vec<u8> {
        let mut frame = vec![0x02, 0x53, 0x4d, 2, 0, 1, 0x02, 0x53, 0x4d, 1, 0, 1];
        if tagged {
            frame.extend([0x81, 0x00, 0x00, 0x07]);
        }
        frame.extend(IPV4);
        let at = frame.len();
        frame.extend([0x45, 0, 0, 46, 0, 1, 0x40, 0, ttl, 17, 0, 0, 198, 18, 1, 2, 198, 18, 1, 6]);
        let sum = !checksum(&frame[at..]);
        frame[at + CHECKSUM..at + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        frame.resize(at + 46, 0);
        frame
    }

    /// RFC 1071; 0xffff over a header that has its own.
    fn checksum(header: &[u8]) -> u16 {
        let mut sum: u32 =
            header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn the_model_sees_addresses_and_target() {
        for tagged in [false, true] {
            let octets = packet(64, tagged);
            let seen = frame(&octets, 9).unwrap();
            assert_eq!(seen.destination, Mac(0x0253_4d02_0001));
            assert_eq!(seen.source, Mac(0x0253_4d01_0001));
            assert_eq!(seen.target, Some(Ipv4Addr::new(198, 18, 1, 6)));
            assert_eq!(seen.octets, if tagged { 68 } else { 64 });
            assert_eq!(seen.tag, 9);
        }
        assert_eq!(frame(&[0; 13], 0), None);
        assert_eq!(frame(&[0; 42], 0).unwrap().octets, 64);
        assert_eq!(frame(&[0; 42], 0).unwrap().target, None);
    }

    #[test]
    fn a_hop_costs_one_of_the_ttl_and_keeps_the_checksum_right() {
        for (ttl, tagged) in (0..=255).flat_map(|ttl| [(ttl, false), (ttl, true)]) {
            let mut octets = packet(ttl, tagged);
            assert_eq!(may_live(&octets), ttl > 1);
            if ttl == 0 {
                continue;
            }
            let sent = Frame {
                source: Mac(0x0253_4d02_0002),
                destination: Mac(0x0253_4d01_0002),
                ..frame(&octets, 0).unwrap()
            };
            route(&mut octets, &sent);
            let at = if tagged { 18 } else { 14 };
            assert_eq!(octets[at + TTL], ttl - 1);
            assert_eq!(checksum(&octets[at..at + IP_HEADER]), 0xffff, "ttl {ttl}");
            assert_eq!(frame(&octets, 0), Some(sent));
        }
    }
}
