//! Which processor the calling thread runs on, and which threads go first. Never moves another thread.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::FlowError;

/// Binds the calling thread to processor `cpu`, for good; `None` leaves it to the scheduler.
pub fn pin(cpu: Option<usize>) -> Result<(), FlowError> {
    let Some(cpu) = cpu else { return Ok(()) };
    let attempt = || {
        let mut set = CpuSet::new();
        set.set(cpu)?;
        sched_setaffinity(Pid::from_raw(0), &set)
    };
    attempt().map_err(|e| FlowError::kernel("pin thread to processor", cpu, e.into()))
}

/// Lets a thread, or with 0 the calling one, go before ordinary ones. Where that is not permitted it
/// takes turns with them.
#[expect(unsafe_code, reason = "setpriority has no wrapper")]
pub fn favour(thread: u32) {
    const FIRST: libc::c_int = -20;
    // SAFETY: integers only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, FIRST) };
}
