//! Prometheus' text format 0.0.4: families of samples, and how figures become some.
//!
//! Owns names, base units (seconds, bytes, ratios) and quoting, for `export` and for `/metrics`
//! alike, so that one figure is one series wherever it is had. Never asks anybody for a number.

mod buckets;
pub mod names;
mod watch;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use measure::Histogram;
use page::{Figure, Key, Role};
use trial::RoundTrips;

use crate::RunLabels;

pub use watch::{WatchChange, WatchGap, WatchSeries, WatchTrials, path_label, watch};

/// Prometheus metric type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Value that only grows, from the start of a process.
    Counter,
    /// Value that may rise and fall.
    Gauge,
    /// Buckets with a count and a sum.
    Histogram,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    name: Cow<'static, str>,
    kind: Kind,
    help: Cow<'static, str>,
    /// Label names that every sample carries.
    labels: &'static [&'static str],
    lines: Vec<String>,
}

/// Names and values, in the order that they are written.
type Labels = Vec<(String, String)>;

const NS_PER_S: f64 = 1e9;

impl Family {
    /// Creates a family without samples; this program's own families are in [`names`].
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::with_labels(name.into(), kind, help.into(), &[])
    }

    const fn with_labels(
        name: Cow<'static, str>,
        kind: Kind,
        help: Cow<'static, str>,
        labels: &'static [&'static str],
    ) -> Self {
        Self { name, kind, help, labels, lines: Vec::new() }
    }

    /// Creates a family with one sample and no labels.
    pub fn one(name: &'static str, kind: Kind, help: &'static str, value: f64) -> Self {
        let mut family = Self::new(name, kind, help);
        family.sample(std::iter::empty::<(String, String)>(), value);
        family
    }

    /// Creates an info family: one sample of value 1 with labels alone, as `switchmark_build_info`.
    pub fn info(name: &'static str, help: &'static str, labels: &[(&str, &str)]) -> Self {
        let mut family = Self::new(name, Kind::Gauge, help);
        family.sample(labels.iter().map(|(name, value)| (*name, (*value).to_owned())), 1.0);
        family
    }

    /// Adds a sample; of samples with equal labels and value, one is kept.
    pub fn sample<N: Into<String>>(
        &mut self,
        labels: impl IntoIterator<Item = (N, String)>,
        value: f64,
    ) {
        let labels: Labels = labels.into_iter().map(|(name, of)| (name.into(), of)).collect();
        let line = self.line("", &labels, value);
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Adds a sample by the values of the family's own labels.
    pub fn add(&mut self, values: &[&str], value: f64) {
        let labels = self.labelled(values);
        self.sample(labels, value);
    }

    /// A distribution of durations, in seconds; empty ones are left out.
    pub fn distribution(&mut self, values: &[&str], of: &Histogram) {
        if of.is_empty() {
            return;
        }
        let labels = self.labelled(values);
        let mut buckets = of.buckets().peekable();
        let mut below = 0;
        let with = |bound: &str| {
            let bound = ("le".to_owned(), bound.to_owned());
            labels.iter().cloned().chain([bound]).collect::<Labels>()
        };
        for bound in buckets::BOUNDS.iter() {
            // In whole nanoseconds, as they were counted: 1e-6 s is not quite 1,000 ns.
            let ns = (bound.seconds * NS_PER_S * 1e3).round() / 1e3;
            while let Some((_, count)) = buckets.next_if(|(highest, _)| highest.0 as f64 <= ns) {
                below += count;
            }
            self.lines.push(self.line("_bucket", &with(&bound.le), below as f64));
        }
        self.lines.push(self.line("_bucket", &with("+Inf"), of.count() as f64));
        let sum = of.mean() * of.count() as f64 / NS_PER_S;
        self.lines.push(self.line("_sum", &labels, sum));
        self.lines.push(self.line("_count", &labels, of.count() as f64));
    }

    fn labelled(&self, values: &[&str]) -> Labels {
        debug_assert_eq!(self.labels.len(), values.len(), "{}", self.name);
        let pairs = self.labels.iter().zip(values);
        pairs.map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect()
    }

    fn line(&self, suffix: &str, labels: &[(String, String)], value: f64) -> String {
        let pairs = labels.iter().map(|(name, of)| format!("{name}=\"{}\"", quoted(of)));
        let labels = pairs.collect::<Vec<_>>().join(",");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        format!("{}{suffix}{labels} {value}", self.name)
    }
}

