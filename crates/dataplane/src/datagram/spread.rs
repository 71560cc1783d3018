//! Addresses and ports of frame i of a flow, and the number of frames until they repeat.
//!
//! Pure arithmetic: value i of each is the base plus i modulo its count. Never checks whether an
//! address is in use.

use std::net::{IpAddr, SocketAddr};

use measure::sequence::repeats_after;
use trial::Destination;
use trial::topology::AddressBlock;
use wire::MacAddr;

use super::{Spread, Traffic};
use crate::FlowError;

impl Traffic {
    /// True if all frames have the same headers.
    pub(crate) fn is_plain(&self) -> bool {
        self.spread() == Spread::NONE && self.asked.destination.is_receiver()
    }

    /// Number of frames until the headers repeat.
    pub(crate) fn period(&self) -> u64 {
        let stations = match self.asked.destination {
            Destination::Receiver | Destination::Broadcast => 1,
            Destination::Stations { count, .. } => u64::from(count.max(1)),
        };
        repeats_after([self.spread().conversations(), stations])
    }

    /// Receiver's own address on the link; `None` if not stated.
    pub(crate) fn stated_mac(&self) -> Option<MacAddr> {
        self.mac.filter(|_| self.asked.destination.is_receiver()).map(mac_address)
    }

    /// Destination MAC address of frame `number`.
    pub(crate) fn addressed(&self, next_hop: MacAddr, number: u64) -> MacAddr {
        match self.asked.destination {
            Destination::Receiver => next_hop,
            Destination::Broadcast => MacAddr::BROADCAST,
            Destination::Stations { count, .. } => self.station(number, count),
        }
    }

    /// MAC address of one of `count` stations.
    pub(super) fn station(&self, number: u64, count: u32) -> MacAddr {
        mac_address(self.mac.unwrap_or_default() + number % u64::from(count.max(1)))
    }

    /// Refuses counts of zero, and ranges that are not of `like`'s version or run past its end.
    pub(crate) fn check_spread(&self, like: IpAddr) -> Result<(), FlowError> {
        let Spread { source_ports, destination_ports, sources, destinations } = self.spread();
        if source_ports == 0 || destination_ports == 0 {
            return Err(unsuitable("spread over no ports"));
        }
        if matches!(self.asked.destination, Destination::Stations { count: 0, .. }) {
            return Err(unsuitable("spread over no stations"));
        }
        for range in [sources, destinations].into_iter().flatten() {
            let AddressBlock { first, count } = range;
            if count == 0 {
                return Err(unsuitable("spread over no addresses"));
            }
            if first.is_ipv4() != like.is_ipv4() {
                return Err(unsuitable(&format!(
                    "spread over addresses from {first} on, in frames between others like {like}"
                )));
            }
            if range.checked_at(count - 1).is_none() {
                return Err(unsuitable(&format!("spread over {count} addresses from {first} on")));
            }
        }
        Ok(())
    }
}

impl Spread {
    /// Number of frames until the IP addresses and ports repeat.
    pub fn conversations(&self) -> u64 {
        let addresses = |range: Option<AddressBlock>| range.map_or(1, |range| range.count);
        let counts = [
            self.source_ports,
            self.destination_ports,
            addresses(self.sources),
            addresses(self.destinations),
        ];
        repeats_after(counts.map(u64::from))
    }

    /// Source of frame `number`; the first one is at `base`.
    #[inline]
    pub(crate) fn source(&self, base: SocketAddr, number: u64) -> SocketAddr {
        place(base, self.source_ports, self.sources, number)
    }

    /// True if an address is one of those that sources are spread over.
    pub(crate) fn has_source(&self, address: IpAddr) -> bool {
        self.sources.is_some_and(|range| (0..range.count.into()).any(|i| range.at(i) == address))
    }

