//! `cargo xtask attack`: the program under bytes, signals and closed pipes that nobody meant.
//!
//! Owns what is thrown, and what counts as a finding: a panic, an end by a signal, more than five
//! seconds, more than 200 MB, or anything on this machine that is not as before. Everything runs in
//! a network namespace without a way out and with a `/run` of its own, on copies in a folder of its
//! own. Never gives the program a command to run: corpora have no hooks.

mod mutate;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::steps::{built, cargo, root, run, step};
use mutate::{Dice, mutated};

/// A simulation may have much to do; then it is asked to end.
const PATIENCE: Duration = Duration::from_millis(1500);
/// And is to be gone within this.
const HANG: Duration = Duration::from_secs(5);
/// In kB, as the kernel counts.
const MOST_MEMORY: u64 = 200_000;
const GLANCE: Duration = Duration::from_millis(1);

/// One way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Door {
    Profile,
    Testbed,
    Plan,
    Name,
    Job,
    Import,
    Journal,
    AgentPipe,
    ClosedPipes,
}

const DOORS: [Door; 9] = [
    Door::Profile,
    Door::Testbed,
    Door::Plan,
    Door::Name,
    Door::Job,
    Door::Import,
    Door::Journal,
    Door::AgentPipe,
    Door::ClosedPipes,
];

/// What came of one door's inputs.
#[derive(Debug, Default)]
struct Count {
    inputs: u64,
    refused: u64,
    panics: u64,
    hangs: u64,
    /// In kB, of the largest process.
    memory: u64,
}

/// Everything that is thrown from and at.
struct Range {
    program: PathBuf,
    folder: PathBuf,
    corpora: BTreeMap<Door, Vec<Vec<u8>>>,
}

/// Throws for so many seconds; an error where anything was found.
pub fn attack(args: &[&str]) -> Result<()> {
    let number = |flag: &str, absent: u64| -> Result<u64> {
        let at = args.iter().position(|arg| *arg == flag);
        let said = at.and_then(|at| args.get(at + 1));
        said.map_or(Ok(absent), |text| text.parse().context(format!("read {flag}")))
    };
    let seconds = number("--seconds", if args.contains(&"--full") { 3600 } else { 60 })?;
    let seed = number("--seed", 1)?;
    step("build", || run(&mut cargo(&["build", "--release", "--package", "switchmark"])))?;
    let budget = Duration::from_secs(seconds);
    let throwers = thread::available_parallelism()?.get() as u64;
    let ranges: Vec<Range> = (0..throwers).map(Range::new).collect::<Result<_>>()?;
    // A namespace is a thread's: the rest of this program stays where it is.
    let thrown: Vec<Result<Thrown>> = thread::scope(|scope| {
        let one = |(range, seed)| scope.spawn(move || Range::throw(range, seed, budget));
        let threads: Vec<_> = ranges.iter().zip(seed..).map(one).collect();
        let ends = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ends.map(|end| end.expect("a thrower does not panic")).collect()
    });
    for range in &ranges {
        fs::remove_dir_all(&range.folder).context("remove the folder")?;
    }
    let mut all = Thrown::default();
    for one in thrown {
        all.add(one?);
    }
    println!("\nseeds {seed} to {}", seed + throwers - 1);
    all.told()
}

/// What came of it.
#[derive(Debug, Default)]
struct Thrown {
    counts: BTreeMap<Door, Count>,
    findings: Vec<String>,
}

impl Thrown {
    fn add(&mut self, other: Self) {
        for (door, one) in other.counts {
            let all = self.counts.entry(door).or_default();
            all.inputs += one.inputs;
            all.refused += one.refused;
            all.panics += one.panics;
            all.hangs += one.hangs;
            all.memory = all.memory.max(one.memory);
        }
        self.findings.extend(other.findings);
    }

