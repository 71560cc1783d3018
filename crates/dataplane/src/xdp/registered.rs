//! Registration of a program in the kernel's XDP dispatcher while live frames are made with it.
//!
//! A call that runs a program more than once adds it to the dispatcher and removes it again. Each
//! change waits for every processor, some 12 ms; an attached program is there already. So this owns
//! an empty network namespace, whose loopback is down, and attaches the program to that. No frame
//! ever meets it there, and all of it ends with the descriptors.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread;

use nix::sched::{CloneFlags, unshare};

use super::bpf::{self, Mode};

/// Number of the loopback in every namespace.
const LOOPBACK: u32 = 1;

/// Place of a program in the dispatcher.
#[derive(Debug)]
pub(super) struct Registered {
    _link: OwnedFd,
    _namespace: File,
}

impl Registered {
    pub fn new(program: impl AsFd + Sync) -> io::Result<Self> {
        let make = || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            let namespace = File::open("/proc/thread-self/ns/net")?;
            let link = bpf::attach(&program, LOOPBACK, Mode::Generic)?;
            Ok(Self { _link: link, _namespace: namespace })
        };
        // Uses a separate thread, because unshare leaves its caller in the new namespace.
        thread::scope(|scope| scope.spawn(make).join()).unwrap_or_else(|panic| resume_unwind(panic))
    }
}
