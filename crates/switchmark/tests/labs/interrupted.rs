//! Whatever ends a run: nothing stays on the host, what was recorded stays readable, and `--resume`
//! completes it with the earlier trials untouched.
//!
//! Needs root. Only processes that a test started itself are ended, by their id.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use agents::controller::LiveTestbed;
use agents::protocol::{self, Ask, Hello, Message, OffloadChange, Request};

use crate::harness::{self, Scratch, alone, switchmark, wait_for};
use journal::Store;
use lab::Namespace;
use measure::{ByteCount, Nanos};
use netlink::{Netlink, NetlinkError};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trial::{Backend, Gate};
use trial::{Testbed as _, Trial, TrialRecord};

/// A model between two hosts, whose frames cross threads and rings of the run's own process.
const EMULATED: &str =
    concat!("lab:emulated=", env!("CARGO_MANIFEST_DIR"), "/../../profiles/teg-s16g.toml");

/// Trials of each path and size of [`start`].
const BLOCKS: usize = 2;

/// A latency run with many short trials, so that there is always one under way.
fn start(store: &Path, testbed: &str) -> Child {
    Command::new(switchmark())
        .args(["latency", "--testbed", testbed, "--protocol", "udp", "--size", "64,128"])
        .args(["-t", "100ms", "--blocks", &BLOCKS.to_string()])
        .args(["--seed", "5", "--quiet", "--json", "--store"])
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("switchmark starts")
}

fn resume(store: &Path) -> Output {
    Command::new(switchmark())
        .args(["run", "--resume", "latest", "--quiet", "--json", "--store"])
        .arg(store)
        .output()
        .expect("switchmark starts")
}

fn recorded(store: &Path) -> Vec<(Trial, TrialRecord)> {
    let Ok(store) = Store::open(store) else { return Vec::new() };
    let Some(run) = store.runs().ok().and_then(|runs| runs.into_iter().next()) else {
        return Vec::new();
    };
    store.records(&run.id).expect("readable records")
}

/// Waits until so many trials are recorded, and says what the program said where it ended before.
fn wait_for_trials(count: usize, child: &mut Child, store: &Path) {
    wait_for("recorded trials", || {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            let mut told = String::new();
            let stderr = child.stderr.as_mut().expect("piped");
            std::io::Read::read_to_string(stderr, &mut told).expect("readable");
            panic!("it ended with {status} after {} trials: {told}", recorded(store).len());
        }
        recorded(store).len() >= count
    });
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).expect("it is ours");
}

/// Every process whose parent chain starts at `root`, by id.
fn descendants(root: u32) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([root]);
    loop {
        let before = family.len();
        for entry in std::fs::read_dir("/proc").expect("procfs").flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            let parent = after_name.split_whitespace().nth(1).and_then(|p| p.parse().ok());
            if parent.is_some_and(|parent: u32| family.contains(&parent)) {
                family.insert(pid);
            }
        }
        if family.len() == before {
            return family;
        }
    }
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest).trim_start();
    !state.is_empty() && !state.starts_with('Z')
}

/// The network namespaces that any process is in.
fn namespaces() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").expect("procfs").flatten() {
        if let Ok(target) = std::fs::read_link(entry.path().join("ns/net")) {
            found.insert(target.to_string_lossy().into_owned());
        }
    }
    found
}

fn links() -> BTreeSet<String> {
    let text = std::fs::read_to_string("/proc/net/dev").expect("procfs");
    text.lines().filter_map(|l| l.split_once(':')).map(|(name, _)| name.trim().into()).collect()
}

