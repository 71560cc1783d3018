//! Simulated series of 30 days, a repetition every ten minutes: medians with day and night, heavy
//! tails, drifts, outliers alone and in pairs, pauses and coarse clocks; and losses in clumps.
//! Every series follows from its seed.

use measure::change::Repetition;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Repetitions in 30 days, were there no pause.
pub const REPETITIONS: usize = 4_320;
/// Frames that a repetition sends.
pub const FRAMES: u64 = 10_000;

const MINUTE: u64 = 60_000_000_000;
/// Some midnight.
const BEGAN: u64 = 1_763_942_400_000_000_000;

/// A step that is put into a series.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The first repetition after it.
    pub at: usize,
    /// A factor of a level, or a share of lost frames that comes on top.
    pub by: f64,
}

/// What a series is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Medians, each day like the others.
    Level,
    /// The same, with less load at weekends.
    Week,
    /// Frames lost.
    Loss,
}

/// One repetition after the other: when, and what.
pub fn series(made: Made, seed: u64, step: Option<Step>) -> Vec<(u64, Repetition)> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    match made {
        Made::Level => levels(&mut random, step, false),
        Made::Week => levels(&mut random, step, true),
        Made::Loss => losses(&mut random, step),
    }
}

/// What all repetitions of a series share with the clock.
struct Clock {
    /// Repetitions before which nothing was measured for so many minutes.
    pauses: Vec<(usize, u64)>,
    minutes: u64,
    /// The hour of the most load.
    peak: f64,
    /// Of a weekend's load, against a working day's.
    weekend: f64,
}

impl Clock {
    fn new(random: &mut Pcg64Mcg) -> Self {
        let pause = |random: &mut Pcg64Mcg| {
            (random.random_range(0..REPETITIONS), random.random_range(30..900))
        };
        let count = random.random_range(0..4);
        Self {
            pauses: (0..count).map(|_| pause(random)).collect(),
            minutes: random.random_range(0..24 * 60),
            peak: random.random_range(11.0..20.0),
            weekend: random.random_range(0.6..1.0),
        }
    }

    /// When the repetition is, and how much load there is then, 0…1.
    fn next(&mut self, at: usize) -> (u64, f64) {
        let paused = self.pauses.iter().filter(|pause| pause.0 == at).map(|pause| pause.1);
        self.minutes += 10 + paused.sum::<u64>();
        let days = self.minutes as f64 / (24.0 * 60.0);
        let angle = std::f64::consts::TAU * (days - self.peak / 24.0);
        let day = (0.5 * (1.0 + angle.cos())).powf(1.5);
        let is_weekend = (days as u64 + 3) % 7 >= 5;
        (BEGAN + self.minutes * MINUTE, if is_weekend { self.weekend * day } else { day })
    }
}

/// Medians of round trips: 2…200 µs, which a day's load lengthens by up to a fifth and makes less
/// steady.
fn levels(random: &mut Pcg64Mcg, step: Option<Step>, is_week: bool) -> Vec<(u64, Repetition)> {
    let base = 2_000.0 * 100.0_f64.powf(random.random::<f64>());
    let day: f64 = random.random_range(0.02..0.2);
    let noise: f64 = random.random_range(0.005..0.015);
    let restless: f64 = random.random_range(0.0..0.5);
    let drift: f64 = random.random_range(-0.04..0.04);
    let outliers: f64 = random.random_range(0.0..0.02);
    let coarse = if random.random::<f64>() < 0.25 { base * 0.01 } else { 1.0 };
    let mut clock = Clock::new(random);
    if !is_week {
        clock.weekend = 1.0;
    }
    let (mut wander, mut burst) = (0.0, 0_u32);
    let one = |at: usize| {
        let (unix_ns, load) = clock.next(at);
        wander = 0.97 * wander + 0.001 * normal(random);
        let off = noise * (1.0 + restless * load) * tailed(random);
        let stepped = step.filter(|step| at >= step.at).map_or(1.0, |step| step.by);
        if burst == 0 && random.random::<f64>() < outliers {
            burst = random.random_range(1..3);
        }
        let far = if burst > 0 { 1.0 + exponential(random) } else { 1.0 };
        burst = burst.saturating_sub(1);
        let slow = drift * at as f64 / REPETITIONS as f64 + wander;
        let value = base * stepped * (1.0 + day * load) * (slow + off).exp() * far;
        (unix_ns, Repetition::Level((value / coarse).round() * coarse))
    };
    (0..REPETITIONS).map(one).collect()
}

/// Frames lost of [`FRAMES`]: none at all on most links, else up to one in 5,000, more by day, in
/// clumps, and now and then a burst.
fn losses(random: &mut Pcg64Mcg, step: Option<Step>) -> Vec<(u64, Repetition)> {
    let rates = [0.0, 0.0, 1e-5, 5e-5, 2e-4];
    let base: f64 = rates[random.random_range(0..rates.len())];
    let day: f64 = random.random_range(0.0..2.0);
    let clumped: f64 = random.random_range(0.1..0.5);
    let bursts: f64 = random.random_range(0.0..0.01);
    let mut clock = Clock { weekend: 1.0, ..Clock::new(random) };
    let one = |at: usize| {
        let (unix_ns, load) = clock.next(at);
        let stepped = step.filter(|step| at >= step.at).map_or(0.0, |step| step.by);
        let uneven = (clumped * normal(random) - clumped * clumped / 2.0).exp();
        let mut share = (base * (1.0 + day * load) + stepped) * uneven;
        if random.random::<f64>() < bursts {
            share += 0.01 * exponential(random);
        }
        let lost = poisson(random, share * FRAMES as f64).min(FRAMES);
        (unix_ns, Repetition::Loss { lost, of: FRAMES })
    };
    (0..REPETITIONS).map(one).collect()
}

/// Student's t with three degrees of freedom, of deviation 1: one in 150 is beyond three.
fn tailed(random: &mut Pcg64Mcg) -> f64 {
    let square = (0..3).map(|_| normal(random).powi(2)).sum::<f64>() / 3.0;
    normal(random) / square.sqrt() / 3.0_f64.sqrt()
}

fn exponential(random: &mut Pcg64Mcg) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (2.0 * exponential(random)).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

fn poisson(random: &mut Pcg64Mcg, mean: f64) -> u64 {
    let (mut count, mut passed) = (0, exponential(random));
    while passed < mean {
        count += 1;
        passed += exponential(random);
    }
    count
}
