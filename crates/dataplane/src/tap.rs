//! TAP devices: network interfaces whose cable ends in a descriptor.
//!
//! Owns the one call that creates one. The interface appears in the network namespace of the
//! calling thread, and disappears once every copy of its descriptor is closed. It carries plain
//! frames: no packet information, no virtio header, and so no offload that the far end would have
//! to undo. Never configures the interface beyond its name.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Device file through which the kernel creates TAP devices.
const CLONING_DEVICE: &str = "/dev/net/tun";

/// Creates the TAP device `name`, down and without an address, in the calling thread's namespace.
///
/// The descriptor gives and takes one Ethernet frame a call, without FCS; it does not block and is
/// closed on exec. Fails with EPERM without CAP_NET_ADMIN in that namespace, with EBUSY where an
/// interface of that name is attached already, and with ENOENT where the kernel has no TUN driver.
#[expect(unsafe_code, reason = "TUNSETIFF is an ioctl that no library of ours wraps")]
pub fn open(name: &str) -> io::Result<OwnedFd> {
    let mut request = named(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | IFF_TUN_EXCL) as _;
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(CLONING_DEVICE)?;
    // SAFETY: the request is an ifreq that lives through the call, which is all that TUNSETIFF
    // reads and writes.
    let answer = unsafe {
        libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, std::ptr::from_mut(&mut request))
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(device.into()) }
}

/// Refuses an existing name: a persistent device of another program must not be taken over.
/// `IFF_TUN_EXCL` of linux/if_tun.h, as the bits of a short.
const IFF_TUN_EXCL: libc::c_int = 0x8000;

/// Builds a request about `name`, all else zero.
#[expect(unsafe_code, reason = "ifreq holds a union, which only zeroes can begin")]
fn named(name: &str) -> io::Result<libc::ifreq> {
    let name = CString::new(name)?;
    let octets = name.as_bytes_with_nul();
    // SAFETY: every field of ifreq, and every member of its union, is valid as zeroes.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if octets.len() == 1 || octets.len() > request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of an interface"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(octets) {
        *to = *from as _;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_fit_and_be() {
        for name in ["", "a name of sixteen", "nul\0inside"] {
            assert_eq!(named(name).err().map(|e| e.kind()), Some(io::ErrorKind::InvalidInput));
        }
        assert_eq!(named("fifteen-octets0").unwrap().ifr_name[15], 0);
    }
}
