//! The sessions study on models with a known table of sessions, limit of new ones and delay.

use measure::{FrameRate, Nanos, Rate};
use page::{Figure, Key, Metric, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use sim::{HostModel, VirtualTestbed};
use study::sessions::{MostConnections, OpeningRate};
use study::{Finding as _, SessionsSpec, SessionsTest};
use trial::Transport;

use crate::trials::profile;

const RATE: Rate = Rate(1_000_000_000);

fn measure(tests: &[SessionsTest], text: &str) -> Vec<Figure> {
    let spec = SessionsSpec {
        tests: tests.to_vec(),
        most: MostConnections::known(20_000),
        blocks: study::Blocks::known(6),
        ..SessionsSpec::quick()
    };
    measure_by(&spec, 60_000.0, text)
}

/// Figures over hosts that send at most so many frames a second.
fn measure_by(spec: &SessionsSpec, sends: f64, text: &str) -> Vec<Figure> {
    let text = format!(
        "name = \"firewall\"\nports = 2\nrate = \"{}bit\"\nlink_delay = \"10us\"\n\
         buffer = {{ per_port = \"1MiB\" }}\n{text}\n",
        RATE.0
    );
    let hosts = HostModel { sends_at_most: Some(FrameRate(sends)), ..HostModel::ideal(2) };
    let mut testbed = VirtualTestbed::new("sim:known", profile(&text), hosts, 1);
    spec.run(&mut testbed, 7).expect("every trial runs").rows()
}

fn only(figures: &[Figure], metric: Metric, path: &str) -> Figure {
    let wanted = |f: &&Figure| f.metric == metric && f.text(Key::Path) == Some(path);
    let found: Vec<&Figure> = figures.iter().filter(wanted).collect();
    assert_eq!(found.len(), 1, "{metric:?}: {figures:#?}");
    found[0].clone()
}

#[test]
fn a_limit_of_new_sessions_is_the_devices() {
    let limited = "sessions = { per_second = 5000, burst = 10 }";
    let figures = measure(&[SessionsTest::Rate], limited);
    let rate = only(&figures, Metric::ConnectionRate, "device");
    let (low, high) = (rate.low.expect("one passed"), rate.high.expect("one failed"));
    // A burst passes beside the rate, in trials of 2 s.
    assert!(low <= 5005.0 && high >= 5000.0 && low >= 0.97 * 5000.0, "{low}…{high}");
    assert_eq!(rate.verdict, Verdict::DeviceLimited, "{rate:#?}");
    assert_eq!(rate.text(Key::FailedBy), Some("timed-out"));
    assert_eq!(rate.text(Key::Bound), None);
}

#[test]
fn without_a_limit_the_tester_is_the_limit() {
    let figures = measure(&[SessionsTest::Rate], "");
    let rate = only(&figures, Metric::ConnectionRate, "device");
    assert_eq!(rate.verdict, Verdict::TesterLimited, "{rate:#?}");
    assert_eq!(rate.text(Key::Bound), Some("at-least"));
    assert!(rate.high.is_none() && rate.value.is_some(), "{rate:#?}");
}

#[test]
fn a_full_table_is_told_with_its_bracket() {
    let figures = measure(&[SessionsTest::Concurrent], "sessions = { table = 3210 }");
    let held = only(&figures, Metric::Connections, "device");
    let (low, high) = (held.low.expect("one passed"), held.high.expect("one failed"));
    assert!(low <= 3210.0 && high > 3210.0 && low >= 0.97 * 3210.0, "{low}…{high}");
    assert_eq!(held.verdict, Verdict::DeviceLimited, "{held:#?}");
    let cable = only(&figures, Metric::Connections, "bypass");
    assert!(cable.low.is_some_and(|low| low > 2.0 * 3000.0), "{cable:#?}");
}

#[test]
fn a_table_beyond_the_search_is_at_least_what_was_held() {
    let figures = measure(&[SessionsTest::Concurrent], "sessions = { table = 50000 }");
    let held = only(&figures, Metric::Connections, "device");
    assert_eq!((held.value, held.high), (Some(20_000.0), None));
    assert_eq!(held.text(Key::Bound), Some("at-least"));
    assert_eq!(held.verdict, Verdict::TesterLimited, "{held:#?}");
}

#[test]
fn what_a_device_adds_to_a_handshake_is_its_latency_there_and_back() {
    let latency = "forwarding = { mode = \"cut-through\", latency = \"100us\" }";
    let figures = measure(&[SessionsTest::Handshake], latency);
    let added = only(&figures, Metric::HandshakeTimeAdded, "device");
    let value = added.value.expect("a value");
    // The direct cable is as long as both of the device's.
    assert!((199_000.0..=203_000.0).contains(&value), "{value}");
    assert_eq!(added.verdict, Verdict::DeviceLimited, "{added:#?}");
}

fn of_udp(tests: &[SessionsTest], text: &str) -> Vec<Figure> {
    let spec = SessionsSpec {
        transport: Transport::Udp,
        tests: tests.to_vec(),
        most: MostConnections::known(20_000),
        idle: Nanos::from_secs(40),
        blocks: study::Blocks::known(6),
        ..SessionsSpec::quick()
    };
    measure_by(&spec, 60_000.0, text)
}

#[test]
fn how_long_an_idle_flow_lives_is_in_its_bracket() {
    let mut rng = Pcg64::seed_from_u64(20_261_129);
    for _ in 0..10 {
        let life: f64 = 0.5 * 60_f64.powf(rng.random());
        let figures =
            of_udp(&[SessionsTest::Idle], &format!("sessions = {{ idle = \"{life:.3}s\" }}"));
        let idle = only(&figures, Metric::IdleTime, "device");
        let (low, high) = (idle.low.expect("some live"), idle.high.expect("some do not"));
        let life = life * 1e9;
        assert!(low <= life && life <= high && high - low < 0.03e9, "{life}: {low}…{high}");
        assert_eq!(idle.verdict, Verdict::DeviceLimited, "{idle:#?}");
        let cable = only(&figures, Metric::IdleTime, "bypass");
        assert_eq!(cable.high, None, "{cable:#?}");
    }
}

#[test]
fn a_device_that_forgets_no_flow_has_at_least_the_longest_silence() {
    let figures = of_udp(&[SessionsTest::Idle], "sessions = { idle = \"41s\" }");
    let idle = only(&figures, Metric::IdleTime, "device");
    let value = idle.value.expect("a value");
    assert!(value > 39.9e9 && idle.high.is_none(), "{idle:#?}");
    assert_eq!(idle.text(Key::Bound), Some("at-least"));
    assert_ne!(idle.verdict, Verdict::DeviceLimited);
}

#[test]
fn limits_of_udp_flows_are_the_devices() {
    let limited = "sessions = { per_second = 5000, burst = 10, idle = \"30s\" }";
    let figures = of_udp(&[SessionsTest::Rate, SessionsTest::Concurrent], limited);
    let rate = only(&figures, Metric::ConnectionRate, "device");
    let (low, high) = (rate.low.expect("one passed"), rate.high.expect("one failed"));
    assert!(low <= 5005.0 && high >= 5000.0 && low >= 0.97 * 5000.0, "{low}…{high}");
    assert_eq!(rate.verdict, Verdict::DeviceLimited, "{rate:#?}");
    assert_eq!(rate.text(Key::Protocol), Some("udp"));
    let figures = of_udp(&[SessionsTest::Concurrent], "sessions = { table = 3210 }");
    let held = only(&figures, Metric::Connections, "device");
    assert!(holds("at once", &held, 3210.0, 3210.0), "{held:#?}");
    assert_eq!(held.verdict, Verdict::DeviceLimited, "{held:#?}");
}

#[test]
fn flows_that_fill_the_table_are_no_limit_of_their_rate() {
    let figures = of_udp(&[SessionsTest::Rate], "sessions = { table = 3000 }");
    let rate = only(&figures, Metric::ConnectionRate, "device");
    let low = rate.low.expect("one passed");
    // In trials of two seconds.
    assert!((1400.0..=1500.0).contains(&low) && rate.high.is_none(), "{rate:#?}");
    assert_eq!(rate.text(Key::Bound), Some("at-least"));
    assert_eq!(rate.verdict, Verdict::Undetermined, "{rate:#?}");
}

fn full() -> bool {
    std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full")
}

/// Frames a second of a tester that is no limit here: two for each connection.
const FAST: f64 = 400_000.0;

/// Seconds of the trials that decide a rate.
const FINAL_S: f64 = 2.0;

/// Prints a limit with its bracket; true if the bracket holds it. A burst passes beside the rate.
/// What claims more than it knows fails at once.
fn holds(name: &str, figure: &Figure, least: f64, most: f64) -> bool {
    let (low, high) = (figure.low.unwrap_or(0.0), figure.high);
    let shown = high.map_or_else(|| "none".to_owned(), |high| format!("{high:.0}"));
    let verdict = figure.verdict;
    println!("| {name} | {least:.0} | {low:.0} | {shown} | {verdict:?} |");
    let holds = low <= most && high.is_none_or(|high| high >= least);
    assert!(holds || verdict != Verdict::DeviceLimited, "{least}…{most}: {figure:#?}");
    holds
}

#[test]
fn random_limits_are_in_their_brackets() {
    let count = if full() { 20 } else { 3 };
    let mut rng = Pcg64::seed_from_u64(20_261_128);
    let mut between = |least: f64, most: f64| (least * (most / least).powf(rng.random())).round();
    let (mut held, mut asked) = (0, 0);
    for number in 0..count {
        let (rate, burst) = (between(200.0, 50_000.0), between(1.0, 50.0));
        let limited = format!("sessions = {{ per_second = {rate}, burst = {burst} }}");
        let spec = SessionsSpec { tests: vec![SessionsTest::Rate], ..SessionsSpec::quick() };
        let figures = measure_by(&spec, FAST, &limited);
        let figure = only(&figures, Metric::ConnectionRate, "device");
        held += i32::from(holds("connections/s", &figure, rate, rate + burst / FINAL_S));
        let most = if full() { 200_000.0 } else { 10_000.0 };
        let table = between(1_000.0, most);
        let spec = SessionsSpec {
            tests: vec![SessionsTest::Concurrent],
            most: MostConnections::known(400_000),
            opening: Some(OpeningRate::known(50_000.0)),
            ..spec
        };
        let figures = measure_by(&spec, FAST, &format!("sessions = {{ table = {table} }}"));
        let figure = only(&figures, Metric::Connections, "device");
        held += i32::from(holds("at once", &figure, table, table));
        asked += 2;
        println!("{number}: {held} of {asked}");
    }
    assert!(20 * held >= 19 * asked, "{held} of {asked}");
}

#[test]
fn a_million_connections_at_once() {
    let (most, table) = if full() { (1_000_000, 800_000) } else { (10_000, 8_000) };
    let spec = SessionsSpec {
        tests: vec![SessionsTest::Concurrent],
        most: MostConnections::known(most),
        opening: Some(OpeningRate::known(100_000.0)),
        ..SessionsSpec::quick()
    };
    let figures = measure_by(&spec, FAST, "");
    let held = only(&figures, Metric::Connections, "device");
    assert_eq!((held.value, held.high), (Some(most as f64), None), "{held:#?}");
    assert_eq!(held.text(Key::Bound), Some("at-least"));
    let figures = measure_by(&spec, FAST, &format!("sessions = {{ table = {table} }}"));
    let held = only(&figures, Metric::Connections, "device");
    assert!(holds("at once", &held, f64::from(table), f64::from(table)), "{held:#?}");
    assert_eq!(held.verdict, Verdict::DeviceLimited, "{held:#?}");
}
