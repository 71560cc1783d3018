//! Blocks of a receive ring: each is owned by the kernel until it is handed over, and by us until
//! we return it.
//!
//! Owns the mapping and the position in it. Converts the kernel's stamps (CLOCK_REALTIME) to
//! CLOCK_MONOTONIC by the difference of both clocks, read for each block. Never copies a frame.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use measure::Nanos;

use super::Arrival;
use super::socket::TAG;
use crate::clock;
use crate::mapping::{Mapping, Plain};

/// Octets of a block.
pub(super) const BLOCK: usize = 1 << 18;

/// Offsets in the head of a block (`struct tpacket_block_desc`).
const STATUS: usize = 8;
const COUNT: usize = 12;
const FIRST: usize = 16;

/// Offset of a frame's sender address, after its aligned head.
const SENDER: usize = libc::TPACKET3_HDRLEN - size_of::<libc::sockaddr_ll>();

/// Octets of destination and source address, before a VLAN tag.
const ADDRESSES: usize = 12;

/// IEEE 802.1Q.
const CUSTOMER_TAG: u16 = 0x8100;

#[expect(unsafe_code, reason = "the kernel's struct tpacket3_hdr")]
// SAFETY: integers only.
unsafe impl Plain for libc::tpacket3_hdr {}

#[expect(unsafe_code, reason = "the kernel's struct sockaddr_ll")]
// SAFETY: integers only.
unsafe impl Plain for libc::sockaddr_ll {}

#[expect(unsafe_code, reason = "a count in the head of a block")]
// SAFETY: an integer.
unsafe impl Plain for u32 {}

/// All blocks, and the index of the next one.
#[derive(Debug)]
pub(super) struct Blocks {
    memory: Mapping,
    count: usize,
    next: usize,
}

impl Blocks {
    pub(super) fn map(socket: BorrowedFd<'_>, count: usize) -> io::Result<Self> {
        Ok(Self { memory: Mapping::of_socket(socket, count * BLOCK, 0)?, count, next: 0 })
    }

    /// Passes the frames of the next block to `take`, returns the block to the kernel, and returns
    /// the number of frames. `None` if the kernel has not handed it over.
    pub(super) fn next(&mut self, take: &mut impl FnMut(Arrival<'_>)) -> Option<usize> {
        let block = self.next * BLOCK;
        let status = self.memory.word(block + STATUS).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let since_boot = clock::realtime_ahead();
        let frames: u32 = self.memory.read(block + COUNT);
        let first: u32 = self.memory.read(block + FIRST);
        let mut at = block + first as usize;
        for _ in 0..frames {
            let head: libc::tpacket3_hdr = self.memory.read(at);
            self.hand_over(at, &head, since_boot, take);
            at += head.tp_next_offset as usize;
        }
        self.memory.word(block + STATUS).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.count;
        Some(frames as usize)
    }

    #[inline]
    fn hand_over(
        &mut self,
        at: usize,
        head: &libc::tpacket3_hdr,
        since_boot: Nanos,
        take: &mut impl FnMut(Arrival<'_>),
    ) {
        let sender: libc::sockaddr_ll = self.memory.read(at + SENDER);
        if sender.sll_pkttype == libc::PACKET_OUTGOING {
            return;
        }
        let stamp = Nanos(u64::from(head.tp_sec) * 1_000_000_000 + u64::from(head.tp_nsec));
        let (mut begin, mut octets) = (at + usize::from(head.tp_mac), head.tp_snaplen as usize);
        if head.tp_status & libc::TP_STATUS_VLAN_VALID != 0 && octets >= ADDRESSES {
            begin -= TAG;
            octets += TAG;
            let kind = (head.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0)
                .then_some(head.hv1.tp_vlan_tpid);
            put_tag_back(self.memory.octets_mut(begin, octets), kind, head.hv1.tp_vlan_tci as u16);
        }
        take(Arrival {
            octets: self.memory.octets(begin, octets),
            at: stamp.saturating_sub(since_boot),
        });
    }
}

/// Moves both addresses to the front of `frame`, and writes a tag of that kind and content behind
/// them. Uses a customer tag if the kernel does not report the kind.
pub(crate) fn put_tag_back(frame: &mut [u8], kind: Option<u16>, control: u16) {
    frame.copy_within(TAG..TAG + ADDRESSES, 0);
    let kind = kind.unwrap_or(CUSTOMER_TAG);
    frame[ADDRESSES..ADDRESSES + 2].copy_from_slice(&kind.to_be_bytes());
    frame[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&control.to_be_bytes());
}
