//! irtt's text: the table of its client's summary.
//!
//! Reports its one-way delays as stamped by two clocks.

use page::{Caveat, Key, Metric, Unit};

use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, time};
use crate::reader::Reader;
use crate::shapes::Sheet;

/// Reader of irtt's text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// `octets` of all packets sent, and the `length` of one.
    sheet: Sheet,
    /// Minimum, mean, median, maximum and deviation of each of the delays.
    rows: [Option<[f64; 5]>; 3],
}

/// Rows of its table: their names, and the direction of a way.
const DELAYS: [(&str, Option<&str>); 3] =
    [("RTT", None), ("send delay", Some("forward")), ("receive delay", Some("reverse"))];

impl Reader for Text {
    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if !self.sheet.has("begun") {
            return self.sheet.take("irtt.open", line);
        }
        if let Some(at) = DELAYS.iter().position(|(name, _)| line.starts_with(name)) {
            let values: Vec<f64> =
                line[DELAYS[at].0.len()..].split_whitespace().filter_map(time).collect();
            // A second one is another's.
            let values = <[f64; 5]>::try_from(values).ok().filter(|_| self.rows[at].is_none());
            self.rows[at] = self.rows[at].or(values);
            return values.is_some();
        }
        self.sheet.take("irtt", line) || line.starts_with("*** ")
    }

    fn end(&mut self, found: &mut Found) {
        let length = self.sheet.number("length");
        let counts = self.sheet.number("sent").zip(self.sheet.number("received"));
        let percent = self.sheet.number("percent");
        let of = |(sent, received)| Counts { lost: sent - received, all: sent, percent };
        let lost = counts.filter(|(sent, received)| *sent > 0.0 && received <= sent);
        let lost = lost.map(|(sent, received)| 1.0 - received / sent);
        let octets = counts.zip(length).map(|((sent, _), length)| sent * length);
        let row = Row::new("irtt")
            .with(Key::Protocol, "udp")
            .with_frame(length.filter(|octets| *octets <= 8_972.0), 46)
            .doubting(Caveat::SoftwareTimestamps)
            .doubting_if(lost > Some(0.0), Caveat::SomeLost)
            .contradicted(counts.map(of).and_then(|counts| counts.contradiction()))
            .contradicted(self.both_ways())
            // All packets together are as large as their length makes them.
            .unless_same("octets-of-count", self.sheet.number("octets"), octets);
        let received = counts.map_or(1.0, |(_, received)| received.max(0.0));
        for ((_, way), told) in DELAYS.iter().zip(self.rows) {
            let Some([least, mean, median, most, deviation]) = told else { continue };
            let metric = if way.is_some() { Metric::OneWayDelay } else { Metric::Rtt };
            let row = row.clone().samples(received as u64).with_known(Key::Direction, *way);
            let row = row.doubting_if(way.is_some(), Caveat::ClocksApart);
            let described = Described::new(&[(0.0, least), (0.5, median), (1.0, most)], Some(mean));
            // Times have three digits.
            found.distribution(&row, metric, &described.with(Some(deviation), most / 1e3));
        }
        if let (Some((sent, _)), Some(lost)) = (counts, lost) {
            found.add(&row.samples(sent as u64), Metric::LossRatio, Unit::Ratio, lost);
        }
    }
}

impl Text {
    /// Contradiction if a round trip is not the sum of its two ways.
    fn both_ways(&self) -> Option<Contradiction> {
        let [rtt, send, receive] = [self.rows[0]?, self.rows[1]?, self.rows[2]?];
        let [least, mean, most] = [0, 1, 3].map(|at| send[at] + receive[at]);
        let differs = |said: f64, counted: f64| {
            let counted = Printed { value: counted, step: 0.01 * most };
            Contradiction::unless_same("latency-of-parts", said, counted)
        };
        differs(rtt[1], mean)
            .or_else(|| differs(rtt[0], rtt[0].max(least)))
            .or_else(|| differs(rtt[3], rtt[3].min(most)))
    }
}
