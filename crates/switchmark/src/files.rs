//! Files that people name: read within limits, written whole.
//!
//! Owns both. Never takes memory for more than a limit, never waits for ever for a pipe that says
//! nothing, and never leaves half a file where a whole one was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, poll};

use crate::ownership;

/// Plans, testbeds and profiles: the largest of ours has 40 kB.
const MOST_TEXT: u64 = 16 << 20;
/// Silence after which a pipe is taken to have nobody at its other end.
const SILENCE_MS: u16 = 10_000;

/// A file that people wrote.
pub fn text(path: &Path) -> io::Result<String> {
    let octets = read(path, MOST_TEXT)?;
    String::from_utf8(octets)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text"))
}

/// A file that another tool printed, of any length: its reader holds none of it.
pub fn output(path: &Path) -> io::Result<Waiting> {
    open(path).map(|file| Waiting { file, is_shared: false })
}

/// Reads what is piped into this process. The shell shares that pipe, so it may not be set to never
/// block.
pub fn standard_input() -> io::Result<Waiting> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    Ok(Waiting { file, is_shared: true })
}

/// A file or a pipe that is waited for, though not for ever.
#[derive(Debug)]
pub struct Waiting {
    file: File,
    is_shared: bool,
}

impl io::Read for Waiting {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_shared {
                wait(&self.file)?;
            }
            match self.file.read(piece) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait(&self.file)?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)
}

/// Reads all of a file, a pipe or a device that ends, if that is at most `most` octets.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    ownership::check_open(path, &file)?;
    let too_large = || {
        let said = format!("it has more than {} MiB", most >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, said)
    };
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut octets = Vec::new();
    Waiting { file, is_shared: false }.take(most + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > most { Err(too_large()) } else { Ok(octets) }
}

fn wait(file: &File) -> io::Result<()> {
    let mut asked = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    match poll(&mut asked, SILENCE_MS)? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "nothing came for 10 s")),
        _ => Ok(()),
    }
}

/// Writes a file whole: a full disk leaves the old file as it was.
pub fn write(path: &Path, octets: &[u8]) -> io::Result<()> {
    // Through links, so that they stay; a pipe or a device is no file that could be replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|of| !of.is_file()) {
        return fs::write(&target, octets);
    }
    let beside = sibling_path(&target);
    // An existing file is somebody's.
    let mut file = File::create_new(&beside)?;
    let written = file
        .write_all(octets)
        .and_then(|()| file.sync_all())
        .and_then(|()| keep_mode(&target, &beside))
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn sibling_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

fn keep_mode(old: &Path, new: &Path) -> io::Result<()> {
    match fs::metadata(old) {
        Ok(of) => fs::set_permissions(new, of.permissions()),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("switchmark-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let told = read(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::FileTooLarge);
        let folder = scratch("endless");
        let sparse = folder.join("sparse");
        File::create(&sparse).unwrap().set_len(3 << 30).unwrap();
        assert_eq!(text(&sparse).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let pipe = folder.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(text(&pipe).unwrap(), "", "nobody writes");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = scratch("whole");
        let (file, link) = (folder.join("report.html"), folder.join("link.html"));
        write(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing lies beside");
        write(Path::new("/dev/null"), b"x").unwrap();
        // A file of the name under which it is written first is somebody's.
        fs::write(sibling_path(&file), b"precious").unwrap();
        assert_eq!(write(&file, b"newer").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(sibling_path(&file)).unwrap(), b"precious");
        fs::remove_dir_all(&folder).unwrap();
    }
}
