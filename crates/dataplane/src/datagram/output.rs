//! Frames ready to go and the socket they go by, the same for both backends: only the number and
//! the time of a frame change between calls.
//!
//! Owns what a refusal by the kernel means for the frame. Never waits, never counts.

use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};

use measure::Nanos;

use super::batch::{SLOTS, SendBatch};
use super::frames::Frames;
use crate::socket::{is_away, is_pause, is_too_long};

/// What became of the frame that the kernel did not take.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Nothing: the call was cut short by a signal or by news of an earlier frame. Try again.
    Again,
    /// Nothing: there was no room within the socket's bound. Try again later.
    Full,
    /// The kernel dropped it.
    Dropped,
    /// The way out is closed for now.
    Closed,
    /// It exceeds what the path takes.
    TooLong,
    /// The socket is broken.
    Broken(io::Error),
}

/// Frames and their way out.
pub(super) struct Output {
    exit: Exit,
    frames: Frames,
    batch: SendBatch,
}

enum Exit {
    Udp(UdpSocket),
    /// The UDP socket keeps the source port ours; nothing is sent by it.
    Packet {
        socket: OwnedFd,
        _reserved: UdpSocket,
    },
}

impl Output {
    /// By a connected UDP socket.
    pub(super) fn udp(socket: UdpSocket, frames: Frames) -> Self {
        Self { exit: Exit::Udp(socket), frames, batch: SendBatch::new() }
    }

    /// By a bound packet socket, from the port that `reserved` holds.
    pub(super) fn packet(socket: OwnedFd, reserved: UdpSocket, frames: Frames) -> Self {
        let exit = Exit::Packet { socket, _reserved: reserved };
        Self { exit, frames, batch: SendBatch::new() }
    }

    /// `udp` or `packet`.
    pub(super) fn name(&self) -> &'static str {
        match self.exit {
            Exit::Udp(_) => "udp",
            Exit::Packet { .. } => "packet",
        }
    }

    /// Hands `count` frames, at most [`SLOTS`], numbered from `first` on, to the kernel: how many it took,
    /// or what became of the first.
    pub(super) fn send(&mut self, first: u32, count: usize, at: Nanos) -> Result<usize, Refusal> {
        let frames = self.frames.stamped(first, count.min(SLOTS), at);
        match &self.exit {
            Exit::Udp(socket) => self.batch.send(socket.as_fd(), frames),
            Exit::Packet { socket, .. } => self.batch.send(socket.as_fd(), frames),
        }
        .map_err(Refusal::of)
    }
}

impl Refusal {
    fn of(error: io::Error) -> Self {
        match error.raw_os_error() {
            // A connected socket tells of an earlier frame that nobody listened at its port.
            Some(libc::EINTR | libc::ECONNREFUSED) => Self::Again,
            _ if is_pause(&error) => Self::Full,
            Some(libc::ENOBUFS | libc::ENOMEM) => Self::Dropped,
            _ if is_away(&error) => Self::Closed,
            // The interface or its address is gone, or a packet filter says no.
            Some(libc::ENXIO | libc::ENODEV | libc::EADDRNOTAVAIL | libc::EPERM) => Self::Closed,
            _ if is_too_long(&error) => Self::TooLong,
            _ => Self::Broken(error),
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("exit", &self.name()).finish_non_exhaustive()
    }
}
