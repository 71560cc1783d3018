//! irtt's JSON: isochronous round trips, each with its delays.
//!
//! Never takes its one-way delays for more than they are: two clocks stamped them.

use page::{Caveat, Key, Metric, Unit};
use serde_json::Value;

use crate::ImportError;
use crate::found::{Found, Row};

pub(crate) fn read(value: &Value, found: &mut Found) -> Result<(), ImportError> {
    let params = &value["config"]["params"];
    let stats = &value["stats"];
    let trips = value["round_trips"].as_array();
    let mut row = Row::of("irtt").with(Key::Protocol, "udp").doubting(Caveat::SoftwareTimestamps);
    if let Some(interval) = params["interval"].as_f64().filter(|ns| *ns > 0.0) {
        row = row.with(Key::Schedule, format!("open loop {:.0}/s", 1e9 / interval));
    }
    if let Some(length) = params["length"].as_u64().filter(|octets| *octets <= 8_972) {
        row = row.with(Key::FrameSize, (length + 8 + 20 + 18).max(64));
    }
    let lost = stats["packet_loss_percent"].as_f64();
    if lost.is_some_and(|percent| percent > 0.0) {
        row = row.doubting(Caveat::SomeLost);
    }
    let of = |name: &str| -> Vec<f64> {
        let trips = trips.into_iter().flatten();
        trips.filter_map(|trip| trip["delay"][name].as_f64()).collect()
    };
    let samples = of("rtt");
    if samples.is_empty() {
        let told = |name: &str| stats["rtt"][name].as_f64();
        let Some(mean) = told("mean") else {
            return Err(ImportError::Missing { tool: "irtt", what: "round trips" });
        };
        let n = stats["rtt"]["n"].as_u64().unwrap_or(1);
        let row = row.clone().samples(n);
        found.mean(&row, Metric::Rtt, Unit::Nanoseconds, mean);
        for (name, q) in [("min", 0.0), ("median", 0.5), ("max", 1.0)] {
            if let Some(value) = told(name) {
                found.at(&row, Metric::Rtt, q, value);
            }
        }
    } else {
        found.samples(&row, Metric::Rtt, samples);
    }
    for (name, direction) in [("send", "forward"), ("receive", "reverse")] {
        let delays = of(name);
        if !delays.is_empty() {
            let row = row.clone().with(Key::Direction, direction).doubting(Caveat::ClocksApart);
            found.samples(&row, Metric::OneWayDelay, delays);
        }
    }
    if let Some(percent) = lost {
        let sent = stats["packets_sent"].as_u64().unwrap_or(1);
        found.put(&row.samples(sent), Metric::LossRatio, Unit::Ratio, percent / 100.0);
    }
    Ok(())
}
