//! One scenario, three worlds: the simulator, the emulated device, and the kernel where it can be
//! such a device. Throughput, loss, latency and goodput must agree within the bounds that a
//! scenario states.
//!
//! The scenarios are `conformance/*.toml`; `docs/methods/conformance.md` has the table. A trial
//! that the machine spoiled is repeated a bounded number of times and counted, never dropped: where
//! none was valid the table says so, and the full profile fails.

mod scenario;
mod worlds;

use std::collections::BTreeSet;

use crate::harness;
use scenario::{Bounds, Case, Scenario};
use worlds::{Outcomes, World};

/// Invalid trials are repeated so often: on a machine with other work they are common. The quick
/// profile gives up sooner and says so.
const ATTEMPTS: u32 = 20;
const QUICK_ATTEMPTS: u32 = 3;

/// One figure in all worlds.
struct Row {
    scenario: String,
    case: String,
    figure: &'static str,
    unit: &'static str,
    /// Simulator, emulated device, kernel.
    values: Vec<Option<f64>>,
    bound: String,
    invalid: u32,
    /// Every world that has a figure.
    agrees: bool,
    /// Why a world has no valid trial, where it has none.
    reasons: Vec<String>,
}

impl Row {
    const fn verdict(&self) -> &'static str {
        match (self.agrees, self.reasons.is_empty()) {
            (true, true) => "yes",
            (true, false) => "no trial",
            (false, _) => "NO",
        }
    }
}

/// How far a world's figure may be from the simulator's, and how that is told.
fn allowed(bounds: &Bounds, figure: &str, sim: f64) -> Option<(f64, String)> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    match figure {
        "throughput" => bounds.throughput.map(|share| (share * sim, percent(share))),
        "goodput" => bounds.goodput.map(|share| (share * sim, percent(share))),
        "loss" => bounds.loss.map(|share| (share, format!("{share}"))),
        "frames" => bounds.frames.map(|frames| (frames, format!("{frames}"))),
        "round trip" => bounds.round_trip.map(|time| (time.0 as f64 / 1e3, time.to_string())),
        other => panic!("no bound is for {other}"),
    }
}

fn unit(figure: &str) -> &'static str {
    match figure {
        "throughput" => "frames/s",
        "goodput" => "Mbit/s",
        "round trip" => "µs",
        _ => "",
    }
}

/// The rows of a case: one for each figure that has a bound.
fn compare(name: &str, case: &Case, outcomes: &[Option<Outcomes>]) -> Vec<Row> {
    let sim =
        outcomes[0].as_ref().and_then(|sim| sim.figures.clone()).expect("it is never held up");
    let invalid = outcomes.iter().flatten().map(|world| world.invalid).sum();
    let unheard = outcomes.iter().flatten().filter(|world| world.figures.is_none());
    let reasons: Vec<String> = unheard.map(|world| world.reason.clone()).collect();
    let mut rows = Vec::new();
    for figure in sim {
        let Some((most, bound)) = allowed(&case.agree, figure.name, figure.value) else { continue };
        let value = |world: &Option<Outcomes>| {
            let figures = world.as_ref()?.figures.as_ref()?;
            figures.iter().find(|other| other.name == figure.name).map(|other| other.value)
        };
        let values: Vec<Option<f64>> = outcomes.iter().map(value).collect();
        let near = |value: &f64| (value - figure.value).abs() <= most;
        for (world, value) in outcomes.iter().zip(&values) {
            if let (Some(world), Some(value)) = (world, value.filter(|value| !near(value))) {
                println!(
                    "{name}, {}: {} {value}\n  {}",
                    case.name, figure.name, world.circumstances
                );
            }
        }
        rows.push(Row {
            scenario: name.to_owned(),
            case: case.name.clone(),
            figure: figure.name,
            unit: unit(figure.name),
            agrees: values.iter().flatten().all(near),
            values,
            bound,
            invalid,
            reasons: reasons.clone(),
        });
    }
    assert!(!rows.is_empty(), "{name}: nothing is compared of `{}`", case.name);
    rows
}

