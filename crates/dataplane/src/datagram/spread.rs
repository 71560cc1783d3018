//! Which addresses and ports frame i of a flow has, and how long it takes until they repeat.
//!
//! Pure arithmetic: value i of each is the base plus i modulo its count. Never asks whether an
//! address is anybody's.

use std::net::{IpAddr, SocketAddr};

use measure::sequence::repeats_after;
use trial::topology::AddressBlock;
use wire::MacAddr;

use super::{Addressee, Spread, Stations};
use crate::FlowError;

impl Spread {
    /// Whether all frames have the same headers.
    pub(crate) fn is_none(&self) -> bool {
        self.conversations() == 1
            && self.sources.is_none()
            && self.destinations.is_none()
            && self.addressee.is_next_hop()
    }

    /// Frames until the headers repeat.
    pub(crate) fn period(&self) -> u64 {
        let stations = match self.addressee {
            Addressee::NextHop | Addressee::Stated(_) | Addressee::Everybody => 1,
            Addressee::Stations(stations) => u64::from(stations.count.max(1)),
        };
        repeats_after([self.conversations(), stations])
    }

    /// To whom frame `number` is addressed on the link.
    pub(crate) fn addressed(&self, next_hop: MacAddr, number: u64) -> MacAddr {
        match self.addressee {
            Addressee::NextHop | Addressee::Stated(_) => next_hop,
            Addressee::Everybody => MacAddr::BROADCAST,
            Addressee::Stations(stations) => stations.at(number),
        }
    }

    /// Frames until the addresses and ports of IP repeat.
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

    /// From where frame `number` comes, the first one from `base`.
    #[inline]
    pub(crate) fn source(&self, base: SocketAddr, number: u64) -> SocketAddr {
        place(base, self.source_ports, self.sources, number)
    }

    /// Whether an address is one of those that sources are spread over.
    pub(crate) fn has_source(&self, address: IpAddr) -> bool {
        self.sources.is_some_and(|range| (0..range.count.into()).any(|i| range.at(i) == address))
    }

    /// Where frame `number` goes, the first one to `base`.
    #[inline]
    pub(crate) fn destination(&self, base: SocketAddr, number: u64) -> SocketAddr {
        place(base, self.destination_ports, self.destinations, number)
    }

    /// Refuses counts of zero, and ranges that are not of `like`'s version or run past its end.
    pub(crate) fn check(&self, like: IpAddr) -> Result<(), FlowError> {
        if self.source_ports == 0 || self.destination_ports == 0 {
            return Err(unsuitable("spread over no ports"));
        }
        if matches!(self.addressee, Addressee::Stations(Stations { count: 0, .. })) {
            return Err(unsuitable("spread over no stations"));
        }
        for range in [self.sources, self.destinations].into_iter().flatten() {
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

impl Stations {
    /// The address of frame `number`'s.
    pub(super) fn at(&self, number: u64) -> MacAddr {
        let address = self.first + number % u64::from(self.count.max(1));
        let [_, _, octets @ ..] = address.to_be_bytes();
        MacAddr(octets)
    }
}

#[inline]
fn place(base: SocketAddr, ports: u16, range: Option<AddressBlock>, number: u64) -> SocketAddr {
    let addresses = range.unwrap_or(AddressBlock::single(base.ip()));
    addresses.end_at((base.port(), ports), number)
}

fn unsuitable(what: &str) -> FlowError {
    FlowError::Unsuitable(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_runs_by_itself() {
        let spread = Spread {
            source_ports: 2,
            destination_ports: 3,
            sources: None,
            destinations: Some(AddressBlock { first: "198.18.0.255".parse().unwrap(), count: 4 }),
            addressee: Addressee::NextHop,
        };
        let base = "10.0.0.1:7000".parse().unwrap();
        assert_eq!(spread.period(), 12);
        assert_eq!(spread.source(base, 5).to_string(), "10.0.0.1:7001");
        assert_eq!(spread.destination(base, 5).to_string(), "198.18.1.0:7002");
        assert_eq!(spread.destination(base, 12).to_string(), "198.18.0.255:7000");
        assert!(!spread.is_none() && Spread::NONE.is_none());
    }

    #[test]
    fn frames_for_others_on_the_link() {
        let next_hop = MacAddr([2, 0, 0, 0, 0, 9]);
        let stations = Stations { first: 0x0257_0000_00ff, count: 3, learn_rate: 1, rounds: 1 };
        let of = |addressee| Spread { addressee, ..Spread::NONE };
        let all = of(Addressee::Stations(stations));
        assert_eq!((all.period(), all.conversations(), all.is_none()), (3, 1, false));
        let to: Vec<String> = (0..4).map(|i| all.addressed(next_hop, i).to_string()).collect();
        let first = "02:57:00:00:00:ff";
        assert_eq!(to, [first, "02:57:00:00:01:00", "02:57:00:00:01:01", first]);
        assert_eq!(of(Addressee::Everybody).addressed(next_hop, 7), MacAddr::BROADCAST);
        assert_eq!(Spread::NONE.addressed(next_hop, 7), next_hop);
    }

    #[test]
    fn ranges_that_cannot_be() {
        let v4: IpAddr = "10.0.0.1".parse().unwrap();
        let range = |first: &str, count| AddressBlock { first: first.parse().unwrap(), count };
        let of = |range| Spread { sources: Some(range), ..Spread::NONE };
        assert!(of(range("10.0.0.1", 65_535)).check(v4).is_ok());
        assert!(of(range("255.255.255.255", 2)).check(v4).is_err());
        assert!(of(range("10.0.0.1", 0)).check(v4).is_err());
        assert!(of(range("fd00::1", 1)).check(v4).is_err());
        assert!(Spread { source_ports: 0, ..Spread::NONE }.check(v4).is_err());
    }
}
