//! Conversion of figures to the parts of a data sheet.
//!
//! Owns the arithmetic between the two. Never fills in a quantity that no figure states.

use measure::{FrameSize, Nanos, Rate};

use super::{Buffer, DataSheet, Forwarding, MacTable, PacketLimit, PortGroup, Shared};
use page::{Caveat, Condition, Figure, Key, Metric, Unit, Verdict};
use trial::topology::{CableEnd, HostPort, Topology};

/// Usual link rates, in bits a second.
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
/// Relative difference up to which a rate becomes the usual one.
const AS_USUAL: f64 = 0.005;
/// Share of line rate below which a packet rate is a limit of its own.
const BELOW_LINE: f64 = 0.98;
/// Octets before a frame: preamble and delimiter.
const PREAMBLE: f64 = 8.0;

impl DataSheet {
    /// Creates the data sheet from all figures of the studies; `None` without a rate.
    pub fn from_figures(figures: &[Figure], topology: &Topology) -> Option<Self> {
        let rate = rate(figures, topology)?;
        let device = topology.devices.first();
        let attached = topology.ports_of(device.map(|d| d.name.as_str()));
        let measured = topology.measured_pairs().into_iter().next().map(|pair| pair.to);
        let ports = || (1..).zip(&attached);
        let other_rates = ports()
            .filter_map(|(at, port)| Some((at, topology.rate(port)?)))
            .filter(|(_, own)| *own != rate);
        let assumed = ports()
            .filter(|(_, port)| topology.rate(port).is_none() && Some(*port) != measured.as_ref());
        let packets = packets(figures, rate);
        // A device that forwards by a processor handles one frame at a time, which its packet limit
        // shows.
        let turn = packets.map_or(0, |limit| 1_000_000_000 / limit.rate.max(1));
        let forwarding = forwarding(figures, rate, on_cables(topology)).map(|found| Forwarding {
            latency: Nanos(found.latency.0.saturating_sub(turn)),
            ..found
        });
        Some(Self {
            name: device.map_or_else(|| topology.name.clone(), |d| d.name.clone()),
            ports: attached.len(),
            rate,
            other_rates: other_rates.collect(),
            assumed: assumed.map(|(at, _)| at).collect(),
            forwarding,
            buffer: buffer(figures),
            packets,
            groups: groups(figures),
            mac_table: mac_table(figures),
        })
    }
}

fn figures_of(figures: &[Figure], metric: Metric) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(move |figure| figure.metric == metric)
}

/// Rate of the cable; otherwise the observed output rate, with preamble and gap.
fn rate(figures: &[Figure], topology: &Topology) -> Option<Rate> {
    let pair = topology.measured_pairs().into_iter().next()?;
    if let Some(rate) = topology.port(&pair.to).and_then(|port| port.rate) {
        return Some(rate);
    }
    let by_bursts = figures_of(figures, Metric::Buffer).filter_map(|figure| {
        let frame = figure.number(Key::FrameSize)? + 20.0;
        Some(figure.number(Key::OutputRate)? * frame * 8.0)
    });
    let by_bursts = by_bursts.max_by(f64::total_cmp);
    // Without an overload, only the highest rate received is known.
    let by_throughput = || {
        let rates = figures_of(figures, Metric::Throughput).filter(|figure| {
            figure.unit == Unit::FramesPerSecond && figure.text(Key::Path) == Some("device")
        });
        let rates = rates.filter_map(|f| Some(f.value? * (f.number(Key::FrameSize)? + 20.0) * 8.0));
        rates.max_by(f64::total_cmp).filter(|rate| *rate > 0.0)
    };
    let seen = by_bursts.or_else(by_throughput)?;
    let usual = USUAL_RATES.iter().find(|rate| (seen / **rate as f64 - 1.0).abs() <= AS_USUAL);
    Some(Rate(usual.copied().unwrap_or(seen.round() as u64)))
}

/// Transmission time of an octet to a model in a lab, in nanoseconds, one way. It is missing over
/// the direct cable, which has no rate there.
pub(super) fn on_cables(topology: &Topology) -> f64 {
    let pair = topology.measured_pairs().into_iter().next();
    let Some((host, rate)) = pair.and_then(|pair| {
        let host = topology.hosts.iter().find(|host| host.name == pair.from.host)?;
        Some((host, topology.port(&pair.from)?.rate?))
    }) else {
        return 0.0;
    };
    let free = |port: &HostPort| matches!(port.cable, CableEnd::Host(_)) && port.rate.is_none();
    if host.reach == "lab" && host.ports.iter().any(free) {
        8e9 / rate.bits_per_second()
    } else {
        0.0
    }
}

/// Transmission time of a frame in nanoseconds, if an octet takes `octet`.
pub(super) fn in_passing(octets: f64, octet: f64) -> f64 {
    (octets + PREAMBLE) * octet
}

/// Determines the forwarding mode from the added RTT. In a device that stores frames it grows by a
/// frame's transmission time in each direction, and by that of a cable with `on_cables` nanoseconds
/// per octet.
fn forwarding(figures: &[Figure], rate: Rate, on_cables: f64) -> Option<Forwarding> {
    let idle = figures_of(figures, Metric::RttAdded).filter(|figure| {
        figure.quantile == Some(0.5)
            && figure.text(Key::Load) == Some("idle")
            && figure.text(Key::Protocol) == Some("udp")
    });
    let point = |figure: &Figure| {
        let size = figure.number(Key::FrameSize)?;
        Some((size, figure.value? / 2.0 - in_passing(size, on_cables)))
    };
    let points: Vec<(f64, f64)> = idle.filter_map(point).collect();
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
    // With the slope of the mode, only the constant remains unknown.
    let grows = if cut_through { 0.0 } else { octet };
    let mut constants: Vec<f64> =
        points.iter().map(|(size, added)| added - in_passing(*size, grows)).collect();
    constants.sort_by(f64::total_cmp);
    let latency = constants[constants.len() / 2].max(0.0);
    let latency = Nanos(latency.round() as u64);
    Some(Forwarding { cut_through, latency, per_octet_ns: slope })
}

