//! Frames ready to go and the socket they go by, the same for both backends: only the number and
//! the time of a frame change between calls.
//!
//! Owns what a refusal by the kernel means for the frame. Never waits, never counts.

use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use measure::Nanos;
use wire::{Probe, UdpFrame};

use super::batch::{SLOTS, SendBatch};
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
    way: Way,
    frames: Frames,
    batch: SendBatch,
}

enum Way {
    Udp(UdpSocket),
    /// The UDP socket keeps the source port ours; nothing is sent by it.
    Packet {
        socket: OwnedFd,
        _reserved: UdpSocket,
    },
}

enum Frames {
    /// UDP payloads of equal length, one after another.
    Payloads { octets: usize, all: Vec<u8> },
    /// From the Ethernet header on.
    Whole(Vec<UdpFrame>),
}

impl Output {
    /// By a connected UDP socket.
    pub(super) fn udp(socket: UdpSocket, probe: &Probe, payload_octets: usize) -> Self {
        let mut payload = vec![0; payload_octets];
        probe.emit(&mut payload);
        Self {
            way: Way::Udp(socket),
            frames: Frames::Payloads { octets: payload_octets, all: payload.repeat(SLOTS) },
            batch: SendBatch::new(),
        }
    }

    /// By a bound packet socket, from the port that `reserved` holds.
    pub(super) fn packet(socket: OwnedFd, reserved: UdpSocket, frame: UdpFrame) -> Self {
        Self {
            way: Way::Packet { socket, _reserved: reserved },
            frames: Frames::Whole(vec![frame; SLOTS]),
            batch: SendBatch::new(),
        }
    }

    /// `udp` or `packet`.
    pub(super) fn name(&self) -> &'static str {
        match self.way {
            Way::Udp(_) => "udp",
            Way::Packet { .. } => "packet",
        }
    }

    /// Hands `count` frames, at most [`SLOTS`], numbered from `first` on, to the kernel: how many it took,
    /// or what became of the first.
    pub(super) fn send(&mut self, first: u32, count: usize, at: Nanos) -> Result<usize, Refusal> {
        let count = count.min(SLOTS);
        let socket = match &self.way {
            Way::Udp(socket) => socket.as_fd(),
            Way::Packet { socket, .. } => socket.as_fd(),
        };
        self.frames.send(&mut self.batch, socket, (first, count), at).map_err(Refusal::of)
    }
}

impl Frames {
    fn send(
        &mut self,
        batch: &mut SendBatch,
        socket: BorrowedFd<'_>,
        (first, count): (u32, usize),
        at: Nanos,
    ) -> io::Result<usize> {
        match self {
            Self::Payloads { octets, all } => {
                let all = &mut all[..*octets * count];
                for (payload, number) in all.chunks_exact_mut(*octets).zip(first..) {
                    Probe::stamp(payload, number, at.0);
                }
                batch.send(socket, all.chunks_exact(*octets))
            }
            Self::Whole(all) => {
                let all = &mut all[..count];
                for (frame, number) in all.iter_mut().zip(first..) {
                    frame.stamp(number, at.0);
                }
                batch.send(socket, all.iter().map(UdpFrame::octets))
            }
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
        f.debug_struct("Output").field("way", &self.name()).finish_non_exhaustive()
    }
}
