//! Files that a job needs and that do not exist: laid out without a name.
//!
//! Such a file is in no folder. It gets in nobody's way, no other program's file is ever taken for
//! it, and nothing has to be removed: the kernel frees it with the last process that has it open,
//! however that ends. Owns the creation and filling, and keeps only complete files. Never makes a
//! file with a name, except briefly, between two system calls, if the file system requires it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use dataplane::{FlowError, Halt, clock};
use measure::Nanos;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use rand::rngs::SysRng;
use rand::{RngExt as _, SeedableRng as _, TryRng as _};
use rand_pcg::Pcg64;

use super::room::Room;

/// Octets written at once.
const BLOCK: usize = 1 << 20;
/// Blocks between two checks of the free space, which other programs use too.
const BLOCKS_A_LOOK: u64 = 64;
/// Suggested fix if no file can be laid out.
pub(super) const REMEDY: &str = "give a smaller `size`, or name a file on a larger file system";

/// Completely laid out files, by the path that jobs use.
#[derive(Debug, Default)]
pub struct NamelessFiles(BTreeMap<String, (u64, File)>);

impl NamelessFiles {
    /// Returns the file for `path` if it holds at least `octets`.
    pub(super) fn get(&self, path: &str, octets: u64) -> Option<&File> {
        self.0.get(path).filter(|(laid_out, _)| *laid_out >= octets).map(|(_, file)| file)
    }

    /// Lays out a file of `octets` for `path`. A file that could not be filled is freed at once.
    pub(super) fn lay_out(
        &mut self,
        path: &str,
        octets: u64,
        until: Nanos,
        halt: &Halt,
    ) -> Result<&File, FlowError> {
        // An earlier, smaller file would only waste space.
        self.0.remove(path);
        let failed = |e: io::Error| FlowError::kernel("lay out", path, e);
        let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
        let file = make(folder).map_err(failed)?;
        let room = || Room::on_file_system(&file).map_err(failed);
        let admit = |room: Room, octets| {
            room.admit(octets, &format!("`{path}`"), "its file system", REMEDY)
        };
        admit(room()?, octets)?;
        if fstatfs(&file).is_ok_and(|of| of.filesystem_type() == TMPFS_MAGIC) {
            let room = Room::of_memory().map_err(failed)?;
            room.admit(octets, &format!("`{path}`"), "this host's memory", REMEDY)?;
        }
        // Opened here first to test: not every network file system allows what fio is to do.
        File::open(name_for_children(&file)).map_err(|_| FlowError::Unavailable {
            asked: format!("a file for `{path}`"),
            why: "its file system keeps no file that has no name: make that file yourself, as large as \
                  `size`, and allow the job to write it by --allow-destroy"
                .into(),
        })?;
        // All blocks differ: a storage may keep identical ones once.
        let mut rng = Pcg64::seed_from_u64(u64::from(std::process::id()));
        let mut block = vec![0_u8; BLOCK];
        let (mut left, mut blocks) = (octets, 0);
        while left > 0 {
            if halt.is_requested() {
                return Err(FlowError::Unsuitable(format!("lay out {path}: the trial is over")));
            }
            if clock::monotonic() > until {
                let slow = format!("`{path}` could not be laid out in time");
                return Err(FlowError::Unsuitable(slow));
            }
            if blocks % BLOCKS_A_LOOK == 0 {
                admit(room()?, left)?;
            }
            let now = left.min(BLOCK as u64) as usize;
            rng.fill(&mut block[..now]);
            (&file).write_all(&block[..now]).map_err(failed)?;
            (left, blocks) = (left - now as u64, blocks + 1);
        }
        file.sync_data().map_err(failed)?;
        let kept = self.0.entry(path.to_owned()).or_insert((octets, file));
        Ok(&kept.1)
    }
}

/// Creates a file without a name on the file system of `folder`.
fn make(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    // O_EXCL: it cannot be given a name later (open(2)).
    let flags = (OFlag::O_TMPFILE | OFlag::O_EXCL).bits();
    match options.clone().custom_flags(flags).open(folder) {
        Err(e) if has_no_nameless(&e) => {}
        made => return made,
    }
    make_and_unname(folder, &mut options)
}

/// Creates a file and removes it while it is open, for NFS and others: it remains without its name.
fn make_and_unname(folder: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let name = SysRng.try_next_u64().map_err(io::Error::other)?;
    let path = folder.join(format!(".switchmark-{name:016x}"));
    let file = options.create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// True if the error means that O_TMPFILE is not supported (open(2)).
fn has_no_nameless(error: &io::Error) -> bool {
    let answers = [Errno::EOPNOTSUPP, Errno::EISDIR, Errno::ENOENT, Errno::EINVAL];
    error.raw_os_error().is_some_and(|code| answers.contains(&Errno::from_raw(code)))
}

/// Returns a path by which a process with the same descriptor can open the file again.
pub(super) fn name_for_children(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Duplicates the descriptor so that programs started while it lives inherit it.
pub(super) fn inheritable(file: &File) -> Result<File, FlowError> {
    let failed = |e: io::Error| FlowError::kernel("hand on", "a file", e);
    let inherited = file.try_clone().map_err(failed)?;
    fcntl(&inherited, FcntlArg::F_SETFD(FdFlag::empty())).map_err(|e| failed(e.into()))?;
    Ok(inherited)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    const IN_TIME: Nanos = Nanos(u64::MAX);

    fn scratch(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("switchmark-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_that_is_laid_out_stands_in_nobodys_way() {
        let folder = scratch("nameless");
        let path = folder.join("backup.img");
        let named = path.display().to_string();
        let mut files = NamelessFiles::default();
        let laid_out = files.lay_out(&named, 68 << 10, IN_TIME, &Halt::new()).unwrap();
        assert_eq!(laid_out.metadata().unwrap().len(), 68 << 10);
        assert_eq!(laid_out.metadata().unwrap().nlink(), 0);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "it is in no folder");
        let inherited = inheritable(laid_out).unwrap();
        let anew = fs::read(name_for_children(&inherited)).unwrap();
        assert_eq!(anew.len(), 68 << 10);
        // A file that the user makes under that name meanwhile is the user's.
        fs::write(&path, b"precious").unwrap();
        assert!(files.get(&named, 68 << 10).is_some(), "and ours stays ours");
        assert!(files.get(&named, 69 << 10).is_none(), "it is too short for that");
        drop(files);
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn where_no_file_is_made_nameless_it_becomes_so_at_once() {
        let folder = scratch("unnamed");
        let file = make_and_unname(&folder, OpenOptions::new().read(true).write(true)).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        (&file).write_all(b"still there").unwrap();
        assert_eq!(fs::read(name_for_children(&file)).unwrap(), b"still there");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_whole_files_are_kept() {
        let folder = scratch("half-made");
        let path = folder.join("f").display().to_string();
        let mut files = NamelessFiles::default();
        let refused = files.lay_out(&path, 1 << 50, IN_TIME, &Halt::new()).unwrap_err();
        assert!(refused.to_string().contains("stay free: give a smaller `size`"), "{refused}");
        let late = files.lay_out(&path, 1 << 20, Nanos::ZERO, &Halt::new()).unwrap_err();
        assert!(late.to_string().contains("in time"), "{late}");
        let halt = Halt::new();
        halt.ask();
        assert!(files.lay_out(&path, 1 << 20, IN_TIME, &halt).is_err());
        assert!(files.get(&path, 0).is_none(), "the next job lays it out anew");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
