//! Prometheus' text format 0.0.4: families of samples, and how figures become some.
//!
//! Owns names, base units (seconds, bytes, ratios) and quoting, for `export` and for `/metrics`
//! alike, so that one figure is one series wherever it is had. Never asks anybody for a number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use measure::{Histogram, Nanos};
use page::{Figure, Metric, Unit};
use trial::record::FlowRecord;
use trial::{Trial, TrialRecord};

use crate::run::RunMeta;

/// What Prometheus takes it for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only ever grows, from the start of a process.
    Counter,
    /// May do anything.
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
    name: String,
    kind: Kind,
    help: String,
    lines: Vec<String>,
}

/// Names and values, in the order that they are written.
type Labels = Vec<(String, String)>;

const NS_PER_S: f64 = 1e9;

/// The bounds of a histogram's buckets in nanoseconds: three a decade, from 1 µs to 10 s.
const BOUNDS: [u64; 22] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

impl Family {
    /// Without samples yet.
    pub fn new(name: impl Into<String>, kind: Kind, help: impl Into<String>) -> Self {
        Self { name: name.into(), kind, help: help.into(), lines: Vec::new() }
    }

    /// With one sample, which has no labels.
    pub fn one(name: &str, kind: Kind, help: &str, value: f64) -> Self {
        let mut family = Self::new(name, kind, help);
        family.sample(std::iter::empty::<(String, String)>(), value);
        family
    }

    /// What there is of something, by its labels alone: `switchmark_build_info`.
    pub fn info(name: &str, help: &str, labels: &[(&str, &str)]) -> Self {
        let mut family = Self::new(name, Kind::Gauge, help);
        family.sample(labels.iter().map(|(name, value)| (*name, (*value).to_owned())), 1.0);
        family
    }

    /// One more; of samples with the same labels and the same value one is kept.
    pub fn sample<N: Into<String>>(
        &mut self,
        labels: impl IntoIterator<Item = (N, String)>,
        value: f64,
    ) {
        let labels: Labels = labels.into_iter().map(|(name, of)| (name.into(), of)).collect();
        self.line("", &labels, value);
    }

    /// A distribution of durations, in seconds; empty ones are left out.
    pub fn distribution(&mut self, labels: &[(String, String)], of: &Histogram) {
        if of.is_empty() {
            return;
        }
        let mut buckets = of.buckets().peekable();
        let mut below = 0;
        let with = |bound: String| {
            let bound = ("le".to_owned(), bound);
            labels.iter().cloned().chain([bound]).collect::<Labels>()
        };
        for bound in BOUNDS {
            while let Some((_, count)) = buckets.next_if(|(highest, _)| *highest <= Nanos(bound)) {
                below += count;
            }
            self.line("_bucket", &with((bound as f64 / NS_PER_S).to_string()), below as f64);
        }
        self.line("_bucket", &with("+Inf".to_owned()), of.count() as f64);
        self.line("_sum", labels, of.mean() * of.count() as f64 / NS_PER_S);
        self.line("_count", labels, of.count() as f64);
    }

    fn line(&mut self, suffix: &str, labels: &[(String, String)], value: f64) {
        let pairs = labels.iter().map(|(name, of)| format!("{name}=\"{}\"", quoted(of)));
        let labels = pairs.collect::<Vec<_>>().join(",");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let line = format!("{}{suffix}{labels} {value}", self.name);
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }
}

/// All families as one text, by name; those of one name are one.
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

/// A run's figures: a gauge for each metric and unit, with the conditions as labels.
pub fn figures(run: &RunMeta, figures: &[Figure]) -> Vec<Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for figure in figures {
        let Some(value) = figure.value else { continue };
        let (name, divisor) = name(figure.metric, figure.unit);
        let mut labels: Labels = vec![
            ("run".to_owned(), run.id.clone()),
            ("verb".to_owned(), run.verb.clone()),
            ("testbed".to_owned(), run.topology.name.clone()),
            ("verdict".to_owned(), figure.verdict.as_str().to_owned()),
        ];
        // A gauge may have no label `quantile`: that is a summary's.
        labels.extend(figure.quantile.map(|q| ("percentile".to_owned(), percentile(q))));
        for (condition, said) in &figure.conditions {
            let word = word(condition.as_str());
            let taken = word == "quantile" || labels.iter().any(|(own, _)| *own == word);
            let word = if taken { format!("where_{word}") } else { word };
            labels.push((word, said.to_string()));
        }
        let help = figure.metric.meaning();
        families
            .entry(name.clone())
            .or_insert_with(|| Family::new(name, Kind::Gauge, plain(help)))
            .sample(labels, value / divisor);
    }
    families.into_values().collect()
}

