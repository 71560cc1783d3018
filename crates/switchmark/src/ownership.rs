//! Ownership of files: nobody but this user can have written one, or put another in its place.
//!
//! Owns that question, for what is executed on the word of a journal. Files that somebody names on
//! the command line are theirs to judge.

use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User, geteuid};

/// Folders that anybody may write to, where only a file's owner replaces it.
const STICKY: u32 = 0o1000;

/// A path that somebody else could have written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOwn {
    /// Another user owns it.
    #[error("{} belongs to user {uid}", path.display())]
    Owner {
        /// File or folder.
        path: PathBuf,
        /// Id of its owner.
        uid: u32,
    },
    /// Others may write to it.
    #[error("others than this user can write to {}", path.display())]
    Mode {
        /// File or folder.
        path: PathBuf,
    },
    /// The owner cannot be read.
    #[error("look at {}: {why}", path.display())]
    Unknown {
        /// File or folder.
        path: PathBuf,
        /// Reason in the kernel's words.
        why: String,
    },
}

impl NotOwn {
    /// Advice on what the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Owner { .. } => "have it in a folder of your own, as your own file".to_owned(),
            Self::Mode { path } => format!("`chmod go-w {}`", path.display()),
            Self::Unknown { .. } => "have it where this user can look".to_owned(),
        }
    }
}

thread_local! {
    static IS_ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Reads what a journal names: every file read meanwhile has to be this user's own.
pub fn own_files_only<T>(read: impl FnOnce() -> T) -> T {
    let before = IS_ASKED.replace(true);
    let done = read();
    IS_ASKED.set(before);
    done
}

/// Refuses an open file that is not this user's own, where that was asked for.
pub fn check_open(path: &Path, file: &File) -> io::Result<()> {
    if !IS_ASKED.get() {
        return Ok(());
    }
    let refused = |why: NotOwn| io::Error::new(io::ErrorKind::PermissionDenied, why);
    check(path).and_then(|()| check_one(path, &file.metadata())).map_err(refused)
}

/// Refuses a file or a folder that others could have written, or could have put in its place.
pub fn check(path: &Path) -> Result<(), NotOwn> {
    let unknown = |why: io::Error| NotOwn::Unknown { path: path.to_owned(), why: why.to_string() };
    let named = std::path::absolute(path).map_err(unknown)?;
    // The path by its name, links included, and its target.
    for way in [path.canonicalize().map_err(unknown)?, named] {
        check_one(&way, &way.metadata())?;
        for folder in way.ancestors().skip(1) {
            match folder.metadata() {
                Ok(of) if of.mode() & STICKY != 0 && is_ours(of.uid()) => {}
                found => check_one(folder, &found)?,
            }
        }
    }
    Ok(())
}

fn check_one(path: &Path, found: &io::Result<Metadata>) -> Result<(), NotOwn> {
    let of = match found {
        Ok(of) => of,
        Err(why) => {
            return Err(NotOwn::Unknown { path: path.to_owned(), why: why.to_string() });
        }
    };
    if !is_ours(of.uid()) {
        return Err(NotOwn::Owner { path: path.to_owned(), uid: of.uid() });
    }
    let by_group = of.mode() & 0o020 != 0 && !is_private(of.gid());
    if by_group || of.mode() & 0o002 != 0 {
        return Err(NotOwn::Mode { path: path.to_owned() });
    }
    Ok(())
}

/// True for this user, root, or the user who became root by sudo.
fn is_ours(uid: u32) -> bool {
    let own = geteuid();
    let asked = || std::env::var("SUDO_UID").ok().and_then(|text| text.parse().ok());
    uid == 0 || uid == own.as_raw() || (own.is_root() && asked() == Some(uid))
}

/// True for a group of one user alone, as many systems give each.
fn is_private(gid: u32) -> bool {
    let Ok(Some(group)) = Group::from_gid(Gid::from_raw(gid)) else { return false };
    let Ok(Some(user)) = User::from_name(&group.name) else { return false };
    user.gid.as_raw() == gid
        && is_ours(Uid::as_raw(user.uid))
        && group.mem.iter().all(|name| *name == user.name)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_ones_own_where_nobody_else_can_have_written_it() {
        let base = std::env::temp_dir().join(format!("switchmark-own-{}", std::process::id()));
        let folder = base.join("folder");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("rack.toml");
        fs::write(&file, "x").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        for (of_folder, of_file, is_own) in [
            (0o755, 0o644, true),
            (0o700, 0o600, true),
            (0o1777, 0o644, true),
            (0o777, 0o644, false),
            (0o755, 0o666, false),
        ] {
            mode(&folder, of_folder).unwrap();
            mode(&file, of_file).unwrap();
            assert_eq!(check(&file).is_ok(), is_own, "{of_folder:o} {of_file:o}");
            let read = own_files_only(|| crate::files::text(&file));
            assert_eq!(read.is_ok(), is_own, "{of_folder:o} {of_file:o}");
            assert!(crate::files::text(&file).is_ok(), "whoever names it knows it");
        }
        mode(&folder, 0o777).unwrap();
        let link = base.join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(check(&link).is_err(), "where a link leads is looked at too");
        if geteuid().is_root() {
            mode(&folder, 0o755).unwrap();
            mode(&file, 0o644).unwrap();
            std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
            let why = check(&file).unwrap_err();
            assert!(matches!(why, NotOwn::Owner { uid: 65_534, .. }), "{why}");
        }
        fs::remove_dir_all(&base).unwrap();
    }
}