    /// Destination of frame `number`; the first one is at `base`.
    #[inline]
    pub(crate) fn destination(&self, base: SocketAddr, number: u64) -> SocketAddr {
        place(base, self.destination_ports, self.destinations, number)
    }
}

fn mac_address(low: u64) -> MacAddr {
    let [_, _, octets @ ..] = low.to_be_bytes();
    MacAddr(octets)
}

#[inline]
fn place(base: SocketAddr, ports: u16, range: Option<AddressBlock>, number: u64) -> SocketAddr {
    let addresses = range.unwrap_or(AddressBlock::single(base.ip()));
    addresses.end_at(base.port(), ports, number)
}

fn unsuitable(what: &str) -> FlowError {
    FlowError::Unsuitable(what.to_owned())
}

#[cfg(test)]
mod tests {
    use measure::FrameSize;
    use trial::{Backend, Datagrams, Schedule};

    use super::*;

    fn traffic(destination: Destination, mac: Option<u64>) -> Traffic {
        let plain = Datagrams::plain(FrameSize::MIN, Schedule::Greedy, Backend::Auto, 1);
        Traffic { mac, ..Traffic::new(Datagrams { destination, ..plain }, 1) }
    }

    #[test]
    fn each_index_runs_by_itself() {
        let mut flow = traffic(Destination::Receiver, None);
        assert!(flow.is_plain());
        let destinations = AddressBlock { first: "198.18.0.255".parse().unwrap(), count: 4 };
        flow.destinations = Some(destinations);
        flow.asked.headers.spread.source_ports = 2;
        flow.asked.headers.spread.destination_ports = 3;
        let (spread, base) = (flow.spread(), "10.0.0.1:7000".parse().unwrap());
        assert_eq!((flow.period(), flow.is_plain()), (12, false));
        assert_eq!(spread.source(base, 5).to_string(), "10.0.0.1:7001");
        assert_eq!(spread.destination(base, 5).to_string(), "198.18.1.0:7002");
        assert_eq!(spread.destination(base, 12).to_string(), "198.18.0.255:7000");
    }

    #[test]
    fn frames_for_others_on_the_link() {
        let next_hop = MacAddr([2, 0, 0, 0, 0, 9]);
        let stations = Destination::Stations { count: 3, learn_rate: 1, rounds: 1 };
        let all = traffic(stations, Some(0x0257_0000_00ff));
        assert_eq!((all.period(), all.spread().conversations(), all.is_plain()), (3, 1, false));
        let to: Vec<String> = (0..4).map(|i| all.addressed(next_hop, i).to_string()).collect();
        let first = "02:57:00:00:00:ff";
        assert_eq!(to, [first, "02:57:00:00:01:00", "02:57:00:00:01:01", first]);
        assert_eq!(all.stated_mac(), None, "it is a station's");
        let everybody = traffic(Destination::Broadcast, None);
        assert_eq!(everybody.addressed(next_hop, 7), MacAddr::BROADCAST);
        let receiver = traffic(Destination::Receiver, Some(1));
        assert_eq!(receiver.addressed(next_hop, 7), next_hop);
        assert_eq!(receiver.stated_mac(), Some(MacAddr([0, 0, 0, 0, 0, 1])));
    }

    #[test]
    fn ranges_that_cannot_be() {
        let v4: IpAddr = "10.0.0.1".parse().unwrap();
        let check = |first: &str, count| {
            let mut flow = traffic(Destination::Receiver, None);
            flow.sources = Some(AddressBlock { first: first.parse().unwrap(), count });
            flow.check_spread(v4).is_ok()
        };
        assert!(check("10.0.0.1", 65_535));
        assert!(!check("255.255.255.255", 2));
        assert!(!check("10.0.0.1", 0));
        assert!(!check("fd00::1", 1));
        let mut no_ports = traffic(Destination::Receiver, None);
        no_ports.asked.headers.spread.source_ports = 0;
        assert!(no_ports.check_spread(v4).is_err());
    }
}
