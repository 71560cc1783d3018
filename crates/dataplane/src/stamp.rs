//! The kernel's software receive stamps, as readings of this host's monotonic clock.
//!
//! The kernel stamps in CLOCK_REALTIME, which may be stepped; windows and departures are monotonic.
//! A stamp is therefore turned into an age at once, on receipt. Never stamps by itself.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

use measure::Nanos;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;

use crate::clock;

/// Room for the control message of one stamp.
const CONTROL_OCTETS: usize = nix::sys::socket::cmsg_space::<TimeSpec>();

/// Makes the kernel stamp everything that `socket` receives from now on.
pub(crate) fn request(socket: impl AsFd) -> io::Result<()> {
    Ok(setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?)
}

/// Receives once. Returns the length and the kernel's receive time (monotonic); `None` without a
/// stamp.
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<Nanos>)> {
    let mut control = [0_u8; CONTROL_OCTETS];
    let mut parts = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(
        socket.as_fd().as_raw_fd(),
        &mut parts,
        Some(&mut control),
        MsgFlags::empty(),
    )?;
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(time) => {
            Some(Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64))
        }
        _ => None,
    });
    Ok((message.bytes, stamp.map(to_monotonic)))
}

/// Converts a recent CLOCK_REALTIME reading to the monotonic clock.
///
/// Being preempted between the two readings makes the result late, never early, and never later
/// than now.
pub(crate) fn to_monotonic(stamp: Nanos) -> Nanos {
    let age = clock::realtime().saturating_sub(stamp);
    clock::monotonic().saturating_sub(age)
}
