//! A device's data sheet from what studies found of it, and how far a twin is from the device.
//!
//! Owns which figures become which key of a profile file, and what is asked for to get them. Pure:
//! never runs a study, and never writes a key that nothing measured.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use measure::{FrameMix, FrameSize, Nanos, Rate};

use super::forwarding::{ForwardingSpec, ForwardingTest};
use super::latency::LatencySpec;
use super::{DepthSpec, StudySpec};
use crate::figure::Condition;
use crate::topology::Topology;
use crate::trial::Protocol;
use crate::{Figure, Metric, Unit};

/// What links are sold as, bits a second.
const USUAL_RATES: [u64; 12] = [
    10_000_000,
    100_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
    40_000_000_000,
    50_000_000_000,
    100_000_000_000,
    200_000_000_000,
    400_000_000_000,
];
/// A rate this close to a usual one is that one.
const AS_USUAL: f64 = 0.005;
/// A packet rate below this share of the line's is a limit of its own.
const BELOW_LINE: f64 = 0.98;
/// Of a virtual trial no more frames than this, whatever the rate.
const FRAMES: f64 = 100_000.0;
/// Octets before a frame: preamble and delimiter.
const PREAMBLE: f64 = 8.0;

/// When the device begins to send on what comes in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forwarding {
    /// Its delay does not grow with the frame.
    pub cut_through: bool,
    /// At rest, one way.
    pub latency: Nanos,
}

/// Where frames wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Octets: of all where it is shared, of each output where it is not.
    pub size: f64,
    /// Of a shared one.
    pub alpha: Option<f64>,
    /// Octets.
    pub cell: Option<f64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSheet {
    /// The device's.
    pub name: String,
    /// As many as hosts are attached to.
    pub ports: usize,
    /// Of each.
    pub rate: Rate,
    /// None without a direct cable to compare with.
    pub forwarding: Option<Forwarding>,
    /// None where no burst could tell it.
    pub buffer: Option<Buffer>,
    /// Where frames a second run out before the line does.
    pub packets_per_second: Option<u64>,
}

/// The studies that a data sheet follows from. `link`: the ports' rate, where it is known; virtual
/// trials are short, since they are all alike.
pub fn studies(simulated: bool, link: Option<Rate>) -> Vec<StudySpec> {
    let virtual_time = |size: FrameSize| {
        let line = link.filter(|_| simulated).map(|link| link.line_rate(size).0);
        line.map(|line| Nanos::from_secs_f64(FRAMES / line))
    };
    let sizes = [64, 256, 512, 1024, 1518].map(|octets| FrameSize::new(octets).expect("legal"));
    let latency = LatencySpec {
        protocols: vec![Protocol::Udp],
        sizes: sizes.to_vec(),
        duration: Nanos::from_millis(if simulated { 5 } else { 300 }),
        ..LatencySpec::quick()
    };
    let forwarding = |size: FrameSize| {
        let quick = ForwardingSpec::quick();
        ForwardingSpec {
            frames: vec![FrameMix::of(size)],
            tests: vec![ForwardingTest::Throughput],
            duration: virtual_time(size).unwrap_or(quick.duration),
            final_duration: virtual_time(size).unwrap_or(quick.final_duration),
            link_rate: link,
            ..quick
        }
    };
    vec![
        StudySpec::Latency(latency),
        StudySpec::Forwarding(forwarding(FrameSize::MIN)),
        StudySpec::Forwarding(forwarding(FrameSize::STANDARD_MAX)),
        StudySpec::Depth(DepthSpec::quick()),
    ]
}

impl DataSheet {
    /// From all figures of those studies; `None` where nothing tells a rate.
    pub fn of(figures: &[Figure], topology: &Topology) -> Option<Self> {
        let rate = rate(figures, topology)?;
        let device = topology.devices.first();
        let ports = topology.ports_of(device.map(|d| d.name.as_str())).len();
        let packets_per_second = packets_per_second(figures, rate);
        // A device that forwards by a processor takes a turn for each frame, which its limit tells of.
        let turn = packets_per_second.map_or(0, |limit| 1_000_000_000 / limit.max(1));
        let forwarding = forwarding(figures, rate).map(|found| Forwarding {
            latency: Nanos(found.latency.0.saturating_sub(turn)),
            ..found
        });
        Some(Self {
            name: device.map_or_else(|| topology.name.clone(), |d| d.name.clone()),
            ports,
            rate,
            forwarding,
            buffer: buffer(figures),
            packets_per_second,
        })
    }

