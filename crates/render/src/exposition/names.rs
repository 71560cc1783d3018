//! Every family that `/metrics` has, in one table: name, kind, labels, and what it is.
//!
//! Code that fills a family takes its name from here. A test holds the rules and the dashboard of
//! `monitoring/` against it. Figures' families follow from the metrics and their units. Never asks
//! anybody for a number.

use std::borrow::Cow;

use page::{Metric, Unit};

use super::{Family, Kind};

/// A family without its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Name with the base unit, and with `_total` if it is a counter.
    pub name: Cow<'static, str>,
    /// Prometheus metric type.
    pub kind: Kind,
    /// The labels that every sample has; a histogram's buckets have `le` too.
    pub labels: &'static [&'static str],
    /// Help text of a few words.
    pub help: Cow<'static, str>,
}

/// One row a family.
macro_rules! families {
    ($($id:ident $name:literal $kind:ident [$($label:literal)*] $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $id: Named = Named {
                name: Cow::Borrowed($name),
                kind: Kind::$kind,
                labels: &[$($label,)*],
                help: Cow::Borrowed($help),
            };
        )+

        /// Families other than those of figures.
        pub const FIXED: &[Named] = &[$($id,)+];
    };
}

families! {
    BUILD_INFO "switchmark_build_info" Gauge ["version"] "This program's version";
    JOURNAL_RUNS "switchmark_journal_runs" Gauge ["state"] "Runs in the journal, by state";
    RUN_TRIALS "switchmark_run_trials" Gauge ["run" "verb" "testbed" "outcome"] "Trials of a run under way, by outcome";
    RUN_INFO "switchmark_run_info" Gauge ["run" "verb" "testbed" "version"] "A run, with its version";
    ROUND_TRIP "switchmark_round_trip_seconds" Histogram ["run" "testbed" "trial" "path"] "Round-trip times of all valid trials of a label";
    SERVE_REQUESTS "switchmark_serve_requests_total" Counter [] "Requests read, refused ones included";
    SERVE_REFUSED "switchmark_serve_refused_total" Counter ["reason"] "Refused requests and connections, by reason";
    SERVE_CONNECTIONS "switchmark_serve_connections" Gauge [] "Open connections";
    SERVE_STREAMS "switchmark_serve_streams" Gauge [] "Pages that follow a run under way";
    WATCH_INFO "switchmark_watch_info" Gauge ["testbed" "run" "version"] "A watch, with its version";
    WATCH_RTT "switchmark_watch_rtt_seconds" Histogram ["testbed" "from" "to" "path"] "Round-trip times since the watch began";
    WATCH_SENT "switchmark_watch_frames_sent_total" Counter ["testbed" "from" "to" "path"] "Frames sent since the watch began";
    WATCH_LOST "switchmark_watch_frames_lost_total" Counter ["testbed" "from" "to" "path"] "Frames that never arrived";
    WATCH_REORDERED "switchmark_watch_frames_reordered_total" Counter ["testbed" "from" "to" "path"] "First arrivals behind a later frame (RFC 4737)";
    WATCH_GOODPUT "switchmark_watch_goodput_bytes_per_second" Gauge ["testbed" "from" "to" "path"] "TCP payload at the receiver, mean of the latest hour with any";
    WATCH_TRIALS "switchmark_watch_trials_total" Counter ["testbed" "from" "to" "path" "outcome"] "Trials since the watch began, by outcome: valid, invalid, failed";
    WATCH_CHANGES "switchmark_watch_changes_total" Counter ["testbed" "from" "to" "path" "quantity" "direction" "whose"] "Changes found, by quantity, direction and cause";
    WATCH_OUTAGE "switchmark_watch_outage" Gauge ["testbed" "from" "to" "path"] "1 if nothing gets through, else 0";
    WATCH_GAP "switchmark_watch_gap_seconds_total" Counter ["testbed" "from" "to" "path" "cause"] "Time in which the watch did not measure, by cause: suspended, agents, stopped, clock-step (the clock's change)";
    WATCH_LAST_TRIAL "switchmark_watch_last_trial_timestamp_seconds" Gauge ["testbed" "from" "to" "path"] "End of the latest trial, in seconds since 1970";
}

const NS_PER_S: f64 = 1e9;

impl Named {
    /// Creates the family without samples.
    pub fn family(&self) -> Family {
        Family::with_labels(self.name.clone(), self.kind, self.help.clone(), self.labels)
    }

    /// Creates the family with one sample and no labels.
    pub fn one(&self, value: f64) -> Family {
        let mut family = self.family();
        family.add(&[], value);
        family
    }

    /// Creates the info family: one sample of value 1 with labels alone.
    pub fn info(&self, values: &[&str]) -> Family {
        let mut family = self.family();
        family.add(values, 1.0);
        family
    }
}

