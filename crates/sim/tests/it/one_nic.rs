//! One port a host: a device beside a direct cable that was measured at another time, with hosts
//! that are not the same from one time to the next.
//!
//! Owns the bars: the device's known added delay lies within its interval in 19 of 20 runs, and a
//! cable beside itself is called a device's delay in at most 1 of 20. Prints what it found.

use measure::Nanos;
use page::{Caveat, Figure, Metric, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use sim::{Cabling, HostModel, VirtualTestbed};
use study::{LatencySpec, StudySpec};
use trial::topology::AnotherTime;
use trial::{Path, Protocol, Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::trials::{profile, size};

/// Of each case; run `n` has the seed `n`.
const RUNS: u64 = 60;

/// What the device adds to a round trip: its latency, there and back.
const ADDED: f64 = 1_000.0;
const BRIDGE: &str = "name = \"bridge\"\nports = 2\nrate = \"10Gbit\"\n\
                      buffer = { per_port = \"1MiB\" }\n\
                      forwarding = { mode = \"cut-through\", latency = \"500ns\" }\n";
const TURNAROUND: f64 = 10_000.0;

/// How unlike hosts are, as a share of what they take.
#[derive(Clone, Copy)]
struct Noise {
    /// From one time to another: the whole of a run.
    rounds: f64,
    /// From one trial to the next.
    trials: f64,
}

/// Hosts with one port each, drawn anew at every round and every trial.
struct Noisy {
    topology: Topology,
    noise: Noise,
    /// Nothing is between the hosts but their cable, whatever the trial's path says.
    all_cable: bool,
    seed: u64,
    chance: Pcg64,
}

impl Noisy {
    fn new(times: &AnotherTime, noise: Noise, all_cable: bool, seed: u64) -> Self {
        let mut topology = bed(Path::Device, TURNAROUND, seed).topology().clone();
        topology.another_time = Some(times.clone());
        let chance = Pcg64::seed_from_u64(seed);
        Self { topology, noise, all_cable, seed, chance }
    }
}

/// Nearly normal, of deviation 1: the sum of twelve.
fn normal(chance: &mut Pcg64) -> f64 {
    (0..12).map(|_| chance.random::<f64>()).sum::<f64>() - 6.0
}

/// Hosts of one port each, which leads to the device or, for the cable's trials, to the other.
fn bed(path: Path, turnaround: f64, seed: u64) -> VirtualTestbed {
    let cabling = match path {
        Path::Device => Cabling::Device,
        Path::Bypass => Cabling::Direct,
    };
    let hosts = HostModel { turnaround: Nanos(turnaround.round() as u64), ..HostModel::ideal(2) };
    VirtualTestbed::new("sim:bridge", profile(BRIDGE), hosts, seed).with_cabling(cabling)
}

impl Testbed for Noisy {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let times = self.topology.another_time.clone().expect("set above");
        // A run has its own chance, for runs recorded elsewhere are asked in turn.
        let own = match trial.path {
            Path::Device => self.seed * 64,
            Path::Bypass => self.seed * 64 + u64::from(times.round(trial.block)) * 2 + 1,
        };
        let apart = normal(&mut Pcg64::seed_from_u64(own));
        let level = TURNAROUND * (1.0 + self.noise.rounds * apart);
        let turnaround = level * (1.0 + self.noise.trials * normal(&mut self.chance));
        let mut trial = trial.clone();
        if self.all_cable {
            trial.path = Path::Bypass;
        }
        bed(trial.path, turnaround, self.seed).run(&trial)
    }
}

/// The added latency at the median, and the cable's drift where it is known.
fn added(
    times: &AnotherTime,
    noise: Noise,
    all_cable: bool,
    seed: u64,
) -> (Figure, Option<Figure>) {
    let study = StudySpec::Latency(LatencySpec {
        protocols: vec![Protocol::Udp],
        sizes: vec![size(64)],
        duration: Nanos::from_millis(5),
        ..LatencySpec::quick()
    });
    let figures = study
        .run(&mut Noisy::new(times, noise, all_cable, seed), seed)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let of =
        |metric| figures.iter().find(|f| f.metric == metric && f.quantile == Some(0.5)).cloned();
    (of(Metric::RttAdded).expect("an added latency"), of(Metric::BypassDrift))
}

#[test]
fn a_bridge_is_found_beside_a_cable_of_another_time() {
    let runs =
        |count: usize| AnotherTime { runs: (0..count).map(|at| format!("cable {at}")).collect() };
    let quiet = Noise { rounds: 0.005, trials: 0.01 };
    let loud = Noise { rounds: 0.01, trials: 0.01 };
    println!("{RUNS} runs a row, seeds 1…{RUNS}, {ADDED:.0} ns added");
    println!("the cable          rounds  trials   missed  the device   width  of cables");
    for (name, times, noise) in [
        // One other time tells nothing of others: as much as the margin of a comparison is allowed
        // for.
        ("one run", runs(1), quiet),
        ("before and after", runs(2), loud),
    ] {
        let (mut missed, mut found, mut wrong, mut width) = (0, 0, 0, 0.0);
        for seed in 1..=RUNS {
            let (figure, drift) = added(&times, noise, false, seed);
            let (low, high) = (figure.low.expect("a low end"), figure.high.expect("a high end"));
            assert!(figure.caveats.contains(&Caveat::BypassAtAnotherTime), "{figure:?}");
            assert_eq!(drift.is_some(), times.runs.len() > 1, "seed {seed}");
            missed += u64::from(!(low..=high).contains(&ADDED));
            found += u64::from(figure.verdict == Verdict::DeviceLimited);
            width += (high - low) / RUNS as f64;
            let (alike, _) = added(&times, noise, true, 1_000 + seed);
            wrong += u64::from(alike.verdict == Verdict::DeviceLimited);
        }
        println!(
            "{name:<17} {:>5.1} % {:>5.1} % {missed:>8} {found:>11} {width:>7.0} {wrong:>9}",
            noise.rounds * 100.0,
            noise.trials * 100.0,
        );
        assert!(20 * missed <= RUNS, "{name}: {missed} of {RUNS} miss the truth");
        assert!(20 * wrong <= RUNS, "{name}: {wrong} of {RUNS} cables are called a device");
    }
}
