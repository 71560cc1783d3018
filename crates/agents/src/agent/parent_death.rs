//! The kernel's own tie to the controller: a signal when the thread that started this agent ends.
//!
//! Also works for an agent that hangs. Slackened while something is changed on the host, because a
//! killed agent restores nothing.

use crate::failed::Failed;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// What fails where it does not hold.
pub const TIE: &str = "tie this agent's life to its parent's";

/// From here on the kernel kills this process when the thread that started it ends.
pub fn fasten() -> Result<(), Failed> {
    let parent = getppid();
    tighten()?;
    // The parent may have died before the signal was asked for; then nobody would send it. A parent
    // outside this process's pid namespace reads as 0 before and after.
    if getppid() == parent {
        return Ok(());
    }
    Err(Failed::new(format!("{TIE}: the parent is gone")))
}

/// The kernel's signal is wanted.
pub fn tighten() -> Result<(), Failed> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(Failed::to(TIE))
}

/// Only the other ties end this process, after it has restored what it changed.
pub fn slacken() -> Result<(), Failed> {
    prctl::set_pdeathsig(None).map_err(Failed::to(TIE))
}
