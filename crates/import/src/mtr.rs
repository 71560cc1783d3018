//! mtr's report, its CSV and its XML: the last station of the path.
//!
//! Never tells of the stations before it: how many echoes they answer is their own limit, and no
//! property of the path through them.

use page::{Caveat, Key, Metric, Unit};
use serde_json::Value;

use crate::found::{Found, Row};
use crate::numbers::{between, leading, number};
use crate::problem::Problem;
use crate::reader::Reader;

const MS: f64 = 1e6;

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Mtr {
    last: Option<Station>,
    /// Inside XML.
    xml: Option<Station>,
    report: bool,
    payload: Option<f64>,
}

/// The last router or host so far.
#[derive(Debug, Clone, Default)]
struct Station {
    name: String,
    lost_percent: f64,
    sent: f64,
    mean: f64,
    best: f64,
    worst: f64,
    /// Milliseconds are printed in steps of so many.
    step: f64,
}

impl Reader for Mtr {
    fn tool(&self) -> &'static str {
        "mtr"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if line.starts_with("HOST:")
            || line.starts_with("Mtr_Version,")
            || line.starts_with("<MTR ")
        {
            self.end(found);
            self.report = line.starts_with("HOST:");
            let xml = line.starts_with("<MTR ");
            self.payload = between(line, "PSIZE=\"", "\"").filter(|_| xml).and_then(number);
            return true;
        }
        if line.starts_with("Start: ") || line.starts_with("<?xml") || line == "</MTR>" {
            return true;
        }
        if let Some(station) = of_report(line).filter(|_| self.report).or_else(|| of_csv(line)) {
            self.last = Some(station);
            return true;
        }
        // Further addresses of one station, and load balancers' labels.
        (self.report && line.starts_with('|')) || self.of_xml(line)
    }

    fn end(&mut self, found: &mut Found) {
        if let Some(station) = self.last.take() {
            station.put(self.payload, found);
        }
        *self = Self::default();
    }
}

/// `  1.|-- 10.0.0.1   0.0%    10    0.1   0.1   0.1   0.1   0.0`
fn of_report(line: &str) -> Option<Station> {
    let (_, rest) = line.split_once(".|--")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let at = words.iter().rposition(|word| word.ends_with('%'))?;
    let numbers: Option<Vec<f64>> = words[at + 1..].iter().map(|word| number(word)).collect();
    let [sent, _, mean, best, worst, ..] = numbers?[..] else { return None };
    let lost_percent = number(words[at].trim_end_matches('%'))?;
    let name = words[..at].join(" ");
    Some(Station { name, lost_percent, sent, mean, best, worst, step: 0.1 })
}

/// `MTR.0.95,1795528080,OK,10.0.0.1,1,10.0.0.1,0.00,2,0,0.05,0.05,0.04,0.05,0.00`
fn of_csv(line: &str) -> Option<Station> {
    let rest = line.strip_prefix("MTR.")?;
    let fields: Vec<&str> = rest.split(',').collect();
    let at = |at: usize| fields.get(at).and_then(|field| number(field.trim_end_matches('%')));
    Some(Station {
        name: (*fields.get(5)?).to_owned(),
        lost_percent: at(6)?,
        sent: at(7)?,
        mean: at(10)?,
        best: at(11)?,
        worst: at(12)?,
        step: 0.01,
    })
}

impl Mtr {
    fn of_xml(&mut self, line: &str) -> bool {
        if line.starts_with("<HUB ") {
            let name = between(line, "HOST=\"", "\"").unwrap_or_default().to_owned();
            self.xml = Some(Station { name, step: 0.1, ..Station::default() });
            return true;
        }
        let Some(station) = &mut self.xml else { return false };
        if line == "</HUB>" {
            self.last = self.xml.take();
            return true;
        }
        let Some((name, rest)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        else {
            return false;
        };
        let Some((value, _)) = leading(rest) else { return false };
        match name {
            "Loss" => station.lost_percent = value,
            "Snt" => station.sent = value,
            "Avg" => station.mean = value,
            "Best" => station.best = value,
            "Wrst" => station.worst = value,
            _ => {}
        }
        true
    }
}

impl Station {
    fn put(&self, payload: Option<f64>, found: &mut Found) {
        // mtr's size is that of the IP packet.
        let octets = payload.filter(|octets| (28.0..=9_000.0).contains(octets));
        let row = Row::of("mtr")
            .with(Key::To, self.name.clone())
            .with_known(Key::FrameSize, octets.map(|octets| (octets as u64 + 18).max(64)))
            .doubting(Caveat::SoftwareTimestamps);
        let lost = self.lost_percent / 100.0;
        if self.sent <= 0.0 || !(0.0..=1.0).contains(&lost) {
            return;
        }
        if lost < 1.0 {
            let answered = (self.sent * (1.0 - lost)).round() as u64;
            let row = row.clone().samples(answered);
            let times = [self.best, self.mean, self.worst].map(|ms| ms * MS);
            found.coarse(&row, Metric::Rtt, times, self.step * MS);
        }
        found.put(&row.samples(self.sent as u64), Metric::LossRatio, Unit::Ratio, lost);
    }
}

/// `--json`: its last station.
pub(crate) fn of_json(value: &Value, found: &mut Found) -> Result<(), Problem> {
    let report = &value["report"];
    let last = report["hubs"].as_array().and_then(|hubs| hubs.last());
    let hub = last.ok_or(Problem::Missing("mtr", "station that answered"))?;
    let number = |name: &str| hub[name].as_f64();
    let all = [number("Loss%"), number("Snt"), number("Avg"), number("Best"), number("Wrst")];
    let [Some(lost_percent), Some(sent), Some(mean), Some(best), Some(worst)] = all else {
        return Err(Problem::Missing("mtr", "numbers of its last station"));
    };
    let name = hub["host"].as_str().unwrap_or("?").to_owned();
    let station = Station { name, lost_percent, sent, mean, best, worst, step: 0.001 };
    let octets = report["mtr"]["psize"].as_str().and_then(crate::numbers::number);
    station.put(octets, found);
    Ok(())
}
