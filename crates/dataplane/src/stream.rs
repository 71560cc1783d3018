//! Creation of a stream's socket: its congestion control before it connects, its address, and the
//! limit on connecting. Also waiting for a socket without missing the window.
//!
//! Never sets a buffer size.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use measure::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::socket::{TICK, family};
use crate::{FlowError, clock};

/// Longest wait for a peer to accept.
const CONNECT_WAIT: Nanos = Nanos::from_secs(3);

/// Opens a connected, non-blocking stream; returns the congestion control that the kernel confirms.
pub(crate) fn open(
    local: IpAddr,
    remote: SocketAddr,
    congestion_control: &str,
) -> Result<(TcpStream, String), FlowError> {
    let fd = make(remote)?;
    let congestion_control = control_congestion(&fd, congestion_control)?;
    Ok((finish(fd, local, remote)?, congestion_control))
}

/// Opens a connected, non-blocking stream with the host's own congestion control, for little data.
pub(crate) fn open_as_found(local: IpAddr, remote: SocketAddr) -> Result<TcpStream, FlowError> {
    finish(make(remote)?, local, remote)
}

fn make(remote: SocketAddr) -> Result<OwnedFd, FlowError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(family(remote.ip()), SockType::Stream, flags, None)
        .map_err(|e| FlowError::kernel("make a tcp socket to", remote, e.into()))
}

fn finish(fd: OwnedFd, local: IpAddr, remote: SocketAddr) -> Result<TcpStream, FlowError> {
    let local = SockaddrStorage::from(SocketAddr::new(local, 0));
    bind(fd.as_raw_fd(), &local)
        .map_err(|e| FlowError::kernel("bind tcp socket to", local, e.into()))?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(remote)) {
        Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => {}
        Err(e) => return Err(FlowError::kernel("connect tcp socket to", remote, e.into())),
    }
    finish_connecting(&fd, remote)?;
    Ok(TcpStream::from(fd))
}

/// Waits at most until `until`, and at most a tick, for `events` on a socket; errors and hang-ups
/// count as events.
pub(crate) fn wait_for(socket: impl AsFd, events: PollFlags, until: Nanos) -> io::Result<bool> {
    wait_for_any(&mut [PollFd::new(socket.as_fd(), events)], until)
}

/// Waits at most until `until`, and at most a tick, for the events of any of several sockets;
/// errors and hang-ups count as events.
pub(crate) fn wait_for_any(polled: &mut [PollFd<'_>], until: Nanos) -> io::Result<bool> {
    let left = until.saturating_sub(clock::monotonic()).min(TICK);
    match ppoll(polled, Some(TimeSpec::from(left.as_duration())), None) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Closes at once, discarding queued data: the peer gets a reset.
pub(crate) fn abort(socket: impl AsFd) {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    // If this fails the kernel goes on sending queued data, and nothing waits for it.
    let _ = setsockopt(&socket, sockopt::Linger, &at_once);
}

/// Sets the first of the algorithms, separated by spaces, that this host has and permits.
pub(crate) fn control_congestion(socket: impl AsFd, asked: &str) -> Result<String, FlowError> {
    let mut refused = None;
    for one in asked.split_whitespace() {
        match control_by(&socket, one) {
            Err(unsuitable @ FlowError::Unsuitable(_)) => _ = refused.get_or_insert(unsuitable),
            ended => return ended,
        }
    }
    Err(refused.unwrap_or_else(|| FlowError::Unsuitable("no congestion control is named".into())))
}

/// Sets the algorithm and reads it back, because the kernel may be configured to substitute one.
fn control_by(socket: &impl AsFd, asked: &str) -> Result<String, FlowError> {
    match setsockopt(socket, sockopt::TcpCongestion, &OsString::from(asked)) {
        Ok(()) => {}
        Err(e @ (Errno::ENOENT | Errno::EPERM | Errno::EINVAL)) => {
            let (why, list) = match e {
                Errno::EPERM => ("only root may use it here; any user may use", "allowed"),
                _ => ("this kernel does not have it loaded; available are", "available"),
            };
            let file = format!("/proc/sys/net/ipv4/tcp_{list}_congestion_control");
            let others = std::fs::read_to_string(file).unwrap_or_default();
            let others = others.split_whitespace().collect::<Vec<_>>().join(", ");
            return Err(FlowError::Unsuitable(format!(
                "set tcp congestion control `{asked}`: {why} {others}"
            )));
        }
        Err(e) => return Err(FlowError::kernel("set tcp congestion control", asked, e.into())),
    }
    let confirmed = getsockopt(socket, sockopt::TcpCongestion)
        .map_err(|e| FlowError::kernel("read back tcp congestion control", asked, e.into()))?;
    let confirmed = confirmed.to_string_lossy().trim_end_matches('\0').to_owned();
    if confirmed != asked {
        return Err(FlowError::Unsuitable(format!(
            "set tcp congestion control `{asked}`: the kernel took `{confirmed}` instead"
        )));
    }
    Ok(confirmed)
}

fn finish_connecting(socket: &OwnedFd, remote: SocketAddr) -> Result<(), FlowError> {
    let failed = |e| FlowError::kernel("connect tcp socket to", remote, e);
    let until = clock::monotonic() + CONNECT_WAIT;
    while !wait_for(socket, PollFlags::POLLOUT, until).map_err(failed)? {
        if clock::monotonic() >= until {
            return Err(failed(io::Error::from_raw_os_error(libc::ETIMEDOUT)));
        }
    }
    match getsockopt(socket, sockopt::SocketError) {
        Ok(0) => Ok(()),
        Ok(errno) => Err(failed(io::Error::from_raw_os_error(errno))),
        Err(e) => Err(failed(e.into())),
    }
}