/// Ends a run in the middle by `how`, checks that it left nothing, and completes it.
fn ended_by(how: Signal, testbed: &str, scratch: &Scratch) {
    let store = scratch.path("journal.db");
    let (before_links, before_namespaces) = (links(), namespaces());
    let mut child = start(&store, testbed);
    wait_for_trials(3, &mut child, &store);
    let family = descendants(child.id());
    assert!(family.len() >= 3, "the controller and two agents: {family:?}");
    signal(&child, how);
    child.wait().expect("it ends");
    wait_for("every process to be gone", || !family.iter().any(|pid| alive(*pid)));
    wait_for("every namespace to be gone", || namespaces().is_subset(&before_namespaces));
    assert_eq!(links(), before_links, "links left behind");

    let earlier = recorded(&store);
    assert!(earlier.len() >= 3);
    let output = resume(&store);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let after = recorded(&store);
    assert!(after.len() >= BLOCKS * 2 * 2, "all trials: {}", after.len());
    assert_eq!(after[..earlier.len()], earlier[..], "the earlier trials are untouched");
    let document = harness::json(&output);
    assert!(!document["figures"].as_array().expect("figures").is_empty());
}

#[test]
fn killed_and_resumed() {
    let Some(_alone) = alone("killed_and_resumed", &[]) else { return };
    ended_by(Signal::SIGKILL, "lab:bridge", &Scratch::new("killed"));
}

#[test]
fn killed_between_emulated_ports_and_resumed() {
    let Some(_alone) = alone("killed_between_emulated_ports_and_resumed", &[]) else { return };
    ended_by(Signal::SIGKILL, EMULATED, &Scratch::new("emulated"));
}

#[test]
fn interrupted_and_resumed() {
    let Some(_alone) = alone("interrupted_and_resumed", &[]) else { return };
    ended_by(Signal::SIGINT, "lab:bridge", &Scratch::new("interrupted"));
}

#[test]
fn a_dead_agent_is_a_failed_trial_and_the_run_can_go_on() {
    let name = "a_dead_agent_is_a_failed_trial_and_the_run_can_go_on";
    let Some(_alone) = alone(name, &[]) else { return };
    let scratch = Scratch::new("agent");
    let store = scratch.path("journal.db");
    let mut child = start(&store, "lab:bridge");
    wait_for_trials(2, &mut child, &store);
    let mut agents = descendants(child.id());
    agents.remove(&child.id());
    let victim = *agents.first().expect("an agent");
    kill(Pid::from_raw(victim as i32), Signal::SIGKILL).expect("it is ours");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("hint:") && told.contains("--resume"), "{told}");
    let records = recorded(&store);
    let failed = records.iter().filter(|(_, r)| matches!(r.outcome, trial::Outcome::Failed { .. }));
    assert!(failed.count() <= 1, "at most the trial under way");
    assert!(matches!(resume(&store).status.code(), Some(0 | 3)));
}

