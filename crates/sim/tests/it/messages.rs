//! Exchanges through modelled devices: the arrangements of seed 001, and the rounds of a single
//! pair.

use device::Profile;
use measure::{ByteCount, Nanos};
use trial::TrialRecord;
use trial::record::{ExchangeRecord, FlowRecord};
use trial::{Carrier, Exchange, Flow, FlowKind};

use crate::trials::{self, GIGABIT, flow, run, testbed, trial};

const INTERVAL: Nanos = Nanos::from_millis(100);

fn exchange(octets: u64, carrier: Carrier) -> FlowKind {
    let message = ByteCount(octets);
    FlowKind::Exchange(Exchange { message, carrier, interval: INTERVAL, collective: None })
}

fn exchanges(record: &TrialRecord) -> Vec<&ExchangeRecord> {
    record.flows.iter().map(exchange_of).collect()
}

fn exchange_of(flow: &FlowRecord) -> &ExchangeRecord {
    match flow {
        FlowRecord::Exchange(exchange) => exchange,
        other => panic!("no exchange: {other:?}"),
    }
}

#[test]
fn a_pair_alone_uses_both_ways_of_its_cables() {
    for carrier in [Carrier::Tcp, Carrier::Datagrams { credits: 64 }] {
        let flows = vec![flow(1, "h1/eth1", "h2/eth1", exchange(1 << 20, carrier))];
        let record =
            run(&mut testbed(Profile::single(2, GIGABIT)), &trial(flows, Nanos::from_secs(2)));
        assert!(record.outcome.is_valid(), "{:?}", record.outcome);
        let seen = exchanges(&record)[0];
        for way in [&seen.forward, &seen.backward] {
            let rate = way.octets_per_second();
            assert!((100e6..125e6).contains(&rate), "{carrier:?}: {rate}");
            assert_eq!(way.lost, 0);
            assert_eq!(way.rounds.count(), way.messages);
            assert_eq!(way.intervals.len(), 20);
            let counted: u64 = way.intervals.iter().map(|octets| octets.0).sum();
            assert!((way.octets.0..=way.octets.0 + (1 << 20)).contains(&counted), "{carrier:?}");
        }
    }
}

#[test]
fn small_messages_take_a_round_of_one_way_each() {
    let flows = vec![flow(1, "h1/eth1", "h2/eth1", exchange(1000, Carrier::Tcp))];
    let record = run(&mut testbed(Profile::single(2, GIGABIT)), &trial(flows, Nanos::from_secs(1)));
    let seen = exchanges(&record)[0];
    // 1000 octets and 70 around them, and the preamble, on two cables; both ways at once.
    let way = 2 * 1078 * 8;
    for receipt in [&seen.forward, &seen.backward] {
        let median = receipt.rounds.quantile(0.5).0;
        // The acknowledgement of the last message may go first.
        assert!((way..way + 2000).contains(&median), "{median} and not {way}");
    }
}

#[test]
fn lost_parts_are_counted_and_their_messages_given_up() {
    let profile = trials::lossy();
    let carrier = Carrier::Datagrams { credits: 32 };
    let flows = vec![flow(1, "h1/eth1", "h2/eth1", exchange(100_000, carrier))];
    let record = run(&mut testbed(profile), &trial(flows, Nanos::from_secs(10)));
    let seen = exchanges(&record)[0];
    for way in [&seen.forward, &seen.backward] {
        assert!(way.lost > 0 && way.messages > 100, "{} {}", way.lost, way.messages);
    }
}

/// Neighbours, or each port with that twelve further on: every node in one pair.
fn arrangement(nodes: u16, neighbours: bool) -> Vec<(u16, u16)> {
    if neighbours {
        return (0..nodes / 2).map(|pair| (2 * pair + 1, 2 * pair + 2)).collect();
    }
    (1..=nodes).filter(|port| (port - 1) / 12 % 2 == 0).map(|port| (port, port + 12)).collect()
}

/// MB/s of a node: the mean and the worst of all ways.
fn per_node(profile: &Profile, neighbours: bool, load: Nanos) -> (f64, f64) {
    let one = |(id, (from, to)): (u16, &(u16, u16))| -> Flow {
        // As MPIGAMMA does: 128 KiB may be under way, and nothing slows down for a loss.
        let kind = exchange(128 << 10, Carrier::Datagrams { credits: 90 });
        flow(id, &format!("h{from}/eth1"), &format!("h{to}/eth1"), kind)
    };
    let pairs = arrangement(48, neighbours);
    let flows = (1..).zip(&pairs).map(one).collect();
    let record = run(&mut testbed(profile.clone()), &trial(flows, load));
    let rates: Vec<f64> = exchanges(&record)
        .iter()
        .flat_map(|seen| [&seen.forward, &seen.backward])
        .map(|way| way.octets_per_second() / 1e6)
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (mean, rates.iter().copied().fold(f64::INFINITY, f64::min))
}

#[test]
fn the_blocking_switch_collapses_across_its_backplane_and_the_other_does_not() {
    let file = |name: &str| {
        let path = format!("{}/../../profiles/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        trials::profile(&std::fs::read_to_string(&path).expect("a profile of this repository"))
    };
    let load = Nanos::from_millis(300);
    let table = ["s400-48t", "x450a-48t"].map(|name| {
        let profile = file(name);
        (per_node(&profile, true, load), per_node(&profile, false, load))
    });
    eprintln!("MB/s a node, mean and worst, A and B: {table:?}");
    let [(blocking_a, blocking_b), (other_a, other_b)] = table;
    // Seed 001: 41 of 108 MB/s on average, and 0.3 MB/s at worst.
    assert!(blocking_b.0 < 0.5 * blocking_a.0, "{table:?}");
    assert!(blocking_b.1 < 0.1 * blocking_a.1, "{table:?}");
    assert!((other_b.0 / other_a.0 - 1.0).abs() < 0.01, "{table:?}");
    assert!((other_b.1 / other_a.1 - 1.0).abs() < 0.02, "{table:?}");
}
