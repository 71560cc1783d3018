//! irtt's text: the table of its client's summary.
//!
//! Reports its one-way delays as stamped by two clocks.

use page::{Caveat, Key, Metric, Unit};

use crate::around::is_around;
use crate::found::{Found, Row};
use crate::numbers::{leading, time};
use crate::reader::Reader;

/// Reader of irtt's text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    begun: bool,
    /// `RTT`, `send delay`, `receive delay`: minimum, mean, median, maximum.
    rows: Vec<(&'static str, [f64; 4])>,
    counts: Option<(f64, f64)>,
    octets: Option<f64>,
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
            let [least, mean, median, most, _] = values[..] else { return false };
            let is_new = self.rows.iter().all(|(other, _)| other != name);
            if is_new {
                self.rows.push((name, [least, mean, median, most]));
            }
            return is_new;
        }
        if let Some(rest) = line.strip_prefix("packets sent/received: ") {
            let received = |rest: &str| Some(leading(rest.strip_prefix('/')?)?.0);
            self.counts = leading(rest).and_then(|(sent, rest)| Some((sent, received(rest)?)));
            return true;
        }
        if let Some(rest) = line.strip_prefix("packet length: ") {
            self.octets = leading(rest).map(|(octets, _)| octets);
            return true;
        }
        is_around("irtt", line) || line.starts_with("*** ") || line.starts_with('[')
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(self).add_to(found);
    }
}

impl Text {
    fn add_to(self, found: &mut Found) {
        let octets = self.octets.filter(|octets| (0.0..=8_972.0).contains(octets));
        let lost = self.counts.filter(|(sent, received)| *sent > 0.0 && received <= sent);
        let lost = lost.map(|(sent, received)| 1.0 - received / sent);
        let row = Row::new("irtt")
            .with(Key::Protocol, "udp")
            .with_known(Key::FrameSize, octets.map(|octets| (octets as u64 + 46).max(64)))
            .doubting(Caveat::SoftwareTimestamps)
            .doubting_if(lost.is_some_and(|lost| lost > 0.0), Caveat::SomeLost);
        let received = self.counts.map_or(1.0, |(_, received)| received.max(0.0));
        for (name, [least, mean, median, most]) in &self.rows {
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
            found.distribution(&row, metric, &points, Some(*mean));
        }
        if let (Some((sent, _)), Some(lost)) = (self.counts, lost) {
            found.add(&row.samples(sent as u64), Metric::LossRatio, Unit::Ratio, lost);
        }
    }
}
