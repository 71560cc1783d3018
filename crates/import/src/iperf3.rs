//! iperf3's JSON, of all its generations: with and without sums of both sides, `--bidir`,
//! `--json-stream`.
//!
//! Owns the choice of the sum that arrived. Never uses `end.sum` of UDP for it: that mixes the
//! sender's count with the receiver's losses.

use page::{Caveat, Key, Metric, Unit};
use serde_json::{Map, Value};

use crate::ImportError;
use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::found::{Found, Row};
use crate::iperf_text::Iperf;
use crate::json::Document;
use crate::moved::Moved;
use crate::numbers::Printed;
use crate::reader::Reader;

const TOOL: &str = "iperf3";

/// Events of a stream (`--json-stream`), merged into the one value that `-J` prints.
#[derive(Debug, Default)]
pub(crate) struct Events(Document);

impl Events {
    /// Adds one event.
    pub(crate) fn take(&mut self, mut event: Value) {
        let data = event["data"].take();
        let name = event["event"].as_str().unwrap_or_default();
        match name {
            "interval" => {
                for sum in ["sum", "sum_bidir_reverse"] {
                    self.0.add(&format!("intervals.{sum}"), &data[sum]);
                }
            }
            // The server's own output follows the end.
            "start" | "end" | "error" if !self.0.value[name].is_object() => {
                self.0.value[name] = data;
            }
            _ => {}
        }
    }

    pub(crate) fn read(&self, found: &mut Found) -> Result<(), ImportError> {
        read(&self.0, found)
    }
}

pub(crate) fn read(document: &Document, found: &mut Found) -> Result<(), ImportError> {
    let value = &document.value;
    let test = &value["start"]["test_start"];
    let none = Map::new();
    let end = value["end"].as_object().unwrap_or(&none);
    let protocol = test["protocol"].as_str().unwrap_or("TCP").to_ascii_lowercase();
    let udp = protocol == "udp";
    let both = test["bidir"].as_u64() == Some(1) || end.contains_key("sum_received_bidir_reverse");
    let reverse = test["reverse"].as_u64() == Some(1) && !both;
    let paced = test["target_bitrate"].as_f64().is_some_and(|bits| bits > 0.0);
    // Payload, UDP, IPv4, MAC header and FCS.
    let payload = test["blksize"].as_f64().filter(|octets| udp && *octets <= 8_972.0);
    let row = Row::new(TOOL)
        .with(Key::Protocol, protocol)
        .with_known(Key::Streams, test["num_streams"].as_u64())
        .with_frame(payload, 8 + 20 + 18)
        .doubting_if(udp, Caveat::GapLoss)
        .doubting_if(paced, Caveat::LoadHeldBack)
        .doubting_if(value["error"].is_string() || end.is_empty(), Caveat::CutOff)
        .unless_same("streams-of-test", test["num_streams"].as_f64(), stream_count(end, both));
    let before = found.figures.len();
    let direction = if both { Some("forward") } else { reverse.then_some("reverse") };
    let forward = row.clone().with_known(Key::Direction, direction);
    let forward_side = Side { document, end, suffix: "", udp };
    forward_side.add_to(&forward, found);
    if both {
        let reverse = row.clone().with(Key::Direction, "reverse");
        Side { suffix: "_bidir_reverse", ..forward_side }.add_to(&reverse, found);
    }
    if let Some(cwnd) = largest_window(end).filter(|_| found.figures.len() > before) {
        found.add(&row, Metric::CwndMax, Unit::Bytes, cwnd);
    }
    if found.figures.len() > before {
        return Ok(());
    }
    Err(match value["error"].as_str() {
        Some(reason) => {
            ImportError::ToolFailed { number: 0, tool: TOOL, reason: reason.to_owned() }
        }
        None => ImportError::missing(TOOL, "sum of what was sent or received"),
    })
}

/// Traffic in one direction.
struct Side<'a> {
    document: &'a Document,
    end: &'a Map<String, Value>,
    /// Suffix of its sums' names.
    suffix: &'static str,
    udp: bool,
}

