//! A synthetic run of RFC 2544's tests: a router, the same router in a variant, and a bridge,
//! beside one direct cable; a mix of sizes among the frames. Measured nowhere.

use measure::{FrameMix, FrameRate, Nanos};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use study::run::RunMeta;
use study::{ForwardingSpec, ForwardingTest, StudySpec};
use trial::record::DeedRecord;
use trial::topology::{CableEnd, Device, DeviceKind};
use trial::{
    Backend, Datagrams, Deed, Event, FlowKind, Headers, IpVersion, Path, Role, Schedule, Spread,
    Subject,
};
use trial::{Trial, TrialRecord};

use super::{Chance, datagram_record};

/// What a variant's probe said; hostile to a page.
pub const PROBE: &str = "eth1: generic-receive-offload: off\n<b>synthetic</b>\n";

/// Device, variant, and what it forwards of the smallest frames.
pub const SUBJECTS: [(&str, Option<&str>, f64); 3] = [
    ("bridge", None, 980_000.0),
    ("router", None, 360_000.0),
    ("router", Some("gro-off"), 410_000.0),
];

/// Frames, and their share of the smallest frames' rate.
const FRAMES: [(&str, f64); 3] = [("64", 1.0), ("imix", 0.8), ("1518", 0.5)];

const CABLE: f64 = 1_000_000.0;

pub fn subject(at: usize) -> Subject {
    let (device, variant, _) = SUBJECTS[at];
    Subject { device: device.to_owned(), variant: variant.map(str::to_owned) }
}

pub fn meta(id: &str) -> RunMeta {
    let mut meta = super::meta(id);
    let spec = ForwardingSpec {
        frames: FRAMES.map(|(frames, _)| frames.parse().expect("legal frames")).into(),
        subjects: (0..SUBJECTS.len()).map(subject).collect(),
        tests: ForwardingTest::RFC2544.to_vec(),
        ..ForwardingSpec::quick()
    };
    meta.studies = vec![StudySpec::Forwarding(spec)];
    "lab:router,bridge (synthetic)".clone_into(&mut meta.topology.name);
    let mut router = meta.topology.devices[0].clone();
    router.port_rate = None;
    meta.topology.devices[0].port_rate = None;
    router = Device {
        name: "router".to_owned(),
        kind: DeviceKind::Router,
        variants: vec!["gro-off".to_owned()],
        resettable: true,
        deeds: Vec::new(),
        ..router
    };
    meta.topology.devices.push(router);
    for (host, last) in meta.topology.hosts.iter_mut().zip([1, 2]) {
        let mut port = host.ports[0].clone();
        "eth2".clone_into(&mut port.name);
        port.interfaces = vec!["eth2".to_owned()];
        port.address = format!("198.18.1.{last}").parse().expect("an address");
        port.cable = CableEnd::Device { device: "router".to_owned(), port: format!("p{last}") };
        host.ports.push(port);
    }
    meta
}

/// A figure of one subject, or of the cable.
fn of(
    at: Option<usize>,
    frames: &str,
    test: &str,
    metric: Metric,
    unit: Unit,
    value: f64,
) -> Figure {
    let path = if at.is_some() { Path::Device } else { Path::Bypass };
    let mut figure = super::figure(metric, unit, Some(value), path);
    let mut add = |key: Key, condition: Condition| {
        figure.conditions.insert(key, condition);
    };
    match frames.parse::<u64>() {
        Ok(octets) => add(Key::FrameSize, octets.into()),
        Err(_) => add(Key::FrameSize, frames.into()),
    }
    add(Key::Study, "forwarding".into());
    add(Key::Test, test.into());
    add(Key::Backend, "xdp-live".into());
    match at.map(|at| SUBJECTS[at]) {
        Some((device, variant, _)) => {
            add(Key::Device, device.into());
            if let Some(variant) = variant {
                add(Key::Variant, variant.into());
            }
        }
        None => add(Key::Device, "cable".into()),
    }
    figure.verdict = match at {
        Some(0) | None => Verdict::TesterLimited,
        Some(_) => Verdict::DeviceLimited,
    };
    figure
}

fn with(mut figure: Figure, conditions: &[(Key, Condition)]) -> Figure {
    figure.conditions.extend(conditions.iter().map(|(k, v)| (k.clone(), v.clone())));
    figure
}

