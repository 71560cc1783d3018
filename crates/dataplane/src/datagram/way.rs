//! Path of a flow's frames: the interface they leave by, and the addresses in their headers.
//!
//! Asks the kernel for the route and for the next hop's address, so that whole frames take the same
//! path as a UDP socket's. A UDP socket reserves the source port while the path exists. Never
//! guesses an address: a next hop that does not answer is an error.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use measure::Nanos;
use measure::sequence::MOST_CONVERSATIONS;
use netlink::{Link, Netlink};
use wire::{MacAddr, Probe, UdpEndpoints};

use super::{Traffic, learning, udp_socket};
use crate::unfit::Unfit;
use crate::{End, FlowError, clock};

/// Longest wait for a neighbour: the kernel asks three times, a second apart.
const NEIGHBOUR_WAIT: Nanos = Nanos::from_secs(3);
const NEIGHBOUR_POLL: Duration = Duration::from_millis(2);

const UDP: u8 = 17;

/// Path and end points of a flow's frames.
#[derive(Debug)]
pub(crate) struct Way {
    /// Number of the outgoing interface in this namespace.
    pub index: u32,
    /// Name of the outgoing interface.
    pub interface: String,
    /// Kernel's type of a virtual interface (`veth`); `None` for hardware.
    pub kind: Option<String>,
    /// MAC address of the interface.
    pub source_mac: MacAddr,
    /// MAC address of the next hop.
    pub next_hop_mac: MacAddr,
    /// Sender's address, and the lowest source port.
    pub source: SocketAddr,
    /// Receiver's address, and the lowest destination port.
    pub destination: SocketAddr,
    /// Connected socket that reserves the source port. It sends only the first learning datagram.
    pub reserved: UdpSocket,
    /// First hop of each conversation, by the number of its first frame, if the kernel spreads the
    /// flow over equal-cost paths. Empty with a single path.
    pub hops: Vec<Hop>,
}

/// First hop of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Number of the outgoing interface.
    pub index: u32,
    /// MAC address of the interface.
    pub source_mac: MacAddr,
    /// MAC address of the next hop.
    pub next_hop_mac: MacAddr,
}

impl Way {
    /// Finds the single path of a flow's frames. May wait three seconds for a next hop that does
    /// not answer.
    pub(crate) fn find(spec: &End<Traffic>) -> Result<Self, Unfit> {
        let way = Self::find_each(spec)?;
        if way.hops.is_empty() {
            return Ok(way);
        }
        Err(Unfit::NotHere(format!(
            "the kernel spreads the flow's conversations over several ways to {}, and this takes one",
            spec.remote.ip()
        )))
    }

    /// Finds the path of every conversation, if they differ; otherwise as [`Self::find`].
    pub(crate) fn find_each(spec: &End<Traffic>) -> Result<Self, Unfit> {
        let (mut way, gateway) = Self::of_first(spec)?;
        let first = way.first_hop();
        // Addresses on the link itself have no next hop of their own to resolve: they need no
        // owner.
        let mut known = vec![((way.index, gateway), first)];
        let mut hops = vec![first];
        let mut netlink = Netlink::open()?;
        let spread = spec.flow.spread();
        for number in 1..spread.conversations().min(MOST_CONVERSATIONS.into()) {
            let from = spread.source(way.source, number);
            let to = spread.destination(spec.remote, number);
            let asked = netlink.route_to(to.ip(), Some(from.ip()), from.port(), to.port(), UDP);
            // The kernel gives no route for source addresses that this host does not own.
            let Ok(route) = asked else { return Ok(way) };
            let key = (route.index, route.gateway);
            if let Some((_, hop)) = known.iter().find(|(known, _)| *known == key) {
                hops.push(*hop);
                continue;
            }
            let next_hop = route.gateway.unwrap_or(to.ip());
            let hop =
                first_hop(&mut netlink, route.index, next_hop, from, to, &way.reserved, spec)?;
            known.push((key, hop));
            hops.push(hop);
        }
        if hops.iter().all(|hop| *hop == first) {
            return Ok(way);
        }
        if spread.conversations() > MOST_CONVERSATIONS.into() {
            return Err(Unfit::NotHere(format!(
                "the kernel spreads the flow's conversations over several ways, and {} are more than \
                 the {MOST_CONVERSATIONS} that it is asked about",
                spread.conversations()
            )));
        }
        way.hops = hops;
        Ok(way)
    }

