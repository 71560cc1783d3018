//! Addresses and ports of a flow's conversations on the wire.
//!
//! Owns how they count up from the first. Never chooses them: the hosts did.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::flow::Spread;
use crate::topology::AddressBlock;

/// Addresses and ports of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Sender's address and port.
    pub from: SocketAddr,
    /// Receiver's address and port.
    pub to: SocketAddr,
}

impl Ends {
    /// Returns the addresses and ports of frame `number`, if these are the first frame's and
    /// `spread` says which fields vary.
    #[must_use]
    pub fn of_frame(&self, spread: Spread, number: u64) -> Self {
        let end = |first: SocketAddr, ports: u16| {
            let addresses = AddressBlock { first: first.ip(), count: spread.addresses.max(1) };
            addresses.end_at(first.port(), ports, number)
        };
        Self {
            from: end(self.from, spread.source_ports),
            to: end(self.to, spread.destination_ports),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_addresses_count_up_and_begin_again() {
        let ends = |from: &str, to: &str| Ends {
            from: from.parse().expect("an address"),
            to: to.parse().expect("an address"),
        };
        let first = ends("10.0.0.1:7000", "10.0.1.1:9");
        let spread = Spread { source_ports: 4, destination_ports: 3, addresses: 2 };
        assert_eq!(first.of_frame(Spread::NONE, 5), first);
        assert_eq!(first.of_frame(spread, 5), ends("10.0.0.2:7001", "10.0.1.2:11"));
        assert_eq!(first.of_frame(spread, 12), first);
    }
}
