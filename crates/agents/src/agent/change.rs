//! Changing settings of the host on request, noted before each.

use super::found::{self, Found, Notes};
use super::interrupts;
use super::settings::{apply, now};
use crate::failed::Failed;
use crate::protocol::Setting;

/// Applies settings one after another. A setting that already has the value is left alone, and so
/// is a setting of the machine that another agent changed and has yet to restore.
pub fn change(notes: &mut Notes, wanted: &[Setting]) -> Result<(), Failed> {
    for setting in wanted {
        setting.check().map_err(|refused| Failed::new(refused.to_string()))?;
        if let Some(number) = setting.interrupt()
            && !interrupts::is_ours(number)
        {
            return Err(Failed::new(format!(
                "move interrupt {number}: no port of this host has it"
            )));
        }
        let before = now(setting)?;
        if before == *setting {
            continue;
        }
        if let Setting::File { path, .. } = setting
            && found::is_held(setting)
            && !notes.has(|noted| noted.is_of(setting))
        {
            return Err(Failed::new(format!(
                "write {path}: another agent changed it and has yet to put it back; wait until it has ended"
            )));
        }
        let port = setting.interface().and_then(found::port_number);
        notes.note(Found::Setting { was: before, set: setting.clone(), port })?;
        apply(setting)?;
        if let Ok(reached) = now(setting)
            && reached != *setting
        {
            notes.note_reached(reached)?;
        }
    }
    Ok(())
}
