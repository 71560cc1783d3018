//! The journal that a verb reads: the user's own, a file, or a copy of one on another machine.
//!
//! Owns the copy, which is removed from the file system before anything is read from it, and on a
//! signal. Never writes to a journal.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use agents::failed::Failed;
use agents::unfinished;
use journal::Store;

use super::exit::Status;
use super::options::Data;
use super::{Failure, output, signals};
use crate::config::ConfigError;
use crate::controller::far_journal::{self, FarJournal};

/// Longest path (`PATH_MAX`).
const LONGEST_NAME: u64 = 4096;
/// A copy's name in its place.
const COPY: &str = "journal.db";
/// Names of a place that are tried.
const MOST_TRIED: u32 = 100;

/// A journal that is only read, and its name.
pub struct Read {
    /// The journal.
    pub store: Store,
    /// Name as given.
    pub name: String,
}

/// Opens the requested journal.
pub fn read(data: &Data) -> Result<Read, Failure> {
    if let Some(named) = &data.store {
        return read_named(named);
    }
    read_named(&output::store_path(data)?)
}

/// Opens a journal by its file's name, or by `ssh://…`.
pub fn read_named(named: &Path) -> Result<Read, Failure> {
    match named.to_str().and_then(FarJournal::parse) {
        None => Ok(Read { store: Store::read(named)?, name: named.display().to_string() }),
        Some(far) => {
            let far = far?;
            let store = fetched(&far)?;
            Ok(Read { store, name: far.to_string() })
        }
    }
}

fn fetched(far: &FarJournal) -> Result<Store, Failure> {
    let place = Place::new().map_err(Failed::to("make a place for a copy of a journal"))?;
    let path = place.0.join(COPY);
    let create = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut copy = create.map_err(Failed::to(format!("make {}", path.display())))?;
    far.copy(&mut copy).map_err(Failure::unusable)?;
    drop(copy);
    let opened = Store::untouched(&path);
    let named = |cause| Failed::because(format!("read a copy of {far}"), cause);
    // The journal is open: its name in the file system is no longer needed.
    Ok(opened.map_err(|cause| Failure::unusable(named(cause)))?.called(far.to_string()))
}

/// Writes a copy of the journal on stdout, as [`FarJournal`] reads it. Its name comes on stdin; an
/// empty one means this user's own.
pub fn send(data: &Data) -> Result<(), Failure> {
    let mut name = String::new();
    let stdin = io::stdin().lock().take(LONGEST_NAME).read_to_string(&mut name);
    stdin.map_err(Failed::to("read on stdin which journal it is"))?;
    let path = if name.is_empty() { output::store_path(data)? } else { PathBuf::from(name) };
    if !path.exists() {
        let message = format!("there is no journal {}", path.display());
        return Err(ConfigError::bare(message, "name one that is there").into());
    }
    let store = Store::untouched(&path)?;
    let place = Place::new().map_err(Failed::to("make a place for a copy of the journal"))?;
    let copy = place.0.join(COPY);
    store.copy(&copy)?;
    let mut file = File::open(&copy).map_err(Failed::to(format!("read {}", copy.display())))?;
    drop(place);
    far_journal::send(&mut file, &mut io::stdout().lock())
        .map_err(Failed::to("send the journal"))?;
    Ok(())
}

/// A folder of this process alone, removed when it is dropped or a signal ends the process.
struct Place(PathBuf);

/// The folder that exists now.
static PLACE: Mutex<Option<PathBuf>> = Mutex::new(None);
static LISTENING: Once = Once::new();

fn kept() -> MutexGuard<'static, Option<PathBuf>> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the folder, and ends the process.
fn end() {
    if let Some(folder) = kept().take() {
        clear(&folder);
    }
    unfinished::cut_short();
    std::process::exit(1);
}

/// Removes the folder with the copy and SQLite's files beside it. Any other file keeps the folder.
fn clear(folder: &Path) {
    for beside in ["", "-journal", "-wal", "-shm"] {
        let _ = fs::remove_file(folder.join(format!("{COPY}{beside}")));
    }
    let _ = fs::remove_dir(folder);
}

impl Place {
    fn new() -> io::Result<Self> {
        let mut listens = Ok(());
        LISTENING.call_once(|| listens = signals::ending(Status::Failed, end));
        listens?;
        let name = |n: u32| format!("switchmark-journal-{}-{n}", std::process::id());
        let mut made = Err(io::ErrorKind::AlreadyExists.into());
        for n in 0..MOST_TRIED {
            let folder = std::env::temp_dir().join(name(n));
            let mut kept = kept();
            made = DirBuilder::new().mode(0o700).create(&folder).map(|()| Self(folder.clone()));
            if made.is_ok() {
                *kept = Some(folder);
            }
            // An existing folder is another process's, or was left by one that was killed.
            if !made.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        made
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        clear(&self.0);
        kept().take();
    }
}
