//! The counting program judges frames one by one, and says what the tracker says that every other
//! receiver uses.

use std::net::{SocketAddr, UdpSocket};

use measure::sequence::SequenceTracker;
use wire::{MacAddr, UdpEndpoints, UdpFrame};

use super::{Asked, IDENTITY, cable, receiver_spec};
use crate::unfit::Unfit;
use crate::xdp::counter::Counter;
use crate::{End, Halt, Identity, Window, clock};

/// The same arrivals, told to the program and to the tracker that every other receiver uses.
#[test]
fn the_program_counts_as_the_tracker_does() {
    let Some(cable) = cable() else { return };
    let asked = Asked { frames: "64*2,128".parse().expect("a mix"), ..Asked::default() };
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let ends = UdpEndpoints {
        source_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddr([2, 0, 0, 0, 0, 2]),
        source: SocketAddr::new(from, 1_000),
        destination: SocketAddr::new(to, 2_000),
    };
    let build = |ends: &UdpEndpoints, flow: u16, octets: usize| {
        UdpFrame::new(ends, None, IDENTITY.token, flow, octets).expect("a frame")
    };
    for seed in 0..20_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let limit = 1 + draw(300);
        let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve");
        let mut spec = receiver_spec(&asked, to, from);
        spec.flow.limit = limit;
        // Perhaps of more conversations than there are numbers.
        spec.flow.spread().source_ports = 1 + (seed % 8) as u16;
        spec.flow.asked.conversations = true;
        let (counter, _) = cable.inside("h2", || Counter::bind(&spec, &reserved)).expect("bind");
        let conversations = spec.flow.spread().conversations();
        let mut tracker = SequenceTracker::of_conversations(limit, conversations);
        let (mut malformed, mut foreign) = (0, 0);
        for _ in 0..draw(500) {
            let number = draw(limit + 3);
            let right = asked.frames.at(number).octets_without_fcs() as usize;
            let (ends, flow, octets, verdict) = match draw(20) {
                0 => (UdpEndpoints { source: ends.destination, ..ends }, IDENTITY.flow, right, 1),
                1 => (ends, IDENTITY.flow, right + 1, 1),
                2 => (ends, IDENTITY.flow + 1, right, 2),
                _ => (ends, IDENTITY.flow, right, 1),
            };
            let mut frame = build(&ends, flow, octets);
            frame.stamp(number as u32, 1);
            assert_eq!(counter.judge(frame.octets()).expect("run the program"), verdict);
            match (verdict, ends.source.ip() == from, octets == right) {
                (2, ..) => {}
                (_, false, _) => foreign += 1,
                (_, _, false) => malformed += 1,
                _ => drop(tracker.arrive(number)),
            }
        }
        let now = clock::monotonic();
        let report = counter.run(Window { start: now, stop: now, closed: now }, &Halt::new());
        let report = report.expect("report");
        assert_eq!(report.received, tracker.counts(), "seed {seed}, limit {limit}");
        assert_eq!(report.conversations, tracker.conversations(), "seed {seed}, limit {limit}");
        assert_eq!((report.rejected.malformed, report.rejected.foreign), (malformed, foreign));
    }
}

#[test]
fn flows_that_share_an_interface_are_counted_apart_until_it_is_full() {
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let ends = UdpEndpoints {
        source_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddr([2, 0, 0, 0, 0, 2]),
        source: SocketAddr::new(from, 1_000),
        destination: SocketAddr::new(to, 2_000),
    };
    let bind = |flow| {
        let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve");
        let identity = Identity { flow, ..IDENTITY };
        let mut spec = End { identity, ..receiver_spec(&asked, to, from) };
        spec.flow.limit = 100;
        cable.inside("h2", || Counter::bind(&spec, &reserved)).map(|(counter, _)| counter)
    };
    let mut counters = Vec::new();
    for flow in 0..65 {
        match bind(flow) {
            Ok(counter) => counters.push((flow, counter)),
            // Numbers that share a hash crowd one another before all places are taken.
            Err(Unfit::NotHere(why)) => assert!(why.contains("too many flows"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert!((32..=64).contains(&counters.len()), "{} flows found a place", counters.len());
    for (flow, counter) in &counters {
        for number in 0..=u32::from(*flow) {
            let octets = asked.frames.at(0).octets_without_fcs() as usize;
            let mut frame =
                UdpFrame::new(&ends, None, IDENTITY.token, *flow, octets).expect("a frame");
            frame.stamp(number, 1);
            assert_eq!(counter.judge(frame.octets()).expect("run the program"), 1);
        }
    }
    for (flow, counter) in counters {
        let now = clock::monotonic();
        let window = Window { start: now, stop: now, closed: now };
        let report = counter.run(window, &Halt::new()).expect("report");
        assert_eq!(report.received.unique, u64::from(flow) + 1);
        assert_eq!(report.received.duplicated + report.rejected.foreign, 0);
    }
    assert!(bind(0).is_ok(), "places come back");
}

#[test]
fn two_processors_count_one_flow_exactly() {
    const EACH: u32 = 20_000;
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let ends = UdpEndpoints {
        source_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddr([2, 0, 0, 0, 0, 2]),
        source: SocketAddr::new(from, 1_000),
        destination: SocketAddr::new(to, 2_000),
    };
    let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve");
    let spec = receiver_spec(&asked, to, from);
    let (counter, _) = cable.inside("h2", || Counter::bind(&spec, &reserved)).expect("bind");
    std::thread::scope(|scope| {
        for processor in 0..2 {
            let (counter, frames) = (&counter, &asked.frames);
            scope.spawn(move || {
                crate::affinity::pin(Some(processor)).expect("pin");
                let octets = frames.at(0).octets_without_fcs() as usize;
                let mut frame = UdpFrame::new(&ends, None, IDENTITY.token, IDENTITY.flow, octets)
                    .expect("a frame");
                for number in 0..EACH {
                    // Words of the bitmap are shared; some numbers come from both, and often.
                    for number in [2 * number + processor as u32, 8 * (number / 8)] {
                        frame.stamp(number, 1);
                        assert_eq!(counter.judge(frame.octets()).expect("run the program"), 1);
                    }
                }
            });
        }
    });
    let now = clock::monotonic();
    let report = counter.run(Window { start: now, stop: now, closed: now }, &Halt::new());
    let received = report.expect("report").received;
    assert_eq!(received.unique, u64::from(2 * EACH));
    assert_eq!(received.unique + received.duplicated, u64::from(4 * EACH));
    assert_eq!((received.highest, received.last_missing), (Some(u64::from(2 * EACH) - 1), None));
}
