//! The depth study on random devices: what it finds beside what their profiles say.
//!
//! Owns the bar: intervals cover the truth as often as they say, and medians are within 2 %. Prints
//! the table with the seeds; `SWITCHMARK_TESTS=full` takes 200 devices of up to 64 MB, and all
//! rates.

use std::fmt::Write as _;

use page::{Figure, Key, Metric};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use study::{DepthSpec, Finding as _};

use crate::trials::{profile, testbed};

/// A device and the truth of it.
#[derive(Debug, Clone)]
struct Truth {
    seed: u64,
    rate_gbit: u64,
    size: u64,
    alpha: Option<f64>,
    cell: u32,
    text: String,
}

impl Truth {
    fn random(seed: u64, largest: f64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let rate_gbit = [1, 10, 25, 40, 100][random.random_range(0..5)];
        let size = (65_536.0 * (largest / 65_536.0).powf(random.random::<f64>())) as u64;
        let alpha = random.random_bool(0.5).then(|| 0.25 * 32.0_f64.powf(random.random::<f64>()));
        let cell = [1, 64, 128, 256][random.random_range(0..4)];
        let mode = ["store-and-forward", "cut-through"][random.random_range(0..2)];
        let latency = random.random_range(200..10_000);
        let buffer = match alpha {
            Some(alpha) => format!("total = \"{size}B\", alpha = {alpha}"),
            None => format!("per_port = \"{size}B\""),
        };
        let text = format!(
            "name = \"random{seed}\"\nports = 8\nrate = \"{rate_gbit}Gbit\"\n\
             buffer = {{ {buffer}, cell = {cell} }}\n\
             forwarding = {{ mode = \"{mode}\", latency = \"{latency}ns\" }}\n"
        );
        Self { seed, rate_gbit, size, alpha, cell, text }
    }

    /// What one output alone may hold.
    fn alone(&self) -> f64 {
        let size = self.size as f64;
        self.alpha.map_or(size, |alpha| size * alpha / (1.0 + alpha))
    }
}

/// One estimator's answers on all devices.
#[derive(Debug, Default)]
struct Column {
    errors: Vec<f64>,
    covered: u64,
    missed: Vec<String>,
}

impl Column {
    /// `frame`: the least that an error may be, in the figure's own unit.
    fn take(&mut self, truth: &Truth, expected: f64, figure: &Figure) {
        let value = figure.value.expect("a value");
        let (low, high) = (figure.low.expect("an interval"), figure.high.expect("an interval"));
        self.errors.push((value / expected - 1.0).abs());
        if (low..=high).contains(&expected) {
            self.covered += 1;
        } else {
            self.missed.push(format!("seed {}: {expected} not in {low}…{high}", truth.seed));
        }
    }

    fn median(&self) -> f64 {
        measure::quantile::median(&self.errors).unwrap_or(f64::NAN)
    }

    fn worst(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }

    /// Whether so few covered are no accident at 95 %.
    fn covers_too_little(&self) -> bool {
        at_most(self.covered, self.errors.len() as u64, 0.95) < 0.025
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:<22} {:>4} {:>8} {:>9.3} % {:>9.3} %",
            self.errors.len(),
            self.covered,
            self.median() * 100.0,
            self.worst() * 100.0
        )
    }
}

/// The chance of at most `k` of `n`, each with chance `p`.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let mut term = (1.0 - p).powf(n as f64);
    let mut sum = term;
    for i in 0..k {
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
        sum += term;
    }
    sum
}

fn estimated<'a>(figures: &'a [Figure], estimator: &str) -> Option<&'a Figure> {
    let own = |f: &&Figure| {
        f.metric == Metric::Buffer && f.text(Key::Estimator).unwrap_or_default() == estimator
    };
    figures.iter().find(own)
}

fn of(figures: &[Figure], metric: Metric) -> &Figure {
    figures.iter().find(|figure| figure.metric == metric).expect("a figure")
}

#[test]
fn every_estimator_meets_the_truth_on_random_devices() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full");
    let (devices, largest) = if full { (200, 64e6) } else { (12, 500e3) };
    let mut columns: [Column; 5] = Default::default();
    let (mut cells, mut kinds, mut shared) = (0, 0, 0);
    for seed in 1..=devices {
        let truth = Truth::random(seed, largest);
        let mut place = testbed(profile(&truth.text));
        let figures = DepthSpec::quick().run(&mut place, seed).expect("every trial runs").rows();
        for (column, name) in columns.iter_mut().zip(["one-shot", "burst", "delay"]) {
            let figure = estimated(&figures, name).unwrap_or_else(|| panic!("{name}: {truth:?}"));
            column.take(&truth, truth.alone(), figure);
        }
        let cell = of(&figures, Metric::Cell);
        cells += u64::from(cell.value == Some(f64::from(truth.cell)));
        let told = of(&figures, Metric::BufferShared).value == Some(1.0);
        kinds += u64::from(told == truth.alpha.is_some());
        let mut line = format!(
            "{seed:>4} {:>4} Gbit {:>9} B cell {:>3} one output {:>11.0}",
            truth.rate_gbit,
            truth.size,
            truth.cell,
            estimated(&figures, "one-shot").and_then(|f| f.value).unwrap_or(f64::NAN)
        );
        if let (Some(alpha), true) = (truth.alpha, told) {
            shared += 1;
            let total = estimated(&figures, "sharing").expect("a total");
            columns[3].take(&truth, truth.size as f64, total);
            columns[4].take(&truth, alpha, of(&figures, Metric::Alpha));
            write!(
                line,
                " alpha {alpha:.3} found {:.3}, total {:.0}",
                of(&figures, Metric::Alpha).value.unwrap_or(f64::NAN),
                total.value.unwrap_or(f64::NAN)
            )
            .expect("a string takes it");
        }
        println!("{line}");
    }
    println!();
    println!("{:<22} {:>4} {:>8} {:>11} {:>11}", "estimator", "n", "covered", "median", "worst");
    let names = ["one-shot", "burst", "delay", "total, by sharing", "alpha"];
    for (column, name) in columns.iter().zip(names) {
        println!("{}", column.line(name));
        for missed in &column.missed {
            println!("    {missed}");
        }
    }
    println!(
        "cell found: {cells} of {devices}; shared or not: {kinds} of {devices} ({shared} shared)"
    );
    for (column, name) in columns.iter().zip(names) {
        assert!(!column.covers_too_little(), "{name} covers {} only", column.covered);
        assert!(column.median() < 0.02, "{name}: {}", column.median());
    }
    assert!(columns[4].worst() < 0.15, "alpha: {}", columns[4].worst());
    assert_eq!((cells, kinds), (devices, devices));
}
