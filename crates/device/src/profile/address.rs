//! Addresses at a router's ports: the plan that the simulator and labs share.
//!
//! Owns the numbering. Port and host i count from 1 here, as in a lab's plan at its first place:
//!
//! | what | address |
//! |---|---|
//! | link i | 198.18.1.0 + 4(i-1), /30: .1 the router, .2 the host |
//! | block of host i | 198.19.(100+i).0/24, for the first 155 hosts |
//! | MAC of host i | 02:53:4d:01:00:i |
//! | MAC of port i | 02:53:4d:02:00:i |

use std::net::Ipv4Addr;

use crate::{Edge, Mac};

/// Router's addresses and routes at one of its ports, including the host's there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortAddress {
    /// Router's own MAC address there: destination of the host's frames, and source of forwarded
    /// ones.
    pub own: Mac,
    /// MAC address of the host.
    pub host: Mac,
    /// Router's IPv4 address there: the host's gateway.
    pub gateway: Ipv4Addr,
    /// IPv4 address of the host.
    pub address: Ipv4Addr,
    /// Prefix length of their subnet, in bits.
    pub prefix: u8,
    /// Further networks reached through the host, with their prefix lengths.
    pub routes: Vec<(Ipv4Addr, u8)>,
}

/// Planned MAC address of a host, at a switch or at a router.
pub fn host_mac(edge: Edge) -> Mac {
    Mac(0x0253_4d01_0000 + u64::from(edge.0) + 1)
}

/// Planned MAC address of a router port.
pub fn port_mac(edge: Edge) -> Mac {
    Mac(0x0253_4d02_0000 + u64::from(edge.0) + 1)
}

const LINKS: u32 = 0xc612_0100;
const BLOCKS: u32 = 0xc613_6400;
/// Number of address blocks: 198.19.101.0 to 198.19.255.0.
const MOST_BLOCKS: u32 = 155;

impl PortAddress {
    /// Planned addresses of an edge's port.
    pub fn planned(edge: Edge) -> Self {
        let i = u32::from(edge.0) + 1;
        let network = LINKS + 4 * (i - 1);
        let block = (i <= MOST_BLOCKS).then(|| (Ipv4Addr::from_bits(BLOCKS + (i << 8)), 24));
        Self {
            own: port_mac(edge),
            host: host_mac(edge),
            gateway: Ipv4Addr::from_bits(network + 1),
            address: Ipv4Addr::from_bits(network + 2),
            prefix: 30,
            routes: block.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_a_labs() {
        let third = PortAddress::planned(Edge(2));
        assert_eq!(third.gateway, Ipv4Addr::new(198, 18, 1, 9));
        assert_eq!(third.address, Ipv4Addr::new(198, 18, 1, 10));
        assert_eq!(third.routes, [(Ipv4Addr::new(198, 19, 103, 0), 24)]);
        assert_eq!((third.own, third.host), (Mac(0x0253_4d02_0003), Mac(0x0253_4d01_0003)));
    }
}