fn print(rows: &[Row]) {
    println!(
        "{:<10} {:<26} {:<20} {:>9} {:>9} {:>9} {:>7} {:>8}  agree",
        "scenario", "trial", "figure", "sim", "emulated", "kernel", "within", "invalid"
    );
    for row in rows {
        let figure = format!("{} {}", row.figure, row.unit);
        let places = if row.figure == "loss" { 4 } else { 1 };
        let told = |value: &Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.places$}"))
        };
        let values: Vec<String> = row.values.iter().map(told).collect();
        println!(
            "{:<10} {:<26} {figure:<20} {:>9} {:>9} {:>9} {:>7} {:>8}  {}",
            row.scenario,
            row.case,
            values[0],
            values[1],
            values[2],
            row.bound,
            row.invalid,
            row.verdict()
        );
    }
}

fn run(name: &str, scenario: &Scenario, full: bool) -> Vec<Row> {
    let worlds = [World::Sim, World::Emulated, World::Kernel];
    let cases: Vec<&Case> = scenario.trial.iter().filter(|case| full || !case.full).collect();
    if cases.is_empty() {
        return Vec::new();
    }
    let attempts = if full { ATTEMPTS } else { QUICK_ATTEMPTS };
    let mut by_world = Vec::new();
    for world in worlds {
        // One world after the other: labs side by side would disturb each other.
        let Some(mut testbed) = world.open(scenario, name) else {
            by_world.push(None);
            continue;
        };
        let outcomes = cases.iter().map(|case| {
            let asked = world != World::Kernel || case.kernel;
            asked.then(|| worlds::run(&mut *testbed, scenario, case, attempts))
        });
        by_world.push(Some(outcomes.collect::<Vec<Option<Outcomes>>>()));
    }
    let mut rows = Vec::new();
    for case in cases.iter().rev() {
        let outcomes: Vec<Option<Outcomes>> =
            by_world.iter_mut().map(|world| world.as_mut().and_then(Vec::pop).flatten()).collect();
        rows.push(compare(name, case, &outcomes));
    }
    rows.into_iter().rev().flatten().collect()
}

#[test]
fn worlds_agree() {
    let Some(_alone) = harness::alone("worlds_agree", &[]) else { return };
    let full = harness::full();
    let mut rows = Vec::new();
    for (name, scenario) in scenario::all() {
        println!("{name}: {}", scenario.about);
        rows.extend(run(&name, &scenario, full));
    }
    print(&rows);
    let unheard = rows.iter().filter(|row| !row.reasons.is_empty());
    // A case's figures have their trials in common.
    let told = |row: &Row| row.reasons.iter().map(|why| (row.case.clone(), why.clone())).collect();
    let reasons: BTreeSet<(String, String)> = unheard.flat_map::<Vec<_>, _>(told).collect();
    for (case, reason) in &reasons {
        println!("skipped: {case}: no valid trial on this machine now: {reason}");
    }
    let apart = rows.iter().filter(|row| !row.agrees).count();
    assert_eq!(apart, 0, "figures that do not agree, of {}", rows.len());
    assert!(!full || reasons.is_empty(), "the full profile wants a valid trial of each case");
}

/// What can be proved without a lab: every file is read, and its device gives a figure for each
/// bound.
#[test]
fn every_scenario_runs_in_virtual_time() {
    for (name, scenario) in scenario::all() {
        let mut testbed = World::Sim.open(&scenario, &name).expect("it needs nothing");
        for case in &scenario.trial {
            let outcomes = worlds::run(&mut *testbed, &scenario, case, 1);
            assert_eq!(
                (outcomes.invalid, outcomes.reason.as_str()),
                (0, ""),
                "{name}: {}",
                case.name
            );
            assert!(!compare(&name, case, &[Some(outcomes)]).is_empty());
        }
    }
}
