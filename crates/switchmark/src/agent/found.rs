//! What a host was like before it was changed, written down where the next agent sees it.
//!
//! A killed agent restores nothing. So whatever is about to be changed is first written to a file
//! of this agent's, locked for as long as it lives; a file that nobody locks is a dead agent's, and
//! is undone by the next agent that may. Owns those files and what undoing is. Never changes
//! anything that no file tells of, and never touches what a living agent changed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use netlink::{Netlink, PreviousFeatures};
use serde::{Deserialize, Serialize};

use super::{parent_death, settings};
use crate::failed::Failed;
use crate::protocol::Setting;

/// In memory, and gone with the next boot, as all that is changed is.
const FOLDER: &str = "/run/switchmark";
/// A file that is longer was not written by an agent.
const LONGEST: u64 = 1 << 20;

/// One thing as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// A setting with the value that it had.
    Setting(Setting),
    /// Offloads of a port, each with what it was.
    Offloads {
        /// The port.
        interface: String,
        /// By feature.
        features: Vec<(String, bool)>,
    },
    /// A port that had no ingress queue.
    NoIngress {
        /// The port.
        interface: String,
    },
    /// A file that was not there, and is this one now.
    NoFile {
        /// Its whole path.
        path: String,
        /// On which file system.
        device: u64,
        /// Which one there.
        inode: u64,
    },
    /// A link that was not there.
    NoLink {
        /// Its name.
        name: String,
    },
}

impl Found {
    /// Of the whole machine, whichever network namespace an agent is in.
    fn is_the_machines(&self) -> bool {
        matches!(self, Self::Setting(Setting::File { .. }) | Self::NoFile { .. })
    }

    /// In words: `cpufreq/scaling_governor`, `offloads of eth1`.
    fn told(&self) -> String {
        match self {
            Self::Setting(Setting::File { path, value }) => format!("{path} to {value}"),
            Self::Setting(Setting::Address { interface, address, .. }) => {
                format!("{interface} without {address}")
            }
            Self::Setting(setting) => {
                format!("settings of {}", setting.interface().unwrap_or_default())
            }
            Self::Offloads { interface, .. } => format!("offloads of {interface}"),
            Self::NoIngress { interface } => format!("the ingress queue of {interface}"),
            Self::NoLink { name } => format!("link {name}"),
            Self::NoFile { path, .. } => format!("that there is no {path}"),
        }
    }

    /// Whether it is the setting that this one sets.
    pub fn is_of(&self, setting: &Setting) -> bool {
        let path = |setting: &Setting| match setting {
            Setting::File { path, .. } => Some(path.clone()),
            _ => None,
        };
        matches!(self, Self::Setting(noted) if path(noted).is_some() && path(noted) == path(setting))
    }

    /// As it was. What is gone needs nothing.
    fn restore(&self) -> Result<(), Failed> {
        let restored = match self {
            Self::Setting(setting) => return settings::restore(setting),
            Self::NoFile { path, device, inode } => return remove_file(path, (*device, *inode)),
            Self::Offloads { interface, features } => {
                let previous = PreviousFeatures { changed: features.clone(), left_on: Vec::new() };
                Netlink::open().and_then(|mut kernel| kernel.restore(interface, &previous))
            }
            Self::NoIngress { interface } => Netlink::open().and_then(|mut kernel| {
                let port = kernel.link(interface)?.index;
                kernel.restore_arrivals(port)
            }),
            Self::NoLink { name } => Netlink::open().and_then(|mut kernel| {
                let link = kernel.link(name)?.index;
                kernel.remove_link(link)
            }),
        };
        match restored {
            Err(error) if error.is_absent() => Ok(()),
            Err(cause) => Err(Failed::because(format!("put back {}", self.told()), cause)),
            Ok(()) => Ok(()),
        }
    }
}

/// A file's content.
#[derive(Debug, Serialize, Deserialize)]
struct Ledger {
    /// Which boot of the machine.
    boot: String,
    /// Which network namespace.
    network: (u64, u64),
    /// Oldest first.
    found: Vec<Found>,
}

/// What this agent changed, and its file; none until something is changed.
#[derive(Debug, Default)]
pub struct Notes {
    file: Option<(PathBuf, File)>,
    all: Vec<Found>,
    /// Whether the host outlives the testbed: a lab's goes with it, and all that is its own.
    lasting: bool,
}

impl Notes {
    /// Whether nothing is noted.
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether the host outlives the testbed.
    pub const fn lasts(&mut self, lasting: bool) {
        self.lasting = lasting;
    }

    /// Oldest first.
    pub fn all(&self) -> &[Found] {
        &self.all
    }

    /// Whether any of it is such.
    pub fn has(&self, which: impl Fn(&Found) -> bool) -> bool {
        self.all.iter().any(which)
    }

    /// Writes down what is about to be changed, and from here on only lets this agent end by ways
    /// that restore. Where no file can be had (no root, no `/run`), it is only remembered.
    pub fn note(&mut self, found: Found) -> Result<(), Failed> {
        parent_death::slacken()?;
        let written = self.lasting || found.is_the_machines();
        self.all.push(found);
        if self.file.is_none() && written {
            self.file = open_own().map_err(unwritten)?;
        }
        self.write()
    }

    /// Writes down that what `of` tells of is now this.
    pub fn renote(&mut self, of: impl Fn(&Found) -> bool, now: &Found) -> Result<(), Failed> {
        for found in self.all.iter_mut().filter(|found| of(found)) {
            *found = now.clone();
        }
        self.write()
    }

