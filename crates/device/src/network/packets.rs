//! The frames that are inside, each in one place of a pool, and the queues that run through them.
//!
//! Owns the memory: it grows with the most frames that were ever inside at once, and a frame that
//! leaves gives its place to the next. Never knows what a queue is for.

use std::ops::{Index, IndexMut};

use measure::{Picos, Rate};

use crate::Frame;

/// Which place of the pool.
pub(super) type Handle = u32;
/// No frame.
pub(super) const NONE: Handle = u32::MAX;
/// No port, or no edge.
pub(super) const NOWHERE: u16 = u16::MAX;
/// To every port but the one it came by.
pub(super) const EVERYWHERE: u16 = u16::MAX - 1;

/// A frame inside, and what the model keeps of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    pub frame: Frame,
    /// When what it waits for is over: the ingress cable and the latency, or the cable to the host.
    pub ready: Picos,
    /// When all of it is there: then a port that is faster than the one it came by may begin.
    pub stored: Picos,
    /// The rate at which it came.
    pub rate: Rate,
    /// The edge where it entered.
    pub entry: u16,
    /// The port by which it came into the device where it is.
    pub came_by: u16,
    /// The port by which it leaves that device, or [`EVERYWHERE`].
    pub goal: u16,
    /// In a network with loops, the edge for which the first device meant it, or [`EVERYWHERE`].
    pub target: u16,
    next: Handle,
}

/// The pool.
#[derive(Debug, Default)]
pub(super) struct Packets {
    places: Vec<Packet>,
    free: Vec<Handle>,
}

impl Packets {
    /// How many are inside.
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
    /// One that has just been put on the cable to a port.
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

/// First in, first out; the frames themselves tell which one follows.
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

    /// The first one's handle, or [`NONE`].
    #[inline]
    pub(super) fn head(&self) -> Handle {
        self.head
    }

    /// The last one's handle, or [`NONE`].
    #[inline]
    pub(super) fn tail(&self) -> Handle {
        self.tail
    }

    /// All of them, the first one first.
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
