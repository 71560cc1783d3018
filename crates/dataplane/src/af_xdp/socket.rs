//! One AF_XDP socket: its frame memory, the layout of its rings and its binding to a queue.
//!
//! Owns the system calls and the meaning of a refusal: whether another backend may work. Asks the
//! kernel for zero-copy first; the kernel copies if the driver cannot. Never touches a ring's
//! entries.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::thread;
use std::time::Duration;

use measure::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clock;
use crate::mapping::{self, Mapping, Plain};
use crate::socket::set;
use crate::unfit::Unfit;

/// Longest wait for a busy queue to become free.
const TAKEN_WAIT: Nanos = Nanos::from_millis(500);
const TAKEN_POLL: Duration = Duration::from_millis(5);

/// Queue of an interface that a socket is bound to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The interface's number in this namespace.
    pub index: u32,
    /// The interface's name, for errors.
    pub name: &'a str,
    /// Queue number, from 0.
    pub queue: u32,
}

/// A socket with frame memory.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    /// Chunks of equal size, one after another.
    pub memory: Mapping,
}

#[expect(unsafe_code, reason = "the kernel's struct xdp_mmap_offsets")]
// SAFETY: integers only.
unsafe impl Plain for libc::xdp_mmap_offsets {}

#[expect(unsafe_code, reason = "the kernel's struct xdp_options")]
// SAFETY: integers only.
unsafe impl Plain for libc::xdp_options {}

#[expect(unsafe_code, reason = "the kernel's struct xdp_statistics")]
// SAFETY: integers only.
unsafe impl Plain for libc::xdp_statistics {}

impl Socket {
    /// Creates a socket with `chunks` chunks of `chunk` octets; not bound yet.
    pub(super) fn new(chunk: u32, chunks: u32) -> Result<Self, Unfit> {
        let fd = raw().map_err(|e| {
            Unfit::NotHere(match e.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => {
                    "af_xdp sockets are not permitted (CAP_NET_RAW is missing)".to_owned()
                }
                Some(libc::EAFNOSUPPORT) => "the kernel has no af_xdp".to_owned(),
                _ => format!("there is no af_xdp socket ({e})"),
            })
        })?;
        let octets = chunk as usize * chunks as usize;
        let memory = Mapping::anonymous(octets)
            .map_err(|e| Unfit::NotHere(format!("there is no frame memory for af_xdp ({e})")))?;
        let registration = libc::xdp_umem_reg {
            addr: memory.address(),
            len: octets as u64,
            chunk_size: chunk,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        let socket = Self { fd, memory };
        socket.set(libc::XDP_UMEM_REG, &registration).map_err(|e| {
            Unfit::NotHere(match e.raw_os_error() {
                Some(libc::ENOBUFS) => format!(
                    "the limit of locked memory is below the {octets} octets that af_xdp needs"
                ),
                _ => format!("the kernel does not take frame memory for af_xdp ({e})"),
            })
        })?;
        Ok(socket)
    }

    /// Creates the ring that `option` names, with `size` entries.
    pub(super) fn make_ring(&self, option: libc::c_int, size: u32) -> Result<(), Unfit> {
        self.set(option, &size)
            .map_err(|e| Unfit::NotHere(format!("there is no af_xdp ring of {size} entries ({e})")))
    }

    /// Returns the offsets of each ring's counters and entries in its mapping.
    pub(super) fn offsets(&self) -> Result<libc::xdp_mmap_offsets, Unfit> {
        let offsets: libc::xdp_mmap_offsets =
            mapping::option(self.as_fd(), libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)
                .map_err(|e| Unfit::NotHere(format!("af_xdp does not tell of its rings ({e})")))?;
        // Before Linux 5.4 the structure was shorter, and rings had no flags.
        if offsets.cr.desc == 0 {
            return Err(Unfit::NotHere("the kernel's af_xdp is older than linux 5.4".to_owned()));
        }
        Ok(offsets)
    }

    /// Binds to a queue, with the kernel's wake-up flags. Uses zero-copy if the driver supports it,
    /// unless `copy` forbids it. Waits briefly for a busy queue, because the kernel frees one some
    /// time after its socket was closed.
    pub(super) fn bind(&self, to: Place<'_>, copy: bool) -> io::Result<()> {
        let begun = clock::monotonic();
        loop {
            match self.try_bind(to, copy) {
                Err(e)
                    if e.raw_os_error() == Some(libc::EBUSY)
                        && clock::monotonic().saturating_sub(begun) < TAKEN_WAIT =>
                {
                    thread::sleep(TAKEN_POLL);
                }
                answer => return answer,
            }
        }
    }

    fn try_bind(&self, to: Place<'_>, copy: bool) -> io::Result<()> {
        let copy = if copy { libc::XDP_COPY } else { 0 };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP | copy,
            sxdp_ifindex: to.index,
            sxdp_queue_id: to.queue,
            sxdp_shared_umem_fd: 0,
        };
        #[expect(unsafe_code, reason = "nix has no address of AF_XDP")]
        // SAFETY: `address` is valid for reading the length given.
        let answer = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// True if the driver reads and writes the frame memory itself.
    pub(super) fn is_zero_copy(&self) -> bool {
        let options: io::Result<libc::xdp_options> =
            mapping::option(self.as_fd(), libc::SOL_XDP, libc::XDP_OPTIONS);
        options.is_ok_and(|options| options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Wakes the kernel to read the transmit ring.
    #[inline]
    pub(super) fn kick(&self) -> io::Result<()> {
        #[expect(unsafe_code, reason = "nix's sendto wants an address and octets")]
        // SAFETY: no memory is involved.
        let answer = unsafe {
            libc::sendto(self.fd.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0)
        };
        if answer >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The kernel's counters of this socket.
    pub(super) fn statistics(&self) -> io::Result<libc::xdp_statistics> {
        mapping::option(self.as_fd(), libc::SOL_XDP, libc::XDP_STATISTICS)
    }

    /// Sets an option of AF_XDP.
    pub(super) fn set<T>(&self, name: libc::c_int, value: &T) -> io::Result<()> {
        set(self.as_fd(), libc::SOL_XDP, name, value)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Explains why binding to a queue failed.
pub(super) fn unfit(to: Place<'_>, error: &io::Error) -> Unfit {
    let Place { name, queue, .. } = to;
    Unfit::NotHere(match error.raw_os_error() {
        Some(libc::EBUSY) => format!("queue {queue} of {name} is another af_xdp socket's already"),
        Some(libc::EINVAL) => format!("{name} has no queue {queue} for af_xdp"),
        Some(libc::ENETDOWN) => format!("{name} is down"),
        _ => format!("af_xdp cannot be bound to queue {queue} of {name} ({error})"),
    })
}

/// Waits until one of `sockets` has something to receive, at most `longest`.
pub(super) fn wait<'a>(
    sockets: impl Iterator<Item = &'a Socket>,
    longest: Nanos,
) -> io::Result<()> {
    let mut waits: Vec<PollFd<'_>> =
        sockets.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
    let millis = u16::try_from(longest.0.div_ceil(1_000_000)).unwrap_or(u16::MAX);
    match poll(&mut waits, PollTimeout::from(millis)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[expect(unsafe_code, reason = "nix makes no socket of AF_XDP")]
fn raw() -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
