//! An address with its prefix, as files and the command line write it.
//!
//! Pure. Never asks a host whether it has it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::source::Fault;
use super::typed::Text;

/// Network that a port's address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IpNetwork {
    lowest: IpAddr,
    prefix: u8,
}

impl IpNetwork {
    /// Network of a port's address, which is checked.
    pub(super) fn of_port(text: &Text) -> Result<Self, Fault> {
        let (address, prefix) = checked(text)?;
        Ok(Self { lowest: lowest(address, prefix), prefix })
    }
}

/// Lowest address of the network with this prefix that an address is in.
pub(super) fn lowest(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let beyond = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & !beyond).into()
        }
        IpAddr::V6(v6) => {
            let beyond = u128::MAX.checked_shr(prefix.into()).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & !beyond).into()
        }
    }
}

/// A port's address; the prefix is checked and left to the host.
pub(super) fn of_port(text: &Text) -> Result<IpAddr, Fault> {
    checked(text).map(|(address, _)| address)
}

/// A port's address and its prefix length.
fn checked(text: &Text) -> Result<(IpAddr, u8), Fault> {
    let fault = |message: String| {
        Fault::new(
            text.span(),
            message,
            "write the address with its prefix, such as 198.18.0.1/24, or \"auto\" to have one set",
        )
    };
    let (address, prefix) = split(text).map_err(&fault)?;
    if matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local()) {
        return Err(fault(format!("`{address}` is link-local, and leads nowhere by itself")));
    }
    let longest = if address.is_ipv6() { 127 } else { 31 };
    if (1..=longest).contains(&prefix) {
        return Ok((address, prefix));
    }
    Err(fault(format!("`{prefix}` is not a prefix length from 1 to {longest}")))
}

/// Splits an address and its prefix length.
pub(super) fn split(text: &Text) -> Result<(IpAddr, u8), String> {
    let Some((address, prefix)) = text.get_ref().split_once('/') else {
        return Err(format!("address `{}` has no prefix length", text.get_ref()));
    };
    let address = address.parse().map_err(|_| format!("`{address}` is not an IP address"))?;
    let prefix = prefix.parse().map_err(|_| format!("`{prefix}` is not a prefix length"))?;
    Ok((address, prefix))
}
