//! The controller against real agents in a real lab: every kind of flow, and every kind of
//! accident.
//!
//! Each test needs the right to build a lab and says `skipped` without it. Traffic stays in
//! namespaces made here; only one test runs at a time, because labs on one machine disturb each
//! other.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use agents::controller::{LiveTestbed, Stop};
use agents::protocol::Feature;

use crate::harness::{self, alone, lab_of, switchmark as program, valid_but_for_pacing};
use lab::LabDevice;
use measure::{ByteCount, FrameRate, FrameSize, Nanos};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use switchmark::config::resolved::{self, Source};
use trial::record::{Defect, FlowRecord};
use trial::topology::{Host, PortRef};
use trial::{
    Backend, Bulk, Carrier, Datagrams, Echo, Exchange, Flow, FlowKind, Gate, Offloads, Protocol,
    Role, Schedule, Trial,
};
use trial::{Outcome, Testbed, TestbedError, TrialRecord};

fn open(device: &LabDevice) -> LiveTestbed {
    harness::open(device, None)
}

fn trial(testbed: &LiveTestbed, kinds: Vec<FlowKind>, load: Nanos) -> Trial {
    let pair = testbed.topology().measured_pairs().remove(0);
    let end = |p: &PortRef| p.clone();
    let flows = kinds.into_iter().zip(1..).map(|(kind, id)| Flow {
        id,
        from: end(&pair.from),
        to: end(&pair.to),
        role: Role::Measured,
        kind,
    });
    Trial::quick("test", flows.collect(), load, Gate::Strict)
}

fn echo(protocol: Protocol) -> FlowKind {
    let frame_size = FrameSize::new(128).unwrap();
    FlowKind::Echo(Echo { protocol, frame_size, schedule: Schedule::Greedy, messages: None })
}

fn datagrams(rate_fps: f64) -> FlowKind {
    FlowKind::Datagrams(Datagrams::plain(
        FrameSize::new(256).unwrap(),
        Schedule::Paced(FrameRate(rate_fps)),
        Backend::Auto,
        64,
    ))
}

fn bulk() -> FlowKind {
    FlowKind::Bulk(Bulk {
        streams: 2,
        congestion_control: "cubic".into(),
        interval: Nanos::from_millis(100),
    })
}

fn exchange(message: u64, carrier: Carrier) -> FlowKind {
    FlowKind::Exchange(Exchange {
        message: ByteCount(message),
        carrier,
        interval: Nanos::from_millis(100),
        collective: None,
    })
}

const LOAD: Nanos = Nanos::from_millis(200);

/// Runs one trial of each kind; the figures must agree with each other.
fn every_kind(device: &LabDevice) {
    let mut testbed = open(device);
    for protocol in [Protocol::Icmp, Protocol::Udp, Protocol::Tcp] {
        let trial = trial(&testbed, vec![echo(protocol)], LOAD);
        let record = testbed.run(&trial).expect("the testbed lives");
        assert_eq!(record.outcome, Outcome::Valid, "{protocol:?} {record:#?}");
        let FlowRecord::Echo(echo) = &record.flows[0] else { panic!("{record:#?}") };
        assert!(echo.sent > 0);
        assert_eq!(echo.answers.unique, echo.rtt.count(), "one round trip for each answer");
        assert!(echo.answers.unique <= echo.sent);
        assert!(echo.answers.unique + 1 >= echo.sent, "{protocol:?}: a cable loses nothing");
        assert_eq!(echo.rejected.foreign, 0);
        check_places(&testbed, &record);
    }
    let kinds = vec![datagrams(2000.0)];
    let trial_of_datagrams = trial(&testbed, kinds, LOAD);
    let record = testbed.run(&trial_of_datagrams).expect("the testbed lives");
    let on_time = valid_but_for_pacing(&record);
    let FlowRecord::Datagrams(flow) = &record.flows[0] else { panic!("{record:#?}") };
    assert!(!on_time || flow.sent.abs_diff(400) <= 1, "0.2 s at 2000 frames/s: {}", flow.sent);
    assert_eq!(flow.received.unique, flow.sent);
    assert_eq!(flow.received.duplicated, 0);
    let port =
        record.ports.iter().find(|p| p.place == trial_of_datagrams.flows[0].from.to_string());
    let left = port.and_then(|p| p.counters.get("tx_packets")).copied().unwrap_or(0);
    assert!(left >= flow.sent, "the kernel counted what the sender counted: {left}");

    let trial_of_bulk = trial(&testbed, vec![bulk()], LOAD);
    let record = testbed.run(&trial_of_bulk).expect("the testbed lives");
    assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
    let FlowRecord::Bulk(bulk) = &record.flows[0] else { panic!("{record:#?}") };
    assert_eq!(bulk.congestion_control, "cubic");
    assert_eq!(bulk.streams.len(), 2);
    let by_interval: u64 = bulk.streams.iter().flat_map(|s| &s.received).map(|b| b.0).sum();
    assert_eq!(by_interval, bulk.received.0, "intervals add up");
    assert!(bulk.received.0 > 0);
    for carrier in [Carrier::Tcp, Carrier::Datagrams { credits: 32 }] {
        for message in [1_000, 65_536] {
            let trial = trial(&testbed, vec![exchange(message, carrier)], LOAD);
            let record = testbed.run(&trial).expect("the testbed lives");
            assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
            check_exchange(&record, message);
        }
    }
}

