//! New connections that have not identified themselves yet.
//!
//! Owns the wait for a hello, and the rejections: a wrong address at once, an invalid hello when it
//! arrives, the longest-silent connection if too many wait. Never keeps a foreign connection, and
//! never lets a silent one delay a flow.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use measure::Nanos;
use measure::reading::Rejected;
use nix::poll::PollFlags;

use crate::hello::{self, Hello};
use crate::socket::is_pause;
use crate::stream::wait_for;
use crate::{FlowError, clock};

/// Maximum connections without a hello; the longest-silent one is dropped beyond that.
const MOST_PENDING: usize = 64;

/// Interval between checks for an expected hello.
const HELLO_POLL: Nanos = Nanos::from_millis(2);

/// Listening socket and its new connections.
#[derive(Debug)]
pub(crate) struct Newcomers {
    listener: TcpListener,
    port: u16,
    peer: IpAddr,
    pending: Vec<Pending>,
    rejected: Rejected,
}

/// Connection that has not identified itself yet.
#[derive(Debug)]
struct Pending {
    tcp: TcpStream,
    said: [u8; hello::OCTETS],
    octets: usize,
}

/// Result of reading a hello.
enum Said {
    Nothing,
    Hello(Hello),
    Rubbish,
}

impl Newcomers {
    /// Listens at the address, for `peer` only; the kernel chooses the port.
    pub(crate) fn listen(local: IpAddr, peer: IpAddr) -> Result<Self, FlowError> {
        let failed = |e| FlowError::kernel("listen for tcp at", local, e);
        let listener = TcpListener::bind(SocketAddr::new(local, 0)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let rejected = Rejected::default();
        Ok(Self { listener, port, peer, pending: Vec::new(), rejected })
    }

    /// Port to connect to.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) const fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Waits briefly for new connections, at most until `closed`; returns those that have sent a
    /// hello by now.
    pub(crate) fn greeted(&mut self, closed: Nanos) -> io::Result<Vec<(TcpStream, Hello)>> {
        self.accept(closed)?;
        let mut known = Vec::new();
        for mut one in std::mem::take(&mut self.pending) {
            match one.listen() {
                Said::Nothing => self.pending.push(one),
                Said::Hello(hello) => known.push((one.tcp, hello)),
                Said::Rubbish => self.rejected.malformed += 1,
            }
        }
        Ok(known)
    }

    /// Rejects a connection whose hello is not ours.
    pub(crate) const fn turn_away(&mut self) {
        self.rejected.foreign += 1;
    }

    /// Counts of rejected connections, including those that never sent anything.
    pub(crate) fn rejected(&self) -> Rejected {
        let silent = self.pending.len() as u64;
        Rejected { malformed: self.rejected.malformed + silent, ..self.rejected }
    }

    fn accept(&mut self, closed: Nanos) -> io::Result<()> {
        let soon = clock::monotonic() + HELLO_POLL;
        let until = if self.pending.is_empty() { closed } else { soon.min(closed) };
        if !wait_for(&self.listener, PollFlags::POLLIN, until)? {
            return Ok(());
        }
        loop {
            match self.listener.accept() {
                Ok((tcp, from)) => {
                    if !same_host(from.ip(), self.peer) || tcp.set_nonblocking(true).is_err() {
                        self.rejected.foreign += 1;
                        continue;
                    }
                    if self.pending.len() == MOST_PENDING {
                        self.pending.remove(0);
                        self.rejected.malformed += 1;
                    }
                    self.pending.push(Pending { tcp, said: [0; hello::OCTETS], octets: 0 });
                }
                Err(e) if is_pause(&e) => return Ok(()),
                // A connection that closed before it was accepted.
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Pending {
    fn listen(&mut self) -> Said {
        while self.octets < hello::OCTETS {
            match self.tcp.read(&mut self.said[self.octets..]) {
                Ok(0) => return Said::Rubbish,
                Ok(octets) => self.octets += octets,
                Err(e) if is_pause(&e) => return Said::Nothing,
                Err(_) => return Said::Rubbish,
            }
        }
        Hello::parse(&self.said).map_or(Said::Rubbish, Said::Hello)
    }
}

/// True if both are the same host; an IPv4 peer may appear as an IPv6-mapped address.
pub(crate) fn same_host(one: IpAddr, other: IpAddr) -> bool {
    one.to_canonical() == other.to_canonical()
}