/// Exchanges of eight hosts, of which one goes: its agent is ended by its id.
#[test]
fn a_host_that_dies_in_a_fabric_run_leaves_the_others_figures() {
    let Some(_alone) = alone("a_host_that_dies_in_a_fabric_run", &[]) else { return };
    let scratch = Scratch::new("fabric-death");
    let store = scratch.path("journal.db");
    let mut child = Command::new(switchmark())
        .args(["fabric", "--testbed", "lab:bridges,hosts=8,rate=50Mbit", "--nodes", "8"])
        .args(["--arrangement", "neighbours,offset=2", "-l", "16KiB", "--messages", "16KiB"])
        .args(["-t", "200ms", "--blocks", "2", "--seed", "5", "--quiet", "--json"])
        .args(harness::full().then_some("--infer"))
        .arg("--store")
        .arg(&store)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("switchmark starts");
    wait_for_trials(2, &mut child, &store);
    let mut agents = descendants(child.id());
    agents.remove(&child.id());
    assert_eq!(agents.len(), 8, "an agent a host");
    // They were started in the hosts' order, so this is h3's; should ids have begun anew, it is
    // another's.
    let victim = *agents.iter().nth(2).expect("a third");
    kill(Pid::from_raw(victim as i32), Signal::SIGKILL).expect("it is ours");
    let before = recorded(&store).len();
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");

    let records = recorded(&store);
    let reason = |record: &TrialRecord| match &record.outcome {
        trial::Outcome::Failed { reason } => Some(reason.clone()),
        _ => None,
    };
    let failed: Vec<String> = records.iter().filter_map(|(_, r)| reason(r)).collect();
    let death = failed.iter().find(|reason| reason.contains("signal: 9")).expect("it is recorded");
    let dead = death.split('`').nth(1).expect("the host's name").to_owned();
    let of_dead = |flow: &trial::Flow| flow.from.host == dead || flow.to.host == dead;
    let got = |record: &trial::record::FlowRecord| match record {
        trial::record::FlowRecord::Exchange(seen) => seen.forward.octets.0,
        trial::record::FlowRecord::Datagrams(seen) => seen.received.unique,
        _ => 0,
    };
    let (mut others, mut of_gone) = (0, 0);
    for (trial, record) in records.iter().skip(before + 2) {
        for (flow, record) in trial.flows.iter().zip(&record.flows) {
            *if of_dead(flow) { &mut of_gone } else { &mut others } += got(record);
        }
    }
    assert!(others > 0, "the others went on");
    assert_eq!(of_gone, 0, "{dead} is gone");

    let document = harness::json(&output);
    let figures = document["figures"].as_array().expect("figures");
    let groups = figures.iter().find(|f| f["metric"] == "port_groups");
    assert_eq!(groups.is_some(), harness::full(), "as it was asked");
    if let Some(groups) = groups {
        let missing = groups["where"]["ports_missing"].as_array().expect("a list");
        let is_dead = |port: &serde_json::Value| {
            port.as_str().is_some_and(|p| p.starts_with(&format!("{dead}/")))
        };
        assert!(missing.iter().any(is_dead), "{groups}");
    }
    let means = figures
        .iter()
        .filter(|f| f["metric"] == "pair_goodput" && f["where"]["statistic"] == "mean");
    for mean in means {
        assert!(mean["value"].as_f64().is_some_and(|value| value > 0.0), "{mean}");
        assert!(mean["caveats"].to_string().contains("silent-pairs"), "{mean}");
    }
}

#[test]
fn a_controller_that_stands_still_loses_its_agents_and_goes_on_with_others() {
    let name = "a_controller_that_stands_still";
    let Some(_alone) = alone(name, &[]) else { return };
    let scratch = Scratch::new("still");
    let store = scratch.path("journal.db");
    let mut child = start(&store, "lab:bridge");
    wait_for_trials(3, &mut child, &store);
    let mut agents = descendants(child.id());
    agents.remove(&child.id());
    assert_eq!(agents.len(), 2, "{agents:?}");
    // As a laptop that is shut, or a virtual machine that is suspended, beside hosts that are not.
    signal(&child, Signal::SIGSTOP);
    wait_for("the agents to go by themselves", || !agents.iter().any(|pid| alive(*pid)));
    signal(&child, Signal::SIGCONT);
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let records = recorded(&store);
    assert!(records.len() >= BLOCKS * 2 * 2, "all trials: {}", records.len());
    let failed = records.iter().filter(|(_, r)| matches!(r.outcome, trial::Outcome::Failed { .. }));
    assert!(failed.count() <= 2, "the trial under way, and one that found the other agent gone");
}

/// What ends an agent, and how it is done.
type Way<'a> = (&'a str, &'a dyn Fn(&mut Child));