/// Whole messages only, as many one way as the other, and no more than the ports' own counters saw.
fn check_exchange(record: &TrialRecord, message: u64) {
    let FlowRecord::Exchange(exchange) = &record.flows[0] else { panic!("{record:#?}") };
    let ends = [&exchange.forward, &exchange.backward];
    for end in ends {
        assert!(end.messages > 0);
        assert_eq!(end.octets.0, end.messages * message);
        assert_eq!((end.rounds.count(), end.lost), (end.messages, 0));
        assert_eq!((end.elapsed, end.intervals.len()), (LOAD, 2));
        let seen: u64 = end.intervals.iter().map(|octets| octets.0).sum();
        assert!((end.octets.0..end.octets.0 + message).contains(&seen), "{seen}");
    }
    assert!(ends[0].messages.abs_diff(ends[1].messages) <= 1, "{ends:?}");
    let hosts = record.ports.iter().filter(|p| p.side == trial::record::Side::Tester);
    for port in hosts {
        let received = port.counters.get("rx_bytes").copied().unwrap_or(u64::MAX);
        assert!(received > ends[0].octets.0.min(ends[1].octets.0), "{} {received}", port.place);
    }
}

/// Both ends' ports and, where there is a device, its ports.
fn check_places(testbed: &LiveTestbed, record: &TrialRecord) {
    let places: Vec<&str> = record.ports.iter().map(|p| p.place.as_str()).collect();
    let pair = testbed.topology().measured_pairs().remove(0);
    assert!(places.contains(&pair.from.to_string().as_str()), "{places:?}");
    assert!(places.contains(&pair.to.to_string().as_str()), "{places:?}");
    let devices = record.ports.iter().filter(|p| p.side == trial::record::Side::Device).count();
    assert_eq!(devices > 0, !testbed.topology().devices.is_empty());
    assert_eq!(record.hosts.len(), 2);
}

#[test]
fn every_kind_of_flow_over_a_cable() {
    if let Some(_alone) = alone("every_kind_of_flow_over_a_cable", &[]) {
        every_kind(&LabDevice::Cable);
    }
}

#[test]
fn every_kind_of_flow_over_a_bridge() {
    if let Some(_alone) = alone("every_kind_of_flow_over_a_bridge", &[]) {
        every_kind(&LabDevice::Bridge);
    }
}

#[test]
fn several_flows_at_once() {
    let Some(_alone) = alone("several_flows_at_once", &[]) else { return };
    let mut testbed = open(&LabDevice::Bridge);
    let kinds = vec![echo(Protocol::Udp), datagrams(1000.0)];
    let trial = trial(&testbed, kinds, LOAD);
    let record = testbed.run(&trial).expect("the testbed lives");
    valid_but_for_pacing(&record);
    assert_eq!(record.flows.len(), 2);
    assert!(matches!(record.flows[0], FlowRecord::Echo(_)), "in the trial's order");
    assert!(record.start_spread < trial.phases.load, "{:?}", record.start_spread);
}

/// Does `deed` to the agent of `host` (its process) once the load of `trial` must be under way.
fn with_accident(
    testbed: &mut LiveTestbed,
    trial: &Trial,
    host: &str,
    deed: impl FnOnce(u32) + Send + 'static,
) -> Result<TrialRecord, TestbedError> {
    let pid = testbed.agents()[host];
    let accident = thread::spawn(move || {
        wait(Duration::from_millis(700));
        deed(pid);
    });
    let record = testbed.run(trial);
    accident.join().expect("the accident happens");
    record
}

fn wait(span: Duration) {
    let (_keep, never) = mpsc::channel::<()>();
    let _ = never.recv_timeout(span);
}

fn kill_9(pid: u32) {
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).expect("it lives");
}

