//! Socket options of datagram sockets that neither the standard library nor nix has.
//!
//! Owns no socket. Never retries and never decides what a refusal means.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::socket::{enlarge_send_buffer, get, set};
use trial::Schedule;

/// Octets of a paced load's waiting frames that may be charged to their sender.
const ROOM: usize = 256 << 20;

/// Returns the MTU of a connected socket's route, in octets of IP packet.
pub(crate) fn route_mtu(socket: impl AsFd, ipv6: bool) -> io::Result<u32> {
    let mut mtu = [0_i32; 1];
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    get(socket.as_fd(), level, name, &mut mtu)?;
    Ok(mtu[0] as u32)
}

/// Makes the kernel report frames dropped by the queueing discipline (ENOBUFS); otherwise a UDP
/// socket reports them as sent.
pub(super) fn tell_of_local_drops(socket: impl AsFd, ipv6: bool) -> io::Result<()> {
    let (level, name) = if ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    };
    set(socket.as_fd(), level, name, &1_i32)
}

/// Sends past the queueing discipline, straight to the driver.
pub(super) fn bypass_qdisc(socket: impl AsFd) -> io::Result<()> {
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)
}

/// Lets frames of a paced load queue on their path without holding the next ones back.
///
/// Over a virtual cable a frame stays charged to its sender until the far end has it. A device in
/// the same kernel that queues a few hundred would pace a load that is meant to overload it. A
/// greedy load has no pace to keep; its charge keeps the kernel's own queues from overflowing.
pub(super) fn let_queue(socket: &impl AsFd, schedule: Schedule) {
    if schedule != Schedule::Greedy {
        enlarge_send_buffer(socket, ROOM);
    }
}

/// Blocks all further input of the socket; queued messages stay.
pub(super) fn refuse_all(socket: impl AsFd) -> io::Result<()> {
    crate::packet_ring::silence(socket)
}

/// Keeps datagrams that begin with `token` out of a UDP socket, because another input counts them.
/// Others at its port stay, and show that other hosts sent there.
pub(super) fn refuse_token(socket: impl AsFd, token: u32) -> io::Result<()> {
    /// A UDP socket's filter sees the datagram from its header on.
    const PAYLOAD: u32 = wire::UdpHeader::LEN as u32;
    const WHOLE: u32 = u32::MAX;
    let load = libc::BPF_LD | libc::BPF_ABS | libc::BPF_W;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let length = libc::BPF_LD | libc::BPF_LEN | libc::BPF_W;
    let at_least = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    filter(
        socket,
        &mut [
            // A load past the end would refuse the datagram.
            instruction(length, 0, 0, 0),
            instruction(at_least, 1, 0, PAYLOAD + 4),
            answer(WHOLE),
            instruction(load, 0, 0, PAYLOAD),
            instruction(equal, 0, 1, token),
            answer(0),
            answer(WHOLE),
        ],
    )
}

fn filter(socket: impl AsFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Keeps the given number of octets of a message; zero refuses it.
fn answer(octets: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, octets)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Builds the link-layer address of the interface with number `index`, for packet sockets.
#[expect(unsafe_code, reason = "the kernel's structure has fields that mean nothing here")]
pub(super) fn exit(index: u32) -> libc::sockaddr_ll {
    // SAFETY: integers only; all zeros is a value of it.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = index as i32;
    address
}

/// Creates a raw packet socket that sends on interface `index` and receives nothing.
#[expect(unsafe_code, reason = "nix makes no packet socket that receives nothing")]
pub(super) fn packet_sender(index: u32) -> io::Result<OwnedFd> {
    // Protocol 0: no frame is ever queued at it.
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let address = exit(index);
    // SAFETY: `address` is valid for reading the length given.
    let answer = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}