#[test]
fn whatever_ends_an_agent_it_puts_back_what_it_changed() {
    let Some(_alone) = alone("whatever_ends_an_agent", &[]) else { return };
    let testbed = harness::open(&lab::LabDevice::Cable, None);
    let lab = testbed.lab().expect("a lab");
    let features = || lab.netlink("h1", |kernel| kernel.offloads("eth1")).expect("features");
    let found = features();
    assert!(found.any(), "a cable of the kernel's starts with offloads on");
    let ways: [Way<'_>; 3] = [
        ("silence", &|_| {}),
        ("SIGTERM", &|agent| signal(agent, Signal::SIGTERM)),
        ("the end of its stdin", &|agent| drop(agent.stdin.take())),
    ];
    for (way, end) in ways {
        let mut command = Command::new(switchmark());
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut agent = lab.spawn("h1", &mut command).expect("an agent");
        let stdin = agent.stdin.as_mut().expect("piped");
        protocol::write(stdin, &Message::Hello(Hello::ours())).expect("it listens");
        let ask = Ask::Offloads { interfaces: vec!["eth1".into()], change: OffloadChange::Off };
        protocol::write(stdin, &Message::Request(Request { id: 1, ask })).expect("it listens");
        let stdout = agent.stdout.as_mut().expect("piped");
        for _ in 0..2 {
            protocol::read(stdout).expect("protocol").expect("an answer");
        }
        assert!(!features().any(), "off");
        end(&mut agent);
        agent.wait().expect("it ends");
        assert_eq!(features(), found, "after {way}");
    }
}

#[test]
fn a_full_disk_stops_the_run_and_keeps_what_was_recorded() {
    let name = "a_full_disk_stops_the_run_and_keeps_what_was_recorded";
    let Some(_alone) = alone(name, &["unshare", "mount"]) else { return };
    let scratch = Scratch::new("disk");
    // A mount namespace of its own: the small file system goes with its last process.
    let script = format!(
        "mount -t tmpfs -o size=250k tmpfs {folder} && {program} latency --testbed lab:bridge \
         --protocol udp --size 64 -t 50ms --blocks 100 --quiet --store {folder}/journal.db; code=$?; \
         {program} runs --store {folder}/journal.db >&2; exit $code",
        folder = scratch.folder().display(),
        program = switchmark().display(),
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .output()
        .expect("unshare starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error: ") && told.contains("hint: "), "{told}");
}

/// What goes wrong in a trial of the chaos.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Nothing,
    SenderStands,
    ReceiverStands,
    SenderKilled,
    ReceiverEnded,
    CableFlaps,
    SendersQueueIsCut,
    DevicePortIsCut,
    DevicePortIsDown,
    MtuShrinks,
    OtherLoad,
}

const FAULTS: [Fault; 11] = [
    Fault::Nothing,
    Fault::SenderStands,
    Fault::ReceiverStands,
    Fault::SenderKilled,
    Fault::ReceiverEnded,
    Fault::CableFlaps,
    Fault::SendersQueueIsCut,
    Fault::DevicePortIsCut,
    Fault::DevicePortIsDown,
    Fault::MtuShrinks,
    Fault::OtherLoad,
];

/// SplitMix64 (Steele et al., 2014).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn queue(rate: &str) -> netlink::TokenBucket {
    let rate = rate.parse().expect("a rate");
    netlink::TokenBucket {
        rate,
        burst: ByteCount(100_000),
        limit: ByteCount(1_000_000),
        overhead: 0,
    }
}

fn set_queue(kernel: &mut Netlink, interface: &str, rate: &str) -> Result<(), NetlinkError> {
    let index = kernel.link(interface)?.index;
    kernel.set_tbf(index, &queue(rate))
}

