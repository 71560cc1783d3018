//! netperf's text: the classic tables, and omni's tables, comma-separated lines and `NAME=value`.
//!
//! Owns the derivation of a round trip from transactions per second if one is in flight at a time.
//! Never takes the sender's rate of datagrams for what arrived.

use std::collections::BTreeMap;

use page::{Caveat, Key, Metric, Unit};

use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, behind, between, bits, number, printed};
use crate::reader::Reader;
use crate::shapes::{Part, Values};

/// Reader of netperf's text.
#[derive(Debug, Default)]
pub(crate) struct Netperf {
    test: Option<Test>,
}

#[derive(Debug, Default)]
struct Test {
    /// Name in capitals, as in its banner.
    name: String,
    /// Number of additional transactions in flight: `first burst 0`.
    burst: f64,
    /// Bits per second of the heading's unit, if there is one.
    unit: Option<f64>,
    /// True if the table has a heading.
    is_headed: bool,
    /// Rows of the table.
    rows: Vec<Vec<f64>>,
    /// Values that omni names; those that are not imported have an empty name.
    named: BTreeMap<&'static str, String>,
    heads: Vec<String>,
    /// Octets in the unit of the rate and seconds of the interim results.
    interim: (f64, f64),
}

impl Reader for Netperf {
    fn begins(&self, line: &str) -> bool {
        let name = line.split_once(" TEST from ").filter(|(_, rest)| rest.contains(" to "));
        let of_name = |c: char| c.is_ascii_alphabetic() || matches!(c, ' ' | '/' | '|' | '_');
        name.is_some_and(|(name, _)| name.chars().all(of_name))
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if self.begins(line) {
            let name = line.split(" TEST from ").next().unwrap_or_default();
            let name = name.trim_start_matches("MIGRATED ").to_ascii_uppercase();
            let burst = behind(line, "first burst ").unwrap_or(0.0);
            self.test = Some(Test { name, burst, ..Test::default() });
            return true;
        }
        self.test.as_mut().is_some_and(|test| test.take(line))
    }

    fn end(&mut self, found: &mut Found) {
        if let Some(test) = self.test.take() {
            test.add_to(found);
        }
    }
}

/// Bits per second of a unit of throughput.
fn rate(unit: &str) -> Option<f64> {
    bits(unit.trim_end_matches("/sec").trim_end_matches("/s"))
}

