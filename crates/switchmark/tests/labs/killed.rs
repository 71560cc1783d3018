//! Kill -9 at random moments of controllers and agents, and a user who changes files, links and
//! settings before the next run or `doctor --restore`: nothing of the user's is lost, and
//! everything of ours is put back or named.
//!
//! Needs root, iproute2 and fio. Ends only processes that the test started itself, by their id.
//! `SWITCHMARK_TESTS=full` has 300 kills.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use lab::Namespace;
use netlink::{Netlink, PreviousFeatures};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::books::{UNNAMED, Wires};
use crate::harness::spaces::{agents, ip, space};
use crate::harness::{Scratch, alone, find, full, switchmark};

/// An agent without its controller needs less to put things back and go.
const SETTLED: Duration = Duration::from_millis(2500);
/// What the user has written.
const PRECIOUS: &[u8] = b"the user's own words\n";

/// What is under way when somebody kills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Latency,
    Forwarding,
    Storage,
    Failover,
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Controller,
    OneAgent,
    Agents,
    All,
}

/// What the user does afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Nothing,
    /// The storage's file is another one of that name.
    FileReplaced,
    /// The same, of the same length.
    FileReplacedAlike,
    /// Its octets are the user's, in the same inode and of the same length.
    FileOverwritten,
    /// It is longer by the user's words.
    FileAppended,
    FileRemoved,
    /// A port has another MTU.
    Mtu,
    /// A port was down and is up again.
    Flap,
    /// A feature that no run touches is otherwise.
    Feature,
    /// A port of that name is another one, whose offloads the user turned off.
    LinkReplaced,
    /// The user plugged the link in that a deed had pulled.
    Plugged,
}

const WORKS: [Work; 4] = [Work::Latency, Work::Storage, Work::Failover, Work::Forwarding];
const VICTIMS: [Victim; 4] = [Victim::Controller, Victim::All, Victim::OneAgent, Victim::Agents];
const CHANGES: [Change; 11] = [
    Change::Nothing,
    Change::FileReplaced,
    Change::LinkReplaced,
    Change::FileOverwritten,
    Change::Mtu,
    Change::FileReplacedAlike,
    Change::Feature,
    Change::FileAppended,
    Change::Plugged,
    Change::FileRemoved,
    Change::Flap,
];
/// Which the user turns off at a port that is new.
const OWN_WISH: &str = "tx-tcp-segmentation";
/// Which no run touches.
const UNTOUCHED: &str = "tx-vlan-hw-insert";

type Features = BTreeMap<String, bool>;

/// Two hosts at a switch, made anew for each kill.
struct Rack {
    scratch: Scratch,
    wires: Wires,
}

impl Rack {
    fn new() -> Self {
        let scratch = Scratch::new("killed");
        let set = |state: &str| format!("ip -n {} link set swp2 {state}", space("switch"));
        let deed = format!(
            "{UNNAMED}[[device.deed]]\nname = \"pull\"\nrun = \"{}\"\nundo = \"{}\"\n",
            set("down"),
            set("up")
        );
        let wires = Wires::new(&scratch, &deed, false);
        let job = format!(
            "[global]\nioengine=psync\nsize=1m\nbs=4k\nrw=randwrite\n[job]\nfilename={}\n",
            scratch.path("made.img").display()
        );
        fs::write(scratch.path("job.fio"), job).expect("writes");
        Self { scratch, wires }
    }

