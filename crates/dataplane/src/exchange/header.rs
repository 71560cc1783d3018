//! Header of an exchange's datagram: its flow, its kind, and its number.
//!
//! 18 octets, big endian: a mark, the kind, the trial's token, the flow and the number. The rest is
//! payload without meaning. Never does I/O.

use crate::Identity;

const MARK: [u8; 3] = *b"swX";

/// Octets of the header: the most that the smallest frame has room for.
pub(super) const OCTETS: usize = 18;

/// Kind of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// First datagram of each direction; its number is the payload of the sender's largest
    /// datagram.
    Hello,
    /// Part of a message.
    Part,
    /// Credit: its number and all above are still expected; all below are no longer in flight.
    Credit,
}

/// Header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExchangeHeader {
    pub identity: Identity,
    pub kind: Kind,
    pub number: u64,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Hello, Self::Part, Self::Credit];

    const fn code(self) -> u8 {
        match self {
            Self::Hello => b'h',
            Self::Part => b'p',
            Self::Credit => b'c',
        }
    }
}

impl ExchangeHeader {
    /// Writes the header at the beginning of a payload.
    pub(super) fn emit(&self, into: &mut [u8]) {
        into[..3].copy_from_slice(&MARK);
        into[3] = self.kind.code();
        into[4..8].copy_from_slice(&self.identity.token.to_be_bytes());
        into[8..10].copy_from_slice(&self.identity.flow.to_be_bytes());
        into[10..OCTETS].copy_from_slice(&self.number.to_be_bytes());
    }

    /// Parses a received header; `None` if the datagram belongs to no exchange.
    pub(super) fn parse(octets: &[u8]) -> Option<Self> {
        let (head, _) = octets.split_first_chunk::<OCTETS>()?;
        let [m0, m1, m2, kind, t0, t1, t2, t3, f0, f1, number @ ..] = *head;
        if [m0, m1, m2] != MARK {
            return None;
        }
        let kind = Kind::ALL.into_iter().find(|known| known.code() == kind)?;
        let token = u32::from_be_bytes([t0, t1, t2, t3]);
        let identity = Identity { token, flow: u16::from_be_bytes([f0, f1]) };
        Some(Self { identity, kind, number: u64::from_be_bytes(number) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_emitted_parses(token: u32, flow: u16, kind in 0..3_usize, number: u64) {
            let identity = Identity { token, flow };
            let parcel = ExchangeHeader { identity, kind: Kind::ALL[kind], number };
            let mut octets = [0; OCTETS];
            parcel.emit(&mut octets);
            prop_assert_eq!(ExchangeHeader::parse(&octets), Some(parcel));
            prop_assert_eq!(ExchangeHeader::parse(&octets[..OCTETS - 1]), None);
        }

        #[test]
        fn any_octets_are_read_without_panic(octets: Vec<u8>) {
            let mut again = [0; OCTETS];
            if let Some(parcel) = ExchangeHeader::parse(&octets) {
                parcel.emit(&mut again);
                prop_assert_eq!(&again[..], &octets[..OCTETS]);
            }
        }
    }
}
