//! Transmission times at a rate, without a division if the rate divides evenly.
//!
//! Owns the octets that a frame costs on the wire beyond its own. The results equal those of
//! [`Picos::to_send`], to the picosecond.

use measure::{Picos, Rate};

/// Octets of preamble and start delimiter before a frame, part of it on a cable.
const PREAMBLE: u64 = 8;
/// Octets of preamble and gap: the cost of a frame on a cable beyond its octets.
const OVERHEAD: u64 = 20;
/// Octets of a PAUSE frame (IEEE 802.3 annex 31B), and its preamble.
const PAUSE_FRAME: u64 = 64 + PREAMBLE;

/// Rate, prepared for frequent use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub rate: Rate,
    /// Time per octet; 0 if the rate does not divide evenly.
    picos_per_octet: u64,
}

impl Pace {
    pub(super) fn new(rate: Rate) -> Self {
        const PICOS: u64 = 8_000_000_000_000;
        let even = rate.0 > 0 && PICOS.is_multiple_of(rate.0);
        Self { rate, picos_per_octet: if even { PICOS / rate.0 } else { 0 } }
    }

    /// Time from a frame's beginning on the cable to its last bit.
    #[inline]
    pub(super) fn frame(&self, octets: u32) -> Picos {
        self.time_to_send(u64::from(octets) + PREAMBLE)
    }

    /// Time from a frame's beginning to the next one's.
    #[inline]
    pub(super) fn slot(&self, octets: u32) -> Picos {
        self.time_to_send(u64::from(octets) + OVERHEAD)
    }

    /// Time of a PAUSE frame, from its beginning to its last bit.
    pub(super) fn pause_frame(&self) -> Picos {
        self.time_to_send(PAUSE_FRAME)
    }

    #[inline]
    fn time_to_send(&self, octets: u64) -> Picos {
        if self.picos_per_octet == 0 {
            return Picos::to_send(octets, self.rate);
        }
        Picos(octets * self.picos_per_octet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_unit_says() {
        for rate in [1_000_000_000, 10_000_000_000, 3_000_000_000, 333_333, 25_000_000_000] {
            let pace = Pace::new(Rate(rate));
            assert_eq!(pace.frame(64), Picos::to_send(72, Rate(rate)), "{rate}");
            assert_eq!(pace.slot(1518), Picos::to_send(1538, Rate(rate)), "{rate}");
        }
    }
}
