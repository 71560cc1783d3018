//! Notes of device disturbances that this user's runs began and must undo. They remain until then,
//! in a place that every later process of the user on this machine checks, whichever journal it
//! uses.
//!
//! Owns those files. Each is locked for as long as its run lives: an unlocked one belongs to a run
//! that ended without undoing the disturbance. A device's state survives a restart of this machine,
//! and so do the notes. Never undoes anything, and never touches the note of a living run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use dataplane::clock;
use serde::{Deserialize, Serialize};

use crate::hosts;

/// Subfolder of the user's state folder.
const FOLDER: &str = "switchmark/deeds";
/// Maximum size of a file; a longer one was not written by this program.
const LONGEST: u64 = 64 << 10;
/// Maximum number of files to read.
const MOST: usize = 1000;
/// Attempts to lock a note, and the pause between them: another process may hold a shared lock for
/// a moment.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Run that begins a disturbance, and its testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Full id of the run.
    pub run: String,
    /// Absolute path of the run's journal.
    pub journal: PathBuf,
    /// Testbed as the user named it.
    pub testbed: String,
    /// Folder that this name is relative to.
    pub folder: PathBuf,
    /// Process that carries it out, as the journal names it.
    pub process: String,
}

/// A disturbance of a device that may have been done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunDeed {
    /// Run that began it.
    #[serde(flatten)]
    pub origin: Origin,
    /// Name of the device.
    pub device: String,
    /// Name of the disturbance.
    pub deed: String,
    /// Command from the testbed file that undoes it.
    pub undo: String,
    /// Start time, in nanoseconds since the Unix epoch.
    pub begun_unix_ns: u64,
}

impl Origin {
    /// Path of the testbed's file.
    pub fn file(&self) -> PathBuf {
        hosts::file_of(&self.testbed, &self.folder)
    }

    /// True if the testbed's file is that file.
    pub fn is_at(&self, other: &Path) -> bool {
        match (fs::canonicalize(self.file()), fs::canonicalize(other)) {
            (Ok(own), Ok(other)) => own == other,
            _ => false,
        }
    }
}

/// Note of a disturbance, with its locked file.
#[derive(Debug)]
pub struct DeedNote {
    path: PathBuf,
    _locked: File,
    /// Content of the note.
    pub begun: BegunDeed,
}

impl DeedNote {
    /// Writes a note before a disturbance begins; `None` if the user has no folder for it.
    pub fn write(
        origin: &Origin,
        device: &str,
        deed: &str,
        undo: &str,
    ) -> io::Result<Option<Self>> {
        folder().map(|folder| Self::write_in(&folder, origin, device, deed, undo)).transpose()
    }

