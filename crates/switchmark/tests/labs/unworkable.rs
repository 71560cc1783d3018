//! Testbeds that cannot work: each is refused before the first trial, or its fault is named, with
//! the place in its file and the one command that mends it.
//!
//! Needs root and iproute2: the hosts are namespaces, and what is broken is broken with `ip`, `tc`,
//! `nft`. Two hosts on a bridge, and a direct cable between them.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::spaces::{Spaces, cable, ip, space};
use crate::harness::{Scratch, alone, find, full, switchmark};

/// What is broken, and how that has to be told.
struct Fault {
    /// For people who read the test's output.
    name: &'static str,
    /// Shell lines; `{L}`, `{R}` and `{M}` are the namespaces of the hosts and of the bridge.
    lines: &'static str,
    /// A part of the file's text, and what stands there instead.
    file: (&'static str, &'static str),
    /// All of it is said.
    says: &'static [&'static str],
}

const fn broken(name: &'static str, lines: &'static str, says: &'static [&'static str]) -> Fault {
    Fault { name, lines, file: ("", ""), says }
}

const fn written(
    name: &'static str,
    file: (&'static str, &'static str),
    says: &'static [&'static str],
) -> Fault {
    Fault { name, lines: "true", file, says }
}

const AT_ONCE: usize = 4;

