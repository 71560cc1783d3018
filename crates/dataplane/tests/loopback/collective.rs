//! Collectives over loopback: every rank gets its share of each repetition, parts add up, and a
//! rank that leaves or lacks a connection ends the collective. Needs no privilege and never asserts
//! a rate.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use dataplane::exchange::{Member, MemberEnd, PartReport};
use dataplane::{End, FlowError, Halt, Identity, Window, clock};
use measure::{ByteCount, Nanos};
use trial::collective::Schedule;
use trial::record::ReceiptRecord;
use trial::{Carrier, Collective, Exchange, RankPair};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn end(schedule: Schedule, flow: u16, pair: [u32; 2], port: u16) -> End<Exchange> {
    let [from, to] = pair;
    let (collective, ranks) = (schedule.collective(), schedule.ranks());
    let part = RankPair { collective, ranks, from, to };
    End {
        local: LOCAL,
        remote: SocketAddr::new(LOCAL, port),
        identity: Identity { token: 0x5eed_0006, flow },
        opening: dataplane::opening::Opening::PLAIN,
        flow: Exchange {
            message: ByteCount(schedule.octets()),
            carrier: Carrier::Tcp,
            interval: Nanos::from_millis(50),
            collective: Some(part),
        },
    }
}

/// Opened ranks of a whole collective.
fn members(schedule: Schedule) -> Vec<Member> {
    let mut ends = Vec::new();
    for (flow, pair) in (1..).zip(schedule.pairs()) {
        let waiting = MemberEnd::listen(&end(schedule, flow, pair, 0)).expect("listen");
        let calling = MemberEnd::connect(&end(schedule, flow, pair, waiting.port()));
        ends.extend([waiting, calling.expect("connect")]);
    }
    Member::gather(ends).expect("all connections")
}

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(30);
    Window { start, stop: start + load, closed: start + load + Nanos::from_millis(500) }
}

/// Runs ranks, each with a halt of its own; returns each rank's reports.
fn run(members: Vec<Member>, load: Nanos, leaves: Option<u32>) -> BTreeMap<u32, Vec<PartReport>> {
    let window = window(load);
    thread::scope(|scope| {
        let start = |member: Member| {
            let (rank, halt) = (member.rank(), Halt::new());
            if leaves == Some(rank) {
                let halt = halt.clone();
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(150));
                    halt.ask();
                });
            }
            (rank, scope.spawn(move || member.run(window, &halt)))
        };
        let all: Vec<_> = members.into_iter().map(start).collect();
        all.into_iter().map(|(rank, thread)| (rank, thread.join().expect("a rank"))).collect()
    })
}

/// Receipts of a rank over all its connections.
fn receipts(reports: Vec<PartReport>) -> Vec<ReceiptRecord> {
    reports.into_iter().map(|report| report.report.expect("receipts").receipt).collect()
}

/// Checks that each rank received whole repetitions, and of the last one no more than it holds.
fn check(schedule: Schedule, load: Nanos) {
    for (rank, reports) in run(members(schedule), load, None) {
        let what = format!("{} of {}, rank {rank}", schedule.collective(), schedule.ranks());
        let receipts = receipts(reports);
        let sum = |of: fn(&ReceiptRecord) -> u64| receipts.iter().map(of).sum::<u64>();
        let (parts, octets) = (sum(|r| r.messages), sum(|r| r.octets.0));
        let finished = sum(|r| r.finishes.count());
        let steps = (0..schedule.steps()).filter_map(|at| schedule.step(rank, at).receive);
        let (each, share) = steps.fold((0, 0), |(parts, all), part| (parts + 1, all + part.octets));
        assert_eq!(sum(|r| r.rounds.count()), parts, "{what}");
        assert!(receipts.iter().all(|r| r.elapsed == load), "{what}");
        // The last repetition may be cut off.
        assert!((finished * each..=(finished + 1) * each).contains(&parts), "{what}");
        assert!((finished * share..=(finished + 1) * share).contains(&octets), "{what}");
        assert!(each == 0 || finished > 0, "{what}: no repetition");
        let arrived = sum(|r| r.intervals.iter().map(|o| o.0).sum());
        assert!(arrived >= octets, "{what}: {arrived} of {octets}");
        eprintln!("{what}: {finished} repetitions");
    }
}

#[test]
fn every_rank_gets_its_share_of_each_repetition() {
    for collective in Collective::ALL {
        for (ranks, octets) in [(2, 1), (5, 100_000), (8, 300_000)] {
            let schedule = Schedule::new(collective, ranks, octets).expect("a schedule");
            check(schedule, Nanos::from_millis(300));
        }
    }
}

