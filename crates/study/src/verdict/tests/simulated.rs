//! How often a verdict is wrong, and how often it is found: simulated, with a fixed seed. The
//! tables are in docs/methods/verdicts.md.
//!
//! `cargo test --release -p study --lib verdict::simulated -- --nocapture`

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Delays, Driven, Evidence, RateEvidence, Rates, Setting, Standing};
use page::Verdict;

const SEED: u64 = 20_261_122;
const DRAWS: u32 = 20_000;
const BESIDE: Setting = Setting { standing: Standing::Beside, shared_processors: false };
/// Coefficients of variation of one repetition, on either side, in percent.
const SPREADS: [u32; 6] = [1, 2, 5, 8, 12, 20];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    Normal,
    LogNormal,
}

impl Noise {
    /// One repetition around 1.
    fn draw(self, random: &mut Pcg64Mcg, spread: f64) -> f64 {
        // Box and Muller.
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.random::<f64>()).cos();
        match self {
            Self::Normal => 1.0 + spread * normal,
            Self::LogNormal => (spread * normal).exp(),
        }
    }
}

/// How often a driven device of that ratio is called the limit, in percent.
fn called(noise: Noise, ratio: f64, (spread, repetitions): (u32, usize), draws: u32) -> f64 {
    let seed = SEED + u64::from(spread) * 1_000 + repetitions as u64;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let spread = f64::from(spread) / 100.0;
    let mut device = 0;
    for _ in 0..draws {
        let mut one = || noise.draw(&mut random, spread);
        let pairs: Vec<(f64, Option<f64>)> =
            (0..repetitions).map(|_| (ratio * one(), Some(one()))).collect();
        let evidence = Evidence::Rate(RateEvidence::new(Rates::Paired(&pairs), Driven::Lost));
        device += u32::from(evidence.verdict(BESIDE) == Verdict::DeviceLimited);
    }
    100.0 * f64::from(device) / f64::from(draws)
}

fn print(title: &str, repetitions: &[usize], cell: impl Fn(u32, usize) -> f64) {
    let row = |name: String, cells: Vec<String>| println!("| {name} | {} |", cells.join(" | "));
    println!("{title}");
    row("cv".into(), repetitions.iter().map(ToString::to_string).collect());
    for spread in SPREADS {
        let cells = repetitions.iter().map(|n| format!("{:.2}", cell(spread, *n))).collect();
        row(format!("{spread} %"), cells);
    }
}

#[test]
fn a_device_as_fast_as_its_cable_is_seldom_called_the_limit() {
    let all: Vec<usize> = (2..=20).collect();
    // The other one gives the same to a tenth of a per cent.
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|profile| profile == "full");
    let noises: &[Noise] =
        if full { &[Noise::LogNormal, Noise::Normal] } else { &[Noise::LogNormal] };
    for noise in noises {
        let mut table = std::collections::BTreeMap::new();
        for spread in SPREADS {
            for repetitions in &all {
                let wrong = called(*noise, 1.0, (spread, *repetitions), DRAWS);
                assert!(wrong <= 2.5, "{noise:?}, cv {spread} %, n {repetitions}: {wrong} %");
                table.insert((spread, *repetitions), wrong);
            }
        }
        let title =
            format!("false device at a ratio of 1, {noise:?}, % of {DRAWS} draws, seed {SEED}");
        print(&title, &all, |spread, n| table[&(spread, n)]);
    }
}

/// The worst that a device at the edge can be told: a ratio of just 0.95.
#[test]
fn at_the_edge_the_error_is_what_the_interval_says() {
    for repetitions in [6, 8, 10, 15, 20] {
        for spread in [1, 8, 20] {
            let wrong = called(Noise::LogNormal, 0.95, (spread, repetitions), DRAWS);
            // Four standard errors of 2.5 % over so many draws.
            assert!(wrong <= 2.5 + 0.45, "cv {spread} %, n {repetitions}: {wrong} %");
        }
    }
}

#[test]
fn a_device_a_fifth_slower_is_found() {
    let repetitions = [5, 6, 8, 10, 15, 20];
    let cell = |spread, n| called(Noise::LogNormal, 0.8, (spread, n), 2_000);
    print("device found at a ratio of 0.8, LogNormal, % of 2000 draws", &repetitions, cell);
    assert!(cell(5, 10) >= 90.0, "{}", cell(5, 10));
    assert!(cell(20, 5) <= 0.0, "five repetitions never reach 95 %");
}

/// Two equal paths whose round trips drift together: no device is seen where there is none.
#[test]
fn a_path_that_adds_nothing_is_seldom_said_to() {
    for repetitions in 2..=20 {
        let mut random = Pcg64Mcg::seed_from_u64(SEED + repetitions);
        let mut device = 0;
        for _ in 0..DRAWS {
            let pair = |at| {
                let drift = 10.0 + f64::from(at as u32);
                let mut one = || drift * Noise::LogNormal.draw(&mut random, 0.05);
                (one(), one())
            };
            let pairs: Vec<(f64, f64)> = (0..repetitions).map(pair).collect();
            let judged = Evidence::Delay(Delays::paired(&pairs)).verdict(BESIDE);
            device += u32::from(judged == Verdict::DeviceLimited);
        }
        let wrong = 100.0 * f64::from(device) / f64::from(DRAWS);
        assert!(wrong <= 2.5 + 0.45, "n {repetitions}: {wrong} %");
    }
}
