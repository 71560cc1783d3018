//! Hosts that exist already: the same study through each launcher, and what the doctor finds of
//! them.
//!
//! Needs root and iproute2, by which the namespaces are made here and removed again.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::harness::spaces::{Spaces, cable, ip, space};
use crate::harness::{self, Scratch, alone, find, short_latency, switchmark, told_a_round_trip};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Two named namespaces joined by a cable.
fn cabled_pair() -> Spaces {
    let spaces = Spaces::new(&["left", "right"]);
    cable(("left", "eth1", "198.18.7.1/24"), ("right", "eth1", "198.18.7.2/24"));
    spaces
}

fn host(name: &str, reach: &str, port: &str, address: &str, cable: &str) -> String {
    format!(
        "[[host]]\nname = \"{name}\"\nreach = \"{reach}\"\n[[host.port]]\nname = \"{port}\"\n\
         address = \"{address}\"\ncable = \"{cable}\"\n"
    )
}

fn latency(testbed: &Path, store: &Path) -> Output {
    short_latency(&mut Command::new(switchmark()), testbed, store)
}

fn check(testbed: &str, name: &str) {
    let scratch = Scratch::new(name);
    let file = scratch.path("testbed.toml");
    std::fs::write(&file, testbed).expect("writes");
    let output = latency(&file, &scratch.path("journal.db"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    told_a_round_trip(&output);
}

#[test]
fn named_namespaces() {
    let Some(_alone) = alone("named_namespaces", &["ip"]) else { return };
    let _spaces = cabled_pair();
    let reach = |name: &str| format!("netns:{}", space(name));
    let left = host("h1", &reach("left"), "eth1", "198.18.7.1/24", "h2/eth1");
    let right = host("h2", &reach("right"), "eth1", "198.18.7.2/24", "h1/eth1");
    check(&format!("{left}{right}"), "netns");
}

/// Two agents on this host, over its loopback.
#[test]
fn this_host() {
    let Some(_alone) = alone("this_host", &[]) else { return };
    let one = host("h1", "local", "lo", "127.0.0.1/8", "h2/lo");
    let two = host("h2", "local", "lo", "127.0.0.2/8", "h1/lo");
    check(&format!("{one}{two}"), "local");
}

/// Stands for `ssh` where it goes to a host of the same name's namespace, as nobody, with no more
/// than the capabilities of `$CAPABILITIES`, and eight MiB that may be locked.
const AS_NOBODY: &str = r#"#!/bin/sh
while [ $# -gt 2 ]; do shift; done
kept="-all,+$(echo "$CAPABILITIES" | sed 's/,/,+/g')"
exec ip netns exec "${1#ssh://}" prlimit --memlock=8388608 setpriv --reuid=65534 --regid=65534 --clear-groups \
    --inh-caps="$kept" --ambient-caps="$kept" --bounding-set="$kept" \
    env -i PATH="$PATH" XDG_CACHE_HOME="$CACHES/${1#ssh://}" sh -c "$2"
"#;

/// The table of the page about threats: with these and no more it works, and without one it says
/// which.
#[test]
fn nobody_with_few_capabilities() {
    let needed = ["ip", "setpriv", "prlimit", "sed"];
    let Some(_alone) = alone("nobody_with_few_capabilities", &needed) else { return };
    let (_named, scratch) = (cabled_pair(), Scratch::new("capabilities"));
    let (left, right) = (&space("left"), &space("right"));
    for name in [left, right] {
        std::fs::create_dir(scratch.path(name)).expect("a folder");
        std::os::unix::fs::chown(scratch.path(name), Some(65534), Some(65534)).expect("root's");
    }
    std::fs::write(scratch.path("ssh"), AS_NOBODY).expect("writes");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.path("ssh"), mode).expect("may be run");
    let file = scratch.path("testbed.toml");
    let one = host("h1", &format!("ssh://{left}"), "eth1", "198.18.7.1/24", "h2/eth1");
    let two = host("h2", &format!("ssh://{right}"), "eth1", "198.18.7.2/24", "h1/eth1");
    std::fs::write(&file, format!("{one}{two}")).expect("writes");
    let path = std::env::var("PATH").unwrap_or_default();
    let flood = |capabilities: &str, backend: &str, receiver: &str| {
        Command::new(switchmark())
            .args(["forwarding", "--flood", "--size", "64", "-t", "0.1", "--blocks", "1"])
            .args(["--backend", backend, "--receiver", receiver, "--json", "--quiet", "--testbed"])
            .args([&file, Path::new("--store"), &scratch.path("journal.db")])
            .env("PATH", format!("{}:{path}", scratch.folder().display()))
            .env("CACHES", scratch.folder())
            .env("CAPABILITIES", capabilities)
            .output()
            .expect("switchmark starts")
    };
    for (capabilities, backend, receiver) in [
        ("net_admin", "udp", "udp"),
        ("net_admin,net_raw", "packet", "packet"),
        ("net_admin,net_raw", "af-xdp", "packet"),
        ("net_admin,bpf,perfmon", "udp", "xdp"),
        ("net_admin,net_raw,bpf,ipc_lock", "af-xdp", "af-xdp"),
        ("net_admin,sys_admin", "xdp-live", "xdp"),
    ] {
        let output = flood(capabilities, backend, receiver);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{capabilities}: {backend}, {receiver}: {told}");
        let document = harness::json(&output);
        let figures = document["figures"].as_array().expect("figures");
        let came = figures.iter().find(|f| f["metric"] == "received").expect("frames that came");
        println!("{capabilities}: {backend}, {receiver}: {} frames/s", came["value"]);
        assert!(came["value"].as_f64().is_some_and(|rate| rate > 0.0), "{came}");
        assert_eq!(
            (&came["where"]["backend"], &came["where"]["receiver"]),
            (&backend.into(), &receiver.into())
        );
    }
    for (capabilities, backend, receiver, says) in [
        ("net_admin", "packet", "packet", "CAP_NET_RAW"),
        ("net_admin,net_raw", "udp", "xdp", "CAP_BPF"),
        ("net_admin,net_raw,bpf", "af-xdp", "af-xdp", "locked memory"),
        ("net_admin,net_raw,bpf,perfmon", "xdp-live", "xdp", "CAP_SYS_ADMIN"),
    ] {
        let output = flood(capabilities, backend, receiver);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(says), "{capabilities}: {says}: {told}");
    }
}

#[test]
fn a_namespace_that_does_not_exist() {
    let Some(_alone) = alone("a_namespace_that_does_not_exist", &[]) else { return };
    let scratch = Scratch::new("absent");
    let file = scratch.path("testbed.toml");
    let one = host("h1", "netns:smt-absent", "eth1", "198.18.7.1/24", "h2/eth1");
    let two = host("h2", "netns:smt-absent-too", "eth1", "198.18.7.2/24", "h1/eth1");
    std::fs::write(&file, format!("{one}{two}")).expect("writes");
    let output = latency(&file, &scratch.path("journal.db"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("smt-absent") && told.contains("hint:"), "{told}");
    assert!(output.stdout.is_empty(), "nothing on stdout");
}

#[test]
fn a_store_that_can_not_be_written() {
    let Some(_alone) = alone("a_store_that_can_not_be_written", &[]) else { return };
    let output = latency(Path::new("lab:cable"), Path::new("/proc/switchmark/journal.db"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("error: ") && told.contains("hint: "), "{told}");
}

/// Runs the doctor on a testbed file; its exit status and its findings.
fn doctor(prefix: &str, file: &Path) -> (Option<i32>, Vec<serde_json::Value>) {
    let (program, file) = (switchmark().display(), file.display());
    let line = format!("{prefix} {program} doctor --testbed {file} --json --quiet");
    let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    let document = harness::json(&output);
    (output.status.code(), document["findings"].as_array().expect("findings").clone())
}

/// What the doctor finds where something is bad, to be asked for a place, a check, its state and
/// its words.
fn broken(prefix: &str, file: &Path) -> impl Fn(&str, &str, &str, &str) + use<> {
    let (status, all) = doctor(prefix, file);
    assert_eq!(status, Some(3), "something is bad");
    move |place, check, state, says| found(&all, place, check, state, says)
}

/// That a check at a place came out so, in words or a command that hold `says`.
fn found(all: &[serde_json::Value], place: &str, check: &str, state: &str, says: &str) {
    let finding = all.iter().find(|f| f["place"] == place && f["check"] == check);
    let finding = finding.unwrap_or_else(|| panic!("{place}: {check}: {all:#?}"));
    assert_eq!(finding["state"], state, "{finding}");
    let words = format!("{} {}", finding["found"], finding["fix"]);
    assert!(words.contains(says), "{says}: {words}");
}

/// Where each of the first host's ports leads, from the first.
const STRAIGHT: [u8; 4] = [1, 2, 3, 4];

/// Two hosts in namespaces of the test's own, `eth1` joined to `eth1` and so on.
fn cabled() -> Spaces {
    let spaces = cabled_pair();
    for number in &STRAIGHT[1..] {
        let (port, third) = (format!("eth{number}"), 10 + number);
        let [near, far] = [1, 2].map(|last| format!("198.18.{third}.{last}/24"));
        cable(("left", &port, &near), ("right", &port, &far));
    }
    spaces
}

/// The testbed's file, in which `far` says where each port of the first host leads; without the
/// ports beyond.
fn testbed_file(scratch: &Scratch, far: &[u8]) -> PathBuf {
    let port = |number: u8, last: u8, cable: String| {
        let third = if number == 1 { 7 } else { 10 + number };
        format!(
            "[[host.port]]\nname = \"eth{number}\"\naddress = \"198.18.{third}.{last}/24\"\n\
             cable = \"{cable}\"\n"
        )
    };
    let host = |name: &str, space: &str| {
        format!("[[host]]\nname = \"{name}\"\nreach = \"netns:{space}\"\n")
    };
    let mut text = host("h1", &space("left"));
    let numbers = || (1..).zip(far);
    for (number, far) in numbers() {
        text += &port(number, 1, format!("h2/eth{far}"));
    }
    text += &host("h2", &space("right"));
    for (number, _) in numbers() {
        let back = 1 + far.iter().position(|far| *far == number).expect("each is named once");
        text += &port(number, 2, format!("h1/eth{back}"));
    }
    let file = scratch.path("testbed.toml");
    std::fs::write(&file, text).expect("writes");
    file
}

/// Of the first host's first port.
fn mtu() -> u32 {
    let output = Command::new(find("ip").expect("looked for before"))
        .args(["-n", &space("left"), "-o", "link", "show", "eth1"])
        .output()
        .expect("ip starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.split_whitespace().skip_while(|word| *word != "mtu").skip(1);
    words.next().and_then(|mtu| mtu.parse().ok()).expect("an mtu")
}

#[test]
fn the_doctor_finds_what_was_broken_on_purpose() {
    let name = "the_doctor_finds_what_was_broken_on_purpose";
    let Some(_alone) = alone(name, &["ip"]) else { return };
    let (_cabled, scratch) = (cabled(), Scratch::new("doctor"));
    // Each further cable takes seconds, and is as sound.
    let (status, sound) = doctor("", &testbed_file(&scratch, &STRAIGHT[..1]));
    let bad: Vec<_> = sound.iter().filter(|finding| finding["state"] == "bad").collect();
    assert!(bad.is_empty() && status == Some(0), "{bad:#?}");
    for check in ["cable", "MTU", "duplicate address", "link", "address", "full-size frame"] {
        found(&sound, "h1/eth1", check, "good", "");
    }
    found(&sound, "h1/eth1", "offloads", "good", " on: each trial turns them off");

    let file = testbed_file(&scratch, &STRAIGHT);
    let (left, right) = (&space("left"), &space("right"));
    ip(&["-n", left, "link", "set", "eth1", "mtu", "1400"]);
    ip(&["-n", right, "address", "add", "198.18.7.1/32", "dev", "eth4"]);
    ip(&["-n", left, "address", "del", "198.18.14.1/24", "dev", "eth4"]);
    // UDP that comes in by the second cable is lost without an answer, as in a firewall.
    ip(&["-n", right, "rule", "add", "pref", "100", "lookup", "local"]);
    ip(&["-n", right, "rule", "del", "pref", "0"]);
    ip(&["-n", right, "rule", "add", "pref", "10", "iif", "eth2", "ipproto", "udp", "blackhole"]);
    let check = broken("ulimit -l 64;", &file);
    check("h1/eth1", "MTU", "bad", "ip link set dev eth1 mtu 1500");
    check("h2/eth1", "full-size frame", "bad", "1518 octets do not arrive at h1/eth1");
    check("h1/eth1", "duplicate address", "bad", "198.18.7.1 is also that of ");
    check("h1/eth4", "address", "bad", "ip address add 198.18.14.1/24 dev eth4");
    check("h1/eth2 > h2/eth2", "path", "good", "pings pass");
    check("h1/eth2 > h2/eth2", "firewall", "bad", "UDP datagrams to a free port do not pass");
    check("h1/eth3 > h2/eth3", "firewall", "good", "pass");
    check("h1", "locked memory", "good", "65536 octets; the agent's privileges exceed it");

    // A link that is down, and two cables that are not where the file says.
    ip(&["-n", right, "link", "set", "eth4", "down"]);
    let check = broken("", &testbed_file(&scratch, &[1, 3, 2, 4]));
    let check = |place: &str, what: &str, says: &str| check(place, what, "bad", says);
    check("h1/eth2", "cable", "arrive at h2/eth2, and the testbed file says h2/eth3");
    check("h1/eth3", "cable", "arrive at h2/eth3, and the testbed file says h2/eth2");
    check("h2/eth4", "link", "ip link set dev eth4 up");
    check("h1/eth4", "link", "no carrier");
}

/// A program that takes a processor's time; ended when dropped.
struct Busy(Vec<std::process::Child>);

impl Busy {
    fn new() -> Self {
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Self((0..2).map(|_| spin().expect("a shell")).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What needs a firewall of the kernel's own, a card whose speed can be set, or an agent without a
/// privilege.
#[test]
fn the_doctor_finds_firewalls_loads_and_limits() {
    let name = "the_doctor_finds_firewalls_loads_and_limits";
    let needed = ["ip", "nft", "ethtool", "setpriv"];
    let Some(_alone) = alone(name, &needed) else { return };
    let (_cabled, scratch) = (cabled(), Scratch::new("doctor-limits"));
    let (left, right) = (&space("left"), &space("right"));
    // A tap whose far end nobody holds, at the speed of an old hub.
    ip(&["-n", left, "tuntap", "add", "tap1", "mode", "tap"]);
    ip(&["-n", left, "address", "add", "198.18.20.1/24", "dev", "tap1"]);
    ip(&["-n", left, "link", "set", "tap1", "up"]);
    let slow = ["-s", "tap1", "speed", "100", "duplex", "half", "autoneg", "off"];
    ip(&[&["netns", "exec", left, "ethtool"][..], &slow].concat());
    let rules = "add table inet smt; add chain inet smt in { type filter hook input priority 0; }; \
                 add rule inet smt in iifname eth2 meta l4proto udp drop; \
                 add rule inet smt in iifname eth3 meta length gt 1000 drop; \
                 add rule inet smt in iifname eth4 meta l4proto icmp drop";
    ip(&["netns", "exec", right, "nft", rules]);
    let file = testbed_file(&scratch, &STRAIGHT);
    let text = std::fs::read_to_string(&file).expect("reads");
    let text = text.replacen("cable = \"h2/eth1\"", "cable = \"h2/eth1\"\nrate = \"1Gbit\"", 1);
    let tap = "[[host]]\nname = \"h3\"\nreach = \"netns:LEFT\"\n[[host.port]]\nname = \"tap1\"\n\
               address = \"198.18.20.1/24\"\ncable = \"old/1\"\n[[device]]\nname = \"old\"\nkind = \"switch\"\n";
    std::fs::write(&file, text + &tap.replace("LEFT", left)).expect("writes");
    let busy = Busy::new();
    let check = broken("ulimit -l 64; setpriv --bounding-set=-net_admin,-ipc_lock", &file);
    drop(busy);
    check("h1/eth1", "speed and duplex", "bad", "ethtool -s eth1 speed 1000 duplex full");
    check("h3/tap1", "speed and duplex", "bad", "half");
    check("h3/tap1", "link", "bad", "no carrier");
    check("h1/eth2 > h2/eth2", "path", "good", "pings pass");
    check("h1/eth2 > h2/eth2", "firewall", "bad", "nft list ruleset");
    check("h1/eth3 > h2/eth3", "firewall", "good", "pass");
    check("h1/eth3 > h2/eth3", "path MTU", "bad", "packets above 1000 octets vanish");
    check("h1/eth3", "full-size frame", "good", "1518 octets arrive");
    check("h1/eth4 > h2/eth4", "path", "bad", "ping -c 3 198.18.14.2");
    check("h1/eth1 > h2/eth1", "path MTU", "good", "pass");
    check("h1", "other load", "doubtful", "top -b -n 1");
    check("h1", "locked memory", "doubtful", "ulimit -l unlimited");
    let largest = std::fs::read_to_string("/proc/sys/net/core/rmem_max").expect("reads");
    if largest.trim().parse::<u64>().is_ok_and(|octets| octets < 8 << 20) {
        check("h1", "receive buffers", "doubtful", "sysctl -w net.core.rmem_max=8388608");
        check("h1", "send buffers", "doubtful", "sysctl -w net.core.wmem_max=8388608");
    }
}

#[test]
fn what_the_doctor_fixed_is_put_back_however_it_ends() {
    let name = "what_the_doctor_fixed_is_put_back";
    let Some(_alone) = alone(name, &["ip"]) else { return };
    let (_cabled, scratch) = (cabled_pair(), Scratch::new("fix"));
    let file = testbed_file(&scratch, &STRAIGHT[..1]);
    ip(&["-n", &space("left"), "link", "set", "eth1", "mtu", "1400"]);
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let mut child = Command::new(switchmark())
            .args(["doctor", "--fix", "--json", "--quiet", "--testbed"])
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("switchmark starts");
        harness::wait_for("the fix", || mtu() == 1500);
        kill(Pid::from_raw(child.id() as i32), signal).expect("it is ours");
        child.wait().expect("it ends");
        harness::wait_for("what was found", || mtu() == 1400);
    }
}

/// Nothing but this program, /proc, and the device that random numbers come from.
#[test]
fn an_empty_root_is_enough() {
    let needed = ["unshare", "mount", "mknod", "chroot"];
    let Some(_alone) = alone("an_empty_root_is_enough", &needed) else { return };
    let scratch = Scratch::new("root");
    // A mount namespace of its own: the root goes with its last process.
    let script = format!(
        "set -e; cd {root}; mount -t tmpfs tmpfs .; cd {root}; mkdir proc dev; cp {program} switchmark; \
         mount -t proc proc proc; mknod -m 666 dev/urandom c 1 9; \
         exec chroot . /switchmark latency --testbed lab:bridge --protocol udp --size 64 -t 100ms \
         --blocks 2 --quiet --json --store /journal.db",
        root = scratch.folder().display(),
        program = switchmark().display(),
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .output()
        .expect("unshare starts");
    let told = String::from_utf8_lossy(&output.stderr);
    // A busy machine may call its own trials invalid: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let document = harness::json(&output);
    assert!(!document["figures"].as_array().expect("figures").is_empty());
}
