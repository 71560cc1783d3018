//! One ring of an AF_XDP socket: two counters decide who may write which entry.
//!
//! Owns the ring's mapping and our counter. There are four kinds: we produce into `fill` and
//! `transmit`, and consume from `completion` and `receive`. Never makes a system call after
//! mapping, and never trusts a counter of the kernel's to lie within the ring.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use crate::mapping::{Mapping, Plain};

/// An entry of a transmit or receive ring.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Descriptor {
    /// Offset of the frame's first octet in the frame memory.
    pub address: u64,
    /// Length of the frame.
    pub octets: u32,
    /// Option flags: non-zero if the frame continues in the next entry; always 0 here.
    pub options: u32,
}

#[expect(unsafe_code, reason = "the kernel's struct xdp_desc")]
// SAFETY: integers only, without padding.
unsafe impl Plain for Descriptor {}

#[expect(unsafe_code, reason = "an entry of a fill or completion ring is an address")]
// SAFETY: an integer.
unsafe impl Plain for u64 {}

/// A ring whose entries are of type `T`.
#[derive(Debug)]
struct Ring<T> {
    memory: Mapping,
    places: libc::xdp_ring_offset,
    size: u32,
    entry: std::marker::PhantomData<T>,
}

/// A ring that we fill.
#[derive(Debug)]
pub(super) struct Producer<T> {
    ring: Ring<T>,
    /// Our counter; published by `publish`.
    next: u32,
}

/// A ring that we empty.
#[derive(Debug)]
pub(super) struct Consumer<T> {
    ring: Ring<T>,
    /// Our counter; published by `release`.
    next: u32,
}

impl<T: Plain> Ring<T> {
    fn map(
        socket: BorrowedFd<'_>,
        size: u32,
        places: libc::xdp_ring_offset,
        page: libc::off_t,
    ) -> io::Result<Self> {
        let octets = places.desc as usize + size as usize * size_of::<T>();
        let memory = Mapping::of_socket(socket, octets, page)?;
        Ok(Self { memory, places, size, entry: std::marker::PhantomData })
    }

    #[inline]
    fn place(&self, index: u32) -> usize {
        // The size is a power of two, so that counters may wrap around.
        self.places.desc as usize + (index & (self.size - 1)) as usize * size_of::<T>()
    }

    #[inline]
    fn produced(&self) -> u32 {
        self.memory.word(self.places.producer as usize).load(Ordering::Acquire)
    }

    #[inline]
    fn consumed(&self) -> u32 {
        self.memory.word(self.places.consumer as usize).load(Ordering::Acquire)
    }
}

impl<T: Plain> Producer<T> {
    /// Maps a ring of `size` entries, a power of two.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        size: u32,
        places: libc::xdp_ring_offset,
        page: libc::off_t,
    ) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, size, places, page)?, next: 0 })
    }

    /// Number of entries that may be put.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.ring.size.saturating_sub(self.next.wrapping_sub(self.ring.consumed()))
    }

    /// Puts an entry if there is room; the kernel sees it once published.
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        self.write(self.next, entry);
        self.next = self.next.wrapping_add(1);
    }

    /// Number of entries put so far.
    #[inline]
    pub(super) fn put_so_far(&self) -> u32 {
        self.next
    }

    /// Number of entries that the kernel has taken, by its counter.
    #[inline]
    pub(super) fn consumed(&self) -> u32 {
        self.ring.consumed()
    }

    /// Reads the entry put as number `index`, while the kernel has not taken it.
    #[inline]
    pub(super) fn read(&self, index: u32) -> T {
        self.ring.memory.read(self.ring.place(index))
    }

    /// Replaces the entry put as number `index`, while the kernel has not taken it.
    #[inline]
    pub(super) fn write(&mut self, index: u32, entry: T) {
        let place = self.ring.place(index);
        self.ring.memory.write(place, entry);
    }

    /// Publishes all entries put so far to the kernel.
    #[inline]
    pub(super) fn publish(&self) {
        let producer = self.ring.memory.word(self.ring.places.producer as usize);
        producer.store(self.next, Ordering::Release);
    }

    /// True if the kernel needs a wake-up call before it reads the ring again.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        let flags = self.ring.memory.word(self.ring.places.flags as usize);
        flags.load(Ordering::Acquire) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T: Plain> Consumer<T> {
    /// Maps a ring of `size` entries, a power of two.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        size: u32,
        places: libc::xdp_ring_offset,
        page: libc::off_t,
    ) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, size, places, page)?, next: 0 })
    }

    /// Number of entries waiting to be taken.
    #[inline]
    pub(super) fn ready(&self) -> u32 {
        self.ring.produced().wrapping_sub(self.next).min(self.ring.size)
    }

    /// Takes the next waiting entry; its place returns to the kernel on `release`.
    #[inline]
    pub(super) fn take(&mut self) -> T {
        let entry = self.ring.memory.read(self.ring.place(self.next));
        self.next = self.next.wrapping_add(1);
        entry
    }

    /// Returns the places of all taken entries to the kernel.
    #[inline]
    pub(super) fn release(&self) {
        let consumer = self.ring.memory.word(self.ring.places.consumer as usize);
        consumer.store(self.next, Ordering::Release);
    }
}
