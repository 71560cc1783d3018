//! Prepared frames and the socket that sends them, for every backend that is handed frames: only
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

/// Longest time from a frame's acceptance by the kernel to its arrival at the driver.
const SETTLING: Nanos = Nanos::from_millis(100);

/// Reason why the kernel did not take the first frame.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The call was cut short by a signal or by an error of an earlier frame. Try again.
    Again,
    /// There was no room within the socket's time-out. Try again later.
    Full,
    /// The kernel dropped the frame.
    Dropped,
    /// The output is closed for now.
    Closed,
    /// The frame exceeds the path's MTU.
    TooLong,
    /// The socket is broken.
    Broken(io::Error),
}

/// Prepared frames and their output socket.
pub(super) struct Output {
    exit: Exit,
    frames: Frames,
    /// Frames that the kernel took, including learning frames.
    taken: u64,
}

/// Output socket of the frames. If it is not a UDP socket, a UDP socket reserves the source port
/// meanwhile.
enum Exit {
    Udp { socket: UdpSocket, batch: SendBatch },
    Packet { socket: OwnedFd, batch: SendBatch, _reserved: UdpSocket },
    AfXdp { transmit: Box<Transmit>, _reserved: UdpSocket },
    Gso { frames: SuperFrames, socket: UdpSocket },
}

impl Output {
    /// Sends by a connected UDP socket.
    pub(super) fn udp(socket: UdpSocket, frames: Frames) -> Self {
        Self::by(Exit::Udp { socket, batch: SendBatch::new() }, frames)
    }

    /// Sends by a packet socket bound to the interface of `way`.
    pub(super) fn packet(socket: OwnedFd, way: Way, frames: Frames) -> Self {
        let exits = way.hops.iter().map(|hop| hop.index).collect();
        let batch = SendBatch::by_each(exits);
        Self::by(Exit::Packet { socket, batch, _reserved: way.reserved }, frames)
    }

    /// Sends by an AF_XDP socket, from the port that `reserved` holds.
    pub(super) fn af_xdp(transmit: Transmit, reserved: UdpSocket, frames: Frames) -> Self {
        Self::by(Exit::AfXdp { transmit: Box::new(transmit), _reserved: reserved }, frames)
    }

    /// Sends by a connected UDP socket that segments super-frames.
    pub(super) fn gso(super_frames: SuperFrames, socket: UdpSocket, frames: Frames) -> Self {
        Self::by(Exit::Gso { frames: super_frames, socket }, frames)
    }

    fn by(exit: Exit, frames: Frames) -> Self {
        Self { exit, frames, taken: 0 }
    }

    /// Backend name, as in reports.
    pub(super) fn name(&self) -> &'static str {
        match self.exit {
            Exit::Udp { .. } => "udp",
            Exit::Packet { .. } => "packet",
            Exit::AfXdp { .. } => "af-xdp",
            Exit::Gso { .. } => "udp-gso",
        }
    }

    /// Hands `count` frames, at most [`SLOTS`] and numbered from `first` on, to the kernel. Returns
    /// the number it took, or the refusal of the first one.
    pub(super) fn send(&mut self, first: u32, count: usize, at: Nanos) -> Result<usize, Refusal> {
        let frames = self.frames.stamped(first, count.min(SLOTS), at);
        let taken = match &mut self.exit {
            Exit::Udp { socket, batch } => batch.send(socket.as_fd(), first, frames),
            Exit::Packet { socket, batch, .. } => batch.send(socket.as_fd(), first, frames),
            Exit::AfXdp { transmit, .. } => transmit.send(frames),
            Exit::Gso { frames: super_frames, socket } => super_frames.send(socket.as_fd(), frames),
        }
        .map_err(Refusal::from_error)?;
        self.taken += taken as u64;
        Ok(taken)
    }

    /// Waits until the taken frames have left, if that is known; returns the number that never did.
    pub(super) fn settle(&mut self) -> u64 {
        match &mut self.exit {
            Exit::Udp { .. } | Exit::Packet { .. } | Exit::Gso { .. } => 0,
            Exit::AfXdp { transmit, .. } => self.taken.saturating_sub(transmit.drain(SETTLING)),
        }
    }
}

impl Refusal {
    fn from_error(error: io::Error) -> Self {
        match error.raw_os_error() {
            // A connected socket reports that an earlier frame found no listener at its port.
            Some(libc::EINTR | libc::ECONNREFUSED) => Self::Again,
            _ if is_pause(&error) => Self::Full,
            Some(libc::ENOBUFS | libc::ENOMEM) => Self::Dropped,
            _ if is_away(&error) => Self::Closed,
            // The interface or its address no longer exists, or a packet filter refused the frame.
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