    fn write_in(
        folder: &Path,
        origin: &Origin,
        device: &str,
        deed: &str,
        undo: &str,
    ) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if !is_own(&fs::symlink_metadata(folder)?) {
            let words = format!("others than this user can write to {}", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
        let begun = BegunDeed {
            origin: origin.clone(),
            device: device.to_owned(),
            deed: deed.to_owned(),
            undo: undo.to_owned(),
            begun_unix_ns: clock::realtime().0,
        };
        let text = serde_json::to_string(&begun)?;
        for number in 0..MOST {
            let path = folder.join(format!("{}-{number}.json", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    let mut file = opened?;
                    // Empty files are ignored: a note counts once it is locked.
                    file.lock()?;
                    file.write_all(text.as_bytes())?;
                    file.sync_all()?;
                    return Ok(Self { path, _locked: file, begun });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Removes the note after the disturbance is undone.
    pub fn strike(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Lists disturbances of runs that ended without undoing them, the oldest first.
pub fn abandoned_deeds() -> Vec<BegunDeed> {
    folder().map_or_else(Vec::new, |folder| left_in(&folder))
}

fn left_in(folder: &Path) -> Vec<BegunDeed> {
    let mut all: Vec<BegunDeed> = paths(folder).iter().filter_map(|path| look(path)).collect();
    all.sort_by_key(|deed| deed.begun_unix_ns);
    all
}

/// Takes over the note of an ended run, so that no other process undoes it. `None` if it is gone or
/// undone, or its run lives.
pub fn take(begun: &BegunDeed) -> Option<DeedNote> {
    take_in(&folder()?, begun)
}

fn take_in(folder: &Path, begun: &BegunDeed) -> Option<DeedNote> {
    let path = paths(folder).into_iter().find(|path| look(path).as_ref() == Some(begun))?;
    for _ in 0..TRIES {
        let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
        if file.try_lock().is_ok() {
            // The previous holder may have removed it meanwhile.
            let is_there = fs::metadata(&path).is_ok_and(|now| {
                file.metadata().is_ok_and(|own| (now.dev(), now.ino()) == (own.dev(), own.ino()))
            });
            return is_there.then(|| DeedNote { path, _locked: file, begun: begun.clone() });
        }
        thread::park_timeout(PAUSE);
    }
    None
}

/// Takes over the note of an ended run, found by the run's full id.
pub fn take_of(run: &str, device: &str, deed: &str) -> Option<DeedNote> {
    let is_it = |one: &BegunDeed| one.origin.run == run && one.device == device && one.deed == deed;
    take(&abandoned_deeds().into_iter().find(is_it)?)
}

/// Reads a note; `None` if its run lives.
fn look(path: &Path) -> Option<BegunDeed> {
    let mut file = File::open(path).ok()?;
    if !is_own(&file.metadata().ok()?) || file.try_lock_shared().is_err() {
        return None;
    }
    let mut text = String::new();
    (&mut file).take(LONGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    if !fs::symlink_metadata(folder).is_ok_and(|of| is_own(&of)) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "json")).take(MOST).collect()
}

/// True if a file is owned by this user and not writable by others.
fn is_own(of: &fs::Metadata) -> bool {
    of.uid() == nix::unistd::geteuid().as_raw() && of.mode() & 0o022 == 0
}

/// Folder of the notes, which survives a restart of this machine (XDG base directory specification,
/// `XDG_STATE_HOME`).
fn folder() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.filter(|path| path.is_absolute()).or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        home.is_absolute().then(|| home.join(".local/state"))
    });
    Some(state?.join(FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(run: &str) -> Origin {
        Origin {
            run: run.to_owned(),
            journal: "/j.db".into(),
            testbed: "rack.toml,delay=1ms".to_owned(),
            folder: "/racks".into(),
            process: "here boot pid 1 1".to_owned(),
        }
    }

    #[test]
    fn a_deed_is_left_once_its_run_is_gone_and_taken_by_one() {
        let folder = std::env::temp_dir().join(format!("switchmark-deeds-{}", std::process::id()));
        let write = |run: &str| {
            DeedNote::write_in(&folder, &origin(run), "sw1", "pull", "up").expect("written")
        };
        let (living, dead) = (write("1"), write("2"));
        assert_eq!(left_in(&folder), [], "both live");
        drop(dead);
        let left = left_in(&folder);
        assert_eq!(left.iter().map(|deed| &*deed.origin.run).collect::<Vec<_>>(), ["2"]);
        assert_eq!(left[0].origin.file(), Path::new("/racks/rack.toml"));
        let taken = take_in(&folder, &left[0]).expect("nobody has it");
        assert!(take_in(&folder, &left[0]).is_none(), "it is taken");
        // Undoing it failed.
        drop(taken);
        take_in(&folder, &left[0]).expect("nobody has it").strike();
        assert_eq!(left_in(&folder), []);
        assert!(take_in(&folder, &left[0]).is_none(), "it is undone");
        // Any other file is ignored and kept.
        fs::write(folder.join("1-1.json"), "{").expect("writes");
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        drop(living);
        assert_eq!(left_in(&folder), [], "others may have written there");
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(left_in(&folder).len(), 1);
        fs::remove_dir_all(&folder).expect("ours");
    }
}
