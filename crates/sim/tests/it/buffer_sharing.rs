//! Shared buffers with a reserve for each queue: every figure of them held against the device's
//! profile.
//!
//! Owns the bars: intervals at 95 % cover what they say, as far as so many devices tell; of figures
//! said to be the device's at most one in a hundred is wrong by more than its interval and 1 %.
//! Prints the table with the seeds; `SWITCHMARK_TESTS=full` takes 200 devices of up to 32 MB.

use page::{Caveat, Figure, Key, Metric, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use study::{DepthSpec, Finding as _};

use crate::trials::{profile, testbed};

/// A device and the truth of it.
#[derive(Debug, Clone)]
struct Truth {
    seed: u64,
    ports: u64,
    size: u64,
    alpha: f64,
    reserved: u64,
    cell: u32,
    rate_gbit: u64,
}

impl Truth {
    fn random(seed: u64, largest: f64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let ports = random.random_range(4..=12);
        let size = (5e5 * (largest / 5e5).powf(random.random::<f64>())) as u64;
        // The model knows alpha in 65,536ths.
        let alpha = 128.0_f64.powf(random.random::<f64>()) / 16.0;
        let alpha = (alpha * 65_536.0).round() / 65_536.0;
        // No device reserves more than half of what it has.
        let most = (size / (2 * ports)).min(65_536);
        let reserved = if random.random_bool(0.2) { 0 } else { random.random_range(0..=most) };
        let cell = [1, 64, 80, 128, 208, 256][random.random_range(0..6)];
        let rate_gbit = [1, 10, 25, 100][random.random_range(0..4)];
        Self { seed, ports, size, alpha, reserved, cell, rate_gbit }
    }

    fn text(&self) -> String {
        let Self { ports, size, alpha, reserved, cell, rate_gbit, .. } = self;
        format!(
            "name = \"shared\"\nports = {ports}\nrate = \"{rate_gbit}Gbit\"\n\
             buffer = {{ total = \"{size}B\", alpha = {alpha}, reserved_per_port = \"{reserved}B\", \
             cell = {cell} }}\n"
        )
    }

    fn figures(&self) -> Vec<Figure> {
        let mut place = testbed(profile(&self.text()));
        DepthSpec::quick().run(&mut place, self.seed).expect("every trial runs").rows()
    }

    /// What one output alone may hold.
    fn alone(&self) -> f64 {
        let shared = (self.size - self.ports * self.reserved) as f64;
        self.reserved as f64 + shared * self.alpha / (1.0 + self.alpha)
    }
}

/// One figure's answers on all devices.
#[derive(Debug, Default)]
struct Column {
    /// Said to be the device's.
    claimed: u64,
    covered: u64,
    /// Off by more than the interval and 1 %.
    wrong: Vec<String>,
    /// Left open: undetermined, or without a value.
    open: u64,
    /// Of those, with the truth within what interval there is.
    held: u64,
    errors: Vec<f64>,
}

impl Column {
    fn take(&mut self, truth: &Truth, expected: f64, figure: &Figure) {
        let low = figure.low.unwrap_or(0.0);
        let high = figure.high.unwrap_or(f64::INFINITY);
        let within = (low..=high).contains(&expected);
        let Some(value) = figure.value.filter(|_| figure.verdict == Verdict::DeviceLimited) else {
            self.open += 1;
            self.held += u64::from(within);
            return;
        };
        self.claimed += 1;
        self.covered += u64::from(within);
        self.errors.push((value / expected - 1.0).abs());
        let margin = 0.01 * expected;
        if expected < low - margin || expected > high + margin {
            self.wrong.push(format!("{truth:?}: {expected} not in {low}…{high}"));
        }
    }

    fn line(&self, name: &str) -> String {
        let percent = |q: f64| {
            let mut errors = self.errors.clone();
            errors.sort_by(f64::total_cmp);
            measure::quantile::quantile(&errors, q).unwrap_or(f64::NAN) * 100.0
        };
        format!(
            "{name:<18} {:>4} {:>8} {:>6} {:>5} {:>5} {:>8.3} % {:>8.3} %",
            self.claimed,
            self.covered,
            self.wrong.len(),
            self.open,
            self.held,
            percent(0.5),
            percent(1.0)
        )
    }

    /// Whether so few covered, or so many wrong, are no accident.
    fn check(&self, name: &str) {
        let (missed, wrong) = (self.claimed - self.covered, self.wrong.len() as u64);
        let chance = at_least(missed, self.claimed, 0.05);
        assert!(chance >= 0.025, "{name}: {missed} of {} are not covered", self.claimed);
        assert!(at_least(wrong, self.claimed, 0.01) >= 0.025, "{name}: {:#?}", self.wrong);
    }
}

/// The chance of at least `k` of `n`, each with chance `p`.
fn at_least(k: u64, n: u64, p: f64) -> f64 {
    let mut term = (1.0 - p).powf(n as f64);
    let mut fewer = 0.0;
    for i in 0..k {
        fewer += term;
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
    }
    1.0 - fewer
}

fn estimated<'a>(figures: &'a [Figure], estimator: &str) -> Option<&'a Figure> {
    figures.iter().find(|f| {
        f.metric == Metric::Buffer && f.text(Key::Estimator).unwrap_or_default() == estimator
    })
}