/// In the namespace of a host, while the trial runs; the second half undoes what lasts.
fn befall(fault: Fault, agents: [u32; 2], spaces: &[Namespace; 2], pause: Duration) {
    let [sender, receiver] = agents.map(|pid| Pid::from_raw(pid as i32));
    let stand = |pid| {
        let _ = kill(pid, Signal::SIGSTOP);
        thread::sleep(pause);
        let _ = kill(pid, Signal::SIGCONT);
    };
    let inside =
        |space: &Namespace, work: &(dyn Fn(&mut Netlink) -> Result<(), NetlinkError> + Sync)| {
            let done = space.enter_with(|| work(&mut Netlink::open()?));
            done.expect("the namespace opens").expect("the kernel does it");
        };
    let mtu = |mtu| {
        inside(&spaces[0], &move |kernel| {
            let index = kernel.link("eth1")?.index;
            kernel.set_mtu(index, mtu)
        });
    };
    match fault {
        Fault::SenderStands => stand(sender),
        Fault::ReceiverStands => stand(receiver),
        Fault::SenderKilled => drop(kill(sender, Signal::SIGKILL)),
        Fault::ReceiverEnded => drop(kill(receiver, Signal::SIGTERM)),
        Fault::CableFlaps => {
            inside(&spaces[1], &|kernel| {
                let index = kernel.link("eth1")?.index;
                kernel.set_down(index)
            });
            thread::sleep(pause);
            inside(&spaces[1], &|kernel| {
                let index = kernel.link("eth1")?.index;
                kernel.set_up(index)
            });
        }
        Fault::SendersQueueIsCut => {
            inside(&spaces[0], &|kernel| set_queue(kernel, "eth1", "8kbit"));
            thread::sleep(pause);
            inside(&spaces[0], &|kernel| set_queue(kernel, "eth1", "10Gbit"));
        }
        Fault::MtuShrinks => {
            mtu(400);
            thread::sleep(pause);
            mtu(9000);
        }
        Fault::OtherLoad => {
            let until = std::time::Instant::now() + pause;
            let spin = || while std::time::Instant::now() < until {};
            thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(spin))));
        }
        Fault::Nothing | Fault::DevicePortIsCut | Fault::DevicePortIsDown => {}
    }
}

/// What the bridge's kernel counted: frames in from the sender's cable, frames out to the
/// receiver's.
fn truth(testbed: &LiveTestbed) -> (u64, u64) {
    let lab = testbed.lab().expect("a lab");
    let read = |port: &'static str| lab.netlink("bridge", move |kernel| kernel.link(port));
    let [first, second] = ["p1", "p2"].map(|port| read(port).expect("a port").stats);
    (first.rx_packets, second.tx_packets)
}

/// Frames that wait at the sender's cable and at the bridge.
fn waiting(testbed: &LiveTestbed) -> u32 {
    let lab = testbed.lab().expect("a lab");
    let of = |node| lab.netlink(node, Netlink::qdiscs).expect("queues");
    ["h1", "bridge"].into_iter().flat_map(of).map(|queue| queue.stats.qlen).sum()
}

/// Learning frames and address resolution are the kernel's to count, and no part of a record.
const BESIDE: u64 = 60;

/// How a trial's record came out; panics where a valid one tells what the kernel did not see.
fn hold(record: &TrialRecord, (before, after): ((u64, u64), (u64, u64))) -> &'static str {
    match &record.outcome {
        trial::Outcome::Failed { .. } => return "failed",
        trial::Outcome::Invalid { .. } => return "invalid",
        trial::Outcome::Valid => {}
    }
    let seen = harness::datagrams_of(record);
    let (came, went) = (after.0 - before.0, after.1 - before.1);
    let told = (seen.sent, seen.received.unique);
    let near = |told: u64, counted: u64| (told..=told + BESIDE).contains(&counted);
    assert!(near(told.0, came), "{told:?}, and the bridge took {came}: {:?}", record.ports);
    assert!(near(told.1, went), "{told:?}, and the bridge gave {went}: {:?}", record.ports);
    "right"
}

