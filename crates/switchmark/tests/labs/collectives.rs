//! Collectives among real hosts: namespaces on the kernel's bridge, whose ports are limited. What a
//! ring gets is held against the rate of the ports, and what must end does end.
//!
//! Needs root. The truth is the limit of the ports and arithmetic; never a record of another run.

use std::thread;
use std::time::Duration;

use agents::controller::{LiveTestbed, Stop};
use lab::{LabDevice, LabSpec};
use measure::{ByteCount, Nanos, Rate};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use page::{Figure, Key, Metric};
use study::{Arrangement, FabricSpec, StudySpec};
use switchmark::config::resolved::{Source, Testbed as Resolved};
use trial::collective::Schedule;
use trial::record::{FlowRecord, Outcome};
use trial::topology::{Host, PortRef};
use trial::{
    Carrier, Collective, Exchange, Flow, FlowKind, Gate, RankPair, Role, Testbed, TestbedError,
    Trial,
};

use super::harness;

const HOSTS: u16 = 8;
const RATE: Rate = Rate(100_000_000);

/// Payload of TCP with time stamps by what the limit counts of a full frame: all but its FCS.
const PAYLOAD: f64 = 1448.0 / 1514.0;

/// Eight hosts at a bridge. Its queues hold what a port receives from two hosts at once.
fn open(name: &str) -> LiveTestbed {
    let queue = Some(ByteCount(512 << 10));
    let rate = Some(RATE);
    let spec = LabSpec { hosts: HOSTS, rate, queue, mtu: 1500, ..LabSpec::new(LabDevice::Bridge) };
    let resolved = Resolved::new(name, Source::Lab(spec));
    LiveTestbed::open_with(&resolved, Stop::new(), harness::switchmark()).expect("the lab comes up")
}

fn run(testbed: &mut LiveTestbed, collectives: &[Collective], size: u64) -> Vec<Figure> {
    let spec = FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        message: ByteCount(1024),
        messages: Vec::new(),
        collectives: collectives.to_vec(),
        collective_sizes: vec![ByteCount(size)],
        interval: Nanos::from_millis(100),
        duration: Nanos::from_millis(200),
        blocks: study::Blocks::known(1),
        tries: study::Tries::known(1),
        ..FabricSpec::quick()
    };
    let study = StudySpec::Fabric(spec);
    study.check(testbed.topology()).expect("a possible study");
    study.run(testbed, 1).expect("the testbed lives")
}

fn value(figures: &[Figure], metric: Metric, collective: Collective) -> f64 {
    let own =
        |f: &&Figure| f.metric == metric && f.text(Key::Collective) == Some(collective.as_str());
    let figure = figures.iter().find(own).expect("a row");
    figure.value.unwrap_or_else(|| panic!("{collective}: no value, {:?}", figure.caveats))
}

#[test]
fn a_ring_gets_what_the_ports_carry() {
    let Some(_alone) = harness::alone("a_ring_gets_what_the_ports_carry", &[]) else { return };
    let ring = Collective::AllReduceRing;
    let figures = run(&mut open("lab:bridge"), &[ring], 512 << 10);
    let bus = value(&figures, Metric::BusBandwidth, ring);
    let share = bus / (RATE.0 as f64 * PAYLOAD);
    println!("bus bandwidth {bus:.0} bit/s: {share:.3} of what the ports carry in one direction");
    // Acknowledgements take up to 2.2 %; the rest is for a machine on which other programs run.
    assert!((0.8..1.01).contains(&share), "{share}");
    let of_links = value(&figures, Metric::LinkShare, ring);
    assert!((0.8..1.05).contains(&of_links), "{of_links}");
    let jain = value(&figures, Metric::JainIndex, ring);
    assert!((0.9..=1.0).contains(&jain), "{jain}");
}

/// No schedule is faster than its longest chain of parts, and each is carried out to its end.
#[test]
fn every_collective_is_carried_out() {
    let Some(_alone) = harness::alone("every_collective_is_carried_out", &[]) else { return };
    let size = 256 << 10;
    let figures = run(&mut open("lab:bridge"), &Collective::ALL, size);
    for collective in Collective::ALL {
        let share = value(&figures, Metric::LinkShare, collective);
        let time = value(&figures, Metric::CollectiveTime, collective);
        println!("{collective}: {time:.0} ns, {share:.3} of the least time");
        // A burst of 12.5 kB passes each port at once, and the limit counts no FCS and no gap.
        assert!((0.2..1.2).contains(&share), "{collective}: {share}");
        let bus = value(&figures, Metric::BusBandwidth, collective);
        let algorithm = value(&figures, Metric::AlgorithmBandwidth, collective);
        let factor = collective.bus_factor(u32::from(HOSTS));
        assert!((bus / algorithm / factor - 1.0).abs() < 0.01, "{collective}: {bus}, {algorithm}");
    }
}

