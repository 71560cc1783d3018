//! iperf3's JSON, of all its generations: with and without sums of both sides, `--bidir`,
//! `--json-stream`.
//!
//! Owns which sum is what arrived. Never takes `end.sum` of UDP where the two sides are told apart:
//! it mixes the sender's count with the receiver's losses.

use page::{Caveat, Key, Metric, Unit};
use serde_json::{Map, Value};

use crate::ImportError;
use crate::found::{Found, Row};

const TOOL: &str = "iperf3";

/// Whether it is one event a line.
pub(crate) fn is_stream(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains("\"event\""))
}

/// A stream's events put together as the one object that `-J` prints.
pub(crate) fn of_stream(text: &str) -> Result<Value, ImportError> {
    let mut whole = Map::new();
    let mut intervals = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut event: Value = match serde_json::from_str(line) {
            Ok(event) => event,
            // Cut off in the middle of a line: what came before counts, if it has an end.
            Err(_) if whole.contains_key("end") => break,
            Err(error) => return Err(ImportError::BrokenJson(error.to_string())),
        };
        let data = event["data"].take();
        match event["event"].as_str() {
            Some("interval") => intervals.push(data),
            Some(name) => drop(whole.insert(name.to_owned(), data)),
            None => {}
        }
    }
    whole.insert("intervals".to_owned(), Value::Array(intervals));
    Ok(Value::Object(whole))
}

pub(crate) fn read(value: &Value, found: &mut Found) -> Result<(), ImportError> {
    if let Some(reason) = value["error"].as_str() {
        return Err(ImportError::ToolFailed { tool: TOOL, reason: reason.to_owned() });
    }
    let test = &value["start"]["test_start"];
    let end = value["end"].as_object();
    let end = end.filter(|end| !end.is_empty());
    let end = end.ok_or(ImportError::Missing { tool: TOOL, what: "end: it was interrupted" })?;
    let udp = test["protocol"].as_str() == Some("UDP");
    let both = test["bidir"].as_u64() == Some(1) || end.contains_key("sum_received_bidir_reverse");
    let mut row = Row::of(TOOL).with(Key::Protocol, if udp { "udp" } else { "tcp" });
    if let Some(streams) = test["num_streams"].as_u64() {
        row = row.with(Key::Streams, streams);
    }
    if udp {
        row = row.doubting(Caveat::GapLoss);
        // Payload, UDP, IPv4, MAC header and FCS.
        if let Some(payload) = test["blksize"].as_u64().filter(|octets| *octets <= 8_972) {
            row = row.with(Key::FrameSize, (payload + 8 + 20 + 18).max(64));
        }
    }
    let before = found.figures.len();
    let forward = if both { row.clone().with(Key::Direction, "forward") } else { row.clone() };
    side(end, "", udp, &forward, found);
    if both {
        side(end, "_bidir_reverse", udp, &row.clone().with(Key::Direction, "reverse"), found);
    }
    if let Some(cwnd) = largest_window(end) {
        found.put(&row, Metric::CwndMax, Unit::Bytes, cwnd);
    }
    if found.figures.len() == before {
        return Err(ImportError::Missing { tool: TOOL, what: "sum of what was sent or received" });
    }
    Ok(())
}

fn side(end: &Map<String, Value>, suffix: &str, udp: bool, row: &Row, found: &mut Found) {
    let sum = |name: &str| end.get(&format!("{name}{suffix}")).filter(|sum| sum.is_object());
    let (sent, received) = (sum("sum_sent"), sum("sum_received"));
    // Before 3.7 UDP had one sum for both.
    let Some(arrived) = received.or_else(|| sum("sum")).or(sent) else { return };
    let number = |of: &Value, name: &str| of[name].as_f64();
    let goodput = row.clone().with(Key::RateConvention, "payload");
    if let Some(bits) = number(arrived, "bits_per_second") {
        found.put(&goodput, Metric::Goodput, Unit::BitsPerSecond, bits);
    }
    if udp {
        datagrams(arrived, sent, row, found);
    } else if let Some(again) = sent.and_then(|sent| number(sent, "retransmits")) {
        found.put(row, Metric::Retransmits, Unit::Count, again);
    }
}

fn datagrams(arrived: &Value, sent: Option<&Value>, row: &Row, found: &mut Found) {
    let number = |of: &Value, name: &str| of[name].as_f64();
    let counts = (number(arrived, "packets"), number(arrived, "lost_packets"));
    let (Some(all), Some(lost)) = counts else { return };
    let seconds = number(arrived, "seconds").unwrap_or(0.0);
    if seconds <= 0.0 || all <= 0.0 {
        return;
    }
    let row = row.clone().samples(all.max(0.0) as u64);
    found.put(&row, Metric::Received, Unit::FramesPerSecond, (all - lost) / seconds);
    found.put(&row, Metric::Lost, Unit::FramesPerSecond, lost / seconds);
    found.put(&row, Metric::LossRatio, Unit::Ratio, lost / all);
    let of_sender = sent.and_then(|sent| Some(number(sent, "packets")? / number(sent, "seconds")?));
    if let Some(rate) = of_sender.filter(|rate| *rate > 0.0) {
        found.put(&row, Metric::Sent, Unit::FramesPerSecond, rate);
    }
}

fn largest_window(end: &Map<String, Value>) -> Option<f64> {
    let streams = end.get("streams")?.as_array()?;
    let windows = streams.iter().filter_map(|stream| stream["sender"]["max_snd_cwnd"].as_f64());
    windows.filter(|octets| *octets > 0.0).max_by(f64::total_cmp)
}
