//! Whose doing is it: changes put into the series of a simulated testbed, found by the detector,
//! and attributed. Two switches of four ports, an uplink between them, every pair of the eight
//! ports, and four direct cables.

use measure::change::{Detector, Repetition, Season, Settings};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use study::comparison::{Doing, Path, whose};

const SEED: u64 = 20_261_125;
const CHANGES: u32 = 200;
const PORTS: usize = 8;
const BEFORE: u64 = 100;
const AFTER: u64 = 40;

fn port(at: usize) -> String {
    format!("h{}/eth1", at + 1)
}

fn paths() -> Vec<Path> {
    let of = |from: usize, to: usize, is_direct: bool| Path {
        from: port(from),
        to: port(to),
        is_direct,
        uplinks: if !is_direct && from < 4 && to >= 4 { vec!["sw1-sw2".into()] } else { vec![] },
        changed: false,
    };
    let pairs = (0..PORTS).flat_map(|from| (from + 1..PORTS).map(move |to| (from, to)));
    let cables = (0..PORTS / 2).map(|at| (2 * at, 2 * at + 1));
    pairs.map(|(a, b)| of(a, b, false)).chain(cables.map(|(a, b)| of(a, b, true))).collect()
}

/// Who is to blame, and which paths are slower for it.
fn culprit(paths: &[Path], random: &mut Pcg64Mcg) -> (Doing, Vec<bool>) {
    let at = port(random.random_range(0..PORTS));
    let pair = paths[random.random_range(0..paths.len() - PORTS / 2)].clone();
    let is_at = |path: &Path| path.from == at || path.to == at;
    let which = |wanted: &dyn Fn(&Path) -> bool| paths.iter().map(wanted).collect();
    match random.random_range(0..6) {
        0 => (Doing::Hosts(None), which(&|_| true)),
        1 => (Doing::Hosts(Some(at.clone())), which(&is_at)),
        2 => (Doing::Port(at.clone()), which(&|path| !path.is_direct && is_at(path))),
        3 => (Doing::Uplink("sw1-sw2".into()), which(&|path| !path.uplinks.is_empty())),
        4 => (Doing::Device, which(&|path| !path.is_direct)),
        _ => (Doing::Pair(pair.from.clone(), pair.to.clone()), which(&|path| *path == pair)),
    }
}

/// Whether a detector sees a change in a series that steps by a factor, or does not.
fn is_seen(step: f64, noise: f64, random: &mut Pcg64Mcg) -> bool {
    let mut detector = Detector::new(Settings { season: Season::None, ..Settings::default() });
    let base = random.random_range(5e3..1e5);
    let mut seen = false;
    for at in 0..BEFORE + AFTER {
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.random::<f64>()).cos();
        let level = if at < BEFORE { base } else { base * step };
        let taken = detector.take(at, Repetition::Level(level * (noise * normal).exp()));
        seen |= taken.expect("a number").is_some();
    }
    seen
}

#[test]
fn injected_changes_are_put_down_to_who_made_them() {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut right = 0;
    for change in 0..CHANGES {
        let mut paths = paths();
        let (by, slower) = culprit(&paths, &mut random);
        let step = random.random_range(1.05..1.3);
        for (path, slower) in paths.iter_mut().zip(slower) {
            let noise = random.random_range(0.002..0.015);
            path.changed = is_seen(if slower { step } else { 1.0 }, noise, &mut random);
        }
        let found = whose(&paths);
        if found == by {
            right += 1;
        } else {
            println!("change {change}: {by:?} was said to be {found:?}");
        }
    }
    println!("{right} of {CHANGES} right");
    assert!(right * 100 >= CHANGES * 98, "seed {SEED}: {right} of {CHANGES}");
}
