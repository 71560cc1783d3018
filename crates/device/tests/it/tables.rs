//! Who gets a frame: learning, capacity, ageing, flooding; a router's routes; a software device's
//! limit.
//!
//! Owns scenes of a few frames each.

use crate::rig::{Book, Load, assert_conserved, frame, run, total};
use device::profile::{Device, Group, Kind, MacTable, Policer, Stalls};
use device::{Cause, Edge, Event, Mac, Network, PortAddress, Profile};
use measure::{Nanos, Picos, Rate};

const GIGABIT: Rate = Rate(1_000_000_000);
const SECOND: Picos = Picos(1_000_000_000_000);

fn switch(ports: u16, change: impl Fn(&mut Device)) -> Network {
    let mut device = Device::plain("s", ports, GIGABIT);
    change(&mut device);
    Network::new(&Profile::of_device(device), 1)
}

/// Submits one frame and waits for all that comes of it.
fn one(network: &mut Network, now: Picos, from: u16, source: Mac, destination: Mac) -> Book {
    let mut book = Book::default();
    let frame = device::Frame { octets: 64, source, destination, target: None, tag: 0 };
    network.submit(now, Edge(from), frame);
    network.advance(now + Picos(SECOND.0 / 1000), &mut |event| book.note(event));
    assert_conserved(network);
    book
}

fn places(book: &Book) -> Vec<u16> {
    let mut edges: Vec<u16> = book.delivered.iter().map(|(_, edge, _)| *edge).collect();
    edges.sort_unstable();
    edges
}

#[test]
fn the_unknown_is_flooded_and_the_known_is_not() {
    let mut network = switch(5, |_| ());
    let (a, b) = (Mac(0x02_0000), Mac(0x02_0001));
    let book = one(&mut network, SECOND, 1, a, b);
    assert_eq!((places(&book), book.copied), (vec![0, 2, 3, 4], 3));
    let book = one(&mut network, Picos(2 * SECOND.0), 3, b, a);
    assert_eq!((places(&book), book.copied), (vec![1], 0));
    let book = one(&mut network, Picos(3 * SECOND.0), 1, a, b);
    assert_eq!(places(&book), [3]);
    for (at, group) in [(4, Mac::BROADCAST), (5, Mac(0x0100_5e00_0001))] {
        let book = one(&mut network, Picos(at * SECOND.0), 0, Mac(9), group);
        assert_eq!(places(&book), [1, 2, 3, 4]);
    }
    // To where it came from: nobody else may have it.
    let book = one(&mut network, Picos(6 * SECOND.0), 1, Mac(10), a);
    assert_eq!(book.dropped[0].2, Cause::SamePort);
    assert_eq!((network.counts(Edge(1)).copies, network.counts(Edge(0)).copies), (3, 6));
}

#[test]
fn flooding_crosses_each_uplink_once() {
    let mut network = switch(6, |device| {
        let group = |ports: &[u16], uplink| Group { ports: ports.to_vec(), uplink };
        device.groups = vec![
            group(&[0, 1], Some(GIGABIT)),
            group(&[2, 3], Some(GIGABIT)),
            group(&[4, 5], None),
        ];
    });
    let book = one(&mut network, SECOND, 0, Mac(2), Mac(4));
    assert_eq!((places(&book), book.copied), (vec![1, 2, 3, 4, 5], 4));
    let sum = total(&network);
    assert_eq!((sum.entered, sum.copies, sum.delivered, sum.dropped), (1, 4, 5, 0));
}

#[test]
fn stations_are_forgotten_when_they_age() {
    let mut network = switch(3, |device| device.mac_table.age = Nanos::from_secs(10));
    one(&mut network, SECOND, 0, Mac(2), Mac(2));
    let book = one(&mut network, Picos(10 * SECOND.0), 1, Mac(4), Mac(2));
    assert_eq!(places(&book), [0]);
    let book = one(&mut network, Picos(12 * SECOND.0), 1, Mac(4), Mac(2));
    assert_eq!(places(&book), [0, 2], "it was heard eleven seconds ago");
}

#[test]
fn a_table_holds_what_it_holds() {
    // RFC 2889 §5.7's arrangement: teach N addresses at one port, then send to each from another.
    for (stations, flooded) in [(100, 0), (101, 1), (150, 50)] {
        let table = MacTable { entries: 101, learn_rate: 0, age: Nanos::from_secs(300) };
        let mut network = switch(3, |device| device.mac_table = table);
        let mut now = SECOND;
        one(&mut network, now, 0, Mac(0x0200_0000), Mac(0x0200_0000));
        for station in 0..stations {
            now += SECOND;
            one(&mut network, now, 1, Mac(station), Mac(0x0200_0000));
        }
        let mut monitor = 0;
        for station in 0..stations {
            now += Picos(SECOND.0 / 100);
            let book = one(&mut network, now, 0, Mac(0x0200_0000), Mac(station));
            monitor += book.delivered_at(2);
        }
        assert_eq!(monitor, flooded, "{stations} stations");
    }
}