const LONG_LOAD: Nanos = Nanos::from_secs(2);

#[test]
fn an_agent_killed_in_a_trial_is_a_failed_record_and_then_a_lost_testbed() {
    let Some(_alone) = alone("an_agent_killed_in_a_trial", &[]) else { return };
    let mut testbed = open(&LabDevice::Cable);
    let trial = trial(&testbed, vec![bulk(), echo(Protocol::Tcp)], LONG_LOAD);
    let record = with_accident(&mut testbed, &trial, "h2", kill_9).expect("a record first");
    let Outcome::Failed { reason } = record.outcome else { panic!("{record:#?}") };
    assert!(reason.contains("`h2`") && reason.contains("signal: 9"), "{reason}");
    let error = testbed.run(&trial).expect_err("the testbed is lost");
    assert!(matches!(error, TestbedError::Lost { .. }), "{error:?}");
}

#[test]
fn a_link_that_goes_down_in_a_trial_is_no_valid_record() {
    let Some(_alone) = alone("a_link_that_goes_down_in_a_trial", &[]) else { return };
    let mut testbed = open(&LabDevice::Bridge);
    let trial = trial(&testbed, vec![datagrams(1000.0)], LONG_LOAD);
    let pull = |pid| {
        let host = lab::Namespace::of_process(pid).expect("the agent's namespace");
        let down = host.enter_with(|| {
            let mut kernel = netlink::Netlink::open()?;
            let index = kernel.link("eth1")?.index;
            kernel.set_down(index)
        });
        down.expect("the namespace opens").expect("the link goes down");
    };
    let record = with_accident(&mut testbed, &trial, "h2", pull).expect("a record");
    let Outcome::Invalid { reasons } = record.outcome else { panic!("{:?}", record.outcome) };
    let flapped =
        reasons.iter().any(|r| matches!(r, Defect::LinkFlap { place } if place == "h2/eth1"));
    assert!(flapped, "{reasons:?}");
    // The agents live: the next trial is tried, and says that nothing arrives.
    let next = self::trial(&testbed, vec![datagrams(1000.0)], LOAD);
    let record = testbed.run(&next).expect("still a testbed");
    assert!(!record.outcome.is_valid(), "{:?}", record.outcome);
}

#[test]
fn a_wish_to_stop_ends_a_trial_at_once() {
    let Some(_alone) = alone("a_wish_to_stop", &[]) else { return };
    let stop = Stop::new();
    let place = lab_of(&LabDevice::Cable, None);
    let mut testbed = LiveTestbed::open_with(&place, stop.clone(), program()).expect("a lab");
    let trial = trial(&testbed, vec![echo(Protocol::Udp)], Nanos::from_secs(3600));
    let ended = with_accident(&mut testbed, &trial, "h1", move |_| stop.ask());
    assert!(matches!(ended, Err(TestbedError::Interrupted)), "{ended:?}");
}

#[test]
fn offloads_are_off_for_a_trial_and_facts_tell_of_both_sides() {
    let Some(_alone) = alone("offloads_are_off_for_a_trial", &[]) else { return };
    let mut testbed = open(&LabDevice::Bridge);
    let facts = testbed.facts().clone();
    assert!(facts.shared_machine);
    let device = &facts.devices["bridge"].ports["p1"];
    assert_eq!(device.offloads["tx-tcp-segmentation"], Feature::Off, "{device:?}");
    let features = |testbed: &LiveTestbed| {
        let lab = testbed.lab().expect("a lab");
        lab.netlink("h1", |kernel| kernel.offloads("eth1")).expect("features")
    };
    let found = features(&testbed);
    let mut trial = trial(&testbed, vec![echo(Protocol::Udp)], LOAD);
    testbed.run(&trial).expect("a record");
    assert!(!features(&testbed).any(), "a frame is a frame");
    trial.offloads = Offloads::AsFound;
    testbed.run(&trial).expect("a record");
    assert_eq!(features(&testbed), found, "put back");
}

/// Hosts that exist already: two named by process, in a lab of the test's own.
fn by_pid(holder: &LiveTestbed, delay: Nanos) -> resolved::Testbed {
    let pids = holder.agents();
    let topology = holder.topology();
    let reach = |host: &Host| resolved::Reach::Pid(pids[&host.name]);
    let hosts = topology.hosts.iter();
    let config = resolved::HostsConfig {
        own_addresses: std::collections::BTreeMap::new(),
        macs: std::collections::BTreeMap::new(),
        becomes: std::collections::BTreeMap::new(),
        reaches: hosts.clone().map(|host| (host.name.clone(), reach(host))).collect(),
        hosts: hosts.map(|host| Host { reach: reach(host).to_string(), ..host.clone() }).collect(),
        devices: Vec::new(),
        hooks: switchmark::config::hooks::Hooks::new(),
        accounts: switchmark::config::accounts::Accounts::new(),
        delay,
        limits: resolved::Limits::default(),
    };
    resolved::Testbed::new("by pid", Source::Hosts(Box::new(config)))
}

