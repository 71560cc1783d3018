//! Frames ready to go and what they go by, the same for every backend that is handed frames: only
//! the number and the time of a frame change between calls.
//!
//! Owns what a refusal by the kernel means for the frame. Never waits, never counts.

use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};

use measure::Nanos;

use super::batch::{SLOTS, SendBatch};
use super::frames::Frames;
use super::gso::SuperFrames;
use super::way::Way;
use crate::af_xdp::transmit::Transmit;
use crate::socket::{is_away, is_pause, is_too_long};

/// The longest that frames which the kernel took may be on their way to the driver.
const SETTLING: Nanos = Nanos::from_millis(100);

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
    /// Frames that the kernel took, learning frames included.
    taken: u64,
}

/// By what frames leave. Where it is not a UDP socket, one keeps the source port ours meanwhile.
enum Exit {
    Udp { socket: UdpSocket, batch: SendBatch },
    Packet { socket: OwnedFd, batch: SendBatch, _reserved: UdpSocket },
    AfXdp { transmit: Box<Transmit>, _reserved: UdpSocket },
    Gso { frames: SuperFrames, socket: UdpSocket },
}

impl Output {
    /// By a connected UDP socket.
    pub(super) fn udp(socket: UdpSocket, frames: Frames) -> Self {
        Self::by(Exit::Udp { socket, batch: SendBatch::new() }, frames)
    }

    /// By a packet socket that is bound to the way's interface.
    pub(super) fn packet(socket: OwnedFd, way: Way, frames: Frames) -> Self {
        let exits = way.hops.iter().map(|hop| hop.index).collect();
        let batch = SendBatch::by_each(exits);
        Self::by(Exit::Packet { socket, batch, _reserved: way.reserved }, frames)
    }

    /// By an AF_XDP socket, from the port that `reserved` holds.
    pub(super) fn af_xdp(transmit: Transmit, reserved: UdpSocket, frames: Frames) -> Self {
        Self::by(Exit::AfXdp { transmit: Box::new(transmit), _reserved: reserved }, frames)
    }

    /// By a connected UDP socket that cuts super-frames.
    pub(super) fn gso(super_frames: SuperFrames, socket: UdpSocket, frames: Frames) -> Self {
        Self::by(Exit::Gso { frames: super_frames, socket }, frames)
    }

    fn by(exit: Exit, frames: Frames) -> Self {
        Self { exit, frames, taken: 0 }
    }

    /// As in reports.
    pub(super) fn name(&self) -> &'static str {
        match self.exit {
            Exit::Udp { .. } => "udp",
            Exit::Packet { .. } => "packet",
            Exit::AfXdp { .. } => "af-xdp",
            Exit::Gso { .. } => "udp-gso",
        }
    }

    /// Hands `count` frames, at most [`SLOTS`], numbered from `first` on, to the kernel: how many
    /// it took, or what became of the first.
    pub(super) fn send(&mut self, first: u32, count: usize, at: Nanos) -> Result<usize, Refusal> {
        let frames = self.frames.stamped(first, count.min(SLOTS), at);
        let taken = match &mut self.exit {
            Exit::Udp { socket, batch } => batch.send(socket.as_fd(), first, frames),
            Exit::Packet { socket, batch, .. } => batch.send(socket.as_fd(), first, frames),
            Exit::AfXdp { transmit, .. } => transmit.send(frames),
            Exit::Gso { frames: super_frames, socket } => super_frames.send(socket.as_fd(), frames),
        }
        .map_err(Refusal::of)?;
        self.taken += taken as u64;
        Ok(taken)
    }

    /// Waits until what the kernel took has left, where that is known: how many frames never did.
    pub(super) fn settle(&mut self) -> u64 {
        match &mut self.exit {
            Exit::Udp { .. } | Exit::Packet { .. } | Exit::Gso { .. } => 0,
            Exit::AfXdp { transmit, .. } => self.taken.saturating_sub(transmit.drain(SETTLING)),
        }
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
