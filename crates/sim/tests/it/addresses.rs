//! Address tables and the rate at which they learn, held against what the profile says: a lost
//! frame is no full table, a slow learner no small one, and what cannot be told is left open.

use measure::{Nanos, Rate};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use study::{Finding as _, SwitchTest, SwitchingSpec};

use crate::trials::{profile, size, testbed};

const LINK: Rate = Rate(100_000_000);
/// The three ports' own.
const OWN: f64 = 3.0;

fn spec(test: SwitchTest) -> SwitchingSpec {
    SwitchingSpec {
        tests: vec![test],
        frames: vec![size(64)],
        link_rate: Some(LINK),
        duration: Nanos::from_millis(50),
        final_duration: Nanos::from_millis(200),
        ..SwitchingSpec::quick()
    }
}

fn measured(lines: &str, spec: &SwitchingSpec) -> Figure {
    let head = "name = \"sw\"\nports = 4\nrate = \"100Mbit\"\nbuffer = { per_port = \"1MiB\" }";
    let mut testbed = testbed(profile(&format!("{head}\n{lines}")));
    let figures = spec.run(&mut testbed, 7).expect("every trial runs").rows();
    let wanted = [Metric::AddressCapacity, Metric::AddressLearningRate];
    let mut found = figures.into_iter().filter(|figure| wanted.contains(&figure.metric));
    found.next().expect("a figure")
}

fn capacity(lines: &str, learn_rate: u64) -> Figure {
    measured(
        lines,
        &SwitchingSpec {
            learn_rate: study::switching::LearnRate::known(learn_rate),
            ..spec(SwitchTest::AddressCaching)
        },
    )
}

fn learning(lines: &str) -> Figure {
    measured(lines, &spec(SwitchTest::AddressLearning))
}

#[test]
fn a_table_is_found_whatever_is_lost_at_random_and_however_slowly_it_learns() {
    for (entries, lines, table) in [
        (8_192, "", ""),
        (8_192, "loss = 1e-4", ""),
        (8_192, "loss = 1e-3", ""),
        (1_024, "pps_limit = 15000", ""),
        (8_192, "", "learn_rate = 500"),
        (8_192, "", "learn_rate = 2000"),
    ] {
        // As a switching study asks, and as `xray` does.
        for learn_rate in
            [SwitchingSpec::quick().learn_rate, study::switching::LearnRate::known(10_000)]
        {
            let table = if table.is_empty() { String::new() } else { format!(", {table}") };
            let lines = format!("{lines}\nmac_table = {{ entries = {entries}{table} }}");
            let found = capacity(&lines, learn_rate.get());
            assert_eq!(found.value, Some(f64::from(entries)), "{lines}: {found:#?}");
            assert_eq!(found.high, Some(f64::from(entries) + 1.0), "{lines}");
            assert_eq!(found.verdict, Verdict::DeviceLimited, "{lines}: {found:#?}");
        }
    }
}

#[test]
fn a_learner_too_slow_for_the_time_there_is_has_no_table_of_22() {
    // 16,384 stations would take it half an hour.
    let found = capacity("mac_table = { entries = 8192, learn_rate = 10 }", 10_000);
    assert_eq!((found.value, found.verdict), (None, Verdict::Undetermined), "{found:#?}");
    assert!(found.caveats.contains(&Caveat::LearningConfounded), "{found:#?}");
    assert!(found.low.is_some_and(|low| low > 64.0 && low <= 8_192.0), "{found:#?}");
}

#[test]
fn what_is_forgotten_before_it_is_asked_for_is_no_full_table() {
    let found = capacity("mac_table = { entries = 8192, age = \"1s\" }", 1_000);
    assert_eq!((found.value, found.verdict), (None, Verdict::Undetermined), "{found:#?}");
}

#[test]
fn a_table_that_has_no_room_for_anybody_has_an_upper_end_and_no_value() {
    let found = capacity("mac_table = { entries = 2 }", 10_000);
    assert_eq!((found.value, found.verdict), (None, Verdict::Undetermined), "{found:#?}");
}

