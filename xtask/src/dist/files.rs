//! Files as they will lie on a host, held in memory: what every archive and package is made of.
//!
//! Owns their order, owner and time, so that the same files are always the same octets. Never knows
//! which files there are.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

const FOLDER: u32 = 0o755;
const PROGRAM: u32 = 0o755;
const PLAIN: u32 = 0o644;

#[derive(Clone)]
enum Entry {
    Folder,
    File(Vec<u8>),
    /// Leads there, seen from its own folder.
    Link(String),
}

/// Entries by path, without a `/` before it. A folder comes before what is in it.
#[derive(Clone, Default)]
pub(super) struct Files(BTreeMap<String, (u32, Entry)>);

impl Files {
    pub(super) fn folder(&mut self, path: &str, mode: u32) {
        self.insert(path, mode, Entry::Folder);
    }

    pub(super) fn file(&mut self, path: &str, octets: impl Into<Vec<u8>>) {
        self.insert(path, PLAIN, Entry::File(octets.into()));
    }

    pub(super) fn program(&mut self, path: &str, octets: impl Into<Vec<u8>>) {
        self.insert(path, PROGRAM, Entry::File(octets.into()));
    }

    pub(super) fn link(&mut self, path: &str, to: &str) {
        self.insert(path, 0o777, Entry::Link(to.to_owned()));
    }

    /// A folder of this machine, with all that is in it.
    pub(super) fn all_of(&mut self, folder: &Path, path: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
            let entry = entry?;
            let (from, name) = (entry.path(), entry.file_name());
            let to = format!("{path}/{}", name.to_str().context("a name in UTF-8")?);
            if from.is_dir() {
                self.all_of(&from, &to)?;
            } else {
                self.file(&to, read(&from)?);
            }
        }
        Ok(())
    }

    /// The text of the file there.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.octets(path)?).ok()
    }

    pub(super) fn octets(&self, path: &str) -> Option<&[u8]> {
        let (_, Entry::File(octets)) = self.0.get(path)? else { return None };
        Some(octets)
    }

    /// True if something is there, even behind a link.
    pub(super) fn has(&self, path: &str) -> bool {
        let behind = |(at, to): (&str, &str)| {
            let rest = path.strip_prefix(at)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| joined(above(at), to) + rest)
        };
        let mut links = self.0.iter().filter_map(|(at, (_, entry))| match entry {
            Entry::Link(to) => Some((at.as_str(), to.as_str())),
            Entry::Folder | Entry::File(_) => None,
        });
        self.0.contains_key(path)
            || links.any(|link| behind(link).is_some_and(|path| self.0.contains_key(&path)))
    }

    /// The paths of all files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the files with every path changed, or left out, and with the folders of what is
    /// left.
    pub(super) fn moved(&self, to: impl Fn(&str) -> Option<String>) -> Self {
        let mut moved = Self::default();
        for (path, (mode, entry)) in &self.0 {
            if let Some(path) = to(path) {
                moved.insert(&path, *mode, entry.clone());
            }
        }
        moved
    }

    /// Octets of all files.
    pub(super) fn size(&self) -> usize {
        let held = self.0.values().map(|(_, entry)| match entry {
            Entry::File(octets) => octets.len(),
            Entry::Folder | Entry::Link(_) => 0,
        });
        held.sum()
    }

    /// Packs them as an archive, all of it root's and as old as the commit.
    pub(super) fn tar(&self, epoch: u64) -> Result<Vec<u8>> {
        let mut archive = Builder::new(Vec::new());
        for (path, (mode, entry)) in &self.0 {
            let mut header = Header::new_gnu();
            header.set_mode(*mode);
            header.set_mtime(epoch);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(0);
            match entry {
                Entry::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    archive.append_data(&mut header, format!("{path}/"), &[][..])?;
                }
                Entry::File(octets) => {
                    header.set_size(octets.len() as u64);
                    archive.append_data(&mut header, path, octets.as_slice())?;
                }
                Entry::Link(to) => {
                    header.set_entry_type(EntryType::Symlink);
                    archive.append_link(&mut header, path, to)?;
                }
            }
        }
        archive.into_inner().context("finish an archive")
    }

    /// Writes them onto this machine's disk.
    pub(super) fn write_below(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for (path, (mode, entry)) in &self.0 {
            let at = folder.join(path);
            let done = match entry {
                Entry::Folder => fs::create_dir_all(&at),
                Entry::File(octets) => fs::write(&at, octets),
                Entry::Link(to) => symlink(to, &at),
            };
            done.with_context(|| format!("write {}", at.display()))?;
            if !matches!(entry, Entry::Link(_)) {
                fs::set_permissions(&at, fs::Permissions::from_mode(*mode))?;
            }
        }
        Ok(())
    }

    fn insert(&mut self, path: &str, mode: u32, entry: Entry) {
        let mut folder = above(path);
        while !folder.is_empty() && !self.0.contains_key(folder) {
            self.0.insert(folder.to_owned(), (FOLDER, Entry::Folder));
            folder = above(folder);
        }
        self.0.insert(path.to_owned(), (mode, entry));
    }
}

/// Returns the folder of a path; empty if there is none.
pub(super) fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the target of a link in that folder.
pub(super) fn joined(folder: &str, to: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in to.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Packed by gzip, without a name and a time.
pub(super) fn gzip(octets: &[u8]) -> Result<Vec<u8>> {
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::best());
    packer.write_all(octets)?;
    Ok(packer.finish()?)
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("read {}", file.display()))
}

pub(super) fn write(file: &Path, octets: &[u8]) -> Result<()> {
    fs::write(file, octets).with_context(|| format!("write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_where_a_reader_follows_them() {
        let mut files = Files::default();
        files.file("share/held/plan.toml", "");
        files.link("share/doc/examples", "../held");
        for (path, there) in [
            ("share/held/plan.toml", true),
            ("share/doc/examples/plan.toml", true),
            ("share/doc/examples", true),
            ("share/doc/examples/none.toml", false),
            ("share/doc/exam", false),
        ] {
            assert_eq!(files.has(path), there, "{path}");
        }
        assert_eq!(joined("docs/verbs", "../../examples/./plan.toml"), "examples/plan.toml");
    }
}