pub fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    for (frames, share) in FRAMES {
        for at in [Some(0), Some(1), Some(2), None] {
            let rate = at.map_or(CABLE, |at| SUBJECTS[at].2) * share;
            all.extend(throughput(at, frames, rate));
            all.extend(gaps(at, frames, rate));
        }
        for (at, (device, variant, rate)) in SUBJECTS.into_iter().enumerate() {
            for own in [Some(at), None] {
                let mut asked = Vec::new();
                if own.is_none() {
                    asked.push((Key::BesideDevice, Condition::from(device)));
                    asked.extend(variant.map(|variant| (Key::BesideVariant, variant.into())));
                }
                let own = latency(own, frames, rate * share);
                all.extend(own.into_iter().map(|figure| with(figure, &asked)));
            }
            all.extend(others(at, frames, rate * share));
        }
    }
    all
}

fn throughput(at: Option<usize>, frames: &str, rate: f64) -> Vec<Figure> {
    let goal = |(goal, more): (&str, f64)| {
        let value = rate * more;
        let mut figure =
            of(at, frames, "throughput", Metric::Throughput, Unit::FramesPerSecond, value);
        (figure.low, figure.high, figure.confidence) = (Some(value), Some(value * 1.004), None);
        if at.is_none_or(|at| at == 0) {
            figure.caveats.push(Caveat::SearchCeiling);
            figure.high = None;
        }
        let mut told = vec![
            (Key::Goal, goal.into()),
            (Key::Search, "mlr".into()),
            (Key::Interval, page::BRACKET.into()),
            (Key::FinalDuration, 2_000_000_000_u64.into()),
            (Key::TrafficTime, 9_300_000_000_u64.into()),
        ];
        if goal == "pdr" {
            told.push((Key::LossRatioAllowed, 0.005.into()));
            told.push((Key::ConditionalThroughput, (value * 0.996).into()));
        }
        with(figure, &told)
    };
    [("rfc2544", 1.0), ("ndr", 1.01), ("pdr", 1.03), ("tst009", 1.002)].map(goal).into()
}

fn gaps(at: Option<usize>, frames: &str, rate: f64) -> Vec<Figure> {
    let nominal = 1e9 / rate;
    let told = [(Key::NominalGap, nominal.into())];
    let mut all = Vec::new();
    for metric in [Metric::DepartureGap, Metric::ArrivalGap] {
        for (q, times) in [(0.01, 0.2), (0.5, 1.0), (0.99, 1.4), (0.999, 9.0)] {
            let figure = of(at, frames, "throughput", metric, Unit::Nanoseconds, nominal * times);
            all.push(with(Figure { quantile: Some(q), ..figure }, &told));
        }
    }
    all.push(with(of(at, frames, "throughput", Metric::BurstFraction, Unit::Ratio, 0.021), &told));
    all
}

fn latency(at: Option<usize>, frames: &str, rate: f64) -> Vec<Figure> {
    let base = at.map_or(9_000.0, |at| 21_000.0 + 9_000.0 * at as f64);
    let told = [
        (Key::LoadPercent, 100_u64.into()),
        (Key::LoadRate, rate.into()),
        (Key::Interval, "percentiles-1-99".into()),
    ];
    [(Metric::OneWayDelay, 0.5, 1.0), (Metric::OneWayDelay, 0.999, 3.1), (Metric::Pdv, 0.999, 2.4)]
        .map(|(metric, q, times)| {
            let mut figure = of(at, frames, "latency", metric, Unit::Nanoseconds, base * times);
            (figure.quantile, figure.confidence) = (Some(q), None);
            with(figure, &told)
        })
        .into()
}

