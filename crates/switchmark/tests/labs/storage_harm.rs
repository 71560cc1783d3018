//! Random jobs of every option that this machine's fio has, without `--allow-destroy`: whatever
//! they ask for, nothing that was there is changed.
//!
//! Half of the jobs go through a job file, as people's do; half straight to the agent, as a
//! controller's that is not ours would. `SWITCHMARK_TESTS=full` has 500 jobs.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{Scratch, alone, full, json, open, short_latency, switchmark, trial};
use lab::LabDevice;
use measure::Nanos;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use study::storage::job;
use switchmark::config::fio_job;
use trial::{FlowKind, Gate, Pattern, Storage};
use trial::{Outcome, Testbed as _};

/// All that can be told of a file or folder from outside, but for when it was last read.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    identity: (u64, u64),
    mode: u32,
    owner: (u32, u32),
    links: u64,
    octets: Vec<u8>,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Everything below `folder`.
fn seen(folder: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let of = path.symlink_metadata().expect("it is there");
        let octets = if of.is_file() { std::fs::read(&path).expect("a file") } else { Vec::new() };
        let seen = Seen {
            identity: (of.dev(), of.ino()),
            mode: of.mode(),
            owner: (of.uid(), of.gid()),
            links: of.nlink(),
            octets,
            modified: (of.mtime(), of.mtime_nsec()),
            changed: (of.ctime(), of.ctime_nsec()),
        };
        if of.is_dir() {
            found.extend(self::seen(&path));
        }
        found.insert(path, seen);
    }
    found
}

/// Every option that fio names, its engines' too.
fn options_of_fio() -> Vec<String> {
    let mut names = Vec::new();
    let mut asked = vec!["--cmdhelp=all".to_owned()];
    asked.extend(["libaio", "io_uring", "pvsync2", "rbd", "nbd"].map(|e| format!("--enghelp={e}")));
    for ask in asked {
        let told = Command::new("fio").arg(ask).output().expect("fio starts");
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        names.extend(
            text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())),
        );
    }
    let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    names.retain(|name| !name.is_empty() && plain(name));
    names
}

/// A job's own lines and up to three more.
struct Draw {
    engine: &'static str,
    pattern: &'static str,
    filename: PathBuf,
    size: &'static str,
    options: Vec<(String, String)>,
}

const HARMLESS: [(&str, &str); 8] = [
    ("direct", "0"),
    ("offset", "4k"),
    ("thinktime", "100us"),
    ("rate_iops", "1000"),
    ("fsync", "8"),
    ("invalidate", "1"),
    ("random_distribution", "zipf:1.1"),
    ("io_size", "64k"),
];

