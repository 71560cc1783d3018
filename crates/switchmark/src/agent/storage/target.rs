//! What a job would write over, told before fio is started.
//!
//! Owns the rule: what is there is never written over, made longer or removed unless that was
//! allowed, what can't be looked into counts as being there, and a path whose folder does not exist
//! is refused. Files that this process made are its own, and go with it; one that was there is not,
//! were it empty.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use dataplane::FlowError;
use trial::Storage;

use crate::agent::cancel::Cancel;
use crate::agent::found::Found;
use crate::fio_options;
use crate::protocol::in_words;

/// Engines whose `filename` is a path of this host's.
const OF_PATHS: [&str; 10] = [
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap",
    "splice",
];
/// Engines that reach a storage over the network by themselves.
const OF_NETWORKS: [&str; 8] =
    ["nbd", "rbd", "rados", "http", "nfs", "gfapi", "gfapi_async", "libiscsi"];

/// Makes the job's file, which must not be there: from now on it is this agent's, and goes with it.
pub(super) fn make(job: &Storage, reins: &Cancel) -> Result<(), FlowError> {
    let failed = |e: io::Error| FlowError::kernel("make", &job.filename, e);
    let path = &job.filename;
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    let of = file.metadata().map_err(failed)?;
    let made = Found::NoFile { path: path.clone(), device: of.dev(), inode: of.ino() };
    let noted = reins.notes().note(made);
    noted.map_err(|fault| FlowError::Unsuitable(in_words(&fault)))
}

/// Whether it is a file that this agent made, and still the same one.
fn is_ours(path: &str, of: &fs::Metadata, reins: &Cancel) -> bool {
    let here = Found::NoFile { path: path.to_owned(), device: of.dev(), inode: of.ino() };
    reins.notes().has(|found| *found == here)
}

/// Whether fio is to be held to reading: whatever the job's options come to, it opens nothing for
/// writing and makes nothing longer.
pub(super) const fn only_reads(job: &Storage) -> bool {
    job.rwmixread == 100 && !job.allow_destroy
}

/// The job's `size`.
pub(super) fn size(job: &Storage) -> Option<u64> {
    job.options.get("size").and_then(|text| fio_options::octets(text)).map(|octets| octets.0)
}

/// Whether the job's file is to be made first; refuses what must not be touched.
pub(super) fn must_be_laid_out(job: &Storage, reins: &Cancel) -> Result<bool, FlowError> {
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
    let Ok(found) = fs::metadata(path) else {
        let folder = path.parent().is_some_and(Path::is_dir);
        if !folder || path.starts_with("/dev") {
            return refuse("there is no such path".into());
        }
        if size(job).is_none() {
            return refuse("it does not exist yet: say by `size` how large it is to be".into());
        }
        return Ok(true);
    };
    if found.is_dir() {
        return refuse("it is a folder: name a file in it".into());
    }
    let kind = found.file_type();
    if !(kind.is_file() || kind.is_block_device()) {
        return refuse("it is neither a file nor a block device".into());
    }
    if job.allow_destroy || is_ours(&job.filename, &found, reins) {
        return Ok(false);
    }
    if writes {
        return refuse(
            "it is there, and the job would write over it: allow that by --allow-destroy, or name a file \
             that does not exist yet"
                .into(),
        );
    }
    if kind.is_file() && (found.len() == 0 || size(job).is_some_and(|size| found.len() < size)) {
        return refuse(
            "it is shorter than what the job reads, and would have to be made longer: say a smaller \
             size, or name a file that does not exist yet"
                .into(),
        );
    }
    Ok(false)
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
            rwmixread,
            bs: ByteCount(4096),
            numjobs: 1,
            iodepth: 1,
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
                let told = must_be_laid_out(&job(engine, path, mix, allowed), &Cancel::default());
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
        check("exec", &full, 100, true, Err("not one of a storage's"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_what_was_made_here_is_removed() {
        let folder = std::env::temp_dir().join(format!("switchmark-made-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
        let reins = Cancel::default();
        let make = |path: &Path| make(&job("psync", path, 50, false), &reins);
        let asked = |path: &Path| must_be_laid_out(&job("psync", path, 50, false), &reins);
        fs::write(&theirs, b"").unwrap();
        assert!(make(&theirs).is_err(), "it was there");
        make(&ours).unwrap();
        assert!(!asked(&ours).unwrap(), "it is there now");
        reins.let_go().unwrap();
        assert!(!ours.exists());
        // Another's under the name of ours, as after somebody moved a file there.
        make(&ours).unwrap();
        fs::rename(&theirs, &ours).unwrap();
        assert!(asked(&ours).is_err());
        reins.let_go().unwrap();
        assert!(ours.exists(), "not the file that was made here");
        fs::remove_dir_all(&folder).unwrap();
    }
}
