//! `lab up`, `lab exec` and what is left after `kill -9`: nothing.
//!
//! Needs root. Every process is ended by its own id, and nothing is looked for but what the lab's
//! own processes lead to.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::harness;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

const PROGRAM: &str = env!("CARGO_BIN_EXE_switchmark");

fn root(test: &str) -> bool {
    let root = geteuid().is_root();
    if !root {
        eprintln!("skipped: {test} needs root to build labs and to become another user");
    }
    root
}

/// A lab that is up, and the words it printed.
struct Up {
    child: Child,
    told: String,
}

impl Up {
    /// `user` as runuser takes it; root where it is none.
    fn start(testbed: &str, user: Option<&str>) -> Self {
        let mut command = match user {
            None => Command::new(PROGRAM),
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user, "--", PROGRAM]);
                command
            }
        };
        command.args(["lab", "up", testbed]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("lab up starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let (mut told, mut line) = (String::new(), String::new());
        while out.read_line(&mut line).expect("it writes") > 0 {
            told.push_str(&line);
            if line.starts_with("Ctrl-C") {
                return Self { child, told };
            }
            line.clear();
        }
        let _ = child.wait();
        let mut error = String::new();
        let _ = child.stderr.take().expect("piped").read_to_string(&mut error);
        panic!("lab up {testbed} ended: {told}{error}");
    }

    fn id(&self) -> &str {
        self.told.split_whitespace().nth(1).expect("`lab ID is up`")
    }

    fn holder(&self) -> Pid {
        Pid::from_raw(self.id().parse().expect("the lab is named by its process"))
    }

    /// The processes that stand in its nodes: found by their command line, as `lab exec` does.
    fn standing(&self) -> Vec<Pid> {
        let ends = format!("--lab\0{}\0", self.id());
        let all = fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            line.ends_with(ends.as_bytes()).then(|| Pid::from_raw(pid))
        });
        all.collect()
    }

    fn end(mut self, signal: Signal) -> String {
        kill(self.holder(), signal).expect("it is there");
        let _ = self.child.wait().expect("it ends");
        let mut error = String::new();
        let _ = self.child.stderr.take().expect("piped").read_to_string(&mut error);
        error
    }
}

fn exec(lab: Option<&str>, host: &str, command: &[&str]) -> Output {
    let mut exec = Command::new(PROGRAM);
    exec.args(["lab", "exec"]);
    if let Some(lab) = lab {
        exec.args(["--lab", lab]);
    }
    exec.arg(host).arg("--").args(command).output().expect("lab exec starts")
}

fn network_of(pid: Pid) -> u64 {
    fs::metadata(format!("/proc/{pid}/ns/net")).expect("its namespace").ino()
}

/// Whether any process of the machine is in one of these network namespaces.
fn inhabited(networks: &[u64]) -> Vec<String> {
    let all = fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let network = fs::metadata(format!("/proc/{name}/ns/net")).ok()?.ino();
        networks.contains(&network).then_some(name)
    });
    all.collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "still not so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_lab_is_entered_by_name_and_gone_after_its_end() {
    if !root("a_lab_is_entered_by_name_and_gone_after_its_end") {
        return;
    }
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/teg-s16g.toml");
    let emulated = format!("lab:emulated={profile}");
    let ends = [
        ("lab:bridge", "bridge", Signal::SIGTERM),
        ("lab:bridge", "bridge", Signal::SIGKILL),
        (emulated.as_str(), "teg-s16g", Signal::SIGKILL),
    ];
    for (testbed, device, signal) in ends {
        let links = || fs::read_dir("/sys/class/net").expect("links").count();
        let before = links();
        let up = Up::start(testbed, None);
        let lab = up.id().to_owned();
        let standing = up.standing();
        assert_eq!(standing.len(), 3, "two hosts and the device: {}", up.told);
        let networks: Vec<u64> = standing.iter().map(|pid| network_of(*pid)).collect();

        let seen = exec(Some(&lab), "h1", &["ls", "/sys/class/net"]);
        assert!(seen.status.success(), "{}", String::from_utf8_lossy(&seen.stderr));
        let address = exec(Some(&lab), "h2", &["cat", "/proc/net/fib_trie"]);
        assert!(String::from_utf8_lossy(&address.stdout).contains("198.18."), "{}", up.told);
        let status = exec(Some(&lab), "h1", &["sh", "-c", "exit 7"]).status.code();
        assert_eq!(status, Some(7), "the program's own exit code");
        let missing = exec(Some(&lab), "h1", &["/none/such"]);
        assert_eq!(missing.status.code(), Some(127));
        let nowhere = exec(Some(&lab), "h9", &["true"]);
        assert_eq!(nowhere.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&nowhere.stderr).contains(&device_and_hosts(device)));

        up.end(signal);
        until("every process of the lab has ended", || inhabited(&networks).is_empty());
        let gone = |pid: &Pid| !Path::new(&format!("/proc/{pid}/cwd")).exists();
        assert!(standing.iter().all(gone), "{standing:?}");
        until("no link is left in the machine itself", || links() <= before);
        let after = exec(Some(&lab), "h1", &["true"]);
        assert_eq!(after.status.code(), Some(2), "{signal}: it cannot be entered");
    }
}

