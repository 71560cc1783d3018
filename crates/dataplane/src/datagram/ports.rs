//! UDP ports of a host, reserved for a flow by sockets that are bound to them.
//!
//! Owns the search for consecutive free ports. Never sends or receives.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use crate::FlowError;

/// First port of the search if the kernel's choice is too high: above the ports of common services.
const LOWEST: u16 = 10_240;

/// Binds a socket whose port has `count - 1` valid ports above it. The upper ones are not bound.
pub(super) fn reserve(address: IpAddr, count: u16) -> Result<UdpSocket, FlowError> {
    let bind = |port| {
        UdpSocket::bind(SocketAddr::new(address, port))
            .map_err(|e| FlowError::kernel("bind udp socket to", address, e))
    };
    let chosen = bind(0)?;
    if fits(port_of(&chosen, address)?, count) {
        return Ok(chosen);
    }
    let highest = u16::MAX - (count - 1);
    (1..=highest)
        .rev()
        .find_map(|port| bind(port).ok())
        .ok_or_else(|| FlowError::Unsuitable(format!("find {count} udp ports in a row")))
}

/// Binds a socket to this port.
pub(super) fn take(address: IpAddr, port: u16) -> Result<UdpSocket, FlowError> {
    let at = SocketAddr::new(address, port);
    UdpSocket::bind(at).map_err(|e| FlowError::kernel("bind udp socket to", at, e))
}

/// Binds sockets at `count` consecutive ports, lowest first. Each accepts what arrives at its port,
/// so that the kernel sends no port-unreachable message.
pub(super) fn reserve_each(address: IpAddr, count: u16) -> Result<Vec<UdpSocket>, FlowError> {
    let first = UdpSocket::bind(SocketAddr::new(address, 0))
        .map_err(|e| FlowError::kernel("bind udp socket to", address, e))?;
    if count == 1 {
        return Ok(vec![first]);
    }
    let begin = port_of(&first, address)?;
    drop(first);
    let mut from = if fits(begin, count) { begin } else { LOWEST };
    let mut wrapped = false;
    loop {
        match row(address, from, count) {
            Ok(sockets) => return Ok(sockets),
            Err((taken, e)) if e.kind() == io::ErrorKind::AddrInUse => {
                if fits(taken.saturating_add(1), count) && taken < u16::MAX {
                    from = taken + 1;
                } else if wrapped {
                    return Err(FlowError::Unsuitable(format!(
                        "find {count} udp ports in a row at {address}"
                    )));
                } else {
                    (from, wrapped) = (LOWEST, true);
                }
            }
            Err((port, e)) => {
                let object = SocketAddr::new(address, port);
                return Err(FlowError::kernel("bind udp socket to", object, e));
            }
        }
    }
}

/// Binds all ports from `first` on; the error names the port that was not available.
fn row(address: IpAddr, first: u16, count: u16) -> Result<Vec<UdpSocket>, (u16, io::Error)> {
    (0..count)
        .map(|offset| {
            let port = first + offset;
            UdpSocket::bind(SocketAddr::new(address, port)).map_err(|e| (port, e))
        })
        .collect()
}

fn port_of(socket: &UdpSocket, address: IpAddr) -> Result<u16, FlowError> {
    let local = socket
        .local_addr()
        .map_err(|e| FlowError::kernel("read the port of udp socket at", address, e))?;
    Ok(local.port())
}

fn fits(first: u16, count: u16) -> bool {
    first.checked_add(count - 1).is_some()
}