#[test]
fn a_router_rewrites_addresses_and_knows_its_ways() {
    let mut device = Device::plain("r", 4, GIGABIT);
    device.kind = Kind::Router;
    let profile = Profile::of_device(device);
    let plan: Vec<PortAddress> =
        (0..4).map(|edge| profile.port_address(Edge(edge)).expect("a router")).collect();
    let mut network = Network::new(&profile, 1);
    let mut now = SECOND;
    let mut check = |to: Mac, target: Option<[u8; 4]>, expected: Option<u16>| {
        now += SECOND;
        let frame = device::Frame {
            octets: 64,
            source: plan[0].host,
            destination: to,
            target: target.map(Into::into),
            tag: 1,
        };
        network.submit(now, Edge(0), frame);
        let mut book = Book::default();
        network.advance(now + SECOND, &mut |event| book.note(event));
        match expected {
            None => assert_eq!(book.dropped[0].2, Cause::NoRoute),
            Some(edge) => {
                let (_, at, frame) = book.delivered[0];
                let port = &plan[usize::from(edge)];
                assert_eq!((at, frame.source, frame.destination), (edge, port.own, port.host));
            }
        }
    };
    let own = plan[0].own;
    check(own, Some(plan[2].address.octets()), Some(2));
    check(own, Some([198, 19, 104, 77]), Some(3));
    check(own, Some([198, 18, 1, 2]), Some(0));
    check(own, Some([10, 0, 0, 1]), None);
    check(own, None, None);
    check(plan[1].own, Some(plan[2].address.octets()), None);
    check(Mac::BROADCAST, Some(plan[2].address.octets()), None);
    let mut other = plan.clone();
    other[1].routes = vec![([10, 0, 0, 0].into(), 8)];
    network.set_addresses(&other);
    let frame = device::Frame {
        octets: 64,
        source: plan[0].host,
        destination: own,
        target: Some([10, 1, 2, 3].into()),
        tag: 1,
    };
    network.submit(now + SECOND, Edge(0), frame);
    let mut book = Book::default();
    network.advance(now + SECOND + SECOND, &mut |event| book.note(event));
    assert_eq!(places(&book), [1]);
}

#[test]
fn a_software_device_forwards_its_packets_a_second() {
    let mut device = Device::plain("r", 2, GIGABIT);
    (device.pps_limit, device.pps_queue) = (400_000, 256);
    // Line rate at 64 octets is 1,488,095 frames a second: 200 ms of it.
    let frames = 297_619;
    let loads = [Load::new(0, 1, 64, frames, GIGABIT)];
    let (_, book) = run(&Profile::of_device(device), &loads, 1);
    let got = book.delivered.len() as u64;
    assert!(got.abs_diff(80_000 + 257) <= 2, "{got}");
    assert!(book.dropped.iter().all(|(_, _, cause)| *cause == Cause::Overrun));
}

#[test]
fn a_policer_lets_its_bucket_and_then_its_rate_pass_and_nothing_waits() {
    let mut device = Device::plain("p", 2, GIGABIT);
    device.policer = Some(Policer { pps: 100_000, burst: 5_000, only_groups: false });
    // 200 ms of line rate at 64 octets.
    let loads = [Load::new(0, 1, 64, 297_619, GIGABIT)];
    let (_, book) = run(&Profile::of_device(device.clone()), &loads, 1);
    let got = book.delivered.len() as u64;
    assert!(got.abs_diff(5_000 + 20_000) <= 2, "{got}");
    assert!(book.dropped.iter().all(|(_, _, cause)| *cause == Cause::Policed));
    // Storm control has nothing against frames that are for one station.
    device.policer = Some(Policer { pps: 100_000, burst: 5_000, only_groups: true });
    let (_, book) = run(&Profile::of_device(device), &loads, 1);
    assert!(book.dropped.is_empty());
}

#[test]
fn loss_is_as_often_as_said() {
    let mut device = Device::plain("s", 2, GIGABIT);
    device.loss = 0.01;
    let (_, book) = run(&Profile::of_device(device), &[Load::new(0, 1, 64, 100_000, GIGABIT)], 4);
    let lost = book.dropped.len();
    // Binomial: 1000 expected, a standard deviation of 31.
    assert!((850..=1150).contains(&lost), "{lost}");
    assert!(book.dropped.iter().all(|(_, _, cause)| *cause == Cause::Random));
}