/// A run's round trips, merged over the valid trials of each label and path.
pub fn distributions(run: &RunMeta, records: &[(Trial, TrialRecord)]) -> Family {
    let mut merged: BTreeMap<(&str, &str), Histogram> = BTreeMap::new();
    for (trial, record) in records.iter().filter(|(_, record)| record.outcome.is_valid()) {
        for flow in &record.flows {
            if let FlowRecord::Echo(echo) = flow {
                let key = (trial.label.as_str(), trial.path.as_str());
                merged.entry(key).or_insert_with(Histogram::growing).merge(&echo.rtt);
            }
        }
    }
    let help = "Round-trip times of all valid trials of a label, as they were stamped";
    let mut family = Family::new("switchmark_round_trip_seconds", Kind::Histogram, help);
    for ((label, path), histogram) in merged {
        let labels = [
            ("run", run.id.as_str()),
            ("testbed", &run.topology.name),
            ("trial", label),
            ("path", path),
        ];
        let labels: Labels =
            labels.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect();
        family.distribution(&labels, &histogram);
    }
    family
}

/// A run itself, with the version that measured it.
pub fn run_info(run: &RunMeta) -> Family {
    let labels = [
        ("run", run.id.as_str()),
        ("verb", &run.verb),
        ("testbed", &run.topology.name),
        ("version", &run.version),
    ];
    Family::info("switchmark_run_info", "A run, and the version that measured it", &labels)
}

/// `switchmark_rtt_seconds`, and by what a value in the unit is divided: a decimal stays one so.
fn name(metric: Metric, unit: Unit) -> (String, f64) {
    let (suffix, divisor) = match unit {
        Unit::Nanoseconds => ("seconds", NS_PER_S),
        Unit::Bytes => ("bytes", 1.0),
        Unit::BitsPerSecond => ("bytes_per_second", 8.0),
        Unit::FramesPerSecond => ("frames_per_second", 1.0),
        Unit::Ratio => ("ratio", 1.0),
        Unit::OperationsPerSecond => ("operations_per_second", 1.0),
        Unit::Count | Unit::Flag => ("", 1.0),
    };
    let metric = metric.as_str();
    let said = suffix.is_empty() || metric == suffix || metric.ends_with(&format!("_{suffix}"));
    let name =
        if said { format!("switchmark_{metric}") } else { format!("switchmark_{metric}_{suffix}") };
    (name, divisor)
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

/// A meaning without its Markdown: links by their words.
fn plain(markdown: &str) -> String {
    let mut out = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        out += before;
        let (words, behind) = link.split_once(']').unwrap_or((link, ""));
        out += words;
        rest = match behind.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => behind,
        };
    }
    (out + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_base_unit_once() {
        for (metric, unit, expect, divisor) in [
            (Metric::Rtt, Unit::Nanoseconds, "switchmark_rtt_seconds", 1e9),
            (Metric::LossRatio, Unit::Ratio, "switchmark_loss_ratio", 1.0),
            (Metric::Ratio, Unit::Ratio, "switchmark_ratio", 1.0),
            (Metric::Goodput, Unit::BitsPerSecond, "switchmark_goodput_bytes_per_second", 8.0),
            (
                Metric::Throughput,
                Unit::FramesPerSecond,
                "switchmark_throughput_frames_per_second",
                1.0,
            ),
            (Metric::Retransmits, Unit::Count, "switchmark_retransmits", 1.0),
            (Metric::Buffer, Unit::Bytes, "switchmark_buffer_bytes", 1.0),
        ] {
            assert_eq!(name(metric, unit), (expect.to_owned(), divisor));
        }
        for metric in Metric::ALL {
            for unit in metric.units() {
                let (name, _) = name(*metric, *unit);
                assert!(!name.contains("ratio_ratio") && !name.ends_with("_ns"), "{name}");
            }
        }
    }

    #[test]
    fn words_are_plain_and_percentiles_short() {
        assert_eq!(plain("the rate ([goals](x.md#y)); `a`: b [c"), "the rate (goals); a: b c");
        for (quantile, expect) in [(0.0, "0"), (0.5, "50"), (0.999, "99.9"), (1.0, "100")] {
            assert_eq!(percentile(quantile), expect);
        }
        assert_eq!(word("10g rate/s"), "_10g_rate_s");
    }

    #[test]
    fn a_distribution_has_cumulative_buckets_a_sum_and_a_count() {
        let mut histogram = Histogram::new();
        for ns in [900, 1_500, 30_000, 20_000_000_000] {
            histogram.record(Nanos(ns));
        }
        let mut family = Family::new("x_seconds", Kind::Histogram, "Some");
        family.distribution(&[("run".to_owned(), "r\"1".to_owned())], &histogram);
        let text = render(&[family]);
        for line in [
            "# TYPE x_seconds histogram",
            r#"x_seconds_bucket{run="r\"1",le="0.000001"} 1"#,
            r#"x_seconds_bucket{run="r\"1",le="0.000002"} 2"#,
            r#"x_seconds_bucket{run="r\"1",le="0.00005"} 3"#,
            r#"x_seconds_bucket{run="r\"1",le="+Inf"} 4"#,
            r#"x_seconds_count{run="r\"1"} 4"#,
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
    }
}
