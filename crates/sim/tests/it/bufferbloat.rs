//! Random queues in front of a slower port, as tbf makes them: the octets that wait under TCP are
//! the buffer, and round trips a minute follow from the loaded RTT.
//!
//! Owns the bar: 3 % of the buffer, or two frames: one that no longer fits, and one that has partly
//! left.

use device::Profile;
use measure::{FrameSize, Nanos};
use page::{Caveat, Figure, Key, Metric, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use sim::{Cabling, HostModel, VirtualTestbed};
use study::{Finding as _, LatencySpec, Load, TcpDirection, TcpSpec};
use trial::Protocol;

use crate::trials;

const BAR: f64 = 0.03;
const FRAME: f64 = 1518.0;
const QUEUES: usize = 20;

/// Queue of so many octets in front of a port that is shaped to this rate.
#[derive(Debug, Clone, Copy)]
struct Bottleneck {
    mbit: u64,
    octets: u64,
}

impl Bottleneck {
    /// Draws 10 Mbit/s to 1 Gbit/s and 16 KiB to 4 MiB, evenly over their logarithms.
    fn draw(chance: &mut Pcg64) -> Self {
        let mbit = 10f64.powf(chance.random_range(1.0..3.0)).round() as u64;
        let octets = 2f64.powf(chance.random_range(14.0..22.0)).round() as u64;
        Self { mbit, octets }
    }

    /// Time in which the full queue empties, at most.
    fn drain(self) -> f64 {
        self.octets as f64 * 8.0 / (self.mbit as f64 * 1e6)
    }

    /// Switch whose second port is the bottleneck; the way back is faster.
    fn profile(self) -> Profile {
        let Self { mbit, octets } = self;
        trials::profile(&format!(
            "name = \"bloated\"\nports = 2\nrate = \"10Gbit\"\nlink_delay = \"10us\"\n\
             buffer = {{ per_port = \"{octets}B\" }}\n\
             cables = [{{ ports = \"2\", shaped = \"{mbit}Mbit\" }}]\n"
        ))
    }

    fn testbed(self) -> VirtualTestbed {
        VirtualTestbed::new("sim:bloated", self.profile(), HostModel::ideal(2), 1)
            .with_cabling(Cabling::Device)
    }

    /// Fifteen times the time that the queue takes to empty, and at least a second.
    fn duration(self) -> Nanos {
        Nanos((15e9 * self.drain()).max(1e9) as u64)
    }

    fn latency(self, directions: &[TcpDirection], congestion_control: &str) -> Vec<Figure> {
        let bulk = Load::Bulk {
            streams: study::Streams::known(1),
            congestion_control: congestion_control.to_owned(),
        };
        let spec = LatencySpec {
            protocols: vec![Protocol::Udp],
            sizes: vec![FrameSize::MIN],
            loads: vec![Load::Idle, bulk],
            load_directions: directions.to_vec(),
            duration: self.duration(),
            blocks: study::Blocks::known(2),
            ..LatencySpec::quick()
        };
        spec.run(&mut self.testbed(), 7).expect("every trial runs").rows()
    }

    /// True within the bar of the buffer.
    fn is_near(self, octets: f64) -> bool {
        let truth = self.octets as f64;
        (octets - truth).abs() <= (BAR * truth).max(2.0 * FRAME)
    }
}

fn value(figures: &[Figure], metric: Metric, is_it: impl Fn(&Figure) -> bool) -> f64 {
    let mut found = figures.iter().filter(|f| f.metric == metric && is_it(f));
    let figure = found.next().unwrap_or_else(|| panic!("no {metric:?}: {figures:#?}"));
    assert!(found.next().is_none(), "several of {metric:?}");
    figure.value.unwrap_or_else(|| panic!("no value: {figure:#?}"))
}

fn at(quantile: f64) -> impl Fn(&Figure) -> bool {
    move |figure| figure.quantile == Some(quantile)
}

#[test]
fn what_waits_is_the_buffer_of_twenty_random_queues() {
    let mut chance = Pcg64::seed_from_u64(20_261_128);
    let mut wrong = Vec::new();
    for _ in 0..QUEUES {
        let queue = Bottleneck::draw(&mut chance);
        let figures = queue.latency(&[TcpDirection::Forward], "reno");
        let waits = value(&figures, Metric::BottleneckBuffer, at(0.99));
        println!("{queue:?}: {waits:.0} ({:+.2} %)", (waits / queue.octets as f64 - 1.0) * 100.0);
        if !queue.is_near(waits) {
            wrong.push((queue, waits));
        }
        let loaded = |f: &Figure| f.text(Key::Load) == Some("tcp");
        let rtt = |q| value(&figures, Metric::Rtt, |f| loaded(f) && f.quantile == Some(q));
        let of = |probes: &'static str| {
            value(&figures, Metric::NetworkRpm, move |f| f.text(Key::Probes) == Some(probes))
        };
        // Of the shortest 95 % as many lie above the median as the quantiles allow.
        let mean = 60e9 / of("separate");
        let least = (50.0 * rtt(0.0) + 45.0 * rtt(0.5)) / 95.0;
        let most = (50.0 * rtt(0.5) + 40.0 * rtt(0.9) + 5.0 * rtt(0.99)) / 95.0;
        assert!((0.9 * least..1.1 * most).contains(&mean), "{queue:?}: {least} {mean} {most}");
        let both = f64::midpoint(of("separate"), of("loaded"));
        assert!((of("both") / both - 1.0).abs() < 0.1, "{queue:?}: {} and {both}", of("both"));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_load_that_loses_nothing_states_a_lower_end() {
    // CUBIC leaves slow start when the RTT grows (RFC 9406), long before so deep a queue is full.
    let queue = Bottleneck { mbit: 200, octets: 4 << 20 };
    let figures = queue.latency(&[TcpDirection::Forward], "cubic");
    let found = figures.iter().find(|f| f.metric == Metric::BottleneckBuffer && at(0.99)(f));
    let figure = found.expect("a figure");
    let octets = figure.value.expect("a value");
    let filled = figures.iter().any(|f| f.metric == Metric::Retransmits && f.value > Some(0.0));
    println!("cubic: {octets:.0} of {}, filled: {filled}", queue.octets);
    assert!(!filled);
    assert_eq!((figure.text(Key::Bound), figure.high), (Some("at-least"), None));
    assert!(octets <= queue.octets as f64 * (1.0 + BAR), "{octets}");
}

#[test]
fn each_way_has_its_own_queue_and_both_at_once_have_none() {
    let queue = Bottleneck { mbit: 50, octets: 256 << 10 };
    let figures = queue.latency(&TcpDirection::ALL, "reno");
    let towards = |f: &Figure| f.text(Key::LoadDirection).is_none() && at(0.99)(f);
    let waits = value(&figures, Metric::BottleneckBuffer, towards);
    assert!(queue.is_near(waits), "{waits}");
    // Back, 10 Gbit/s are acknowledged through 50 Mbit/s: acknowledgements wait, not the load.
    let back = |f: &&Figure| f.text(Key::LoadDirection) == Some("reverse");
    let buffers = || figures.iter().filter(|f| f.metric == Metric::BottleneckBuffer);
    assert_eq!(buffers().filter(back).count(), 0);
    let both = |f: &&Figure| f.text(Key::LoadDirection) == Some("bidirectional");
    assert_eq!(buffers().filter(both).count(), 0, "nothing tells the two queues apart");
    let rpm = figures.iter().filter(|f| f.metric == Metric::NetworkRpm);
    assert_eq!(rpm.filter(both).count(), 3);
}

#[test]
fn tcp_alone_tells_what_waits() {
    for (mbit, kib) in [(20, 128), (100, 512), (500, 2048)] {
        let queue = Bottleneck { mbit, octets: kib << 10 };
        let spec = TcpSpec {
            directions: vec![TcpDirection::Forward],
            congestion_control: "reno".to_owned(),
            omit: Nanos::from_millis(100),
            duration: queue.duration(),
            interval: Nanos::from_millis(10),
            blocks: study::Blocks::known(2),
            ..TcpSpec::quick()
        };
        let figures = spec.run(&mut queue.testbed(), 7).expect("every trial runs").rows();
        let waits = value(&figures, Metric::BottleneckBuffer, at(0.99));
        println!("{queue:?}: {waits:.0} by smoothed RTTs");
        // A smoothed RTT lags behind the queue.
        let truth = queue.octets as f64;
        assert!((waits - truth).abs() <= (0.1 * truth).max(2.0 * FRAME), "{queue:?}: {waits}");
        let rtt = value(&figures, Metric::Rtt, at(0.5));
        let rpm = value(&figures, Metric::NetworkRpm, |_| true);
        assert!((60e9 / rpm / rtt - 1.0).abs() < 0.3, "{rpm} beside {rtt}");
        let goodput = figures.iter().find(|f| f.metric == Metric::Goodput).expect("a goodput");
        assert!(goodput.caveats.contains(&Caveat::NoBypass));
        assert_eq!(goodput.verdict, Verdict::Undetermined, "the hosts' processors are unknown");
    }
}

/// The two models of docs/howto/bufferbloat.md.
#[test]
fn a_short_queue_leaves_more_round_trips_a_minute() {
    let measured = [512, 32].map(|kib| {
        let queue = Bottleneck { mbit: 20, octets: kib << 10 };
        let figures = queue.latency(&[TcpDirection::Forward], "cubic");
        let rtt = |load: &'static str| {
            let is_it = move |f: &Figure| f.text(Key::Load) == Some(load) && at(0.5)(f);
            value(&figures, Metric::Rtt, is_it) / 1e6
        };
        let rpm = |probes: &'static str| {
            value(&figures, Metric::NetworkRpm, move |f| f.text(Key::Probes) == Some(probes))
        };
        let goodput = value(&figures, Metric::Goodput, |_| true) / 1e6;
        println!(
            "{kib} KiB: idle {:.3} ms, loaded {:.1} ms, waiting {:.0}, {:.0}, RPM {:.0} {:.0} \
             {:.0}, goodput {goodput:.1} Mbit/s",
            rtt("idle"),
            rtt("tcp"),
            value(&figures, Metric::BottleneckBuffer, at(0.5)),
            value(&figures, Metric::BottleneckBuffer, at(0.99)),
            rpm("separate"),
            rpm("loaded"),
            rpm("both"),
        );
        (rpm("both"), goodput)
    });
    let [(bloated, carried), (short, carried_short)] = measured;
    assert!(short > 4.0 * bloated, "{short} RPM and {bloated}");
    assert!(carried_short > 0.95 * carried, "at the same goodput: {carried_short}, {carried}");
}
