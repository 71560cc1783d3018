//! Batched sending by one packet socket, many frames per call, without waiting.
//!
//! Owns the kernel's message headers, which are set again before every call. Never allocates after
//! `new`, and never interprets a frame.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Maximum frames per call.
pub(super) const SLOTS: usize = 32;

/// Message headers of frames to send.
pub(super) struct Outbox {
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

#[expect(unsafe_code, reason = "the kernel's headers hold pointers")]
// SAFETY: the pointers in `parts` and `headers` are written before each call and not used after it.
unsafe impl Send for Outbox {}

impl Outbox {
    pub(super) fn new() -> Self {
        let part = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        #[expect(unsafe_code, reason = "a header has private padding on some targets")]
        // SAFETY: integers and pointers; all zeros is an empty header.
        let header: libc::mmsghdr = unsafe { mem::zeroed() };
        Self { parts: vec![part; SLOTS], headers: vec![header; SLOTS] }
    }

    /// Sends at most [`SLOTS`] frames; returns the number that the kernel took, at least one.
    pub(super) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        frames: &mut dyn Iterator<Item = &[u8]>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for (part, header) in self.parts.iter_mut().zip(self.headers.iter_mut()) {
            let Some(frame) = frames.next() else { break };
            // The kernel only reads what a sender's part points to.
            part.iov_base = frame.as_ptr().cast_mut().cast();
            part.iov_len = frame.len();
            header.msg_hdr.msg_iov = &raw mut *part;
            header.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        match self.hand_over(socket, count) {
            // A link that was down and is up again reports its error once more, with the next call.
            Err(e) if e.raw_os_error() == Some(libc::ENETDOWN) => self.hand_over(socket, count),
            answer => answer,
        }
    }

    #[expect(unsafe_code, reason = "sendmmsg without an allocation a call")]
    fn hand_over(&mut self, socket: BorrowedFd<'_>, count: libc::c_uint) -> io::Result<usize> {
        let headers = self.headers.as_mut_ptr();
        // SAFETY: `send` has pointed the first `count` headers to one part each, which points to a
        // whole frame that lives beyond its own call.
        let taken =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), headers, count, libc::MSG_DONTWAIT as _) };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}