    fn switchmark(&self, line: &str) -> Command {
        let mut command = Command::new(switchmark());
        command.args(line.split(' ')).current_dir(self.scratch.folder());
        command.env("XDG_STATE_HOME", self.scratch.path("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn start(&self, work: Work) -> Child {
        let line = match work {
            Work::Latency => "latency --protocol udp --size 64 -t 50ms --blocks 200",
            Work::Forwarding => "forwarding --flood --size 64 -t 200ms --blocks 50",
            Work::Storage => "storage --fio job.fio -t 300ms --blocks 50",
            Work::Failover => {
                "failover --deed pull --flows 1 --blocks 20 --before 50ms --away 1s --after 50ms"
            }
        };
        let file = self.wires.file.display();
        let line = format!("{line} --quiet --json --journal j.db --testbed {file}");
        self.switchmark(&line).spawn().expect("it starts")
    }

    fn call(&self, line: &str) -> Output {
        let mut command = self.switchmark(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it starts")
    }

    fn made(&self) -> Option<Vec<u8>> {
        fs::read(self.scratch.path("made.img")).ok()
    }
}

fn features(host: &str) -> Features {
    let look = || Netlink::open().and_then(|mut kernel| kernel.features("eth1"));
    inside(host).enter_with(look).expect("entered").expect("a port")
}

fn is_down() -> bool {
    !shown("switch", "swp2").contains(",UP")
}

fn inside(host: &str) -> Namespace {
    Namespace::named(&space(host)).expect("a namespace")
}

fn shown(name: &str, port: &str) -> String {
    let ip = find("ip").expect("looked for before");
    let output = Command::new(ip).args(["-n", &space(name), "link", "show", port]).output();
    String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned()
}

fn turn(host: &str, feature: &str, on: bool) {
    let changed = vec![(feature.to_owned(), on)];
    let previous = PreviousFeatures { changed, left_on: Vec::new() };
    let set = || Netlink::open().and_then(|mut kernel| kernel.restore("eth1", &previous));
    inside(host).enter_with(set).expect("entered").expect("it can be set");
}

fn end(pid: u32) {
    // One that ended by itself needs nothing.
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
}

fn kill_some(victim: Victim, run: &mut Child) {
    let hosts = || ["h1", "h2"].into_iter().flat_map(agents);
    match victim {
        Victim::Controller => end(run.id()),
        Victim::OneAgent => hosts().take(1).for_each(end),
        Victim::Agents => hosts().for_each(end),
        Victim::All => {
            let all: Vec<u32> = hosts().collect();
            all.into_iter().chain([run.id()]).for_each(end);
        }
    }
    // What is left of the run, the user ends.
    if matches!(victim, Victim::OneAgent | Victim::Agents) {
        let _ = kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGINT);
    }
    let _ = run.wait();
    thread::sleep(SETTLED);
}

/// False where there is nothing that could be changed so.
fn change(rack: &Rack, change: Change) -> bool {
    let file = rack.scratch.path("made.img");
    let made = rack.made();
    let own = |octets: &[u8]| fs::write(&file, octets).expect("the user may");
    let long = |length: usize| PRECIOUS.iter().copied().cycle().take(length).collect::<Vec<u8>>();
    match change {
        Change::Nothing => {}
        Change::FileReplaced | Change::FileReplacedAlike => {
            let _ = fs::remove_file(&file);
            let alike = change == Change::FileReplacedAlike;
            own(&long(made.filter(|_| alike).map_or(PRECIOUS.len(), |made| made.len())));
        }
        Change::FileOverwritten | Change::FileAppended | Change::FileRemoved => {
            let Some(made) = made else { return false };
            match change {
                Change::FileOverwritten => {
                    let opened = fs::OpenOptions::new().write(true).open(&file);
                    opened.expect("it is there").write_all(&long(made.len())).expect("room");
                }
                Change::FileAppended => own(&[&made[..], PRECIOUS].concat()),
                _ => fs::remove_file(&file).expect("it is there"),
            }
        }
        Change::Mtu => ip(&["-n", &space("h1"), "link", "set", "eth1", "mtu", "1400"]),
        Change::Flap => {
            for state in ["down", "up"] {
                ip(&["-n", &space("h2"), "link", "set", "eth1", state]);
            }
        }
        Change::Feature => {
            let Some(now) = features("h1").get(UNTOUCHED).copied() else { return false };
            turn("h1", UNTOUCHED, !now);
        }
        Change::LinkReplaced => {
            let (h1, cable) = (space("h1"), space("cable"));
            ip(&["-n", &h1, "link", "delete", "eth1"]);
            let peer = ["type", "veth", "peer", "name", "left", "netns", &cable];
            ip(&[&["link", "add", "eth1", "netns", &h1][..], &peer].concat());
            ip(&["-n", &cable, "link", "set", "left", "master", "br0", "up"]);
            ip(&["-n", &h1, "address", "add", "198.18.5.1/24", "dev", "eth1"]);
            ip(&["-n", &h1, "link", "set", "eth1", "up"]);
            turn("h1", OWN_WISH, false);
        }
        Change::Plugged => ip(&["-n", &space("switch"), "link", "set", "swp2", "up"]),
    }
    true
}

/// What is to be of everything once it was put back.
fn check(rack: &Rack, (found, before, done): (&Features, &Rest, Change), said: &str) {
    let of_file = matches!(
        done,
        Change::FileReplaced
            | Change::FileReplacedAlike
            | Change::FileOverwritten
            | Change::FileAppended
    );
    let path = rack.scratch.path("made.img").display().to_string();
    if of_file {
        assert_eq!(rack.made(), before.file, "the user's file: {said}");
    } else {
        let is_named = said.contains(&path);
        assert!(rack.made().is_none() || is_named, "ours, put back or named: {said}");
    }
    assert!(!is_down(), "the deed is undone: {said}");
    assert_eq!(shown("h1", "eth1").contains("mtu 1400"), done == Change::Mtu, "{said}");
    let differences: Vec<(&String, &bool)> =
        found.iter().filter(|(name, on)| features("h1").get(*name) != Some(on)).collect();
    match done {
        Change::Feature => assert_eq!(differences.len(), 1, "the user's wish alone: {said}"),
        Change::LinkReplaced => {
            let now = features("h1");
            assert_eq!(now, before.features, "a new port is as the user made it: {said}");
        }
        _ => assert_eq!(differences, [], "h1: {said}"),
    }
    assert_eq!(features("h2"), *found, "h2: {said}");
}

/// The user's own, before anything is put back.
struct Rest {
    file: Option<Vec<u8>>,
    features: Features,
}

#[test]
fn whoever_is_killed_the_users_things_stay_and_ours_are_put_back_or_named() {
    const TEST: &str = "kill -9, and a user who changes things";
    let Some(_alone) = alone(TEST, &["ip", "fio"]) else { return };
    let seed = 20_261_126;
    let mut rng = Pcg64::seed_from_u64(seed);
    let (kills, latest) = if full() { (300, 6_000) } else { (CHANGES.len(), 4_000) };
    let mut table: BTreeMap<Change, [u32; 3]> = BTreeMap::new();
    for number in 0..kills {
        let rack = Rack::new();
        let found = features("h1");
        // Each change after each work and each victim, in turn; files are changed after storage.
        let done = CHANGES[number % CHANGES.len()];
        let work = match done {
            _ if format!("{done:?}").starts_with("File") => Work::Storage,
            Change::Plugged => Work::Failover,
            _ => *WORKS.choose(&mut rng).expect("some"),
        };
        let victim = VICTIMS[number / CHANGES.len() % VICTIMS.len()];
        let victim = if full() { victim } else { *VICTIMS.choose(&mut rng).expect("some") };
        let mut run = rack.start(work);
        thread::sleep(Duration::from_millis(rng.random_range(500..latest)));
        kill_some(victim, &mut run);
        let left = u32::from(features("h1") != found || rack.made().is_some());
        let deed = u32::from(is_down());
        let changed = change(&rack, done);
        let before = Rest { file: rack.made(), features: features("h1") };
        let file = rack.wires.file.display();
        let mut said = format!("seed {seed}, kill {number}: {work:?}, {victim:?}, {done:?}\n");
        let next = if rng.random_bool(0.5) {
            format!("doctor --restore --testbed {file}")
        } else {
            format!(
                "latency --protocol udp --size 64 -t 50ms --blocks 1 --journal k.db --testbed {file}"
            )
        };
        let output = rack.call(&next);
        said += &String::from_utf8_lossy(&[output.stdout, output.stderr].concat());
        // A run that is refused touches no host: the user does what its hint says.
        if said.contains("`pull` done to it") {
            let output = rack.call(&format!("doctor --restore --testbed {file}"));
            said += &String::from_utf8_lossy(&[output.stdout, output.stderr].concat());
        }
        let done = if changed { done } else { Change::Nothing };
        check(&rack, (&found, &before, done), &said);
        let counted = table.entry(done).or_default();
        *counted = [counted[0] + 1, counted[1] + left, counted[2] + deed];
    }
    for (done, [kills, left, deeds]) in &table {
        println!("{done:?}: {kills} kills, {left} left something on hosts, {deeds} a link down");
    }
}
