//! A lab in a process of its own: killed without warning, and built by an ordinary user.
//!
//! Starts the program `lab-hold`; ends only what it started, by its id.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use lab::{Privilege, privilege};

/// Debian's `nobody`.
const NOBODY: u32 = 65_534;

const LABS: [&str; 5] = ["cable", "bridge", "router", "routers", "bridge+routers+router+bridge"];

const HOLD: &str = env!("CARGO_BIN_EXE_lab-hold");

/// Reads the line that reports that the lab is up: the privilege, and the namespaces' inodes.
fn wait_until_up(child: &mut Child) -> (String, BTreeSet<u64>) {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut words = line.split_whitespace();
    let right = words.next().unwrap_or_else(|| panic!("hold said nothing")).to_owned();
    (right, words.map(|word| word.parse().unwrap()).collect())
}

/// Network namespaces held by any process, by running in one or by descriptor.
fn held_by_anyone() -> BTreeSet<u64> {
    let mut inodes = BTreeSet::new();
    for process in fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()) {
        let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let links = descriptors.map(|d| d.path()).chain([process.join("ns/net")]);
        for target in links.filter_map(|link| fs::read_link(link).ok()) {
            let target = target.to_string_lossy().into_owned();
            let inode = target.strip_prefix("net:[").and_then(|rest| rest.strip_suffix(']'));
            inodes.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
        }
    }
    inodes
}

#[test]
fn a_killed_lab_leaves_nothing() {
    if privilege() == Privilege::None {
        eprintln!("skipped: building a lab needs root");
        return;
    }
    let links = || {
        let links = netlink::Netlink::open().unwrap().links().unwrap();
        links.into_iter().map(|link| link.name).collect::<Vec<_>>()
    };
    let before = links();
    for device in LABS {
        let mut command = Command::new(HOLD);
        command.args([device, "4"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (right, namespaces) = wait_until_up(&mut child);
        assert_eq!(right, format!("{:?}", privilege()));
        assert!(namespaces.is_subset(&held_by_anyone()), "{device}");
        // SIGKILL: no destructor of ours runs.
        child.kill().unwrap();
        child.wait().unwrap();
        let left: Vec<u64> = held_by_anyone().intersection(&namespaces).copied().collect();
        assert!(left.is_empty(), "{device} left {left:?}");
        assert_eq!(links(), before, "{device}");
    }
}

#[test]
fn an_ordinary_user_builds_one() {
    if privilege() != Privilege::Root {
        eprintln!("skipped: becoming an ordinary user needs root");
        return;
    }
    // The build folder may be closed to others.
    let copy = std::env::temp_dir().join(format!("switchmark-hold-{}", std::process::id()));
    fs::copy(HOLD, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    for device in LABS {
        let mut command = Command::new(&copy);
        command.arg(device).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.uid(NOBODY).gid(NOBODY).current_dir("/").spawn();
        let mut child = started.unwrap();
        let error = child.stderr.take().unwrap();
        let error = thread::spawn(move || std::io::read_to_string(error).unwrap());
        let stdin = child.stdin.take();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        drop(stdin);
        let status = child.wait().unwrap();
        let error = error.join().unwrap();
        if error.contains("hint: the kernel keeps user namespaces") {
            eprintln!("skipped: this kernel keeps user namespaces from ordinary users");
            break;
        }
        assert!(status.success(), "{device}: {error}");
        assert!(line.starts_with("UserNamespace "), "{device}: {line}");
    }
    fs::remove_file(&copy).unwrap();
}
