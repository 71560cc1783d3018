//! What can go wrong between a kernel image and a machine that forwards, and what to do about it.
//!
//! Owns the error type and its hints. Never prints.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A virtual machine can't be prepared, started or asked.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// A system call failed.
    #[error("{deed} {object}")]
    Kernel {
        /// What was attempted: "read kernel image".
        deed: &'static str,
        /// On what.
        object: String,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// The file is something else.
    #[error("read kernel image {}: {reason}", .path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Where the user says its modules are, there are none of this kernel.
    #[error("find the modules of kernel {release} in {}", .folder.display())]
    NoModules {
        /// The kernel's release.
        release: String,
        /// Where they should be.
        folder: PathBuf,
    },
    /// A driver that the device needs.
    #[error("find module {name} of kernel {release} in {}", .folder.display())]
    NoModule {
        /// The module.
        name: String,
        /// The kernel's release.
        release: String,
        /// Where its modules are.
        folder: PathBuf,
    },
    /// A module file that can't be understood.
    #[error("read module {}: {reason}", .path.display())]
    BadModule {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A program whose program headers can't be read, so that it can't be a first process.
    #[error("take {} for the machine's first process: {reason}", .path.display())]
    BadProgram {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// qemu is not installed.
    #[error("find {program} in PATH")]
    NoEmulator {
        /// The program's name.
        program: &'static str,
    },
    /// Too many ports, or not as many cables as ports.
    #[error("start {machine}: {ports} ports with {cables} cables; a machine has at most {most}")]
    Ports {
        /// The device's name.
        machine: String,
        /// Ports of its plan.
        ports: usize,
        /// Cables given.
        cables: usize,
        /// The most that it can have.
        most: usize,
    },
    /// The machine's process ended.
    #[error("{deed} {machine}: it ended; its last words: {console}")]
    Ended {
        /// What was attempted.
        deed: &'static str,
        /// The device's name.
        machine: String,
        /// The last lines of its console and of the emulator.
        console: String,
    },
    /// Its kernel gave up.
    #[error("{deed} {machine}: {words}")]
    Panicked {
        /// What was attempted.
        deed: &'static str,
        /// The device's name.
        machine: String,
        /// What it said of it.
        words: String,
    },
    /// It did not answer in time.
    #[error("{deed} {machine}: nothing within {waited:?}; its last words: {console}")]
    Late {
        /// What was attempted.
        deed: &'static str,
        /// The device's name.
        machine: String,
        /// How long it was waited for.
        waited: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// Its first process could not do what it was told.
    #[error("{deed} {machine}: {words}")]
    Refused {
        /// What was attempted.
        deed: &'static str,
        /// The device's name.
        machine: String,
        /// What it said.
        words: String,
    },
}

impl VmError {
    pub(crate) fn kernel(
        deed: &'static str,
        object: impl std::fmt::Display,
        cause: impl Into<io::Error>,
    ) -> Self {
        Self::Kernel { deed, object: object.to_string(), cause: cause.into() }
    }

    /// What the user can do about it, where we know.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoEmulator { .. } => "install qemu: on Debian `apt install qemu-system-x86`",
            Self::NotAnImage { .. } => {
                "a kernel image is the file called vmlinuz-VERSION (a bzImage for x86-64)"
            }
            Self::NoModules { .. } | Self::NoModule { .. } => {
                "unpack the kernel's whole package (`dpkg -x linux-image-….deb FOLDER`) and name \
                 FOLDER/boot/vmlinuz-VERSION: its modules are found beside it"
            }
            Self::Kernel { deed: MAKE_TAP, cause, .. }
                if cause.kind() == io::ErrorKind::NotFound =>
            {
                "this kernel has no TUN driver: `modprobe tun`"
            }
            Self::Kernel { deed: MAKE_TAP, cause, .. }
                if cause.kind() == io::ErrorKind::PermissionDenied =>
            {
                "a virtual machine's ports need /dev/net/tun: run as root, or be granted it"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// The deed whose failure has a hint of its own.
pub(crate) const MAKE_TAP: &str = "make TAP";
