//! Comparison of a twin with its device: the same quantities of both.
//!
//! Owns the choice of compared figures, and their names. Never judges whether a difference is too
//! large.

use std::collections::BTreeSet;

use super::reading::{in_passing, on_cables};
use super::{DataSheet, PortGroup};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::topology::Topology;

/// Quantity of the device and of the twin.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Name of the quantity: `throughput`.
    pub what: String,
    /// Object of the quantity: `64 octets`.
    pub of: String,
    /// Base unit of both.
    pub unit: Unit,
    /// Value of the device.
    pub device: f64,
    /// Value of the twin.
    pub twin: f64,
    /// True if the device's value is known to be above zero. Otherwise a relative difference has no
    /// meaning.
    pub told: bool,
}

impl Difference {
    /// Relative difference of the twin from the device.
    pub fn off(&self) -> f64 {
        if self.device == 0.0 { self.twin.abs() } else { self.twin / self.device - 1.0 }
    }
}

/// Compares throughput, median and 99th percentile of RTTs, and the start of loss. Real hosts
/// contribute to RTTs, unlike a twin's. So only the latency added by the device counts. The share
/// of a lab's cables is removed, as only the path through a model has it.
pub fn compare(device: &[Figure], topology: &Topology, twin: &[Figure]) -> Vec<Difference> {
    let mut seen = BTreeSet::new();
    let simulated = device.iter().any(|figure| figure.caveats.contains(&Caveat::Simulated));
    let octet = on_cables(topology);
    let trips = if simulated { Metric::Rtt } else { Metric::RttAdded };
    let named = |figures: &[Figure]| -> Vec<(Name, Figure)> {
        let valued = figures.iter().filter(|figure| figure.value.is_some());
        valued.filter_map(|figure| Some((named(figure, trips)?, figure.clone()))).collect()
    };
    let twin = named(twin);
    named(device)
        .into_iter()
        .filter_map(|(name, figure)| {
            let (_, other) = twin.iter().find(|(other, _)| *other == name)?;
            let both_ways = figure.number(Key::FrameSize).map(|size| 2.0 * in_passing(size, octet));
            let cables = both_ways.filter(|_| figure.metric == Metric::RttAdded).unwrap_or(0.0);
            let (device, twin) = (figure.value? - cables, other.value?);
            let told = figure.low.map_or(device, |low| low - cables) > 0.0;
            let (unit, new) = (figure.unit, seen.insert(name.clone()));
            let (what, of) = name;
            new.then_some(Difference { what, of, unit, device, twin, told })
        })
        .collect()
}

/// Number of frames above which one more or less is within the threshold.
const ENOUGH: u64 = 40;

/// Compares the data sheets of a device and its twin: all given or measured quantities. A quantity
/// missing in the twin counts as zero.
pub fn compare_sheets(device: &DataSheet, twin: &DataSheet) -> Vec<Difference> {
    let twin = stated(twin);
    let beside = |(name, unit, value, told): Stated| {
        let other = twin.iter().find(|other| other.0 == name).map_or(0.0, |other| other.2);
        let (what, of) = name;
        Difference { what, of, unit, device: value, twin: other, told }
    };
    stated(device).into_iter().map(beside).collect()
}

/// Name and object of a quantity.
type Name = (String, String);

/// Name, unit and value of a quantity, and true if it is known.
type Stated = (Name, Unit, f64, bool);

