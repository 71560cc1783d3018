//! Requests as ICMP echo, answered by the peer's kernel; arrivals are stamped by ours, as `ping`
//! does.
//!
//! A raw socket where that is permitted, else the kernel's ping socket. Both are connected, so that
//! other addresses' replies do not arrive; another program's ping of the same peer does, and is
//! foreign.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use measure::Nanos;
use nix::sys::socket::{
    MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect as connect_to, send,
    socket as open,
};
use wire::Probe;
use wire::{IcmpEcho, IcmpEchoKind, IcmpVersion};

use super::line::{Arrival, Inbound, Line, Outbound, judge};
use super::{Requests, fit_frame};
use crate::socket::{self, TICK, is_away, is_pause};
use crate::{End, FlowError, Identity, clock, stamp};

/// The longest IPv4 header, which a raw socket receives too; of IPv6 it receives none.
const LONGEST_IP_HEADER_OCTETS: usize = 60;
/// Everything in a request that is not zero.
const HEAD_OCTETS: usize = IcmpEcho::LEN + Probe::LEN;
/// Room for answers of an open loop while the receiving thread waits for its turn.
const RECEIVE_BUFFER_OCTETS: usize = 4 << 20;

/// Kind of socket that the kernel granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The identifier is ours, and an IPv4 header is received too.
    Raw,
    /// `SOCK_DGRAM`: no IP header, and the kernel puts its own identifier in and takes only it out.
    Ping,
}

/// A socket to the peer's kernel.
pub(super) fn connect(end: &End<Requests>) -> Result<Line, FlowError> {
    let (local, remote) = (end.local, end.remote.ip());
    let failed = |deed| move |e: io::Error| FlowError::kernel(deed, remote, e);
    let (socket, kind) = either_kind(remote).map_err(failed("open icmp socket to"))?;
    prepare(&socket, kind, local, remote).map_err(failed("set up icmp socket to"))?;
    let socket = Arc::new(socket);
    let asked = end.flow.asked.frame_size;
    let (frame_size, message) = fit_frame(asked, remote, 0, HEAD_OCTETS);
    let version = IcmpVersion::from_address(remote);
    Ok(Line {
        outbound: Box::new(Sender {
            socket: Arc::clone(&socket),
            version,
            identity: end.identity,
            message: vec![0; message],
        }),
        inbound: Box::new(Receiver {
            socket,
            kind,
            version,
            identity: end.identity,
            message,
            buffer: vec![0; LONGEST_IP_HEADER_OCTETS + message + 1],
        }),
        frame_size,
        segment: None,
        lossy: true,
        remote: SocketAddr::new(remote, 0),
    })
}

fn either_kind(remote: IpAddr) -> io::Result<(OwnedFd, Kind)> {
    let protocol = if remote.is_ipv6() { SockProtocol::IcmpV6 } else { SockProtocol::Icmp };
    let open = |of| open(socket::family(remote), of, SockFlag::SOCK_CLOEXEC, protocol);
    match open(SockType::Raw) {
        Ok(socket) => Ok((socket, Kind::Raw)),
        // What stopped us at first says more than a ping socket's refusal.
        Err(first) => match open(SockType::Datagram) {
            Ok(socket) => Ok((socket, Kind::Ping)),
            Err(_) => Err(first.into()),
        },
    }
}

fn prepare(socket: &OwnedFd, kind: Kind, local: IpAddr, remote: IpAddr) -> io::Result<()> {
    if kind == Kind::Raw {
        socket::only_echo_replies(socket, local.is_ipv6())?;
    }
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(local, 0)))?;
    connect_to(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(remote, 0)))?;
    socket::dont_fragment(socket, local.is_ipv6())?;
    socket::bound_waits(socket, TICK)?;
    socket::enlarge_receive_buffer(socket, RECEIVE_BUFFER_OCTETS);
    stamp::request(socket)
}

/// The identifier of a flow's requests.
fn identifier(identity: Identity) -> u16 {
    identity.flow ^ identity.token as u16
}

struct Sender {
    socket: Arc<OwnedFd>,
    version: IcmpVersion,
    identity: Identity,
    message: Vec<u8>,
}

impl Outbound for Sender {
    fn send(&mut self, sequence: u32, time: Nanos) -> io::Result<()> {
        let Identity { token, flow } = self.identity;
        let probe = Probe { token, flow, sequence, time_ns: time.0 };
        probe.emit(&mut self.message[IcmpEcho::LEN..]);
        // The probe carries the whole number; 16 bits of it serve captures.
        let header = IcmpEcho {
            kind: IcmpEchoKind::Request,
            identifier: identifier(self.identity),
            sequence: sequence as u16,
        };
        // The filler behind is zeros, which the checksum does not notice.
        header.emit(self.version, &mut self.message[..HEAD_OCTETS]);
        send(self.socket.as_raw_fd(), &self.message, MsgFlags::MSG_NOSIGNAL)?;
        Ok(())
    }
}

struct Receiver {
    socket: Arc<OwnedFd>,
    kind: Kind,
    version: IcmpVersion,
    identity: Identity,
    message: usize,
    buffer: Vec<u8>,
}

impl Inbound for Receiver {
    fn receive(&mut self) -> io::Result<Arrival> {
        let (length, kernel) = match stamp::receive(&*self.socket, &mut self.buffer) {
            Ok(received) => received,
            Err(e) if is_pause(&e) || is_away(&e) => return Ok(Arrival::Nothing),
            Err(e) => return Err(e),
        };
        let at = kernel.unwrap_or_else(clock::monotonic);
        let header = match (self.kind, self.version) {
            (Kind::Raw, IcmpVersion::V4) => usize::from(self.buffer[0] & 0x0F) * 4,
            (Kind::Raw, IcmpVersion::V6) | (Kind::Ping, _) => 0,
        };
        let Some(message) = self.buffer[..length].get(header..) else {
            return Ok(Arrival::Malformed);
        };
        let Ok((echo, payload)) = IcmpEcho::parse(self.version, message) else {
            return Ok(Arrival::Malformed);
        };
        if echo.kind != IcmpEchoKind::Reply
            || (self.kind == Kind::Raw && echo.identifier != identifier(self.identity))
        {
            return Ok(Arrival::Foreign);
        }
        if message.len() != self.message {
            return Ok(Arrival::Malformed);
        }
        Ok(judge(Probe::parse(payload).ok(), self.identity, at, kernel.is_some()))
    }
}
