//! Port of an emulated device: receives every frame on an interface, and sends frames by it.
//!
//! Owns a packet socket with a receive ring whose frames are readable one by one, at once, and the
//! batched output past the interface's queue. A frame is delivered from its Ethernet header on,
//! without FCS, with a VLAN tag that the kernel removed restored, and with the kernel's stamp. The
//! interface's own stack sees each frame too: the opener keeps the namespace from answering. Never
//! decides where a frame goes, and never waits.

mod outbox;
mod ring;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use measure::Nanos;
use netlink::Netlink;
use nix::sys::socket::{getsockopt, sockopt};

use crate::FlowError;
use crate::packet_ring::socket;
use crate::socket::set;
use crate::stamp;
use outbox::Outbox;
use ring::Ring;

/// Received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received<'a> {
    /// Octets from the Ethernet header on, without FCS.
    pub octets: &'a [u8],
    /// Time at which the kernel received it, on CLOCK_MONOTONIC.
    pub at: Nanos,
}

/// Port on an interface.
pub struct Port {
    name: String,
    socket: OwnedFd,
    ring: Ring,
    outbox: Outbox,
    refused: u64,
}

impl Port {
    /// Opens a port on an interface of the calling thread's namespace. Frames of up to `largest`
    /// octets without FCS wait in a ring of about `memory` octets; frames that find no room are
    /// counted. Needs CAP_NET_RAW in that namespace.
    pub fn open(interface: &str, largest: usize, memory: usize) -> Result<Self, FlowError> {
        let failed = |deed| move |e: io::Error| FlowError::kernel(deed, interface, e);
        let index = Netlink::open()
            .and_then(|mut kernel| kernel.link(interface))
            .map_err(|e| FlowError::kernel("look up interface", interface, io::Error::other(e)))?
            .index;
        let socket = socket::new().map_err(failed("open packet socket for"))?;
        let ring = Ring::make(socket.as_fd(), largest, memory)
            .map_err(failed("make a receive ring for"))?;
        set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)
            .map_err(failed("pass by the queue of"))?;
        // Without this the ring stamps a frame when it is put there, which a busy kernel may do
        // much later. All frames of that time would then seem to have arrived at once.
        stamp::request(&socket).map_err(failed("ask for the time of each frame of"))?;
        socket::bind(&socket, index).map_err(failed("bind packet socket to"))?;
        Ok(Self { name: interface.to_owned(), socket, ring, outbox: Outbox::new(), refused: 0 })
    }

    /// Passes received frames to `take`, at most `most`, and returns their number. Frames longer
    /// than the port was opened for count as refused.
    pub fn receive(&mut self, most: usize, take: &mut dyn FnMut(Received<'_>)) -> usize {
        self.ring.receive(most, take, &mut self.refused)
    }

    /// Sends frames in order, at most [`Self::BATCH`] per call, and returns the number that the
    /// kernel took. Fewer were taken if one was refused: ENETDOWN while the interface is down,
    /// EMSGSIZE for a frame beyond its MTU, ENOBUFS if the far end had no room.
    pub fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        self.outbox.send(self.socket.as_fd(), frames)
    }

    /// Maximum frames per call to [`Self::send`].
    pub const BATCH: usize = outbox::SLOTS;

    /// Frames that found no room in the ring, or could not be forwarded, since the port was opened.
    pub fn refused(&mut self) -> u64 {
        // The kernel's counter restarts after each answer.
        let told = socket::statistics(&self.socket).map_or(0, |told| told.tp_drops);
        self.refused += u64::from(told);
        self.refused
    }

    /// Clears the error of an interface that went down, which the descriptor would otherwise report
    /// forever.
    pub fn calm(&self) {
        let _ = getsockopt(&self.socket, sockopt::SocketError);
    }
}

impl AsFd for Port {
    /// Readable while a frame waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").field("name", &self.name).finish_non_exhaustive()
    }
}