    /// As a profile file. What was not measured is said in a comment, and has the file's default.
    pub fn to_toml(&self) -> String {
        let mut out = String::from(
            "# Measured by `switchmark xray`; each figure stands in the run's report.\n",
        );
        let _ = writeln!(out, "name = \"{}-twin\"", self.name);
        let _ = writeln!(out, "ports = {}", self.ports.max(2));
        let _ = writeln!(out, "rate = \"{}bit\"", self.rate.0);
        match self.forwarding {
            Some(Forwarding { cut_through, latency }) => {
                let mode = if cut_through { "cut-through" } else { "store-and-forward" };
                let _ = writeln!(
                    out,
                    "forwarding = {{ mode = \"{mode}\", latency = \"{}ns\" }}",
                    latency.0
                );
            }
            None => {
                out.push_str("# Forwarding was not measured: no direct cable beside the device.\n");
            }
        }
        match self.buffer {
            Some(Buffer { size, alpha, cell }) => {
                let size = size.round();
                let mut buffer = match alpha {
                    Some(alpha) => {
                        let alpha = alpha.clamp(1.0 / 128.0, 128.0);
                        format!("total = \"{size}B\", alpha = {alpha:.4}")
                    }
                    None => format!("per_port = \"{size}B\""),
                };
                if let Some(cell) = cell.filter(|cell| *cell > 1.0) {
                    let _ = write!(buffer, ", cell = {}", cell.round());
                }
                let _ = writeln!(out, "buffer = {{ {buffer} }}");
            }
            None => out.push_str(
                "# The buffer was not measured: nothing overfilled it.\nbuffer = { per_port = \"1MiB\" }\n",
            ),
        }
        if let Some(limit) = self.packets_per_second {
            let _ = writeln!(out, "pps_limit = {limit}");
        }
        out.push_str("# The MAC table was not measured.\n");
        out
    }
}

fn text<'a>(figure: &'a Figure, key: &str) -> &'a str {
    match figure.conditions.get(key) {
        Some(Condition::Text(text)) => text,
        _ => "",
    }
}

fn number(figure: &Figure, key: &str) -> Option<f64> {
    match figure.conditions.get(key)? {
        Condition::Number(value) => Some(*value),
        Condition::Integer(value) => Some(*value as f64),
        Condition::Flag(_) | Condition::Text(_) => None,
    }
}

fn of(figures: &[Figure], metric: Metric) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(move |figure| figure.metric == metric)
}

/// The cable's own, else what the output was seen to send, with preamble and gap.
fn rate(figures: &[Figure], topology: &Topology) -> Option<Rate> {
    let pair = topology.measured_pairs().into_iter().next()?;
    if let Some(rate) = topology.port(&pair.to).and_then(|port| port.rate) {
        return Some(rate);
    }
    let seen = of(figures, Metric::Buffer).find_map(|figure| {
        let frame = number(figure, "frame_size")? + 20.0;
        Some(number(figure, "output_frames_per_s")? * frame * 8.0)
    })?;
    let usual = USUAL_RATES.iter().find(|rate| (seen / **rate as f64 - 1.0).abs() <= AS_USUAL);
    Some(Rate(usual.copied().unwrap_or(seen.round() as u64)))
}

