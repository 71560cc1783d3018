//! Networks that are too large to write down: a leaf-spine fabric, and a fat tree.
//!
//! Owns their cabling. All switches of one network are alike apart from their number of ports.

use measure::{Nanos, Rate};

use super::Profile;
use super::data::{Device, Link, PortAt};

impl Profile {
    /// Builds `leaves` switches with `hosts` ports for hosts each, and a cable of `up` to each of
    /// `spines` switches. Hosts are at the leaves' first ports.
    pub fn leaf_spine(leaves: u16, spines: u16, hosts: u16, rate: Rate, up: Rate) -> Self {
        let leaf =
            (0..leaves).map(|n| Device::plain(&format!("leaf{}", n + 1), hosts + spines, rate));
        let spine = (0..spines).map(|n| Device::plain(&format!("spine{}", n + 1), leaves, up));
        let mut links = Vec::new();
        for low in 0..leaves {
            for high in 0..spines {
                links.push(cable((low, hosts + high), (leaves + high, low), up));
            }
        }
        Self::of_network("leaf-spine", leaf.chain(spine).collect(), links)
    }

    /// Chains devices: the last port of each is joined to the next one's second to last, or last if
    /// there is no other.
    pub fn in_a_row(devices: Vec<Device>, rate: Rate, delay: Nanos) -> Self {
        let last = devices.len().saturating_sub(1);
        let link = |low: usize| {
            let end = |device: usize, back: u16| PortAt {
                device: device as u16,
                port: devices[device].ports - back,
            };
            let back = if low + 1 == last { 1 } else { 2 };
            Link { a: end(low, 1), b: end(low + 1, back), rate, delay }
        };
        let links = (0..last).map(link).collect();
        Self::of_network("row", devices, links)
    }

    /// Builds a fat tree of switches with `arity` ports each (Al-Fares, Loukissas and Vahdat,
    /// 2008). It has `arity` pods of `arity`/2 edge and `arity`/2 aggregation switches,
    /// (`arity`/2)² core switches, and `arity`³/4 hosts: 1,024 with 16 ports. An odd `arity` is
    /// rounded down to even.
    pub fn fat_tree(arity: u16, rate: Rate) -> Self {
        let half = arity / 2;
        let pods = 2 * half;
        let switch = |name: String| Device::plain(&name, 2 * half, rate);
        let mut devices = Vec::new();
        let mut links = Vec::new();
        for pod in 0..pods {
            for n in 0..half {
                devices.push(switch(format!("edge{}.{}", pod + 1, n + 1)));
            }
            for n in 0..half {
                devices.push(switch(format!("aggregation{}.{}", pod + 1, n + 1)));
            }
            let first = pod * 2 * half;
            for low in 0..half {
                for high in 0..half {
                    links.push(cable((first + low, half + high), (first + half + high, low), rate));
                }
            }
        }
        let cores = pods * 2 * half;
        for n in 0..half * half {
            devices.push(switch(format!("core{}", n + 1)));
            for pod in 0..pods {
                let aggregation = pod * 2 * half + half + n / half;
                links.push(cable((aggregation, half + n % half), (cores + n, pod), rate));
            }
        }
        Self::of_network("fat-tree", devices, links)
    }
}

fn cable(a: (u16, u16), b: (u16, u16), rate: Rate) -> Link {
    let end = |(device, port)| PortAt { device, port };
    Link { a: end(a), b: end(b), rate, delay: Nanos::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn their_hosts_and_cables_are_counted() {
        let rate = Rate(10_000_000_000);
        let tree = Profile::fat_tree(16, rate);
        assert_eq!((tree.edges(), tree.devices().len(), tree.links().len()), (1024, 320, 2048));
        let fabric = Profile::leaf_spine(4, 2, 12, rate, Rate(40_000_000_000));
        assert_eq!((fabric.edges(), fabric.devices().len(), fabric.links().len()), (48, 6, 8));
        assert_eq!(fabric.edge_name(crate::Edge(12)), "leaf2/1");
    }
}
