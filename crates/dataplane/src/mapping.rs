//! Memory and structures that the kernel shares with a socket's owner: mapped rings and frame
//! memory, and structures read by getsockopt.
//!
//! Owns the mapping and its bounds: every access is checked against its length. Never decides which
//! side may access a part at a time; the rings' protocols do.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::AtomicU32;

/// Memory that the kernel also reads and writes; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    octets: usize,
}

/// A structure of the kernel's made of integers alone: any bits are a value of it.
///
/// # Safety
/// The type must have no references, no padding that matters and no forbidden values.
#[expect(unsafe_code, reason = "only its author can promise what a type holds")]
pub(crate) unsafe trait Plain: Copy {}

#[expect(unsafe_code, reason = "a pointer to memory of our own")]
// SAFETY: the mapping belongs to this value alone, wherever it goes.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps fresh memory, zeroed and resident.
    pub(crate) fn anonymous(octets: usize) -> io::Result<Self> {
        Self::new(octets, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// Maps the memory that `socket` shares at `offset`.
    pub(crate) fn of_socket(
        socket: BorrowedFd<'_>,
        octets: usize,
        offset: libc::off_t,
    ) -> io::Result<Self> {
        Self::new(octets, libc::MAP_SHARED, socket.as_raw_fd(), offset)
    }

    #[expect(unsafe_code, reason = "mmap")]
    fn new(
        octets: usize,
        kind: libc::c_int,
        file: libc::c_int,
        offset: libc::off_t,
    ) -> io::Result<Self> {
        // SAFETY: the kernel chooses a free range; nothing of ours is replaced.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                octets,
                libc::PROT_READ | libc::PROT_WRITE,
                kind | libc::MAP_POPULATE,
                file,
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, octets })
    }

    /// Start address, for the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr().addr() as u64
    }

    /// Returns `count` octets from `at` on, in a part that the kernel has handed over; panics
    /// outside.
    #[inline]
    #[expect(unsafe_code, reason = "mapped memory is reached through a pointer")]
    pub(crate) fn octets(&self, at: usize, count: usize) -> &[u8] {
        self.check(at, count);
        // SAFETY: within the mapping, which lives as long as the borrow.
        unsafe { slice::from_raw_parts(self.start.as_ptr().add(at), count) }
    }

    /// Returns `count` writable octets from `at` on; panics outside.
    #[inline]
    #[expect(unsafe_code, reason = "mapped memory is reached through a pointer")]
    pub(crate) fn octets_mut(&mut self, at: usize, count: usize) -> &mut [u8] {
        self.check(at, count);
        // SAFETY: within the mapping, which is borrowed mutably for as long.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().add(at), count) }
    }

    /// Returns a word that both sides read and write at any time; panics outside, or if it is not
    /// aligned.
    #[inline]
    #[expect(unsafe_code, reason = "mapped memory is reached through a pointer")]
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        self.check(at, size_of::<AtomicU32>());
        assert!(at.is_multiple_of(align_of::<AtomicU32>()), "a word at {at} is not aligned");
        // SAFETY: within the mapping, which is aligned to a page, and aligned within it; all access
        // to such words is atomic on both sides.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Reads a structure that the kernel has handed over; panics outside.
    #[inline]
    #[expect(unsafe_code, reason = "mapped memory is reached through a pointer")]
    pub(crate) fn read<T: Plain>(&self, at: usize) -> T {
        self.check(at, size_of::<T>());
        // SAFETY: within the mapping, and any bits are a value of a plain type.
        unsafe { ptr::read_unaligned(self.start.as_ptr().add(at).cast()) }
    }

    /// Writes a structure into a part owned by us now; panics outside.
    #[inline]
    #[expect(unsafe_code, reason = "mapped memory is reached through a pointer")]
    pub(crate) fn write<T: Plain>(&mut self, at: usize, value: T) {
        self.check(at, size_of::<T>());
        // SAFETY: within the mapping, which is borrowed mutably.
        unsafe { ptr::write_unaligned(self.start.as_ptr().add(at).cast(), value) }
    }

    #[inline]
    fn check(&self, at: usize, count: usize) {
        let fits = at.checked_add(count).is_some_and(|end| end <= self.octets);
        assert!(fits, "{count} octets at {at} lie outside a mapping of {}", self.octets);
    }
}

impl Drop for Mapping {
    #[expect(unsafe_code, reason = "munmap")]
    fn drop(&mut self) {
        // SAFETY: made by mmap with this length, and no borrow outlives the value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.octets) };
    }
}

/// Reads a structure that describes a socket; fields unknown to an older kernel stay zero.
#[expect(unsafe_code, reason = "structures that nix has no option for")]
pub(crate) fn option<T: Plain>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<T> {
    // SAFETY: all zeros is a value of a plain type.
    let mut value: T = unsafe { mem::zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for writing `length` octets, and the kernel writes no more than
    // that.
    let answer = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length)
    };
    if answer == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}
