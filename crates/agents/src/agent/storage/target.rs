//! Protection of existing data, checked before fio is started.
//!
//! Owns the rules. Existing data is never overwritten, extended or removed unless that was allowed.
//! Anything that cannot be inspected counts as existing. A path whose folder does not exist is
//! refused, and so is a job that would leave a file system without its reserve. Never makes,
//! changes or removes anything.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use dataplane::FlowError;
use nix::libc::{ENOENT, ENOTDIR};
use trial::{Storage, fio_octets};

use super::nameless::REMEDY;
use super::room::Room;
use crate::fio_options;

/// Engines whose `filename` is a path on this host.
const OF_PATHS: [&str; 10] = [
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap",
    "splice",
];
/// Engines that access storage over the network by themselves.
const OF_NETWORKS: [&str; 8] =
    ["nbd", "rbd", "rados", "http", "nfs", "gfapi", "gfapi_async", "libiscsi"];

/// Engines that write even to open for reading: they touch an object, which creates a missing one,
/// and extend one that is shorter than the job (engines/rados.c, glusterfs.c).
const TOUCHING: [&str; 3] = ["rados", "gfapi", "gfapi_async"];

/// Minimum length of the job's file for fio to leave it unchanged.
pub(super) fn octets(job: &Storage) -> u64 {
    let [size, offset, apart] =
        ["size", "offset", "offset_increment"].map(|name| option(job, name).unwrap_or(0));
    let apart = apart.saturating_mul(u64::from(job.numjobs.get()));
    size.saturating_add(offset).saturating_add(apart)
}

/// True if the job's `filename` is a path on this host.
pub(super) fn is_path(job: &Storage) -> bool {
    job.server.is_none() && OF_PATHS.contains(&job.ioengine.as_str())
}

/// True if fio must be restricted to reading: whatever the job's options, it then opens nothing for
/// writing and extends nothing.
pub(super) const fn only_reads(job: &Storage) -> bool {
    job.rwmixread.get() == 100 && !job.allow_destroy
}

/// Reads one of the job's options that is a number of octets.
fn option(job: &Storage, name: &str) -> Option<u64> {
    Some(fio_octets(job.options.get(name)?)?.0)
}

/// True if a file must be laid out for the job, because its path is free. Refuses a job that would
/// touch protected data or has no space.
pub(super) fn must_be_laid_out(job: &Storage) -> Result<bool, FlowError> {
    let refuse = |why: String| {
        let asked = format!("storage `{}` by fio's engine `{}`", job.filename, job.ioengine);
        Err(FlowError::Unavailable { asked, why })
    };
    let writes = job.rwmixread < 100;
    let engine = job.ioengine.as_str();
    if job.server.is_some() || engine == "null" {
        return Ok(false);
    }
    if OF_NETWORKS.contains(&engine) {
        if TOUCHING.contains(&engine) && !job.allow_destroy {
            return refuse(
                "that engine writes to what it opens even where a job only reads: allow that by \
                 --allow-destroy, or measure an image by `rbd` or a mounted path"
                    .into(),
            );
        }
        if writes && !job.allow_destroy {
            return refuse(
                "nobody can tell whether it is empty, and the job writes: allow that by --allow-destroy, \
                 or only read"
                    .into(),
            );
        }
        return Ok(false);
    }
    if !OF_PATHS.contains(&engine) {
        return refuse("that engine is not one of a storage's".into());
    }
    let path = Path::new(&job.filename);
    if !path.is_absolute() || !fio_options::is_plain_path(&job.filename) {
        return refuse(
            "name one file or device by its whole path, without colons, quotes, `$`, `\\`, `;` and `#`: \
             fio reads more than a path into them"
                .into(),
        );
    }
    match fs::metadata(path) {
        Ok(found) => check_found(job, &found).map(|()| false),
        Err(_) if !is_free(path) => refuse("there is something that cannot be looked into".into()),
        Err(_) => {
            let folder = path.parent().is_some_and(Path::is_dir);
            if !folder || path.starts_with("/dev") {
                return refuse("there is no such path".into());
            }
            if option(job, "size").is_none() {
                return refuse("it does not exist yet: say by `size` how large it is to be".into());
            }
            Ok(true)
        }
    }
}

/// True if nothing has this name, not even a dangling link.
fn is_free(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|e| matches!(e.raw_os_error(), Some(ENOENT | ENOTDIR)))
}

/// Refuses an existing file or device that the job must not use.
fn check_found(job: &Storage, found: &fs::Metadata) -> Result<(), FlowError> {
    let refuse = |why: String| {
        let asked = format!("storage `{}` by fio's engine `{}`", job.filename, job.ioengine);
        Err(FlowError::Unavailable { asked, why })
    };
    let writes = job.rwmixread < 100;
    if found.is_dir() {
        return refuse("it is a folder: name a file in it".into());
    }
    let kind = found.file_type();
    if !(kind.is_file() || kind.is_block_device()) {
        return refuse("it is neither a file nor a block device".into());
    }
    if job.allow_destroy {
        return if kind.is_file() { check_room(job, found) } else { Ok(()) };
    }
    if writes {
        return refuse(
            "it is there, and the job would write over it: allow that by --allow-destroy, or name a file \
             that does not exist yet"
                .into(),
        );
    }
    if kind.is_file()
        && (found.len() == 0 || option(job, "size").is_some_and(|size| found.len() < size))
    {
        return refuse(
            "it is shorter than what the job reads, and would have to be made longer: say a smaller \
             size, or name a file that does not exist yet"
                .into(),
        );
    }
    Ok(())
}