#[test]
fn a_learning_rate_is_told_from_many_stations_or_not_at_all() {
    for (rate, lines) in [
        (500.0, "mac_table = { entries = 8192, learn_rate = 500 }"),
        (2_000.0, "loss = 1e-3\nmac_table = { entries = 8192, learn_rate = 2000 }"),
        (50_000.0, "loss = 1e-4\nmac_table = { entries = 8192, learn_rate = 50000 }"),
        (5_000.0, "mac_table = { entries = 600, learn_rate = 5000 }"),
    ] {
        let found = learning(lines);
        let value = found.value.expect("a value");
        assert!((value / rate - 1.0).abs() < 0.01, "{lines}: {found:#?}");
        assert!(found.low.is_some_and(|low| low <= rate), "{lines}: {found:#?}");
        assert!(found.high.is_some_and(|high| high >= rate), "{lines}: {found:#?}");
        assert_eq!(found.verdict, Verdict::DeviceLimited);
        assert!(matches!(found.conditions.get(&Key::Stations), Some(Condition::Integer(512..))));
    }
    let found = learning("mac_table = { entries = 300, learn_rate = 500 }");
    assert_eq!((found.value, found.verdict), (None, Verdict::Undetermined), "{found:#?}");
}

/// What a claim was worth beside the truth.
#[derive(Debug, Default)]
struct Tally {
    right: u32,
    at_least: u32,
    open: u32,
    wrong: Vec<String>,
}

impl Tally {
    /// A value may be off by its interval and 1 %; a bound must be one.
    fn hold(&mut self, found: &Figure, truth: f64, device: &str) {
        let (low, high) = (found.low.unwrap_or(0.0), found.high.unwrap_or(f64::INFINITY));
        let inside = low <= 1.01 * truth && truth <= 1.01 * high;
        match (found.value, found.verdict) {
            _ if !inside => self.wrong.push(format!("{device}: {truth} and not {found:?}")),
            (None, _) | (_, Verdict::Undetermined) => {
                println!("left open: {device}: {:?}", found.caveats);
                self.open += 1;
            }
            (Some(_), Verdict::DeviceLimited) => self.right += 1,
            (Some(_), _) => self.at_least += 1,
        }
    }

    fn report(&self, what: &str, devices: u32) {
        let Self { right, at_least, open, wrong } = self;
        println!(
            "{what}: {devices} devices, {right} right, {at_least} at least, {open} open, wrong:"
        );
        for one in wrong {
            println!("  {one}");
        }
        assert!(wrong.is_empty(), "{} wrong claims", wrong.len());
        // A tenth, and of few devices one.
        assert!(*open <= devices.div_ceil(10), "{open} of {devices} left open");
    }
}

/// Log-uniform.
fn between(random: &mut Pcg64, low: f64, high: f64) -> f64 {
    (random.random_range(low.ln()..high.ln())).exp()
}

fn random_devices(devices: u32) {
    const SEED: u64 = 16;
    let mut random = Pcg64::seed_from_u64(SEED);
    let (mut tables, mut rates) = (Tally::default(), Tally::default());
    for _ in 0..devices {
        let entries = between(&mut random, 64.0, 16_000.0) as u32;
        let learn_rate = between(&mut random, 200.0, 1e6) as u64;
        let loss = [0.0, 1e-5, 1e-4, 1e-3][random.random_range(0..4)];
        let pps_limit = match random.random_range(0..3) {
            0 => between(&mut random, 1_000.0, 1e6) as u64,
            _ => 0,
        };
        let lines = format!(
            "loss = {loss:.5}\npps_limit = {pps_limit}\n\
             mac_table = {{ entries = {entries}, learn_rate = {learn_rate} }}"
        );
        tables.hold(&capacity(&lines, 10_000), f64::from(entries), &lines);
        // What it never forwards it cannot learn; and no more come than the link brings.
        let limit = if pps_limit == 0 { u64::MAX } else { pps_limit };
        let truth = learn_rate.min(limit) as f64;
        if f64::from(entries) - OWN >= 512.0 {
            rates.hold(&learning(&lines), truth, &lines);
        }
    }
    println!("seed {SEED}");
    tables.report("tables", devices);
    let all = rates.right + rates.at_least + rates.open + rates.wrong.len() as u32;
    rates.report("learning rates", all);
}

#[test]
fn of_random_devices_no_claim_is_wrong() {
    random_devices(if std::env::var("SWITCHMARK_TESTS").is_ok_and(|t| t == "full") {
        60
    } else {
        6
    });
}
