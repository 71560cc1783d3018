//! Batched sending and receiving with one system call: sendmmsg and recvmmsg over memory allocated
//! once.
//!
//! Owns the kernel's message headers and the receiver's buffers. Headers are set again before every
//! call, so that none is trusted between calls. Never allocates after `new`, never interprets what
//! it carries.

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use measure::Nanos;

/// Messages per call. More gain little and make a sender's clock readings rarer.
pub(super) const SLOTS: usize = 64;

/// Octets of a message that the receiver reads; the kernel reports the whole length.
pub(super) const HEAD: usize = wire::Probe::LEN;

/// Room for one time stamp's control message, aligned for its header.
type Control = [u64; 4];

/// Message headers of frames to send.
pub(super) struct SendBatch {
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    /// Destinations: frame i goes to entry i modulo their number; empty if the socket is bound to
    /// one destination.
    exits: Vec<libc::sockaddr_ll>,
}

/// Buffers for received frames.
pub(super) struct ReceiveBatch {
    heads: Vec<[u8; HEAD]>,
    sources: Vec<libc::sockaddr_in6>,
    controls: Vec<Control>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

/// Received message.
pub(super) struct Arrival<'a> {
    /// First octets of the message; fewer than `HEAD` if it is shorter.
    pub head: &'a [u8],
    /// Length of the whole message.
    pub octets: usize,
    /// Address of the sender.
    pub source: IpAddr,
    /// Time at which the kernel received it, in CLOCK_REALTIME; `None` without a stamp.
    pub stamp: Option<Nanos>,
}

#[expect(unsafe_code, reason = "the kernel's headers hold pointers")]
// SAFETY: the pointers in `parts` and `headers` are written before each call and not used after it.
unsafe impl Send for SendBatch {}

#[expect(unsafe_code, reason = "the kernel's headers hold pointers")]
// SAFETY: the pointers in `parts` and `headers` are written before each call; `arrival` reads
// through them only memory that the batch itself owns and that never moves.
unsafe impl Send for ReceiveBatch {}

impl SendBatch {
    /// Allocates room for [`SLOTS`] frames.
    pub(super) fn new() -> Self {
        Self::by_each(Vec::new())
    }

    /// Allocates a batch for a packet socket: frame i leaves by the interface with number
    /// `exits[i]`, modulo their number.
    pub(super) fn by_each(exits: Vec<u32>) -> Self {
        let exits = exits.into_iter().map(super::socket::exit).collect();
        Self { parts: vec![no_part(); SLOTS], headers: vec![no_header(); SLOTS], exits }
    }

    /// Sends the frames, at most [`SLOTS`] and numbered from `first` on. Returns the number that
    /// the kernel took, at least one.
    #[expect(unsafe_code, reason = "sendmmsg without an allocation a call")]
    pub(super) fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        first: u32,
        frames: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for (frame, (part, header)) in
            frames.zip(self.parts.iter_mut().zip(self.headers.iter_mut()))
        {
            if !self.exits.is_empty() {
                let number = first.wrapping_add(count) as usize % self.exits.len();
                header.msg_hdr.msg_name = (&raw mut self.exits[number]).cast();
                header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            }
            // The kernel only reads what a sender's part points to.
            part.iov_base = frame.as_ptr().cast_mut().cast();
            part.iov_len = frame.len();
            header.msg_hdr.msg_iov = &raw mut *part;
            header.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        // SAFETY: the first `count` headers point to one part each, which points to a whole frame;
        // all of it outlives the call.
        let taken =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), count, 0) };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}

impl ReceiveBatch {
    /// Creates an empty batch.
    pub(super) fn new() -> Self {
        Self {
            heads: vec![[0; HEAD]; SLOTS],
            sources: vec![no_source(); SLOTS],
            controls: vec![[0; 4]; SLOTS],
            parts: vec![no_part(); SLOTS],
            headers: vec![no_header(); SLOTS],
        }
    }

    /// Receives queued messages and returns their number. Blocks for the first one only if asked
    /// to, and then no longer than the socket's own time-out.
    #[expect(unsafe_code, reason = "recvmmsg without an allocation a call")]
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, block: bool) -> io::Result<usize> {
        for index in 0..SLOTS {
            self.parts[index] = part(&mut self.heads[index]);
            let header = &mut self.headers[index].msg_hdr;
            header.msg_name = (&raw mut self.sources[index]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
            header.msg_iov = &raw mut self.parts[index];
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut self.controls[index]).cast();
            header.msg_controllen = size_of::<Control>() as _;
            header.msg_flags = 0;
        }
        // MSG_TRUNC makes the kernel report a message's real length though it copies only the head.
        let wait = if block { libc::MSG_WAITFORONE } else { libc::MSG_DONTWAIT };
        // SAFETY: every header points to a name, a part and a control buffer of its own, each of
        // the length stated beside it, and all of it outlives the call.
        let came = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                SLOTS as libc::c_uint,
                (wait | libc::MSG_TRUNC) as _,
                ptr::null_mut(),
            )
        };
        usize::try_from(came).map_err(|_| io::Error::last_os_error())
    }

    /// The `index`th message of the last `receive`.
    #[inline]
    pub(super) fn arrival(&self, index: usize) -> Arrival<'_> {
        let octets = self.headers[index].msg_len as usize;
        Arrival {
            head: &self.heads[index][..octets.min(HEAD)],
            octets,
            source: address(&self.sources[index]),
            stamp: self.stamp(index),
        }
    }

    #[inline]
    #[expect(unsafe_code, reason = "control messages are read through pointers")]
    fn stamp(&self, index: usize) -> Option<Nanos> {
        let header = &self.headers[index].msg_hdr;
        // SAFETY: the kernel set the control length to what it wrote into our aligned buffer; the
        // macros stay within it and give null where there is no control message.
        unsafe {
            let control = libc::CMSG_FIRSTHDR(&raw const *header);
            if control.is_null()
                || (*control).cmsg_level != libc::SOL_SOCKET
                || (*control).cmsg_type != libc::SCM_TIMESTAMPNS
            {
                return None;
            }
            let time: libc::timespec = ptr::read_unaligned(libc::CMSG_DATA(control).cast());
            Some(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
        }
    }
}

fn part(octets: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() }
}

fn no_part() -> libc::iovec {
    libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }
}

#[expect(unsafe_code, reason = "a header has private padding on some targets")]
fn no_header() -> libc::mmsghdr {
    // SAFETY: integers and pointers; all zeros is an empty header.
    unsafe { mem::zeroed() }
}

fn no_source() -> libc::sockaddr_in6 {
    libc::sockaddr_in6 {
        sin6_family: 0,
        sin6_port: 0,
        sin6_flowinfo: 0,
        sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
        sin6_scope_id: 0,
    }
}

/// Converts the address that the kernel wrote: an IPv4 address lies where an IPv6 one has its flow
/// information.
#[inline]
fn address(source: &libc::sockaddr_in6) -> IpAddr {
    if i32::from(source.sin6_family) == libc::AF_INET6 {
        Ipv6Addr::from(source.sin6_addr.s6_addr).into()
    } else {
        Ipv4Addr::from(u32::from_be(source.sin6_flowinfo)).into()
    }
}
