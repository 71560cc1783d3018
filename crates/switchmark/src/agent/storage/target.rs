//! What a job would write over, told before fio is started.
//!
//! Owns the rule: what is there is never written over unless that was allowed, what can't be looked into
//! counts as being there, and a path whose folder does not exist is refused. Files that were laid out by
//! this process are its own, and go with it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dataplane::FlowError;
use measure::ByteCount;
use method::trial::Storage;

/// Engines whose `filename` is a path of this host's.
const OF_PATHS: [&str; 10] = [
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap",
    "splice",
];
/// Engines that reach a storage over the network by themselves.
const OF_NETWORKS: [&str; 8] =
    ["nbd", "rbd", "rados", "http", "nfs", "gfapi", "gfapi_async", "libiscsi"];

/// What this process laid out, for as long as it lives.
static LAID_OUT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the files that this process laid out.
pub fn remove_laid_out() {
    let mut ours = LAID_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    for path in std::mem::take(&mut *ours) {
        let _ = fs::remove_file(path);
    }
}

/// From now on the job's file is this process's.
pub(super) fn will_be_ours(job: &Storage) {
    let mut ours = LAID_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    ours.insert(PathBuf::from(&job.filename));
}

fn is_ours(path: &Path) -> bool {
    LAID_OUT.lock().unwrap_or_else(PoisonError::into_inner).contains(path)
}

/// The job's `size`.
pub(super) fn size(job: &Storage) -> Option<u64> {
    let said: ByteCount = job.options.get("size").and_then(|text| octets(text))?;
    Some(said.0)
}

/// `4GB`, `64k`, `1048576` as fio has them: steps of 1024.
fn octets(text: &str) -> Option<ByteCount> {
    let text = text.trim().trim_end_matches(['b', 'B']).trim_end_matches('i');
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let step = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << step).map(ByteCount)
}

/// Whether the job's file is to be made first; refuses what must not be touched.
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
    if !path.is_absolute() || job.filename.contains(':') {
        return refuse("name one file or device by its whole path, without a colon".into());
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
    if job.allow_destroy || is_ours(path) {
        return Ok(false);
    }
    // fio would make a file longer that is shorter than the job's size, even to read it.
    let longer = kind.is_file() && size(job).is_some_and(|size| found.len() < size);
    if writes && (kind.is_block_device() || found.len() > 0) {
        return refuse(
            "it is not empty, and the job would write over it: allow that by --allow-destroy"
                .into(),
        );
    }
    if longer && found.len() > 0 {
        return refuse(
            "it is shorter than the job's `size`, and fio would make it longer: allow that by \
             --allow-destroy, or say a smaller size"
                .into(),
        );
    }
    Ok(longer)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use method::trial::Pattern;

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
        check("psync", &full, 50, false, Err("not empty"));
        check("psync", &full, 50, true, Ok(false));
        check("psync", &full, 100, false, Ok(false));
        check("psync", &empty, 50, false, Ok(true));
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
    fn sizes_as_fio_has_them() {
        for (text, octets_of) in
            [("4GB", Some(4 << 30)), ("64k", Some(65_536)), ("1MiB", Some(1 << 20)), ("x", None)]
        {
            assert_eq!(octets(text).map(|octets| octets.0), octets_of, "{text}");
        }
    }
}
