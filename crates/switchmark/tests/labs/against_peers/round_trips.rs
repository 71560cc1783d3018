//! Round trips: ours beside sockperf, qperf and ping, in one lab, interleaved.
//!
//! Owns how each peer is run and read. Never compares a mean with a median.

use agents::controller::LiveTestbed;
use lab::LabDevice;
use measure::Nanos;
use trial::Testbed;
use trial::{Gate, Protocol};

use super::{ROUNDS, median, ratios};
use crate::harness::{Guest, alone, echo, echo_of, open, trial};

/// Measures a round trip with somebody else's tool, in microseconds.
type Peer = fn(&LiveTestbed, Protocol, Statistic) -> f64;

/// What a peer prints of its round trips, and so what ours is compared by.
#[derive(Clone, Copy, PartialEq)]
enum Statistic {
    Median,
    Mean,
    P999,
}

fn ours(testbed: &mut LiveTestbed, protocol: Protocol, octets: u32, what: Statistic) -> f64 {
    let pair = testbed.topology().measured_pairs().remove(0);
    let asked = trial(&pair, echo(protocol, octets), Nanos::from_secs(1), Gate::Strict);
    let record = testbed.run(&asked).expect("runs");
    let rtt = &echo_of(&record).rtt;
    match what {
        Statistic::Median => rtt.quantile(0.5).0 as f64 / 1000.0,
        Statistic::Mean => rtt.mean() / 1000.0,
        Statistic::P999 => rtt.quantile(0.999).0 as f64 / 1000.0,
    }
}

/// sockperf prints half the round trip, in microseconds.
fn sockperf(testbed: &LiveTestbed, protocol: Protocol, what: Statistic) -> f64 {
    let tcp: &[&str] = if protocol == Protocol::Tcp { &["--tcp"] } else { &[] };
    let address = "198.18.0.2";
    let server_args = [&["sr", "-i", address, "-p", "11111"], tcp].concat();
    let server = Guest::start(testbed, "h2", "sockperf", &server_args);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let args =
        [&["pp", "-i", address, "-p", "11111", "-t", "1", "-m", "18", "--full-rtt"], tcp].concat();
    let text = Guest::run(testbed, "h1", "sockperf", &args);
    drop(server);
    let wanted = if what == Statistic::P999 { "percentile 99.900" } else { "percentile 50.000" };
    let line = text.lines().find(|l| l.contains(wanted)).unwrap_or_default();
    let value = line.rsplit_once('=').and_then(|(_, v)| v.trim().parse::<f64>().ok());
    value.unwrap_or_else(|| panic!("sockperf printed no {wanted}: {text}"))
}

/// qperf prints half the round trip as a mean, with a unit.
fn qperf(testbed: &LiveTestbed, protocol: Protocol, _: Statistic) -> f64 {
    let server = Guest::start(testbed, "h2", "qperf", &[]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let what = if protocol == Protocol::Tcp { "tcp_lat" } else { "udp_lat" };
    let args = ["198.18.0.2", "-t", "1", "-m", "18", "-un", what];
    let text = Guest::run(testbed, "h1", "qperf", &args);
    drop(server);
    let line = text.lines().find(|l| l.contains("latency")).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, "=", value, unit] = words.as_slice() else { panic!("qperf printed: {text}") };
    let scale = match *unit {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        _ => panic!("qperf printed: {text}"),
    };
    2.0 * scale * value.replace(',', "").parse::<f64>().expect("a number")
}

/// The median of ping's own lines, in microseconds.
fn ping(testbed: &LiveTestbed) -> f64 {
    let args = ["-c", "2000", "-i", "0", "-s", "18", "-D", "198.18.0.2"];
    let text = Guest::run(testbed, "h1", "ping", &args);
    let mut times: Vec<f64> = text
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split_whitespace().next()?.parse().ok())
        .map(|ms: f64| ms * 1000.0)
        .collect();
    assert!(times.len() > 1000, "ping printed: {text}");
    median(&mut times)
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn round_trips() {
    let Some(_alone) = alone("round_trips", &["sockperf", "qperf", "ping"]) else { return };
    let mut testbed = open(&LabDevice::Bridge, None);
    compare(&mut testbed, "busy polling off");
    let Some(_busy) = BusyPolling::on() else {
        println!("busy polling on: not tried, the kernel's setting cannot be changed here");
        return;
    };
    compare(&mut testbed, "busy polling on (net.core.busy_poll and busy_read: 50 µs)");
}

fn compare(testbed: &mut LiveTestbed, setting: &str) {
    println!("round trips over lab:bridge, {setting}; µs, median of {ROUNDS} interleaved rounds");
    println!("{:<24} {:>8} {:>8} {:>7}", "peer", "peer", "ours", "ratio");
    let peers: [(&str, Peer, Protocol, Statistic); 7] = [
        ("sockperf pp udp, p50", sockperf, Protocol::Udp, Statistic::Median),
        ("sockperf pp udp, p99.9", sockperf, Protocol::Udp, Statistic::P999),
        ("sockperf pp tcp, p50", sockperf, Protocol::Tcp, Statistic::Median),
        ("sockperf pp tcp, p99.9", sockperf, Protocol::Tcp, Statistic::P999),
        ("qperf udp_lat x 2, mean", qperf, Protocol::Udp, Statistic::Mean),
        ("qperf tcp_lat x 2, mean", qperf, Protocol::Tcp, Statistic::Mean),
        ("ping -i 0, p50", |testbed, _, _| ping(testbed), Protocol::Icmp, Statistic::Median),
    ];
    for (name, peer, protocol, what) in peers {
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        // TCP's headers and 18 octets of payload, as the peers send.
        let octets = if protocol == Protocol::Tcp { 88 } else { 64 };
        for _ in 0..ROUNDS {
            theirs.push(peer(testbed, protocol, what));
            own.push(ours(testbed, protocol, octets, what));
        }
        let mut ratios = ratios(&own, &theirs);
        let (theirs, own) = (median(&mut theirs), median(&mut own));
        println!("{name:<24} {theirs:>8.2} {own:>8.2} {:>7.3}", median(&mut ratios));
    }
}

/// The kernel polls a socket's queue for a while before it sleeps; for all programs of the machine,
/// so it is put back when dropped.
struct BusyPolling([(&'static str, String); 2]);

impl BusyPolling {
    fn on() -> Option<Self> {
        let files = ["/proc/sys/net/core/busy_poll", "/proc/sys/net/core/busy_read"];
        let before = files.map(|file| (file, std::fs::read_to_string(file).unwrap_or_default()));
        let this = Self(before);
        files.iter().all(|file| std::fs::write(file, "50").is_ok()).then_some(this)
    }
}

impl Drop for BusyPolling {
    fn drop(&mut self) {
        for (file, before) in &self.0 {
            let _ = std::fs::write(file, before.trim());
        }
    }
}
