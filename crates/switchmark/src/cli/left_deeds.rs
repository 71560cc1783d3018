//! Changes at devices that a killed run never undid: reported before anything is measured, and
//! undone by `doctor --restore`.
//!
//! Owns these words, and what has to hold before a command of a testbed file is run for a run that
//! is gone: the file is this user's and nobody else can write to it. Never undoes what a living run
//! began, nor anything twice.

use std::path::Path;

use agents::controller::deed_notes::{self, BegunDeed};
use agents::controller::undo_noted;
use agents::failed::Failed;
use agents::protocol::describe_error;
use jiff::Timestamp;
use journal::{BegunDeed as Noted, Store};

use super::lone;
use crate::config::resolved::{Source, Testbed as Place};
use crate::config::{ConfigError, testbed};
use crate::ownership::{self, own_files_only};
use crate::speak::print_stderr;

/// Command that undoes them.
pub const REMEDY: &str = "switchmark doctor --restore";

/// Refuses a testbed, named in this folder, whose devices another run left changed; warns of other
/// testbeds.
pub fn check(
    place: &Place,
    folder: &Path,
    run: Option<&str>,
    quiet: bool,
) -> Result<(), ConfigError> {
    if !matches!(place.source, Source::Hosts(_)) {
        return Ok(());
    }
    let left: Vec<BegunDeed> = deed_notes::abandoned_deeds()
        .into_iter()
        .filter(|deed| run.is_none_or(|run| deed.origin.run != run))
        .collect();
    let file = testbed::file_of(&place.name, folder);
    if let Some(deed) = left.iter().find(|deed| deed.origin.is_at(&file)) {
        let hint = format!("`{REMEDY} --testbed {}` undoes it", file.display());
        return Err(ConfigError::bare(in_a_line(deed), hint));
    }
    if !quiet {
        warn(&left);
    }
    Ok(())
}

/// Warns of all of them, on any testbed.
pub fn warn_of_all() {
    warn(&deed_notes::abandoned_deeds());
}

fn warn(left: &[BegunDeed]) {
    for deed in left {
        print_stderr(&format!("warning: {}; `{REMEDY}` undoes it\n", in_a_line(deed)));
    }
}

/// ``device `sw1` of rack.toml is left with `pull` done to it: run … began it at … and ended …``
fn in_a_line(left: &BegunDeed) -> String {
    let BegunDeed { origin, device, deed, begun_unix_ns, .. } = left;
    let at = Timestamp::from_nanosecond(i128::from(*begun_unix_ns))
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    let run = &origin.run;
    format!(
        "device `{device}` of {} is left with `{deed}` done to it: run {run} began it at {at} and \
         ended without undoing it",
        origin.file().display()
    )
}

/// Describes a change that a listed run never undid.
pub fn describe_noted(run: &str, noted: &Noted) -> String {
    let Noted { device, deed } = noted;
    let is_it =
        |one: &BegunDeed| one.origin.run == run && one.device == *device && one.deed == *deed;
    let remedy = if deed_notes::abandoned_deeds().iter().any(is_it) {
        REMEDY.to_owned()
    } else {
        format!("switchmark run --resume {run}")
    };
    format!("run {run} left device `{device}` with `{deed}` done to it: `{remedy}` undoes it\n")
}

/// Results of undoing them, a line each.
#[derive(Debug, Default)]
pub struct Restored {
    /// Undone.
    pub undone: Vec<String>,
    /// Left as they are, each with why and what to do.
    pub left: Vec<String>,
}

/// Undoes what runs left at the devices of a testbed, or of any, the last deed first.
pub fn restore(of: Option<&Place>) -> Restored {
    let mut restored = Restored::default();
    for deed in deed_notes::abandoned_deeds().into_iter().rev() {
        let is_of =
            |place: &Place| deed.origin.is_at(&testbed::file_of(&place.name, Path::new("")));
        if !of.is_none_or(is_of) {
            continue;
        }
        let words = format!("`{}` of device `{}`", deed.deed, deed.device);
        match undo(&deed) {
            Ok(true) => {
                restored.undone.push(format!(
                    "device `{}` as it was before `{}` of run {}",
                    deed.device, deed.deed, deed.origin.run
                ));
            }
            // Another process undoes it now.
            Ok(false) => {}
            Err(why) => restored.left.push(by_hand(&deed, &words, &describe_error(&why))),
        }
    }
    restored
}

fn by_hand(left: &BegunDeed, words: &str, why: &str) -> String {
    let BegunDeed { origin, device, deed, undo, .. } = left;
    format!(
        "{words}, begun by run {}: {why}; what leads back is `{undo}`, with \
         SWITCHMARK_DEVICE={device} and SWITCHMARK_DEED={deed}",
        origin.run
    )
}

/// Undoes one; false if its run lives or another process undoes it.
fn undo(left: &BegunDeed) -> Result<bool, Failed> {
    let origin = &left.origin;
    if let Some(machine) = lone::elsewhere(&origin.process) {
        return Err(Failed::new(format!("it was begun on another machine, {machine}")));
    }
    let file = origin.file();
    ownership::check(&file).map_err(|why| Failed::new(format!("its testbed: {why}")))?;
    let place =
        own_files_only(|| testbed::from_folder("--restore", &origin.testbed, &origin.folder));
    let place = place.map_err(Failed::to(format!("read {}", file.display())))?;
    let Source::Hosts(hosts) = place.source else {
        return Err(Failed::new(format!("{} has no hosts any more", file.display())));
    };
    let Some(note) = deed_notes::take(left) else { return Ok(false) };
    undo_noted(&hosts.hooks, note)?;
    strike_from_journal(&origin.journal, left);
    Ok(true)
}

/// Removes it from the journal; an entry that stays is only undone once more.
fn strike_from_journal(journal: &Path, left: &BegunDeed) {
    let noted = Noted { device: left.device.clone(), deed: left.deed.clone() };
    if journal.is_file()
        && let Ok(store) = Store::open(journal)
    {
        let _ = store.note_undone(&left.origin.run, &noted);
    }
}
