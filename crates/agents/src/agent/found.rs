//! The original state of a host, written to a file for the next agent before each change.
//!
//! A killed agent restores nothing. Every change is therefore first written to a file of this
//! agent, which is locked for as long as it lives. An unlocked file belongs to a dead agent; the
//! next agent with the rights undoes it. Owns those files and the undoing. Never changes anything
//! that is not in a file or is no longer as this program left it, and never touches the changes of
//! a living agent.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use netlink::{Arrivals, Netlink, NetlinkError, PreviousFeatures};
use serde::{Deserialize, Serialize};

use super::{parent_death, settings};
use crate::failed::Failed;
use crate::protocol::{Mended, Setting};
use crate::speak::speak;

/// Folder of the files: in memory, so that a boot clears it together with the changes.
const FOLDER: &str = "/run/switchmark";
/// Maximum size of a file; a longer one was not written by an agent.
const LONGEST: u64 = 1 << 20;

/// Original state of one thing, with proof that this program changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// A setting.
    Setting {
        /// Original value.
        was: Setting,
        /// Value that this program set.
        set: Setting,
        /// Number of the port that it belongs to; `None` for a setting of the machine.
        port: Option<u32>,
    },
    /// Offloads of a port that were turned off, each with its original value.
    Offloads {
        /// Name of the port.
        interface: String,
        /// Number of the port: another port of that name has another one.
        port: u32,
        /// Original values by feature.
        features: Vec<(String, bool)>,
    },
    /// A port that had no ingress queue.
    NoIngress {
        /// Name of the port.
        interface: String,
        /// Number of the port.
        port: u32,
        /// Link to which this program redirects all arriving frames.
        link: u32,
    },
    /// A link that did not exist.
    NoLink {
        /// Name of the link.
        name: String,
        /// Ethernet address that this program drew for it.
        mac: [u8; 6],
    },
}

/// Result of restoring one thing.
#[derive(Debug, PartialEq, Eq)]
enum Restored {
    /// Restored, or gone.
    Done,
    /// Left unchanged, because it is no longer as this program left it. Contains the reason, as a
    /// clause.
    Left(String),
}

impl Found {
    /// True if it concerns the whole machine, in whichever network namespace an agent is.
    const fn is_the_machines(&self) -> bool {
        matches!(self, Self::Setting { was: Setting::File { .. }, .. })
    }

    /// Describes the original state: `cpufreq/scaling_governor`, `offloads of eth1`.
    fn description(&self) -> String {
        match self {
            Self::Setting { was: Setting::File { path, value }, .. } => {
                format!("{path} to {value}")
            }
            Self::Setting { was: Setting::Address { interface, address, .. }, .. } => {
                format!("{interface} without {address}")
            }
            Self::Setting { was, .. } => {
                format!("settings of {}", was.interface().unwrap_or_default())
            }
            Self::Offloads { interface, .. } => format!("offloads of {interface}"),
            Self::NoIngress { interface, .. } => format!("the ingress queue of {interface}"),
            Self::NoLink { name, .. } => format!("link {name}"),
        }
    }

    /// True if this is the original state of that setting.
    pub fn is_of(&self, setting: &Setting) -> bool {
        let path = |setting: &Setting| match setting {
            Setting::File { path, .. } => Some(path.clone()),
            _ => None,
        };
        matches!(self, Self::Setting { was, .. } if path(was).is_some() && path(was) == path(setting))
    }

    /// Restores the original state, if it is still as this program left it. A thing that is gone
    /// needs no restoring.
    fn restore(&self) -> Result<Restored, Failed> {
        let restored = match self {
            Self::Setting { was, set, port } => return restore_setting(was, set, *port),
            Self::Offloads { interface, port, features } => {
                restore_offloads(interface, *port, features)
            }
            Self::NoIngress { interface, port, link } => remove_ingress(interface, *port, *link),
            Self::NoLink { name, mac } => remove_link(name, *mac),
        };
        match restored {
            Err(error) if error.is_absent() => Ok(Restored::Done),
            restored => restored.map_err(Failed::to(format!("put back {}", self.description()))),
        }
    }
}

/// Number of a port; `None` if there is no such port now.
pub fn port_number(interface: &str) -> Option<u32> {
    Some(Netlink::open().ok()?.link(interface).ok()?.index)
}