/// What the device adds to a round trip over its direct cable grows with the frame where it stores
/// frames: by a frame's time on the wire, each way.
fn forwarding(figures: &[Figure], rate: Rate) -> Option<Forwarding> {
    let idle = of(figures, Metric::RttAdded).filter(|figure| {
        figure.quantile == Some(0.5)
            && text(figure, "load") == "idle"
            && text(figure, "protocol") == "udp"
    });
    let points: Vec<(f64, f64)> =
        idle.filter_map(|f| Some((number(f, "frame_size")?, f.value? / 2.0))).collect();
    if points.len() < 2 {
        return None;
    }
    let octet = 8e9 / rate.bits_per_second();
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) = points
        .iter()
        .fold((0.0, 0.0), |(xy, xx), p| (xy + (p.0 - mx) * (p.1 - my), xx + (p.0 - mx).powi(2)));
    let slope = xy / xx;
    let cut_through = slope < octet / 2.0;
    // With the slope that the mode has, only the constant is left to find.
    let grows = if cut_through { 0.0 } else { octet };
    let mut constants: Vec<f64> =
        points.iter().map(|(size, added)| added - grows * (size + PREAMBLE)).collect();
    constants.sort_by(f64::total_cmp);
    let latency = constants[constants.len() / 2].max(0.0);
    Some(Forwarding { cut_through, latency: Nanos(latency.round() as u64) })
}

fn buffer(figures: &[Figure]) -> Option<Buffer> {
    let by = |name: &str| {
        let own = |f: &&Figure| text(f, "estimator") == name && f.value.is_some();
        of(figures, Metric::Buffer).filter(|f| text(f, "test") == "depth").find(own)
    };
    let cell = of(figures, Metric::Cell).find_map(|figure| figure.value);
    let own = by("one-shot")?.value?;
    let total = by("sharing").and_then(|figure| figure.value);
    let alpha = of(figures, Metric::Alpha).find_map(|figure| figure.value);
    Some(match total.zip(alpha) {
        Some((size, alpha)) => Buffer { size, alpha: Some(alpha), cell },
        None => Buffer { size: own, alpha: None, cell },
    })
}

/// Below the line's rate at the smallest frame, and the same at larger ones that the line has room for.
fn packets_per_second(figures: &[Figure], rate: Rate) -> Option<u64> {
    let found = of(figures, Metric::Throughput)
        .filter(|figure| figure.unit == Unit::FramesPerSecond && text(figure, "path") == "device");
    found
        .filter_map(|figure| {
            let size = FrameSize::new(number(figure, "frame_size")? as u32).ok()?;
            let value = figure.value?;
            (value < BELOW_LINE * rate.line_rate(size).0).then_some(value)
        })
        .max_by(f64::total_cmp)
        .map(|limit| limit.round() as u64)
}

/// One quantity of the device beside the twin's.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// In words: `throughput, 64 octets`.
    pub what: String,
    /// Base unit of both.
    pub unit: Unit,
    /// The device's.
    pub device: f64,
    /// The twin's.
    pub twin: f64,
}

impl Difference {
    /// By what share of the device's the twin's is more or less.
    pub fn off(&self) -> f64 {
        if self.device == 0.0 { self.twin.abs() } else { self.twin / self.device - 1.0 }
    }
}

/// Throughput, median and 99th percentile of round trips, and where loss begins, as both have them.
pub fn compare(device: &[Figure], twin: &[Figure]) -> Vec<Difference> {
    let mut seen = BTreeSet::new();
    let named = |figures: &[Figure]| -> Vec<(String, Unit, f64)> {
        figures.iter().filter_map(|f| Some((named(f)?, f.unit, f.value?))).collect()
    };
    let twin = named(twin);
    named(device)
        .into_iter()
        .filter_map(|(what, unit, device)| {
            let (_, _, twin) = twin.iter().find(|(other, ..)| *other == what)?;
            seen.insert(what.clone()).then_some(Difference { what, unit, device, twin: *twin })
        })
        .collect()
}

fn named(figure: &Figure) -> Option<String> {
    if text(figure, "path") == "bypass" {
        return None;
    }
    let size = number(figure, "frame_size").unwrap_or(0.0);
    match (figure.metric, figure.unit, figure.quantile) {
        (Metric::Throughput, Unit::FramesPerSecond, _) => {
            Some(format!("throughput, {size} octets"))
        }
        (Metric::Rtt, _, Some(q)) if (q - 0.5).abs() < 1e-9 || (q - 0.99).abs() < 1e-9 => {
            Some(format!("round trip p{}, {size} octets", q * 100.0))
        }
        (Metric::Buffer, ..) if text(figure, "estimator") == "burst" => {
            Some(format!("loss begins, {size} octets, {}", text(figure, "feeding")))
        }
        _ => None,
    }
}
