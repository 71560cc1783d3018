//! Does the detector of changes keep quiet over 30 days without one, and does it see a small step
//! soon? Simulated; what it was tuned on are other seeds. `SWITCHMARK_TESTS=full` takes many more.

mod series;

use measure::change::{Amount, Change, Detector, Direction, Refused, Repetition, Season, Settings};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use series::{Made, REPETITIONS, Step, series};

/// The detector's constants were chosen on series with the seeds 0 to 199.
const SEEDS: u64 = 1_000_000;

/// The alarms of a series: at which repetition, and the change.
fn alarms(points: &[(u64, Repetition)]) -> Vec<(usize, Change)> {
    let mut detector = Detector::new(Settings::default());
    let taken = points.iter().enumerate().filter_map(|(at, (unix_ns, repetition))| {
        let change = detector.take(*unix_ns, *repetition).expect("a number")?;
        Some((at, change))
    });
    taken.collect()
}

fn full() -> bool {
    std::env::var("SWITCHMARK_TESTS").is_ok_and(|profile| profile == "full")
}

/// The day and the size of a step, by the seed.
fn step_of(made: Made, seed: u64) -> Step {
    let at = REPETITIONS / 4
        + (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % (REPETITIONS / 2);
    let down = !seed.is_multiple_of(2);
    match made {
        Made::Level | Made::Week => Step { at, by: if down { 1.0 / 1.05 } else { 1.05 } },
        Made::Loss => Step { at, by: 0.001 },
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    series: u32,
    false_alarms: u32,
    most: u32,
    more_than_one: u32,
    seen: u32,
    delays: usize,
    covers_when: u32,
    covers_amount: u32,
}

fn tally(made: Made, seeds: std::ops::Range<u64>) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        all.series += 1;
        let quiet = alarms(&series(made, seed, None)).len() as u32;
        all.false_alarms += quiet;
        all.more_than_one += u32::from(quiet > 1);
        all.most = all.most.max(quiet);
        let step = step_of(made, seed);
        let found = alarms(&series(made, seed, Some(step)));
        let Some((at, change)) =
            found.into_iter().find(|(at, _)| (step.at..step.at + 20).contains(at))
        else {
            continue;
        };
        all.seen += 1;
        all.delays += at - step.at + 1;
        let since = (change.earliest.repetition, change.latest.repetition);
        all.covers_when += u32::from((since.0..=since.1).contains(&(step.at as u64)));
        let within = (change.interval.low..=change.interval.high).contains(&step.by);
        all.covers_amount += u32::from(within);
    }
    all
}

#[test]
fn quiet_without_a_step_and_soon_with_one() {
    let count = if full() { 300 } else { 12 };
    for made in [Made::Level, Made::Loss] {
        let all = tally(made, SEEDS..SEEDS + count);
        println!("{made:?}, seeds from {SEEDS}: {all:?}");
        assert!(all.false_alarms <= all.series, "{all:?}");
        // One false alarm brings others now and then: 9 of 300 series had more than one.
        assert!(all.more_than_one * 20 <= all.series.max(20), "{all:?}");
        assert!(f64::from(all.seen) >= 0.95 * f64::from(all.series) - 1.0, "{all:?}");
        if full() {
            assert!(f64::from(all.seen) >= 0.95 * f64::from(all.series), "{all:?}");
            // Less than 95 %: an alarm is raised where the estimate happens to be large.
            assert!(f64::from(all.covers_when) >= 0.85 * f64::from(all.seen), "{all:?}");
            assert!(f64::from(all.covers_amount) >= 0.85 * f64::from(all.seen), "{all:?}");
        }
    }
}

/// A week is not learnt: what weekends with less load cost is printed, and stands in
/// docs/methods/change.md.
#[test]
fn weekends_are_counted() {
    let all = tally(Made::Week, SEEDS..SEEDS + if full() { 300 } else { 2 });
    println!("{:?}, seeds from {SEEDS}: {all:?}", Made::Week);
    assert!(all.seen > 0, "{all:?}");
}