/// Refuses a job that would make this file larger than its file system has space for: fio extends
/// files that are too short, and writes fill holes.
fn check_room(job: &Storage, found: &fs::Metadata) -> Result<(), FlowError> {
    /// Octets per block of stat(2).
    const BLOCK: u64 = 512;
    let whole = if job.rwmixread < 100 { octets(job).max(found.len()) } else { octets(job) };
    if job.rwmixread == 100 && whole <= found.len() {
        return Ok(());
    }
    let missing = whole.saturating_sub(found.blocks().saturating_mul(BLOCK));
    let failed = |e: io::Error| FlowError::kernel("look for room for", &job.filename, e);
    let room = File::open(&job.filename).and_then(Room::on_file_system).map_err(failed)?;
    room.admit(missing, &format!("`{}`", job.filename), "its file system", REMEDY)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measure::ByteCount;
    use trial::Pattern;

    use super::*;

    fn job(engine: &str, filename: &Path, rwmixread: u8, allow_destroy: bool) -> Storage {
        Storage {
            ioengine: engine.into(),
            filename: filename.display().to_string(),
            pattern: Pattern::Random,
            rwmixread: trial::ReadPercent::known(rwmixread),
            bs: ByteCount(4096),
            numjobs: trial::Jobs::known(1),
            iodepth: trial::QueueDepth::known(1),
            replicas: Vec::new(),
            options: BTreeMap::from([("size".to_owned(), "64k".to_owned())]),
            server: None,
            disk: None,
            allow_destroy,
        }
    }

    #[test]
    fn nothing_that_is_there_is_written_over() {
        let folder = std::env::temp_dir().join(format!("switchmark-target-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (full, empty, none) = (folder.join("full"), folder.join("empty"), folder.join("none"));
        fs::write(&full, vec![1; 65_536]).unwrap();
        fs::write(&empty, b"").unwrap();
        let far = folder.join("not/there");
        let check =
            |engine: &str, path: &Path, mix: u8, allowed: bool, expected: Result<bool, &str>| {
                let told = must_be_laid_out(&job(engine, path, mix, allowed));
                match (told, expected) {
                    (Ok(told), Ok(expected)) => {
                        assert_eq!(told, expected, "{engine} {path:?} {mix}");
                    }
                    (Err(told), Err(expected)) => {
                        assert!(told.to_string().contains(expected), "{told}");
                    }
                    (told, _) => panic!("{engine} {path:?} {mix}: {told:?}"),
                }
            };
        check("psync", &full, 50, false, Err("it is there"));
        check("psync", &full, 50, true, Ok(false));
        check("psync", &full, 100, false, Ok(false));
        check("psync", &empty, 50, false, Err("it is there"));
        check("psync", &empty, 100, false, Err("shorter"));
        check("psync", &none, 50, false, Ok(true));
        check("psync", &far, 50, false, Err("no such path"));
        check("psync", &far, 50, true, Err("no such path"));
        check("psync", Path::new("/dev/not-there"), 50, true, Err("no such path"));
        check("psync", &folder, 50, true, Err("is a folder"));
        check("psync", Path::new("relative"), 100, true, Err("whole path"));
        check("rbd", Path::new("image"), 50, false, Err("--allow-destroy"));
        check("rbd", Path::new("image"), 100, false, Ok(false));
        check("rados", Path::new("object"), 100, false, Err("even where a job only reads"));
        check("rados", Path::new("object"), 50, false, Err("even where a job only reads"));
        check("rados", Path::new("object"), 100, true, Ok(false));
        check("gfapi", Path::new("file"), 100, false, Err("even where a job only reads"));
        let link = folder.join("link");
        std::os::unix::fs::symlink(&none, &link).unwrap();
        check("psync", &link, 100, false, Err("cannot be looked into"));
        check("exec", &full, 100, true, Err("not one of a storage's"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn no_job_makes_a_file_longer_than_there_is_room() {
        let path = std::env::temp_dir().join(format!("switchmark-room-{}", std::process::id()));
        fs::write(&path, [1; 4096]).unwrap();
        for (mix, size, fits) in [
            (50, "64k", true),
            (50, "1024t", false),
            (100, "4k", true),
            // fio makes it longer to read that much.
            (100, "1024t", false),
        ] {
            let mut job = job("psync", &path, mix, true);
            job.options.insert("size".into(), size.into());
            assert_eq!(must_be_laid_out(&job).is_ok(), fits, "{mix} {size}");
        }
        // Writes fill holes.
        File::options().write(true).open(&path).unwrap().set_len(1 << 43).unwrap();
        let told = must_be_laid_out(&job("psync", &path, 50, true)).unwrap_err();
        assert!(told.to_string().contains("stay free"), "{told}");
        assert!(must_be_laid_out(&job("psync", &path, 100, true)).is_ok());
        fs::remove_file(&path).unwrap();
    }
}
