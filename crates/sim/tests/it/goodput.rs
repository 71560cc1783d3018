//! The tcp study on paths whose ceiling, losses and windows are known: the arithmetic of full
//! segments on Ethernet is the truth, and that of a window over a round trip.

use measure::{ByteCount, Nanos, Rate};
use page::{Caveat, Figure, Key, Metric, Verdict};
use sim::{HostModel, VirtualTestbed};
use study::{Finding as _, TcpDirection, TcpSpec};

use crate::trials::profile;

const RATE: Rate = Rate(100_000_000);

/// Payload of full segments with time stamps over their time on the wire, at MTU 1500.
const CEILING: f64 = 100e6 * 1448.0 / 1538.0;

fn spec(directions: &[TcpDirection]) -> TcpSpec {
    TcpSpec {
        directions: directions.to_vec(),
        omit: Nanos::from_millis(500),
        duration: Nanos::from_secs(1),
        blocks: study::Blocks::known(6),
        ..TcpSpec::quick()
    }
}

fn measure(spec: &TcpSpec, text: &str, hosts: HostModel) -> Vec<Figure> {
    let mut testbed = VirtualTestbed::new("sim:known", profile(text), hosts, 1);
    spec.run(&mut testbed, 7).expect("every trial runs").rows()
}

/// Ports of [`RATE`] and cables of so much delay, a quarter of the round trip each.
fn path(delay: &str, more: &str) -> String {
    format!(
        "name = \"path\"\nports = 2\nrate = \"{}bit\"\nlink_delay = \"{delay}\"\n\
         buffer = {{ per_port = \"1MiB\" }}\n{more}\n",
        RATE.0
    )
}

/// Of the device's path, or of the direct cable.
fn of(figures: &[Figure], metric: Metric, path: &str) -> Vec<Figure> {
    let wanted = |f: &&Figure| f.metric == metric && f.text(Key::Path) == Some(path);
    figures.iter().filter(wanted).cloned().collect()
}

fn only(figures: &[Figure], metric: Metric) -> Figure {
    let mut found = of(figures, metric, "device");
    assert_eq!(found.len(), 1, "{metric:?}: {found:#?}");
    found.remove(0)
}

#[test]
fn a_path_of_known_rate_gives_its_ceiling_each_way() {
    let spec = spec(&TcpDirection::ALL);
    let figures = measure(&spec, &path("10us", ""), HostModel::ideal(2));
    for path in ["device", "bypass"] {
        let goodputs = of(&figures, Metric::Goodput, path);
        let ways: Vec<(Option<&str>, Option<&str>)> =
            goodputs.iter().map(|f| (f.text(Key::Test), f.text(Key::Direction))).collect();
        let both = |direction| (Some("bidirectional"), Some(direction));
        let alone = [(Some("forward"), None), (Some("reverse"), None)];
        assert_eq!(ways[..2], alone);
        assert_eq!(ways[2..], ["forward", "reverse", "total"].map(both));
        for figure in &goodputs {
            let twice = if figure.text(Key::Direction) == Some("total") { 2.0 } else { 1.0 };
            let limit = figure.number(Key::WireLimit).expect("the rate is known");
            assert!((limit / (twice * CEILING) - 1.0).abs() < 1e-9, "{limit}");
            assert_eq!(figure.integer(Key::Segment), Some(1448));
            assert_eq!(figure.integer(Key::Mtu), Some(1500));
            assert_eq!(figure.text(Key::CeilingOf), Some("link"));
            let share = figure.value.expect("a value") / limit;
            // Acknowledgements of the other way take their part where both are at work.
            let least = if figure.text(Key::Direction).is_some() { 0.95 } else { 0.99 };
            assert!((least..=1.0).contains(&share), "{share}: {:?}", figure.conditions);
            assert_eq!(figure.blocks, 6);
        }
        for figure in &goodputs {
            assert_eq!(figure.verdict, Verdict::LinkLimited, "{figure:#?}");
            assert!(!figure.caveats.contains(&Caveat::HostLimited));
        }
    }
    let from =
        |f: &Figure| (f.text(Key::From).map(str::to_owned), f.text(Key::To).map(str::to_owned));
    let goodputs = of(&figures, Metric::Goodput, "device");
    let (there, back) = (from(&goodputs[0]), from(&goodputs[1]));
    assert_eq!((there.1, there.0), back, "the other way is told by its ports");
}

