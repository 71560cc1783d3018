//! Connections that have still to say whose they are.
//!
//! Owns the wait for a hello, and who is turned away: a wrong address at once, rubbish when it
//! comes, the longest-silent one where too many wait. Never keeps a stranger's connection, and
//! never lets a stranger's silence hold up a flow.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use measure::Nanos;
use measure::reading::Rejected;
use nix::poll::PollFlags;

use crate::hello::{self, Hello};
use crate::socket::is_pause;
use crate::stream::wait_for;
use crate::{FlowError, clock};

/// The most connections that may owe their hello at once; the longest-silent one makes room.
const MOST_PENDING: usize = 64;

/// While a hello is owed, how often to look for it.
const HELLO_POLL: Nanos = Nanos::from_millis(2);

/// A listening socket and those who came to it.
#[derive(Debug)]
pub(crate) struct Newcomers {
    listener: TcpListener,
    port: u16,
    peer: IpAddr,
    pending: Vec<Pending>,
    rejected: Rejected,
}

/// A connection that has not said who it is.
#[derive(Debug)]
struct Pending {
    tcp: TcpStream,
    said: [u8; hello::OCTETS],
    octets: usize,
}

/// What came of reading a hello.
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

    /// Where to connect.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) const fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Waits a moment, and at most until `closed`, for newcomers; those that have said a hello by
    /// now.
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

    /// A hello was none of ours.
    pub(crate) const fn turn_away(&mut self) {
        self.rejected.foreign += 1;
    }

    /// Everybody who was turned away, and whoever never said anything.
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
                // One that left before it was accepted.
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

/// An IPv4 peer may come as an IPv6-mapped address.
pub(crate) fn same_host(one: IpAddr, other: IpAddr) -> bool {
    one.to_canonical() == other.to_canonical()
}
