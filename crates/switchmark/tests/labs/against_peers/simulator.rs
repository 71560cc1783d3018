//! How fast the simulator is: packet events a second, what they cost with more ports, memory, and
//! the same dumbbell by ns-3.
//!
//! Everything here is computed by one thread, so what it cost is told in processor time: other
//! programs on the machine disturb that less than a clock on the wall. Ratios are asserted, no time
//! is.

use std::process::Command;
use std::time::Duration;

use device::Profile;
use measure::{FrameMix, Nanos, Rate};
use nix::sys::resource::{UsageWho, getrusage};
use sim::{HostModel, VirtualTestbed};
use trial::record::{FlowRecord, Side};
use trial::{Backend, Bulk, Datagrams, Flow, FlowKind, Gate, Role, Schedule};
use trial::{PortRef, Testbed as _, Trial, TrialRecord};

use super::{dumbbell, fat_tree};
use crate::harness::{self, size};

const GIGABIT: Rate = Rate(1_000_000_000);

/// Set for the process that runs a benchmark again to be measured from its beginning.
const FRESH: &str = "SWITCHMARK_BENCH_FRESH";

/// Processor time of this thread.
pub fn spent() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel counts");
    [usage.user_time(), usage.system_time()]
        .map(|time| Duration::new(time.tv_sec() as u64, 1000 * time.tv_usec() as u32))
        .iter()
        .sum()
}

/// What came of a trial, and the processor time that it took.
pub fn timed(testbed: &mut VirtualTestbed, trial: &Trial) -> (TrialRecord, f64) {
    let before = spent();
    let record = testbed.run(trial).expect("the trial runs");
    (record, spent().saturating_sub(before).as_secs_f64())
}

/// Hosts at every edge that stand in nobody's way.
pub fn testbed(profile: Profile, mtu: u32) -> VirtualTestbed {
    let hosts = HostModel { mtu, ..HostModel::ideal(profile.edges()) };
    VirtualTestbed::new("sim:bench", profile, hosts, 1)
}

/// A trial of flows between hosts, by their numbers from 0.
pub fn trial(flows: Vec<(u16, u16, FlowKind)>, load: Nanos) -> Trial {
    let port = |host: u16| PortRef { host: format!("h{}", host + 1), port: "eth1".into() };
    let flow = |(id, (from, to, kind)): (u16, (u16, u16, FlowKind))| Flow {
        id,
        from: port(from),
        to: port(to),
        role: Role::Measured,
        kind,
    };
    let flows = (1..).zip(flows).map(flow).collect();
    harness::trial_of(flows, load, Gate::Flood)
}

/// Every host sends frames of 64 octets, at `rate` on the wire, to the one half way round.
fn half_way_round(hosts: u16, rate: Rate, load: Nanos) -> Trial {
    let schedule = Schedule::Paced(FrameMix::from_size(size(64)).line_rate(rate));
    let kind = FlowKind::Datagrams(Datagrams::plain(size(64), schedule, Backend::Auto, 2));
    let flows = (0..hosts).map(|host| (host, (host + hosts / 2) % hosts, kind.clone()));
    trial(flows.collect(), load)
}

/// Frames that hosts sent, and frames that reached them.
pub fn frames(record: &TrialRecord) -> (u64, u64) {
    let sum = |name| -> u64 {
        let hosts = record.ports.iter().filter(|port| port.side == Side::Tester);
        hosts.filter_map(|port| port.counters.get(name)).sum()
    };
    (sum("tx_packets"), sum("rx_packets"))
}