/// The nodes as they are told: in the order of their names.
fn device_and_hosts(device: &str) -> String {
    let mut names = [device, "h1", "h2"];
    names.sort_unstable();
    names.join(", ")
}

#[test]
fn two_labs_are_told_apart() {
    if !root("two_labs_are_told_apart") {
        return;
    }
    let (one, two) = (Up::start("lab:cable", None), Up::start("lab:cable", None));
    let unsaid = exec(None, "h1", &["true"]);
    let text = String::from_utf8_lossy(&unsaid.stderr).into_owned();
    assert_eq!(unsaid.status.code(), Some(2), "{text}");
    assert!(text.contains("labs are up") && text.contains("--lab "), "{text}");
    let network = |lab: &Up| {
        let seen = exec(Some(lab.id()), "h1", &["readlink", "/proc/self/ns/net"]);
        String::from_utf8_lossy(&seen.stdout).into_owned()
    };
    let (first, second) = (network(&one), network(&two));
    assert!(first.starts_with("net:") && second.starts_with("net:"), "{first} {second}");
    assert_ne!(first, second);
    one.end(Signal::SIGINT);
    two.end(Signal::SIGINT);
}

#[test]
fn a_host_that_dies_is_told_of() {
    if !root("a_host_that_dies_is_told_of") {
        return;
    }
    let up = Up::start("lab:cable", None);
    let standing = up.standing();
    kill(standing[0], Signal::SIGKILL).expect("it stands");
    until("the holder has noticed", || !Path::new(&format!("/proc/{}", standing[0])).exists());
    assert!(Path::new(&format!("/proc/{}/cwd", up.holder())).exists(), "the lab goes on");
    let error = up.end(Signal::SIGTERM);
    assert!(error.contains(&format!("the process {} that stood in `h", standing[0])), "{error}");
    assert_eq!(error.matches("warning:").count(), 1, "{error}");
}

/// Whether a user without rights may run the program in a user namespace.
fn nobody(test: &str) -> bool {
    if !root(test) {
        return false;
    }
    let can = Command::new("runuser")
        .args(["-u", "nobody", "--", "unshare", "--user", "--net", PROGRAM, "--version"])
        .output();
    let can = can.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: {test}: here `nobody` may not run the program in a user namespace");
    }
    can
}

#[test]
fn a_user_without_rights_measures_an_emulated_device() {
    if !nobody("a_user_without_rights_measures_an_emulated_device") {
        return;
    }
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/teg-s16g.toml");
    if !readable_by_all(Path::new(profile)) {
        eprintln!("skipped: `nobody` may not read the profiles here");
        return;
    }
    let store = std::env::temp_dir().join(format!("switchmark-nobody-{}", std::process::id()));
    let links = || fs::read_dir("/sys/class/net").expect("links").count();
    let before = links();
    let output = Command::new("runuser")
        .args(["-u", "nobody", "--", PROGRAM, "latency", "--protocol", "udp", "--size", "64"])
        .args(["--testbed", &format!("lab:emulated={profile}"), "-t", "200ms", "--quiet", "--json"])
        .arg("--store")
        .arg(&store)
        .output()
        .expect("runuser starts");
    // The journal, and what SQLite keeps beside it.
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", store.display()));
    }
    let told = String::from_utf8_lossy(&output.stderr);
    // 3: a busy machine spoils trials, which is no matter of rights.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let document = harness::json(&output);
    assert!(!document["figures"].as_array().expect("figures").is_empty());
    until("no link is left in the machine itself", || links() <= before);
}

/// Whether a file and every folder above it are open to everybody.
fn readable_by_all(path: &Path) -> bool {
    let path = path.canonicalize().expect("it is there");
    let open = |path: &Path| fs::metadata(path).is_ok_and(|found| found.mode() & 0o5 == 0o5);
    fs::metadata(&path).is_ok_and(|found| found.mode() & 0o4 != 0)
        && path.ancestors().skip(1).all(open)
}

#[test]
fn a_user_without_rights_has_labs_too() {
    if !nobody("a_user_without_rights_has_labs_too") {
        return;
    }
    let up = Up::start("lab:bridge", Some("nobody"));
    let standing = up.standing();
    let networks: Vec<u64> = standing.iter().map(|pid| network_of(*pid)).collect();
    let seen = Command::new("runuser")
        .args(["-u", "nobody", "--", PROGRAM, "lab", "exec", "--lab", up.id(), "h1", "--"])
        .args(["cat", "/proc/net/dev"])
        .output()
        .expect("lab exec starts");
    let error = String::from_utf8_lossy(&seen.stderr);
    assert!(seen.status.success(), "{error}");
    assert!(String::from_utf8_lossy(&seen.stdout).contains("eth1"), "the host's own links");
    up.end(Signal::SIGKILL);
    until("every process of the lab has ended", || inhabited(&networks).is_empty());
}