    /// Finds the path of the first conversation, and its gateway.
    fn of_first(spec: &End<Traffic>) -> Result<(Self, Option<IpAddr>), Unfit> {
        let (reserved, source) = udp_socket::connect(spec)?;
        let mut netlink = Netlink::open()?;
        let (address, ports) = (spec.remote.ip(), (source.port(), spec.remote.port()));
        let route = netlink.route_to(address, Some(source.ip()), ports.0, ports.1, UDP)?;
        let link = link(&mut netlink, route.index)?;
        let Some(source_mac) = ethernet_address(&link) else {
            return Err(Unfit::NotHere(format!(
                "the route leaves by {}, which is no Ethernet interface",
                link.name
            )));
        };
        let next_hop = route.gateway.unwrap_or(address);
        let next_hop_mac = resolve(&mut netlink, &link, next_hop, address, &reserved, spec)?;
        let way = Self {
            index: link.index,
            interface: link.name,
            kind: link.kind,
            source_mac,
            next_hop_mac,
            source,
            destination: spec.remote,
            reserved,
            hops: Vec::new(),
        };
        Ok((way, route.gateway))
    }

    /// First hop of frame `number`.
    pub(crate) fn hop(&self, number: u64) -> Hop {
        let own = self.hops.get(number as usize % self.hops.len().max(1));
        own.copied().unwrap_or_else(|| self.first_hop())
    }

    fn first_hop(&self) -> Hop {
        let Self { index, source_mac, next_hop_mac, .. } = *self;
        Hop { index, source_mac, next_hop_mac }
    }

    /// Addresses and ports of the flow's first frame; a spread counts upwards from here.
    pub(crate) fn endpoints(&self) -> UdpEndpoints {
        UdpEndpoints {
            source_mac: self.source_mac,
            destination_mac: self.next_hop_mac,
            source: self.source,
            destination: self.destination,
        }
    }
}

/// Finds the first hop of a later conversation, whose source port is not reserved.
fn first_hop(
    netlink: &mut Netlink,
    index: u32,
    next_hop: IpAddr,
    from: SocketAddr,
    to: SocketAddr,
    reserved: &UdpSocket,
    spec: &End<Traffic>,
) -> Result<Hop, Unfit> {
    let link = link(netlink, index)?;
    let Some(source_mac) = ethernet_address(&link) else {
        return Err(Unfit::NotHere(format!("{} is no Ethernet interface", link.name)));
    };
    // An address that is not this host's own cannot send a request: the neighbour must be known
    // already.
    let own = UdpSocket::bind(from).and_then(|socket| socket.connect(to).map(|()| socket));
    let asking = own.as_ref().unwrap_or(reserved);
    let next_hop_mac = resolve(netlink, &link, next_hop, to.ip(), asking, spec)?;
    Ok(Hop { index, source_mac, next_hop_mac })
}

fn link(netlink: &mut Netlink, index: u32) -> Result<Link, Unfit> {
    netlink
        .links()?
        .into_iter()
        .find(|link| link.index == index)
        .ok_or_else(|| Unfit::NotHere(format!("the route leaves by link {index}, which is gone")))
}

/// Returns the link's MAC address if it is an Ethernet link: loopback's is all zeros.
fn ethernet_address(link: &Link) -> Option<MacAddr> {
    link.mac.filter(|mac| *mac != [0; 6]).map(MacAddr)
}

/// Makes the kernel resolve the next hop by sending it a learning datagram, which is never counted.
/// A far end on this link whose address is stated is not asked.
fn resolve(
    netlink: &mut Netlink,
    link: &Link,
    next_hop: IpAddr,
    to: IpAddr,
    reserved: &UdpSocket,
    spec: &End<Traffic>,
) -> Result<MacAddr, Unfit> {
    if let Some(mac) = spec.flow.stated_mac().filter(|_| next_hop == to) {
        return Ok(mac);
    }
    let begun = clock::monotonic();
    let mut asked = false;
    loop {
        if let Some(mac) = netlink.neighbour(link.index, next_hop)? {
            return Ok(MacAddr(mac));
        }
        if !asked {
            let mut payload = vec![0; Probe::LEN];
            learning::probe(spec).emit(&mut payload);
            // A refusal shows as no answer below.
            let _ = reserved.send(&payload);
            asked = true;
        }
        let waited = clock::monotonic().saturating_sub(begun);
        if waited >= NEIGHBOUR_WAIT {
            return Err(FlowError::NoAnswer { peer: spec.remote, waited: NEIGHBOUR_WAIT }.into());
        }
        thread::sleep(NEIGHBOUR_POLL);
    }
}
