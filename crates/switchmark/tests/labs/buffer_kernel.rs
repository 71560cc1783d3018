//! The depth study on a kernel bridge whose ports are limited by tbf: the limit's bytes are the
//! truth, and no code of ours is in the data path.
//!
//! Owns the bar: 5 % or two frames. A token bucket lets its burst pass at once, so an overflowing
//! burst finds limit and bucket, and the delay finds the limit alone. On a machine with other
//! business an answer may be missing or wide, and must then still hold the truth. Needs root.

use agents::controller::{LiveTestbed, Stop};

use crate::harness::{self, alone, switchmark};
use lab::{LabDevice, LabSpec, PortLimit};
use measure::{ByteCount, Rate};
use page::Condition;
use page::{Caveat, Figure, Key, Metric};
use study::{DepthSpec, Finding as _};
use switchmark::config::resolved::{Source, Testbed};

const FRAME: f64 = 1518.0;
/// What the kernel counts of it: no FCS.
const COUNTED: f64 = 1514.0;
const BAR: f64 = 0.05;
/// The full profile's, in Mbit/s.
const RATES: [u64; 4] = [50, 100, 200, 500];

fn estimated<'a>(figures: &'a [Figure], estimator: &str) -> Option<&'a Figure> {
    let named = |f: &&Figure, key: Key, text: &str| matches!(f.conditions.get(&key), Some(Condition::Text(known)) if known == text);
    figures
        .iter()
        .filter(|f| f.metric == Metric::Buffer)
        .find(|f| named(f, Key::Estimator, estimator))
}

fn measure(limit: u64, rate: Rate, blocks: u32) -> Vec<Figure> {
    let device = LabDevice::Bridge;
    let name = format!("lab:bridge,rate={}bit,queue={limit}B", rate.0);
    let spec = LabSpec {
        rate: Some(rate),
        queue: Some(ByteCount(limit)),
        mtu: 1500,
        ..LabSpec::new(device)
    };
    let place = Testbed::new(name, Source::Lab(spec));
    let mut testbed =
        LiveTestbed::open_with(&place, Stop::new(), switchmark()).expect("the lab comes up");
    let study = DepthSpec {
        sizes: Vec::new(),
        congested: study::depth::Congested::known(1),
        blocks: study::Blocks::known(blocks),
        ..DepthSpec::quick()
    };
    study.run(&mut testbed, 1).expect("every trial runs").rows()
}

/// What came of one estimator at one limit.
#[derive(Debug, PartialEq)]
enum Told {
    /// A figure and its interval are within the bar.
    Near,
    /// No figure, a bound, or an interval wider than the bar that holds the truth.
    Open,
    /// Neither.
    Wrong(String),
}

fn told(figures: &[Figure], name: &str, truth: f64) -> Told {
    let Some(figure) = estimated(figures, name).filter(|figure| figure.value.is_some()) else {
        // A missing figure says that there was no valid trial, or that nothing overfilled the
        // queue.
        let said = |f: &Figure| {
            f.caveats.contains(&Caveat::NoValidTrial)
                || f.caveats.contains(&Caveat::DeviceNotDriven)
        };
        let row = figures.iter().find(|f| f.metric == Metric::Buffer);
        println!("{name:<9} no figure: {:?}", row.map(|row| &row.caveats));
        let fair = estimated(figures, "one-shot").is_some_and(|f| f.value.is_some());
        return if fair || row.is_some_and(said) {
            Told::Open
        } else {
            Told::Wrong(format!("{name}: no figure, and no reason: {row:?}"))
        };
    };
    let value = figure.value.unwrap_or(f64::NAN);
    let (low, high) = (figure.low.unwrap_or(value), figure.high.unwrap_or(f64::INFINITY));
    println!(
        "{name:<9} truth {truth:>9.0} found {value:>9.0} ({:+.2} %, {:+.1} frames) {low:.0}…{high:.0}",
        (value / truth - 1.0) * 100.0,
        (value - truth) / FRAME,
    );
    // The program says so itself where a frame was held up behind the queue that is looked for.
    let elsewhere = matches!(figure.conditions.get(&Key::Disagreement),
        Some(Condition::Text(why)) if why.contains("another queue"));
    let bar = (BAR * truth).max(2.0 * FRAME);
    let wide = low - bar <= truth && truth <= high + bar && high - low > bar;
    if (value - truth).abs() <= bar {
        Told::Near
    } else if elsewhere || wide {
        Told::Open
    } else {
        Told::Wrong(format!("{name}: {value} ({low}…{high}) and not {truth}"))
    }
}

fn check(kib: u64, mbit: u64, blocks: u32) -> Vec<(&'static str, Told)> {
    let (limit, rate) = (kib * 1024, Rate(mbit * 1_000_000));
    let figures = measure(limit, rate, blocks);
    let bucket = PortLimit::new(rate, Some(ByteCount(limit)), 1500).burst.0;
    let truths = [("one-shot", limit + bucket), ("burst", limit + bucket), ("delay", limit)];
    let mut all = Vec::new();
    for (name, counted) in truths {
        // In octets with FCS, as the figure has them.
        let truth = counted as f64 * FRAME / COUNTED;
        print!("{kib:>5} KiB {mbit:>4} Mbit ");
        all.push((name, told(&figures, name, truth)));
    }
    all
}

fn wrong(told: &[(&str, Told)]) -> Vec<String> {
    let said = |(_, told): &(&str, Told)| match told {
        Told::Wrong(how) => Some(how.clone()),
        Told::Near | Told::Open => None,
    };
    told.iter().filter_map(said).collect()
}

#[test]
fn a_token_buckets_limit_is_found() {
    let Some(_alone) = alone("a_token_buckets_limit_is_found", &[]) else { return };
    let told = check(256, 100, 3);
    assert_eq!(wrong(&told), Vec::<String>::new());
}

/// One size of the full profile, at every rate: all of them must be told to the bar, by each
/// estimator.
fn four_rates(test: &str, kib: u64) {
    let Some(_alone) = alone(test, &[]) else { return };
    if !harness::full() {
        eprintln!("skipped: sixteen labs take minutes; set SWITCHMARK_TESTS=full");
        return;
    }
    let all: Vec<_> = RATES.iter().flat_map(|mbit| check(kib, *mbit, 6)).collect();
    assert_eq!(wrong(&all), Vec::<String>::new());
    for name in ["one-shot", "burst", "delay"] {
        let near = all.iter().filter(|(known, told)| *known == name && *told == Told::Near).count();
        println!("{name}: {near} of {} within 5 % or two frames", RATES.len());
        assert_eq!(near, RATES.len(), "{name}");
    }
}

#[test]
fn limits_of_64_kib_are_found() {
    four_rates("limits_of_64_kib_are_found", 64);
}

#[test]
fn limits_of_256_kib_are_found() {
    four_rates("limits_of_256_kib_are_found", 256);
}

#[test]
fn limits_of_1_mib_are_found() {
    four_rates("limits_of_1_mib_are_found", 1024);
}

#[test]
fn limits_of_4_mib_are_found() {
    four_rates("limits_of_4_mib_are_found", 4096);
}