/// Buffer of an output; `None` if frames queue before it, or in both places.
fn buffer(figures: &[Figure]) -> Option<Buffer> {
    let by = |name: &str| {
        let own = |f: &&Figure| f.text(Key::Estimator) == Some(name) && f.value.is_some();
        figures_of(figures, Metric::Buffer).filter(|f| f.text(Key::Test) == Some("depth")).find(own)
    };
    let cell = figures_of(figures, Metric::Cell).find_map(|figure| figure.value);
    let own = by("one-shot")?;
    if own.text(Key::Waits).is_some() {
        return None;
    }
    let size = own.value?;
    let total = by("sharing");
    let alpha = figures_of(figures, Metric::Alpha).find_map(|figure| figure.value);
    let at_least = own.text(Key::Bound) == Some(page::AT_LEAST);
    Some(match total.zip(alpha) {
        Some((total, alpha)) => {
            let reserve =
                figures_of(figures, Metric::BufferReserve).find_map(|figure| figure.value);
            let queue = reserve.unwrap_or(0.0);
            let queues = total.number(Key::Outputs).unwrap_or(0.0);
            let shared = Shared {
                octets: total.value? - queues * queue,
                alpha,
                reserve: queue,
                doubted: total.verdict == Verdict::Undetermined
                    && [Caveat::LackOfFit, Caveat::Confounded]
                        .iter()
                        .any(|caveat| total.caveats.contains(caveat)),
            };
            Buffer { size, at_least, shared: Some(shared), cell }
        }
        None => Buffer { size: size.max(1.0), at_least, shared: None, cell },
    })
}

/// Packet limit below line rate at the smallest frames: from bursts, otherwise from the search.
fn packets(figures: &[Figure], rate: Rate) -> Option<PacketLimit> {
    let smallest = f64::from(FrameSize::MIN.octets());
    let driven = figures_of(figures, Metric::Buffer).find(|figure| {
        figure.text(Key::Estimator) == Some("one-shot")
            && figure.number(Key::FrameSize) == Some(smallest)
            && figure.text(Key::Waits).is_some()
    });
    if let Some(figure) = driven {
        let limit = figure.number(Key::PacketLimit)?;
        // The estimate is uncertain by half a frame.
        let frames = |octets: f64| Some(octets / figure.number(Key::TakenByAFrame)? - 0.5);
        let queue = figure.value.and_then(frames).map(|frames| frames.round().max(1.0) as u64);
        return Some(PacketLimit { rate: limit.round() as u64, queue });
    }
    let found = figures_of(figures, Metric::Throughput).filter(|figure| {
        figure.unit == Unit::FramesPerSecond && figure.text(Key::Path) == Some("device")
    });
    found
        .filter_map(|figure| {
            let size = FrameSize::new(figure.number(Key::FrameSize)? as u32).ok()?;
            let value = figure.value.filter(|value| *value >= 1.0)?;
            let device = figure.verdict == Verdict::DeviceLimited;
            (device && value < BELOW_LINE * rate.line_rate(size).0).then_some(value)
        })
        .max_by(f64::total_cmp)
        .map(|limit| PacketLimit { rate: limit.round() as u64, queue: None })
}

/// Ports of each group, and its uplink as far as it was filled.
fn groups(figures: &[Figure]) -> Vec<PortGroup> {
    let told = figures_of(figures, Metric::PortGroups).find(|figure| figure.value.is_some());
    let Some(told) = told else { return Vec::new() };
    let mut groups: Vec<PortGroup> = Vec::new();
    let Some(Condition::OfPorts(of_ports)) = told.conditions.get(&Key::GroupOfPorts) else {
        return Vec::new();
    };
    for (at, group) in of_ports.iter().enumerate() {
        let Some(group) = group.map(|group| group as usize) else { continue };
        while groups.len() < group {
            groups.push(PortGroup { ports: Vec::new(), uplink: None, at_least: None });
        }
        groups[group - 1].ports.push(at + 1);
    }
    // Between two groups the narrower uplink decides, whichever that is.
    let between = told.number(Key::BetweenGroups).map(|rate| Rate(rate.round() as u64));
    for figure in figures_of(figures, Metric::UplinkRate) {
        let group = figure.number(Key::Group).map(|group| group as usize);
        let Some(group) = group.and_then(|group| groups.get_mut(group - 1)) else { continue };
        let rate = figure.value.map(|rate| Rate(rate.round() as u64));
        let bound = figure.text(Key::Bound) == Some(page::AT_LEAST);
        (group.uplink, group.at_least) = if bound { (between, rate) } else { (rate, None) };
    }
    groups
}

/// Address table of the device. A slow learner's known addresses are not its size: a value exists
/// only if the table's size was shown.
fn mac_table(figures: &[Figure]) -> Option<MacTable> {
    let figure =
        figures_of(figures, Metric::AddressCapacity).find(|figure| figure.value.is_some())?;
    let entries = figure.value?.round() as u64;
    Some(MacTable { entries, at_least: figure.high.is_none() })
}