/// Returns the family of a metric's figures and the divisor of values in this unit. Division keeps
/// short decimals short.
pub fn figure(metric: Metric, unit: Unit) -> (Named, f64) {
    let (suffix, divisor) = match unit {
        Unit::Nanoseconds => ("seconds", NS_PER_S),
        Unit::Bytes => ("bytes", 1.0),
        Unit::BitsPerSecond => ("bytes_per_second", 8.0),
        Unit::FramesPerSecond => ("frames_per_second", 1.0),
        Unit::Ratio => ("ratio", 1.0),
        Unit::OperationsPerSecond => ("operations_per_second", 1.0),
        Unit::ConnectionsPerSecond => ("connections_per_second", 1.0),
        Unit::Count | Unit::Flag => ("", 1.0),
    };
    let word = metric.as_str();
    let said = suffix.is_empty() || word == suffix || word.ends_with(&format!("_{suffix}"));
    let name =
        if said { format!("switchmark_{word}") } else { format!("switchmark_{word}_{suffix}") };
    let named = Named {
        name: name.into(),
        kind: Kind::Gauge,
        labels: &["run", "verb", "testbed", "verdict"],
        help: plain(metric.meaning()).into(),
    };
    (named, divisor)
}

/// The families that figures may have, each once.
pub fn figures() -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for metric in Metric::ALL {
        let units = if metric.units().is_empty() { Unit::ALL } else { metric.units() };
        for unit in units {
            let (named, _) = figure(*metric, *unit);
            if all.iter().all(|other| other.name != named.name) {
                all.push(named);
            }
        }
    }
    all
}

/// True if a series belongs to one of these families.
pub fn is_known(series: &str) -> bool {
    let is_of = |named: &Named| match series.strip_prefix(named.name.as_ref()) {
        Some("") => named.kind != Kind::Histogram,
        Some("_bucket" | "_sum" | "_count") => named.kind == Kind::Histogram,
        _ => false,
    };
    FIXED.iter().any(is_of) || figures().iter().any(is_of)
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
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/prometheus.md");

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
            let (named, by) = figure(metric, unit);
            assert_eq!((named.name.as_ref(), by), (expect, divisor));
        }
        for named in figures() {
            let name = named.name;
            assert!(!name.contains("ratio_ratio") && !name.ends_with("_ns"), "{name}");
        }
    }

    /// <https://prometheus.io/docs/practices/naming/>
    #[test]
    fn names_are_each_one_and_as_prometheus_wants_them() {
        let mut seen = BTreeSet::new();
        let all = FIXED.iter().cloned().chain(figures());
        for named in all {
            let name = named.name.as_ref();
            assert!(seen.insert(name.to_owned()), "{name} twice");
            assert!(name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'), "{name}");
            assert_eq!(name.ends_with("_total"), named.kind == Kind::Counter, "{name}");
            assert_eq!(name.ends_with("_info"), named.labels.contains(&"version"), "{name}");
            assert!(!named.help.contains(['`', '[']) && !named.help.ends_with('.'), "{name}");
            for label in named.labels {
                assert!(!["le", "quantile", "job", "instance"].contains(label), "{name}: {label}");
            }
        }
    }

    #[test]
    fn a_series_is_known_by_its_family() {
        for (series, expect) in [
            ("switchmark_watch_outage", true),
            ("switchmark_watch_outage_bucket", false),
            ("switchmark_watch_rtt_seconds_bucket", true),
            ("switchmark_watch_rtt_seconds", false),
            ("switchmark_rtt_seconds", true),
            ("switchmark_nothing", false),
            ("up", false),
        ] {
            assert_eq!(is_known(series), expect, "{series}");
        }
    }

    #[test]
    fn meanings_are_without_markup() {
        assert_eq!(plain("the rate ([goals](x.md#y)); `a`: b [c"), "the rate (goals); a: b c");
    }

    fn table() -> String {
        let mut out = "| family | kind | labels | what |\n|---|---|---|---|\n".to_owned();
        for named in FIXED {
            let labels: Vec<_> = named.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, kind, labels) = (&named.name, named.kind.as_str(), labels.join(", "));
            let _ = writeln!(out, "| `{name}` | {kind} | {labels} | {} |", named.help);
        }
        out += "\nFigures are gauges, a family for each [metric](figures.md#metrics) and unit:\n\n";
        let names = figures().into_iter().map(|named| format!("`{}`", named.name));
        out += &wrapped(&names.collect::<Vec<_>>().join(", "));
        out
    }

    fn wrapped(text: &str) -> String {
        let (mut out, mut column) = (String::new(), 0);
        for word in text.split(' ') {
            if column > 0 && column + word.len() + 1 > 120 {
                out.push('\n');
                column = 0;
            } else if column > 0 {
                out.push(' ');
                column += 1;
            }
            out += word;
            column += word.len();
        }
        out + "\n"
    }

    /// Set `UPDATE_SNAPSHOTS=1` to write the table again, and read what changed.
    #[test]
    fn the_reference_has_this_table() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = page.split_once("\n## Families\n").expect("a section on families");
        let (shown, after) = rest.split_once("\n## ").expect("a section behind it");
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            let page = format!("{before}\n## Families\n\n{}\n## {after}", table());
            std::fs::write(PAGE, page).unwrap();
        } else {
            assert_eq!(shown.trim(), table().trim());
        }
    }
}