/// Those that are tried every time come first.
const FAULTS: &[Fault] = &[
    written(
        "no such port",
        ("\"eth1\"", "\"eno9\""),
        &["testbed.toml:6", "no interface `eno9`", "ip link show"],
    ),
    broken(
        "no address",
        "ip -n {R} address flush dev eth1",
        &["h2/eth1", "198.18.1.2 is not there", "ip address add 198.18.1.2/24 dev eth1"],
    ),
    broken(
        "a port is down",
        "ip -n {L} link set eth1 down",
        &["h1/eth1", "is down", "ip link set dev eth1 up"],
    ),
    broken(
        "crossed cables",
        "ip -n {L} link set eth1 name tmp; ip -n {L} link set eth2 name eth1; ip -n {L} link set tmp name eth2; ip -n {L} address flush dev eth1; ip -n {L} address flush dev eth2; ip -n {L} address add 198.18.1.1/24 dev eth1; ip -n {L} address add 198.18.2.1/24 dev eth2; ip -n {L} link set eth1 up; ip -n {L} link set eth2 up",
        &["h1/eth2: cable", "its frames arrive at", "move the cable"],
    ),
    broken(
        "an address twice",
        "ip -n {M} address add 198.18.1.1/24 dev sw",
        &["h1/eth1: duplicate address", "198.18.1.1 is also that of", "ip address del 198.18.1.1"],
    ),
    broken(
        "UDP dropped",
        "ip netns exec {R} nft 'add table ip t; add chain ip t i { type filter hook input priority 0; }; add rule ip t i ip protocol udp drop'",
        &["firewall", "UDP datagrams to a free port do not pass", "nft list ruleset"],
    ),
    broken(
        "everything dropped",
        "ip netns exec {R} nft 'add table ip t; add chain ip t i { type filter hook input priority 0; policy drop; }'",
        &["h1/eth1 > h2/eth1: path", "pings do not pass", "ping -c 3 198.18.1.2"],
    ),
    broken(
        "an MTU that is short",
        "ip -n {R} link set eth1 mtu 1400",
        &["h2/eth1: MTU", "1400, and 1500 at the far end", "ip link set dev eth1 mtu 1500"],
    ),
    written(
        "not that speed",
        ("cable = \"sw1/1\"", "cable = \"sw1/1\"\nrate = \"25Gbit\""),
        &[
            "h1/eth1: speed and duplex",
            "the testbed file says 25000 Mbit/s",
            "ethtool -s eth1 speed 25000",
        ],
    ),
    written("no such namespace", ("netns:{R}", "netns:smt-nobody"), &["smt-nobody", "hint: "]),
    // From here on in full.
    written(
        "no such port, the other host",
        (
            "cable = \"sw1/2\"\n[[host.port]]\nname = \"eth2\"",
            "cable = \"sw1/2\"\n[[host.port]]\nname = \"p7\"",
        ),
        &["no port `eth2`", "write cable = \"h2/p7\""],
    ),
    broken(
        "no address at the direct cable",
        "ip -n {L} address flush dev eth2",
        &["h1/eth2", "198.18.2.1 is not there"],
    ),
    broken(
        "both without addresses",
        "ip -n {L} address flush dev eth1; ip -n {R} address flush dev eth1",
        &["h1/eth1", "also: h2/eth1", "ip address add"],
    ),
    broken("the other port is down", "ip -n {R} link set eth1 down", &["h2/eth1", "is down"]),
    broken(
        "the direct cable is down",
        "ip -n {R} link set eth2 down",
        &["h2/eth2", "is down", "no carrier"],
    ),
    broken(
        "no carrier",
        "ip -n {M} link set p1 down",
        &["h1/eth1: link", "no carrier", "plug the cable in"],
    ),
    broken("a dead switch", "ip -n {M} link set sw down", &["path", "pings do not pass"]),
    broken(
        "a port outside the switch",
        "ip -n {M} link set p2 nomaster",
        &["path", "pings do not pass", "ping -c 3"],
    ),
    broken(
        "all on one switch",
        "ip -n {L} link del eth2; ip -n {M} link add p3 type veth peer name eth2 netns {L}; ip -n {M} link add p4 type veth peer name eth2 netns {R}; ip -n {M} link set p3 master sw up; ip -n {M} link set p4 master sw up; for n in 1:{L} 2:{R}; do ip -n ${n#*:} address add 198.18.2.${n%:*}/24 dev eth2; ip -n ${n#*:} link set eth2 up; done",
        &["cable", "its frames arrive at"],
    ),
    broken(
        "another address",
        "ip -n {R} address flush dev eth1; ip -n {R} address add 198.18.1.77/24 dev eth1",
        &["h2/eth1: address", "198.18.1.2 is not there; the interface has: 198.18.1.77"],
    ),
    broken(
        "an address at the wrong port",
        "ip -n {R} address flush dev eth1; ip -n {R} address add 198.18.1.2/24 dev lo",
        &["h2/eth1: address", "is not there"],
    ),
    broken(
        "the same MTU trouble at the first host",
        "ip -n {L} link set eth1 mtu 1280",
        &["h1/eth1: MTU", "1280"],
    ),
    broken(
        "an MTU that is short in the middle",
        "ip -n {M} link set p1 mtu 1400; ip -n {M} link set p2 mtu 1400",
        &["full-size frame", "frames of 1518 octets do not arrive"],
    ),
    broken("the direct cable's MTU", "ip -n {L} link set eth2 mtu 1000", &["h1/eth2: MTU", "1000"]),
    broken(
        "TCP and UDP dropped on the way out",
        "ip netns exec {R} nft 'add table ip t; add chain ip t o { type filter hook output priority 0; }; add rule ip t o ip protocol udp drop'",
        &["firewall", "do not pass"],
    ),
    broken(
        "UDP dropped at the first host",
        "ip netns exec {L} nft 'add table ip t; add chain ip t i { type filter hook input priority 0; }; add rule ip t i ip protocol udp drop'",
        &["firewall", "do not pass"],
    ),
    broken(
        "the direct cable's address twice",
        "ip -n {L} address add 198.18.2.2/24 dev eth2 nodad",
        &["198.18.2.2"],
    ),
    broken(
        "an address twice at the second host",
        "ip -n {M} address add 198.18.1.2/24 dev sw",
        &["h2/eth1: duplicate address", "198.18.1.2 is also that of"],
    ),
    broken("no ARP", "ip -n {R} link set eth1 arp off", &["path", "do not pass"]),
    broken(
        "a wrong neighbour",
        "ip -n {L} neighbour replace 198.18.1.2 lladdr 02:00:00:00:00:99 dev eth1",
        &["path", "do not pass"],
    ),
    broken(
        "a route that leads nowhere",
        "ip -n {R} route add blackhole 198.18.1.1/32",
        &["path", "do not pass"],
    ),
    broken(
        "a route by another port",
        "ip -n {L} route add 198.18.1.2/32 dev eth2",
        &["path", "leaves by `eth2`", "ip route get 198.18.1.2"],
    ),
    broken(
        "a prefix that is too long",
        "ip -n {L} address flush dev eth1; ip -n {L} address add 198.18.1.1/32 dev eth1",
        &["path", "do not pass"],
    ),
    broken(
        "a switch that loses everything",
        "ip netns exec {M} tc qdisc add dev p2 root tbf rate 8bit burst 1b limit 1b",
        &["do not pass"],
    ),
    written(
        "no such host",
        ("netns:{L}", "ssh://nobody@127.0.0.1:9"),
        &["reach host `h1`", "hint: "],
    ),
    written("no such process", ("netns:{R}", "pid:4194303"), &["h2", "hint: "]),
    written("no cluster", ("netns:{R}", "srun:nowhere"), &["srun", "hint: "]),
    written(
        "an address that is nobody's",
        ("198.18.1.1/24", "198.18.1.9/24"),
        &["h1/eth1: address", "198.18.1.9 is not there"],
    ),
    written(
        "an address at two ports",
        ("198.18.1.2/24", "198.18.1.1/24"),
        &["already that of h1/eth1", "hint: "],
    ),
    written("a cable with one end", ("\"h1/eth2\"", "\"sw1/4\""), &["h1/eth2", "hint: "]),
];

