//! Which processor the calling thread runs on. Never moves another thread.

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
