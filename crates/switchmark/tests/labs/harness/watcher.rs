//! What a test left behind: the difference between the machine before it and after it.
//!
//! Owns what is compared: links with their offloads and queues, namespaces, mounts, settings,
//! agents' notes, the program's processes, and the files beside the test. In namespaces of the
//! test's own all of these are its doing; on the machine itself others mount, start and end what
//! they like, so only what bears this process's mark counts. Never puts anything back: a test that
//! leaves something fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use netlink::Netlink;

/// What ends by itself ends within this: an agent whose controller is gone needs 1.6 s.
const SETTLING: u32 = 40;
const PAUSE: Duration = Duration::from_millis(100);

/// Set by `cargo xtask test` for a test that runs in namespaces of its own.
const APART: &str = "SWITCHMARK_TEST_APART";

/// Folders whose settings are read whole; what counts by itself is not one.
const SETTINGS: [&str; 5] = [
    "/proc/sys/net/core",
    "/proc/sys/net/ipv4",
    "/proc/sys/net/ipv6",
    "/sys/devices/system/cpu",
    "/sys/devices/system/clocksource",
];

/// Settings among the files of processors and clocks.
const SYSFS: [&str; 4] = ["scaling_governor", "disable", "online", "current_clocksource"];

/// A machine's first `ip netns add` mounts the one for good, podman the other while it has
/// containers; the tests call both.
const OTHERS: [&str; 2] = ["/run/netns", "/var/lib/containers/storage/overlay"];

/// Everything, a line each.
#[derive(Debug)]
pub struct Watcher(BTreeSet<String>);

impl Watcher {
    /// As it is now.
    pub fn look() -> Self {
        let mut seen = BTreeSet::new();
        if std::env::var_os(APART).is_some() {
            all(&mut seen);
        } else {
            own(&mut seen);
        }
        // In the folder where the tests' programs run, by name: what is in them may be under
        // somebody's hands, and so may hidden ones, which editors make.
        let files = names_in(env!("CARGO_MANIFEST_DIR")).filter(|name| !name.starts_with('.'));
        seen.extend(files.map(|name| format!("file {name}")));
        Self(seen)
    }

    /// What is not as it was, once what ends by itself had the time to.
    pub fn differences(&self) -> Vec<String> {
        let mut last = Vec::new();
        for _ in 0..SETTLING {
            last = self.differences_now();
            if last.is_empty() {
                return last;
            }
            thread::sleep(PAUSE);
        }
        last
    }

    /// What is not as it was at this moment.
    pub fn differences_now(&self) -> Vec<String> {
        let now = Self::look();
        // A note that goes is what the program owes to an agent that somebody killed before this
        // test, and whose host it now put in order.
        let gone = self.0.difference(&now.0).filter(|line| !line.starts_with("note "));
        let gone = gone.map(|line| format!("gone: {line}"));
        let new = now.0.difference(&self.0).map(|line| format!("new: {line}"));
        gone.chain(new).collect()
    }
}

/// Everything in namespaces that nobody else is in.
fn all(seen: &mut BTreeSet<String>) {
    links(seen);
    for folder in SETTINGS {
        settings(Path::new(folder), 0, seen);
    }
    for (what, folder) in [("namespace", "/run/netns"), ("note", "/run/switchmark")] {
        seen.extend(names_in(folder).map(|name| format!("{what} {name}")));
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_ours = |line: &&str| !line.split(' ').nth(1).is_some_and(|at| OTHERS.contains(&at));
    seen.extend(mounts.lines().filter(is_ours).map(|line| format!("mount {line}")));
    seen.extend(running().map(described));
}

/// What has this process's number in its name or descends from it. An orphan counts too: whose
/// child it was cannot be told any more, and the program never leaves one.
fn own(seen: &mut BTreeSet<String>) {
    let me = std::process::id();
    let mark = format!("smt-{me}-");
    let mine = names_in("/run/netns").filter(|name| name.starts_with(&mark));
    seen.extend(mine.map(|name| format!("namespace {name}")));
    let is_mine = |pid: &u32| {
        let ancestors = std::iter::successors(Some(*pid), |pid| parent(*pid));
        ancestors.take_while(|pid| *pid > 1).any(|pid| pid == me) || parent(*pid) == Some(1)
    };
    seen.extend(running().filter(is_mine).map(described));
}

fn names_in(folder: &str) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().display().to_string())
}

/// Processes of the program under test.
fn running() -> impl Iterator<Item = u32> {
    let program = fs::canonicalize(super::switchmark()).ok();
    let numbers = names_in("/proc").filter_map(|name| name.parse().ok());
    numbers.filter(move |pid| fs::read_link(format!("/proc/{pid}/exe")).ok() == program)
}

/// `process 4711: switchmark agent`
fn described(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|octet| *octet == 0).map(String::from_utf8_lossy).collect::<Vec<_>>();
    format!("process {pid}: {}", words.join(" ").trim_end())
}

/// A process's parent; its name, which may hold anything, stands in brackets before it.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Of this network namespace: loads and states change by themselves.
fn links(seen: &mut BTreeSet<String>) {
    let Ok(mut kernel) = Netlink::open() else { return };
    for link in kernel.links().unwrap_or_default() {
        seen.insert(format!("link {} {} mtu {}", link.index, link.name, link.mtu));
        let features = kernel.features(&link.name).unwrap_or_default();
        seen.extend(features.iter().map(|(name, on)| format!("{} {name} {on}", link.name)));
    }
    for queue in kernel.qdiscs().unwrap_or_default() {
        seen.insert(format!("queue {} {} {:?}", queue.index, queue.kind, queue.handle));
    }
}

fn settings(folder: &Path, depth: usize, seen: &mut BTreeSet<String>) {
    /// What the kernel counts or draws itself, below those folders.
    const ITS_OWN: [&str; 6] = ["route", "tcp_fastopen_key", "fib_", "time", "usage", "residency"];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Ok(kind) = entry.file_type() else { continue };
        if ITS_OWN.iter().any(|own| name.contains(own)) {
            continue;
        }
        if kind.is_dir() && depth < 4 {
            settings(&path, depth + 1, seen);
        }
        let is_setting = !path.starts_with("/sys") || SYSFS.contains(&name.as_str());
        if kind.is_file()
            && is_setting
            && let Ok(text) = fs::read_to_string(&path)
        {
            seen.insert(format!("{} {}", path.display(), text.trim()));
        }
    }
}