const FILE: &str = r#"
[[host]]
name = "h1"
reach = "netns:{L}"
[[host.port]]
name = "eth1"
address = "198.18.1.1/24"
cable = "sw1/1"
[[host.port]]
name = "eth2"
address = "198.18.2.1/24"
cable = "h2/eth2"

[[host]]
name = "h2"
reach = "netns:{R}"
[[host.port]]
name = "eth1"
address = "198.18.1.2/24"
cable = "sw1/2"
[[host.port]]
name = "eth2"
address = "198.18.2.2/24"
cable = "h1/eth2"

[[device]]
name = "sw1"
kind = "switch"
"#;

/// One of several beds beside each other: its hosts and its bridge.
#[derive(Debug, Clone, Copy)]
struct Bed(usize);

impl Bed {
    fn name(self, part: &str) -> String {
        format!("{part}{}", self.0)
    }

    /// `{L}` and so on as the namespaces are called on this machine.
    fn named(self, text: &str) -> String {
        let names = [("{L}", "left"), ("{R}", "right"), ("{M}", "middle")];
        names.iter().fold(text.to_owned(), |text, (mark, part)| {
            text.replace(mark, &space(&self.name(part)))
        })
    }

    fn sound(self) -> Spaces {
        let [left, right, middle] = ["left", "right", "middle"].map(|part| self.name(part));
        let spaces = Spaces::new(&[&left, &right, &middle]);
        let middle = space(&middle);
        ip(&["-n", &middle, "link", "add", "sw", "type", "bridge"]);
        ip(&["-n", &middle, "link", "set", "sw", "up"]);
        for (host, port, last) in [(&left, "p1", "1"), (&right, "p2", "2")] {
            let host = space(host);
            let far = ["type", "veth", "peer", "name", "eth1", "netns", &host];
            ip(&[&["-n", &middle, "link", "add", port][..], &far].concat());
            ip(&["-n", &middle, "link", "set", port, "master", "sw", "up"]);
            ip(&["-n", &host, "address", "add", &format!("198.18.1.{last}/24"), "dev", "eth1"]);
            ip(&["-n", &host, "link", "set", "eth1", "up"]);
        }
        cable((&left, "eth2", "198.18.2.1/24"), (&right, "eth2", "198.18.2.2/24"));
        spaces
    }

    /// Whether the program names it.
    fn is_told(self, fault: &Fault) -> bool {
        let (_spaces, scratch) = (self.sound(), Scratch::new(&self.name("unworkable")));
        let (from, to) = fault.file;
        assert!(FILE.contains(from), "{}", fault.name);
        let text = if from.is_empty() { FILE.to_owned() } else { FILE.replacen(from, to, 1) };
        std::fs::write(scratch.path("testbed.toml"), self.named(&text)).expect("writes");
        let sh = find("sh").expect("there is a shell");
        let lines = self.named(fault.lines);
        let done = Command::new(sh).args(["-e", "-c", &lines]).status();
        assert!(done.expect("a shell").success(), "{}: {lines}", fault.name);
        let output = latency(&scratch);
        let told = String::from_utf8_lossy(&output.stderr);
        println!("{}: {:?}\n{told}", fault.name, output.status.code());
        fault.says.iter().all(|words| told.contains(words))
    }
}

fn latency(scratch: &Scratch) -> Output {
    Command::new(switchmark())
        .args(["latency", "--blocks", "2", "--size", "64", "-t", "0.1", "--testbed"])
        .args([scratch.path("testbed.toml"), "--store".into(), scratch.path("journal.db")])
        .output()
        .expect("switchmark starts")
}

/// The program mostly waits for what does not come, so several are tried at once.
#[test]
fn what_can_not_work_is_told_before_it_is_tried() {
    let needed = ["ip", "nft", "tc"];
    let Some(_alone) = alone("what_can_not_work_is_told", &needed) else { return };
    let count = if full() { FAULTS.len() } else { 10 };
    let next = AtomicUsize::new(0);
    let some = || {
        let mut missed = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(fault) = FAULTS[..count].get(at)
        {
            if !Bed(at).is_told(fault) {
                missed.push(fault.name);
            }
        }
        missed
    };
    let missed: Vec<&str> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    assert!(missed.is_empty(), "not named: {missed:?}");
}

/// Nothing is said of a testbed that works.
#[test]
fn what_works_is_not_doubted() {
    let Some(_alone) = alone("what_works_is_not_doubted", &["ip"]) else { return };
    let (bed, scratch) = (Bed(0), Scratch::new("workable"));
    let _spaces = bed.sound();
    std::fs::write(scratch.path("testbed.toml"), bed.named(FILE)).expect("writes");
    let output = latency(&scratch);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(!told.contains("warning"), "{told}");
}
