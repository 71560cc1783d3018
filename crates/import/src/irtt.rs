//! irtt's JSON: isochronous round trips, each with its delays.
//!
//! Reports its one-way delays as stamped by two clocks.

use page::{Caveat, Condition, Key, Metric, Unit};

use crate::ImportError;
use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::json::Document;
use crate::numbers::Printed;

pub(crate) fn read(document: &Document, found: &mut Found) -> Result<(), ImportError> {
    let value = &document.value;
    let params = &value["config"]["params"];
    let stats = &value["stats"];
    let mut row = Row::new("irtt").with(Key::Protocol, "udp").doubting(Caveat::SoftwareTimestamps);
    if let Some(interval) = params["interval"].as_f64().filter(|ns| *ns > 0.0) {
        let rate = Condition::from_number((1e9 / interval).round());
        row = row.with(Key::Schedule, "open-loop").with(Key::ScheduleRate, rate);
    }
    let length = params["length"].as_f64().filter(|octets| *octets <= 8_972.0);
    row = row.with_frame(length, 8 + 20 + 18);
    let lost = stats["packet_loss_percent"].as_f64();
    if lost.is_some_and(|percent| percent > 0.0) {
        row = row.doubting(Caveat::SomeLost);
    }
    let packets = stats["packets_sent"].as_f64();
    let octets = packets.zip(length).map(|(packets, length)| packets * length);
    row = row.unless_same("octets-of-count", stats["bytes_sent"].as_f64(), octets);
    // So many fit into the time, if each waits for its interval.
    let most = stats["duration"].as_f64().zip(params["interval"].as_f64());
    let most = most.map(|(duration, interval)| 2.0 + 1.2 * duration / interval);
    let more = packets.zip(most).filter(|(packets, most)| packets > most);
    row =
        row.contradicted(more.map(|(said, most)| Contradiction::new("more-than-time", said, most)));
    let of = |name: &str| document.series(&format!("round_trips.delay.{name}"));
    let told = |name: &str| stats[name]["mean"].as_f64().map(|value| Printed { value, step: 1.0 });
    if let Some(samples) = of("rtt") {
        let row = row.clone().unless_same("mean-of-points", told("rtt"), samples.mean());
        found.samples(&row, Metric::Rtt, samples, 1.0);
    } else {
        let told = |name: &str| stats["rtt"][name].as_f64();
        let mean = told("mean").ok_or(ImportError::missing("irtt", "round trips"))?;
        let points = [("min", 0.0), ("median", 0.5), ("max", 1.0)];
        let points = points.into_iter().filter_map(|(name, q)| Some((q, told(name)?)));
        let described = Described::new(&points.collect::<Vec<_>>(), Some(mean));
        let row = row.clone().samples(stats["rtt"]["n"].as_u64().unwrap_or(1));
        found.distribution(&row, Metric::Rtt, &described.with(told("stddev"), 1.0));
    }
    let ways = [("send", "send_delay", "forward"), ("receive", "receive_delay", "reverse")];
    for (name, summary, direction) in ways {
        if let Some(delays) = of(name) {
            let row = row.clone().with(Key::Direction, direction).doubting(Caveat::ClocksApart);
            let row = row.unless_same("mean-of-points", told(summary), delays.mean());
            found.samples(&row, Metric::OneWayDelay, delays, 1.0);
        }
    }
    if let Some(percent) = lost {
        let sent = stats["packets_sent"].as_u64().unwrap_or(1);
        found.add(&row.samples(sent), Metric::LossRatio, Unit::Ratio, percent / 100.0);
    }
    Ok(())
}