impl Test {
    fn take(&mut self, line: &str) -> bool {
        if let Some(own) = Values::read("netperf.interim", line) {
            let [rate, seconds] = ["rate", "seconds"].map(|name| own.number(name).unwrap_or(0.0));
            self.interim = (self.interim.0 + rate * seconds, self.interim.1 + seconds);
            return true;
        }
        if line.starts_with("!!! ") {
            return true;
        }
        if let Some((name, value)) = line.split_once('=')
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        {
            let value = value.trim();
            let is_cut =
                name == "THROUGHPUT" && printed(value).is_none_or(|rate| rate.step > 0.011);
            if !is_cut {
                self.name(name, value);
            }
            return !is_cut;
        }
        if line.contains(',') {
            return self.commas(line);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if is_heading(&words) {
            let unit = words.iter().find_map(|word| rate(word).filter(|_| word.contains("/s")));
            self.unit = self.unit.or(unit);
            self.is_headed = true;
            return true;
        }
        // Rates have two digits after the point; one that is cut off has fewer.
        let is_rate =
            |word: &&&str| word.contains('.') && printed(word).is_none_or(|p| p.step > 0.011);
        let has_time = words.iter().any(|word| word.contains('.'));
        let lacks_rate = has_time && words.last().is_some_and(|last| last.parse::<u64>().is_ok());
        if !self.is_headed || lacks_rate || words.iter().any(|word| is_rate(&word)) {
            return false;
        }
        let mut numbers: Vec<f64> = words.iter().map_while(|word| number(word)).collect();
        if numbers.len() == words.len() {
            if self.rows.len() < 8 {
                self.rows.push(numbers);
            }
            return true;
        }
        // omni's table has the unit in its row.
        if let Some(unit) =
            words.last().filter(|_| numbers.len() + 1 == words.len() && words.len() > 2)
        {
            self.unit = rate(unit);
            numbers.push(f64::NAN);
            self.rows.push(numbers);
            return self.unit.is_some();
        }
        false
    }

    /// Reads omni's names in one line and their values in the next.
    fn commas(&mut self, line: &str) -> bool {
        let fields: Vec<String> = line.split(',').map(|field| field.trim().to_owned()).collect();
        if self.heads.len() == fields.len() {
            let heads = std::mem::take(&mut self.heads);
            heads.iter().zip(fields).for_each(|(name, value)| self.name(name, &value));
            return true;
        }
        self.heads = fields;
        self.heads.iter().all(|name| number(name).is_none())
    }

    /// Keeps a value by its name.
    fn name(&mut self, name: &str, value: &str) {
        let known = Part::named("netperf.names").name(name);
        self.named.insert(known.unwrap_or_default(), value.to_owned());
    }

    fn named(&self, name: &str) -> Option<f64> {
        // Unmeasured values are printed as -1.
        number(self.named.get(name)?).filter(|value| *value >= 0.0)
    }

    /// True for one request at a time, each answered before the next.
    fn is_request(&self) -> bool {
        let is_own = ["REQUEST/RESPONSE", "SEND|RECV"].iter().any(|name| self.name.contains(name));
        is_own && !self.name.contains("CONNECT") && self.burst <= 0.0
    }

    fn row(&self) -> Row {
        let udp = self.name.contains("UDP");
        let tcp = self.name.contains("TCP") || self.name.starts_with("OMNI");
        let protocol = if udp { Some("udp") } else { tcp.then_some("tcp") };
        let reverse = self.name.contains("MAERTS").then_some("reverse");
        Row::new("netperf")
            .with_known(Key::Protocol, protocol)
            .with_known(Key::Direction, reverse)
            .with(Key::Test, self.name.to_ascii_lowercase())
    }

    fn add_to(self, found: &mut Found) {
        if self.named.is_empty() { self.of_table(found) } else { self.of_names(found) }
    }

    fn of_table(&self, found: &mut Found) {
        let Some(first) = self.rows.first() else { return };
        let row = self.row();
        match (&self.rows[..], self.unit) {
            // Socket, message, seconds, messages, errors, throughput; then the receiver's.
            ([sent, received, ..], Some(bits)) if self.name.contains("UDP") => {
                let ([_, octets, _, out, _, _, ..], [_, seconds, arrived, rate, ..]) =
                    (&sent[..], &received[..])
                else {
                    return;
                };
                let row = row.with(Key::Message, octets.max(0.0) as u64);
                let counts = Counts { lost: out - arrived, all: *out, percent: None };
                let counted = |messages: f64| {
                    Printed::near(messages * octets * 8.0 / seconds, 0.02 + 0.01 / seconds)
                };
                let of_sender = sent.last().map(|rate| rate * bits);
                let row = row
                    .contradicted(counts.contradiction())
                    .unless_same("rate-of-octets", of_sender, counted(*out))
                    .unless_same("rate-of-octets", rate * bits, counted(*arrived));
                found.goodput(&row, rate * bits);
                counts.add_to(&row, *seconds, found);
            }
            // Recv socket, send socket, message, seconds, throughput.
            (_, Some(bits)) => {
                let rate = if first.last().is_some_and(|last| last.is_nan()) {
                    first.len().checked_sub(2).and_then(|at| first.get(at))
                } else {
                    first.get(4)
                };
                if let Some(rate) = rate {
                    let (moved, seconds) = self.interim;
                    let own = (seconds > 0.0).then(|| Printed::near(moved / seconds * bits, 0.05));
                    let row = row.unless_same("rate-of-intervals", rate * bits, own);
                    found.goodput(&row.doubting(Caveat::SenderOnly), rate * bits);
                }
            }
            // Send socket, recv socket, request, response, seconds, transactions per second.
            (_, None) if self.name.contains("REQUEST/RESPONSE") => {
                if let Some(rate) = first.get(5).filter(|_| first.len() >= 6) {
                    self.round_trip(&row, *rate, found);
                }
            }
            _ => {}
        }
    }

    /// Adds the round trip: sequential transactions take the whole time.
    fn round_trip(&self, row: &Row, per_second: f64, found: &mut Found) {
        if per_second > 0.0 && self.is_request() {
            let row = row.clone().doubting(Caveat::SoftwareTimestamps);
            let row = row.with(Key::Estimate, "from-transaction-rate");
            found.mean(&row, Metric::Rtt, Unit::Nanoseconds, 1e9 / per_second);
        }
    }

    fn of_names(&self, found: &mut Found) {
        let row = self.row();
        let us = |name: &str| self.named(name).map(|us| us * 1e3);
        // Points of the latency are named by their quantiles.
        let point = |name: &&'static str| Some((name.parse().ok()?, us(name)?));
        let points: Vec<(f64, f64)> = self.named.keys().filter_map(point).collect();
        let unit = self.named.get("unit").map_or("", String::as_str);
        let rate = self.named("throughput");
        let transactions = rate.filter(|_| unit.starts_with("Trans"));
        let transactions = transactions.or_else(|| self.named("transactions"));
        let mean = us("mean").or_else(|| us("trip").filter(|ns| *ns > 0.0));
        // With several instances at once the rates are added up, and 1 / rate is no round trip.
        let of_rate = transactions.filter(|rate| *rate > 0.0 && self.is_request());
        let counted = of_rate.map(|rate| Printed::near(1e9 / rate, 0.1));
        let contradiction = Contradiction::unless_same("mean-of-rate", mean, counted);
        let stream = self.name.contains("STREAM") || self.name.contains("MAERTS");
        if !stream {
            let row = row.clone().doubting(Caveat::SoftwareTimestamps).contradicted(contradiction);
            let seconds = self.named("seconds").unwrap_or(1.0);
            let n = transactions.map(|rate| (rate * seconds) as u64);
            let described = Described::new(&points, mean).with(None, 1e3);
            found.distribution(&row, Metric::Rtt, &described.of_samples(n));
        }
        if let (Some(number), Some(bits)) = (rate, self::rate(unit)) {
            found.goodput(&row.doubting(Caveat::SenderOnly), number * bits);
        } else if let Some(rate) =
            transactions.filter(|_| contradiction.is_none() && points.is_empty())
        {
            self.round_trip(&row, rate, found);
        }
    }
}

fn is_heading(words: &[&str]) -> bool {
    const WORDS: &str = "Recv Socket Size bytes Local Send Final Elapsed Messages Okay Throughput \
        Units (sec) Bytes Rate Utilization";
    let known = |word: &&&str| {
        WORDS.split(' ').any(|own| own == **word) || between(word, "10^", "bits").is_some()
    };
    words.iter().filter(known).count() * 3 >= words.len()
        || words.starts_with(&["Local", "/Remote"])
}
