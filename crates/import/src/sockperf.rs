//! sockperf's text, of ping-pong, under load and of throughput.
//!
//! Owns the doubling: its latency is half the round trip, unless the whole was requested. Never
//! takes sent for received data.

use page::{Caveat, Key, Metric, Unit};

use crate::around::is_around;
use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, behind, number, numbers, share};
use crate::reader::Reader;

/// Reader of sockperf's text.
#[derive(Debug, Default)]
pub(crate) struct Sockperf {
    seen: Seen,
    begun: bool,
}

impl Reader for Sockperf {
    fn tool(&self) -> &'static str {
        "sockperf"
    }

    fn begins(&self, line: &str) -> bool {
        line.starts_with("sockperf: == version")
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if begins(&["sockperf: ", "sockperf["], line) {
            self.begun = true;
            return self.seen.take(line);
        }
        // `--full-log`: each packet's times; the summary above them has their points.
        let is_packet = line.splitn(5, ',').filter(|field| number(field).is_some()).count() == 4;
        if line.starts_with("[ 0] IP =") {
            let end = [("# TCP", "tcp"), ("# UDP", "udp")];
            let protocol = end.iter().find(|(end, _)| line.ends_with(end)).map(|(_, name)| *name);
            self.seen.protocol = protocol;
            return protocol.is_some();
        }
        line.starts_with("test was performed using the following parameters")
            || line.starts_with("packet, txTime")
            || (self.begun && (is_packet || line.chars().all(|c| c == '-')))
            || line == "------------------------------"
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(&mut self.seen).add_to(found);
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// Mean of half or whole round trips, in microseconds.
    mean: Option<f64>,
    twice: Option<Contradiction>,
    deviation: Option<f64>,
    points: Vec<(f64, f64)>,
    n: u64,
    protocol: Option<&'static str>,
    message: Option<f64>,
    lost: f64,
    /// True with `--full-rtt`: the whole round trip.
    whole: bool,
    /// Messages sent per second in the throughput test.
    messages: Option<f64>,
    octets: Option<f64>,
}

impl Seen {
    /// Reads a line; true if sockperf prints it.
    fn take(&mut self, line: &str) -> bool {
        self.message = behind(line, "message size is").or(self.message);
        self.deviation = behind(line, "(std-dev=").or(self.deviation);
        let of = |shape: &str| numbers(shape, line).map(|own| own[0]);
        let half = ["sockperf: Summary: Latency is # usec", "sockperf: ====> avg-latency=#~"];
        let whole = ["sockperf: Summary: Round trip is # usec", "sockperf: ====> avg-rtt=#~"];
        if let Some(mean) = half.into_iter().find_map(of) {
            self.mean(mean);
        } else if let Some(mean) = whole.into_iter().find_map(of) {
            self.mean(mean);
            self.whole = true;
        } else if let Some(rate) = of("sockperf: Summary: Message Rate is #~") {
            self.messages = Some(rate);
        } else if let Some(mega) = of("sockperf: Summary: BandWidth is #~") {
            self.octets = Some(mega * 1024.0 * 1024.0);
        } else if let Some(octets) = of("sockperf: NOTE: * msg-size=#~") {
            self.message = Some(octets);
        } else if let Some(count) = of("sockperf: Total # observations~") {
            self.n = count.max(0.0) as u64;
        } else if let Some(value) = of("sockperf: ---> <MAX> observation = #") {
            self.points.push((1.0, value));
        } else if let Some(value) = of("sockperf: ---> <MIN> observation = #") {
            self.points.push((0.0, value));
        } else if let Some(own) = numbers("sockperf: ---> percentile # = #", line) {
            self.points.push((share(own[0]), own[1]));
        } else if let Some(lost) = behind(line, "# dropped messages =") {
            self.lost = lost;
        } else {
            return is_around("sockperf", line);
        }
        true
    }

    /// Takes a mean, which is printed twice.
    fn mean(&mut self, mean: f64) {
        let before = self.mean.replace(mean).unwrap_or(mean);
        let [said, counted] = [mean, before].map(|us| Printed { value: us * 1e3, step: 2.0 });
        let twice = Contradiction::unless_same("latency-of-parts", said, counted);
        self.twice = self.twice.or(twice);
    }

    fn add_to(self, found: &mut Found) {
        let message = self.message.filter(|octets| *octets >= 0.0).map(|octets| octets as u64);
        let row = Row::new("sockperf").with_known(Key::Protocol, self.protocol);
        let row = row.with_known(Key::Message, message);
        if let (Some(messages), Some(octets)) = (self.messages, self.octets) {
            let counted = self.message.map(|size| 8.0 * messages * size);
            let counted = counted.map(|bits| Printed::near(bits, 2e-3).plus_step(1e4));
            let row = row.clone().doubting(Caveat::SenderOnly);
            let row = row.unless_same("rate-of-octets", 8.0 * octets, counted);
            found.add(&row, Metric::Sent, Unit::FramesPerSecond, messages);
            found.goodput(&row, 8.0 * octets);
        }
        let Some(mean) = self.mean else { return };
        let row = row
            .samples(self.n)
            .contradicted(self.twice)
            .doubting_if(!self.whole, Caveat::HalfRoundTrip)
            .doubting_if(self.lost > 0.0, Caveat::SomeLost)
            .doubting(Caveat::SoftwareTimestamps);
        let scale = if self.whole { 1e3 } else { 2e3 };
        let points = self.points.into_iter().filter(|(q, _)| (0.0..=1.0).contains(q));
        let points: Vec<(f64, f64)> = points.map(|(q, told)| (q, scale * told)).collect();
        let described = Described::new(&points, Some(scale * mean));
        let deviation = self.deviation.map(|deviation| scale * deviation);
        found.distribution(&row, Metric::Rtt, &described.with(deviation, 0.01 * scale));
    }
}
