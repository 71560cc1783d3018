//! Limits that an agent enforces, whatever a trial's orders say.
//!
//! Data, and whether it covers an address. Never knows an interface's state: the agent asks its
//! kernel.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use measure::{Nanos, Rate};
use serde::{Deserialize, Serialize};
use trial::topology::AddressBlock;

/// Limits of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Addresses between which flows may run: those of the testbed.
    pub addresses: Vec<AddressBlock>,
    /// Interfaces of the host that may carry load: the test ports of the testbed.
    pub interfaces: Vec<String>,
    /// Interfaces by which frames from each of the host's own test addresses may leave. An address
    /// that is not listed may use any.
    #[serde(default)]
    pub own: BTreeMap<IpAddr, Vec<String>>,
    /// Servers of iperf3 that may be asked for a test: those of the testbed.
    #[serde(default)]
    pub servers: Vec<SocketAddr>,
    /// Maximum duration of a trial from its order to its end.
    pub longest: Nanos,
    /// Rate limit of one interface; `None` for no limit.
    pub rate: Option<Rate>,
    /// True if the host remains when the testbed ends, unlike a lab's. Changes on such a host are
    /// written to a file for the next agent.
    #[serde(default)]
    pub lasting: bool,
}

impl Terms {
    /// True if the address belongs to the testbed.
    pub fn cover(&self, address: IpAddr) -> bool {
        self.cover_all(AddressBlock::single(address))
    }

    /// True if every address of the range belongs to the testbed.
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