    /// An error where anything was found.
    fn told(&self) -> Result<()> {
        println!(
            "{:<12} {:>8} {:>9} {:>7} {:>6} {:>10}",
            "door", "inputs", "refused", "panics", "hangs", "memory, MB"
        );
        for (door, count) in &self.counts {
            let Count { inputs, refused, panics, hangs, memory } = count;
            println!(
                "{:<12} {inputs:>8} {refused:>9} {panics:>7} {hangs:>6} {:>10}",
                format!("{door:?}"),
                memory / 1000
            );
        }
        let inputs: u64 = self.counts.values().map(|count| count.inputs).sum();
        println!("{inputs} inputs, {} findings", self.findings.len());
        for finding in &self.findings {
            println!("FOUND {finding}");
        }
        if self.findings.is_empty() { Ok(()) } else { bail!("{} findings", self.findings.len()) }
    }
}

impl Range {
    fn new(number: u64) -> Result<Self> {
        let built = built()?;
        let folder =
            std::env::temp_dir().join(format!("switchmark-attack-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("theirs"))?;
        for name in ["a", "b"] {
            fs::write(folder.join("theirs").join(name), vec![7; 65_536])?;
        }
        // Whatever is built meanwhile is another program.
        let program = folder.join("switchmark");
        fs::copy(&built, &program).context("copy the program")?;
        let mut this = Self { program, folder, corpora: BTreeMap::new() };
        this.gather()?;
        Ok(this)
    }

    fn gather(&mut self) -> Result<()> {
        let root = root();
        let toml = |folder: &str, which: &dyn Fn(&str) -> bool| -> Result<Vec<Vec<u8>>> {
            let files = files(&root.join(folder))?;
            let texts =
                files.iter().filter(|f| which(&f.to_string_lossy())).map(fs::read_to_string);
            let texts: Vec<String> = texts.collect::<std::io::Result<_>>()?;
            Ok(texts.iter().map(|text| without_hooks(text)).collect())
        };
        let ends = |with: &'static str| move |name: &str| name.ends_with(with);
        let (is_toml, is_testbed, is_job) = (ends(".toml"), ends("testbed.toml"), ends(".fio"));
        self.corpora.insert(Door::Profile, toml("profiles", &is_toml)?);
        self.corpora.insert(Door::Testbed, toml("examples", &is_testbed)?);
        let plans = toml("examples", &|n| is_toml(n) && !is_testbed(n))?;
        let plans = plans.into_iter().map(|text| in_a_model(&String::from_utf8_lossy(&text)));
        self.corpora.insert(Door::Plan, plans.collect());
        let mut jobs = toml("examples", &is_job)?;
        jobs.push(
            b"[global]\nioengine=psync\nrw=randread\nbs=4k\nfilename=f\n[j]\nsize=1m\niodepth=4\n"
                .to_vec(),
        );
        self.corpora.insert(Door::Job, jobs);
        let profile = root.join("profiles/blocking-16.toml");
        let names = ["hosts=4", "hosts=2,mtu=1500", "hosts=16,queue=1MB"];
        let name = |rest: &&str| format!("sim:{},{rest}", profile.display()).into_bytes();
        self.corpora.insert(Door::Name, names.iter().map(name).collect());
        for (door, folder) in [(Door::Import, "import"), (Door::AgentPipe, "agent_protocol")] {
            let files = files(&root.join("fuzz/corpus").join(folder))?;
            let read: std::io::Result<Vec<_>> = files.iter().map(fs::read).collect();
            self.corpora.insert(door, read?);
        }
        let journal = self.folder.join("good.db");
        let mut measured = self.command(&["latency", "--blocks", "2", "-t", "10ms", "--quiet"]);
        run(in_virtual_time(measured.arg("--store").arg(&journal)).stdout(Stdio::null()))?;
        self.corpora.insert(Door::Journal, vec![fs::read(&journal)?]);
        self.corpora.insert(Door::ClosedPipes, vec![Vec::new()]);
        Ok(())
    }

    fn throw(&self, seed: u64, budget: Duration) -> Result<Thrown> {
        let apart = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
        unshare(apart).context("stand apart from the network, as root")?;
        let (nothing, ours) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
        mount(nothing, "/", nothing, ours, nothing).context("keep mounts to itself")?;
        let run = mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), nothing);
        run.context("have a /run of its own")?;
        let (began, mut dice) = (Instant::now(), Dice::new(seed));
        let before = self.state()?;
        let mut counts: BTreeMap<Door, Count> = BTreeMap::new();
        let mut findings = Vec::new();
        let mut number = 0;
        while began.elapsed() < budget {
            let door = DOORS[number % DOORS.len()];
            number += 1;
            let input = mutated(&mut dice, &self.corpora[&door]);
            let count = counts.entry(door).or_default();
            count.inputs += 1;
            let end = self.give(door, &input, &mut dice)?;
            count.refused += u64::from(end.code == Some(2));
            count.panics += u64::from(end.panicked);
            count.hangs += u64::from(end.hung);
            count.memory = count.memory.max(end.memory);
            let fat = end.memory > MOST_MEMORY;
            let changed = if number % 500 == 0 { self.state()? != before } else { false };
            if end.panicked || end.hung || fat || changed {
                let kept = std::env::temp_dir().join(format!("switchmark-finding-{seed}-{number}"));
                fs::write(&kept, &input)?;
                findings.push(format!(
                    "{door:?}, input {number}: {}{}{}{} ({})",
                    if end.panicked { "panic " } else { "" },
                    if end.hung { "hang " } else { "" },
                    if fat { format!("{} kB ", end.memory) } else { String::new() },
                    if changed { "not all is as before" } else { "" },
                    kept.display()
                ));
            }
        }
        if self.state()? != before {
            findings.push("not all on this machine is as before".into());
        }
        Ok(Thrown { counts, findings })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).stdin(Stdio::null()).env("HOME", &self.folder);
        command.current_dir(&self.folder).env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME");
        command
    }

    fn give(&self, door: Door, input: &[u8], dice: &mut Dice) -> Result<End> {
        let file = self.folder.join("input");
        fs::write(&file, input)?;
        let text = file.display().to_string();
        let store = self.folder.join("thrown.db").display().to_string();
        let short = ["-t", "10ms", "--blocks", "1", "--quiet", "--json", "--store", &store];
        let mut command = match door {
            Door::Profile => {
                let mut command = self.command(&["forwarding", "--flood", "--size", "64"]);
                command.args(short).arg("--testbed").arg(format!("sim:{text},hosts=2"));
                command
            }
            Door::Testbed => self.command(&["doctor", "--quiet", "--json", "--testbed", &text]),
            Door::Plan => self.command(&["run", &text, "--quiet", "--json", "--store", &store]),
            Door::Name => {
                let name = String::from_utf8_lossy(input).replace('\0', "");
                // Nothing but models: a lab is built by root, and takes its time.
                let name = if name.starts_with("sim:") { name } else { format!("sim:{name}") };
                let mut command = self.command(&["latency", "--protocol", "udp", "--size", "64"]);
                command.args(short).arg("--testbed").arg(name);
                command
            }
            Door::Job => {
                let mut command = self.command(&["storage", "--fio", &text]);
                in_virtual_time(command.args(short));
                command
            }
            Door::Import => {
                self.command(&["import", &text, "--quiet", "--json", "--store", &store])
            }
            Door::Journal => {
                let verbs: [[&str; 2]; 4] = [
                    ["runs", "--json"],
                    ["report", "latest"],
                    ["export", "latest"],
                    ["compare", "latest"],
                ];
                let mut command = self.command(dice.one(&verbs).as_slice());
                command.args(["--store", &text]);
                command
            }
            Door::AgentPipe => self.command(&["agent"]),
            Door::ClosedPipes => {
                let mut command = self.command(&["latency", "--protocol", "udp", "--size", "64"]);
                in_virtual_time(command.args(&short[..4]).args(["--store", &store]));
                command
            }
        };
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if door == Door::AgentPipe {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().context("start the program")?;
        if let Some(mut stdin) = child.stdin.take() {
            // Whoever ended already takes no more.
            let _ = stdin.write_all(input);
        }
        if door == Door::ClosedPipes {
            for closed in [dice.below(2) == 0, dice.below(2) == 0] {
                if closed {
                    drop(child.stdout.take());
                } else {
                    drop(child.stderr.take());
                }
            }
        }
        watch(child)
    }

    /// What must not change: files that are not the program's, its processes, what it noted, the
    /// links here.
    fn state(&self) -> Result<Vec<String>> {
        let mut state = Vec::new();
        for file in files(&self.folder.join("theirs"))? {
            let whole = fs::read(&file)?.iter().all(|octet| *octet == 7);
            state.push(format!(
                "{} {whole} {:?}",
                file.display(),
                fs::metadata(&file)?.modified()?
            ));
        }
        let notes = files(Path::new("/run/switchmark")).unwrap_or_default();
        state.extend(notes.iter().map(|note| note.display().to_string()));
        let links = fs::read_to_string("/proc/thread-self/net/dev")?;
        state.extend(links.lines().filter_map(|l| Some(l.split_once(':')?.0.trim().to_owned())));
        let ours = fs::read_dir("/proc")?.flatten().filter(|entry| {
            fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == self.program)
        });
        state.push(format!("{} processes", ours.count()));
        Ok(state)
    }
}

