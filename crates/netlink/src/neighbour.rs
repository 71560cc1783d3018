//! Neighbours: the Ethernet address for an IP address on a link.
//!
//! Owns RTM_*NEIGH. Never sends an ARP request itself: an unknown address stays unknown.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::RouteType;
use nix::errno::Errno;

use crate::address::family;
use crate::conversation::Context;
use crate::{Netlink, NetlinkError};

impl Netlink {
    /// Ethernet address known for `ip` on a link; `None` while it is unknown or unreachable. Needs
    /// Linux 5.0.
    pub fn neighbour(&mut self, index: u32, ip: IpAddr) -> Result<Option<[u8; 6]>, NetlinkError> {
        let context = Context { deed: "look up neighbour", object: &ip };
        let request = RouteNetlinkMessage::GetNeighbour(about(index, ip));
        let answers = match self.route.ask(context, request, 0) {
            Err(error) if error.errno() == Some(Errno::ENOENT) => return Ok(None),
            answers => answers?,
        };
        Ok(answers.iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewNeighbour(neighbour) => known_mac(neighbour),
            _ => None,
        }))
    }

    /// Adds a permanent neighbour entry: `ip` is at `mac` on a link. The kernel then never sends a
    /// request for it.
    pub fn add_permanent_neighbour(
        &mut self,
        index: u32,
        ip: IpAddr,
        mac: [u8; 6],
    ) -> Result<(), NetlinkError> {
        let mut message = about(index, ip);
        message.header.state = NeighbourState::Permanent;
        message.header.kind = RouteType::Unicast;
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
        let context = Context { deed: "add permanent neighbour", object: &ip };
        let request = RouteNetlinkMessage::NewNeighbour(message);
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_REPLACE).map(drop)
    }
}

fn about(index: u32, ip: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(ip);
    message.header.ifindex = index;
    message.attributes.push(NeighbourAttribute::Destination(ip.into()));
    message
}

fn known_mac(neighbour: &NeighbourMessage) -> Option<[u8; 6]> {
    if matches!(neighbour.header.state, NeighbourState::Incomplete | NeighbourState::Failed) {
        return None;
    }
    neighbour.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::LinkLayerAddress(octets) => octets.as_slice().try_into().ok(),
        _ => None,
    })
}
