//! The kernel's own tie to the controller: a signal when the thread that started this agent ends.
//!
//! Also works for an agent that hangs. Slackened while something is changed on the host, because a
//! killed agent restores nothing.

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use super::fault::AgentFault;

/// From here on the kernel kills this process when the thread that started it ends.
pub fn fasten() -> Result<(), AgentFault> {
    let parent = getppid();
    tighten()?;
    // The parent may have died before the signal was asked for; then nobody would send it. A parent
    // outside this process's pid namespace reads as 0 before and after.
    if getppid() == parent { Ok(()) } else { Err(AgentFault::Orphan) }
}

/// The kernel's signal is wanted.
pub fn tighten() -> Result<(), AgentFault> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(AgentFault::Leash)
}

/// Only the other ties end this process, after it has restored what it changed.
pub fn slacken() -> Result<(), AgentFault> {
    prctl::set_pdeathsig(None).map_err(AgentFault::Leash)
}
