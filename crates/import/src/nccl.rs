//! nccl-tests' text: the bus bandwidth of each size.
//!
//! Never takes its *algorithm bandwidth*, which depends on how many take part.

use page::{Key, Metric, Unit};

use crate::found::{Contradiction, Found, Row};
use crate::numbers::{behind, number};
use crate::reader::Reader;

const CONVENTION: &str = "bus-bandwidth";
const GIGABYTES: f64 = 8e9;

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Nccl {
    test: Option<String>,
    /// Whether its heading was seen.
    begun: bool,
}

impl Reader for Nccl {
    fn tool(&self) -> &'static str {
        "nccl-tests"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(rest) = line.strip_prefix('#') {
            return self.comment(rest.trim(), found);
        }
        self.begun && self.size(line, found)
    }

    fn end(&mut self, _found: &mut Found) {
        *self = Self::default();
    }
}

impl Nccl {
    fn comment(&mut self, rest: &str, found: &mut Found) -> bool {
        const STARTS: [&str; 16] = [
            "nccl-tests",
            "Collective test",
            "nThread",
            "Using devices",
            "Rank",
            "Blocking",
            "size",
            "(B)",
            "Out of bounds",
            "Avg bus",
            "out-of-place",
            "in-place",
            "Parallel",
            "NCCL",
            "error",
            "nRanks",
        ];
        if let Some(name) = rest.strip_prefix("Collective test starting: ") {
            self.test = Some(name.trim().to_owned());
        }
        self.begun |= rest.contains("busbw");
        if rest.starts_with("Avg bus bandwidth")
            && let Some(mean) = behind(rest, ":")
        {
            let row = self.row().with(Key::Statistic, "mean");
            found.put(&row, Metric::Goodput, Unit::BitsPerSecond, mean * GIGABYTES);
        }
        let known = STARTS.iter().any(|start| rest.starts_with(start));
        // A line of nothing but the mark stands between nccl-tests' parts.
        known || ((self.begun || self.test.is_some()) && rest.is_empty())
    }

    fn row(&self) -> Row {
        let row = Row::of("nccl-tests").with(Key::RateConvention, CONVENTION);
        row.with_known(Key::Test, self.test.clone())
    }

    /// `1048576 262144 float sum -1 58.1 18.0 33.8 0 57.9 18.1 33.9 0`
    fn size(&self, line: &str, found: &mut Found) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(octets) = words.first().and_then(|word| number(word)) else { return false };
        // Time, algorithm's and bus' bandwidth, wrong results: out of place, then in place.
        let Some(at) = words.len().checked_sub(8).filter(|at| *at >= 4) else { return false };
        for (name, four) in [("out-of-place", &words[at..at + 4]), ("in-place", &words[at + 4..])] {
            let Some(bus) = number(four[2]) else { return false };
            let wrong = number(four[3]).filter(|wrong| *wrong > 0.0);
            let row = self.row().with(Key::Message, octets.max(0.0) as u64);
            let row = row.with(Key::Pattern, name);
            let code = "wrong-results";
            let wrong = wrong.map(|counted| Contradiction { code, said: 0.0, counted });
            let row = row.contradicted(wrong);
            found.put(&row, Metric::Goodput, Unit::BitsPerSecond, bus * GIGABYTES);
        }
        true
    }
}
