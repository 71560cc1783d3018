//! nccl-tests' text: the bus bandwidth of each size.
//!
//! Never reports its *algorithm bandwidth*, which depends on the number of participants.

use page::{Key, Metric, Unit};

use crate::contradiction::Contradiction;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, behind, number, printed};
use crate::reader::Reader;
use crate::series::Series;
use crate::shapes::is_around;

const CONVENTION: &str = "bus-bandwidth";
const GIGABYTES: f64 = 8e9;

/// Reader of nccl-tests' text.
#[derive(Debug, Default)]
pub(crate) struct Nccl {
    test: Option<String>,
    /// True if one of its lines was seen.
    open: bool,
    /// Number of columns, once its heading was seen.
    begun: bool,
    columns: usize,
    /// Bus bandwidths of all rows.
    all: Series,
}

impl Reader for Nccl {
    fn begins(&self, line: &str) -> bool {
        self.begun && begins(&["# nccl-tests", "# nThread"], line)
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(rest) = line.strip_prefix('#') {
            return self.comment(rest.trim(), found);
        }
        self.begun && self.size(line, found)
    }
}

impl Nccl {
    fn comment(&mut self, rest: &str, found: &mut Found) -> bool {
        if let Some(name) = rest.strip_prefix("Collective test starting: ") {
            self.test = Some(name.trim().to_owned());
        }
        if rest.contains("busbw") {
            self.begun = true;
            self.columns = rest.split_whitespace().count();
        }
        if rest.starts_with("Avg bus bandwidth")
            && let Some(mean) = behind(rest, ":")
        {
            let counted = self.all.mean().map(|mean| Printed::near(mean * GIGABYTES, 0.02));
            let row = self.row().with(Key::Statistic, "mean").on_line(found.at);
            let row = row.unless_same("mean-of-rows", mean * GIGABYTES, counted);
            found.add(&row, Metric::Goodput, Unit::BitsPerSecond, mean * GIGABYTES);
        }
        let known = is_around("nccl-tests", rest);
        self.open |= known;
        // A line with only the mark separates nccl-tests' parts.
        known || (self.open && rest.is_empty())
    }

    fn row(&self) -> Row {
        let row = Row::new("nccl-tests").with(Key::RateConvention, CONVENTION);
        row.with_known(Key::Test, self.test.clone())
    }

    /// Reads `1048576 262144 float sum -1 58.1 18.0 33.8 0 57.9 18.1 33.9 0`.
    fn size(&mut self, line: &str, found: &mut Found) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(octets) = words.first().and_then(|word| number(word)) else { return false };
        if words.len() != self.columns {
            return false;
        }
        // Time, algorithm and bus bandwidth, wrong results: out of place, then in place.
        let Some(at) = words.len().checked_sub(8).filter(|at| *at >= 4) else { return false };
        let ratio = |from: usize| {
            let (algorithm, bus) = (printed(words[from + 1])?, printed(words[from + 2])?);
            let value = bus.value / algorithm.value;
            let step = bus.step / bus.value + algorithm.step / algorithm.value;
            (algorithm.value > 0.0).then_some(Printed { value, step: value * step })
        };
        for (name, four) in [("out-of-place", &words[at..at + 4]), ("in-place", &words[at + 4..])] {
            let Some(bus) = number(four[2]) else { return false };
            self.all.push(bus);
            let wrong = number(four[3]).filter(|wrong| *wrong > 0.0);
            let row = self.row().with(Key::Message, octets.max(0.0) as u64).on_line(found.at);
            let row = row.with(Key::Pattern, name);
            let code = "wrong-results";
            let wrong = wrong.map(|counted| Contradiction { code, said: 0.0, counted });
            let row = row.contradicted(wrong);
            let row = row.contradicted(rate(octets, four));
            // Both ways the bus carries the same multiple.
            let row = row.unless_same("bus-of-algorithm", ratio(at), ratio(at + 4));
            // A printed zero is less than the last digit.
            let bound = (bus <= 0.0).then_some(page::AT_MOST);
            let bus = if bus <= 0.0 { 0.01 } else { bus };
            let row = row.with_known(Key::Bound, bound);
            found.add(&row, Metric::Goodput, Unit::BitsPerSecond, bus * GIGABYTES);
        }
        true
    }
}

/// Contradiction if the algorithm bandwidth is not the octets over the time.
fn rate(octets: f64, four: &[&str]) -> Option<Contradiction> {
    let (time, said) = (printed(four[0])?, printed(four[1])?);
    let counted = octets / time.value.max(time.step) / 1e3;
    let counted = Printed { value: counted, step: counted * (0.01 + time.step / time.value) };
    Contradiction::unless_same("rate-of-octets", said.times(GIGABYTES), counted.times(GIGABYTES))
}
