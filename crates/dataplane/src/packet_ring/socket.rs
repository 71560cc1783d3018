//! The calls on a packet socket with a receive ring.
//!
//! Owns nothing: every function works on a descriptor that the caller keeps. Never retries.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::mapping::{self, Plain};
use crate::socket::set;

/// Octets of a VLAN tag: kept free before each frame, so that it can be put back.
pub(crate) const TAG: usize = 4;

/// A block is handed over at the latest so long after its first frame, in milliseconds, however
/// little is in it. Shorter, and a slow load would use up the ring by blocks nearly empty while its
/// reader is kept away; stamps are the kernel's, so that longer costs a trial nothing but the wait
/// at its end.
const RETIRE_MS: u32 = 8;

/// The least that a frame takes of a block; blocks of this version are not cut by it.
const FRAME: u32 = 2048;

#[expect(unsafe_code, reason = "the kernel's struct tpacket_stats_v3")]
// SAFETY: integers only.
unsafe impl Plain for libc::tpacket_stats_v3 {}

/// A raw packet socket that receives nothing yet.
#[expect(unsafe_code, reason = "nix makes no packet socket that receives nothing")]
pub(crate) fn new() -> io::Result<OwnedFd> {
    // Protocol 0: nothing is queued before the filter is there.
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Attaches a filter in place of any other.
pub(super) fn filter(socket: impl AsFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Gives the socket a ring of `blocks` blocks of `octets` octets. ENOMEM where that is too much.
pub(super) fn make_ring(socket: impl AsFd, blocks: usize, octets: usize) -> io::Result<()> {
    let socket = socket.as_fd();
    let option = |name, value: libc::c_uint| set(socket, libc::SOL_PACKET, name, &value);
    option(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V3 as libc::c_uint)?;
    option(libc::PACKET_RESERVE, TAG as libc::c_uint)?;
    // Linux before 4.20 has no such option; outgoing frames are told apart once more on reading.
    let _ = option(libc::PACKET_IGNORE_OUTGOING, 1);
    let request = libc::tpacket_req3 {
        tp_block_size: octets as libc::c_uint,
        tp_block_nr: blocks as libc::c_uint,
        tp_frame_size: FRAME,
        tp_frame_nr: (blocks * octets) as libc::c_uint / FRAME,
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
}

/// Has every frame of interface `index` that passes the filter enter the ring.
#[expect(unsafe_code, reason = "nix has no address of AF_PACKET to bind to")]
pub(crate) fn bind(socket: &OwnedFd, index: u32) -> io::Result<()> {
    // SAFETY: integers only; all zeros is a value of it.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as i32;
    // SAFETY: `address` is valid for reading the length given.
    let answer = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What came and what of it found no room, since this was last asked.
pub(crate) fn statistics(socket: impl AsFd) -> io::Result<libc::tpacket_stats_v3> {
    mapping::option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS)
}
