//! Changing settings of the host on request, noted before each.

use super::fault::AgentFault;
use super::found::{self, Found, Notes};
use super::interrupts;
use super::settings::{apply, now};
use crate::protocol::Setting;

/// Changes one after another. What is as wanted already is left alone, and so are settings of the
/// machine that another agent changed and has yet to put back.
pub fn change(notes: &mut Notes, wanted: &[Setting]) -> Result<(), AgentFault> {
    for setting in wanted {
        setting.check()?;
        if let Some(number) = setting.interrupt()
            && !interrupts::is_ours(number)
        {
            return Err(AgentFault::OthersInterrupt { number });
        }
        let before = now(setting)?;
        if before == *setting {
            continue;
        }
        if let Setting::File { path, .. } = setting
            && found::is_held(setting)
            && !notes.has(|noted| noted.is_of(setting))
        {
            return Err(AgentFault::OthersSetting { path: path.clone() });
        }
        notes.note(Found::Setting(before))?;
        apply(setting)?;
    }
    Ok(())
}
