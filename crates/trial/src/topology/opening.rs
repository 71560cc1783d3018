//! What opens a conversation between two ports: a NAT or a stateful firewall lets one way begin and
//! the other only answer.
//!
//! Owns what was learned about each way before a run. A way that nobody asked about counts as open.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Pair, PortRef, Topology};

/// One way between two ports, as it was found before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Port that began.
    pub from: PortRef,
    /// Port that was asked.
    pub to: PortRef,
    /// True if ICMP echo requests are answered.
    pub icmp: bool,
    /// True if UDP datagrams to a free port are answered.
    pub udp: bool,
    /// True if a TCP connection to a free port opens.
    pub tcp: bool,
    /// Source address that `to` sees in place of `from`'s own: a NAT translates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translated: Option<IpAddr>,
}

impl Opening {
    /// True if the way opens in every protocol, and addresses are as they are.
    pub const fn is_plain(&self) -> bool {
        self.icmp && self.udp && self.tcp && self.translated.is_none()
    }

    /// True if it opens in no protocol.
    pub const fn is_shut(&self) -> bool {
        !(self.icmp || self.udp || self.tcp)
    }
}

impl Topology {
    /// Returns what was learned of the way from the pair's first port to its second; `None` if it
    /// is open in every protocol, or nobody asked.
    pub fn opening(&self, pair: &Pair) -> Option<&Opening> {
        self.openings.iter().find(|way| way.from == pair.from && way.to == pair.to)
    }

    /// Address by which `pair.to` sees `pair.from`, if a NAT translates it.
    pub fn translated(&self, pair: &Pair) -> Option<IpAddr> {
        self.opening(pair)?.translated
    }

    /// True if only the pair's second port may begin, in the protocol that `opens` reads.
    pub fn is_opened_by_receiver(&self, pair: &Pair, opens: fn(&Opening) -> bool) -> bool {
        let back = self.opening(&pair.back());
        self.opening(pair).is_some_and(|way| !opens(way)) && back.is_none_or(opens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inside_begins_where_only_it_may() {
        let pair = Pair { from: "lan/eth1".parse().unwrap(), to: "wan/eth1".parse().unwrap() };
        let mut topology = Topology::new("home", Vec::new(), Vec::new());
        let udp: fn(&Opening) -> bool = |way| way.udp;
        assert!(!topology.is_opened_by_receiver(&pair, udp), "nobody asked");
        let way = |pair: &Pair, udp, translated| {
            let (from, to) = (pair.from.clone(), pair.to.clone());
            Opening { from, to, icmp: udp, udp, tcp: true, translated }
        };
        let seen: IpAddr = "203.0.113.1".parse().unwrap();
        topology.openings = vec![way(&pair, true, Some(seen)), way(&pair.back(), false, None)];
        assert!(!topology.is_opened_by_receiver(&pair, udp));
        assert!(topology.is_opened_by_receiver(&pair.back(), udp));
        assert!(!topology.is_opened_by_receiver(&pair.back(), |way| way.tcp));
        assert_eq!(topology.translated(&pair), Some(seen));
        assert_eq!(topology.translated(&pair.back()), None);
        topology.openings[0].udp = false;
        assert!(!topology.is_opened_by_receiver(&pair.back(), udp), "neither may begin");
    }
}