#[test]
fn a_stall_holds_everything_up_for_its_length() {
    let mut device = Device::plain("s", 2, GIGABIT);
    device.stalls = Some(Stalls { per_second: 20.0, length: Nanos::from_millis(2) });
    // A frame each 100 us for ten seconds: some 200 stalls, the longest wait 2 ms.
    let loads = [Load::new(0, 1, 64, 100_000, Rate(6_720_000))];
    let (_, book) = run(&Profile::of_device(device), &loads, 4);
    assert_eq!(book.delivered.len(), 100_000);
    let gaps = book.delivered.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let stalls: Vec<Picos> = gaps.filter(|gap| gap.0 > 1_000_000_000).collect();
    assert!((140..=260).contains(&stalls.len()), "{}", stalls.len());
    assert!(stalls.iter().all(|gap| gap.0 <= 2_100_000_000));
}

#[test]
fn a_reset_forgets_and_drops() {
    let mut network = switch(3, |_| ());
    one(&mut network, SECOND, 1, Mac(4), Mac(4));
    let now = Picos(2 * SECOND.0);
    for nth in 0..10 {
        network.submit(now + Picos(nth * 20_000_000), Edge(0), frame(0, 7, 1518, nth));
    }
    let mut book = Book::default();
    network.reset(now + Picos(100_000_000), &mut |event| book.note(event));
    assert_eq!(network.standing(), device::Standing::default());
    assert!(book.dropped.iter().any(|(_, _, cause)| *cause == Cause::Reset));
    assert_conserved(&network);
    assert_eq!(network.next(), None);
    let book = one(&mut network, Picos(3 * SECOND.0), 0, Mac(2), Mac(4));
    assert_eq!(places(&book), [1, 2], "it has forgotten port 1's station");
}

#[test]
fn a_port_without_a_link_takes_what_is_on_it_and_a_black_hole_what_leaves() {
    let mut network = switch(3, |_| ());
    one(&mut network, SECOND, 1, Mac(4), Mac(4));
    let now = Picos(2 * SECOND.0);
    // Ten frames back to back from port 0 to port 1's station: some on the way, some waiting.
    let send = |network: &mut Network, now: Picos| {
        for nth in 0..10 {
            let (at, sent) = (Picos(nth * 12_304_000), frame(0, 7, 1518, nth));
            network.advance(now + at, &mut |_| ());
            let sent = device::Frame { destination: Mac(4), ..sent };
            network.submit(now + at, Edge(0), sent);
        }
    };
    send(&mut network, now);
    let mut book = Book::default();
    network.advance(now + Picos(100_000_000), &mut |event| book.note(event));
    network.set_link(Edge(1), false, &mut |event| book.note(event));
    let lost_at_once = book.dropped.len();
    assert!(lost_at_once > 0 && book.dropped.iter().all(|(.., why)| *why == Cause::LinkDown));
    assert_conserved(&network);
    network.advance(now + Picos(SECOND.0 / 2), &mut |event| book.note(event));
    // Its station is forgotten: the others are asked, and it is not.
    let later = one(&mut network, Picos(3 * SECOND.0), 0, Mac(2), Mac(4));
    assert_eq!((places(&later), later.dropped.len()), (vec![2], 1));
    network.set_link(Edge(1), true, &mut |event| book.note(event));
    one(&mut network, Picos(4 * SECOND.0), 1, Mac(4), Mac(4));
    network.set_blackhole(Edge(1), true);
    let swallowed = one(&mut network, Picos(5 * SECOND.0), 0, Mac(2), Mac(4));
    assert_eq!(places(&swallowed), [0_u16; 0]);
    assert!(matches!(swallowed.dropped[..], [(_, _, Cause::Blackholed)]), "{swallowed:?}");
    network.set_blackhole(Edge(1), false);
    assert_eq!(places(&one(&mut network, Picos(6 * SECOND.0), 0, Mac(2), Mac(4))), [1]);
    assert_conserved(&network);
    assert_eq!(network.standing(), device::Standing::default());
}

#[test]
fn the_same_seed_gives_the_same_events_however_time_passes() {
    let mut device = Device::plain("s", 4, GIGABIT);
    device.loss = 0.01;
    device.stalls = Some(Stalls { per_second: 500.0, length: Nanos::from_micros(50) });
    let profile = Profile::of_device(device);
    let play = |seed: u64, step: Option<u64>| {
        let mut network = Network::new(&profile, seed);
        let mut events: Vec<Event> = Vec::new();
        for nth in 0..2000_u64 {
            let now = Picos(nth * 12_304_000);
            if step.is_some() {
                network.advance(now, &mut |event| events.push(event));
            }
            for from in 0..3 {
                network.submit(now, Edge(from), frame(from, 3, 1518, nth));
            }
        }
        let end = 2001 * 12_304_000 + SECOND.0;
        let mut now = 2000 * 12_304_000;
        while let Some(step) = step.filter(|_| now < end) {
            now += step;
            network.advance(Picos(now), &mut |event| events.push(event));
        }
        network.advance(Picos(end), &mut |event| events.push(event));
        assert_conserved(&network);
        events
    };
    let first = play(1, None);
    assert_eq!(first, play(1, Some(777_777)));
    assert_eq!(first, play(1, Some(50_000_000_000)));
    assert_ne!(first, play(2, None));
}