impl Side<'_> {
    /// Number of the test's start.
    fn of_test(&self, name: &str) -> Option<f64> {
        number(&self.document.value["start"]["test_start"], name)
    }

    fn sum(&self, name: &str) -> Option<&Value> {
        self.end.get(&format!("{name}{}", self.suffix)).filter(|sum| sum.is_object())
    }

    /// Sum of the intervals' values for a member.
    fn intervals(&self, name: &str) -> Option<f64> {
        let place = format!("intervals.sum{}.{name}", self.suffix);
        self.document.series(&place).map(|series| series.sum)
    }

    fn add_to(&self, row: &Row, found: &mut Found) {
        let (sent, received) = (self.sum("sum_sent"), self.sum("sum_received"));
        // Before 3.7 UDP had one sum for both: the sender's octets, and the receiver's losses.
        let Some(arrived) = received.or_else(|| self.sum("sum")).or(sent) else {
            self.add_intervals(row, found);
            return;
        };
        let octets = |of: &Value| number(of, "bytes").unwrap_or(0.0);
        // A server without a report at the end appears as one that received nothing.
        let unheard = !self.udp && octets(arrived) <= 0.0 && sent.is_some_and(|s| octets(s) > 0.0);
        let told = if unheard { sent.unwrap_or(arrived) } else { arrived };
        let (counts, contradiction) = self.checked(arrived);
        let row = row
            .clone()
            .doubting_if(unheard, Caveat::CutOff)
            .doubting_if(unheard || (received.is_none() && !self.udp), Caveat::SenderOnly)
            .contradicted(contradiction)
            .contradicted([arrived, sent.unwrap_or(arrived)].into_iter().find_map(rate_of_octets))
            .contradicted(self.datagrams(arrived).or_else(|| self.datagrams(sent?)))
            .contradicted(self.octets(told, sent).filter(|_| !self.udp || received.is_some()))
            .contradicted(self.again(sent));
        if let Some(bits) = number(told, "bits_per_second") {
            let is_mixed = self.udp && received.is_none();
            let arrived =
                counts.filter(|_| is_mixed).and_then(|counts| self.arrived(arrived, &counts, bits));
            found.goodput(&row, arrived.unwrap_or(bits));
        }
        if let Some(counts) = counts {
            counts.add_to(&row, number(arrived, "seconds").unwrap_or(0.0), found);
            let of_sender =
                sent.and_then(|sent| Some(number(sent, "packets")? / number(sent, "seconds")?));
            if let Some(rate) = of_sender.filter(|rate| *rate > 0.0) {
                found.add(&row, Metric::Sent, Unit::FramesPerSecond, rate);
            }
        } else if let Some(again) = sent.and_then(|sent| number(sent, "retransmits")) {
            found.add(&row, Metric::Retransmits, Unit::Count, again);
        }
    }

    /// Rate of the arrived datagrams in bits per second, given the rate sent.
    fn arrived(&self, sum: &Value, counts: &Counts, sent: f64) -> Option<f64> {
        let share = counts.arrived()?;
        let octets = self.of_test("blksize");
        let seconds = number(sum, "seconds").filter(|seconds| *seconds > 0.0);
        let all = octets.zip(seconds).map(|(octets, seconds)| 8.0 * octets * counts.all / seconds);
        Some(share * all.unwrap_or(sent))
    }

    /// Receiver's counts, checked against each other, the streams, the intervals and the server's
    /// own output, which takes precedence over the end's.
    fn checked(&self, arrived: &Value) -> (Option<Counts>, Option<Contradiction>) {
        let Some(told) = counts(arrived).filter(|_| self.udp) else { return (None, None) };
        let of_streams = || told.against(&streams(self.end, self.suffix));
        let parts = self.intervals("lost_packets").zip(self.intervals("packets"));
        let parts = parts.map(|(lost, all)| Counts { lost, all, percent: None });
        let of_parts = parts.and_then(|parts| told.against_intervals(&parts));
        let server = self.server().filter(|_| self.suffix.is_empty());
        let differs = |server: &Counts| (server.lost - told.lost).abs() > 0.01 * server.lost + 2.0;
        let server = server.filter(differs);
        let of_server =
            server.map(|server| Contradiction::new("lost-of-server", told.lost, server.lost));
        let contradiction = told.contradiction().or_else(of_streams).or(of_server).or(of_parts);
        (server.or(parts.filter(|_| of_parts.is_some())).or(Some(told)), contradiction)
    }

    /// Counts in the server's own output, if the client has it (`--get-server-output`).
    fn server(&self) -> Option<Counts> {
        let value = &self.document.value;
        let end = &value["server_output_json"]["end"];
        if let Some(told) = counts(&end["sum_received"]).or_else(|| counts(&end["sum"])) {
            return Some(told);
        }
        let (mut reader, mut own) = (Iperf::default(), Found::default());
        for line in value["server_output_text"].as_str()?.lines() {
            reader.line(line.trim(), &mut own);
        }
        reader.end(&mut own);
        let loss = own.figures.iter().find(|figure| figure.metric == Metric::LossRatio)?;
        let all = loss.n as f64;
        Some(Counts { lost: (loss.value? * all).round(), all, percent: None })
    }

    /// Contradiction if a sum's octets are not those of its datagrams; some versions write the
    /// sender's octets beside the receiver's losses.
    fn datagrams(&self, sum: &Value) -> Option<Contradiction> {
        let size = self.of_test("blksize")?;
        let Counts { lost, all, .. } = counts(sum).filter(|_| self.udp)?;
        let differs = |count: f64| {
            let counted = Printed::near(count * size, 0.02).plus_step(2.0 * size);
            Contradiction::unless_same("octets-of-count", number(sum, "bytes"), counted)
        };
        differs(all).and_then(|_| differs(all - lost))
    }

    /// Contradiction if the sum has other retransmits than its streams.
    fn again(&self, sent: Option<&Value>) -> Option<Contradiction> {
        let streams = self.end.get("streams").and_then(Value::as_array);
        let both = self.end.contains_key("sum_received_bidir_reverse");
        // Of both directions each stream has a flag: this side sends it.
        let is_own =
            |stream: &&Value| !both || stream["sender"]["sender"] == self.suffix.is_empty();
        let of_stream = |stream: &Value| stream["sender"]["retransmits"].as_f64();
        let own: Option<Vec<f64>> = streams?.iter().filter(is_own).map(of_stream).collect();
        let streams = own.filter(|own| !own.is_empty()).map(|own| own.iter().sum::<f64>());
        Contradiction::unless_same("retransmits-of-streams", number(sent?, "retransmits"), streams)
    }

    /// Contradiction if the intervals' octets match neither side's.
    fn octets(&self, told: &Value, sent: Option<&Value>) -> Option<Contradiction> {
        let octets = number(told, "bytes")?;
        let omits = self.of_test("omit") > Some(0.0);
        let is_apart = |own: f64| {
            let sums = [Some(octets), sent.and_then(|sent| number(sent, "bytes"))];
            // The last interval's end may be missing from the list, and one may contain late data.
            sums.into_iter().flatten().all(|sum| (own - sum).abs() > 0.1 * sum)
        };
        let own = self.intervals("bytes").filter(|own| !omits && is_apart(*own));
        Some(Contradiction::new("octets-of-intervals", octets, own?))
    }

    /// Adds the intervals' results if the end is missing.
    fn add_intervals(&self, row: &Row, found: &mut Found) {
        let sums = self.intervals("bytes").zip(self.intervals("seconds"));
        let Some((octets, seconds)) = sums.filter(|(_, seconds)| *seconds > 0.0) else { return };
        let lost = self.intervals("lost_packets").zip(self.intervals("packets"));
        let row = row.clone().doubting(Caveat::CutOff);
        // Only a receiver counts losses.
        let row = row.doubting_if(self.udp && lost.is_none(), Caveat::SenderOnly);
        let own = Moved {
            seconds,
            bits_per_second: Printed::exact(8.0 * octets / seconds),
            counts: lost.map(|(lost, all)| Counts { lost, all, percent: None }),
            retransmits: self.intervals("retransmits"),
            ..Moved::default()
        };
        own.add_to(&row, found);
    }
}

fn number(of: &Value, name: &str) -> Option<f64> {
    of[name].as_f64()
}

/// Contradiction if a sum's rate is not that of its octets.
fn rate_of_octets(sum: &Value) -> Option<Contradiction> {
    let seconds = number(sum, "seconds").filter(|seconds| *seconds > 0.5)?;
    let rate = Printed::near(8.0 * number(sum, "bytes")? / seconds, 0.03);
    Contradiction::unless_same("rate-of-octets", number(sum, "bits_per_second"), rate)
}

/// Number of streams in each direction that the end lists; `None` if it lists none.
fn stream_count(end: &Map<String, Value>, both: bool) -> Option<f64> {
    let count = end.get("streams")?.as_array()?.len() as f64;
    (count > 0.0).then(|| if both { count / 2.0 } else { count })
}

fn counts(of: &Value) -> Option<Counts> {
    let percent = number(of, "lost_percent");
    Some(Counts { lost: number(of, "lost_packets")?, all: number(of, "packets")?, percent })
}

/// Counts of each receiving stream; with both directions the output does not identify them.
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
