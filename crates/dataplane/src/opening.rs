//! How a conversation gets through a NAT or a stateful firewall: which end begins, and from which
//! address its packets arrive.
//!
//! Owns the bound on what may be answered: the peer itself or, if the peer is beyond a router, an
//! address in the subnet of the port that heard it, and only a packet with the trial's token. Never
//! sends.

use std::net::{IpAddr, Ipv4Addr};

use nix::ifaddrs::getifaddrs;
use serde::{Deserialize, Serialize};

/// Way in which a flow's conversation is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Opening {
    /// Address from which the peer's packets arrive, if a NAT translates the peer's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translated: Option<IpAddr>,
    /// True if the receiver of the load begins, and the sender answers into what it opened.
    #[serde(default)]
    pub by_receiver: bool,
    /// True if the peer itself is not answered, because the way to it leaves by no test port: only
    /// a router that translates is.
    #[serde(skip)]
    pub only_translated: bool,
    /// Port at which the sender was called and from which it answers; 0 if it was not called.
    #[serde(skip)]
    pub called_at: u16,
}

impl Opening {
    /// Opening by the end that sends, without a NAT.
    pub const PLAIN: Self =
        Self { translated: None, by_receiver: false, only_translated: false, called_at: 0 };
}

/// Mask of the widest subnet that counts as a port's own.
const WIDEST: u32 = 0xff00_0000;

/// IPv4 subnet of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Subnet {
    own: Ipv4Addr,
    mask: u32,
}

impl Subnet {
    /// True for another host's address in the subnet; false for its lowest and highest, which are
    /// no host's.
    const fn has_host(self, address: Ipv4Addr) -> bool {
        let (own, host) = (self.own.to_bits(), address.to_bits());
        let within = own & self.mask == host & self.mask && own != host && self.mask >= WIDEST;
        let of_all = host & !self.mask == 0 || host & !self.mask == !self.mask;
        within && !(of_all && self.mask < u32::MAX - 1)
    }
}

/// True if a packet from `source` with the trial's token may be answered at the port with the
/// address `local`, though the source is not `peer`: the peer is beyond a router, and the source is
/// in the port's own subnet, as is a router that translates.
pub fn is_translated(local: IpAddr, peer: IpAddr, source: IpAddr) -> bool {
    !is_beside(local, peer) && is_beside(local, source)
}

/// True for another host's address in the subnet of the port with the address `local`.
pub fn is_beside(local: IpAddr, source: IpAddr) -> bool {
    let (IpAddr::V4(local), IpAddr::V4(source)) = (local, source) else { return false };
    // Every address of a loopback is this host's.
    if local.is_loopback() {
        return false;
    }
    let Ok(interfaces) = getifaddrs() else { return false };
    let subnets = interfaces.filter_map(|interface| {
        let own = interface.address?.as_sockaddr_in()?.ip();
        let mask = interface.netmask?.as_sockaddr_in()?.ip().to_bits();
        Some(Subnet { own, mask })
    });
    subnets.filter(|subnet| subnet.own == local).any(|subnet| subnet.has_host(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_the_subnet_are_beside() {
        let check = |prefix: u32, source: &str, beside| {
            let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
            let subnet = Subnet { own: Ipv4Addr::new(203, 0, 113, 10), mask };
            assert_eq!(subnet.has_host(source.parse().unwrap()), beside, "{source}/{prefix}");
        };
        check(24, "203.0.113.1", true);
        check(24, "203.0.113.10", false);
        check(24, "203.0.113.0", false);
        check(24, "203.0.113.255", false);
        check(24, "203.0.114.1", false);
        check(31, "203.0.113.11", true);
        check(32, "203.0.113.11", false);
        check(8, "203.9.9.9", true);
        check(7, "203.0.113.1", false);
        check(0, "8.8.8.8", false);
    }
}