/// Exchanges of a schedule among the testbed's first ports, said to be of so many ranks.
pub fn flows(testbed: &LiveTestbed, schedule: Schedule, ranks: u32) -> Vec<Flow> {
    let hosts: Vec<&Host> = testbed.topology().hosts.iter().collect();
    flows_among(&hosts, schedule, ranks)
}

/// Exchanges of a schedule among the first ports of these hosts, in the order of their ranks.
pub fn flows_among(hosts: &[&Host], schedule: Schedule, ranks: u32) -> Vec<Flow> {
    let port = |rank: u32| {
        let host = hosts[rank as usize];
        PortRef { host: host.name.clone(), port: host.ports[0].name.clone() }
    };
    let collective = schedule.collective();
    let flow = |(id, [from, to]): (u16, [u32; 2])| Flow {
        id,
        from: port(from),
        to: port(to),
        role: Role::Measured,
        kind: FlowKind::Exchange(Exchange {
            message: ByteCount(schedule.octets()),
            carrier: Carrier::Tcp,
            interval: Nanos::from_millis(100),
            collective: Some(RankPair { collective, ranks, from, to }),
        }),
    };
    (1..).zip(schedule.pairs()).map(flow).collect()
}

/// Trial of a ring among all hosts, said to be of so many ranks.
fn ring(testbed: &LiveTestbed, ranks: u32, load: Nanos) -> Trial {
    let schedule = Schedule::new(Collective::AllReduceRing, u32::from(HOSTS), 1 << 20);
    let flows = flows(testbed, schedule.expect("a schedule"), ranks);
    Trial::quick("test", flows, load, Gate::Strict)
}

#[test]
fn a_host_killed_within_a_collective_ends_it() {
    let Some(_alone) = harness::alone("a_host_killed_within_a_collective", &[]) else { return };
    let mut testbed = open("lab:bridge");
    let whole = ring(&testbed, u32::from(HOSTS), Nanos::from_secs(2));
    let record = testbed.run(&whole).expect("a record");
    assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
    let finished = |record: &FlowRecord| match record {
        FlowRecord::Exchange(seen) => {
            seen.forward.finishes.count() + seen.backward.finishes.count()
        }
        _ => 0,
    };
    let finished: u64 = record.flows.iter().map(finished).sum();
    assert!(finished >= u64::from(HOSTS), "{finished} by all ranks");

    // The test would wait for an hour if a rank waited for the one that is gone.
    let hour = ring(&testbed, u32::from(HOSTS), Nanos::from_secs(3600));
    let victim = testbed.agents()["h3"];
    let accident = thread::spawn(move || {
        thread::sleep(Duration::from_secs(3));
        kill(Pid::from_raw(victim.cast_signed()), Signal::SIGKILL).expect("it lives");
    });
    let record = testbed.run(&hour).expect("a record first");
    accident.join().expect("the accident happens");
    let Outcome::Failed { reason } = record.outcome else { panic!("{record:#?}") };
    assert!(reason.contains("`h3`") && reason.contains("signal: 9"), "{reason}");
    // No collective goes on without a rank.
    let error = testbed.run(&whole).expect_err("the testbed is lost");
    assert!(matches!(error, TestbedError::Lost { .. }), "{error:?}");
}

/// A thousand ranks said of eight hosts: each agent refuses to start in part.
#[test]
fn ranks_without_hosts_are_refused() {
    let Some(_alone) = harness::alone("ranks_without_hosts_are_refused", &[]) else { return };
    let mut testbed = open("lab:bridge");
    let thousand = ring(&testbed, 1000, Nanos::from_millis(200));
    match testbed.run(&thousand) {
        Err(TestbedError::Unavailable { reason, .. }) => {
            assert!(reason.contains("of 1000: 0 connections to rank"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let whole = ring(&testbed, u32::from(HOSTS), Nanos::from_millis(500));
    let record = testbed.run(&whole).expect("the agents live");
    assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
}
