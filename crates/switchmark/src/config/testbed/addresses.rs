//! The file's addresses: of a port, and the blocks behind it that flows may vary.
//!
//! Pure. Never asks a host whether it has them.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use trial::topology::{AddressBlock, Host, HostPort, PortRef};

use super::HostFile;
use crate::config::address::{lowest, split};
use crate::config::source::Fault;
use crate::config::typed::Text;

/// Word for an address that the testbed sets itself.
const OWN: &str = "auto";
/// Subnets of devices' ports, each with a prefix of so many bits (RFC 2544, appendix C.2.2:
/// 198.18.0.0/15 is for benchmarks). A host's second port on a device has the next subnet.
const DEVICES: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const DEVICE_PREFIX: u8 = 20;
const MOST_SUBNETS: usize = 16;
/// Subnets of direct cables, one each.
const CABLES: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 0);
const CABLE_PREFIX: u8 = 30;
const MOST_CABLES: usize = 1 << 14;

/// An address that the testbed sets itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Own {
    /// Address to set.
    pub(super) address: IpAddr,
    /// Prefix length of its subnet, in bits.
    pub(super) prefix: u8,
}

/// Assigns every `address = "auto"`: the same file gives the same addresses.
pub(super) fn own(files: &[HostFile]) -> Result<BTreeMap<PortRef, Own>, Fault> {
    let names: Vec<&str> = files.iter().map(|host| host.name.get_ref().as_str()).collect();
    let (mut subnets, mut cables): (Vec<(String, usize)>, Vec<[PortRef; 2]>) = Default::default();
    let mut all = BTreeMap::new();
    for (number, host) in files.iter().enumerate() {
        let mut on_device: HashMap<String, usize> = HashMap::new();
        for port in &host.port {
            let Ok(end) = port.cable.get_ref().parse::<PortRef>() else { continue };
            let here =
                PortRef { host: host.name.get_ref().clone(), port: port.name.get_ref().clone() };
            let crowded = || {
                let hint = "give some ports addresses of their own";
                Fault::new(port.address.span(), "there is no subnet left for this address", hint)
            };
            let to_host = names.contains(&end.host.as_str());
            let before = on_device.entry(end.host.clone()).or_default();
            let subnet = (end.host.clone(), *before);
            *before += usize::from(!to_host);
            if port.address.get_ref() != OWN {
                continue;
            }
            let own = if to_host {
                let mut ends = [here.clone(), end];
                ends.sort();
                let place = place_of(&mut cables, ends.clone());
                let side = u32::from(ends[1] == here) + 1;
                let first = CABLES.to_bits() + ((place as u32) << (32 - CABLE_PREFIX));
                (place < MOST_CABLES).then(|| (first + side, CABLE_PREFIX))
            } else {
                let place = place_of(&mut subnets, subnet);
                let first = DEVICES.to_bits() + ((place as u32) << (32 - DEVICE_PREFIX));
                let known = place < MOST_SUBNETS && number + 2 < 1 << (32 - DEVICE_PREFIX);
                known.then(|| (first + number as u32 + 1, DEVICE_PREFIX))
            };
            let (bits, prefix) = own.ok_or_else(crowded)?;
            all.insert(here, Own { address: Ipv4Addr::from_bits(bits).into(), prefix });
        }
    }
    Ok(all)
}

/// Returns an item's position among all of them; a new one comes last.
fn place_of<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|known| *known == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// An IPv6 address; the prefix is checked and left to the host.
pub(super) fn v6(text: &Text) -> Result<Ipv6Addr, Fault> {
    const LIKE: &str = "write the address with its prefix, such as 2001:2::1/64";
    let fault = |message: String| Fault::new(text.span(), message, LIKE);
    match split(text).map_err(&fault)? {
        (IpAddr::V6(address), 1..=127) => Ok(address),
        (IpAddr::V6(_), prefix) => {
            Err(fault(format!("`{prefix}` is not a prefix length from 1 to 127")))
        }
        (IpAddr::V4(address), _) => Err(fault(format!("`{address}` is not an IPv6 address"))),
    }
}

/// All addresses of an IPv4 prefix, 65,535 at most.
pub(super) fn block4(text: &Text) -> Result<AddressBlock, Fault> {
    const LIKE: &str = "write the lowest address with the prefix, such as 198.18.64.0/20";
    let fault = |message: String| Fault::new(text.span(), message, LIKE);
    let (IpAddr::V4(first), prefix @ 8..=32) = split(text).map_err(&fault)? else {
        return Err(fault(format!("`{}` is not a block of IPv4, /8…/32", text.get_ref())));
    };
    let lowest = lowest(first.into(), prefix);
    if lowest != first {
        return Err(fault(format!(
            "`{first}` is not the lowest address of its /{prefix}: {lowest}"
        )));
    }
    let beyond = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
    let count = u16::try_from(u64::from(beyond) + 1).unwrap_or(u16::MAX);
    Ok(AddressBlock { first: first.into(), count })
}

/// All addresses of an IPv6 prefix, 65,535 at most.
pub(super) fn block6(text: &Text) -> Result<AddressBlock, Fault> {
    const LIKE: &str = "write the lowest address with the prefix, such as 2001:2:0:1::/112";
    let fault = |message: String| Fault::new(text.span(), message, LIKE);
    let (IpAddr::V6(first), prefix @ 16..=128) = split(text).map_err(&fault)? else {
        return Err(fault(format!("`{}` is not a block of IPv6, /16…/128", text.get_ref())));
    };
    let lowest = lowest(first.into(), prefix);
    if lowest != first {
        return Err(fault(format!(
            "`{first}` is not the lowest address of its /{prefix}: {lowest}"
        )));
    }
    let beyond = u128::MAX.checked_shr(prefix.into()).unwrap_or(0);
    let count = u16::try_from(beyond.saturating_add(1)).unwrap_or(u16::MAX);
    Ok(AddressBlock { first: first.into(), count })
}

/// Checks that all ports' addresses are of one IP version.
pub(super) fn are_alike(files: &[HostFile], hosts: &[Host]) -> Result<(), Fault> {
    let ports =
        || files.iter().zip(hosts).flat_map(|(file, host)| file.port.iter().zip(&host.ports));
    let is_v6 = |port: &HostPort| port.address.is_ipv6();
    let Some((_, first)) = ports().next() else { return Ok(()) };
    let Some((text, other)) = ports().find(|(_, port)| is_v6(port) != is_v6(first)) else {
        return Ok(());
    };
    let v6 = if is_v6(first) { first.address } else { other.address };
    Err(Fault::new(
        text.address.span(),
        format!("`{}` and `{}` cannot reach each other", other.address, first.address),
        format!("give all ports an IPv4 `address` (and {v6} as `address6`), or all an IPv6 one"),
    ))
}

/// Checks that no two ports have the same address.
pub(super) fn are_unique(files: &[HostFile], hosts: &[Host]) -> Result<(), Fault> {
    let mut owner: HashMap<IpAddr, PortRef> = HashMap::new();
    for (written, host) in files.iter().zip(hosts) {
        for (text, port) in written.port.iter().zip(&host.ports) {
            let place = PortRef { host: host.name.clone(), port: port.name.clone() };
            let here = [
                Some((port.address, &text.address)),
                port.address6.map(IpAddr::V6).zip(text.address6.as_ref()),
            ];
            for (address, text) in here.into_iter().flatten() {
                if let Some(other) = owner.insert(address, place.clone()) {
                    return Err(Fault::new(
                        text.span(),
                        format!("address {address} is already that of {other}"),
                        "every test port needs an address of its own",
                    ));
                }
            }
        }
    }
    Ok(())
}
