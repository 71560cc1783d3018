//! What happens on hosts' cables: frames that come off them damaged, and hosts that are told to
//! wait.
//!
//! The truth is the events that the model gives its driver, frame for frame.

use std::collections::BTreeMap;

use crate::rig::{self, Book, Load, assert_conserved, run, send};
use device::profile::{Buffer, Damaged, Device, HostCable};
use device::{Cause, Edge, Network, PortCounts, Profile};
use measure::{ByteCount, Nanos, Picos, Rate};

const GIGABIT: Rate = Rate(1_000_000_000);

/// Port 1 damages what comes in, port 2 what goes out, port 4 nothing.
fn damaging(share: f64) -> Device {
    let mut device = Device::plain("s", 4, GIGABIT);
    let cable = |inward, outward| HostCable {
        damaged: Damaged { inward, outward },
        ..HostCable::default()
    };
    device.cables = BTreeMap::from([(0, cable(share, 0.0)), (1, cable(0.0, share))]);
    device
}

fn dropped(book: &Book, load: u64, cause: Cause) -> u64 {
    let of_load = book.dropped.iter().filter(|(_, frame, why)| frame.tag == load && *why == cause);
    of_load.count() as u64
}

#[test]
fn each_damaged_frame_is_counted_at_its_cable() {
    let (share, frames, seeds) = (0.02, 1000, 200);
    let mut all = 0;
    for seed in 0..seeds {
        let mut device = damaging(share);
        // So that frames are lost otherwise too: at random, and in a queue that is too short.
        device.loss = 0.01;
        device.buffer.size = ByteCount(20_000);
        device.link_delay = Nanos(if seed % 2 == 0 { 0 } else { 5_000 });
        let loads = [
            Load::new(0, 3, 512, frames, GIGABIT),
            Load::new(2, 1, 512, frames, GIGABIT),
            Load::new(3, 1, 512, frames, GIGABIT),
            Load::new(1, 2, 512, frames, GIGABIT),
        ];
        let mut network = Network::new(&Profile::of_device(device), seed);
        let begin = rig::learn(&mut network, 0..4);
        let before = [0, 1, 2, 3].map(|edge| network.counts(Edge(edge)));
        let book = send(&mut network, &loads, begin);
        assert_conserved(&network);
        let [from_first, to_second, from_fourth, back] =
            [0, 1, 2, 3].map(|load| dropped(&book, load, Cause::Damaged));
        let of = |edge: u16| network.counts(Edge(edge)).since(&before[usize::from(edge)]);
        let [first, second] = [of(0), of(1)];
        assert_eq!((first.damaged_in, first.damaged_out), (from_first, 0), "seed {seed}");
        let out = to_second + from_fourth;
        assert_eq!((second.damaged_in, second.damaged_out), (0, out), "seed {seed}");
        assert_eq!(back, 0, "seed {seed}");
        for edge in 2..4 {
            assert_eq!((of(edge).damaged_in, of(edge).damaged_out), (0, 0), "seed {seed}");
        }
        // What met a full queue is where it was to leave, what was lost before where it entered.
        for (edge, load) in [(0, 0), (2, 1), (3, 2), (1, 3)] {
            let lost = dropped(&book, load, Cause::Random);
            assert_eq!(of(edge).discarded(), lost, "seed {seed}, edge {edge}");
        }
        for (edge, loads) in [(3, &[0][..]), (1, &[1, 2]), (2, &[3])] {
            let full: u64 = loads.iter().map(|load| dropped(&book, *load, Cause::QueueFull)).sum();
            assert_eq!(of(edge).dropped_out, full, "seed {seed}, edge {edge}");
        }
        all += from_first;
    }
    let (n, expected) = ((frames * seeds) as f64, (frames * seeds) as f64 * share);
    let deviations = (all as f64 - expected) / (n * share * (1.0 - share)).sqrt();
    assert!(deviations.abs() < 5.0, "{all} of {n}: {deviations} standard deviations");
}

