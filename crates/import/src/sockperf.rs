//! sockperf's text, of ping-pong, under load and of throughput.
//!
//! Owns the doubling: its latency is half the round trip, unless the whole was requested. Never
//! takes sent for received data.

use page::{Caveat, Key, Metric, Unit};

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, number, share};
use crate::reader::Reader;
use crate::shapes::Sheet;

/// Reader of sockperf's text: `mean` and `deviation` of half or, if `whole`, of whole round trips,
/// in microseconds; `messages` sent per second, and `mega` octets.
#[derive(Debug, Default)]
pub(crate) struct Sockperf {
    sheet: Sheet,
    begun: bool,
}

impl Reader for Sockperf {
    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        self.begun |= begins(&["sockperf: ", "sockperf["], line);
        // `--full-log`: each packet's times; the summary above them has their points.
        let is_packet = || line.splitn(5, ',').filter(|field| number(field).is_some()).count() == 4;
        let is_rule = || line.chars().all(|c| c == '-');
        self.sheet.take("sockperf", line) || (self.begun && (is_packet() || is_rule()))
    }

    fn end(&mut self, found: &mut Found) {
        let sheet = &self.sheet;
        let row = Row::new("sockperf")
            .with_known(Key::Protocol, sheet.text("protocol"))
            .with_known(Key::Message, sheet.count("message"));
        if let (Some(messages), Some(mega)) = (sheet.number("messages"), sheet.number("mega")) {
            let bits = 8.0 * mega * 1024.0 * 1024.0;
            let counted = sheet.number("message").map(|size| 8.0 * messages * size);
            let counted = counted.map(|bits| Printed::near(bits, 2e-3).plus_step(1e4));
            let row = row.clone().doubting(Caveat::SenderOnly);
            let row = row.unless_same("rate-of-octets", bits, counted);
            found.add(&row, Metric::Sent, Unit::FramesPerSecond, messages);
            found.goodput(&row, bits);
        }
        let Some(mean) = sheet.number("mean") else { return };
        // The mean is printed twice.
        let means: Vec<f64> = sheet.numbers("mean").collect();
        let twice = means.windows(2).find_map(|two| {
            let [counted, said] = [two[0], two[1]].map(|us| Printed { value: us * 1e3, step: 2.0 });
            Contradiction::unless_same("latency-of-parts", said, counted)
        });
        let is_whole = sheet.has("whole");
        let row = row
            .samples(sheet.count("count").unwrap_or(0))
            .contradicted(twice)
            .doubting_if(!is_whole, Caveat::HalfRoundTrip)
            .doubting_if(sheet.number("dropped") > Some(0.0), Caveat::SomeLost)
            .doubting(Caveat::SoftwareTimestamps);
        let scale = if is_whole { 1e3 } else { 2e3 };
        let points = sheet.numbers("percent").map(share).zip(sheet.numbers("value"));
        let points = points.filter(|(q, _)| (0.0..=1.0).contains(q));
        let points: Vec<(f64, f64)> = points.map(|(q, told)| (q, scale * told)).collect();
        let deviation = sheet.number("deviation").map(|deviation| scale * deviation);
        let described = Described::new(&points, Some(scale * mean)).with(deviation, 0.01 * scale);
        found.distribution(&row, Metric::Rtt, &described);
    }
}