#[test]
fn hosts_by_pid_over_a_lab_of_another() {
    let Some(_alone) = alone("hosts_by_pid", &[]) else { return };
    let holder = open(&LabDevice::Cable);
    let place = by_pid(&holder, Nanos::ZERO);
    let mut testbed = LiveTestbed::open_with(&place, Stop::new(), program()).expect("two hosts");
    assert!(testbed.facts().shared_machine, "nobody said so, and both agents told one boot");
    assert!(testbed.topology().shared_machine);
    let trial = trial(&testbed, vec![echo(Protocol::Udp)], LOAD);
    let record = testbed.run(&trial).expect("a record");
    assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
    assert_eq!(record.ports.len(), 2, "no device's: {record:#?}");
}

/// Where the kernel has netem the round trip is longer by it; where it has not, that is said before
/// any trial. Either way nothing is left on the hosts.
#[test]
fn hosts_add_delay_or_say_why_not_and_leave_nothing() {
    let Some(_alone) = alone("hosts_add_delay", &[]) else { return };
    let holder = open(&LabDevice::Cable);
    let delay = Nanos::from_millis(5);
    match LiveTestbed::open_with(&by_pid(&holder, delay), Stop::new(), program()) {
        Ok(mut testbed) => {
            let trial = trial(&testbed, vec![echo(Protocol::Udp)], LOAD);
            let record = testbed.run(&trial).expect("a record");
            let FlowRecord::Echo(echo) = &record.flows[0] else { panic!("{record:#?}") };
            assert!(echo.rtt.min() >= Nanos(9_990_000), "{record:#?}");
        }
        Err(refused) => {
            let words = agents::protocol::describe_error(&refused);
            assert!(words.contains("5ms") && words.contains("sch_netem"), "{words}");
            eprintln!("this kernel lacks netem: its refusal is what was tested: {words}");
        }
    }
    for pid in holder.agents().values() {
        let links = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).expect("its links");
        assert!(!links.contains("swm"), "{links}");
    }
}

/// Says to the test binary that it is the controller of `nothing_outlives_a_killed_controller`.
const CONTROLLER: &str = "SWITCHMARK_TEST_CONTROLLER";

/// Not a test of its own: the process that the next test kills.
#[test]
fn controller_process() {
    if std::env::var_os(CONTROLLER).is_none() {
        return;
    }
    let mut testbed = open(&LabDevice::Bridge);
    let pids: Vec<String> = testbed.agents().values().map(ToString::to_string).collect();
    println!("\nagents {}", pids.join(" "));
    let trial = trial(&testbed, vec![echo(Protocol::Udp), bulk()], Nanos::from_secs(3600));
    let _ = testbed.run(&trial);
}

#[test]
fn nothing_outlives_a_killed_controller() {
    let Some(_alone) = alone("nothing_outlives_a_killed_controller", &[]) else { return };
    let mut controller = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "controller::controller_process", "--nocapture"])
        .env(CONTROLLER, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a controller");
    let stdout = BufReader::new(controller.stdout.take().expect("piped"));
    let agents: Vec<u32> = stdout
        .lines()
        .map_while(Result::ok)
        .find_map(|line| {
            let pids = line.strip_prefix("agents ")?;
            Some(pids.split(' ').filter_map(|pid| pid.parse().ok()).collect())
        })
        .expect("it brings its lab up");
    assert_eq!(agents.len(), 2);
    let namespaces: Vec<PathBuf> = agents.iter().filter_map(|pid| namespace_of(*pid)).collect();
    assert_eq!(namespaces.len(), 2);
    wait(Duration::from_millis(700));

    kill_9(controller.id());
    controller.wait().expect("it is reaped");
    let left = || -> Vec<PathBuf> {
        let inhabited = processes().into_iter().filter_map(namespace_of);
        inhabited.filter(|found| namespaces.contains(found)).collect()
    };
    // A namespace without a process or descriptor is the kernel's to remove, with its links.
    for _ in 0..200 {
        if left().is_empty() {
            return;
        }
        wait(Duration::from_millis(50));
    }
    panic!("still inhabited: {:?}", left());
}

fn namespace_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect()
}
