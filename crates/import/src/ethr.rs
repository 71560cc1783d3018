//! ethr's text: bits and packets per second of its client, and its tables of latency.
//!
//! Never combines percentiles of several seconds. ethr prints two digits of a rate.

use page::{Caveat, Key, Metric, Unit};

use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{scaled, time};
use crate::reader::Reader;
use crate::series::Series;
use crate::shapes::{Sheet, Values};

/// Columns of a second's table of latency, after `Avg`.
const POINTS: [f64; 8] = [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

/// Reader of ethr's text.
#[derive(Debug, Default)]
pub(crate) struct Ethr {
    /// `duration` of the whole run, and the round trips `asked` for in each table.
    sheet: Sheet,
    protocol: Option<&'static str>,
    /// Rates per interval and their seconds: of the only stream, and of the sums.
    rates: [(Series, f64); 2],
    packets: Series,
    /// Seconds of all intervals.
    seconds: f64,
}

impl Reader for Ethr {
    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        let is_servers = line.starts_with('[') && self.sheet.has("server");
        is_servers
            || self.interval(line)
            || self.delay(line, found)
            || self.sheet.take("ethr", line)
    }

    fn end(&mut self, found: &mut Found) {
        // A server's table has clients side by side, and no sum.
        if self.sheet.has("server") {
            return;
        }
        let row = self.row();
        let duration = self.sheet.number("duration");
        let (rates, lasted) = &self.rates[usize::from(!self.rates[1].0.is_empty())];
        if let Some(bits) = rates.mean() {
            let lacks = *lasted < self.seconds.max(duration.unwrap_or(0.0));
            let row = row.clone().samples(rates.count).doubting(Caveat::SenderOnly);
            let row = row.doubting_if(lacks, Caveat::UnreadLines);
            let row = row.doubting_if(duration.is_none(), Caveat::CutOff);
            found.goodput(&row, bits);
            if let Some(packets) = self.packets.mean() {
                found.add(&row, Metric::Sent, Unit::FramesPerSecond, packets);
            }
        }
        if let Some((sent, received)) = self.sheet.number("sent").zip(self.sheet.number("received"))
        {
            let lost = self.sheet.number("lost");
            found.loss(&row.unless_same("lost-of-counts", lost, sent - received), sent, received);
        }
    }
}

impl Ethr {
    /// Reads `[  SUM]     TCP      000-001 sec      7.1G`, `  UDP      000-001 sec    488.3K
    /// 61K`.
    fn interval(&mut self, line: &str) -> bool {
        let Some(values) = Values::read("ethr.interval", line) else { return false };
        let rate = |name| Some(scaled(values.text(name)?, 1000.0)?.value);
        let known = ["UDP", "TCP"].into_iter().find(|known| values.text("protocol") == Some(known));
        let time = values.number("from").zip(values.number("to"));
        let (Some(protocol), Some(bits), Some((from, to))) = (known, rate("bits"), time) else {
            return false;
        };
        if self.sheet.text("test") == Some("connections") {
            return true;
        }
        self.protocol = Some(protocol);
        self.seconds = self.seconds.max(to);
        let is_sum = values.text("id").is_none_or(|id| id.trim() == "SUM");
        let has_sum = is_sum || !self.rates[1].0.is_empty();
        let (rates, lasted) = &mut self.rates[usize::from(is_sum)];
        rates.push(bits);
        *lasted += to - from;
        if let Some(packets) = rate("packets").filter(|_| is_sum || !has_sum) {
            self.packets.push(packets);
        }
        true
    }

    /// Reads `155.448us  22.263us  51.016us …`.
    fn delay(&self, line: &str, found: &mut Found) -> bool {
        let all: Option<Vec<f64>> = line.split_whitespace().map(time).collect();
        let Some([mean, points @ ..]) = all.and_then(|all| <[f64; 9]>::try_from(all).ok()) else {
            return false;
        };
        let row = self.row().on_line(found.at).doubting(Caveat::SoftwareTimestamps);
        let points: Vec<(f64, f64)> = POINTS.into_iter().zip(points.to_vec()).collect();
        let described = Described::new(&points, Some(mean));
        let n = self.sheet.number("received").or(self.sheet.number("asked")).unwrap_or(0.0) as u64;
        found.distribution(&row, Metric::Rtt, &described.of_samples(Some(n)));
        true
    }

    fn row(&self) -> Row {
        let protocol = self.protocol.or(self.sheet.text("protocol")).unwrap_or("TCP");
        Row::new("ethr")
            .with(Key::Protocol, protocol.to_ascii_lowercase())
            .with_known(Key::Test, self.sheet.text("test"))
    }
}