/// How a process ended.
struct End {
    code: Option<i32>,
    panicked: bool,
    hung: bool,
    /// The most it had, in kB, but for its last millisecond.
    memory: u64,
}

fn watch(mut child: Child) -> Result<End> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let readers = [child.stdout.take().map(read_all), child.stderr.take().map(read_all)];
    let (began, mut asked) = (Instant::now(), false);
    let (mut hung, mut memory) = (false, 0);
    let status = loop {
        memory = peak(pid).unwrap_or(0).max(memory);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if !asked && began.elapsed() > PATIENCE {
            asked = kill(pid, Signal::SIGINT).is_ok();
        }
        if began.elapsed() > PATIENCE + HANG {
            hung = true;
            child.kill()?;
            break child.wait()?;
        }
        thread::sleep(GLANCE);
    };
    let mut said = readers.into_iter().flatten().map(|reader| reader.join().unwrap_or_default());
    let panicked = said.any(|text| text.contains("panicked at"));
    let code = status.code();
    Ok(End {
        code,
        panicked: panicked || code == Some(101) || (code.is_none() && !hung),
        hung,
        memory,
    })
}

/// A living process's largest resident memory so far, in kB.
fn peak(pid: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Nobody's pipe is left full.
fn read_all(mut from: impl std::io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut octets = Vec::new();
        let _ = from.read_to_end(&mut octets);
        String::from_utf8_lossy(&octets).into_owned()
    })
}

fn in_virtual_time(command: &mut Command) -> &mut Command {
    let profile = root().join("profiles/blocking-16.toml");
    command.arg("--testbed").arg(format!("sim:{},hosts=4", profile.display()))
}

/// A plan about a modelled device, so that the rest of it is read and done.
fn in_a_model(plan: &str) -> Vec<u8> {
    let profile = root().join("profiles/blocking-16.toml");
    let model = format!("testbed = \"sim:{},hosts=4\"", profile.display());
    let line = |line: &str| {
        let named = line.trim_start().starts_with("testbed");
        if named { model.clone() } else { line.to_owned() }
    };
    plan.lines().map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

/// Commands of the user's and ways to other machines and processes are not what is tried.
fn without_hooks(text: &str) -> Vec<u8> {
    let hooks = ["apply", "reset", "probe", "ready"];
    let is_hook = |line: &&str| hooks.iter().any(|hook| line.trim_start().starts_with(hook));
    let kept: Vec<&str> = text.lines().filter(|line| !is_hook(line)).collect();
    let text = kept.join("\n");
    let ways = ["pid:", "ssh:", "srun:", "mpirun:"];
    ways.iter().fold(text, |text, way| text.replace(way, "netns:no")).into_bytes()
}

/// The files below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}
