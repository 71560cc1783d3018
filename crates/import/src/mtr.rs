//! mtr's report, its CSV and its XML: the last station of the path.
//!
//! Never reports the stations before it: the number of echoes they answer is their own limit, and
//! not a property of the path through them.

use std::collections::BTreeMap;

use page::{Caveat, Key, Metric, Unit};
use serde_json::Value;

use crate::ImportError;
use crate::found::{Found, Row};
use crate::numbers::{begins, between, leading, number};
use crate::reader::Reader;
use crate::shapes::is_around;

const MS: f64 = 1e6;

/// Reader of mtr's output.
#[derive(Debug, Default)]
pub(crate) struct Mtr {
    last: Option<Station>,
    /// Station inside XML.
    xml: Option<Station>,
    /// Columns of a report, as its heading names them.
    columns: Vec<String>,
    /// Destination of the path; `None` if not printed.
    to: Option<String>,
    payload: Option<f64>,
}

/// Last router or host so far.
#[derive(Debug, Clone)]
struct Station {
    name: String,
    /// Numbers by the name of their column.
    numbers: BTreeMap<String, f64>,
    /// Step of the printed times, in milliseconds.
    step: f64,
}

impl Station {
    fn new(name: &str, step: f64) -> Self {
        Self { name: name.to_owned(), numbers: BTreeMap::new(), step }
    }

    /// Sets one of its numbers; `Loss%` is `Loss` in XML.
    fn set(&mut self, column: &str, value: f64) {
        self.numbers.insert(column.trim_end_matches('%').to_owned(), value);
    }
}

impl Reader for Mtr {
    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if is_around("mtr.begin", line) {
            let words = line.split_whitespace().skip(2).map(str::to_owned);
            self.columns = words.filter(|_| line.starts_with("HOST:")).collect();
            let xml = |name: &str| between(line, name, "\"").filter(|_| line.starts_with("<MTR "));
            self.payload = xml("PSIZE=\"").and_then(number);
            self.to = xml("DST=\"").map(str::to_owned);
            return true;
        }
        if begins(&["Start: ", "<?xml"], line) || line == "</MTR>" {
            return true;
        }
        if let Some(station) = self.of_report(line).or_else(|| self.of_csv(line)) {
            self.last = Some(station);
            return true;
        }
        // Further addresses of one station, and load balancers' labels.
        (!self.columns.is_empty() && line.starts_with('|')) || self.of_xml(line)
    }

    fn end(&mut self, found: &mut Found) {
        if let Some(station) = self.last.take() {
            station.add_to(self.payload, self.to.as_deref(), found);
        }
    }
}

impl Mtr {
    /// Parses `  1.|-- 10.0.0.1   0.0%    10    0.1   0.1   0.1   0.1   0.0`, and `100.0` of a
    /// silent one.
    fn of_report(&self, line: &str) -> Option<Station> {
        let (_, rest) = line.split_once(".|--")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let at = words.len().checked_sub(self.columns.len()).filter(|at| *at > 0)?;
        let mut station = Station::new(&words[..at].join(" "), 0.1);
        for (column, word) in self.columns.iter().zip(&words[at..]) {
            station.set(column, number(word.trim_end_matches('%'))?);
        }
        Some(station)
    }

    /// Parses `MTR.0.95,1795528080,OK,10.0.0.1,1,10.0.0.1,0.00,2,0,0.05,0.05,0.04,0.05,0.00`.
    fn of_csv(&mut self, line: &str) -> Option<Station> {
        let rest = line.strip_prefix("MTR.")?;
        let fields: Vec<&str> = rest.split(',').collect();
        let mut station = Station::new(fields.get(5)?, 0.01);
        for (column, at) in [("Loss", 6), ("Snt", 7), ("Avg", 10), ("Best", 11), ("Wrst", 12)] {
            station.set(column, number(fields.get(at)?.trim_end_matches('%'))?);
        }
        self.to = Some(fields[3].to_owned());
        Some(station)
    }

    fn of_xml(&mut self, line: &str) -> bool {
        if line.starts_with("<HUB ") {
            let name = between(line, "HOST=\"", "\"").unwrap_or_default();
            self.xml = Some(Station::new(name, 0.1));
            return true;
        }
        let Some(station) = &mut self.xml else { return false };
        if line == "</HUB>" {
            self.last = self.xml.take();
            return true;
        }
        let read = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let read = read.and_then(|(name, rest)| Some((name, leading(rest)?.0)));
        if let Some((name, value)) = read {
            station.set(name, value);
        }
        read.is_some()
    }
}

impl Station {
    fn add_to(&self, payload: Option<f64>, to: Option<&str>, found: &mut Found) {
        // mtr's size is that of the IP packet.
        // A report names its own host, and not its destination.
        let is_there = to.is_some_and(|to| self.name.contains(to));
        let row = Row::new("mtr")
            .with(Key::To, self.name.clone())
            .with_frame(payload.filter(|octets| *octets >= 28.0), 18)
            .doubting_if(!is_there, Caveat::DestinationUnknown)
            .doubting(Caveat::SoftwareTimestamps);
        let of = |column: &str| self.numbers.get(column).copied().unwrap_or(f64::NAN);
        let (lost, sent) = (of("Loss") / 100.0, of("Snt"));
        if !(sent > 0.0 && (0.0..=1.0).contains(&lost)) {
            return;
        }
        let times = ["Best", "Avg", "Wrst"].map(|column| of(column) * MS);
        if lost < 1.0 && times.iter().all(|ns| ns.is_finite()) {
            let answered = (sent * (1.0 - lost)).round() as u64;
            let row = row.clone().samples(answered);
            found.coarse(&row, Metric::Rtt, times, self.step * MS);
        }
        found.add(&row.samples(sent as u64), Metric::LossRatio, Unit::Ratio, lost);
    }
}

/// Reads the last station of `--json`.
pub(crate) fn of_json(value: &Value, found: &mut Found) -> Result<(), ImportError> {
    let report = &value["report"];
    let last = report["hubs"].as_array().and_then(|hubs| hubs.last());
    let hub = last.ok_or(ImportError::missing("mtr", "station that answered"))?;
    let mut station = Station::new(hub["host"].as_str().unwrap_or("?"), 0.001);
    for column in ["Loss%", "Snt", "Avg", "Best", "Wrst"] {
        let number = hub[column].as_f64();
        station
            .set(column, number.ok_or(ImportError::missing("mtr", "numbers of its last station"))?);
    }
    let octets = report["mtr"]["psize"].as_str().and_then(number);
    station.add_to(octets, report["mtr"]["dst"].as_str(), found);
    Ok(())
}
