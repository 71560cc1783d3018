//! First message of a stream, so that a flow's other side reads only its own connections.
//!
//! 12 octets, big endian: a mark, the trial's token, the flow and the stream.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

use crate::{FlowError, Identity};

const MARK: [u8; 4] = *b"swBK";

/// Octets of a hello.
pub(crate) const OCTETS: usize = 12;

/// Flow and stream of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    pub identity: Identity,
    pub stream: u16,
}

impl Hello {
    /// Encodes the hello as sent.
    pub(crate) fn emit(&self) -> [u8; OCTETS] {
        let mut octets = [0; OCTETS];
        octets[..4].copy_from_slice(&MARK);
        octets[4..8].copy_from_slice(&self.identity.token.to_be_bytes());
        octets[8..10].copy_from_slice(&self.identity.flow.to_be_bytes());
        octets[10..].copy_from_slice(&self.stream.to_be_bytes());
        octets
    }

    /// Sends the hello over a connection just opened to `remote`.
    pub(crate) fn send(&self, mut tcp: &TcpStream, remote: SocketAddr) -> Result<(), FlowError> {
        // The first octets of a new connection always fit its buffer.
        tcp.write_all(&self.emit()).map_err(|e| FlowError::kernel("send hello to", remote, e))
    }

    /// Parses a received hello; `None` if it is not one of ours.
    pub(crate) fn parse(octets: &[u8; OCTETS]) -> Option<Self> {
        let [m0, m1, m2, m3, t0, t1, t2, t3, f0, f1, s0, s1] = *octets;
        ([m0, m1, m2, m3] == MARK).then(|| Self {
            identity: Identity {
                token: u32::from_be_bytes([t0, t1, t2, t3]),
                flow: u16::from_be_bytes([f0, f1]),
            },
            stream: u16::from_be_bytes([s0, s1]),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_emitted_parses(token: u32, flow: u16, stream: u16) {
            let hello = Hello { identity: Identity { token, flow }, stream };
            prop_assert_eq!(Hello::parse(&hello.emit()), Some(hello));
        }

        #[test]
        fn nothing_without_the_mark_is_a_hello(octets: [u8; OCTETS]) {
            prop_assume!(octets[..4] != MARK);
            prop_assert_eq!(Hello::parse(&octets), None);
        }
    }
}
