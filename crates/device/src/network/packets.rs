//! Frames inside the network, each in one slot of a pool, and the queues that link them.
//!
//! Owns the memory: it grows to the most frames that were ever inside at once, and a frame that
//! leaves frees its slot for the next. Never knows the purpose of a queue.

use std::ops::{Index, IndexMut};

use measure::{Picos, Rate};

use crate::Frame;

/// Slot number in the pool.
pub(super) type Handle = u32;
/// No frame.
pub(super) const NONE: Handle = u32::MAX;
/// No port, or no edge.
pub(super) const NOWHERE: u16 = u16::MAX;
/// All ports but the ingress port.
pub(super) const EVERYWHERE: u16 = u16::MAX - 1;

/// Frame inside, with its state in the model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    pub frame: Frame,
    /// End of its current wait: for the ingress cable and the latency, or for the cable to the
    /// host.
    pub ready: Picos,
    /// Time at which all of it has arrived: a port faster than its ingress port may begin then.
    pub stored: Picos,
    /// Rate at which it arrived.
    pub rate: Rate,
    /// Edge at which it entered the network.
    pub entry: u16,
    /// Port at which it entered the current device.
    pub came_by: u16,
    /// Port by which it leaves the current device, or [`EVERYWHERE`].
    pub goal: u16,
    /// Edge selected by the first device in a network with loops, or [`EVERYWHERE`].
    pub target: u16,
    next: Handle,
}

/// Pool of frames.
#[derive(Debug, Default)]
pub(super) struct Packets {
    places: Vec<Packet>,
    free: Vec<Handle>,
}

impl Packets {
    /// Number of frames inside.
    pub(super) fn standing(&self) -> u64 {
        (self.places.len() - self.free.len()) as u64
    }

    #[inline]
    pub(super) fn add(&mut self, packet: Packet) -> Handle {
        if let Some(handle) = self.free.pop() {
            self.places[handle as usize] = packet;
            return handle;
        }
        self.places.push(packet);
        (self.places.len() - 1) as Handle
    }

    #[inline]
    pub(super) fn copy(&mut self, of: Handle) -> Handle {
        let packet = self[of];
        self.add(packet)
    }

    #[inline]
    pub(super) fn remove(&mut self, handle: Handle) {
        self.free.push(handle);
    }
}

impl Packet {
    /// Creates the packet of a frame that has just been put on the cable to a port.
    #[inline]
    pub(super) fn entering(frame: Frame, entry: u16, port: u16, rate: Rate) -> Self {
        Self {
            frame,
            ready: Picos::ZERO,
            stored: Picos::ZERO,
            rate,
            entry,
            came_by: port,
            goal: NOWHERE,
            target: NOWHERE,
            next: NONE,
        }
    }
}

impl Index<Handle> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, handle: Handle) -> &Packet {
        &self.places[handle as usize]
    }
}

impl IndexMut<Handle> for Packets {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.places[handle as usize]
    }
}

/// First-in, first-out queue, linked through the frames themselves.
#[derive(Debug)]
pub(super) struct Fifo {
    head: Handle,
    tail: Handle,
    length: u32,
}

impl Fifo {
    pub(super) const fn new() -> Self {
        Self { head: NONE, tail: NONE, length: 0 }
    }

    #[inline]
    pub(super) fn length(&self) -> u32 {
        self.length
    }

    /// Handle of the first frame, or [`NONE`].
    #[inline]
    pub(super) fn head(&self) -> Handle {
        self.head
    }

    /// Handle of the last frame, or [`NONE`].
    #[inline]
    pub(super) fn tail(&self) -> Handle {
        self.tail
    }

    /// Returns all handles, the first one first.
    pub(super) fn into_handles(mut self, packets: &Packets) -> Vec<Handle> {
        std::iter::from_fn(|| self.pop(packets)).collect()
    }

    #[inline]
    pub(super) fn push(&mut self, packets: &mut Packets, handle: Handle) {
        packets[handle].next = NONE;
        if self.tail == NONE {
            self.head = handle;
        } else {
            packets[self.tail].next = handle;
        }
        self.tail = handle;
        self.length += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self, packets: &Packets) -> Option<Handle> {
        if self.head == NONE {
            return None;
        }
        let handle = self.head;
        self.head = packets[handle].next;
        if self.head == NONE {
            self.tail = NONE;
        }
        self.length -= 1;
        Some(handle)
    }
}
