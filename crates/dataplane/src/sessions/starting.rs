//! Sockets of new connections: TCP's, reset when they are closed, and UDP's, each with a pair of
//! ports of its own.
//!
//! Never waits.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, connect, send, setsockopt,
    socket, sockopt,
};

use crate::socket::disconnect;

/// Ports of this host from which connections may come (`ip_local_port_range`).
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Reason why the kernel did not begin a connection.
pub(super) enum NotBegun {
    /// The tester has no port, file or memory left.
    Tester,
    /// The connection failed at once.
    Failed(Errno),
}

impl From<Errno> for NotBegun {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ECONNREFUSED
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            | Errno::EACCES
            | Errno::EPERM => Self::Failed(errno),
            _ => Self::Tester,
        }
    }
}

/// Socket of a new connection.
pub(super) struct Begun {
    pub(super) socket: OwnedFd,
    /// True if it had one before, and is watched since then.
    pub(super) is_watched: bool,
}

/// Sockets for new connections.
#[derive(Debug)]
pub(super) struct Sockets {
    pairs: PortPairs,
    /// Sockets of reset TCP connections. The next ones take them, which saves half of their cost.
    idle: Vec<OwnedFd>,
}

impl Sockets {
    /// Creates none yet. The far end has so many `ports`; of UDP, the flows begin with this host's
    /// port of number `first`.
    pub(super) fn new(ports: u16, first: u64) -> Self {
        Self { pairs: PortPairs::new(ports, first), idle: Vec::new() }
    }

    /// Begins the TCP connection with this number, to one of the far end's ports in turn. It is
    /// reset when it is closed.
    pub(super) fn tcp(
        &mut self,
        local: SocketAddr,
        mut remote: SocketAddr,
        number: u64,
    ) -> Result<Begun, NotBegun> {
        remote.set_port(remote.port() + (number % self.pairs.peers) as u16);
        let idle = self.idle.pop();
        let is_watched = idle.is_some();
        let socket = idle.map_or_else(|| tcp(local, remote), Ok)?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(remote)) {
            Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => Ok(Begun { socket, is_watched }),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Begins a UDP flow by its first message, between two ports that no other one had.
    pub(super) fn udp(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        message: &[u8],
    ) -> Result<Begun, NotBegun> {
        let socket = self.pairs.udp(local, remote, message)?;
        Ok(Begun { socket, is_watched: false })
    }

    /// Resets a TCP connection, and keeps its socket.
    pub(super) fn reset(&mut self, socket: OwnedFd) {
        self.idle.extend(disconnect(&socket).is_ok().then_some(socket));
    }
}

/// Creates a socket whose connection is reset when it is closed.
fn tcp(local: SocketAddr, remote: SocketAddr) -> Result<OwnedFd, NotBegun> {
    let fd = new(remote, SockType::Stream)?;
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&fd, sockopt::Linger, &at_once).map_err(|_| NotBegun::Tester)?;
    // The port is chosen when the peer is known: one port then serves several of its ports.
    setsockopt(&fd, sockopt::IpBindAddressNoPort, &true).map_err(|_| NotBegun::Tester)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local)).map_err(|_| NotBegun::Tester)?;
    Ok(fd)
}

fn new(remote: SocketAddr, kind: SockType) -> Result<OwnedFd, NotBegun> {
    let family = if remote.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(family, kind, flags, None).map_err(|_| NotBegun::Tester)
}

/// Pairs of ports, of which none comes twice: all of this host's with the peer's first port, then
/// with its second.
#[derive(Debug)]
struct PortPairs {
    lowest: u16,
    count: u64,
    /// Ports of the peer, from that of its address on.
    peers: u64,
    /// Number of this host's port that comes first.
    first: u64,
    taken: u64,
}

impl PortPairs {
    fn new(peers: u16, first: u64) -> Self {
        let (lowest, highest) = fs::read_to_string(RANGE)
            .ok()
            .and_then(|text| range(&text))
            .unwrap_or((32_768, 60_999));
        let count = u64::from(highest.saturating_sub(lowest)) + 1;
        Self { lowest, count, peers: peers.into(), first, taken: 0 }
    }

    /// Begins a flow by its first message, between the next two ports that are free.
    fn udp(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        message: &[u8],
    ) -> Result<OwnedFd, NotBegun> {
        let fd = new(remote, SockType::Datagram)?;
        // A port serves flows to several of the peer's ports.
        setsockopt(&fd, sockopt::ReuseAddr, &true).map_err(|_| NotBegun::Tester)?;
        let mut local = local;
        let remote = loop {
            let (own, peer) = self.next().ok_or(NotBegun::Tester)?;
            local.set_port(own);
            match bind(fd.as_raw_fd(), &SockaddrStorage::from(local)) {
                Ok(()) => break SocketAddr::new(remote.ip(), remote.port() + peer),
                Err(Errno::EADDRINUSE) => {}
                Err(_) => return Err(NotBegun::Tester),
            }
        };
        connect(fd.as_raw_fd(), &SockaddrStorage::from(remote))?;
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        send(fd.as_raw_fd(), message, flags)?;
        Ok(fd)
    }
}

/// This host's port, and how far the peer's is from its first.
impl Iterator for PortPairs {
    type Item = (u16, u16);

    fn next(&mut self) -> Option<(u16, u16)> {
        let (own, peer) = (self.taken % self.count, self.taken / self.count);
        self.taken += 1;
        let own = (own + self.first) % self.count;
        (peer < self.peers).then(|| (self.lowest + own as u16, peer as u16))
    }
}

fn range(text: &str) -> Option<(u16, u16)> {
    let mut ends = text.split_whitespace().map(str::parse);
    match (ends.next()?, ends.next()?) {
        (Ok(lowest), Ok(highest)) if lowest <= highest => Some((lowest, highest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_pair_of_ports_comes_twice() {
        let pairs = PortPairs { lowest: 1000, count: 7, peers: 3, first: 5, taken: 0 };
        let all: Vec<(u16, u16)> = pairs.collect();
        assert_eq!(all.len(), 21);
        assert_eq!(all[..3], [(1005, 0), (1006, 0), (1000, 0)]);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 21);
    }

    #[test]
    fn a_range_of_ports_has_two_ends() {
        assert_eq!(range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(range("5 4"), None);
        assert_eq!(range("32768"), None);
    }
}
