//! What an agent holds itself to, whatever a trial's orders say.
//!
//! Data, and whether it covers an address. Never knows an interface's state: the agent asks its
//! kernel.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use measure::{Nanos, Rate};
use serde::{Deserialize, Serialize};
use trial::topology::AddressBlock;

/// The limits of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Between which addresses flows may run: those of the testbed.
    pub addresses: Vec<AddressBlock>,
    /// Which interfaces of the host may carry load: the test ports of the testbed.
    pub interfaces: Vec<String>,
    /// By which of them frames of each of the host's own test addresses may leave; of an address
    /// that is not there, by any.
    #[serde(default)]
    pub own: BTreeMap<IpAddr, Vec<String>>,
    /// Which iperf3 servers may be asked for a test: those of the testbed.
    #[serde(default)]
    pub servers: Vec<SocketAddr>,
    /// How long after its order a trial may end.
    pub longest: Nanos,
    /// The most that one interface may be asked to send; none is no limit.
    pub rate: Option<Rate>,
    /// Whether the host stays when the testbed goes, as a lab's does not: then what is changed on
    /// it is written down where the next agent sees it.
    #[serde(default)]
    pub lasting: bool,
}

impl Terms {
    /// Whether an address is one of the testbed's.
    pub fn cover(&self, address: IpAddr) -> bool {
        self.cover_all(AddressBlock::single(address))
    }

    /// Whether every address of a range is one of the testbed's.
    pub fn cover_all(&self, range: AddressBlock) -> bool {
        self.addresses.iter().any(|known| known.contains(range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_testbeds_addresses() {
        let range = |first: &str, count| AddressBlock { first: first.parse().unwrap(), count };
        let terms = Terms {
            addresses: vec![
                range("198.18.0.1", 1),
                range("198.18.64.0", 4096),
                range("2001:2::1", 1),
            ],
            interfaces: Vec::new(),
            own: BTreeMap::new(),
            servers: Vec::new(),
            longest: Nanos(1),
            rate: None,
            lasting: false,
        };
        let check = |first: &str, count, covered| {
            assert_eq!(terms.cover_all(range(first, count)), covered, "{first} and {count}");
        };
        check("198.18.0.1", 1, true);
        check("198.18.0.2", 1, false);
        check("198.18.64.0", 4096, true);
        check("198.18.64.1", 4096, false);
        check("198.18.79.255", 1, true);
        check("2001:2::1", 1, true);
        check("2001:2::2", 1, false);
        check("::ffff:198.18.0.1", 1, false);
        check("8.8.8.8", 1, false);
    }
}
