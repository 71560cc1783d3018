//! What a switch lets through: line rate, oversubscription, latency by size.
//!
//! Each truth is arithmetic that anyone can redo.

use std::collections::BTreeMap;

use crate::rig::{self, Load, assert_conserved, run, total};
use device::profile::{Broken, Device, Group, HostCable, Mode};
use device::{Cause, Edge, Profile};
use measure::{ByteCount, Nanos, Picos, Rate};

const GIGABIT: Rate = Rate(1_000_000_000);

#[test]
fn two_ports_carry_line_rate_to_the_frame() {
    for octets in [64, 65, 512, 1518, 9018] {
        let profile = Profile::single(2, GIGABIT);
        let loads =
            [Load::new(0, 1, octets, 1000, GIGABIT), Load::new(1, 0, octets, 1000, GIGABIT)];
        let (network, book) = run(&profile, &loads, 1);
        assert_eq!(total(&network).dropped, 0);
        let times: Vec<Picos> =
            book.delivered.iter().filter(|(_, e, _)| *e == 1).map(|(at, _, _)| *at).collect();
        assert_eq!(times.len(), 1000);
        let slot = Picos::to_send(u64::from(octets) + 20, GIGABIT);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == slot), "{octets}");
        assert_conserved(&network);
    }
}

#[test]
fn a_port_has_its_cables_rate_and_a_broken_cable_loses_what_it_says() {
    let mut device = Device::plain("s", 6, GIGABIT);
    let cable = |rate, broken| HostCable { rate, broken, ..HostCable::default() };
    device.cables = BTreeMap::from([
        (0, cable(Some(Rate(10_000_000_000)), None)),
        (2, cable(None, Some(Broken::In))),
        (4, cable(None, Some(Broken::Out))),
    ]);
    let profile = Profile::of_device(device);
    assert_eq!(profile.edge_rate(Edge(0)), Rate(10_000_000_000));
    assert_eq!(profile.scaled(0.1).edge_rate(Edge(0)), GIGABIT);
    let fast = profile.edge_rate(Edge(0));
    // From the fast port to a slow one 690 frames more than the wire's tenth fit the buffer.
    let frames = 20_000;
    let (network, book) = run(&profile, &[Load::new(0, 1, 1518, frames, fast)], 7);
    let got = book.delivered_at(1);
    assert!(got.abs_diff(frames / 10 + (1 << 20) / 1518) <= 80, "{got}");
    assert_conserved(&network);
    for (from, to, arrives) in [(2, 3, false), (3, 2, true), (4, 5, true), (5, 4, false)] {
        let (network, book) = run(&profile, &[Load::new(from, to, 64, 100, GIGABIT)], 7);
        assert_eq!(book.delivered_at(to) == 100, arrives, "{from} to {to}");
        assert!(arrives || book.dropped.iter().any(|(_, _, why)| *why == Cause::Broken));
        assert_conserved(&network);
    }
}

#[test]
fn twice_the_rate_loses_half_and_from_both_alike() {
    let profile = Profile::single(3, GIGABIT);
    let frames = 200_000;
    let loads = [Load::new(0, 2, 1518, frames, GIGABIT), Load::new(1, 2, 1518, frames, GIGABIT)];
    let (network, book) = run(&profile, &loads, 7);
    // 1 MiB of buffer lets 690 frames more through than the wire.
    let extra = (1 << 20) / 1518;
    let got = book.delivered_at(2);
    assert!(got.abs_diff(frames + extra) <= 2, "{got}");
    for tag in [0, 1] {
        let share = book.delivered_of(tag) as f64 / frames as f64;
        assert!((share - 0.5).abs() < 0.01, "flow {tag}: {share}");
    }
    assert!(book.dropped.iter().all(|(_, _, cause)| *cause == Cause::QueueFull));
    assert_conserved(&network);
}

/// Groups of twelve behind uplinks.
fn blocks(ports: u16, uplink: Rate) -> Profile {
    let mut device = Device::plain("s", ports, GIGABIT);
    device.groups = (0..ports / 12)
        .map(|g| Group { ports: (12 * g..12 * g + 12).collect(), uplink: Some(uplink) })
        .collect();
    device.buffer.size = ByteCount(100_000);
    Profile::of_device(device)
}

#[test]
fn twelve_ports_behind_ten_gigabits_get_ten_twelfths() {
    let profile = blocks(24, Rate(10_000_000_000));
    let frames = 20_000;
    let across: Vec<Load> = (0..12).map(|i| Load::new(i, 12 + i, 1518, frames, GIGABIT)).collect();
    let (network, book) = run(&profile, &across, 3);
    let share = book.delivered.len() as f64 / (12 * frames) as f64;
    assert!((share - 10.0 / 12.0).abs() < 0.002, "{share}");
    for tag in 0..12 {
        let own = book.delivered_of(tag) as f64 / frames as f64;
        assert!((own - 10.0 / 12.0).abs() < 0.03, "flow {tag}: {own}");
    }
    assert!(book.dropped.iter().all(|(_, _, cause)| *cause == Cause::UplinkFull));
    assert_conserved(&network);
    let inside: Vec<Load> = (0..12).map(|i| Load::new(i, i ^ 1, 1518, frames, GIGABIT)).collect();
    let (_, book) = run(&profile, &inside, 3);
    assert_eq!(book.delivered.len() as u64, 12 * frames, "within a group nothing is lost");
    let ten: Vec<Load> = (0..10).map(|i| Load::new(i, 12 + i, 1518, frames, GIGABIT)).collect();
    let (_, book) = run(&profile, &ten, 3);
    assert_eq!(book.delivered.len() as u64, 10 * frames, "ten fit");
}

/// From the beginning at one host to the last bit at the other.
fn crossing(mode: Mode, latency: Nanos, octets: u32) -> Picos {
    let mut device = Device::plain("s", 2, GIGABIT);
    (device.mode, device.latency, device.link_delay) = (mode, latency, Nanos(500));
    let mut network = device::Network::new(&Profile::of_device(device), 1);
    let begin = rig::learn(&mut network, 0..2);
    let book = rig::send(&mut network, &[Load::new(0, 1, octets, 1, GIGABIT)], begin);
    book.delivered[0].0 - begin
}

#[test]
fn storing_costs_the_frame_twice_and_cutting_through_once() {
    for octets in [64, 1518, 9018] {
        let once = Picos::to_send(u64::from(octets) + 8, GIGABIT);
        let rest = Picos::from(Nanos(1000 + 3000));
        assert_eq!(crossing(Mode::StoreAndForward, Nanos(3000), octets), once + once + rest);
        assert_eq!(crossing(Mode::CutThrough, Nanos(3000), octets), once + rest);
    }
}
