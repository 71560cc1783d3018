//! A router whose ports are limited by tbf, under TCP: the delay is the queue over the rate, and
//! the octets that wait are tbf's limit.
//!
//! Owns the bar. The congestion control is reno, which fills a queue by its slow start; cubic's
//! HyStart ends that early. Needs root.

use agents::controller::{LiveTestbed, Stop};
use lab::{LabDevice, LabSpec};
use measure::{ByteCount, FrameSize, Nanos, Rate};
use page::{Figure, Key, Metric};
use study::{Finding as _, LatencySpec, Load, TcpDirection, TcpSpec};
use switchmark::config::resolved::{Source, Testbed};
use trial::Protocol;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::harness::{alone, full, switchmark};

const RATE: Rate = Rate(50_000_000);
/// As long as 40 ms.
const QUEUE: ByteCount = ByteCount(250_000);
/// A frame of the limit is counted by tbf without FCS; a figure has it.
const TRUTH: f64 = 250_000.0 * 1518.0 / 1514.0;
const BAR: f64 = 0.05;

fn open(rate: Rate, queue: ByteCount) -> LiveTestbed {
    let lab = LabSpec {
        rate: Some(rate),
        queue: Some(queue),
        mtu: 1500,
        bypass: false,
        ..LabSpec::new(LabDevice::Router)
    };
    let name = format!("lab:router,rate={},queue={}B", rate.0, queue.0);
    let place = Testbed::new(name, Source::Lab(lab));
    LiveTestbed::open_with(&place, Stop::new(), switchmark()).expect("the lab comes up")
}

fn find(figures: &[Figure], metric: Metric, is_it: impl Fn(&Figure) -> bool) -> &Figure {
    let found = figures.iter().find(|f| f.metric == metric && is_it(f));
    found.unwrap_or_else(|| panic!("no {metric:?}: {figures:#?}"))
}

fn value(figure: &Figure) -> f64 {
    figure.value.unwrap_or_else(|| panic!("no value: {figure:#?}"))
}

fn is_near(found: f64, truth: f64) -> bool {
    (found / truth - 1.0).abs() <= BAR
}

/// Requests without load and beside one TCP stream.
fn beside_tcp(directions: &[TcpDirection], blocks: u32) -> LatencySpec {
    let bulk =
        Load::Bulk { streams: study::Streams::known(1), congestion_control: "reno".to_owned() };
    LatencySpec {
        protocols: vec![Protocol::Udp],
        sizes: vec![FrameSize::MIN],
        loads: vec![Load::Idle, bulk],
        load_directions: directions.to_vec(),
        duration: Nanos::from_secs(4),
        blocks: study::Blocks::known(blocks),
        ..LatencySpec::quick()
    }
}

#[test]
fn the_loaded_delay_is_the_queue_over_the_rate() {
    let Some(_alone) = alone("the_loaded_delay_is_the_queue_over_the_rate", &[]) else { return };
    let mut testbed = open(RATE, QUEUE);
    let spec = beside_tcp(&[TcpDirection::Forward, TcpDirection::Reverse], 3);
    let figures = spec.run(&mut testbed, 1).expect("the trials run").rows();
    for direction in [None, Some("reverse")] {
        let loaded = |f: &Figure| {
            f.text(Key::LoadDirection) == direction && f.text(Key::Load) == Some("tcp")
        };
        let p99 = |f: &Figure| loaded(f) && f.quantile == Some(0.99);
        let waits = find(&figures, Metric::BottleneckBuffer, p99);
        let idle = |f: &Figure| f.text(Key::Load) == Some("idle") && f.quantile == Some(0.5);
        let rtt = value(find(&figures, Metric::Rtt, p99));
        let delay = (rtt - value(find(&figures, Metric::Rtt, idle))) / 1e9;
        let expected = QUEUE.0 as f64 * 8.0 / RATE.0 as f64;
        let rpm = value(find(&figures, Metric::NetworkRpm, |f| {
            loaded(f) && f.text(Key::Probes) == Some("both")
        }));
        println!(
            "{direction:?}: {:.0} of {TRUTH:.0} octets, {:.2} ms, {rpm:.0} RPM",
            value(waits),
            delay * 1e3
        );
        assert_eq!(waits.text(Key::Bound), None, "segments were lost");
        assert!(is_near(value(waits), TRUTH), "{waits:#?}");
        assert!(is_near(delay, expected), "{delay} s and not {expected}");
        // A queue that is half full at least makes half to all of the delay.
        assert!((60.0 / (1.2 * expected)..60.0 / (0.4 * expected)).contains(&rpm), "{rpm}");
    }
}

/// Octets that wait under TCP, by requests beside it.
fn find_queue(rate: Rate, queue: ByteCount) -> f64 {
    let mut testbed = open(rate, queue);
    let spec = beside_tcp(&[TcpDirection::Forward], 2);
    let figures = spec.run(&mut testbed, 1).expect("the trials run").rows();
    value(find(&figures, Metric::BottleneckBuffer, |f| f.quantile == Some(0.99)))
}

#[test]
fn random_queues_are_found() {
    let Some(_alone) = alone("random_queues_are_found", &[]) else { return };
    if !full() {
        eprintln!("skipped: random_queues takes minutes, and runs under SWITCHMARK_TESTS=full");
        return;
    }
    let mut rng = Pcg64::seed_from_u64(20_261_129);
    let mut near = 0;
    for number in 0..20 {
        let rate = Rate((10e6 * 10_f64.powf(rng.random())).round() as u64);
        let delay = 0.015 + 0.025 * rng.random::<f64>();
        let queue = ByteCount((rate.0 as f64 / 8.0 * delay).round() as u64);
        let truth = queue.0 as f64 * 1518.0 / 1514.0;
        let found = find_queue(rate, queue);
        let off = (found - truth).abs();
        near += i32::from(off <= (0.03 * truth).max(2.0 * 1518.0));
        println!("{number}: {rate}, {truth:.0} octets: {found:.0}, {near} near");
        assert!(off <= 2.0 * BAR * truth + 2.0 * 1518.0, "{rate} {truth}: {found}");
    }
    assert!(near >= 19, "{near} of 20");
}

#[test]
fn tcp_alone_tells_the_queue() {
    let Some(_alone) = alone("tcp_alone_tells_the_queue", &[]) else { return };
    let mut testbed = open(RATE, QUEUE);
    let spec = TcpSpec {
        directions: vec![TcpDirection::Forward],
        congestion_control: "reno".to_owned(),
        omit: Nanos::from_millis(100),
        duration: Nanos::from_secs(4),
        interval: Nanos::from_millis(20),
        blocks: study::Blocks::known(3),
        ..TcpSpec::quick()
    };
    let figures = spec.run(&mut testbed, 1).expect("the trials run").rows();
    let waits = value(find(&figures, Metric::BottleneckBuffer, |f| f.quantile == Some(0.99)));
    println!("{waits:.0} of {TRUTH:.0} octets");
    // A smoothed RTT lags behind the queue.
    assert!((waits / TRUTH - 1.0).abs() <= 2.0 * BAR, "{waits}");
}
