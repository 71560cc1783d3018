//! How fast the model turns: frames and packet events a second on one core, and what a port costs.
//!
//! Asserts no time; prints, when asked: `cargo test -p device --release --test it speed:: --
//! --ignored --nocapture`. A frame through one switch is three packet events: it enters, joins its
//! queue, and leaves.

use std::time::Duration;

use device::{Edge, Event, Frame, Mac, Network, Profile, profile};
use measure::{ByteCount, Picos, Rate};

const GIGABIT: Rate = Rate(1_000_000_000);
/// A 64-octet frame and its overhead.
const SLOT: u64 = 672_000;

/// The time that the kernel says this thread had a processor: what others do meanwhile counts
/// little.
fn timed(work: impl FnOnce()) -> Duration {
    let spent = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
        let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
        Duration::from_nanos(first.expect("a number of nanoseconds"))
    };
    let begin = spent();
    work();
    spent().saturating_sub(begin)
}

/// Every port sends line-rate frames of 64 octets to another one, out of step with each other.
fn turn(network: &mut Network, begin: u64, rounds: u64, count: &mut u64) -> u64 {
    let edges = network.edges();
    let frame = |from: u16, to: u16| Frame {
        octets: 64,
        source: profile::host_mac(Edge(from)),
        destination: profile::host_mac(Edge(to)),
        target: None,
        tag: u64::from(from),
    };
    let frames: Vec<Frame> = (0..edges).map(|from| frame(from, (from + 13) % edges)).collect();
    for round in 0..rounds {
        for from in 0..edges {
            let now = Picos(begin + round * SLOT + u64::from(from) * SLOT / u64::from(edges));
            network.advance(now, &mut |event| {
                *count += u64::from(matches!(event, Event::Delivered { .. }));
            });
            network.submit(now, Edge(from), frames[usize::from(from)]);
        }
    }
    begin + rounds * SLOT
}

fn measure(profile: &Profile) -> (f64, u64) {
    let mut network = Network::new(profile, 1);
    let mut delivered = 0;
    let frames = 6_000_000 / u64::from(network.edges());
    // Everybody is heard before it counts, one after the other: else floods would crowd out floods.
    let mut begin = 0;
    for from in 0..network.edges() {
        let (source, destination) = (profile::host_mac(Edge(from)), Mac::BROADCAST);
        let frame = Frame { octets: 64, source, destination, target: None, tag: 0 };
        network.submit(Picos(begin), Edge(from), frame);
        begin += 1_000_000_000;
        network.advance(Picos(begin), &mut |_| ());
    }
    let begin = turn(&mut network, begin, 100, &mut delivered);
    delivered = 0;
    let time = timed(|| {
        turn(&mut network, begin, frames, &mut delivered);
    });
    (delivered as f64 / time.as_secs_f64(), delivered)
}

#[test]
#[ignore = "a benchmark: run it in release, alone"]
fn frames_a_second_by_ports() {
    println!("| ports | frames/s | packet events/s | ns a frame | frames |");
    println!("|---|---|---|---|---|");
    for ports in [2, 16, 48, 96, 192, 384, 512, 1024] {
        let (rate, frames) = measure(&Profile::single(ports, GIGABIT));
        let (events, cost) = (3.0 * rate, 1e9 / rate);
        println!("| {ports} | {rate:.0} | {events:.0} | {cost:.0} | {frames} |");
    }
}

#[test]
#[ignore = "a benchmark: run it in release, alone"]
fn frames_a_second_through_a_backplane_and_a_fabric() {
    let mut device = profile::Device::plain("blocks", 48, GIGABIT);
    device.groups = (0..4)
        .map(|g| profile::Group {
            ports: (12 * g..12 * g + 12).collect(),
            uplink: Some(Rate(12_000_000_000)),
        })
        .collect();
    let fabrics = [
        ("48 ports", Profile::single(48, GIGABIT)),
        ("48 ports behind uplinks", Profile::of_device(device)),
        ("leaf-spine, 48 hosts", Profile::leaf_spine(4, 2, 12, GIGABIT, Rate(40_000_000_000))),
        ("fat tree, 1024 hosts", Profile::fat_tree(16, GIGABIT)),
    ];
    for (name, profile) in fabrics {
        // Small buffers: where paths collide it is not to be the cache that is measured.
        let (rate, frames) = measure(&profile.with_buffer(ByteCount(10_000)));
        println!("{name}: {rate:.0} frames/s of {frames}");
    }
}
