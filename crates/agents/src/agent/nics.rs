//! Ports of this host that a testbed could use, and those that are needed otherwise.
//!
//! Only reads. Never decides where a cable leads: frames do.

use std::fmt;
use std::net::IpAddr;

use dataplane::opening::ip;
use netlink::Netlink;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use super::launcher_connection::LauncherConnection;
use super::{examine, sysfs};
use crate::failed::Failed;
use crate::protocol::{Kept, NicFacts};

/// Address for looking up the default route: TEST-NET-1 (RFC 5737); nothing is sent to it.
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const UDP: u8 = 17;

/// Lists all Ethernet ports: hardware or a virtual cable's end.
pub fn list(connection: &LauncherConnection) -> Result<Vec<NicFacts>, Failed> {
    let failed = |cause| Failed::because("list the ports of this host", cause);
    let mut kernel = Netlink::open().map_err(failed)?;
    let links = kernel.links().map_err(failed)?;
    let default = kernel.route_to(ELSEWHERE, None, 0, 0, UDP).ok().map(|route| route.index);
    let usable = |link: &&netlink::Link| {
        let cable = link.kind.as_deref().is_none_or(|kind| kind == "veth");
        cable && link.mac.is_some_and(|mac| mac != [0; 6])
    };
    Ok(links
        .iter()
        .filter(usable)
        .map(|link| {
            let addresses = addresses(&link.name);
            let ips: Vec<IpAddr> = addresses.iter().map(|own| own.ip).collect();
            let kept = if connection.is_by(&mut kernel, link.index, &ips) {
                Some(Kept::Launcher)
            } else if let Some(master) = link.master {
                let of = links.iter().find(|other| other.index == master);
                Some(Kept::PartOf(of.map_or("a bridge or bond", |other| &other.name).to_owned()))
            } else {
                (default == Some(link.index)).then_some(Kept::DefaultRoute)
            };
            let nic = kernel.nic(&link.name).unwrap_or_default();
            let hardware = || sysfs::look(|sysfs| sysfs.driver(&link.name));
            NicFacts {
                name: link.name.clone(),
                link: examine::to_message(link),
                driver: link.kind.clone().or_else(hardware),
                speed_mbits: nic.speed_mbits,
                full_duplex: nic.full_duplex,
                addresses: addresses.iter().map(ToString::to_string).collect(),
                kept,
            }
        })
        .collect())
}

/// An interface's address with the length of its prefix: `192.0.2.7/24`.
struct OwnAddress {
    ip: IpAddr,
    prefix: u32,
}

impl fmt::Display for OwnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

fn addresses(interface: &str) -> Vec<OwnAddress> {
    let own = getifaddrs().into_iter().flatten().filter(|one| one.interface_name == interface);
    own.filter_map(|one| {
        let ip = ip(&one.address?)?;
        Some(OwnAddress { ip, prefix: one.netmask.as_ref().and_then(prefix_length)? })
    })
    .collect()
}

fn prefix_length(mask: &SockaddrStorage) -> Option<u32> {
    Some(match ip(mask)? {
        IpAddr::V4(v4) => v4.to_bits().leading_ones(),
        IpAddr::V6(v6) => v6.to_bits().leading_ones(),
    })
}
