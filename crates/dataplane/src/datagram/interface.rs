//! Lookup of the interface that has an address of this host.
//!
//! Never asks about routes: a loopback address is reached by any interface, so none can be named
//! for it.

use std::net::IpAddr;

use netlink::{Link, Netlink};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};

use crate::unfit::Unfit;

/// Number and name of the interface of this namespace that has `address`.
pub(super) fn find(address: IpAddr) -> Result<(u32, String), Unfit> {
    let untold = |e: nix::errno::Errno| {
        Unfit::NotHere(format!("the interface of {address} cannot be told ({})", e.desc()))
    };
    let has_it = |own: &nix::sys::socket::SockaddrStorage| match address {
        IpAddr::V4(v4) => own.as_sockaddr_in().is_some_and(|own| own.ip() == v4),
        IpAddr::V6(v6) => own.as_sockaddr_in6().is_some_and(|own| own.ip() == v6),
    };
    let interface = getifaddrs()
        .map_err(untold)?
        .find(|interface| interface.address.as_ref().is_some_and(has_it))
        .ok_or_else(|| Unfit::NotHere(format!("no interface has the address {address}")))?;
    let name = interface.interface_name;
    if interface.flags.contains(InterfaceFlags::IFF_LOOPBACK) {
        return Err(Unfit::NotHere(format!(
            "{address} is {name}'s, which has no wire to count at"
        )));
    }
    Ok((if_nametoindex(name.as_str()).map_err(untold)?, name))
}

/// Refuses an address whose interface carries packets without an Ethernet header, which inputs of
/// whole frames would misread. An address without an interface is accepted.
pub(super) fn check_ethernet(address: IpAddr) -> Result<(), Unfit> {
    match link_of(address) {
        Some(link) if !link.ethernet => {
            Err(Unfit::NotHere(format!("packets on {} have no ethernet header", link.name)))
        }
        _ => Ok(()),
    }
}

/// True if the address is a tunnel's.
pub(super) fn is_tunnel(address: IpAddr) -> bool {
    link_of(address).is_some_and(|link| link.is_tunnel())
}

fn link_of(address: IpAddr) -> Option<Link> {
    let (_, name) = find(address).ok()?;
    Netlink::open().ok()?.link(&name).ok()
}