/// A frame that crosses so many switches is an event as it leaves its host, and at each switch one
/// as it is decided on and one as its last bit is out.
const fn events_of_frame(switches: u64) -> u64 {
    1 + 2 * switches
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn datagrams() {
    println!("64-octet frames at line rate from each port to the one half way round, one core");
    println!("{:<34} {:>10} {:>12} {:>12}", "", "frames", "M frames/s", "M events/s");
    for (name, rate) in
        [("48 x 1 Gbit/s, one switch", GIGABIT), ("48 x 10 Gbit/s", Rate(10_000_000_000))]
    {
        let mut rates = Vec::new();
        let mut count = 0;
        for _ in 0..super::ROUNDS {
            let load = Nanos(40_000_000 * GIGABIT.0 / rate.0);
            let asked = half_way_round(48, rate, load);
            let (record, seconds) = timed(&mut testbed(Profile::single(48, rate), 1500), &asked);
            let (sent, received) = frames(&record);
            assert_eq!(sent, received, "nothing is lost at line rate");
            count = sent;
            rates.push(sent as f64 / seconds / 1e6);
        }
        let median = super::median(&mut rates);
        let events = median * events_of_frame(1) as f64;
        println!("{name:<34} {count:>10} {median:>12.2} {events:>12.2}");
    }
}

/// Nanoseconds of processor time for each packet event, without what setting the trial up takes.
fn cost(profile: &Profile, switches: u64, budget: u64) -> (f64, f64) {
    let hosts = profile.edges();
    // Where flows choose their ways by chance some share a cable: below a third no queue grows.
    let rate = Rate(profile.rate.0 / 4);
    let each = FrameMix::from_size(size(64)).line_rate(rate).0;
    let seconds = budget as f64 / events_of_frame(switches) as f64 / each / f64::from(hosts);
    let long = half_way_round(hosts, rate, Nanos::from_secs_f64(seconds));
    let short = half_way_round(hosts, rate, Nanos::from_secs_f64(seconds / 100.0));
    let mut testbed = testbed(profile.clone(), 1500);
    let (little, set_up) = timed(&mut testbed, &short);
    let (record, whole) = timed(&mut testbed, &long);
    let more = frames(&record).0 - frames(&little).0;
    let delivered = frames(&record).1 as f64 / frames(&record).0 as f64;
    ((whole - set_up) * 1e9 / (more * events_of_frame(switches)) as f64, delivered)
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn ports() {
    const EVENTS: u64 = 4_000_000;
    let switch =
        |ports: u16| (format!("one switch of {ports}"), Profile::single(ports, GIGABIT), 1);
    let mut cases: Vec<(String, Profile, u64)> = [48, 96, 192, 384, 768, 1024].map(switch).to_vec();
    cases.push(("fat tree of 1024 hosts".into(), fat_tree::profile(16, GIGABIT), 5));
    let mut costs = vec![Vec::new(); cases.len()];
    let mut delivered = vec![0.0; cases.len()];
    for _ in 0..5 {
        for (number, (_, profile, switches)) in cases.iter().enumerate() {
            let (nanos, share) = cost(profile, *switches, EVENTS);
            costs[number].push(nanos);
            delivered[number] = share;
        }
    }
    let ports_of = |profile: &Profile| -> f64 {
        profile.devices().iter().map(|device| f64::from(device.ports)).sum()
    };
    println!(
        "one flow from each host, 64-octet frames at a quarter of its line; median of 5 interleaved rounds"
    );
    println!(
        "{:<24} {:>6} {:>10} {:>10} {:>9} {:>8}",
        "", "ports", "ns/event", "delivered", "by 48's", "by log"
    );
    let mut growth = Vec::new();
    for (number, (name, profile, _)) in cases.iter().enumerate() {
        let first = costs[0].clone();
        let mut ratios = super::ratios(&costs[number], &first);
        let (nanos, ratio) = (super::median(&mut costs[number]), super::median(&mut ratios));
        let ports = ports_of(profile);
        let by_log = ports.log2() / 48f64.log2();
        let share = delivered[number] * 100.0;
        println!("{name:<24} {ports:>6} {nanos:>10.1} {share:>9.1}% {ratio:>9.2} {by_log:>8.2}");
        // A network's frames also find the tables of each switch out of the processor's caches.
        if profile.devices().len() == 1 {
            growth.push((name, ratio, by_log));
        }
    }
    for (name, ratio, by_log) in growth {
        assert!(ratio <= by_log * 1.15, "{name}: {ratio:.2} times 48's, and log is {by_log:.2}");
    }
}

/// The largest this process has been, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn tcp() {
    if let Ok(seconds) = std::env::var(FRESH) {
        let seconds = seconds.parse().expect("seconds");
        let before = peak();
        let run = dumbbell::Case::TEN_GIGABIT.lasting(seconds).ours();
        let grown = peak() - before;
        let dumbbell::Run { processor, segments, received, frames, datagrams, .. } = run;
        let goodput = received as f64 * 8.0 / seconds / 1e9;
        println!(
            "{seconds:>9} {segments:>10} {datagrams:>10} {frames:>10} {goodput:>9.3} \
             {processor:>12.2} {grown:>12}"
        );
        return;
    }
    println!(
        "10 Gbit/s, 50 ms, 9000-octet packets, CUBIC beside 2 Gbit/s of datagrams, 64 MB of queue"
    );
    println!(
        "{:>9} {:>10} {:>10} {:>10} {:>9} {:>12} {:>12}",
        "virtual s", "segments", "datagrams", "frames", "Gbit/s", "processor s", "memory KiB"
    );
    for seconds in ["10", "30"] {
        let own = std::env::current_exe().expect("this program");
        let output = Command::new(own)
            .args(["--ignored", "--exact", "--nocapture", "against_peers::simulator::tcp"])
            .env(FRESH, seconds)
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let figures = text.lines().find(|line| line.trim_start().starts_with(seconds));
        println!("{}", figures.unwrap_or_else(|| panic!("{text}")));
    }
}

/// Payload that came over the one TCP flow.
pub fn bulk_of(record: &TrialRecord) -> &trial::record::BulkRecord {
    let bulk = record.flows.iter().find_map(|flow| match flow {
        FlowRecord::Bulk(bulk) => Some(bulk),
        _ => None,
    });
    bulk.expect("a bulk flow")
}

/// Datagrams that came, of all loads.
pub fn datagrams_of(record: &TrialRecord) -> u64 {
    let unique = |flow: &FlowRecord| match flow {
        FlowRecord::Datagrams(load) => load.received.unique,
        _ => 0,
    };
    record.flows.iter().map(unique).sum()
}

/// One stream of CUBIC.
pub fn cubic() -> FlowKind {
    FlowKind::Bulk(Bulk {
        streams: 1,
        congestion_control: "cubic".into(),
        interval: Nanos::from_millis(100),
    })
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn ns3() {
    let scratch = harness::Scratch::new("ns3");
    let program = match dumbbell::compile(&scratch) {
        Ok(program) => program,
        Err(reason) => {
            eprintln!("skipped: ns3: {reason}");
            return;
        }
    };
    println!("one dumbbell by ns-3 and by us; processor seconds, median of 5 interleaved rounds");
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>7}",
        "", "segments", "ours", "drops", "ours", "ns-3", "ours", "ratio"
    );
    for (name, case) in dumbbell::BESIDE_NS3 {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            theirs.push(case.ns3(&program));
            ours.push(case.ours());
        }
        let processor =
            |runs: &[dumbbell::Run]| -> Vec<f64> { runs.iter().map(|run| run.processor).collect() };
        let mut ratios = super::ratios(&processor(&theirs), &processor(&ours));
        let ratio = super::median(&mut ratios);
        let (peer, own) = (theirs[0], ours[0]);
        let (seconds, own_seconds) =
            (super::median(&mut processor(&theirs)), super::median(&mut processor(&ours)));
        println!(
            "{name:<34} {:>9} {:>9} {:>9} {:>9} {seconds:>8.2} {own_seconds:>8.3} {ratio:>7.1}",
            peer.segments, own.segments, peer.dropped, own.dropped
        );
        let apart = own.segments as f64 / peer.segments as f64 - 1.0;
        assert!(apart.abs() <= 0.05, "{name}: segments differ by {:.1} %", apart * 100.0);
        assert!(ratio >= 10.0, "{name}: {ratio:.1} times as fast as ns-3");
    }
}
