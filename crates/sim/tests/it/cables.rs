//! Cables that damage frames: each one that was lost is put where it died, over many seeds, and
//! nothing where nothing was lost.
//!
//! The truths are that one cable alone loses frames, and where several places do, what each end of
//! each cable has counted.

use measure::{FrameRate, Nanos};
use sim::{HostModel, VirtualTestbed};
use trial::books::{self, Books, Place};
use trial::record::{FlowRecord, TrialRecord};
use trial::{Flow, Gate, Schedule, Trial};

use crate::trials::{self, datagrams, flow, run};

const LOAD: Nanos = Nanos::from_millis(20);

/// Port 1 damages what comes in, port 2 what goes out.
const CABLES: &str = "cables = [{ ports = \"1\", damaged = { in = 0.02 } }, \
                      { ports = \"2\", damaged = { out = 0.03 } }]";

/// Of flows of 1,000,000 frames a second each: the record and its books.
fn balanced(seed: u64, more: &str, flows: &[(&str, &str)]) -> (TrialRecord, Books) {
    let text = format!(
        "name = \"sw\"\nports = 4\nrate = \"1Gbit\"\nbuffer = {{ per_port = \"16KiB\" }}\n\
         max_frame = 9216\nlink_delay = \"1us\"\n{more}\n"
    );
    let rate = FrameRate(1e6);
    let to_flow = |(id, (from, to)): (u16, &(&str, &str))| -> Flow {
        flow(id, from, to, datagrams(64, Schedule::Paced(rate)))
    };
    let flows = (1..).zip(flows).map(to_flow).collect();
    let trial = Trial { gate: Gate::Flood, ..trials::trial(flows, LOAD) };
    let hosts = HostModel::ideal(4);
    let mut testbed = VirtualTestbed::new("sim:cables", trials::profile(&text), hosts, seed);
    let record = run(&mut testbed, &trial);
    assert!(record.outcome.is_valid(), "seed {seed}: {:?}", record.outcome);
    let books = books::balance(&trial, &record).expect("datagrams");
    (record, books)
}

fn cable_in() -> Place {
    Place::CableIn { from: "h1/eth1".to_owned(), to: "sw/1".to_owned() }
}

fn cable_out() -> Place {
    Place::CableOut { from: "sw/2".to_owned(), to: "h2/eth1".to_owned() }
}

fn lost(record: &TrialRecord) -> u64 {
    let of = |record: &FlowRecord| match record {
        FlowRecord::Datagrams(seen) => seen.received.lost(seen.sent),
        other => panic!("{other:?}"),
    };
    record.flows.iter().map(of).sum()
}

#[test]
fn the_only_cable_that_damages_frames_has_lost_them_all() {
    for seed in 0..60 {
        for (from, to, place) in [
            ("h1/eth1", "h3/eth1", Some(cable_in())),
            ("h3/eth1", "h2/eth1", Some(cable_out())),
            ("h2/eth1", "h1/eth1", None),
        ] {
            let (record, books) = balanced(seed, CABLES, &[(from, to)]);
            let lost = lost(&record);
            assert_eq!(lost > 0, place.is_some(), "seed {seed}, {from}");
            assert!(books.closed() && books.lost == lost, "seed {seed}: {books:?}");
            let there = books.died(|at| Some(at) == place.as_ref());
            assert_eq!(there, lost, "seed {seed}: {books:?}");
        }
    }
}

#[test]
fn damaged_frames_are_told_from_all_that_a_device_drops() {
    for seed in 0..60 {
        // Two into one: frames are dropped in a queue, at random, and on a cable each way.
        let (from, other) = (("h1/eth1", "h2/eth1"), ("h3/eth1", "h2/eth1"));
        let (record, books) = balanced(seed, &format!("{CABLES}\nloss = 0.005"), &[from, other]);
        let told = |at: &str, name: &str| {
            let port = record.ports.iter().find(|port| port.place == at);
            port.and_then(|port| port.counters.get(name)).copied().expect("a counter")
        };
        let damaged = [told("sw/1", "rx_crc_errors"), told("h2/eth1", "rx_crc_errors")];
        assert!(damaged.iter().all(|frames| *frames > 0), "seed {seed}: {damaged:?}");
        let died = [cable_in(), cable_out()].map(|place| books.died(|at| *at == place));
        assert_eq!(died, damaged, "seed {seed}: {books:?}");
        let at_random = told("sw/1", "rx_dropped") + told("sw/3", "rx_dropped");
        let full = told("sw/2", "qdisc_drops");
        let egress = Place::Egress("sw/2".to_owned());
        assert!(at_random > 0 && full > 0, "seed {seed}: {at_random} {full}");
        assert_eq!(books.died(|at| *at == egress), full, "seed {seed}: {books:?}");
        let dropped = at_random + full;
        assert_eq!(books.died(Place::is_device), dropped, "seed {seed}: {books:?}");
        assert!(books.closed(), "seed {seed}: {books:?}");
        assert_eq!(dropped + damaged.iter().sum::<u64>(), lost(&record), "seed {seed}");
        let elsewhere = ["sw/2", "sw/3", "sw/4", "h1/eth1", "h3/eth1"];
        for at in elsewhere {
            let port = record.ports.iter().find(|port| port.place == at);
            let damaged = port.and_then(|port| port.counters.get("rx_crc_errors"));
            assert!(damaged.is_none_or(|frames| *frames == 0), "seed {seed}, {at}");
        }
    }
}