const MINUTE: u64 = 60_000_000_000;

fn taken(settings: Settings, values: &[Repetition], every: u64) -> Vec<Change> {
    let mut detector = Detector::new(settings);
    let one = |(at, value): (u64, &Repetition)| detector.take(at * every, *value).expect("taken");
    (0..).zip(values).filter_map(one).collect()
}

#[test]
fn a_series_that_never_varies_steps_once() {
    let none = Settings { season: Season::None, ..Settings::default() };
    for (settings, every) in
        [(none, MINUTE), (Settings::default(), 10 * MINUTE), (Settings::default(), MINUTE / 60)]
    {
        let at = |step: f64, count: usize| -> Vec<Repetition> {
            (0..count)
                .map(|at| Repetition::Level(if at < 900 { 80.0 } else { 80.0 * step }))
                .collect()
        };
        assert_eq!(taken(settings, &at(1.0, 3_000), every), []);
        for step in [1.05, 0.9] {
            let found = taken(settings, &at(step, 3_000), every);
            assert_eq!(found.len(), 1, "{every} {step}: {found:?}");
            let change = found[0];
            assert_eq!(
                (change.since.repetition, change.earliest, change.latest),
                (900, change.since, change.since)
            );
            assert!(change.seen.repetition < 915 && change.amount == Amount::Ratio, "{change:?}");
            assert!((change.value - step).abs() < 1e-9, "{change:?}");
            assert_eq!(change.direction == Direction::Up, step > 1.0);
        }
    }
}

/// As a watch in a lab on a busy machine has it: 0.05 ms, one in five many times that, and then
/// 2 ms more. What was far off just before the change is no part of it.
#[test]
fn a_large_jump_is_told_as_large_as_it_is() {
    let (mut seen, mut covers, mut near, mut when, mut widths) = (0, 0, 0, 0, 0);
    for seed in 0..400 {
        let mut chance = Pcg64Mcg::seed_from_u64(SEEDS + seed);
        let first = 45 + (seed as usize % 20);
        let values: Vec<Repetition> = (0..first + 40)
            .map(|at| {
                let noise: f64 = chance.random_range(-0.15..0.15);
                let far =
                    if chance.random_bool(0.2) { chance.random_range(2.0..20.0) } else { 1.0 };
                let own = 0.05 * noise.exp() * far;
                Repetition::Level(if at < first { own } else { own + 2.0 })
            })
            .collect();
        let settings = Settings { season: Season::None, ..Settings::default() };
        let Some(change) = taken(settings, &values, 12).into_iter().next() else { continue };
        seen += 1;
        let truth = 2.05 / 0.05;
        covers += u32::from((change.interval.low..=change.interval.high).contains(&truth));
        near += u32::from((change.value / truth).ln().abs() < 0.3);
        let moments = change.earliest.repetition..=change.latest.repetition;
        when += u32::from(moments.contains(&(first as u64)));
        widths += moments.end() - moments.start() + 1;
    }
    let width = widths as f64 / f64::from(seen);
    println!("of {seen}: amount {covers}, near {near}, moment {when} within {width:.1}");
    assert!(width < 4.0, "{width}");
    assert!(seen >= 390, "{seen}");
    for told in [covers, near, when] {
        assert!(f64::from(told) >= 0.93 * f64::from(seen), "{covers} {near} {when} of {seen}");
    }
}

#[test]
fn from_nothing_to_something_is_told_as_a_difference() {
    let levels: Vec<Repetition> =
        (0..400).map(|at| Repetition::Level(if at < 300 { 0.0 } else { 7.0 })).collect();
    let none = Settings { season: Season::None, ..Settings::default() };
    let found = taken(none, &levels, MINUTE);
    assert_eq!((found.len(), found[0].amount), (1, Amount::Difference));
    assert!((found[0].value - 7.0).abs() < 1e-9, "{found:?}");
    let lost = |at: usize| Repetition::Loss { lost: if at < 300 { 0 } else { 10 }, of: 10_000 };
    let found = taken(none, &(0..400).map(lost).collect::<Vec<_>>(), MINUTE);
    assert!(found.len() == 1 && (found[0].value - 0.001).abs() < 1e-12, "{found:?}");
}