fn restore_setting(was: &Setting, set: &Setting, port: Option<u32>) -> Result<Restored, Failed> {
    // Another port of that name was never changed.
    if port.is_some() && was.interface().and_then(port_number) != port {
        return Ok(Restored::Done);
    }
    let now = match settings::now(was) {
        Err(fault) if settings::is_absent(&fault) => return Ok(Restored::Done),
        now => now?,
    };
    if now.is_like(was) {
        return Ok(Restored::Done);
    }
    if !now.is_like(set) {
        let why = format!("it is {}, and this program had set {}", now.value(), set.value());
        return Ok(Restored::Left(why));
    }
    settings::restore(was).map(|()| Restored::Done)
}

fn restore_offloads(
    interface: &str,
    port: u32,
    features: &[(String, bool)],
) -> Result<Restored, NetlinkError> {
    let mut kernel = Netlink::open()?;
    if kernel.link(interface)?.index == port {
        let previous = PreviousFeatures { changed: features.to_vec(), left_on: Vec::new() };
        kernel.restore(interface, &previous)?;
    }
    Ok(Restored::Done)
}

fn remove_ingress(interface: &str, port: u32, link: u32) -> Result<Restored, NetlinkError> {
    let mut kernel = Netlink::open()?;
    if kernel.link(interface)?.index != port {
        return Ok(Restored::Done);
    }
    match kernel.arrivals(port)? {
        Arrivals::Direct => {}
        Arrivals::Through(through) if through == link => kernel.restore_arrivals(port)?,
        _ => return Ok(Restored::Left("its filters are not those of this program".into())),
    }
    Ok(Restored::Done)
}

fn remove_link(name: &str, mac: [u8; 6]) -> Result<Restored, NetlinkError> {
    let mut kernel = Netlink::open()?;
    let link = kernel.link(name)?;
    if link.kind.as_deref() != Some("ifb") || link.mac != Some(mac) {
        return Ok(Restored::Left("it is not the link that this program made".into()));
    }
    kernel.remove_link(link.index).map(|()| Restored::Done)
}

/// Content of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Ledger {
    /// Boot id of the machine.
    boot: String,
    /// Network namespace, as device and inode.
    network: (u64, u64),
    /// Original states, oldest first.
    found: Vec<Found>,
}

/// Changes of this agent, and its file; no file until something is changed.
#[derive(Debug, Default)]
pub struct Notes {
    file: Option<(PathBuf, File)>,
    all: Vec<Found>,
    /// True if the host outlives the testbed. A lab's host goes with it, and so do all its changes.
    lasting: bool,
}

impl Notes {
    /// True if nothing is noted.
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Sets whether the host outlives the testbed.
    pub const fn lasts(&mut self, lasting: bool) {
        self.lasting = lasting;
    }

    /// True if any noted change matches.
    pub fn has(&self, which: impl Fn(&Found) -> bool) -> bool {
        self.all.iter().any(which)
    }

    /// Writes down a change before it is made. From here on this agent ends only in ways that
    /// restore it. If no file is possible (no root, no `/run`), the change is only remembered.
    pub fn note(&mut self, found: Found) -> Result<(), Failed> {
        parent_death::slacken()?;
        let written = self.lasting || found.is_the_machines();
        self.all.push(found);
        if self.file.is_none() && written {
            self.file = open_own().map_err(unwritten)?;
        }
        self.write()
    }

    /// Updates the last noted setting to the value that was actually set: the kernel rounds.
    pub fn note_reached(&mut self, reached: Setting) -> Result<(), Failed> {
        if let Some(Found::Setting { set, .. }) = self.all.last_mut() {
            *set = reached;
        }
        self.write()
    }

    /// Restores everything, the newest change first and as far as possible; returns the first
    /// failure. Failed changes stay noted. Anything that another program changed meanwhile is left,
    /// and reported.
    pub fn undo(&mut self) -> Result<(), Failed> {
        self.undo_those(|_| true)
    }