#[test]
fn a_cable_may_damage_all_or_nothing_and_draws_for_itself_alone() {
    let loads = [Load::new(0, 3, 64, 500, GIGABIT), Load::new(2, 1, 64, 500, GIGABIT)];
    let all = run(&Profile::of_device(damaging(1.0)), &loads, 3).1;
    assert_eq!((all.delivered.len(), all.dropped.len()), (0, 1000));
    let none = run(&Profile::of_device(damaging(0.0)), &loads, 3).1;
    assert_eq!((none.delivered.len(), none.dropped.len()), (1000, 0));
    // The same frames are lost at random beside a cable that damages some.
    let random = |share: f64| -> Vec<Picos> {
        let mut device = damaging(share);
        device.cables.remove(&0);
        device.loss = 0.1;
        let book = run(&Profile::of_device(device), &loads[1..], 3).1;
        let lost = book.dropped.iter().filter(|(_, _, why)| *why == Cause::Random);
        lost.map(|(at, _, _)| *at).collect()
    };
    assert_eq!(random(0.0), random(0.5));
}

/// Two hosts into one port, whose host pauses nobody.
fn pausing() -> Device {
    let mut device = Device::plain("s", 3, GIGABIT);
    device.buffer =
        Buffer { size: ByteCount(60_000), reserved: ByteCount(0), alpha: None, cell: 1 };
    (device.pause, device.max_frame) = (true, 1518);
    device
}

#[test]
fn a_host_waits_for_as_long_as_the_other_one_sends() {
    let frames = 4000;
    let loads = [0, 1].map(|from| Load::new(from, 2, 1518, frames, GIGABIT));
    let (network, book) = run(&Profile::of_device(pausing()), &loads, 1);
    assert_eq!(book.dropped, []);
    // The port is never idle, and so each waits while it is the other's; and a little longer, since
    // who is told to wait ends the frame that it has begun.
    let others = Picos(Picos::to_send(1538, GIGABIT).0 * frames);
    for from in 0..2 {
        let counts = network.counts(Edge(from));
        assert!(counts.pauses > 10, "{counts:?}");
        assert_eq!(counts.paused, book.waited(from));
        let share = counts.paused.as_secs_f64() / others.as_secs_f64();
        assert!((0.97..1.07).contains(&share), "{share}");
    }
    assert_eq!((network.counts(Edge(2)).pauses, network.counts(Edge(2)).paused), (0, Picos::ZERO));
}

#[test]
fn a_host_that_waits_is_counted_meanwhile_and_released_by_a_reset_or_its_link() {
    for by_link in [false, true] {
        let mut network = Network::new(&Profile::of_device(pausing()), 1);
        let begin = rig::learn(&mut network, 0..3);
        let loads = [0, 1].map(|from| Load::new(from, 2, 1518, 100, GIGABIT));
        // Until both have been told, and a little longer.
        let mut now = begin;
        let slot = Picos::to_send(1538, GIGABIT);
        let mut book = Book::default();
        while network.counts(Edge(0)).paused == Picos::ZERO {
            for load in loads {
                let frame = rig::frame(load.from, load.to, load.octets, 0);
                network.submit(now, Edge(load.from), frame);
            }
            now += slot;
            network.advance(now, &mut |event| book.note(event));
        }
        let before = network.counts(Edge(0));
        assert_eq!((before.pauses, before.since(&PortCounts::default())), (1, before));
        network.advance(now + Picos(1_000), &mut |event| book.note(event));
        let waited = network.counts(Edge(0)).since(&before).paused;
        assert_eq!(waited, Picos(1_000));
        if by_link {
            network.set_link(Edge(0), false, &mut |event| book.note(event));
        } else {
            network.reset(now + Picos(1_000), &mut |event| book.note(event));
            assert!(book.paused.iter().all(|paused| !paused));
        }
        let released = network.counts(Edge(0)).paused;
        network.advance(now + Picos(1_000_000_000_000), &mut |event| book.note(event));
        assert_eq!(network.counts(Edge(0)).paused, released);
        drop(send(&mut network, &[], now));
        assert_conserved(&network);
    }
}
