//! A map's memory, shared with programs inside the kernel.
//!
//! Owns the mapping. Hands out references to atomics only, because the other side writes at any
//! time.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::AtomicU64;

/// Structure that may lie in shared memory.
///
/// # Safety
/// Only for structures with the layout of C whose every field is an atomic integer or an array of
/// such, so that all zeros is a value and another's writing at any time is no fault.
#[expect(unsafe_code, reason = "a promise about layout that the compiler cannot check")]
pub(super) unsafe trait Shared {}

#[expect(unsafe_code, reason = "words of a map")]
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU64 {}

/// One or more consecutive `T` in a map's memory.
pub(super) struct Mapped<T> {
    address: NonNull<T>,
    octets: usize,
}

#[expect(unsafe_code, reason = "the mapping is held by address")]
// SAFETY: a mapping belongs to the process, and `Shared` promises atomics only.
unsafe impl<T: Shared> Send for Mapped<T> {}

#[expect(unsafe_code, reason = "the mapping is held by address")]
// SAFETY: as above.
unsafe impl<T: Shared> Sync for Mapped<T> {}

impl<T: Shared> Mapped<T> {
    /// Maps the first element of an array that was created for it; `octets` is the element's
    /// length, at least that of `T`.
    #[expect(unsafe_code, reason = "mmap")]
    pub fn new(map: impl AsFd, octets: usize) -> io::Result<Self> {
        if octets < size_of::<T>() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let fd = map.as_fd().as_raw_fd();
        // SAFETY: a fresh mapping of the map's own length; nothing of ours is at its address.
        let address = unsafe { libc::mmap(ptr::null_mut(), octets, access, how, fd, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { address, octets })
    }
}

impl<T: Shared> Mapped<T> {
    /// Returns all elements.
    #[expect(unsafe_code, reason = "the mapping is held by address")]
    pub fn all(&self) -> &[T] {
        // SAFETY: the mapping is so many `T` long, begins on a page and lives as long as `self`.
        unsafe { slice::from_raw_parts(self.address.as_ptr(), self.octets / size_of::<T>()) }
    }
}

impl<T: Shared> Deref for Mapped<T> {
    type Target = T;

    #[expect(unsafe_code, reason = "the mapping is held by address")]
    fn deref(&self) -> &T {
        // SAFETY: the mapping is at least a `T` long, begins on a page and lives as long as `self`.
        unsafe { self.address.as_ref() }
    }
}

impl<T> Drop for Mapped<T> {
    #[expect(unsafe_code, reason = "munmap")]
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no reference to it outlives `self`.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.octets) };
    }
}

impl<T> fmt::Debug for Mapped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped").field("octets", &self.octets).finish_non_exhaustive()
    }
}