fn draw(rng: &mut Pcg64, names: &[String], folder: &Path) -> Draw {
    let path = |name: &str| folder.join(name).display().to_string();
    let values = [
        "0".into(),
        "1".into(),
        "2".into(),
        "64".into(),
        "4k".into(),
        "8m".into(),
        "200%".into(),
        "random".into(),
        "none".into(),
        "posix".into(),
        "truncate".into(),
        "zbd".into(),
        "1-3".into(),
        "md5".into(),
        "restart".into(),
        path("precious"),
        path("other"),
        path("tree"),
        path("list"),
        path("new"),
        format!("mmap:{}", path("other")),
        format!("touch {}", path("touched")),
        format!("{}:{}", path("other"), path("empty")),
    ];
    let pick = |rng: &mut Pcg64, of: &[&'static str]| *of.choose(rng).expect("some");
    let filename = match rng.random_range(0..10) {
        0..5 => path("precious"),
        5 => path("empty"),
        6 => path("link"),
        7 => path("tree"),
        8 => format!("{}:{}", path("precious"), path("other")),
        _ => path(&format!("scratch-{}", rng.random::<u32>())),
    };
    let mut options = Vec::new();
    for _ in 0..rng.random_range(0..4) {
        if rng.random_bool(0.8) {
            let (name, value) = HARMLESS.choose(rng).expect("some");
            options.push(((*name).to_owned(), (*value).to_owned()));
        } else {
            let name = names.choose(rng).expect("fio has options").clone();
            options.push((name, values.choose(rng).expect("some").clone()));
        }
    }
    Draw {
        engine: pick(rng, &["psync", "psync", "sync", "libaio", "mmap", "pvsync2"]),
        pattern: pick(
            rng,
            &["read", "randread", "randread", "randread", "randwrite", "write", "randrw"],
        ),
        filename: filename.into(),
        size: pick(rng, &["64k", "256k", "1m", "1m", "1m", "1m", "8m", "200%", ""]),
        options,
    }
}

impl Draw {
    fn text(&self) -> String {
        let filename = self.filename.display().to_string();
        let size = [("size", self.size)];
        let own = [
            ("ioengine", self.engine),
            ("rw", self.pattern),
            ("bs", "4k"),
            ("filename", &filename),
        ];
        let options = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let size = size.into_iter().filter(|(_, size)| !size.is_empty());
        let lines = own.into_iter().chain(size).chain(options);
        let lines: Vec<String> = lines.map(|(name, value)| format!("{name}={value}")).collect();
        format!("[job]\n{}\n", lines.join("\n"))
    }

    /// As a controller might say it that checks nothing.
    fn unchecked(&self) -> Storage {
        let (pattern, rwmixread) =
            job::pattern(self.pattern, trial::ReadPercent::known(50)).expect("known");
        let mut options: BTreeMap<_, _> = self.options.iter().cloned().collect();
        if !self.size.is_empty() {
            options.insert("size".into(), self.size.into());
        }
        Storage {
            ioengine: self.engine.into(),
            filename: self.filename.display().to_string(),
            pattern: if self.pattern.starts_with("rand") { Pattern::Random } else { pattern },
            rwmixread,
            options,
            ..job::plain()
        }
    }
}

#[test]
fn no_job_changes_what_was_there_unless_it_was_allowed() {
    let Some(_alone) = alone("a storage that is somebody's", &["fio"]) else { return };
    let scratch = Scratch::new("storage-harm");
    let folder = scratch.path("theirs");
    std::fs::create_dir_all(folder.join("tree/deep")).expect("folders");
    let write =
        |name: &str, octets: &[u8]| std::fs::write(folder.join(name), octets).expect("a file");
    write("precious", &vec![7; 1 << 20]);
    write("other", &[9; 8192]);
    write("empty", b"");
    write("tree/a", &[1; 4096]);
    write("tree/deep/b", &[2; 4096]);
    let other = folder.join("other").display().to_string();
    let list = format!("fio version 2 iolog\n{other} add\n{other} open\n{other} write 0 4096\n");
    write("list", list.as_bytes());
    std::os::unix::fs::symlink(folder.join("precious"), folder.join("link")).expect("a link");
    let before = seen(&folder);

    let names = options_of_fio();
    assert!(names.len() > 150, "fio tells its options: {}", names.len());
    let (seed, jobs) = (0x5eed_u64, if full() { 500 } else { 30 });
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut testbed = open(&LabDevice::Cable, None);
    let pair = testbed.topology().measured_pairs().remove(0);
    let (mut ran, mut refused, mut made) = (0, 0, Vec::new());
    for number in 0..jobs {
        let draw = draw(&mut rng, &names, &folder);
        let job = if number % 2 == 0 {
            fio_job::parse(&draw.text()).ok().map(|file| file.job)
        } else {
            Some(draw.unchecked())
        };
        let outcome = job.map(|job| {
            let kind = FlowKind::Storage(job);
            let mut asked = trial(&pair, kind, Nanos::from_millis(50), Gate::Uneven);
            asked.phases.residual = Nanos::from_millis(300);
            testbed.run(&asked).map(|record| record.outcome)
        });
        if is_scratch(&draw.filename) {
            made.push((draw.text(), format!("{outcome:?}")));
        }
        match &outcome {
            Some(Ok(Outcome::Valid | Outcome::Invalid { .. })) => ran += 1,
            _ => refused += 1,
        }
        let mut after = seen(&folder);
        // What the agent made goes with it; a folder that it made something in has a new time
        // stamp.
        after.retain(|path, _| before.contains_key(path) || !is_scratch(path));
        assert_eq!(after.len(), before.len(), "job {number} of seed {seed}:\n{}", draw.text());
        for (path, was) in &before {
            assert!(
                after[path] == *was,
                "{path:?} by job {number} of seed {seed}:\n{}",
                draw.text()
            );
        }
    }
    println!("{jobs} jobs: {ran} ran, {refused} were refused");
    assert!(ran * 8 > jobs, "jobs ran: {ran} of {jobs}");
    drop(testbed);
    let left: Vec<_> = seen(&folder).into_keys().filter(|p| !before.contains_key(p)).collect();
    assert!(left.is_empty(), "what was laid out stays: {left:?}; made by {made:#?}");
}

fn is_scratch(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("scratch-"))
}

/// A run of this job on a lab's hosts, in trials of this length.
fn storage(job: &Path, length: &str, store: &Path) -> Command {
    let mut command = Command::new(switchmark());
    command.args(["storage", "--testbed", "lab:cable", "--json", "-q", "--fio"]).arg(job);
    command.args(["-t", length, "--blocks", "2", "--yes", "--journal"]).arg(store);
    command
}