/// One trial and what befalls it: how its record came out, and the agents that it had.
fn one_trial(
    testbed: &mut LiveTestbed,
    fault: Fault,
    (at, pause): (u64, u64),
) -> (&'static str, [u32; 2]) {
    let pairs = testbed.topology().measured_pairs();
    let load = harness::datagrams(512, harness::paced(2000.0), Backend::Udp);
    let trial = harness::trial(&pairs[0], load, Nanos::from_millis(150), Gate::Strict);
    let pids = testbed.agents();
    let agents = ["h1", "h2"].map(|host| pids[host]);
    let spaces = agents.map(|pid| Namespace::of_process(pid).expect("a namespace"));
    let before_fault = truth(testbed);
    let lab = testbed.lab().expect("a lab");
    let cut = |rate: &str| lab.netlink("bridge", |kernel| set_queue(kernel, "p2", rate));
    match fault {
        Fault::DevicePortIsCut => cut("8kbit").expect("a queue"),
        Fault::DevicePortIsDown => lab.set_link("bridge", "p2", false).expect("down"),
        _ => {}
    }
    let accident = thread::spawn(move || {
        thread::sleep(Duration::from_millis(at));
        befall(fault, agents, &spaces, Duration::from_millis(pause));
    });
    let ended = testbed.run(&trial);
    // Before what still waits is let go: a frame that comes after the receiver closed is a lost
    // one.
    let counted = (before_fault, truth(testbed));
    accident.join().expect("it befalls");
    let lab = testbed.lab().expect("a lab");
    match fault {
        Fault::DevicePortIsCut => {
            let rate = "10Gbit";
            lab.netlink("bridge", |kernel| set_queue(kernel, "p2", rate)).expect("a queue");
        }
        Fault::DevicePortIsDown => lab.set_link("bridge", "p2", true).expect("up"),
        _ => {}
    }
    // What still waits would be counted with the next trial's.
    wait_for("queues to be empty", || waiting(testbed) == 0);
    match ended {
        Ok(record) => (hold(&record, counted), agents),
        Err(error) => panic!("after {fault:?}: {error}"),
    }
}

/// The receiver's cable is down from before the load until its middle at least.
#[test]
fn a_cable_that_flaps_spoils_its_trial() {
    let Some(_alone) = alone("a_cable_that_flaps_spoils_its_trial", &[]) else { return };
    let mut testbed = harness::open(&lab::LabDevice::Bridge, None);
    let (told, _) = one_trial(&mut testbed, Fault::CableFlaps, (100, 300));
    assert_eq!(told, "invalid");
    // The next one is held against the device's counters, too.
    println!("after it: {}", one_trial(&mut testbed, Fault::Nothing, (0, 0)).0);
}

#[test]
fn whatever_goes_wrong_a_valid_record_is_right_and_nothing_is_left() {
    let Some(_alone) = alone("whatever_goes_wrong", &[]) else { return };
    let seed = 20_261_122;
    let count = if harness::full() { 200 } else { 8 };
    println!("{count} faults, seed {seed}");
    let (before_links, before_namespaces) = (links(), namespaces());
    let mut state = seed;
    let mut table: BTreeMap<Fault, BTreeMap<&str, u32>> = BTreeMap::new();
    let mut testbed = harness::open(&lab::LabDevice::Bridge, None);
    let mut family = descendants(std::process::id());
    for number in 0..count {
        let any = FAULTS[(draw(&mut state) % FAULTS.len() as u64) as usize];
        let fault = if number == 0 { Fault::Nothing } else { any };
        let times = (draw(&mut state) % 400, 20 + draw(&mut state) % 300);
        let (told, agents) = one_trial(&mut testbed, fault, times);
        let lost = matches!(fault, Fault::SenderKilled | Fault::ReceiverEnded);
        *table.entry(fault).or_default().entry(told).or_default() += 1;
        if lost {
            // Who ended an agent on purpose gets no other: the run ends, and is resumed.
            drop(testbed);
            wait_for("the agents to go", || !agents.iter().any(|pid| alive(*pid)));
            testbed = harness::open(&lab::LabDevice::Bridge, None);
            family.extend(descendants(std::process::id()));
        }
    }
    family.extend(descendants(std::process::id()));
    drop(testbed);
    family.remove(&std::process::id());
    for (fault, outcomes) in &table {
        println!("{fault:?}: {outcomes:?}");
    }
    wait_for("every process to be gone", || !family.iter().any(|pid| alive(*pid)));
    wait_for("every namespace to be gone", || namespaces().is_subset(&before_namespaces));
    assert_eq!(links(), before_links, "links left behind");
    let right = table.get(&Fault::Nothing).and_then(|outcomes| outcomes.get("right"));
    assert!(right.is_some() || !harness::full(), "without a fault a quiet machine is right");
}
