//! One port of an emulated device: every frame that comes by an interface, and frames to send by
//! it.
//!
//! Owns a packet socket with a receive ring whose frames are readable one by one, at once, and the
//! batched way out past the interface's queue. A frame is handed over from its Ethernet header on,
//! without FCS, a VLAN tag that the kernel set aside put back, and the kernel's stamp with it. The
//! interface's own stack sees each frame too: whoever opens a port keeps the namespace from
//! answering. Never decides where a frame goes, and never waits.

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

/// One frame that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received<'a> {
    /// From the Ethernet header on, without FCS.
    pub octets: &'a [u8],
    /// When the kernel had it, on CLOCK_MONOTONIC.
    pub at: Nanos,
}

/// A port on an interface.
pub struct Port {
    name: String,
    socket: OwnedFd,
    ring: Ring,
    outbox: Outbox,
    refused: u64,
}

impl Port {
    /// Opens one on an interface of the calling thread's namespace. Frames of up to `largest`
    /// octets without FCS wait in a ring of about `memory` octets, and what finds no room there is
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
        // Else the ring is stamped when the frame is put into it, which a busy kernel may do much
        // later than the frame came: then all that came meanwhile would seem to have come at once.
        stamp::request(&socket).map_err(failed("ask for the time of each frame of"))?;
        socket::bind(&socket, index).map_err(failed("bind packet socket to"))?;
        Ok(Self { name: interface.to_owned(), socket, ring, outbox: Outbox::new(), refused: 0 })
    }

    /// Hands what has come to `take`, at most `most` frames: how many. Frames longer than the port
    /// was opened for are counted among the refused.
    pub fn receive(&mut self, most: usize, take: &mut dyn FnMut(Received<'_>)) -> usize {
        self.ring.receive(most, take, &mut self.refused)
    }

    /// Sends frames in their order, at most [`Self::BATCH`] of them with one call: how many the
    /// kernel took. Fewer than there are when one was refused: ENETDOWN while the interface is
    /// down, EMSGSIZE for a frame beyond its MTU, ENOBUFS for one that the far end had no room for.
    pub fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        self.outbox.send(self.socket.as_fd(), frames)
    }

    /// Frames that come with one call to [`Self::send`] at the most.
    pub const BATCH: usize = outbox::SLOTS;

    /// Frames that found no room in the ring, or were no frames to send on, since the port was
    /// opened.
    pub fn refused(&mut self) -> u64 {
        // The kernel starts anew after each answer.
        let told = socket::statistics(&self.socket).map_or(0, |told| told.tp_drops);
        self.refused += u64::from(told);
        self.refused
    }

    /// Takes note that the interface went down, of which the descriptor else tells for ever.
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