    /// Restores only the matching changes; see [`Self::undo`].
    pub fn undo_those(&mut self, which: impl Fn(&Found) -> bool) -> Result<(), Failed> {
        let mut undone = Mended::default();
        let first = undo(&mut self.all, which, &mut undone);
        for what in undone.left {
            speak(&format!("left as it is: {what}"));
        }
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

/// Restores the matching changes of a ledger, the newest first, and records each result.
fn undo(
    ledger: &mut Vec<Found>,
    which: impl Fn(&Found) -> bool,
    undone: &mut Mended,
) -> Result<(), Failed> {
    let (mut first, mut stays) = (Ok(()), Vec::new());
    while let Some(found) = ledger.pop() {
        if !which(&found) {
            stays.push(found);
            continue;
        }
        match found.restore() {
            Ok(Restored::Done) => undone.restored.push(found.description()),
            Ok(Restored::Left(why)) => undone.left.push(format!("{}: {why}", found.description())),
            Err(fault) => {
                stays.push(found);
                first = first.and(Err(fault));
            }
        }
    }
    stays.reverse();
    *ledger = stays;
    first
}

/// Undoes the changes of killed agents. A change in another network namespace, or one that fails,
/// stays for an agent that can undo it. One that another program has changed since is left,
/// reported once and forgotten.
pub fn mend() -> Mended {
    mend_in(Path::new(FOLDER))
}

fn mend_in(folder: &Path) -> Mended {
    let mut mended = Mended::default();
    let Ok(entries) = fs::read_dir(folder) else { return mended };
    let Ok((boot, network)) = place() else { return mended };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_ledger(path)) {
        let Some(mut file) = orphan(&path) else { continue };
        let ledger = match read(&mut file) {
            Content::Ledger(ledger) if ledger.boot == boot => ledger,
            Content::Ledger(_) | Content::Nothing => {
                let _ = fs::remove_file(&path);
                continue;
            }
            Content::Unreadable => {
                let path = path.display();
                mended.left.push(format!(
                    "what is noted in {path}: this version cannot read it; remove it when all is as it \
                     should be"
                ));
                continue;
            }
        };
        let ours = |found: &Found| found.is_the_machines() || ledger.network == network;
        // A failure stays in the file, and the next agent tries again: some settings of the machine
        // can be written in its first network namespace only.
        let (mut found, mut undone) = (ledger.found.clone(), Mended::default());
        let _ = undo(&mut found, ours, &mut undone);
        mended.restored.extend(undone.restored.into_iter().rev());
        mended.left.extend(undone.left);
        // The rest still belongs to the namespace in which it was found.
        let left = Ledger { found, ..ledger };
        let _ = if left.found.is_empty() { fs::remove_file(&path) } else { rewrite(&file, &left) };
    }
    mended
}

/// True if a file has an agent's name: `123-0.json`. Any other belongs to another program.
fn is_ledger(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((process, number)) = name.strip_suffix(".json").and_then(|n| n.split_once('-')) else {
        return false;
    };
    [process, number].iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Lists changes of killed agents that remain: in other network namespaces, or failed to restore.
pub fn unrestored_changes() -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| is_ledger(path));
    let ledgers = paths.filter_map(|path| read(&mut orphan(&path)?).ledger());
    ledgers.flat_map(|ledger| ledger.found).map(|found| found.description()).collect()
}

/// True if a living agent holds this setting of the machine.
pub fn is_held(setting: &Setting) -> bool {
    let Setting::File { path: wanted, .. } = setting else { return false };
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        let Ok(mut file) = File::open(&path) else { return false };
        let alive = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let has = |found: &Found| {
            matches!(found, Found::Setting { was: Setting::File { path, .. }, .. } if path == wanted)
        };
        alive && read(&mut file).ledger().is_some_and(|ledger| ledger.found.iter().any(has))
    })
}

/// Opens and locks the file of a dead agent; `None` for any other.
fn orphan(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let of = file.metadata().ok()?;
    let sound = of.is_file() && of.uid() == nix::unistd::geteuid().as_raw();
    (sound && file.try_lock().is_ok()).then_some(file)
}

/// Content of a file, as read.
enum Content {
    Ledger(Ledger),
    /// Empty: its agent was killed before it noted anything.
    Nothing,
    /// Written by another version, or by no agent.
    Unreadable,
}