    /// Puts everything back, the newest first and as far as it goes; the first failure is told.
    /// What could not be put back stays noted.
    pub fn undo(&mut self) -> Result<(), Failed> {
        self.undo_those(|_| true)
    }

    /// The same for some of it.
    pub fn undo_those(&mut self, which: impl Fn(&Found) -> bool) -> Result<(), Failed> {
        let first = undo(&mut self.all, which);
        let written = self.write();
        let tied = if self.is_empty() { parent_death::tighten() } else { Ok(()) };
        first.and(written).and(tied)
    }

    fn write(&mut self) -> Result<(), Failed> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let stays = |found: &&Found| self.lasting || found.is_the_machines();
        let left: Vec<Found> = self.all.iter().filter(stays).cloned().collect();
        if left.is_empty() {
            let _ = fs::remove_file(path);
            self.file = None;
            return Ok(());
        }
        let (boot, network) = place().map_err(unwritten)?;
        rewrite(file, &Ledger { boot, network, found: left }).map_err(unwritten)
    }
}

/// Only if it is still the same file.
fn remove_file(path: &str, identity: (u64, u64)) -> Result<(), Failed> {
    match fs::symlink_metadata(path) {
        Ok(of) if (of.dev(), of.ino()) == identity => {
            fs::remove_file(path).map_err(Failed::to(format!("remove {path}")))
        }
        _ => Ok(()),
    }
}

fn undo(ledger: &mut Vec<Found>, which: impl Fn(&Found) -> bool) -> Result<(), Failed> {
    let (mut first, mut left) = (Ok(()), Vec::new());
    while let Some(found) = ledger.pop() {
        if !which(&found) {
            left.push(found);
            continue;
        }
        if let Err(fault) = found.restore() {
            left.push(found);
            first = first.and(Err(fault));
        }
    }
    left.reverse();
    *ledger = left;
    first
}

/// Undoes what agents left that were killed; what, in words. What belongs to another network
/// namespace, or can't be put back, stays for one that can.
pub fn mend() -> Vec<String> {
    let Ok(entries) = fs::read_dir(FOLDER) else { return Vec::new() };
    let Ok((boot, network)) = place() else { return Vec::new() };
    let mut mended = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(mut file) = orphan(&path) else { continue };
        let Some(ledger) = read(&mut file).filter(|ledger| ledger.boot == boot) else {
            let _ = fs::remove_file(&path);
            continue;
        };
        let ours = |found: &Found| found.is_the_machines() || ledger.network == network;
        // What fails stays in the file, and is tried again by the next: some settings of the
        // machine can be written in its first network namespace only.
        let mut found = ledger.found.clone();
        let _ = undo(&mut found, ours);
        let is_mended = |noted: &&Found| !found.contains(noted);
        mended.extend(ledger.found.iter().filter(is_mended).map(Found::told));
        // What is left is still of the namespace that it was found in.
        let left = Ledger { found, ..ledger };
        let _ = if left.found.is_empty() { fs::remove_file(&path) } else { rewrite(&file, &left) };
    }
    mended
}

/// What killed agents left in other network namespaces, or what could not be put back, in words.
pub fn left() -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let ledgers = entries.filter_map(|entry| read(&mut orphan(&entry.path())?));
    ledgers.flat_map(|ledger| ledger.found).map(|found| found.told()).collect()
}

/// Whether a living agent holds this setting of the machine.
pub fn is_held(setting: &Setting) -> bool {
    let Setting::File { path: wanted, .. } = setting else { return false };
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        let Ok(mut file) = File::open(&path) else { return false };
        let alive = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let has = |found: &Found| {
            matches!(found, Found::Setting(Setting::File { path, .. }) if path == wanted)
        };
        alive && read(&mut file).is_some_and(|ledger| ledger.found.iter().any(has))
    })
}

/// The file of an agent that is no more, locked.
fn orphan(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let of = file.metadata().ok()?;
    let sound = of.is_file() && of.uid() == nix::unistd::geteuid().as_raw();
    (sound && file.try_lock().is_ok()).then_some(file)
}

fn read(file: &mut File) -> Option<Ledger> {
    let mut text = String::new();
    file.rewind().ok()?;
    (&mut *file).take(LONGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// In one write, padded to what was there: whenever this process is killed, the file is whole.
fn rewrite(file: &File, ledger: &Ledger) -> io::Result<()> {
    let mut text = serde_json::to_string(ledger)?;
    let before = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    let padding = before.saturating_sub(text.len());
    text.extend(std::iter::repeat_n(' ', padding));
    file.write_all_at(text.as_bytes(), 0)
}

/// A file of this agent's alone; none where this user has no place for one.
fn open_own() -> io::Result<Option<(PathBuf, File)>> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(None);
    }
    match fs::DirBuilder::new().mode(0o700).create(FOLDER) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        // A user namespace's root has no /run of its own, and changes nothing that outlives it.
        Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => {
            return Ok(None);
        }
        made => made?,
    }
    let of = fs::symlink_metadata(FOLDER)?;
    if !of.is_dir() || of.uid() != 0 || of.mode() & 0o022 != 0 {
        return Ok(None);
    }
    for number in 0..1000 {
        let path = Path::new(FOLDER).join(format!("{}-{number}.json", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                let file = opened?;
                file.lock()?;
                return Ok(Some((path, file)));
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Which boot, and which network namespace.
fn place() -> io::Result<(String, (u64, u64))> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let network = fs::metadata("/proc/self/ns/net")?;
    Ok((boot.trim().to_owned(), (network.dev(), network.ino())))
}

fn unwritten(cause: io::Error) -> Failed {
    Failed::because(format!("write {FOLDER}"), cause)
}
