//! A fabric of many switches: every host talks to one in another pod, and nothing is lost track of.

use std::fmt::Write as _;

use measure::{FrameRate, Nanos};
use trial::record::{FlowRecord, Side};
use trial::{Bulk, Flow, FlowKind, Gate, Schedule};

use crate::trials::{self, datagrams, flow, load, run, sum, testbed, trial};

/// A fat tree of `k` pods (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): k³/4 hosts, first the edge
/// switches, so that hosts are numbered pod by pod.
fn fat_tree(k: usize) -> device::Profile {
    let half = k / 2;
    let mut text = "name = \"fat-tree\"\n".to_owned();
    let mut device = |name: String| {
        writeln!(text, "[[device]]\nname = \"{name}\"\nports = {k}\nrate = \"1Gbit\"").unwrap();
        writeln!(text, "buffer = {{ per_port = \"256KiB\" }}").unwrap();
    };
    for (kind, count) in [("edge", k * half), ("pod", k * half), ("core", half * half)] {
        (0..count).for_each(|number| device(format!("{kind}{number}")));
    }
    let mut link = |a: String, b: String| {
        writeln!(text, "[[link]]\na = \"{a}\"\nb = \"{b}\"\nrate = \"1Gbit\"").unwrap();
    };
    for pod in 0..k {
        for edge in 0..half {
            for up in 0..half {
                let (low, high) = (pod * half + edge, pod * half + up);
                link(format!("edge{low}/{}", half + up + 1), format!("pod{high}/{}", edge + 1));
            }
        }
        for up in 0..half {
            for core in 0..half {
                let port = format!("pod{}/{}", pod * half + up, half + core + 1);
                link(port, format!("core{}/{}", up * half + core, pod + 1));
            }
        }
    }
    trials::profile(&text)
}

/// Each host to the one half of all hosts further on.
fn flows(hosts: u16, kind: &FlowKind) -> Vec<Flow> {
    let to = |from: u16| (from + hosts / 2) % hosts + 1;
    let one = |from: u16| {
        flow(from, &format!("h{}/eth1", from + 1), &format!("h{}/eth1", to(from)), kind.clone())
    };
    (0..hosts).map(one).collect()
}

#[test]
fn a_thousand_hosts_run_a_stream_each() {
    let profile = fat_tree(16);
    assert_eq!(profile.edges(), 1024);
    let kind = FlowKind::Bulk(Bulk {
        streams: 1,
        congestion_control: "cubic".to_owned(),
        interval: Nanos::from_millis(1),
    });
    let trial = trial(flows(1024, &kind), Nanos::from_millis(5));
    let record = run(&mut testbed(profile), &trial);
    assert_eq!(record.flows.len(), 1024);
    let received = record.flows.iter().map(|flow| match flow {
        FlowRecord::Bulk(bulk) => bulk.received.0,
        other => panic!("no streams: {other:?}"),
    });
    let received: Vec<u64> = received.collect();
    assert!(received.iter().all(|octets| *octets > 0));
    assert!(record.outcome.is_valid(), "{:?}", record.outcome);
}

#[test]
fn every_frame_of_a_small_one_is_accounted_for() {
    let profile = fat_tree(4);
    let kind = datagrams(512, Schedule::Paced(FrameRate(100_000.0)));
    let trial =
        trial::Trial { gate: Gate::Flood, ..trial(flows(16, &kind), Nanos::from_millis(20)) };
    let record = run(&mut testbed(profile), &trial);
    let (mut sent, mut received) = (0, 0);
    for at in 0..16 {
        sent += load(&record, at).sent;
        received += load(&record, at).received.unique;
        assert_eq!(load(&record, at).received.reordered, 0);
    }
    assert_eq!(sent, 16 * 2000);
    let flooded = sum(&record, Side::Device, "flooded_copies");
    assert_eq!(sum(&record, Side::Device, "rx_packets"), sent);
    let dropped = ["rx_dropped", "qdisc_drops"].map(|name| sum(&record, Side::Device, name));
    assert_eq!(dropped.iter().sum::<u64>() + received, sent + flooded);
}