impl Content {
    fn ledger(self) -> Option<Ledger> {
        match self {
            Self::Ledger(ledger) => Some(ledger),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

fn read(file: &mut File) -> Content {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| (&mut *file).take(LONGEST).read_to_string(&mut text));
    match read {
        Ok(_) if text.trim().is_empty() => Content::Nothing,
        Ok(_) => serde_json::from_str(&text).map_or(Content::Unreadable, Content::Ledger),
        Err(_) => Content::Unreadable,
    }
}

/// Writes in one call, padded to the previous length: the file is complete whenever this process is
/// killed.
fn rewrite(file: &File, ledger: &Ledger) -> io::Result<()> {
    let mut text = serde_json::to_string(ledger)?;
    let before = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    let padding = before.saturating_sub(text.len());
    text.extend(std::iter::repeat_n(' ', padding));
    file.write_all_at(text.as_bytes(), 0)
}

/// Creates this agent's own file; `None` if this user has no place for one.
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

/// Returns the boot id and the network namespace.
fn place() -> io::Result<(String, (u64, u64))> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let network = fs::metadata("/proc/self/ns/net")?;
    Ok((boot.trim().to_owned(), (network.dev(), network.ino())))
}

fn unwritten(cause: io::Error) -> Failed {
    Failed::because(format!("write {FOLDER}"), cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("switchmark-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn file(path: &Path, value: &str) -> Setting {
        Setting::File { path: path.display().to_string(), value: value.to_owned() }
    }

    #[test]
    fn what_somebody_else_set_since_is_left_and_said() {
        let folder = scratch("found");
        let path = folder.join("governor");
        for (now, after, is_left) in [
            ("performance", "powersave", false),
            ("powersave", "powersave", false),
            ("schedutil", "schedutil", true),
        ] {
            fs::write(&path, now).unwrap();
            let (was, set) = (file(&path, "powersave"), file(&path, "performance"));
            let mut all = vec![Found::Setting { was, set, port: None }];
            let mut undone = Mended::default();
            undo(&mut all, |_| true, &mut undone).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
            let left = undone.left;
            assert_eq!(left.len(), usize::from(is_left), "{now}: {left:?}");
            assert!(
                left.iter().all(|told| told.contains("governor") && told.contains("schedutil"))
            );
            assert!(all.is_empty(), "said once");
        }
        // A failed lookup keeps the note.
        fs::remove_file(&path).unwrap();
        let (was, set) = (file(&path, "powersave"), file(&path, "performance"));
        let mut all = vec![Found::Setting { was, set, port: None }];
        undo(&mut all, |_| true, &mut Mended::default()).unwrap_err();
        assert_eq!(all.len(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Notes of this version and of an earlier one, which identified a laid-out file by its inode:
    /// that proves nothing.
    #[test]
    fn no_file_goes_but_a_dead_agents_whole_notes() {
        let folder = scratch("notes");
        let (precious, setting) = (folder.join("backup.img"), folder.join("setting"));
        fs::write(&precious, b"precious").unwrap();
        fs::write(&setting, "set").unwrap();
        let of = fs::metadata(&precious).unwrap();
        let (boot, network) = place().unwrap();
        let ledger = |found| Ledger { boot: boot.clone(), network, found };
        let told = |ledger: &Ledger| serde_json::to_string(ledger).unwrap();
        let found = |set: &str| Found::Setting {
            was: file(&setting, "was"),
            set: file(&setting, set),
            port: None,
        };
        let earlier = format!(
            r#"{{"boot":"{boot}","network":[{},{}],"found":[{{"no-file":{{"path":"{}","device":{},"inode":{}}}}}]}}"#,
            network.0,
            network.1,
            precious.display(),
            of.dev(),
            of.ino()
        );
        let other_boot = Ledger { boot: "another".into(), ..ledger(vec![found("set")]) };
        for (name, content) in [
            ("notes.txt", "mine".to_owned()),
            ("1-0.json.bak", told(&ledger(vec![found("set")]))),
            ("2-0.json", earlier),
            ("3-0.json", String::new()),
            ("4-0.json", told(&other_boot)),
            ("5-0.json", told(&ledger(vec![found("set")]))),
            ("6-0.json", told(&ledger(vec![found("what it never was")]))),
        ] {
            fs::write(folder.join(name), content).unwrap();
        }
        let mended = mend_in(&folder);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(mended.restored.len() + mended.left.len(), 3, "{mended:?}");
        assert!(mended.left.iter().any(|told| told.contains("2-0.json")), "{mended:?}");
        assert_eq!(fs::read_to_string(&setting).unwrap(), "was");
        let stays = ["1-0.json.bak", "2-0.json", "backup.img", "notes.txt", "setting"];
        let mut names: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, stays);
        fs::remove_dir_all(&folder).unwrap();
    }
}
