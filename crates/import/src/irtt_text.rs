//! irtt's text: the table of its client's summary.
//!
//! Reports its one-way delays as stamped by two clocks.

use page::{Caveat, Key, Metric, Unit};

use crate::around::is_around;
use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, leading, numbers, time};
use crate::reader::Reader;

/// Reader of irtt's text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    begun: bool,
    /// `RTT`, `send delay`, `receive delay`: minimum, mean, median, maximum, deviation.
    rows: Vec<(&'static str, [f64; 5])>,
    counts: Option<(f64, f64)>,
    /// Lost share in percent, as printed.
    percent: Option<f64>,
    octets: Option<f64>,
    /// Octets of all packets sent.
    sent_octets: Option<f64>,
}

const DELAYS: [&str; 3] = ["RTT", "send delay", "receive delay"];

impl Reader for Text {
    fn tool(&self) -> &'static str {
        "irtt"
    }

    fn begins(&self, line: &str) -> bool {
        line.starts_with('[') && line.contains("] connecting to ")
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if line.starts_with('[')
            && (line.contains("] connecting to ") || line.contains("[Connected]"))
        {
            self.begun = true;
            return true;
        }
        if line.starts_with("Min ") && line.contains("Mean") && line.contains("Stddev") {
            self.begun = true;
        }
        if !self.begun {
            return false;
        }
        if let Some(name) = DELAYS.iter().find(|name| line.starts_with(**name)) {
            let values: Vec<f64> = line[name.len()..].split_whitespace().filter_map(time).collect();
            // A second one is another's.
            let Ok(values) = <[f64; 5]>::try_from(values) else { return false };
            let is_new = self.rows.iter().all(|(other, _)| other != name);
            if is_new {
                self.rows.push((name, values));
            }
            return is_new;
        }
        if let Some(rest) = line.strip_prefix("packets sent/received: ") {
            let own = numbers("#/# (#% loss)", rest);
            self.counts = own.as_ref().map(|own| (own[0], own[1]));
            self.percent = own.map(|own| own[2]);
            return true;
        }
        if let Some(rest) = line.strip_prefix("packet length: ") {
            self.octets = leading(rest).map(|(octets, _)| octets);
            return true;
        }
        if let Some(own) = numbers("bytes sent/received: #/#", line) {
            self.sent_octets = Some(own[0]);
            return true;
        }
        is_around("irtt", line) || line.starts_with("*** ") || line.starts_with('[')
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(self).add_to(found);
    }
}

impl Text {
    /// Contradiction if a round trip is not the sum of its two ways.
    fn both_ways(&self) -> Option<Contradiction> {
        let of = |name: &str| self.rows.iter().find(|(own, _)| *own == name).map(|(_, all)| all);
        let [rtt, send, receive] = [of(DELAYS[0])?, of(DELAYS[1])?, of(DELAYS[2])?];
        let [_, mean, _, most, _] = [0, 1, 2, 3, 4].map(|at| send[at] + receive[at]);
        let differs = |said: f64, counted: f64| {
            let counted = Printed { value: counted, step: 0.01 * most };
            Contradiction::unless_same("latency-of-parts", said, counted)
        };
        let least = || differs(rtt[0], rtt[0].max(send[0] + receive[0]));
        differs(rtt[1], mean).or_else(least).or_else(|| differs(rtt[3], rtt[3].min(most)))
    }

    fn add_to(self, found: &mut Found) {
        let counted = self.counts.zip(self.octets).map(|((sent, _), octets)| sent * octets);
        let lost = self.counts.filter(|(sent, received)| *sent > 0.0 && received <= sent);
        let lost = lost.map(|(sent, received)| 1.0 - received / sent);
        let counts = self.counts.map(|(sent, received)| Counts {
            lost: sent - received,
            all: sent,
            percent: self.percent,
        });
        let row = Row::new("irtt")
            .with(Key::Protocol, "udp")
            .with_frame(self.octets.filter(|octets| *octets <= 8_972.0), 46)
            .doubting(Caveat::SoftwareTimestamps)
            .doubting_if(lost.is_some_and(|lost| lost > 0.0), Caveat::SomeLost)
            .contradicted(counts.and_then(|counts| counts.contradiction()))
            .contradicted(self.both_ways())
            // All packets together are as large as their length makes them.
            .unless_same("octets-of-count", self.sent_octets, counted);
        let received = self.counts.map_or(1.0, |(_, received)| received.max(0.0));
        for (name, [least, mean, median, most, deviation]) in &self.rows {
            let row = row.clone().samples(received as u64);
            let (metric, row) = match *name {
                "RTT" => (Metric::Rtt, row),
                name => {
                    let way = if name == "send delay" { "forward" } else { "reverse" };
                    let row = row.with(Key::Direction, way).doubting(Caveat::ClocksApart);
                    (Metric::OneWayDelay, row)
                }
            };
            let points = [(0.0, *least), (0.5, *median), (1.0, *most)];
            // Times have three digits.
            let described = Described::new(&points, Some(*mean)).with(Some(*deviation), most / 1e3);
            found.distribution(&row, metric, &described);
        }
        if let (Some((sent, _)), Some(lost)) = (self.counts, lost) {
            found.add(&row.samples(sent as u64), Metric::LossRatio, Unit::Ratio, lost);
        }
    }
}
