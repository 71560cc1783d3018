//! `tcp` beside iperf3 in the same namespaces, in turn: the same goodput within 1 %.
//!
//! Owns the bar and how iperf3 is asked: the same congestion control, streams, warm-up and time,
//! and its receiver's own figure. The lab's ports are limited by tbf, so that what is held against
//! each other is how both count, not how fast this machine is. Needs root and iperf3.

use agents::controller::{LiveTestbed, Stop};
use lab::{LabDevice, LabSpec};
use measure::{ByteCount, Nanos, Rate};
use page::{Key, Metric};
use study::{Finding as _, TcpDirection, TcpSpec};
use switchmark::config::resolved::{Source, Testbed};

use crate::harness::{Guest, alone, full, switchmark};

const RATE: Rate = Rate(50_000_000);
/// tbf counts a frame without FCS, preamble and gap.
const CEILING: f64 = 50e6 * 1448.0 / 1514.0;
const BAR: f64 = 0.01;

fn open() -> LiveTestbed {
    let lab = LabSpec {
        rate: Some(RATE),
        // As long as 40 ms: no sender that waits for its processor leaves the port idle.
        queue: Some(ByteCount(250_000)),
        mtu: 1500,
        // It would be measured too, and nothing is asked of it.
        bypass: false,
        ..LabSpec::new(LabDevice::Bridge)
    };
    let name = "lab:bridge,rate=50Mbit,queue=250kB".to_owned();
    let place = Testbed::new(name, Source::Lab(lab));
    LiveTestbed::open_with(&place, Stop::new(), switchmark()).expect("the lab comes up")
}

/// Payload bits a second at iperf3's receiver.
fn iperf3(testbed: &LiveTestbed) -> f64 {
    let server = Guest::start(testbed, "h2", "iperf3", &["-s", "-1", "-B", "198.18.0.2"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let args =
        ["-c", "198.18.0.2", "-t", "2", "-O", "1", "-C", "cubic", "--json", "--get-server-output"];
    let text = Guest::run(testbed, "h1", "iperf3", &args);
    drop(server);
    let json: serde_json::Value = serde_json::from_str(&text).expect("iperf3 prints json");
    let told = json["end"]["sum_received"]["bits_per_second"].as_f64();
    told.unwrap_or_else(|| panic!("iperf3 printed: {text}"))
}

/// One trial of the study's own, through the device.
fn ours(testbed: &mut LiveTestbed, seed: u64) -> f64 {
    let spec = TcpSpec {
        directions: vec![TcpDirection::Forward],
        omit: Nanos::from_secs(1),
        duration: Nanos::from_secs(2),
        blocks: study::Blocks::known(1),
        ..TcpSpec::quick()
    };
    let figures = spec.run(testbed, seed).expect("the trials run").rows();
    let goodput = figures
        .iter()
        .find(|f| f.metric == Metric::Goodput && f.text(Key::Path) == Some("device"))
        .expect("a goodput");
    let limit = goodput.number(Key::WireLimit).expect("the lab's rate is known");
    assert!((limit / CEILING - 1.0).abs() < 1e-9, "{limit} and not {CEILING}");
    assert_eq!(goodput.text(Key::CeilingOf), Some("port-limit"));
    goodput.value.unwrap_or_else(|| panic!("{goodput:#?}"))
}

#[test]
fn goodput_is_iperf3_s_own() {
    let Some(_alone) = alone("goodput_is_iperf3_s_own", &["iperf3"]) else { return };
    let mut testbed = open();
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    // In turn.
    for round in 0..if full() { 5 } else { 3 } {
        own.push(ours(&mut testbed, round));
        theirs.push(iperf3(&testbed));
    }
    let median = |values: &[f64]| measure::quantile::median(values).expect("a median");
    let (ours, iperf3) = (median(&own), median(&theirs));
    println!("ours {own:.0?}, iperf3 {theirs:.0?}, of {CEILING:.0}");
    let ratio = ours / iperf3;
    assert!((ratio - 1.0).abs() <= BAR, "{ratio:.4}: {ours} beside iperf3's {iperf3}");
    // And both are near what arithmetic allows, so that they do not share a mistake.
    assert!(ours <= CEILING * (1.0 + BAR), "{ours} is more than {CEILING}");
}