#[test]
fn a_queue_too_small_for_a_slower_device_has_segments_sent_again() {
    // Packets a second, acknowledgements among them.
    let text = path("100us", "pps_limit = 5000\npps_queue = 16");
    let figures = measure(&spec(&[TcpDirection::Forward]), &text, HostModel::ideal(2));
    let goodput = only(&figures, Metric::Goodput);
    let value = goodput.value.expect("a value");
    assert!(value > 0.3 * CEILING && value < 5_000.0 * 1448.0 * 8.0, "{value}");
    assert_eq!(goodput.verdict, Verdict::DeviceLimited, "{goodput:#?}");
    let again = only(&figures, Metric::Retransmits).value.expect("a value");
    let each = only(&figures, Metric::RetransmitsPerGigabyte).value.expect("a value");
    assert!(again > 0.0 && each > 0.0, "{again} {each}");
    let expected = again / (value / 8e9);
    assert!((each / expected - 1.0).abs() < 0.5, "{each} and about {expected}");
    let cable = &of(&figures, Metric::Goodput, "bypass")[0];
    assert_eq!(cable.verdict, Verdict::LinkLimited);
}

#[test]
fn a_receive_window_smaller_than_the_path_is_named() {
    // 40 ms there and back hold 500 kB at this rate.
    let window = ByteCount(100_000);
    let hosts = HostModel { receive_window: window, ..HostModel::ideal(2) };
    let figures = measure(&spec(&[TcpDirection::Forward]), &path("10ms", ""), hosts);
    let goodput = only(&figures, Metric::Goodput);
    let rtt = only_rtt(&figures, 0.5);
    let expected = window.0 as f64 * 8.0 / (rtt / 1e9);
    let value = goodput.value.expect("a value");
    assert!((value / expected - 1.0).abs() < 0.05, "{value} and not {expected}");
    assert!((rtt / only_rtt(&figures, 0.0) - 1.0).abs() < 0.05, "nothing waits");
    assert_eq!(goodput.text(Key::HostLimit), Some("receive-window"), "{goodput:#?}");
    assert!(goodput.caveats.contains(&Caveat::HostLimited));
    assert_eq!(goodput.verdict, Verdict::TesterLimited);
    let share = only(&figures, Metric::ReceiveWindowLimited).value.expect("a value");
    // All the time that it does not send.
    assert!((share - (1.0 - value / CEILING)).abs() < 0.02, "{share} beside {value}");
}

fn only_rtt(figures: &[Figure], quantile: f64) -> f64 {
    let found = of(figures, Metric::Rtt, "device");
    let found = found.iter().find(|f| f.quantile == Some(quantile)).expect("a round trip");
    found.value.expect("a value")
}

#[test]
fn streams_that_share_a_path_fill_it_together() {
    let spec = TcpSpec {
        streams: study::Streams::known(4),
        between: study::Between::one_pair(Some("h3/eth1".parse().expect("a port")), None),
        ..spec(&[TcpDirection::Reverse])
    };
    let text = path("10us", "").replace("ports = 2", "ports = 4");
    let figures = measure(&spec, &text, HostModel::ideal(4));
    let goodput = only(&figures, Metric::Goodput);
    assert_eq!(
        (goodput.text(Key::From), goodput.text(Key::To)),
        (Some("h1/eth1"), Some("h3/eth1"))
    );
    let share = goodput.value.expect("a value") / CEILING;
    assert!((0.98..=1.0).contains(&share), "{share}");
    assert_eq!(goodput.integer(Key::Streams), Some(4));
}