#[test]
fn what_is_no_repetition_is_refused_and_changes_nothing() {
    let mut detector = Detector::new(Settings::default());
    detector.take(0, Repetition::Level(1.0)).expect("a number");
    for (repetition, why) in [
        (Repetition::Level(f64::NAN), Refused::NoNumber),
        (Repetition::Level(f64::INFINITY), Refused::NoNumber),
        (Repetition::Level(-1.0), Refused::NoNumber),
        (Repetition::Loss { lost: 1, of: 0 }, Refused::NoCount),
        (Repetition::Loss { lost: 2, of: 1 }, Refused::NoCount),
        (Repetition::Loss { lost: 1, of: 2 }, Refused::OtherKind),
    ] {
        assert_eq!(detector.take(1, repetition), Err(why));
        assert_eq!((detector.repetition_count(), detector.stored_count()), (1, 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any values at any times, backwards too: no panic, finite answers, bounded memory.
    #[test]
    fn any_series_is_survived(
        values in prop::collection::vec((0_u64..3 * 86_400_000_000_000, prop_oneof![
            Just(0.0), Just(5.0), 0.0..1e300, any::<f64>().prop_map(f64::abs),
        ]), 1..700),
        seasonal in any::<bool>(),
    ) {
        let season = if seasonal { Season::Daily } else { Season::None };
        let mut detector = Detector::new(Settings { season, ..Settings::default() });
        for (at, value) in values {
            let found = detector.take(at, Repetition::Level(value));
            prop_assert_eq!(found.is_err(), !value.is_finite());
            if let Ok(Some(change)) = found {
                prop_assert!(change.earliest.repetition <= change.since.repetition);
                prop_assert!(change.since.repetition <= change.latest.repetition);
                prop_assert!(change.latest.repetition <= change.seen.repetition);
                prop_assert!(!change.value.is_nan() && change.interval.low <= change.interval.high);
            }
        }
    }

    /// In nanoseconds or in microseconds: the same alarms.
    #[test]
    fn the_unit_is_nothing_to_a_level(seed in any::<u64>(), unit in 1e-6..1e6) {
        let step = Step { at: 700, by: 1.08 };
        let points = series(Made::Level, seed, Some(step));
        let again = |unit: f64| -> Vec<u64> {
            let mut detector = Detector::new(Settings::default());
            let scaled = |repetition| match repetition {
                Repetition::Level(value) => Repetition::Level(value * unit),
                Repetition::Loss { .. } => repetition,
            };
            let taken = points.iter().take(760).filter_map(|(at, repetition)| {
                detector.take(*at, scaled(*repetition)).expect("a number")
            });
            taken.map(|change| change.seen.repetition).collect()
        };
        // But for values that lie just at the margin, on a coarse clock.
        let (one, other) = (again(1.0), again(unit));
        prop_assert_eq!(one.is_empty(), other.is_empty());
        for (one, other) in one.iter().zip(&other).take(1) {
            prop_assert!(one.abs_diff(*other) <= 2, "{} {}", one, other);
        }
    }
}

#[test]
fn memory_is_bounded_however_fast_or_long_a_series_is() {
    for every in [MINUTE / 60, 10 * MINUTE, 600 * MINUTE] {
        let mut detector = Detector::new(Settings::default());
        for at in 0..20_000 {
            let _ = detector.take(at * every, Repetition::Level(1.0 + (at % 7) as f64 * 1e-3));
            assert!(detector.stored_count() <= 1_500);
        }
    }
}
