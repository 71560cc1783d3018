//! Trials and testbeds that the tests share. Owns no truth: each test states its own.

use device::Profile;
use measure::{FrameSize, Nanos, Rate};
use sim::{HostModel, VirtualTestbed};
use trial::record::{DatagramsRecord, EchoRecord, FlowRecord, PortCounters, Side};
use trial::{Backend, Datagrams, Echo, Flow, FlowKind, Gate, Protocol, Role, Schedule};
use trial::{Testbed as _, Trial, TrialRecord};

/// A gigabit.
pub const GIGABIT: Rate = Rate(1_000_000_000);

/// A profile from its text.
pub fn profile(text: &str) -> Profile {
    let none = |name: &str| Err(format!("there is no `{name}` here"));
    Profile::parse(text, &none).unwrap_or_else(|error| panic!("{error}: {}", error.hint))
}

/// One that loses a frame in a thousand.
pub fn lossy() -> Profile {
    profile(
        r#"
        name = "lossy"
        ports = 2
        rate = "1Gbit"
        buffer = { per_port = "1MiB" }
        loss = 0.001
    "#,
    )
}

/// Ideal hosts at every port.
pub fn testbed(profile: Profile) -> VirtualTestbed {
    let hosts = HostModel::ideal(profile.edges());
    VirtualTestbed::new("sim:test", profile, hosts, 1)
}

/// Flows for so long, on the quick profile's phases.
pub fn trial(flows: Vec<Flow>, load: Nanos) -> Trial {
    Trial::quick("test", flows, load, Gate::Strict)
}

/// A flow from one port to another.
pub fn flow(id: u16, from: &str, to: &str, kind: FlowKind) -> Flow {
    let end = |text: &str| text.parse().expect("a port's name");
    Flow { id, from: end(from), to: end(to), role: Role::Measured, kind }
}

/// Frames of one size.
pub fn datagrams(octets: u32, schedule: Schedule) -> FlowKind {
    FlowKind::Datagrams(Datagrams::plain(size(octets), schedule, Backend::Auto, 2))
}

/// Round trips of one size.
pub fn echo(protocol: Protocol, octets: u32, schedule: Schedule) -> FlowKind {
    FlowKind::Echo(Echo { protocol, frame_size: size(octets), schedule, messages: None })
}

pub fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).expect("a legal size")
}

/// Runs it and expects nothing but a record.
pub fn run(testbed: &mut VirtualTestbed, trial: &Trial) -> TrialRecord {
    testbed.run(trial).expect("the trial runs")
}

/// The record of the datagram flow at a place.
pub fn load(record: &TrialRecord, at: usize) -> &DatagramsRecord {
    match &record.flows[at] {
        FlowRecord::Datagrams(load) => load,
        other => panic!("not datagrams: {other:?}"),
    }
}

/// The record of the echo flow at a place.
pub fn round_trips(record: &TrialRecord, at: usize) -> &EchoRecord {
    match &record.flows[at] {
        FlowRecord::Echo(echo) => echo,
        other => panic!("no round trips: {other:?}"),
    }
}

/// One counter over all ports of a side.
pub fn sum(record: &TrialRecord, side: Side, name: &str) -> u64 {
    let of_side = |port: &&PortCounters| port.side == side;
    record.ports.iter().filter(of_side).filter_map(|port| port.counters.get(name)).sum()
}
