//! Far end of TCP connections: accepts them, and answers each message with the same message.
//!
//! Owns the listening ports, which are consecutive. Never keeps a connection of another peer, and
//! never closes one of the flow's own before its opener does.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{Backlog, MsgFlags, listen, recv, send, setsockopt, sockopt};
use trial::record::SessionsRecord;
use trial::{Hold, Sessions};

use super::table::Table;
use super::{FAR_ENDS, Readiness, consecutive, demand, is_over, is_own};
use crate::hello::{self, Hello};
use crate::socket::{self, is_pause};
use crate::{End, FlowError, Halt, Window, clock};

/// Octets read at once. A read that fills them may have left more; others took all there was.
const ROOM: usize = 2 * hello::OCTETS;

/// Most connections accepted before the others' messages are answered.
const BATCH: usize = 64;

/// Extended TCP counters of this thread's network namespace.
const NETSTAT: &str = "/proc/thread-self/net/netstat";

/// Listening end of a flow's connections.
#[derive(Debug)]
pub(super) struct Listening {
    listeners: Vec<TcpListener>,
    port: u16,
    end: End<Sessions>,
    drops_before: u64,
}

/// Accepted connection.
struct Accepted {
    tcp: TcpStream,
    said: [u8; ROOM],
    octets: usize,
    known: bool,
}

impl Listening {
    pub(super) fn open(end: &End<Sessions>) -> Result<Self, FlowError> {
        let (listeners, port) = listen_at(end)?;
        Ok(Self { listeners, port, end: end.clone(), drops_before: listen_drops() })
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Accepts and answers until the window closes.
    pub(super) fn run(self, window: Window, halt: &Halt) -> Result<SessionsRecord, FlowError> {
        let failed = |e: nix::Error| FlowError::kernel("accept at port", self.port, e.into());
        let mut readiness = Readiness::new()?;
        for listener in &self.listeners {
            readiness.watch(listener, EpollFlags::EPOLLIN).map_err(failed)?;
        }
        let mut open = Table::new();
        let mut record = SessionsRecord::default();
        let mut asks = self.end.flow.far_end_asks();
        loop {
            let now = clock::monotonic();
            if now >= window.closed || halt.is_requested() {
                break;
            }
            if asks && now >= window.stop {
                asks = false;
                self.ask(&mut open);
            }
            let until = if asks { window.stop } else { window.closed };
            for (at, flags) in readiness.wait(now, until).map_err(failed)? {
                let listener = self.listeners.iter().find(|it| it.as_raw_fd() as usize == at);
                match listener {
                    Some(listener) => {
                        self.accept(listener, &readiness, &mut open, &mut record)?;
                    }
                    None => self.answer(at, flags, &mut open, &mut record),
                }
            }
        }
        record.listen_drops += listen_drops().saturating_sub(self.drops_before);
        Ok(record)
    }

    /// Asks every connection that the flow still has. What finds no room is not asked again: each
    /// has sent a few octets.
    fn ask(&self, open: &mut Table<Accepted>) {
        let hello = Hello { identity: self.end.identity, stream: FAR_ENDS }.emit();
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        for at in open.in_use() {
            if let Some(accepted) = open.get(at).filter(|accepted| accepted.known) {
                let _ = send(accepted.tcp.as_raw_fd(), &hello, flags);
            }
        }
    }

    fn accept(
        &self,
        listener: &TcpListener,
        readiness: &Readiness,
        open: &mut Table<Accepted>,
        record: &mut SessionsRecord,
    ) -> Result<(), FlowError> {
        for _ in 0..BATCH {
            let (tcp, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if is_pause(&e) => break,
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
                // Without a free descriptor the connection stays in the kernel's queue, unanswered.
                Err(e) if matches!(e.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    record.listen_drops += 1;
                    break;
                }
                Err(e) => return Err(FlowError::kernel("accept at port", self.port, e)),
            };
            if !self.end.may_answer(from.ip()) {
                record.rejected.foreign += 1;
                continue;
            }
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
            let mut accepted = Accepted { tcp, said: [0; ROOM], octets: 0, known: false };
            if accepted.answer(&self.end, record) && readiness.watch(&accepted.tcp, flags).is_ok() {
                let at = accepted.tcp.as_raw_fd();
                open.insert(&at, accepted);
            }
        }
        Ok(())
    }

    fn answer(
        &self,
        at: usize,
        flags: EpollFlags,
        open: &mut Table<Accepted>,
        record: &mut SessionsRecord,
    ) {
        let Some(accepted) = open.get(at) else { return };
        // Nothing can be said over a connection that was reset.
        let is_reset = flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
        let keeps = !is_reset && accepted.answer(&self.end, record);
        if !keeps || is_over(flags) {
            drop(open.take(at));
        }
    }
}

impl Accepted {
    /// Answers every whole message that has arrived. False if the connection is over, or not the
    /// flow's.
    fn answer(&mut self, end: &End<Sessions>, record: &mut SessionsRecord) -> bool {
        let socket = self.tcp.as_raw_fd();
        loop {
            match recv(socket, &mut self.said[self.octets..], MsgFlags::MSG_DONTWAIT) {
                Ok(0) => return false,
                Ok(octets) => self.octets += octets,
                Err(Errno::EAGAIN | Errno::EINTR) => return true,
                Err(_) => return false,
            }
            let is_all = self.octets < ROOM;
            while let Some(said) = self.said[..self.octets].first_chunk::<{ hello::OCTETS }>() {
                if !is_own(Hello::parse(said), end, &mut record.rejected) {
                    return false;
                }
                record.accepted += u64::from(!self.known);
                self.known = true;
                let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
                if send(socket, said, flags).is_err() {
                    return false;
                }
                self.said.copy_within(hello::OCTETS.., 0);
                self.octets -= hello::OCTETS;
            }
            if is_all {
                return true;
            }
        }
    }
}

/// Listens at as many consecutive ports as the flow needs; the kernel chooses the first, which is
/// returned too.
fn listen_at(end: &End<Sessions>) -> Result<(Vec<TcpListener>, u16), FlowError> {
    let at = |port| -> io::Result<TcpListener> {
        let listener = TcpListener::bind(SocketAddr::new(end.local, port))?;
        // The standard library asks for a queue of 128.
        listen(&listener, Backlog::MAXCONN)?;
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&listener, sockopt::Linger, &at_once)?;
        listener.set_nonblocking(true)?;
        if end.flow.hold == Hold::Answered {
            // Its message has then arrived: one system call less for each connection.
            socket::set(listener.as_fd(), libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, &1)?;
        }
        Ok(listener)
    };
    let port_of = |listener: &TcpListener| Ok(listener.local_addr()?.port());
    demand::all_ports(end, consecutive(0, end.flow.ports(), at, port_of))
}

/// Connections that the kernel dropped at full queues, in this thread's network namespace; zero if
/// it does not count them.
fn listen_drops() -> u64 {
    fs::read_to_string(NETSTAT).map_or(0, |text| parse_listen_drops(&text))
}

fn parse_listen_drops(text: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(name, _)| *name == "ListenDrops").and_then(|(_, by)| by.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_drops_are_read_by_name() {
        let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 2 3\nIpExt: A\n";
        assert_eq!(parse_listen_drops(text), 3);
        assert_eq!(parse_listen_drops("IpExt: A\nIpExt: 4\n"), 0);
    }
}
