//! Several devices: a row, a fabric with several ways, a fat tree.
//!
//! Owns the proof that nothing loops, nothing comes twice, and shares are those of the cables.

use std::collections::BTreeMap;

use crate::rig::{self, Book, Load, assert_conserved, frame, mac, run, send, total};
use device::{Edge, Network, Profile};
use measure::{Picos, Rate};

const TEN: Rate = Rate(10_000_000_000);

/// Two switches with two hosts each, and one cable of 10 Gbit/s and 25 ms between them.
const ROW: &str = r#"
name = "row"
[[device]]
name = "sw1"
ports = 3
rate = "10Gbit"
buffer = { per_port = "1MB" }
[[device]]
name = "sw2"
ports = 3
rate = "10Gbit"
buffer = { per_port = "1MB" }
[[link]]
a = "sw1/3"
b = "sw2/3"
delay = "25ms"
"#;

#[test]
fn two_flows_share_the_cable_between_two_switches() {
    let profile = Profile::parse(ROW, &|_| Err(String::new())).expect("a row");
    let frames = 20_000;
    let octets = 9018;
    let loads = [
        Load::new(0, 2, octets, frames, TEN),
        Load::new(1, 3, octets, frames, Rate(5_000_000_000)),
    ];
    let (network, book) = run(&profile, &loads, 1);
    assert_conserved(&network);
    // While both send, 15 Gbit/s are offered to 10: a third is lost, once the buffer is full.
    let lost = book.dropped.len() as f64;
    let both = frames as f64 * 1.5;
    assert!((lost / both - 1.0 / 3.0).abs() < 0.01, "{lost} of {both}");
    let alone = run(&profile, &[Load::new(0, 2, octets, 100, TEN)], 1).1;
    assert_eq!(alone.delivered.len(), 100);
}

#[test]
fn a_row_delays_by_its_cables_and_stores() {
    let profile = Profile::parse(ROW, &|_| Err(String::new())).expect("a row");
    let mut network = Network::new(&profile, 1);
    let begin = rig::learn(&mut network, 0..4);
    let book = send(&mut network, &[Load::new(0, 2, 1518, 1, TEN)], begin);
    let once = Picos::to_send(1526, TEN);
    assert_eq!(book.delivered[0].0 - begin, Picos(25_000_000_000 + 3 * once.0));
    assert_eq!(book.delivered[0].1, 2);
}

/// Floods one frame from every edge, and gives what came where.
fn flood_all(network: &mut Network) -> Picos {
    let mut now = Picos(1_000_000_000_000);
    for from in 0..network.edges() {
        let mut book = Book::default();
        network.submit(now, Edge(from), frame(from, 60_000, 64, 0));
        now += Picos(1_000_000_000_000);
        network.advance(now, &mut |event| book.note(event));
        assert_eq!(network.next(), None, "a frame goes round and round");
        let mut places: Vec<u16> = book.delivered.iter().map(|(_, edge, _)| *edge).collect();
        places.sort_unstable();
        let others: Vec<u16> = (0..network.edges()).filter(|edge| *edge != from).collect();
        assert_eq!(places, others, "each host but the sender has it once");
        assert_eq!(book.dropped, []);
    }
    assert_conserved(network);
    now
}

#[test]
fn a_fabric_floods_once_and_uses_all_its_ways() {
    let profile = Profile::leaf_spine(4, 2, 8, TEN, Rate(40_000_000_000));
    let mut network = Network::new(&profile, 1);
    let now = flood_all(&mut network);
    // Everybody to everybody of another leaf, each pair a flow.
    let edges = network.edges();
    let pairs: Vec<(u16, u16)> = (0..edges)
        .flat_map(|a| (0..edges).filter(move |b| a / 8 != b / 8).map(move |b| (a, b)))
        .collect();
    let loads: Vec<Load> =
        pairs.iter().map(|(a, b)| Load::new(*a, *b, 1518, 5, Rate(400_000_000))).collect();
    let book = send(&mut network, &loads, now);
    assert_eq!((book.delivered.len(), book.copied), (5 * pairs.len(), 0));
    let mut last: BTreeMap<u64, Picos> = BTreeMap::new();
    for (at, edge, frame) in &book.delivered {
        assert_eq!(mac(*edge), frame.destination);
        assert!(last.insert(frame.tag, *at).is_none_or(|before| before < *at));
    }
    assert_conserved(&network);
}

#[test]
fn a_hash_spreads_flows_over_equal_ways() {
    // One leaf's 8 hosts at 10 Gbit/s each, 16 flows up to two cables of 40: with both in use all
    // fit but for what an uneven hash costs; with one in use half would be lost.
    let profile = Profile::leaf_spine(2, 2, 8, TEN, Rate(40_000_000_000));
    let mut network = Network::new(&profile, 1);
    let now = flood_all(&mut network);
    let loads: Vec<Load> = (0..8)
        .flat_map(|a| [a, (a + 1) % 8].map(|b| Load::new(a, 8 + b, 1518, 20_000, Rate(TEN.0 / 2))))
        .collect();
    let book = send(&mut network, &loads, now);
    let share = book.delivered.len() as f64 / (16.0 * 20_000.0);
    assert!(share > 0.7, "{share}");
    assert_conserved(&network);
}

#[test]
fn a_fat_tree_carries_a_permutation() {
    let profile = Profile::fat_tree(4, TEN);
    assert_eq!(profile.edges(), 16);
    let mut network = Network::new(&profile, 1);
    let now = flood_all(&mut network);
    let loads: Vec<Load> =
        (0..16).map(|a| Load::new(a, (a + 5) % 16, 1518, 50, Rate(TEN.0 / 8))).collect();
    let book = send(&mut network, &loads, now);
    assert_eq!(book.delivered.len(), 16 * 50);
    assert_conserved(&network);
}

#[test]
fn a_fabrics_switches_each_choose_among_all_their_ways() {
    let profile = Profile::fat_tree(8, TEN);
    let mut network = Network::new(&profile, 1);
    let now = flood_all(&mut network);
    // A permutation at a quarter of the rate: a hash that used one way of four would lose frames.
    let edges = network.edges();
    let loads: Vec<Load> =
        (0..edges).map(|a| Load::new(a, (a + 37) % edges, 1518, 200, Rate(TEN.0 / 4))).collect();
    let book = send(&mut network, &loads, now);
    let sum = total(&network);
    assert!(book.dropped.len() * 50 < book.delivered.len(), "{sum:?}");
    assert_conserved(&network);
}
