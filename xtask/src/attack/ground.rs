//! The ground that inputs are thrown from: a folder, the program's copy, and a network, mounts and
//! a `/run` of one thread's own.
//!
//! Owns what must not change on this machine, and removes what it made when dropped. Never throws.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::corpora::{self, Corpus, files};
use super::journals::Crafted;
use crate::steps::{root, run, tested};

/// The ground of one thread.
pub struct Ground {
    program: PathBuf,
    folder: PathBuf,
    corpora: BTreeMap<Corpus, Vec<Vec<u8>>>,
    crafted: Crafted,
    sound_run: String,
}

impl Ground {
    pub fn new(number: u64) -> Result<Self> {
        let built = tested()?;
        let folder =
            std::env::temp_dir().join(format!("switchmark-attack-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("theirs"))?;
        for name in ["a", "b"] {
            fs::write(folder.join("theirs").join(name), vec![7; 65_536])?;
        }
        // Whatever is built meanwhile is another program.
        let program = folder.join("switchmark");
        fs::copy(&built, &program).context("copy the program")?;
        let mut this = Self {
            program,
            folder,
            corpora: corpora::gather()?,
            crafted: Crafted::default(),
            sound_run: String::new(),
        };
        let mut measured =
            this.command(&["latency", "--blocks", "2", "-t", "10ms", "--json", "-q"]);
        let told = in_virtual_time(measured.arg("--store").arg(this.sound_journal())).output()?;
        let told: serde_json::Value = serde_json::from_slice(&told.stdout)?;
        told["run"].as_str().context("a run's id")?.clone_into(&mut this.sound_run);
        let journal = this.good_journal();
        for verb in [&["latency"][..], &["forwarding", "--flood", "--size", "512"]] {
            let mut measured = this.command(verb);
            measured.args(["--blocks", "2", "-t", "10ms", "--quiet", "--store"]).arg(&journal);
            run(in_virtual_time(&mut measured).stdout(Stdio::null()))?;
        }
        this.corpora.insert(Corpus::Journal, vec![fs::read(&journal)?]);
        Ok(this)
    }

    pub fn corpus(&self, which: Corpus) -> &[Vec<u8>] {
        &self.corpora[&which]
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The run of [`Ground::sound_journal`].
    pub fn sound_run(&self) -> &str {
        &self.sound_run
    }

    /// A journal of another run, which nothing is crafted from.
    pub fn sound_journal(&self) -> PathBuf {
        self.folder.join("sound.db")
    }

    /// A journal of two sound runs.
    pub fn good_journal(&self) -> PathBuf {
        self.folder.join("good.db")
    }

    /// The journal that everything thrown is recorded in.
    pub fn thrown_journal(&self) -> PathBuf {
        self.folder.join("thrown.db")
    }

    pub fn crafted(&self) -> &Crafted {
        &self.crafted
    }

    /// A file that only a command from a crafted journal would make.
    pub fn canary(&self) -> PathBuf {
        self.folder.join("canary")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).stdin(Stdio::null()).env("HOME", &self.folder);
        command.current_dir(&self.folder).env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME");
        command
    }

    /// The program's processes: what was thrown at may have started some.
    pub fn processes(&self) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter(|entry| {
            fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == self.program)
        });
        pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .map(Pid::from_raw)
            .collect()
    }

    /// Ends the program's processes as the kernel's memory killer would.
    pub fn kill_all(&self) {
        for pid in self.processes() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }

    /// Returns the state that must not change: files that are not the program's, its processes, its
    /// notes, the links here.
    pub fn state(&self) -> Result<Vec<String>> {
        let mut state = Vec::new();
        for file in files(&self.folder.join("theirs"))? {
            let whole = fs::read(&file)?.iter().all(|octet| *octet == 7);
            let modified = fs::metadata(&file)?.modified()?;
            state.push(format!("{} {whole} {modified:?}", file.display()));
        }
        let notes = files(Path::new("/run/switchmark")).unwrap_or_default();
        state.extend(notes.iter().map(|note| note.display().to_string()));
        let links = fs::read_to_string("/proc/thread-self/net/dev")?;
        state.extend(links.lines().filter_map(|l| Some(l.split_once(':')?.0.trim().to_owned())));
        state.push(format!("{} processes", self.processes().len()));
        Ok(state)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.kill_all();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Leaves this machine's network, mounts and `/run` to others, on the calling thread.
pub fn stand_apart() -> Result<()> {
    let apart = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    unshare(apart).context("stand apart from the network, as root")?;
    let (nothing, ours) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    mount(nothing, "/", nothing, ours, nothing).context("keep mounts to itself")?;
    let run = mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), nothing);
    run.context("have a /run of its own")?;
    ip(&["link", "set", "lo", "up"])
}

/// The network's tool, in the calling thread's namespace.
pub fn ip(args: &[&str]) -> Result<()> {
    run(Command::new("ip").args(args).stdin(Stdio::null()))
}

pub fn in_virtual_time(command: &mut Command) -> &mut Command {
    let profile = root().join("profiles/blocking-16.toml");
    command.arg("--testbed").arg(format!("sim:{},hosts=4", profile.display()))
}