/// Formats all families as one text, by name; families of one name become one.
pub fn render(families: &[Family]) -> String {
    let mut by_name: BTreeMap<&str, Vec<&Family>> = BTreeMap::new();
    for family in families.iter().filter(|family| !family.lines.is_empty()) {
        by_name.entry(&family.name).or_default().push(family);
    }
    let mut out = String::new();
    for (name, all) in by_name {
        let help = all[0].help.replace('\\', "\\\\").replace('\n', " ");
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {}", all[0].kind.as_str());
        for line in all.iter().flat_map(|family| &family.lines) {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// True if the key separates series. A key that only explains a value would start a new series per
/// run.
pub fn tells_apart(key: &Key) -> bool {
    key.role() != Role::Explains || *key == Key::Study
}

/// A run's figures: a gauge for each metric and unit, with the conditions as labels.
pub fn figures(run: RunLabels<'_>, figures: &[Figure]) -> Vec<Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for figure in figures {
        let Some(value) = figure.value else { continue };
        let (named, divisor) = names::figure(figure.metric, figure.unit);
        let of_all = [run.id, run.verb, run.testbed, figure.verdict.as_str()];
        let family = families.entry(named.name.to_string()).or_insert_with(|| named.family());
        let mut labels = family.labelled(&of_all);
        // A gauge may have no label `quantile`: that is a summary's.
        labels.extend(figure.quantile.map(|q| ("percentile".to_owned(), percentile(q))));
        for (condition, said) in figure.conditions.iter().filter(|(key, _)| tells_apart(key)) {
            let word = word(condition.as_str());
            let taken = word == "quantile" || labels.iter().any(|(own, _)| *own == word);
            let word = if taken { format!("where_{word}") } else { word };
            labels.push((word, said.to_string()));
        }
        family.sample(labels, value / divisor);
    }
    families.into_values().collect()
}

/// A run's round trips as a family.
pub fn round_trips(run: RunLabels<'_>, all: &RoundTrips) -> Family {
    let mut family = names::ROUND_TRIP.family();
    for (label, path, histogram) in all.labelled_histograms() {
        family.distribution(&[run.id, run.testbed, &label, path], histogram);
    }
    family
}

/// A run itself, with the version that measured it.
pub fn run_info(run: RunLabels<'_>) -> Family {
    names::RUN_INFO.info(&[run.id, run.verb, run.testbed, run.version])
}

/// `99.9` of 0.999.
fn percentile(quantile: f64) -> String {
    let text = format!("{:.6}", quantile * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A name of letters, digits and underscores that begins with no digit.
fn word(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let word: String = text.chars().map(letter).collect();
    if word.starts_with(|c: char| c.is_ascii_digit()) { format!("_{word}") } else { word }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    mod monitoring;

    use measure::Nanos;

    use super::*;

    #[test]
    fn words_are_plain_and_percentiles_short() {
        for (quantile, expect) in [(0.0, "0"), (0.5, "50"), (0.999, "99.9"), (1.0, "100")] {
            assert_eq!(percentile(quantile), expect);
        }
        assert_eq!(word("10g rate/s"), "_10g_rate_s");
    }

    #[test]
    fn a_distribution_has_cumulative_buckets_a_sum_and_a_count() {
        let mut histogram = Histogram::new();
        for ns in [900, 1_000, 1_500, 30_000, 20_000_000_000] {
            histogram.record(Nanos(ns));
        }
        let mut family = names::WATCH_RTT.family();
        family.distribution(&["r\"1", "a", "b", "device"], &histogram);
        let text = render(&[family]);
        let own = r#"testbed="r\"1",from="a",to="b",path="device""#;
        let name = "switchmark_watch_rtt_seconds";
        for line in [
            format!("# TYPE {name} histogram"),
            format!("{name}_bucket{{{own},le=\"0.000001\"}} 2"),
            format!("{name}_bucket{{{own},le=\"0.000002\"}} 3"),
            format!("{name}_bucket{{{own},le=\"0.00005\"}} 4"),
            format!("{name}_bucket{{{own},le=\"+Inf\"}} 5"),
            format!("{name}_count{{{own}}} 5"),
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
    }
}
