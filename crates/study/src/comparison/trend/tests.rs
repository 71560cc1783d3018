//! Made-up runs in a row: what is said of few, of steady ones, of a step, and how often a step is
//! said to be where there is none. Seeds are fixed and printed on failure.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use measure::comparison::Decision;
use page::{Condition, Conditions, Figure, Key, Metric, Unit, Verdict};

use super::super::{Comparable, MARGIN};
use super::{Cable, Place, Trend, Trends};

const SEED: u64 = 20_261_125;

fn rtt(size: u64, path: &str, value: f64) -> Figure {
    let named = [(Key::Device, "sw1"), (Key::Path, path), (Key::Protocol, "udp")];
    let mut conditions: Conditions = named.map(|(name, value)| (name, value.into())).into();
    conditions.insert(Key::FrameSize, Condition::Integer(size));
    Figure {
        quantile: Some(0.5),
        n: 1000,
        blocks: 1,
        conditions,
        verdict: Verdict::DeviceLimited,
        ..Figure::new(Metric::Rtt, Unit::Nanoseconds, Some(value))
    }
}

/// Runs whose figures, the device's and the cable's, are these: one value a run.
fn of(figures: &[Vec<Figure>], names: &[&str]) -> Trend {
    let name = |at: usize| names.get(at).map_or_else(|| at.to_string(), |name| (*name).to_owned());
    let place = |at| Place { id: format!("run{at}"), name: name(at), unix_ns: at as u64 };
    let mut trends = Trends::default();
    for (at, figures) in figures.iter().enumerate() {
        trends.begin(place(at));
        trends.take("sw1", None, &Comparable::of_figures(figures));
    }
    trends.found(MARGIN)
}

fn runs(device: &[f64], cable: &[f64]) -> Vec<Vec<Figure>> {
    let one = |at: usize| {
        let beside = cable.get(at).map(|value| rtt(64, "bypass", *value));
        [rtt(64, "device", device[at])].into_iter().chain(beside).collect()
    };
    (0..device.len()).map(one).collect()
}

/// The device's and the cable's values, run by run, and what is said of them.
type Row<'a> = (&'a [f64], &'a [f64], Decision, Option<usize>, Cable);

#[test]
fn what_is_said_of_runs_in_a_row() {
    let cable = [20.0, 20.1, 19.9, 20.0, 20.1, 19.9, 20.0, 20.1];
    let slower = [50.0, 50.2, 49.9, 50.1, 75.0, 75.3, 74.9, 75.1];
    let rows: [Row<'_>; 7] = [
        (&slower, &cable, Decision::Different, Some(4), Cable::Steady),
        (&slower, &[], Decision::Different, Some(4), Cable::None),
        // The last of five alone.
        (&slower[..5], &cable, Decision::Different, Some(4), Cable::Steady),
        // Three runs tell nothing, however far apart.
        (&slower[3..6], &cable, Decision::Inconclusive, None, Cable::None),
        // The hosts became slower, and the device's figure with them.
        (
            &slower,
            &[20.0, 20.1, 19.9, 20.0, 45.0, 45.1, 44.9, 45.0],
            Decision::Different,
            Some(4),
            Cable::Moved,
        ),
        (&[50.0, 50.01, 50.02, 50.0, 50.01, 50.0], &cable, Decision::Equivalent, None, Cable::None),
        (&[50.0, 60.0, 45.0, 70.0, 52.0], &cable, Decision::Inconclusive, None, Cable::None),
    ];
    for (device, cable, decision, since, whose) in rows {
        let found = of(&runs(device, cable), &[]);
        let one = &found.series[0];
        assert_eq!((one.decision, one.values.len()), (decision, device.len()), "{device:?}");
        if decision == Decision::Different {
            let step = one.step.expect("a step");
            assert_eq!((Some(step.since), one.cable), (since, whose), "{device:?}: {step:?}");
            assert!((step.earliest..=step.latest).contains(&step.since));
            assert!((step.value - 1.5).abs() < 0.01 && step.interval.low > 1.4, "{step:?}");
            assert!((step.difference - 25.0).abs() < 0.5, "{step:?}");
            assert_eq!(one.is_better(), Some(false));
        }
        assert_eq!(found.is_worse(), since.is_some() && whose == Cable::Steady, "{device:?}");
        assert_eq!(found.is_kept(), decision == Decision::Equivalent, "{device:?}");
        assert_eq!(one.is_too_few(), device.len() < 4);
    }
}

#[test]
fn a_step_is_only_where_the_name_changes() {
    let slower = [50.0, 50.2, 49.9, 50.1, 75.0, 75.3, 74.9, 75.1];
    let names = ["1.0", "1.0", "1.0", "1.1", "1.1", "1.2", "1.2", "1.2"];
    let found = of(&runs(&slower, &[]), &names);
    let step = found.series[0].step.expect("a step");
    assert!([3, 5].contains(&step.since), "{step:?}");
    let all = of(&runs(&slower, &[]), &["1.0"; 8]);
    assert_eq!((all.series[0].decision, all.series[0].step), (Decision::Inconclusive, None));
}

#[test]
fn runs_without_a_figure_in_common_are_no_series() {
    let one = vec![vec![rtt(64, "device", 1.0)], vec![rtt(128, "device", 1.0)]];
    let found = of(&one, &[]);
    assert!(found.series.is_empty() && !found.is_worse() && !found.is_kept());
    assert!(of(&[], &[]).series.is_empty());
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// Six figures of runs that differ by 2 % for no reason: in how many of such lists some figure is
/// said to have moved; and in how many a step of 20 % of one of them is found.
#[test]
fn no_more_steps_are_found_than_may_be() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|profile| profile == "full");
    let lists = if full { 5_000 } else { 400 };
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    for count in [4, 5, 8, 12] {
        let mut draw = |step: f64| -> bool {
            let run = |random: &mut Pcg64Mcg, at: usize| -> Vec<Figure> {
                let one = |(figure, random): (u64, &mut Pcg64Mcg)| {
                    let by = if at * 2 >= count && figure == 0 { step } else { 1.0 };
                    rtt(64 + figure, "device", 50.0 * by * (0.02 * normal(random)).exp())
                };
                (0..6).map(|figure| one((figure, random))).collect()
            };
            let figures: Vec<Vec<Figure>> = (0..count).map(|at| run(&mut random, at)).collect();
            let found = of(&figures, &[]);
            let moved = |one: &super::Series| one.decision == Decision::Different;
            if step > 1.0 { moved(&found.series[0]) } else { found.series.iter().any(moved) }
        };
        let wrong = (0..lists).filter(|_| draw(1.0)).count() as f64 / f64::from(lists);
        let found = (0..lists).filter(|_| draw(1.2)).count() as f64 / f64::from(lists);
        println!("{count} runs: {:.1} % false, {:.1} % found", 100.0 * wrong, 100.0 * found);
        let noise = 4.0 * (0.05 * 0.95 / f64::from(lists)).sqrt();
        assert!(wrong <= 0.05 + noise, "seed {SEED}, {count} runs: {wrong}");
        assert!(found >= if count >= 8 { 0.95 } else { 0.0 }, "seed {SEED}, {count} runs: {found}");
    }
}
