//! iperf3's JSON, of all its generations: with and without sums of both sides, `--bidir`,
//! `--json-stream`.
//!
//! Owns which sum is what arrived. Never takes `end.sum` of UDP where the two sides are told apart:
//! it mixes the sender's count with the receiver's losses.

use page::{Caveat, Key, Metric, Unit};
use serde_json::{Map, Value};

use crate::counts::Counts;
use crate::found::{Found, Row};
use crate::json::Document;
use crate::problem::Problem;

const TOOL: &str = "iperf3";

/// A stream's events (`--json-stream`), put together as the one value that `-J` prints.
#[derive(Debug, Default)]
pub(crate) struct Events(Document);

impl Events {
    /// One more; whether it is the last.
    pub(crate) fn take(&mut self, mut event: Value) -> bool {
        let data = event["data"].take();
        let name = event["event"].as_str().unwrap_or_default();
        match name {
            "interval" => {
                for sum in ["sum", "sum_bidir_reverse"] {
                    self.0.add(&format!("intervals.{sum}"), &data[sum]);
                }
            }
            // The server's own output comes behind the end.
            "start" | "end" | "error" if !self.0.value[name].is_object() => {
                self.0.value[name] = data;
            }
            _ => {}
        }
        false
    }

    pub(crate) fn read(&self, found: &mut Found) -> Result<(), Problem> {
        read(&self.0, found)
    }
}

pub(crate) fn read(document: &Document, found: &mut Found) -> Result<(), Problem> {
    let value = &document.value;
    let test = &value["start"]["test_start"];
    let none = Map::new();
    let end = value["end"].as_object().unwrap_or(&none);
    let udp = test["protocol"].as_str() == Some("UDP");
    let both = test["bidir"].as_u64() == Some(1) || end.contains_key("sum_received_bidir_reverse");
    let reverse = test["reverse"].as_u64() == Some(1) && !both;
    let paced = test["target_bitrate"].as_f64().is_some_and(|bits| bits > 0.0);
    // Payload, UDP, IPv4, MAC header and FCS.
    let payload = test["blksize"].as_u64().filter(|octets| udp && *octets <= 8_972);
    let row = Row::of(TOOL)
        .with(Key::Protocol, if udp { "udp" } else { "tcp" })
        .with_known(Key::Streams, test["num_streams"].as_u64())
        .with_known(Key::FrameSize, payload.map(|octets| (octets + 8 + 20 + 18).max(64)))
        .doubting_if(udp, Caveat::GapLoss)
        .doubting_if(paced, Caveat::LoadHeldBack)
        .doubting_if(value["error"].is_string() || end.is_empty(), Caveat::CutOff);
    let before = found.figures.len();
    let direction = if both { Some("forward") } else { reverse.then_some("reverse") };
    let forward = row.clone().with_known(Key::Direction, direction);
    side(document, end, "", udp, &forward, found);
    if both {
        let reverse = row.clone().with(Key::Direction, "reverse");
        side(document, end, "_bidir_reverse", udp, &reverse, found);
    }
    if let Some(cwnd) = largest_window(end).filter(|_| found.figures.len() > before) {
        found.put(&row, Metric::CwndMax, Unit::Bytes, cwnd);
    }
    if found.figures.len() > before {
        return Ok(());
    }
    Err(match value["error"].as_str() {
        Some(reason) => Problem::Failed(TOOL, reason.to_owned()),
        None => Problem::Missing(TOOL, "sum of what was sent or received"),
    })
}

/// Of the intervals where the end is missing.
fn of_intervals(document: &Document, suffix: &str, row: &Row, found: &mut Found) {
    let sum = |name: &str| document.series(&format!("intervals.sum{suffix}.{name}"));
    let (Some(octets), Some(seconds)) = (sum("bytes"), sum("seconds")) else { return };
    if seconds.sum > 0.0 {
        let row = row.clone().doubting(Caveat::CutOff);
        found.goodput(&row, 8.0 * octets.sum / seconds.sum);
        if let Some(again) = sum("retransmits") {
            found.put(&row, Metric::Retransmits, Unit::Count, again.sum);
        }
    }
}

fn side(
    document: &Document,
    end: &Map<String, Value>,
    suffix: &str,
    udp: bool,
    row: &Row,
    found: &mut Found,
) {
    let sum = |name: &str| end.get(&format!("{name}{suffix}")).filter(|sum| sum.is_object());
    let (sent, received) = (sum("sum_sent"), sum("sum_received"));
    // Before 3.7 UDP had one sum for both.
    let Some(arrived) = received.or_else(|| sum("sum")).or(sent) else {
        of_intervals(document, suffix, row, found);
        return;
    };
    let number = |of: &Value, name: &str| of[name].as_f64();
    let octets = |of: &Value| number(of, "bytes").unwrap_or(0.0);
    // A server that was not heard at the end is told of as one that received nothing.
    let unheard = !udp && octets(arrived) <= 0.0 && sent.is_some_and(|sent| octets(sent) > 0.0);
    let told = if unheard { sent.unwrap_or(arrived) } else { arrived };
    let counts = counts(arrived).filter(|_| udp);
    let row = row
        .clone()
        .doubting_if(unheard, Caveat::CutOff)
        .doubting_if(unheard || (received.is_none() && !udp), Caveat::SenderOnly)
        .contradicted(counts.and_then(|counts| counts.contradiction()))
        .contradicted(counts.and_then(|sum| sum.against(&streams(end, suffix))));
    if let Some(bits) = number(told, "bits_per_second") {
        found.goodput(&row, bits);
    }
    if let Some(counts) = counts {
        counts.put(&row, number(arrived, "seconds").unwrap_or(0.0), found);
        let of_sender =
            sent.and_then(|sent| Some(number(sent, "packets")? / number(sent, "seconds")?));
        if let Some(rate) = of_sender.filter(|rate| *rate > 0.0) {
            found.put(&row, Metric::Sent, Unit::FramesPerSecond, rate);
        }
    } else if let Some(again) = sent.and_then(|sent| number(sent, "retransmits")) {
        found.put(&row, Metric::Retransmits, Unit::Count, again);
    }
}

fn counts(of: &Value) -> Option<Counts> {
    let number = |name: &str| of[name].as_f64();
    let percent = number("lost_percent");
    Some(Counts { lost: number("lost_packets")?, all: number("packets")?, percent })
}

/// What each stream that receives counted; with both directions it is not said which is which.
fn streams(end: &Map<String, Value>, suffix: &str) -> Vec<Counts> {
    let all = end.get("streams").and_then(Value::as_array).filter(|_| suffix.is_empty());
    let both = end.contains_key("sum_received_bidir_reverse");
    let all = all.into_iter().flatten().filter(|_| !both);
    all.filter_map(|stream| counts(&stream["udp"])).collect()
}

fn largest_window(end: &Map<String, Value>) -> Option<f64> {
    let streams = end.get("streams")?.as_array()?;
    let windows = streams.iter().filter_map(|stream| stream["sender"]["max_snd_cwnd"].as_f64());
    windows.filter(|octets| *octets > 0.0).max_by(f64::total_cmp)
}
