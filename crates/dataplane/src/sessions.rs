//! Connections of TCP or UDP opened at a rate, each asked one message, and closed at once or held.
//!
//! Owns the sockets of both ends, what became of each connection, and the number of files that a
//! process may have open. TCP's are closed by reset, so that none waits in TIME_WAIT at the tester.
//! Never decides whether the device, the path or the tester lost one.

mod acceptor;
mod answerer;
mod demand;
mod listening;
mod opener;
mod starting;
mod table;

pub use acceptor::Acceptor;
pub use opener::Opener;

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use measure::Nanos;
use measure::reading::Rejected;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use trial::Sessions;

use crate::hello::Hello;
use crate::socket::TICK;
use crate::{End, FlowError};

/// Most events taken from the kernel at once.
const EVENTS: usize = 256;

/// Streams of the messages: the opener's and their answers, and the far end's at the load's end.
const OPENERS: u16 = 0;
const FAR_ENDS: u16 = 1;

/// Attempts at finding consecutive free ports.
const PORT_ATTEMPTS: u32 = 64;

/// Readiness of many sockets, reported once for each change.
struct Readiness {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Readiness {
    fn new() -> Result<Self, FlowError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(|e| FlowError::kernel("make", "an epoll instance", e.into()))?;
        Ok(Self { epoll, events: vec![EpollEvent::empty(); EVENTS] })
    }

    /// Watches a socket until it is closed; its descriptor is its name in events.
    fn watch(&self, socket: &(impl AsFd + AsRawFd), flags: EpollFlags) -> nix::Result<()> {
        let name = socket.as_raw_fd() as u64;
        self.epoll.add(socket, EpollEvent::new(flags, name))
    }

    /// Waits at most until `until`, and at most a tick; returns the descriptors and their events.
    fn wait(&mut self, now: Nanos, until: Nanos) -> nix::Result<Vec<(usize, EpollFlags)>> {
        let left = until.saturating_sub(now).min(TICK);
        if left > Nanos::ZERO {
            // epoll_wait counts in milliseconds, which is a thousand connections too coarse.
            let mut polled =
                [nix::poll::PollFd::new(self.epoll.0.as_fd(), nix::poll::PollFlags::POLLIN)];
            match nix::poll::ppoll(&mut polled, Some(TimeSpec::from(left.as_duration())), None) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(e) => return Err(e),
            }
        }
        let count = match self.epoll.wait(&mut self.events, EpollTimeout::ZERO) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => 0,
            Err(e) => return Err(e),
        };
        Ok(self.events[..count].iter().map(|it| (it.data() as usize, it.events())).collect())
    }
}

/// Opens `ports` sockets at consecutive ports, by `at`; where `first` and those above are not free,
/// at ports that the kernel chooses. Returns the first port too.
fn consecutive<T>(
    first: u16,
    ports: u16,
    at: impl Fn(u16) -> io::Result<T>,
    port_of: impl Fn(&T) -> io::Result<u16>,
) -> io::Result<Option<(Vec<T>, u16)>> {
    for attempt in 0..PORT_ATTEMPTS {
        let lowest = match at(if attempt == 0 { first } else { 0 }) {
            Ok(lowest) => lowest,
            Err(_) if attempt == 0 && first > 0 => continue,
            Err(e) => return Err(e),
        };
        let port = port_of(&lowest)?;
        let mut all = vec![lowest];
        for offset in 1..ports {
            match port.checked_add(offset).map(&at) {
                Some(Ok(next)) => all.push(next),
                Some(Err(_)) | None => break,
            }
        }
        if all.len() == usize::from(ports) {
            return Ok(Some((all, port)));
        }
    }
    Ok(None)
}

/// True if a message is one of the flow; others are counted.
fn is_own(hello: Option<Hello>, end: &End<Sessions>, rejected: &mut Rejected) -> bool {
    match hello {
        Some(hello) if hello.identity == end.identity => return true,
        Some(_) => rejected.foreign += 1,
        None => rejected.malformed += 1,
    }
    false
}

/// True if the peer closed or reset the connection, or the connection broke.
fn is_over(flags: EpollFlags) -> bool {
    flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP | EpollFlags::EPOLLRDHUP)
}
