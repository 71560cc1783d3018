//! Receive ring of equal slots (TPACKET_V2): each slot is readable once its frame is in it.
//!
//! Owns the mapping and the position in it. Blocks of frames, as in [`crate::packet_ring`], cost
//! less but arrive late. Converts the kernel's stamps (CLOCK_REALTIME) to CLOCK_MONOTONIC by the
//! difference of both clocks, read every millisecond. Never copies a frame.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use measure::Nanos;

use super::Received;
use crate::clock;
use crate::mapping::{Mapping, Plain};
use crate::packet_ring::{put_tag_back, socket};
use crate::socket::set;

/// Octets before the frame in a slot: head, the sender's address, alignment, and room for a tag.
const BEFORE: usize = 96;
/// Minimum block size, in octets. The kernel wants blocks of whole pages; larger ones waste less of
/// them.
const BLOCK_LEAST: usize = 1 << 16;
/// Alignment of slots.
const ALIGNMENT: usize = libc::TPACKET_ALIGNMENT;
/// Minimum number of slots of a usable ring.
const SLOTS_LEAST: usize = 64;
/// Maximum number of slots; a larger ring only exceeds the processor's cache.
const SLOTS_MOST: usize = 4096;

/// Offset of a frame's sender address.
const SENDER: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(ALIGNMENT);
/// Longest use of one reading of the clocks' difference.
const BELIEVED: Nanos = Nanos::from_millis(1);

#[expect(unsafe_code, reason = "the kernel's struct tpacket2_hdr")]
// SAFETY: integers only.
unsafe impl Plain for libc::tpacket2_hdr {}

/// Slots, and the index of the next one.
#[derive(Debug)]
pub(super) struct Ring {
    memory: Mapping,
    shape: Shape,
    next: usize,
    /// Offset of CLOCK_REALTIME ahead of CLOCK_MONOTONIC, and the time of its reading.
    ahead: Nanos,
    read_at: Nanos,
}

/// Arrangement of slots in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    slot: usize,
    per_block: usize,
    block: usize,
    blocks: usize,
}

impl Shape {
    fn new(largest: usize, memory: usize) -> Self {
        let slot = (BEFORE + largest).next_multiple_of(ALIGNMENT);
        let block = slot.next_power_of_two().max(BLOCK_LEAST);
        let per_block = block / slot;
        let slots = (memory / slot).clamp(SLOTS_LEAST, SLOTS_MOST);
        Self { slot, per_block, block, blocks: slots.div_ceil(per_block) }
    }

    const fn slots(self) -> usize {
        self.per_block * self.blocks
    }

    #[inline]
    const fn place(self, slot: usize) -> usize {
        (slot / self.per_block) * self.block + (slot % self.per_block) * self.slot
    }
}

impl Ring {
    /// Adds a ring to a socket that is not bound yet.
    pub(super) fn make(socket: BorrowedFd<'_>, largest: usize, memory: usize) -> io::Result<Self> {
        let shape = Shape::new(largest, memory);
        let option = |name, value: libc::c_uint| set(socket, libc::SOL_PACKET, name, &value);
        option(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as libc::c_uint)?;
        option(libc::PACKET_RESERVE, socket::TAG as libc::c_uint)?;
        // Linux before 4.20 has no such option; outgoing frames are also filtered on reading.
        let _ = option(libc::PACKET_IGNORE_OUTGOING, 1);
        let request = libc::tpacket_req {
            tp_block_size: shape.block as libc::c_uint,
            tp_block_nr: shape.blocks as libc::c_uint,
            tp_frame_size: shape.slot as libc::c_uint,
            tp_frame_nr: shape.slots() as libc::c_uint,
        };
        set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::of_socket(socket, shape.block * shape.blocks, 0)?;
        Ok(Self { memory, shape, next: 0, ahead: Nanos::ZERO, read_at: Nanos::ZERO })
    }

    /// Delivers frames until none waits or `most` is reached; truncated frames count in `refused`.
    #[inline]
    pub(super) fn receive(
        &mut self,
        most: usize,
        take: &mut dyn FnMut(Received<'_>),
        refused: &mut u64,
    ) -> usize {
        let mut came = 0;
        while came < most {
            let at = self.shape.place(self.next);
            let status = self.memory.word(at).load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                break;
            }
            if came == 0 {
                self.compare_clocks();
            }
            self.hand_over(at, take, refused);
            self.memory.word(at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = if self.next + 1 == self.shape.slots() { 0 } else { self.next + 1 };
            came += 1;
        }
        came
    }

    #[inline]
    fn hand_over(&mut self, at: usize, take: &mut dyn FnMut(Received<'_>), refused: &mut u64) {
        let sender: libc::sockaddr_ll = self.memory.read(at + SENDER);
        if sender.sll_pkttype == libc::PACKET_OUTGOING {
            return;
        }
        let head: libc::tpacket2_hdr = self.memory.read(at);
        // A checksum left to the sender's hardware would never be completed.
        if head.tp_snaplen < head.tp_len || head.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0 {
            *refused += 1;
            return;
        }
        let stamp = Nanos(u64::from(head.tp_sec) * 1_000_000_000 + u64::from(head.tp_nsec));
        let (mut begin, mut octets) = (at + usize::from(head.tp_mac), head.tp_snaplen as usize);
        if head.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
            begin -= socket::TAG;
            octets += socket::TAG;
            let kind = (head.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0)
                .then_some(head.tp_vlan_tpid);
            put_tag_back(self.memory.octets_mut(begin, octets), kind, head.tp_vlan_tci);
        }
        let at = stamp.saturating_sub(self.ahead);
        take(Received { octets: self.memory.octets(begin, octets), at });
    }

    #[inline]
    fn compare_clocks(&mut self) {
        let now = clock::monotonic();
        if now.saturating_sub(self.read_at) > BELIEVED {
            (self.ahead, self.read_at) = (clock::realtime_ahead(), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_lie_within_their_blocks() {
        for largest in [60, 1518, 9018, 65_553] {
            let shape = Shape::new(largest, 16 << 20);
            assert!(shape.slots() >= SLOTS_LEAST, "{shape:?}");
            for slot in 0..shape.slots() {
                let at = shape.place(slot);
                let block = at / shape.block;
                assert_eq!((at + shape.slot - 1) / shape.block, block, "{shape:?}, slot {slot}");
                assert!(block < shape.blocks);
            }
        }
    }
}