#[test]
fn parts_may_be_larger_than_what_the_kernel_takes_at_once() {
    let schedule = Schedule::new(Collective::AllReduceTree, 2, 8 << 20).expect("a schedule");
    check(schedule, Nanos::from_millis(900));
}

#[test]
fn a_rank_that_leaves_ends_the_collective() {
    let schedule = Schedule::new(Collective::AllReduceRing, 4, 1 << 20).expect("a schedule");
    let mut all = run(members(schedule), Nanos::from_secs(600), Some(2));
    // The test would hang here if a rank waited for the one that is gone.
    assert!(all.remove(&2).expect("it reports").iter().all(|report| report.report.is_ok()));
    let broken: Vec<String> = all
        .into_values()
        .flatten()
        .filter_map(|report| Some(report.report.err()?.to_string()))
        .collect();
    assert_eq!(broken.len(), 3, "{broken:?}");
    let names = "exchange parts of a collective with rank 2 at 127.0.0.1";
    assert!(broken.iter().any(|broken| broken == names), "{broken:?}");
}

#[test]
fn a_rank_whom_nobody_calls_ends_with_its_load() {
    let schedule = Schedule::new(Collective::Broadcast, 2, 1000).expect("a schedule");
    let waiting = MemberEnd::listen(&end(schedule, 1, [0, 1], 0)).expect("listen");
    let members = Member::gather(vec![waiting]).expect("all connections");
    for receipt in run(members, Nanos::from_millis(60), None).into_values().flat_map(receipts) {
        assert_eq!((receipt.messages, receipt.intervals), (0, vec![ByteCount(0); 2]));
    }
}

#[test]
fn what_is_no_part_of_a_collective_is_refused() {
    let refused = |flow: Exchange, expected: &str| {
        let schedule = Schedule::new(Collective::Broadcast, 2, 1).expect("a schedule");
        let end = End { flow, ..end(schedule, 1, [0, 1], 0) };
        for opened in [MemberEnd::listen(&end), MemberEnd::connect(&end)] {
            match opened {
                Err(FlowError::Unsuitable(why)) => assert!(why.contains(expected), "{why}"),
                other => panic!("{expected}: {other:?}"),
            }
        }
    };
    let collective = Collective::AllReduceRing;
    let of = |part: RankPair, message: u64| {
        let schedule = Schedule::new(Collective::Broadcast, 2, 1).expect("a schedule");
        let collective = Some(part);
        Exchange { message: ByteCount(message), collective, ..end(schedule, 1, [0, 1], 0).flow }
    };
    let part = |ranks, from, to| RankPair { collective, ranks, from, to };
    refused(of(part(1025, 0, 1), 8), "among 1025 ranks: 2 to 1024 are possible");
    refused(of(part(8, 0, 1), (1 << 30) + 1), "1 octet to 1 GiB is possible");
    refused(of(part(8, 3, 3), 8), "as ranks 3 and 3");
    refused(of(part(8, 3, 8), 8), "as ranks 3 and 8");
    let carrier = Carrier::Datagrams { credits: 8 };
    refused(Exchange { carrier, ..of(part(8, 0, 1), 8) }, "its carrier is tcp");
    refused(Exchange { interval: Nanos::ZERO, ..of(part(8, 0, 1), 8) }, "summed up every 0 ns");
    refused(Exchange { collective: None, ..of(part(8, 0, 1), 8) }, "no collective");
}

/// A thousand ranks named to hosts that have the connections of eight.
#[test]
fn a_rank_without_all_its_connections_is_refused() {
    let schedule = Schedule::new(Collective::AllReduceRing, 1000, 8).expect("a schedule");
    let waiting = MemberEnd::listen(&end(schedule, 1, [0, 1], 0)).expect("listen");
    let refused = Member::gather(vec![waiting]).expect_err("rank 1 has other peers");
    assert_eq!(
        refused.to_string(),
        "carry out allreduce:ring as rank 1 of 1000: 0 connections to rank 2, which needs 1"
    );
    let schedule = Schedule::new(Collective::Broadcast, 2, 8).expect("a schedule");
    let twice = [1, 2].map(|flow| MemberEnd::listen(&end(schedule, flow, [0, 1], 0)));
    let twice = twice.into_iter().map(|end| end.expect("listen")).collect();
    let refused = Member::gather(twice).expect_err("two connections").to_string();
    assert!(refused.ends_with("2 connections to rank 0, which needs 1"), "{refused}");
}
