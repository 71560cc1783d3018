//! Fewer hosts than ports: the same groups, told in sittings between which cables are moved.
//!
//! Checks what is told against random devices, and the cables moved against the fewest there could
//! be. Seeds are printed. Never touches the network.

use method::{FabricSpec, Recabling};
use rand::SeedableRng as _;
use rand_pcg::Pcg64;

use super::bed::Floods;
use super::devices::Case;
use super::{Told, full, spec, told_by};

fn told(case: &Case, hosts: u32, seed: u64) -> Told {
    let ports = case.groups.iter().map(|group| group.len() as u32).sum();
    let recabling = Some(Recabling { hosts, ports });
    let spec = FabricSpec { arrangements: Vec::new(), recabling, ..spec() };
    let mut bed = Floods::bed(case.model(), seed);
    let told = told_by(spec, &mut bed, seed);
    let cabling = &bed.asked.last().expect("a trial").by_hand.cabling;
    let distinct = |at: usize| {
        let port = cabling[at].device_port;
        cabling.iter().filter(|cable| cable.device_port == port).count() == 1
    };
    assert!((0..hosts as usize).all(distinct), "one cable a port");
    told
}

/// Hosts, ports, groups and ports to uplink: wherever so few hosts can fill an uplink.
const DEVICES: [(u32, usize, usize, f64); 4] =
    [(8, 48, 4, 6.0), (8, 48, 4, 4.0), (8, 24, 3, 4.0), (8, 16, 2, 4.0)];

#[test]
fn few_hosts_tell_the_same_groups() {
    let seeds = if full() { 10 } else { 1 };
    let devices = if full() { &DEVICES[..] } else { &DEVICES[..1] };
    let (mut right, mut all) = (0, 0);
    for &(hosts, ports, groups, ratio) in devices {
        let (mut moves, mut floods) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            for scattered in if full() { vec![false, true] } else { vec![true] } {
                let mut chance = Pcg64::seed_from_u64(seed);
                let case = Case::of(ports, groups, ratio, (scattered, true), &mut chance);
                let told = told(&case, hosts, seed);
                all += 1;
                if told.groups.as_ref() == Some(&case.groups) {
                    right += 1;
                    moves.extend(told.moved);
                    floods.push(told.trials);
                    let wrong: Vec<_> = case.wrong_rates(&told.uplinks).collect();
                    assert!(wrong.is_empty(), "seed {seed}: {case}: {wrong:?}");
                } else {
                    println!("seed {seed}: {case}: {told:?}");
                }
            }
        }
        moves.sort_unstable();
        floods.sort_unstable();
        let (once, together) = Recabling { hosts, ports: ports as u32 }.least_moves();
        println!(
            "{hosts} hosts, {ports} ports in {groups} groups, ratio {ratio}: moved {moves:?}, at least {once} \
             to use each port and {together} to bring every two together; floods {floods:?}"
        );
        if let Some(most) = moves.last() {
            assert!(*most < u64::from(together), "{most} of {together}");
        }
    }
    println!("{right} of {all} right");
    assert!(f64::from(right) >= 0.9 * f64::from(all), "{right} of {all}");
}

#[test]
fn a_device_that_does_not_block_is_not_said_to() {
    for seed in 0..if full() { 20 } else { 1 } {
        let mut chance = Pcg64::seed_from_u64(seed);
        let case = Case::of(12, 2, 1.0, (true, true), &mut chance);
        let told = told(&case, 4, seed);
        assert_eq!(told.groups, None, "seed {seed}");
        assert_eq!(told.excess, None, "no promise of uplinks that four hosts can't fill");
    }
}

/// Nothing shows, whoever sits where: the answer comes before every two ports have sat together.
/// With four hosts at 12 ports that is after more cables than any plan for every two moves at
/// least, 20, and fewer than the greedy one moves, 28.
#[test]
fn where_nothing_shows_few_cables_are_moved() {
    for (hosts, ports, fewer_than) in [(8, 48, 158), (4, 12, 28), (6, 24, 53)] {
        let mut chance = Pcg64::seed_from_u64(3);
        let case = Case::of(ports, 4, 1.0, (true, true), &mut chance);
        let told = told(&case, hosts, 3);
        let (once, together) = Recabling { hosts, ports: ports as u32 }.least_moves();
        let moved = told.moved.expect("cables were moved");
        println!(
            "{hosts} hosts, {ports} ports: {moved} cables, where every two take at least {together}, and {} \
             floods; an uplink below {:?} ports' rate would have been seen",
            told.trials, told.uplink_seen
        );
        assert_eq!(told.groups, None);
        assert!(moved >= u64::from(once) && moved < fewer_than, "{moved}");
        assert!(told.uplink_seen.is_some_and(|seen| seen >= f64::from(hosts / 2) / 1.25));
    }
}

/// What is promised of a device on which nothing showed, held against devices just within the
/// promise.
#[test]
fn what_would_have_been_seen_is_seen() {
    let (mut seen, mut all) = (0, 0);
    for seed in 0..if full() { 60 } else { 2 } {
        let groups = 2 + seed as usize % 5;
        let mut chance = Pcg64::seed_from_u64(seed);
        // Uplinks of three ports' rate, where less than 3.2 is promised of eight hosts.
        let ratio = 48.0 / groups as f64 / 3.0;
        let case = Case::of(48, groups, ratio, (seed % 2 == 0, true), &mut chance);
        let told = told(&case, 8, seed);
        all += 1;
        seen += u32::from(told.groups.is_some());
        if told.groups.as_ref() != Some(&case.groups) {
            println!("seed {seed}: {case}: {told:?}");
        }
    }
    println!("{seen} of {all} seen to block");
    assert!(f64::from(seen) >= 0.95 * f64::from(all), "{seen} of {all}");
}
