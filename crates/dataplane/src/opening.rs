//! How a conversation gets through a NAT or a stateful firewall: which end begins, and from which
//! address its packets arrive.
//!
//! Owns the bound on what may be answered: the peer itself or, if the peer is beyond a router, an
//! address in the subnet of the port that heard it, and only a packet with the trial's token. Never
//! sends.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
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

/// Shortest prefix of a subnet that counts as a port's own, by IP version.
const WIDEST_V4: u32 = 8;
const WIDEST_V6: u32 = 32;

/// Subnet of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Subnet {
    own: IpAddr,
    /// Length of the prefix in bits.
    prefix: u32,
}

impl Subnet {
    /// True for another host's address in the subnet; false for its lowest and highest, which are
    /// no host's.
    fn has_host(self, address: IpAddr) -> bool {
        let (width, widest) = if self.own.is_ipv6() { (128, WIDEST_V6) } else { (32, WIDEST_V4) };
        let host_bits = width - self.prefix.min(width);
        let beyond = 1_u128.checked_shl(host_bits).unwrap_or(0).wrapping_sub(1);
        let (own, host) = (bits(self.own), bits(address));
        let within = own | beyond == host | beyond
            && own != host
            && self.own.is_ipv6() == address.is_ipv6()
            && self.prefix >= widest;
        let of_all = host & beyond == 0 || host & beyond == beyond;
        within && !(of_all && host_bits > 1)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Converts the kernel's address form; `None` if it is not an IP address.
pub fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

/// True if a packet from `source` with the trial's token may be answered at the port with the
/// address `local`, though the source is not `peer`: the peer is beyond a router, and the source is
/// in the port's own subnet, as is a router that translates.
pub fn is_translated(local: IpAddr, peer: IpAddr, source: IpAddr) -> bool {
    !is_beside(local, peer) && is_beside(local, source)
}

/// True for another host's address in the subnet of the port with the address `local`.
pub fn is_beside(local: IpAddr, source: IpAddr) -> bool {
    // Every address of a loopback is this host's.
    if local.is_loopback() {
        return false;
    }
    let Ok(interfaces) = getifaddrs() else { return false };
    let subnets = interfaces.filter_map(|interface| {
        let (own, mask) = (ip(&interface.address?)?, ip(&interface.netmask?)?);
        Some(Subnet { own, prefix: bits(mask).count_ones() })
    });
    subnets.filter(|subnet| subnet.own == local).any(|subnet| subnet.has_host(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_the_subnet_are_beside() {
        let check = |prefix: u32, source: &str, beside| {
            let own = if source.contains(':') { "2001:db8::10" } else { "203.0.113.10" };
            let subnet = Subnet { own: own.parse().unwrap(), prefix };
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
        check(64, "2001:db8::1", true);
        check(64, "2001:db8::", false);
        check(64, "2001:db8::10", false);
        check(64, "2001:db8:0:1::1", false);
        check(127, "2001:db8::11", true);
        check(128, "2001:db8::11", false);
        check(16, "2001:db9::1", false);
    }
}
