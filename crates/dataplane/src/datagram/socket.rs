//! Socket options of datagram sockets that neither the standard library nor nix has.
//!
//! Owns no socket. Never retries and never decides what a refusal means.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::socket::{enlarge_send_buffer, set};
use trial::Schedule;

/// Octets that the frames of a paced load may be charged to their sender while they wait.
const ROOM: usize = 256 << 20;

/// The MTU of the route that a connected socket takes, in octets of IP packet.
pub(crate) fn route_mtu(socket: impl AsFd, ipv6: bool) -> io::Result<u32> {
    let mut mtu = [0_i32; 1];
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    get(socket.as_fd(), level, name, &mut mtu)?;
    Ok(mtu[0] as u32)
}

/// Has all leave whole, and what exceeds the path's MTU refused (EMSGSIZE).
pub(crate) fn dont_fragment(socket: impl AsFd, ipv6: bool) -> io::Result<()> {
    if !ipv6 {
        return crate::socket::dont_fragment(socket);
    }
    let whole = libc::IPV6_PMTUDISC_DO;
    set(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &whole)
}

/// Has the kernel tell a sender of frames that the queueing discipline dropped (ENOBUFS); without
/// it a UDP socket calls them sent.
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

/// Has frames of a paced load wait anywhere on their way without holding the next ones back.
///
/// Over a virtual cable a frame stays charged to its sender until the far end has it: a device in
/// the same kernel that queues a few hundred would set the pace of a load that was to overload it.
/// A flood has no pace to keep; there the charge keeps the kernel's own queues from overflowing.
pub(super) fn let_queue(socket: &impl AsFd, schedule: Schedule) {
    if schedule != Schedule::Greedy {
        enlarge_send_buffer(socket, ROOM);
    }
}

/// How many messages this socket dropped since it was made (its buffer was full, or a checksum or
/// filter refused them).
pub(super) fn drops(socket: impl AsFd) -> io::Result<u64> {
    /// Places in SO_MEMINFO's answer, and which one is the drops (`linux/sock_diag.h`).
    const PLACES: usize = 9;
    const DROPS: usize = 8;
    const SO_MEMINFO: libc::c_int = 55;
    let mut places = [0_u32; PLACES];
    get(socket.as_fd(), libc::SOL_SOCKET, SO_MEMINFO, &mut places)?;
    Ok(u64::from(places[DROPS]))
}

/// Lets nothing more into the socket; what is queued stays.
pub(super) fn refuse_all(socket: impl AsFd) -> io::Result<()> {
    crate::packet_ring::silence(socket)
}

/// Keeps datagrams that begin with `token` out of a UDP socket: another input counts them. What
/// else comes for its port stays, and shows who else sent there.
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

/// Keeps so many octets of what came; none refuses it.
fn answer(octets: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, octets)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// The interface with number `index`, as packet sockets are told of it.
#[expect(unsafe_code, reason = "the kernel's structure has fields that mean nothing here")]
pub(super) fn exit(index: u32) -> libc::sockaddr_ll {
    // SAFETY: integers only; all zeros is a value of it.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = index as i32;
    address
}

/// A raw packet socket that sends on interface `index` and receives nothing.
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

/// Reads integers; what the kernel does not know of stays as it was.
#[expect(unsafe_code, reason = "options that nix does not know")]
fn get<T: Copy, const N: usize>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    values: &mut [T; N],
) -> io::Result<()> {
    let mut length = size_of_val(values) as libc::socklen_t;
    // SAFETY: `values` is valid for writing `length` octets, the kernel writes no more, and the
    // callers above ask for integers only, of which any bits are a value.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            values.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