fn of(figures: &[Figure], metric: Metric) -> Option<&Figure> {
    figures.iter().find(|figure| figure.metric == metric)
}

#[test]
fn a_reserve_is_told_or_left_open_on_random_devices() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full");
    let (devices, largest) = if full { (200, 32e6) } else { (12, 4e6) };
    let names = ["one-shot", "burst", "delay", "total, by sharing", "alpha", "reserve"];
    let mut columns: [Column; 6] = Default::default();
    let (mut shared, mut lacking) = (0, 0);
    for seed in 1..=devices {
        let truth = Truth::random(seed, largest);
        let figures = truth.figures();
        for (column, name) in columns.iter_mut().zip(&names[..3]) {
            let figure = estimated(&figures, name).unwrap_or_else(|| panic!("{name}: {truth:?}"));
            column.take(&truth, truth.alone(), figure);
        }
        let flag = of(&figures, Metric::BufferShared).expect("a flag");
        assert_ne!(flag.value, Some(0.0), "{truth:?}");
        shared += u64::from(flag.value == Some(1.0));
        let Some(total) = estimated(&figures, "sharing") else { continue };
        lacking += u64::from(total.caveats.contains(&Caveat::LackOfFit));
        let (alpha, reserve) = (of(&figures, Metric::Alpha), of(&figures, Metric::BufferReserve));
        let (alpha, reserve) = (alpha.expect("an alpha"), reserve.expect("a reserve"));
        columns[3].take(&truth, truth.size as f64, total);
        columns[4].take(&truth, truth.alpha, alpha);
        columns[5].take(&truth, truth.reserved as f64, reserve);
        println!(
            "{seed:>4} {:>2} ports {:>9} B alpha {:>6.3} reserve {:>6} B cell {:>3}: \
             {:>11.0} {:>6.3} {:>7.0}",
            truth.ports,
            truth.size,
            truth.alpha,
            truth.reserved,
            truth.cell,
            total.value.unwrap_or(f64::NAN),
            alpha.value.unwrap_or(f64::NAN),
            reserve.value.unwrap_or(f64::NAN)
        );
    }
    println!();
    println!(
        "{:<18} {:>4} {:>8} {:>6} {:>5} {:>5} {:>10} {:>10}",
        "estimator", "said", "covered", "wrong", "open", "held", "median", "worst"
    );
    for (column, name) in columns.iter().zip(names) {
        println!("{}", column.line(name));
    }
    println!("shared: {shared} of {devices}; lack of fit: {lacking}");
    for (column, name) in columns.iter().zip(names) {
        column.check(name);
    }
}
