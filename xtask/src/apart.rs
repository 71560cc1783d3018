//! Tests that build networks and wait: each in a process and in namespaces of its own, several at
//! once.
//!
//! Owns what a test has of its own, and what needs the machine itself. One that fails beside others
//! is tried again alone on the machine itself, and only that counts: what two tests do to each
//! other is nobody's fault. Never runs where namespaces cannot be had.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Tests mostly wait: four on two processors keep three quarters of them busy.
const PER_PROCESSOR: usize = 2;

/// Tests that need all of the machine or its own namespaces: containers want its control groups,
/// some settings exist in the first network namespace only, an agent's notes are of the machine,
/// and what the machine can do is measured with no other test beside.
const ON_THE_MACHINE: [&str; 8] = [
    "containers::",
    "controller::every_kind_of_flow",
    "demo::",
    "endings::a_setting_of_the_machine",
    "endings::the_doctor_puts_back",
    "endings::what_a_user_changed_after",
    "endings::whatever_ends_an_agent",
    "killed::",
];

const NAMESPACES: [&str; 7] =
    ["--net", "--mount", "--pid", "--ipc", "--fork", "--mount-proc", "--kill-child"];

/// Makes a machine of the namespaces (names of namespaces, notes, interfaces) and runs the test in
/// it. The shell stays as the first process, which takes in orphans and waits for them.
const INSIDE: &str = "mount -t tmpfs tmpfs /run/netns && mount -t tmpfs tmpfs /run/switchmark \
                      && mount -t sysfs sysfs /sys && ip link set lo up || exit 125; \
                      mount -t cgroup2 cgroup2 /sys/fs/cgroup; \"$0\" \"$@\"; exit $?";

/// Tells the test that everything left in these namespaces is its own.
const APART: (&str, &str) = ("SWITCHMARK_TEST_APART", "1");

/// A test's end.
struct Ended {
    passed: bool,
    said: String,
    seconds: f64,
}

fn needs_machine(name: &str) -> bool {
    ON_THE_MACHINE.iter().any(|prefix| name.starts_with(prefix))
}

/// True if tests can run apart on this machine.
pub fn possible() -> bool {
    let prepared = ["/run/netns", "/run/switchmark"].map(fs::create_dir_all);
    let mut command = inside("true", &[]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    prepared.iter().all(Result::is_ok) && command.status().is_ok_and(|status| status.success())
}

/// Runs every test of a program that is not ignored, and says of each how it ended.
pub fn run(program: &str) -> Result<()> {
    let begun = Instant::now();
    let all = test_names(program, &[])?;
    let ignored = test_names(program, &["--ignored"])?;
    let wanted: Vec<&String> = all.iter().filter(|name| !ignored.contains(name)).collect();
    println!("\nrunning {} tests", wanted.len());
    let (mut alone, beside): (Vec<&String>, Vec<&String>) =
        wanted.iter().partition(|name| needs_machine(name));
    let disturbed = disturbed(program, &beside)?;
    alone.extend(&disturbed);
    let mut failed = Vec::new();
    for name in alone {
        let ended = ended(Command::new(program).args(test(name)))?;
        let word = if ended.passed { "ok" } else { "FAILED" };
        println!("test {name} ... {word}, {:.0} s", ended.seconds);
        if !ended.passed {
            failed.push((name, ended.said));
        }
    }
    for (name, said) in &failed {
        println!("\n---- {name}\n{said}");
    }
    for name in disturbed {
        println!("\nnot beside others: {name}");
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; \
         finished in {:.2}s\n",
        wanted.len() - failed.len(),
        failed.len(),
        ignored.len(),
        begun.elapsed().as_secs_f64()
    );
    if !failed.is_empty() {
        bail!("{} tests of {program} failed", failed.len());
    }
    Ok(())
}

/// Runs them beside each other; those that failed, in their order.
fn disturbed<'a>(program: &str, tests: &[&'a String]) -> Result<Vec<&'a String>> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = |number: usize| -> Result<()> {
        let scratch = Scratch::new(number)?;
        while let Some(name) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = inside(program, &test(name));
            let ended = ended(command.env("TMPDIR", &scratch.0))?;
            let word = if ended.passed { "ok" } else { "failed beside others: again, alone" };
            println!("test {name} ... {word}, {:.0} s", ended.seconds);
            if !ended.passed {
                failed.lock().expect("no thread panics").push(*name);
            }
        }
        Ok(())
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let workers = (processors * PER_PROCESSOR).min(tests.len());
    thread::scope(|scope| -> Result<()> {
        let started: Vec<_> = (0..workers).map(|at| scope.spawn(move || worker(at))).collect();
        started.into_iter().try_for_each(|one| one.join().expect("no thread panics"))
    })?;
    let mut failed = failed.into_inner().expect("no thread panics");
    failed.sort();
    Ok(failed)
}

/// A folder for the files of one worker's tests, removed with it. Process numbers, which tests put
/// into their names, are the same in each namespace.
struct Scratch(PathBuf);

impl Scratch {
    fn new(number: usize) -> Result<Self> {
        let name = format!("smt-{}-{number}", std::process::id());
        let this = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&this.0).with_context(|| format!("make {}", this.0.display()))?;
        // As /tmp is: tests become other users.
        fs::set_permissions(&this.0, Permissions::from_mode(0o1777))?;
        Ok(this)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn inside(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(NAMESPACES).args(["sh", "-c", INSIDE, program]).args(args).env(APART.0, APART.1);
    command
}

fn test(name: &str) -> [&str; 3] {
    ["--exact", name, "--test-threads=1"]
}

fn ended(command: &mut Command) -> Result<Ended> {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("start {command:?}"))?;
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Ended { passed: output.status.success(), said: texts.concat(), seconds })
}

/// The names of a program's tests.
fn test_names(program: &str, which: &[&str]) -> Result<Vec<String>> {
    let args = ["--list", "--format=terse"];
    let output = Command::new(program).args(args).args(which).output();
    let output = output.with_context(|| format!("start {program}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned)).collect())
}
