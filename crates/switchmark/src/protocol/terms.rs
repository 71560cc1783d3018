//! What an agent holds itself to, whatever a trial's orders say.
//!
//! Data, and whether it covers an address. Never knows an interface's state: the agent asks its
//! kernel.

use std::net::IpAddr;

use dataplane::datagram::AddressRange;
use measure::{Nanos, Rate};
use serde::{Deserialize, Serialize};

/// The limits of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Between which addresses flows may run: those of the testbed.
    pub addresses: Vec<AddressRange>,
    /// Which interfaces of the host may carry load: the test ports of the testbed.
    pub interfaces: Vec<String>,
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
        self.cover_all(AddressRange { first: address, count: 1 })
    }

    /// Whether every address of a range is one of the testbed's.
    pub fn cover_all(&self, range: AddressRange) -> bool {
        self.addresses.iter().any(|known| contains(known, range))
    }
}

fn contains(known: &AddressRange, range: AddressRange) -> bool {
    let ends = |r: AddressRange| match r.first {
        IpAddr::V4(v4) => (false, u128::from(v4.to_bits()), u128::from(r.count.max(1))),
        IpAddr::V6(v6) => (true, v6.to_bits(), u128::from(r.count.max(1))),
    };
    let ((known_v6, low, width), (v6, first, count)) = (ends(*known), ends(range));
    known_v6 == v6
        && first >= low
        && first.saturating_add(count - 1) <= low.saturating_add(width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_testbeds_addresses() {
        let range = |first: &str, count| AddressRange { first: first.parse().unwrap(), count };
        let terms = Terms {
            addresses: vec![
                range("198.18.0.1", 1),
                range("198.18.64.0", 4096),
                range("2001:2::1", 1),
            ],
            interfaces: Vec::new(),
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
