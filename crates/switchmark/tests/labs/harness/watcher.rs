//! Whether a machine is as it was: before a test and after it.
//!
//! Owns what is looked at: links and their offloads and queues, namespaces, mounts, settings,
//! agents' notes, the program's processes, and the files beside the test. Never puts anything back:
//! a test that leaves something fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use netlink::Netlink;

/// What ends by itself ends within this: an agent whose controller is gone needs 1.6 s.
const SETTLING: u32 = 40;
const PAUSE: Duration = Duration::from_millis(100);

/// Below these all settings are read; what counts by itself is not one.
const SETTINGS: [&str; 5] = [
    "/proc/sys/net/core",
    "/proc/sys/net/ipv4",
    "/proc/sys/net/ipv6",
    "/sys/devices/system/cpu",
    "/sys/devices/system/clocksource",
];

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
        links(&mut seen);
        for folder in SETTINGS {
            settings(Path::new(folder), 0, &mut seen);
        }
        for (what, folder) in [("namespace", "/run/netns"), ("note", "/run/switchmark")] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            seen.extend(entries.map(|entry| format!("{what} {}", entry.file_name().display())));
        }
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let is_ours = |line: &&str| !line.split(' ').nth(1).is_some_and(|at| OTHERS.contains(&at));
        seen.extend(mounts.lines().filter(is_ours).map(|line| format!("mount {line}")));
        let program = fs::canonicalize(super::switchmark()).ok();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ours =
            processes.filter(|entry| fs::read_link(entry.path().join("exe")).ok() == program);
        seen.extend(ours.map(|entry| format!("process {}", entry.file_name().display())));
        files(Path::new(env!("CARGO_MANIFEST_DIR")), &mut seen);
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
        // Processors' folders hold much beside settings, and clocks that run.
        let told = !path.starts_with("/sys") || SYSFS.contains(&name.as_str());
        if kind.is_file()
            && told
            && let Ok(text) = fs::read_to_string(&path)
        {
            seen.insert(format!("{} {}", path.display(), text.trim()));
        }
    }
}

const SYSFS: [&str; 4] = ["scaling_governor", "disable", "online", "current_clocksource"];

/// By name: what is in them may be under somebody's hands.
fn files(folder: &Path, seen: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), seen),
            _ => drop(seen.insert(format!("file {}", entry.path().display()))),
        }
    }
}
