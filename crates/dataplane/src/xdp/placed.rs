//! Reception of a virtual cable's frames on a chosen processor.
//!
//! Owns the threads of an interface's pollers while it is held. Without one, a veth's frames are
//! received on the sender's processor. The setting belongs to the poller, and the poller to the
//! program's link, so it vanishes with the process. Never touches hardware: a NIC's queues have
//! interrupts, which the administrator places.

use netlink::{Netdev, Netlink, NetlinkError};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// Pollers with threads that we gave them.
#[derive(Debug)]
pub(super) struct Placed {
    netdev: Netdev,
    napis: Vec<u32>,
}

impl Placed {
    /// Gives each poller of a veth in the calling thread's namespace a thread on `cpu`; the error
    /// is a clause with the reason.
    pub fn new(name: &str, index: u32, cpu: usize) -> Result<Self, String> {
        let refused = |e: NetlinkError| {
            let cause =
                std::error::Error::source(&e).map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("its poller got no thread ({e}{cause})")
        };
        let kind = Netlink::open().and_then(|mut kernel| kernel.link(name)).map_err(refused)?.kind;
        if kind.as_deref() != Some("veth") {
            return Err("its interrupts are left where they are".to_owned());
        }
        let mut placed = Self { netdev: Netdev::open().map_err(refused)?, napis: Vec::new() };
        for napi in placed.netdev.napis(index).map_err(refused)? {
            if napi.thread.is_some() {
                continue;
            }
            placed.netdev.set_napi_threaded(napi.id, true).map_err(refused)?;
            placed.napis.push(napi.id);
        }
        for napi in placed.netdev.napis(index).map_err(refused)? {
            if placed.napis.contains(&napi.id) {
                pin(napi.thread.unwrap_or(0), cpu)?;
            }
        }
        if placed.napis.is_empty() {
            return Err("its poller was not found".to_owned());
        }
        Ok(placed)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        for napi in &self.napis {
            // A poller that no longer exists has taken its thread along.
            let _ = self.netdev.set_napi_threaded(*napi, false);
        }
    }
}

/// Pins a poller's thread. Inside a container the kernel's number may be another process: the name
/// decides.
fn pin(thread: u32, cpu: usize) -> Result<(), String> {
    let name = std::fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
    if !name.starts_with("napi/") {
        return Err("its poller's thread cannot be seen from here".to_owned());
    }
    let mut set = CpuSet::new();
    set.set(cpu)
        .and_then(|()| sched_setaffinity(Pid::from_raw(thread as i32), &set))
        .map_err(|e| format!("its poller's thread stays where it is ({})", e.desc()))?;
    favour(thread);
    Ok(())
}

/// Gives a poller's thread priority over ordinary ones, like the interrupt that it replaces. If
/// that is not permitted it takes turns with them.
#[expect(unsafe_code, reason = "setpriority has no wrapper")]
fn favour(thread: u32) {
    const FIRST: libc::c_int = -20;
    // SAFETY: integers only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, FIRST) };
}
