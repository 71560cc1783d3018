//! The kernel's own link to the controller: a signal when the thread that started this agent ends.
//!
//! Also works for an agent that hangs. Disabled while changes to the host are in place, because a
//! killed agent restores nothing.

use crate::failed::Failed;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// Operation named in errors.
pub const TIE: &str = "tie this agent's life to its parent's";

/// Makes the kernel kill this process when the thread that started it ends.
pub fn fasten() -> Result<(), Failed> {
    let parent = getppid();
    tighten()?;
    // The parent may have died before the signal was set up; then it would never be sent. A parent
    // outside this process's pid namespace reads as 0 before and after.
    if getppid() == parent {
        return Ok(());
    }
    Err(Failed::new(format!("{TIE}: the parent is gone")))
}

/// Enables the kernel's signal.
pub fn tighten() -> Result<(), Failed> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(Failed::to(TIE))
}

/// Disables the kernel's signal: this process then ends only in ways that restore its changes.
pub fn slacken() -> Result<(), Failed> {
    prctl::set_pdeathsig(None).map_err(Failed::to(TIE))
}