fn write_job(scratch: &Scratch, lines: &str) -> PathBuf {
    let job = scratch.path("job.fio");
    std::fs::write(&job, format!("[job]\nioengine=psync\nbs=4k\n{lines}\n")).expect("a job");
    job
}

/// The processes that this one started, theirs included.
fn descendants(of: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((head, rest)) = stat.rsplit_once(") ") else { continue };
        let id = head.split(' ').next().and_then(|id| id.parse::<u32>().ok());
        let parent = rest.split(' ').nth(1).and_then(|id| id.parse::<u32>().ok());
        parents.extend(id.zip(parent));
    }
    let mut all = vec![of];
    let mut at = 0;
    while at < all.len() {
        let of = all[at];
        all.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(id, _)| *id));
        at += 1;
    }
    all.split_off(1)
}

/// Everything of a run is killed while fio writes; then the user makes a file of the job's name, by
/// which ext4 gives the freed inode out again, and another verb runs.
#[test]
fn a_file_made_after_a_killed_run_is_the_users() {
    let Some(_alone) = alone("a file of the user's", &["fio"]) else { return };
    let scratch = Scratch::new("storage-killed");
    let folder = scratch.path("data");
    std::fs::create_dir_all(&folder).expect("a folder");
    let image = folder.join("backup.img");
    let lines = format!("rw=randwrite\nsize=8m\nruntime=20s\nfilename={}", image.display());
    let job = write_job(&scratch, &lines);
    let mut command = storage(&job, "20s", &scratch.path("killed.db"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().expect("it starts");
    let is_fio = |id: &u32| {
        std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "fio")
    };
    let mut tries = 0;
    while !descendants(run.id()).iter().any(is_fio) {
        assert!(tries < 600, "fio was never started");
        thread::sleep(Duration::from_millis(50));
        tries += 1;
    }
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0, "its file has no name");
    let all = descendants(run.id());
    run.kill().expect("it is ours");
    run.wait().expect("it ends");
    for id in all {
        let _ = kill(Pid::from_raw(id.cast_signed()), Signal::SIGKILL);
    }
    std::fs::write(&image, b"precious").expect("the user's");
    let mut next = Command::new(switchmark());
    let output = short_latency(&mut next, Path::new("lab:cable"), &scratch.path("next.db"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read(&image).expect("it is there"), b"precious");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1, "and nothing else");
}

/// On a file system of 256 MiB, 64 MiB stay free, whatever a job asks for, and a job that fits is
/// measured.
#[test]
fn a_job_leaves_a_file_system_its_reserve() {
    let Some(_alone) = alone("a small file system", &["fio"]) else { return };
    let scratch = Scratch::new("storage-full");
    let folder = scratch.path("small");
    std::fs::create_dir_all(&folder).expect("a folder");
    let size = Some("size=256m");
    mount(Some("none"), &folder, Some("tmpfs"), MsFlags::empty(), size).expect("a mount");
    let free = || {
        let told = nix::sys::statvfs::statvfs(&folder).expect("a file system");
        told.blocks_available() * told.fragment_size()
    };
    let before = free();
    let mut told = Vec::new();
    for (name, size) in [("large", "1g"), ("tight", "200m"), ("fits", "32m")] {
        let file = folder.join(name).display().to_string();
        let job = write_job(&scratch, &format!("rw=randwrite\nsize={size}\nfilename={file}"));
        let output =
            storage(&job, "200ms", &scratch.path(&format!("{name}.db"))).output().expect("it ends");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        told.push((name, output.status.success(), words, free(), output));
    }
    umount2(&folder, MntFlags::MNT_DETACH).expect("unmounted");
    for (name, is_done, words, free, output) in told {
        assert_eq!(free, before, "{name}: nothing stays");
        assert_eq!(is_done, name == "fits", "{name}: {words}");
        if is_done {
            local_operations_have_no_network(&json(&output));
        } else {
            assert!(words.contains("64.0 MiB of it stay free"), "{name}: {words}");
        }
    }
}

/// A file of this host's memory is reached by no network.
fn local_operations_have_no_network(told: &serde_json::Value) {
    let figures = told["figures"].as_array().expect("figures");
    assert!(!figures.is_empty());
    for figure in figures {
        let text = figure.to_string();
        assert_ne!(figure["metric"], "network_share", "{text}");
        assert_ne!(figure["metric"], "io_latency_added", "{text}");
        assert!(!text.contains("without latency") && !text.contains("what if"), "{text}");
        assert!(!text.contains("\"network\""), "no part of the network's: {text}");
        assert!(text.contains("local-storage"), "{text}");
    }
}
