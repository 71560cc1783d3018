//! One interface: what the kernel counted on it, and what its queue dropped.
//!
//! Owns the names that records use. Counts a queueing discipline only at the root, because a root's
//! drops hold its children's already. A tunnel's drops before sending go under one name of their
//! own, since its queue is a part of the path under test.

use std::collections::BTreeMap;

use netlink::{Link, Netlink, NetlinkError, Qdisc};
use serde::{Deserialize, Serialize};
use trial::counters::{QDISC_DROPS, TUNNEL_DROPS, TX_DROPPED};

use super::{CountersError, ethtool};

/// Counters that wrap at 32 bits, as the kernel keeps them.
const WRAPS_AT_32_BITS: [&str; 2] = [QDISC_DROPS, "carrier_changes"];

/// One interface's counters at one moment, or their change between two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceCounters {
    /// Kernel name of the interface.
    pub name: String,
    /// True if the interface is up and has a carrier.
    pub running: bool,
    /// Counters by the kernel's names (`rx_packets`, `rx_missed_errors`, `rx_nohandler`,
    /// `carrier_changes`…). Includes `qdisc_drops`, the frames that its queue dropped, and the
    /// driver's PAUSE frame counters.
    pub counters: BTreeMap<String, u64>,
}

/// Reads the named interfaces' counters, in the order of `names`.
pub fn interfaces(names: &[String]) -> Result<Vec<InterfaceCounters>, CountersError> {
    let ask = || -> Result<(Vec<Link>, Vec<Qdisc>), NetlinkError> {
        let mut netlink = Netlink::open()?;
        Ok((netlink.links()?, netlink.qdiscs()?))
    };
    let (links, qdiscs) = ask().map_err(|e| CountersError::Netlink(Box::new(e)))?;
    names
        .iter()
        .map(|name| {
            let link = links
                .iter()
                .find(|link| link.name == *name)
                .ok_or_else(|| CountersError::NoInterface { name: name.clone() })?;
            Ok(counters(link, &qdiscs))
        })
        .collect()
}

impl InterfaceCounters {
    /// Returns the change of every counter since `before`, zeros kept; `running` only if true in
    /// both.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let change = |(name, now): (&String, &u64)| {
            let then = before.counters.get(name).copied().unwrap_or(0);
            let by = if WRAPS_AT_32_BITS.contains(&name.as_str()) {
                u64::from((*now as u32).wrapping_sub(then as u32))
            } else {
                now.saturating_sub(then)
            };
            (name.clone(), by)
        };
        Self {
            name: self.name.clone(),
            running: self.running && before.running,
            counters: self.counters.iter().map(change).collect(),
        }
    }
}

fn counters(link: &Link, qdiscs: &[Qdisc]) -> InterfaceCounters {
    let mut counters: BTreeMap<String, u64> =
        link.stats.named().map(|(name, value)| (name.to_owned(), value)).collect();
    let dropped = qdiscs
        .iter()
        .filter(|qdisc| qdisc.index == link.index && qdisc.root)
        .map(|qdisc| u64::from(qdisc.stats.drops))
        .sum();
    counters.insert(QDISC_DROPS.to_owned(), dropped);
    if link.is_tunnel() {
        join_tunnel_drops(&mut counters);
    }
    if let Some(changes) = link.carrier_changes {
        counters.insert("carrier_changes".to_owned(), u64::from(changes));
    }
    counters.extend(ethtool::pause_frames(&link.name));
    InterfaceCounters { name: link.name.clone(), running: link.running, counters }
}

/// Replaces the drops of a tunnel's queue and device by their sum.
fn join_tunnel_drops(counters: &mut BTreeMap<String, u64>) {
    let own = [QDISC_DROPS, TX_DROPPED].iter().filter_map(|name| counters.remove(*name)).sum();
    counters.insert(TUNNEL_DROPS.to_owned(), own);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(running: bool, pairs: &[(&str, u64)]) -> InterfaceCounters {
        InterfaceCounters {
            name: "eth1".to_owned(),
            running,
            counters: pairs.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        }
    }

    #[test]
    fn a_tunnels_drops_have_one_name() {
        let mut drops = of(true, &[("qdisc_drops", 3), ("tx_dropped", 4), ("rx_dropped", 1)]);
        join_tunnel_drops(&mut drops.counters);
        assert_eq!(drops, of(true, &[("rx_dropped", 1), ("tunnel_drops", 7)]));
    }

    #[test]
    fn changes_keep_zeros_and_wrap_where_the_kernel_does() {
        let before =
            of(true, &[("rx_packets", 10), ("qdisc_drops", u64::from(u32::MAX)), ("tx", 3)]);
        let after = of(true, &[("rx_packets", 10), ("qdisc_drops", 4), ("tx", 1)]);
        let change = after.since(&before);
        assert_eq!(change, of(true, &[("rx_packets", 0), ("qdisc_drops", 5), ("tx", 0)]));
        assert!(!after.since(&of(false, &[])).running);
    }
}
