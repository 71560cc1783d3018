//! What a job would write over, told before fio is started.
//!
//! Owns the rule: what is there is never written over, made longer or removed unless that was
//! allowed, what can't be looked into counts as being there, and a path whose folder does not exist
//! is refused. Files that this process made are its own, and go with it; one that was there is not,
//! were it empty.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::SystemTime;

use dataplane::{FlowError, clock};
use measure::Nanos;
use nix::unistd::geteuid;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
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

/// A file is filled by so many octets at once.
const BLOCK: usize = 1 << 20;

/// Makes the job's file, which must not be there: from now on it is this agent's, and goes with it.
pub(super) fn make(job: &Storage, reins: &Cancel) -> Result<File, FlowError> {
    let failed = |e: io::Error| FlowError::kernel("make", &job.filename, e);
    let path = &job.filename;
    let file = File::options().write(true).create_new(true).open(path).map_err(failed)?;
    let of = file.metadata().map_err(failed)?;
    let noted = reins.notes().note(this(path, &of));
    noted.map_err(|fault| FlowError::Unsuitable(in_words(&fault)))?;
    Ok(file)
}

/// Fills a file that was made with all that the job reads, so that fio need not: where fio makes a
/// file longer it removes it and makes another under its name, and that one nobody has noted.
pub(super) fn fill(mut file: &File, job: &Storage, until: Nanos) -> Result<(), FlowError> {
    let failed = |e: io::Error| FlowError::kernel("fill", &job.filename, e);
    // No two blocks are alike: a storage may keep like ones once.
    let mut rng = Pcg64::seed_from_u64(u64::from(std::process::id()));
    let mut block = vec![0_u8; BLOCK];
    let mut left = octets(job);
    while left > 0 {
        if clock::monotonic() > until {
            let slow = format!("`{}` could not be filled in time", job.filename);
            return Err(FlowError::Unsuitable(slow));
        }
        let now = left.min(BLOCK as u64) as usize;
        rng.fill(&mut block[..now]);
        file.write_all(&block[..now]).map_err(failed)?;
        left -= now as u64;
    }
    file.sync_data().map_err(failed)
}

/// How long the file must be for fio to leave it as it is.
fn octets(job: &Storage) -> u64 {
    let [size, offset, apart] =
        ["size", "offset", "offset_increment"].map(|name| option(job, name).unwrap_or(0));
    let apart = apart.saturating_mul(u64::from(job.numjobs));
    size.saturating_add(offset).saturating_add(apart)
}

/// Notes what stands where a file of ours, born `then`, stood before fio ran, should fio have made
/// it anew; told by whose it is and when it was born.
pub(super) fn renote(
    job: &Storage,
    reins: &Cancel,
    then: Option<SystemTime>,
) -> Result<(), FlowError> {
    let Some(then) = then else { return Ok(()) };
    let path = &job.filename;
    let Ok(of) = fs::symlink_metadata(path) else { return Ok(()) };
    let born = of.created().is_ok_and(|at| at >= then);
    if is_ours(path, &of, reins) || !of.is_file() || of.uid() != geteuid().as_raw() || !born {
        return Ok(());
    }
    let at_path =
        |found: &Found| matches!(found, Found::NoFile { path: noted, .. } if noted == path);
    let noted = reins.notes().renote(at_path, &this(path, &of));
    noted.map_err(|fault| FlowError::Unsuitable(in_words(&fault)))
}

fn this(path: &str, of: &fs::Metadata) -> Found {
    Found::NoFile { path: path.to_owned(), device: of.dev(), inode: of.ino() }
}

/// When the job's file was born, where it is one that this agent made and still the same.
pub(super) fn birth(job: &Storage, reins: &Cancel) -> Option<SystemTime> {
    let of = fs::symlink_metadata(&job.filename).ok()?;
    is_ours(&job.filename, &of, reins).then(|| of.created().ok())?
}

fn is_ours(path: &str, of: &fs::Metadata, reins: &Cancel) -> bool {
    let here = this(path, of);
    reins.notes().has(|found| *found == here)
}

/// Whether fio is to be held to reading: whatever the job's options come to, it opens nothing for
/// writing and makes nothing longer.
pub(super) const fn only_reads(job: &Storage) -> bool {
    job.rwmixread == 100 && !job.allow_destroy
}

/// The job's `size`.
pub(super) fn size(job: &Storage) -> Option<u64> {
    option(job, "size")
}

/// One of the job's options that is a number of octets.
fn option(job: &Storage, name: &str) -> Option<u64> {
    Some(fio_options::octets(job.options.get(name)?)?.0)
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
    fn what_fio_makes_anew_goes_too() {
        let folder = std::env::temp_dir().join(format!("switchmark-anew-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (path, aside) = (folder.join("ours"), folder.join("aside"));
        let mut job = job("psync", &path, 50, false);
        job.options.insert("offset".into(), "4k".into());
        let reins = Cancel::default();
        let file = make(&job, &reins).unwrap();
        fill(&file, &job, Nanos(u64::MAX)).unwrap();
        let length = || fs::metadata(&path).unwrap().len();
        assert_eq!(length(), 68 << 10, "all that fio reads, so that it makes nothing longer");
        let born = birth(&job, &reins);
        // As fio does where it makes a file longer; the old one's number stays taken.
        fs::rename(&path, &aside).unwrap();
        fs::write(&path, b"anew").unwrap();
        assert_eq!(birth(&job, &reins), None, "another file under its name");
        renote(&job, &reins, born).unwrap();
        reins.let_go().unwrap();
        assert!(!path.exists() && aside.exists());
        // Older than ours: somebody's, moved there.
        drop(make(&job, &reins).unwrap());
        let born = birth(&job, &reins);
        fs::rename(&aside, &path).unwrap();
        renote(&job, &reins, born).unwrap();
        reins.let_go().unwrap();
        assert!(path.exists(), "not the file that was made here");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_what_was_made_here_is_removed() {
        let folder = std::env::temp_dir().join(format!("switchmark-made-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
        let reins = Cancel::default();
        let make = |path: &Path| make(&job("psync", path, 50, false), &reins).map(drop);
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
