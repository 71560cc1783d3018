//! Ours beside sockperf, qperf and ping, in one lab, interleaved: a table of ratios.
//!
//! Ignored in an ordinary test run: `cargo xtask bench` runs it. Never asserts an absolute time; the
//! ratios are printed, and what must hold of them is asserted where it is stated.

#![allow(missing_docs, reason = "a benchmark")]
#![allow(clippy::disallowed_methods, reason = "it faces the kernel")]

mod harness;

use harness::{Guest, alone, echo, echo_of, open, trial};
use lab::LabDevice;
use measure::Nanos;
use method::Testbed;
use method::trial::{Gate, Protocol};
use switchmark::controller::LiveTestbed;

const ROUNDS: usize = 7;

/// Measures a round trip with somebody else's tool, in microseconds.
type Peer = fn(&LiveTestbed, Protocol) -> f64;

/// The median of a few values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a peer prints of its round trips, and so what ours is compared by.
#[derive(Clone, Copy, PartialEq)]
enum Statistic {
    Median,
    Mean,
}

fn ours(testbed: &mut LiveTestbed, protocol: Protocol, octets: u32, what: Statistic) -> f64 {
    let pair = testbed.topology().measured_pairs().remove(0);
    let asked = trial(&pair, echo(protocol, octets), Nanos::from_secs(1), Gate::Strict);
    let record = testbed.run(&asked).expect("runs");
    let rtt = &echo_of(&record).rtt;
    match what {
        Statistic::Median => rtt.quantile(0.5).0 as f64 / 1000.0,
        Statistic::Mean => rtt.mean() / 1000.0,
    }
}

/// sockperf prints half the round trip, in microseconds.
fn sockperf(testbed: &LiveTestbed, protocol: Protocol) -> f64 {
    let tcp: &[&str] = if protocol == Protocol::Tcp { &["--tcp"] } else { &[] };
    let address = "198.18.0.2";
    let server_args = [&["sr", "-i", address, "-p", "11111"], tcp].concat();
    let server = Guest::start(testbed, "h2", "sockperf", &server_args);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let args =
        [&["pp", "-i", address, "-p", "11111", "-t", "1", "-m", "18", "--full-rtt"], tcp].concat();
    let text = Guest::run(testbed, "h1", "sockperf", &args);
    drop(server);
    let line = text.lines().find(|l| l.contains("percentile 50.000")).unwrap_or_default();
    let value = line.rsplit_once('=').and_then(|(_, v)| v.trim().parse::<f64>().ok());
    value.unwrap_or_else(|| panic!("sockperf printed no median: {text}"))
}

/// qperf prints half the round trip as a mean, with a unit.
fn qperf(testbed: &LiveTestbed, protocol: Protocol) -> f64 {
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
    let mut testbed = open(LabDevice::Bridge, None);
    println!("round trips over lab:bridge, µs, median of {ROUNDS} interleaved rounds");
    println!("{:<24} {:>8} {:>8} {:>7}", "peer", "peer", "ours", "ratio");
    let peers: [(&str, Peer, Protocol, Statistic); 5] = [
        ("sockperf pp udp, p50", sockperf, Protocol::Udp, Statistic::Median),
        ("sockperf pp tcp, p50", sockperf, Protocol::Tcp, Statistic::Median),
        ("qperf udp_lat x 2, mean", qperf, Protocol::Udp, Statistic::Mean),
        ("qperf tcp_lat x 2, mean", qperf, Protocol::Tcp, Statistic::Mean),
        ("ping -i 0, p50", |testbed, _| ping(testbed), Protocol::Icmp, Statistic::Median),
    ];
    for (name, peer, protocol, what) in peers {
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        // TCP's headers and 18 octets of payload, as the peers send.
        let octets = if protocol == Protocol::Tcp { 88 } else { 64 };
        for _ in 0..ROUNDS {
            theirs.push(peer(&testbed, protocol));
            own.push(ours(&mut testbed, protocol, octets, what));
        }
        let mut ratios: Vec<f64> = own.iter().zip(&theirs).map(|(o, t)| o / t).collect();
        let (theirs, own) = (median(&mut theirs), median(&mut own));
        println!("{name:<24} {theirs:>8.2} {own:>8.2} {:>7.3}", median(&mut ratios));
    }
}
