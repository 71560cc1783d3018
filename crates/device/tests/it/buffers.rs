//! What a buffer holds, frame for frame: own queues, shared ones, cells, PAUSE.
//!
//! Each truth is the arithmetic of docs/methods/buffer.md.

use crate::rig::{Load, assert_conserved, run, total};
use device::profile::{Buffer, Device, Group, Mode};
use device::{Cause, Edge, Profile};
use measure::{ByteCount, Nanos, Rate};

const GIGABIT: Rate = Rate(1_000_000_000);

fn with_buffer(ports: u16, buffer: Buffer) -> Profile {
    let mut device = Device::plain("s", ports, GIGABIT);
    device.buffer = buffer;
    Profile::of_device(device)
}

fn own(size: u64, cell: u32) -> Buffer {
    Buffer { size: ByteCount(size), reserved: ByteCount(0), alpha: None, cell }
}

fn shared(size: u64, alpha: f64, cell: u32) -> Buffer {
    Buffer { size: ByteCount(size), reserved: ByteCount(0), alpha: Some(alpha), cell }
}

/// How many frames of a burst from two ports at once get through to a third.
fn through(profile: &Profile, octets: u32, frames: u64) -> u64 {
    let loads =
        [Load::new(0, 2, octets, frames, GIGABIT), Load::new(1, 2, octets, frames, GIGABIT)];
    let (network, book) = run(profile, &loads, 1);
    assert_conserved(&network);
    assert_eq!(network.standing().octets, 0);
    book.delivered_at(2)
}

#[test]
fn the_longest_burst_without_loss_tells_the_buffer() {
    // B = N (1 - r_out / r_in): at 2:1 half of a burst stands in the buffer when it ends.
    for (octets, room) in [(64, 100), (512, 1000), (1518, 690), (9018, 50)] {
        let profile = with_buffer(3, own(u64::from(octets) * room, 1));
        let (mut longest, mut lossy) = (1, 4 * room);
        while lossy - longest > 1 {
            let burst = longest.midpoint(lossy);
            if through(&profile, octets, burst) == 2 * burst {
                longest = burst;
            } else {
                lossy = burst;
            }
        }
        let implied = (2 * longest) as f64 * (1.0 - 0.5);
        assert!((implied - room as f64).abs() <= 1.0, "{octets}: {implied} of {room}");
        // One burst that is far too long: B = received - r_out T.
        let frames = 3 * room;
        let received = through(&profile, octets, frames);
        assert!((received - frames).abs_diff(room) <= 1, "{octets}: {received}");
    }
}

#[test]
fn a_frame_takes_whole_cells() {
    let (cell, size) = (256, 256 * 400);
    let profile = with_buffer(3, own(size, cell));
    for octets in [64, 65, 128, 129, 256, 257, 512, 1518] {
        let frames = 3 * size / u64::from(octets);
        let held = through(&profile, octets, frames) - frames;
        let cells = u64::from(octets.div_ceil(cell));
        assert!(held.abs_diff(400 / cells) <= 1, "{octets}: {held} of {}", 400 / cells);
    }
}

#[test]
fn congested_ports_share_the_buffer_by_alpha() {
    // Q_n = alpha B / (1 + n alpha), for n outputs that two inputs each overload.
    let (size, octets) = (1_000_000, 500);
    for (alpha, n) in [(1.0, 1), (1.0, 3), (0.5, 4), (4.0, 2)] {
        let profile = with_buffer(12, shared(size, alpha, 1));
        let frames = 3 * size / u64::from(octets);
        let pair = |out: u16| [4 + 2 * out, 5 + 2 * out].map(|from| (from, out));
        let flows: Vec<(u16, u16)> = (0..n).flat_map(pair).collect();
        let loads: Vec<Load> =
            flows.iter().map(|(from, to)| Load::new(*from, *to, octets, frames, GIGABIT)).collect();
        let (_, book) = run(&profile, &loads, 2);
        let expected = alpha * size as f64 / (1.0 + f64::from(n) * alpha);
        for out in 0..n {
            // What came beyond the wire's own stood in the buffer when the burst ended.
            let held = (book.delivered_at(out) - frames) * u64::from(octets);
            let off = (held as f64 - expected).abs();
            assert!(
                off <= 2.0 * f64::from(octets) * (1.0 + alpha * f64::from(n)),
                "{alpha} {n}: {held} {expected}"
            );
        }
    }
}

#[test]
fn pause_loses_nothing() {
    for buffer in [own(200_000, 1), shared(500_000, 1.0, 1), shared(500_000, 0.25, 208)] {
        for (mode, delay) in [(Mode::StoreAndForward, 0), (Mode::CutThrough, 5000)] {
            let mut device = Device::plain("s", 5, GIGABIT);
            (device.buffer, device.mode, device.pause) = (buffer, mode, true);
            (device.latency, device.link_delay) = (Nanos(2000), Nanos(delay));
            device.max_frame = 1518;
            let loads: Vec<Load> =
                (0..4).map(|from| Load::new(from, 4, 1518, 3000, GIGABIT)).collect();
            let profile = Profile::of_device(device.clone());
            let (network, book) = run(&profile, &loads, 5);
            assert_eq!(book.dropped, [], "{buffer:?} {mode:?}");
            assert_eq!(book.delivered.len(), 12_000);
            assert!(book.pauses > 0 && book.paused.iter().all(|paused| !paused));
            assert_conserved(&network);
            assert_eq!(total(&network).pauses, book.pauses);
            for from in 0..4 {
                let counts = network.counts(Edge(from));
                assert_eq!(counts.paused, book.waited(from), "{buffer:?} {mode:?}");
                // Everybody is served at the same time, not one after the other.
                let half = book.delivered.iter().take(6000);
                let share = half.filter(|(_, _, frame)| frame.tag == u64::from(from)).count();
                assert!((1200..=1800).contains(&share), "{from}: {share}");
            }
            device.pause = false;
            let (_, book) = run(&Profile::of_device(device), &loads, 5);
            assert!(book.dropped.iter().any(|(_, _, cause)| *cause == Cause::QueueFull));
        }
    }
}

#[test]
fn pause_loses_nothing_before_an_uplink_or_behind_a_cable() {
    let mut device = Device::plain("s", 24, GIGABIT);
    (device.pause, device.max_frame) = (true, 1518);
    device.buffer = shared(2_000_000, 1.0, 1);
    device.groups = (0..2)
        .map(|g| Group {
            ports: (12 * g..12 * g + 12).collect(),
            uplink: Some(Rate(5 * GIGABIT.0)),
        })
        .collect();
    let loads: Vec<Load> = (0..12).map(|i| Load::new(i, 12 + i, 1518, 5000, GIGABIT)).collect();
    let (network, book) = run(&Profile::of_device(device.clone()), &loads, 5);
    assert_eq!((book.dropped.len(), book.delivered.len()), (0, 60_000));
    assert!(book.pauses > 0);
    assert_conserved(&network);
    // In a row the second switch makes the first one's port pause, and that one its hosts.
    device.groups.truncate(1);
    (device.groups[0].ports, device.groups[0].uplink) = ((0..24).collect(), None);
    let profile = Profile::in_a_row(vec![device.clone(), device], GIGABIT, Nanos(1000));
    let loads: Vec<Load> = (0..4)
        .map(|from| Load::new(from, 30, 1518, 3000, GIGABIT))
        .chain([Load::new(31, 30, 1518, 3000, GIGABIT)])
        .collect();
    let (network, book) = run(&profile, &loads, 5);
    assert_eq!((book.dropped.len(), book.delivered.len()), (0, 15_000));
    assert_conserved(&network);
}
