//! Becoming the emulator: the step from our process to qemu's.
//!
//! Owns the preparations in the child before qemu runs that the standard library does not support:
//! tie its life to its parent's, and hold descriptors that are not closed on exec. For this, our
//! own program is started under the name [`EMULATOR_NAME`]. It takes the descriptors from its
//! standard input, which is a socket, and then becomes qemu. Never returns on success.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::unistd::getppid;

use super::MAX_PORTS;
use crate::LabError;

/// Program name by which our program knows that it is to become the emulator.
pub const EMULATOR_NAME: &str = "switchmark-emulator";
/// Maximum number of descriptors: the image, the file system, and a cable for each port.
const MAX_DESCRIPTORS: usize = MAX_PORTS + 2;

/// Becomes the emulator. `arguments` are those after the program's own name: the parent's process
/// id, the emulator's path, and its arguments. In these, `{0}` stands for the number of the first
/// descriptor that comes over standard input, and so on.
pub fn become_emulator(arguments: impl IntoIterator<Item = OsString>) -> LabError {
    let mut arguments = arguments.into_iter();
    let parent = arguments.next().and_then(|pid| pid.to_str()?.parse::<i32>().ok());
    let program = arguments.next().unwrap_or_default();
    let failed = |deed, cause: io::Error| LabError::file(deed, program.display(), cause);
    // The signal is kept across exec, because qemu is neither setuid nor has file capabilities.
    if let Err(e) = prctl::set_pdeathsig(Signal::SIGKILL) {
        return failed("tie to its parent", e.into());
    }
    // The parent may have died before the signal was set up; then it would never be sent.
    if parent != Some(getppid().as_raw()) {
        return failed("tie to its parent", io::Error::other("the parent is gone"));
    }
    let descriptors = match take(io::stdin().as_fd()) {
        Ok(descriptors) => descriptors,
        Err(e) => return failed("take the descriptors for", e),
    };
    let mut command = Command::new(&program);
    for argument in arguments {
        let mut text = argument.to_string_lossy().into_owned();
        for (number, descriptor) in descriptors.iter().enumerate() {
            text = text.replace(&format!("{{{number}}}"), &descriptor.to_string());
        }
        command.arg(text);
    }
    failed("start", command.exec())
}

/// Sends descriptors to the process at the other end of the socket.
pub(super) fn give(socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let numbers: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let message = [ControlMessage::ScmRights(&numbers)];
    // At least one octet must go with them.
    let octet = [IoSlice::new(b"d")];
    let socket = socket.as_fd().as_raw_fd();
    sendmsg::<()>(socket, &octet, &message, MsgFlags::empty(), None)?;
    Ok(())
}

/// Receives the descriptors, which are not closed on exec.
fn take(socket: BorrowedFd<'_>) -> io::Result<Vec<RawFd>> {
    let mut octet = [0];
    let mut parts = [IoSliceMut::new(&mut octet)];
    let mut room = nix::cmsg_space!([RawFd; MAX_DESCRIPTORS]);
    let socket = socket.as_raw_fd();
    let message = recvmsg::<()>(socket, &mut parts, Some(&mut room), MsgFlags::empty())?;
    let taken = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    taken.ok_or_else(|| io::Error::other("no descriptors came"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn descriptors_arrive_in_their_order() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let files = ["/dev/null", "/dev/zero"].map(|path| File::open(path).unwrap());
        give(&ours, &files.each_ref().map(AsFd::as_fd)).unwrap();
        let taken = take(theirs.as_fd()).unwrap();
        let targets = taken.iter().map(|d| fs::read_link(format!("/proc/self/fd/{d}")).unwrap());
        let targets: Vec<_> = targets.collect();
        assert_eq!(targets, ["/dev/null", "/dev/zero"].map(std::path::PathBuf::from));
        for descriptor in taken {
            nix::unistd::close(descriptor).unwrap();
        }
    }
}
