//! One load shared by several threads: each backend, every schedule, counted frame for frame.
//!
//! Needs root. Never asserts a rate that a busy machine might not reach.

use agents::controller::LiveTestbed;

use crate::harness::{alone, datagrams_of, open, paced, size, trial};
use lab::LabDevice;
use measure::Nanos;
use trial::record::{PortCounters, Side};
use trial::{Backend, Datagrams, FlowKind, Gate, Phases, Schedule};
use trial::{Testbed, TestbedError, TrialRecord};

const LOAD: Nanos = Nanos::from_millis(200);
const TRIES: usize = 20;

fn run(
    testbed: &mut LiveTestbed,
    schedule: Schedule,
    backend: Backend,
    senders: u16,
) -> Result<TrialRecord, TestbedError> {
    let pair = testbed.topology().measured_pairs().remove(0);
    let plain = Datagrams::plain(size(64), schedule, backend, 64);
    let kind = FlowKind::Datagrams(Datagrams { senders, ..plain });
    testbed.run(&trial(&pair, kind, LOAD, Gate::Strict))
}

/// The sum of some counters of the sending host's port.
fn at_sender(record: &TrialRecord, names: &[&str]) -> u64 {
    let sender = |port: &&PortCounters| port.side == Side::Tester && port.place == "h1/eth1";
    let port = record.ports.iter().find(sender).expect("it is counted");
    names.iter().map(|name| port.counters[*name]).sum()
}

/// Frames that the kernel took from it, learning frames included.
fn taken(record: &TrialRecord) -> u64 {
    at_sender(record, &["tx_packets"])
}

/// Frames that its queue or driver had no room for.
fn refused(record: &TrialRecord) -> u64 {
    at_sender(record, &["tx_dropped", "qdisc_drops"])
}

/// The first valid trial of a few: a machine that stops senders for longer than a load lasts spoils
/// some, and they say so. What is in time comes out whole.
fn run_undisturbed(
    testbed: &mut LiveTestbed,
    schedule: Schedule,
    backend: Backend,
    senders: u16,
) -> TrialRecord {
    for _ in 0..TRIES {
        let record = run(testbed, schedule, backend, senders).expect("runs");
        // Ports are read as receivers close.
        let in_time = datagrams_of(&record).overran < Phases::quick(LOAD).residual;
        if record.outcome.is_valid() && in_time {
            return record;
        }
    }
    panic!("{backend:?} {schedule:?}: {TRIES} trials, and none was undisturbed");
}

#[test]
fn a_shared_load_adds_up_frame_for_frame() {
    let Some(_alone) = alone("a_shared_load_adds_up_frame_for_frame", &[]) else { return };
    let mut testbed = open(&LabDevice::Cable, None);
    for backend in [Backend::XdpLive, Backend::Packet, Backend::Udp] {
        for (schedule, senders) in
            [(Schedule::Greedy, 2), (paced(9_000.0), 3), (Schedule::Burst(1_000), 3)]
        {
            let record = run_undisturbed(&mut testbed, schedule, backend, senders);
            let flow = datagrams_of(&record);
            let told = format!("{backend:?} {schedule:?}: {:?} {flow:?}", record.ports);
            assert_eq!(flow.backend, backend.as_str(), "{told}");
            assert_eq!(flow.received.lost(flow.sent), flow.sent - flow.received.unique, "{told}");
            assert_eq!(flow.received.duplicated, 0, "{told}");
            assert!(taken(&record) >= flow.sent, "{} taken: {told}", taken(&record));
            match schedule {
                Schedule::Burst(frames) => {
                    assert_eq!(flow.sent, frames, "{told}");
                    // A frame that the driver had no room for was handed over, too.
                    assert!(flow.offered - flow.sent <= refused(&record), "{told}");
                }
                // Each thread offers what is due at its own times, the first one included.
                Schedule::Paced(_) => assert!(flow.offered.abs_diff(1_800) <= 3, "{told}"),
                _ => assert!(flow.sent > 0, "{told}"),
            }
        }
    }
}

#[test]
fn a_port_without_a_queue_for_each_says_so() {
    let Some(_alone) = alone("a_port_without_a_queue_for_each_says_so", &[]) else { return };
    let mut testbed = open(&LabDevice::Cable, None);
    let record = run(&mut testbed, Schedule::Greedy, Backend::AfXdp, 1).expect("it has one");
    assert_eq!(datagrams_of(&record).backend, "af-xdp");
    let queues = std::thread::available_parallelism().expect("processors").get() as u16;
    let own = run(&mut testbed, Schedule::Greedy, Backend::AfXdp, queues).expect("one for each");
    assert_eq!(datagrams_of(&own).backend, "af-xdp");
    let refused = run(&mut testbed, Schedule::Greedy, Backend::AfXdp, queues + 1);
    let told = refused.expect_err("one too many").to_string();
    assert!(told.contains(&format!("other af_xdp sockets have all {queues} queues")), "{told}");
}
