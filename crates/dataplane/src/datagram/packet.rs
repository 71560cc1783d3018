//! A packet socket to send frames by: whole Ethernet frames, past the queueing discipline.
//!
//! Asks the kernel for the egress interface and the next hop's address, so that frames go where the
//! UDP backend's would. A UDP socket keeps the source port reserved meanwhile. Never guesses an
//! address: a next hop that does not answer is an error.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, UdpSocket};
use std::thread;
use std::time::Duration;

use measure::Nanos;
use netlink::{Link, Netlink, NetlinkError};
use wire::{MacAddr, Probe, UdpEndpoints, UdpFrame};

use super::output::Output;
use super::{SenderSpec, socket, udp};
use crate::socket::{TICK, bound_waits};
use crate::{FlowError, clock};

/// The kernel asks for a neighbour three times, a second apart.
const NEIGHBOUR_WAIT: Nanos = Nanos::from_secs(3);
const NEIGHBOUR_POLL: Duration = Duration::from_millis(2);

const UDP: u8 = 17;

/// Why there is no packet output.
pub(super) enum NoPacket {
    /// It does not work here, but UDP may: a clause that says why.
    Unfit(String),
    /// UDP would not work either.
    Failed(FlowError),
}

impl From<FlowError> for NoPacket {
    fn from(error: FlowError) -> Self {
        Self::Failed(error)
    }
}

impl From<NetlinkError> for NoPacket {
    fn from(error: NetlinkError) -> Self {
        let cause =
            std::error::Error::source(&error).map(|c| format!(" ({c})")).unwrap_or_default();
        Self::Unfit(format!("the kernel did not tell the way: {error}{cause}"))
    }
}

/// Opens the packet backend; with a clause about how it sends.
pub(super) fn open(spec: &SenderSpec) -> Result<(Output, String), NoPacket> {
    let reserved = udp::connect(spec)?;
    let (source, destination) = endpoints(&reserved, spec)?;
    let mut netlink = Netlink::open()?;
    let route = netlink.route_to(
        (*destination.ip()).into(),
        Some((*source.ip()).into()),
        source.port(),
        destination.port(),
        UDP,
    )?;
    let link = link(&mut netlink, route.index)?;
    let Some(source_mac) = ethernet_address(&link) else {
        return Err(NoPacket::Unfit(format!(
            "the route leaves by {}, which is no Ethernet interface",
            link.name
        )));
    };
    let (packet, bypasses) = socket_on(&link)?;
    let next_hop = route.gateway.unwrap_or(IpAddr::V4(*destination.ip()));
    let destination_mac = next_hop_mac(&mut netlink, &link, next_hop, &reserved, spec)?;
    let frame = UdpFrame::new(
        &UdpEndpoints { source_mac, destination_mac, source, destination },
        spec.identity.token,
        spec.identity.flow,
        spec.frames.largest().octets_without_fcs() as usize,
    )
    .map_err(|e| FlowError::Unsuitable(format!("build frames of {} octets: {e}", spec.frames)))?;
    let how = match bypasses {
        Ok(()) => format!("frames go straight to {}, past its queue", link.name),
        Err(e) => format!(
            "frames go through the queue of {}, which could not be passed by ({e})",
            link.name
        ),
    };
    Ok((Output::packet(packet, reserved, frame), how))
}

fn endpoints(
    reserved: &UdpSocket,
    spec: &SenderSpec,
) -> Result<(SocketAddrV4, SocketAddrV4), FlowError> {
    let source = reserved
        .local_addr()
        .map_err(|e| FlowError::kernel("read the port of udp socket to", spec.remote, e))?;
    match (source, spec.remote) {
        (SocketAddr::V4(source), SocketAddr::V4(destination)) => Ok((source, destination)),
        (_, other) => Err(udp::check_version(other.ip()).err().unwrap_or_else(|| {
            FlowError::Unsuitable(format!("send from {source} to {other}: versions differ"))
        })),
    }
}

fn link(netlink: &mut Netlink, index: u32) -> Result<Link, NoPacket> {
    netlink
        .links()?
        .into_iter()
        .find(|link| link.index == index)
        .ok_or_else(|| NoPacket::Unfit(format!("the route leaves by link {index}, which is gone")))
}

/// The link's own address, where it speaks Ethernet: loopback's is all zeros.
fn ethernet_address(link: &Link) -> Option<MacAddr> {
    link.mac.filter(|mac| *mac != [0; 6]).map(MacAddr)
}

/// The socket, and whether it bypasses the queueing discipline.
fn socket_on(link: &Link) -> Result<(std::os::fd::OwnedFd, io::Result<()>), NoPacket> {
    let packet = socket::packet_sender(link.index).map_err(|e| {
        NoPacket::Unfit(match e.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                "raw packets are not permitted (CAP_NET_RAW is missing)".to_owned()
            }
            _ => format!("there is no packet socket on {} ({e})", link.name),
        })
    })?;
    bound_waits(&packet, TICK)
        .map_err(|e| FlowError::kernel("bound the waits of packet socket on", &link.name, e))?;
    let bypasses = socket::bypass_qdisc(&packet);
    Ok((packet, bypasses))
}

/// Has the kernel resolve the next hop by sending it a learning datagram, which is never counted.
fn next_hop_mac(
    netlink: &mut Netlink,
    link: &Link,
    next_hop: IpAddr,
    reserved: &UdpSocket,
    spec: &SenderSpec,
) -> Result<MacAddr, NoPacket> {
    let begun = clock::monotonic();
    let mut asked = false;
    loop {
        if let Some(mac) = netlink.neighbour(link.index, next_hop)? {
            return Ok(MacAddr(mac));
        }
        if !asked {
            let mut payload = vec![0; Probe::LEN];
            udp::learning_probe(spec).emit(&mut payload);
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