/// Loss, bursts, recovery and reset. The bridge was never driven, and nobody can reset it.
fn others(at: usize, frames: &str, rate: f64) -> Vec<Figure> {
    let of = |test, metric, unit, value| of(Some(at), frames, test, metric, unit, value);
    let mut all = Vec::new();
    for (percent, loss) in [(100_u64, 0.41), (90, 0.2), (80, 0.0), (70, 0.0)] {
        let figure = of("loss-curve", Metric::LossRatio, Unit::Ratio, loss);
        let offered = rate * percent as f64 / 80.0;
        let told = [(Key::LoadPercent, percent.into()), (Key::OfferedRate, offered.into())];
        all.push(with(figure, &told));
    }
    let burst = of("back-to-back", Metric::BackToBack, Unit::Count, 1_024.4);
    let time = |estimate: &str, ns| {
        let figure = of("back-to-back", Metric::BufferTime, Unit::Nanoseconds, ns);
        let told = [(Key::Estimate, estimate.into()), (Key::StandardDeviation, 20_000.0.into())];
        with(figure, &[&told[..], &[(Key::ThroughputRate, rate.into())]].concat())
    };
    let told = [(Key::StandardDeviation, 12.5.into()), (Key::MediaRate, CABLE.into())];
    all.extend([with(burst, &told), time("implied", 1_024_400.0), time("corrected", 655_600.0)]);
    let overload = [
        (Key::OverloadPercent, 110.0.into()),
        (Key::OverloadRate, (rate * 1.1).into()),
        (Key::LoadRate, (rate * 0.5).into()),
        (Key::OverloadDuration, 1_000_000_000_u64.into()),
    ];
    all.push(with(of("recovery", Metric::RecoveryTime, Unit::Nanoseconds, 3.1e6), &overload));
    for (estimate, ns) in [("loss", 2.31e9), ("gap", 2.29e9)] {
        let figure = of("reset", Metric::ResetTime, Unit::Nanoseconds, ns);
        all.push(with(figure, &[(Key::Estimate, estimate.into()), (Key::LoadRate, rate.into())]));
    }
    if at == 0 {
        for figure in &mut all {
            if figure.metric != Metric::LossRatio {
                (figure.value, figure.low, figure.high) = (None, None, None);
                figure.verdict = Verdict::Undetermined;
                figure.caveats = vec![match figure.metric {
                    Metric::ResetTime => Caveat::NotResettable,
                    _ => Caveat::DeviceNotDriven,
                }];
            }
        }
    }
    all
}

pub fn flow_trial(at: Option<usize>, frames: &FrameMix, rate: f64, headers: Headers) -> Trial {
    let path = if at.is_some() { Path::Device } else { Path::Bypass };
    let plain =
        Datagrams::plain(frames.clone(), Schedule::Paced(FrameRate(rate)), Backend::Auto, 32);
    let kind = FlowKind::Datagrams(Datagrams { headers, ..plain });
    let label = format!("throughput {frames} {rate:.0}/s");
    let mut trial = super::trial(label, path, 0, vec![super::flow(path, Role::Measured, 1, kind)]);
    trial.subject = at.map(subject);
    trial
}

/// Headers that a report has to name.
pub fn headers() -> Headers {
    let spread = Spread { source_ports: 16, ..Spread::NONE };
    Headers { version: IpVersion::V6, vlan: Some(trial::VlanId::known(7)), spread }
}

/// Ladders of paced loads on every path, one of them tagged, and a reset that was carried out.
pub fn records(seed: u64) -> Vec<(Trial, TrialRecord)> {
    let chance = &mut Chance::new(seed);
    let mut all: Vec<(Trial, TrialRecord)> = Vec::new();
    for (frames, share) in FRAMES {
        let mix: FrameMix = frames.parse().expect("legal frames");
        for at in [Some(0), Some(1), Some(2), None] {
            let capacity = at.map_or(CABLE, |at| SUBJECTS[at].2) * share;
            for step in 3..=10 {
                let rate = capacity * 0.12 * f64::from(step);
                let trial = flow_trial(at, &mix, rate, Headers::default());
                let mut record = datagram_record(all.len() as u64, &trial, capacity, chance);
                if at == Some(2) {
                    record.device.probe = Some(PROBE.to_owned());
                }
                all.push((trial, record));
            }
        }
    }
    let mix = "64".parse().expect("legal frames");
    let trial = flow_trial(Some(1), &mix, 50_000.0, headers());
    let record = datagram_record(all.len() as u64, &trial, 1e9, chance);
    all.push((trial, record));
    let mut trial = flow_trial(Some(1), &mix, 200_000.0, Headers::default());
    "reset 64 200000/s".clone_into(&mut trial.label);
    trial.events = vec![
        Event { at: Nanos::from_millis(300), deed: Deed::Reset },
        Event { at: Nanos::from_millis(600), deed: Deed::Reset },
    ];
    let mut record = datagram_record(all.len() as u64, &trial, 1e5, chance);
    record.device.deeds =
        vec![DeedRecord { at: Nanos::from_millis(301), took: Nanos::from_millis(1_870) }];
    all.push((trial, record));
    all
}
