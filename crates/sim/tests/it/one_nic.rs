//! One port a host: a device beside a direct cable that was measured at another time, with hosts
//! that are not the same from one time to the next.
//!
//! Owns the bars: the device's known added delay lies within its interval in 19 of 20 runs, and a
//! cable beside itself is called a device's delay in at most 1 of 20. Prints what it found.

use measure::Nanos;
use method::{LatencySpec, StudySpec};
use page::{Caveat, Figure, Metric, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use sim::{Cabling, HostModel, VirtualTestbed};
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
    /// From one time to another: the whole of a run, or of a round with one cabling.
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
        let mut topology = bed(TURNAROUND, seed).topology().clone();
        topology.another_time = Some(times.clone());
        let chance = Pcg64::seed_from_u64(seed);
        Self { topology, noise, all_cable, seed, chance }
    }
}

/// Nearly normal, of deviation 1: the sum of twelve.
fn normal(chance: &mut Pcg64) -> f64 {
    (0..12).map(|_| chance.random::<f64>()).sum::<f64>() - 6.0
}

fn bed(turnaround: f64, seed: u64) -> VirtualTestbed {
    let hosts = HostModel { turnaround: Nanos(turnaround.round() as u64), ..HostModel::ideal(2) };
    VirtualTestbed::new("sim:bridge", profile(BRIDGE), hosts, seed).with_cabling(Cabling::Device)
}

impl Testbed for Noisy {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let times = self.topology.another_time.clone().expect("set above");
        let round = (trial.path, times.round(trial.path, trial.block));
        // A round has its own chance, for runs recorded elsewhere are asked in turn.
        let own = self.seed * 64 + u64::from(round.1) * 2 + u64::from(round.0 == Path::Bypass);
        let apart = normal(&mut Pcg64::seed_from_u64(own));
        let level = TURNAROUND * (1.0 + self.noise.rounds * apart);
        let turnaround = level * (1.0 + self.noise.trials * normal(&mut self.chance));
        let mut trial = trial.clone();
        if self.all_cable {
            trial.path = Path::Bypass;
        }
        bed(turnaround, self.seed).run(&trial)
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
    let runs = |count: usize| {
        AnotherTime::recorded_in((0..count).map(|at| format!("cable {at}")).collect())
    };
    let quiet = Noise { rounds: 0.005, trials: 0.01 };
    let loud = Noise { rounds: 0.01, trials: 0.01 };
    println!("{RUNS} runs a row, seeds 1…{RUNS}, {ADDED:.0} ns added");
    println!("the cable          rounds  trials   missed  the device   width  of cables");
    for (name, times, noise) in [
        // One other time tells nothing of others: as much as the margin of a comparison is allowed
        // for.
        ("one run", runs(1), quiet),
        ("before and after", runs(2), loud),
        ("3 sittings", AnotherTime::by_hand(3), loud),
        ("5 sittings", AnotherTime::by_hand(5), loud),
    ] {
        let (mut missed, mut found, mut wrong, mut width) = (0, 0, 0, 0.0);
        for seed in 1..=RUNS {
            let (figure, drift) = added(&times, noise, false, seed);
            let (low, high) = (figure.low.expect("a low end"), figure.high.expect("a high end"));
            assert!(figure.caveats.contains(&Caveat::BypassAtAnotherTime), "{figure:?}");
            assert_eq!(drift.is_some(), times.cable_rounds > 1, "seed {seed}");
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

/// Cable, device, cable: nobody moves a cable more often than asked for, and every repetition is
/// there.
#[test]
fn cables_are_moved_between_rounds_alone() {
    for sittings in [1, 2, 3] {
        let times = AnotherTime::by_hand(sittings);
        let mut moves = Vec::new();
        let study = StudySpec::Latency(LatencySpec {
            protocols: vec![Protocol::Udp, Protocol::Icmp],
            sizes: vec![size(64)],
            duration: Nanos::from_millis(2),
            blocks: method::Blocks::known(7),
            ..LatencySpec::quick()
        });
        let mut bed = Noisy::new(&times, Noise { rounds: 0.0, trials: 0.0 }, false, 1);
        let mut blocks = [0, 0];
        let mut seen = trial::Observed::new(&mut bed, |trial: &Trial, _: &TrialRecord| {
            blocks[usize::from(trial.path == Path::Bypass)] += 1;
            if moves.last() != Some(&trial.by_hand.joined) {
                moves.push(trial.by_hand.joined.clone());
            }
        });
        let figures = study.run(&mut seen, 1).expect("it runs");
        assert_eq!(blocks, [14, 14], "7 repetitions of 2 protocols on either path");
        assert_eq!(moves.len() as u32, 2 * sittings + 1, "{moves:?}");
        assert!(moves.iter().all(Option::is_some), "{moves:?}");
        let added = figures.iter().filter(|figure| figure.metric == Metric::RttAdded);
        for figure in added {
            // Without noise, to a histogram's bucket.
            let value = figure.value.expect("a value");
            assert!((value - ADDED).abs() <= 0.01 * 22_000.0, "{figure:?}");
        }
    }
}
