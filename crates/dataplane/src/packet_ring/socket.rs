//! System calls on a packet socket with a receive ring.
//!
//! Owns nothing: every function works on a descriptor that the caller keeps. Never retries.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::mapping::{self, Plain};
use crate::socket::set;

/// Octets of a VLAN tag: kept free before each frame, so that it can be restored.
pub(crate) const TAG: usize = 4;

/// Longest time from a block's first frame to its hand-over, in milliseconds. With a shorter time,
/// a slow load would fill the ring with nearly empty blocks while its reader is not running. Stamps
/// are the kernel's, so a longer time only delays a trial's end.
const RETIRE_MS: u32 = 8;

/// Minimum octets of a frame in a block; blocks of this version are not divided by it.
const FRAME: u32 = 2048;

#[expect(unsafe_code, reason = "the kernel's struct tpacket_stats_v3")]
// SAFETY: integers only.
unsafe impl Plain for libc::tpacket_stats_v3 {}

/// Creates a raw packet socket that receives nothing yet.
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

/// Attaches a filter, replacing any other.
pub(crate) fn filter(socket: impl AsFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Gives the socket a ring of `blocks` blocks of `octets` octets. ENOMEM if that is too much.
pub(super) fn make_ring(socket: impl AsFd, blocks: usize, octets: usize) -> io::Result<()> {
    let socket = socket.as_fd();
    let option = |name, value: libc::c_uint| set(socket, libc::SOL_PACKET, name, &value);
    option(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V3 as libc::c_uint)?;
    option(libc::PACKET_RESERVE, TAG as libc::c_uint)?;
    // Linux before 4.20 has no such option; outgoing frames are also filtered on reading.
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

/// Binds the ring to interface `index`; frames that pass the filter enter it.
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

/// Received and dropped frames since the last call.
pub(crate) fn statistics(socket: impl AsFd) -> io::Result<libc::tpacket_stats_v3> {
    mapping::option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS)
}