fn stated(sheet: &DataSheet) -> Vec<Stated> {
    let name = |what: &str, of: String| (what.to_owned(), of);
    let rate = |name: Name, rate: u64, told| (name, Unit::BitsPerSecond, rate as f64, told);
    let mut all: Vec<Stated> = Vec::new();
    for port in (1..=sheet.ports).filter(|port| !sheet.assumed.contains(port)) {
        let own = sheet.other_rates.iter().find(|(at, _)| *at == port);
        let of = name("rate", format!("port {port}"));
        all.push(rate(of, own.map_or(sheet.rate, |own| own.1).0, true));
    }
    let count = |what: &str, of: &str, unit, value: u64, told| {
        (name(what, of.to_owned()), unit, value as f64, told)
    };
    if let Some(limit) = sheet.packets {
        all.push(count("packet limit", "any size", Unit::FramesPerSecond, limit.rate, true));
        let queue =
            |queue| count("packets that wait", "any size", Unit::Count, queue, queue > ENOUGH);
        all.extend(limit.queue.map(queue));
    }
    if let Some(table) = sheet.mac_table {
        all.push(count("addresses", "any port", Unit::Count, table.entries, !table.at_least));
    }
    let cell = sheet.buffer.and_then(|buffer| buffer.cell);
    all.extend(cell.map(|cell| (name("cell", "any port".to_owned()), Unit::Bytes, cell, true)));
    for PortGroup { ports, uplink, at_least } in &sheet.groups {
        let named = || name("uplink", format!("ports {}", super::file::joined(ports)));
        all.extend(uplink.map(|uplink| rate(named(), uplink.0, at_least.is_none())));
    }
    all
}

fn named(figure: &Figure, trips: Metric) -> Option<Name> {
    if figure.is_bypass() {
        return None;
    }
    let octets = format!("{} octets", figure.number(Key::FrameSize).unwrap_or(0.0));
    match (figure.metric, figure.unit, figure.quantile) {
        (Metric::Throughput, Unit::FramesPerSecond, _) => Some(("throughput".to_owned(), octets)),
        (metric, _, Some(q))
            if metric == trips && ((q - 0.5).abs() < 1e-9 || (q - 0.99).abs() < 1e-9) =>
        {
            let what = if trips == Metric::Rtt { "round trip" } else { "added round trip" };
            Some((format!("{what} p{}", q * 100.0), octets))
        }
        (Metric::Buffer, ..) if figure.text(Key::Estimator) == Some("burst") => {
            let feeding = figure.integer(Key::Feeding).unwrap_or_default();
            Some(("loss begins".to_owned(), format!("{octets}, {feeding} to 1")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(value: f64, low: f64) -> Figure {
        Figure {
            quantile: Some(0.5),
            low: Some(low),
            high: Some(2.0 * value.abs()),
            confidence: Some(0.95),
            n: 1,
            blocks: 6,
            conditions: [(Key::FrameSize, 64_u64.into())].into(),
            ..Figure::new(Metric::RttAdded, Unit::Nanoseconds, Some(value))
        }
    }

    /// Two hosts at a device, and a direct cable; ports to the device are of 8 Mbit/s.
    fn topology(reach: &str) -> Topology {
        let port = |name: &str, at: u8, cable: &str, rate: Option<&str>| {
            serde_json::json!({
                "name": name, "interfaces": [name], "address": format!("198.18.0.{at}"),
                "cable": cable, "rate": rate,
            })
        };
        let host = |name: &str, at: u8, other: &str| {
            let cable = format!("device:sw/{at}");
            let ports = [
                port("eth1", at, &cable, Some("8Mbit")),
                port("direct", at + 10, &format!("host:{other}/direct"), None),
            ];
            serde_json::json!({ "name": name, "reach": reach, "ports": ports })
        };
        let hosts = [host("h1", 1, "h2"), host("h2", 2, "h1")];
        let all = serde_json::json!({ "name": "two", "hosts": hosts, "devices": [] });
        serde_json::from_value(all).expect("a topology")
    }

    #[test]
    fn what_may_be_nothing_is_not_told() {
        for (low, told) in [(-12_700.0, false), (4_000.0, true)] {
            let real = topology("local");
            let found = compare(&[added(5_000.0, low)], &real, &[added(5_500.0, 5_400.0)]);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].told, told, "{low}");
            assert!((found[0].off() - 0.1).abs() < 1e-9);
        }
    }

    #[test]
    fn what_only_a_labs_cables_did_is_not_the_devices() {
        // 72 octets of a microsecond each, there and back.
        let (device, twin) = ([added(149_000.0, 148_000.0)], [added(5_000.0, 5_000.0)]);
        let lab = compare(&device, &topology("lab"), &twin);
        assert!(lab[0].off().abs() < 1e-9 && lab[0].told, "{lab:?}");
        let real = compare(&device, &topology("local"), &twin);
        assert!((real[0].device - 149_000.0).abs() < 1e-9, "{real:?}");
    }
}
