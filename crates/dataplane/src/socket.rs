//! Socket options that neither the standard library nor nix has, and the classes of error that a
//! running flow handles alike.
//!
//! Owns no socket: every function works on a descriptor that the caller keeps. Never retries.

use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use measure::Nanos;
use measure::reading::Segment;
use nix::sys::socket::{AddressFamily, setsockopt, sockopt};
use nix::sys::time::TimeVal;

/// Longest blocking call: the delay until a thread notices a halt or the window's end.
pub(crate) const TICK: Nanos = Nanos::from_millis(20);

/// Sets do not-fragment on all packets sent, and refuses those that exceed the path's MTU
/// (EMSGSIZE).
pub(crate) fn dont_fragment(socket: impl AsFd, ipv6: bool) -> io::Result<()> {
    let (level, name, whole) = if ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)
    } else {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)
    };
    set(socket.as_fd(), level, name, &whole)
}

/// Address family of a socket with this address.
pub(crate) const fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet }
}

/// Lets a raw ICMP socket receive echo replies only.
pub(crate) fn only_echo_replies(socket: impl AsFd, ipv6: bool) -> io::Result<()> {
    const ICMP_FILTER: libc::c_int = 1;
    const ECHO_REPLY: libc::c_int = 0;
    const ECHO_REPLY_V6: usize = 129;
    // A set bit blocks its type.
    if ipv6 {
        let mut all_but_replies = [u32::MAX; 8];
        all_but_replies[ECHO_REPLY_V6 / 32] &= !(1 << (ECHO_REPLY_V6 % 32));
        return set(socket.as_fd(), libc::IPPROTO_ICMPV6, ICMP_FILTER, &all_but_replies);
    }
    let all_but_replies: libc::c_int = !(1 << ECHO_REPLY);
    set(socket.as_fd(), libc::SOL_RAW, ICMP_FILTER, &all_but_replies)
}

/// Limits blocking in both directions.
pub(crate) fn bound_waits(socket: impl AsFd, longest: Nanos) -> io::Result<()> {
    let micros = i64::try_from(longest.0 / 1_000).unwrap_or(i64::MAX);
    let longest = TimeVal::new(micros / 1_000_000, micros % 1_000_000);
    setsockopt(&socket, sockopt::ReceiveTimeout, &longest)?;
    setsockopt(&socket, sockopt::SendTimeout, &longest)?;
    Ok(())
}

/// Requests a receive buffer of `octets`, beyond the system's limit if that is permitted.
pub(crate) fn enlarge_receive_buffer(socket: impl AsFd, octets: usize) {
    if setsockopt(&socket, sockopt::RcvBufForce, &octets).is_err() {
        // Stays within the limit; overflows show in the host's counters.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &octets);
    }
}

/// Requests a send buffer of `octets`, beyond the system's limit if that is permitted.
pub(crate) fn enlarge_send_buffer(socket: &impl AsFd, octets: usize) {
    if setsockopt(socket, sockopt::SndBufForce, &octets).is_err() {
        let _ = setsockopt(socket, sockopt::SndBuf, &octets);
    }
}

/// Returns the number of messages that this socket dropped since its creation (buffer full, or
/// refused by a checksum or filter).
pub(crate) fn drops(socket: impl AsFd) -> io::Result<u64> {
    /// Size of SO_MEMINFO's answer, and the index of the drops (`linux/sock_diag.h`).
    const PLACES: usize = 9;
    const DROPS: usize = 8;
    const SO_MEMINFO: libc::c_int = 55;
    let mut places = [0_u32; PLACES];
    get(socket.as_fd(), libc::SOL_SOCKET, SO_MEMINFO, &mut places)?;
    Ok(u64::from(places[DROPS]))
}

/// Reads integers; those unknown to the kernel keep their value.
#[expect(unsafe_code, reason = "options that nix does not know")]
pub(crate) fn get<T: Copy, const N: usize>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    values: &mut [T; N],
) -> io::Result<()> {
    let mut length = size_of_val(values) as libc::socklen_t;
    // SAFETY: `values` is valid for writing `length` octets, the kernel writes no more, and the
    // callers ask for integers only, of which any bits are a value.
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

/// Segment that a TCP connection sends.
pub(crate) fn segment(socket: impl AsFd) -> io::Result<Segment> {
    tcp_info(socket).map(|info| segment_of(&info, info.tcpi_snd_mss))
}

/// Segment that a TCP connection received, as seen by its kernel.
pub(crate) fn received_segment(socket: impl AsFd) -> io::Result<Segment> {
    tcp_info(socket).map(|info| segment_of(&info, info.tcpi_rcv_mss))
}

const fn segment_of(info: &libc::tcp_info, mss: u32) -> Segment {
    /// `TCPI_OPT_TIMESTAMPS` of the kernel's `linux/tcp.h`.
    const TIMESTAMPS: u8 = 1;
    Segment { timestamps: info.tcpi_options & TIMESTAMPS != 0, mss }
}

#[expect(unsafe_code, reason = "TCP_INFO is a structure that nix has no option for")]
fn tcp_info(socket: impl AsFd) -> io::Result<libc::tcp_info> {
    // SAFETY: tcp_info is plain integers; all zeros is a value of it.
    let mut info: libc::tcp_info = unsafe { mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` is valid for writing `length` octets, and the kernel writes no more than that.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(info)
}

/// Resets a connection; its socket keeps its options, and may connect again.
#[expect(unsafe_code, reason = "nix has no address without a family")]
pub(crate) fn disconnect(socket: impl AsFd) -> io::Result<()> {
    let nobody =
        libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    let length = size_of_val(&nobody) as libc::socklen_t;
    // SAFETY: `nobody` is valid for reading the length given.
    let answer = unsafe { libc::connect(socket.as_fd().as_raw_fd(), &raw const nobody, length) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// True if there was nothing to receive, or no room to send, within the time-out; also after a
/// signal.
pub(crate) fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// True if the path to the peer is down for now and may return: the frame was not sent.
pub(crate) fn is_away(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EHOSTUNREACH
                | libc::ENOBUFS
        )
    )
}

/// True if the frame exceeds the path's MTU.
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// Sets an option whose value is a plain integer or kernel structure.
#[expect(unsafe_code, reason = "options that nix does not know")]
pub(crate) fn set<T>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: `value` is valid for reading the length given.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const *value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
