//! Routing by IPv4 address: the egress port of a packet, and the addresses of its new frame.
//!
//! Owns the routes, which are configured and never learned. The longest matching prefix wins (RFC
//! 1812 §5.2.4.3). Never evaluates anything of a packet but its destination.

use super::mac_table::NumberMap;
use crate::{Frame, Mac, PortAddress};

/// Routes of one router.
#[derive(Debug)]
pub(super) struct Routes {
    /// Router's own MAC address at each port, and the host's there.
    ports: Vec<(Mac, Mac)>,
    /// Port of each network, by prefix length, the longest first.
    lengths: Vec<(u8, NumberMap<u32, u16>)>,
}

impl Routes {
    pub(super) fn new(ports: &[PortAddress]) -> Self {
        let mut routes =
            Self { ports: ports.iter().map(|p| (p.own, p.host)).collect(), lengths: Vec::new() };
        for (edge, port) in ports.iter().enumerate() {
            routes.add(port.address.to_bits(), port.prefix, edge as u16);
            for (network, prefix) in &port.routes {
                routes.add(network.to_bits(), *prefix, edge as u16);
            }
        }
        routes.lengths.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        routes
    }

    fn add(&mut self, address: u32, length: u8, edge: u16) {
        let nth = self.lengths.iter().position(|(l, _)| *l == length).unwrap_or_else(|| {
            self.lengths.push((length, NumberMap::default()));
            self.lengths.len() - 1
        });
        self.lengths[nth].1.insert(network(address, length), edge);
    }

    /// Returns the egress edge of a frame from `edge`, and rewrites its Ethernet addresses.
    #[inline]
    pub(super) fn forward(&self, edge: u16, frame: &mut Frame) -> Option<u16> {
        if frame.destination != self.ports.get(usize::from(edge))?.0 {
            return None;
        }
        let target = frame.target?.to_bits();
        let to = self
            .lengths
            .iter()
            .find_map(|(length, networks)| networks.get(&network(target, *length)))?;
        (frame.source, frame.destination) = self.ports[usize::from(*to)];
        Some(*to)
    }
}

fn network(address: u32, length: u8) -> u32 {
    match length {
        0 => 0,
        _ => address & u32::MAX << (32 - u32::from(length.min(32))),
    }
}
