//! A link's IP addresses.
//!
//! Owns RTM_NEWADDR and RTM_DELADDR. Never waits for duplicate address detection: there is none in
//! a lab.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;

use crate::conversation::Context;
use crate::{Netlink, NetlinkError};

impl Netlink {
    /// Gives a link an address; `prefix` is the length of its subnet in bits.
    pub fn add_address(&mut self, index: u32, ip: IpAddr, prefix: u8) -> Result<(), NetlinkError> {
        let mut message = message(index, ip, prefix);
        if ip.is_ipv6() {
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let context = Context { deed: "add address", object: &format_args!("{ip}/{prefix}") };
        let request = RouteNetlinkMessage::NewAddress(message);
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Removes an address from a link; an address that the link does not have is no error.
    pub fn remove_address(
        &mut self,
        index: u32,
        ip: IpAddr,
        prefix: u8,
    ) -> Result<(), NetlinkError> {
        let context = Context { deed: "remove address", object: &format_args!("{ip}/{prefix}") };
        let request = RouteNetlinkMessage::DelAddress(message(index, ip, prefix));
        match self.route.ask(context, request, 0) {
            Err(error) if error.errno() == Some(Errno::EADDRNOTAVAIL) => Ok(()),
            answer => answer.map(drop),
        }
    }
}

fn message(index: u32, ip: IpAddr, prefix: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(ip);
    message.header.prefix_len = prefix;
    message.header.index = index;
    message.attributes = vec![AddressAttribute::Local(ip), AddressAttribute::Address(ip)];
    message
}

pub(crate) fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
