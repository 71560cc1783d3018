//! The sessions study on models with a known table of sessions, limit of new ones and delay.

use measure::{FrameRate, Rate};
use method::study::Finding as _;
use method::{SessionsSpec, SessionsTest};
use page::{Figure, Key, Metric, Verdict};
use sim::{HostModel, VirtualTestbed};

use crate::trials::profile;

const RATE: Rate = Rate(1_000_000_000);

fn measure(tests: &[SessionsTest], text: &str) -> Vec<Figure> {
    let spec = SessionsSpec {
        tests: tests.to_vec(),
        most: method::study::sessions::MostConnections::known(20_000),
        blocks: method::Blocks::known(6),
        ..SessionsSpec::quick()
    };
    let text = format!(
        "name = \"firewall\"\nports = 2\nrate = \"{}bit\"\nlink_delay = \"10us\"\n\
         buffer = {{ per_port = \"1MiB\" }}\n{text}\n",
        RATE.0
    );
    let hosts = HostModel { sends_at_most: Some(FrameRate(60_000.0)), ..HostModel::ideal(2) };
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
