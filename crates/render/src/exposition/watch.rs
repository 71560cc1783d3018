//! Families of a watch's measurements: one series per pair of ports and path.
//!
//! Owns what is written of a series, zeros included, so that a counter is there before it first
//! counts. Never decides what a change or an outage is: every word is given.

use measure::change::Direction;
use measure::{Histogram, Nanos};
use trial::Path;

use super::{Family, names};

/// Measurements of one path between two ports, since the watch began.
#[derive(Debug, Clone)]
pub struct WatchSeries {
    /// The testbed's name.
    pub testbed: String,
    /// The watch's own run.
    pub run: String,
    /// The version that measures it.
    pub version: String,
    /// A host's port: `h1/eth1`.
    pub from: String,
    /// The other one.
    pub to: String,
    /// Path: through the device, or over the direct cable.
    pub path: Path,
    /// All round trips.
    pub rtt: Histogram,
    /// Frames sent.
    pub sent: u64,
    /// Frames that never arrived.
    pub lost: u64,
    /// Frames that arrived behind a later one.
    pub reordered: u64,
    /// TCP payload in bytes a second, mean of the latest hour that had any.
    pub goodput: Option<f64>,
    /// Trials by outcome.
    pub trials: WatchTrials,
    /// Changes found, one entry per kind.
    pub changes: Vec<WatchChange>,
    /// True if nothing gets through now.
    pub outage: bool,
    /// Unwatched time, one entry per cause; every cause is listed.
    pub gaps: Vec<WatchGap>,
    /// End of the latest trial, in nanoseconds since 1970; `None` before the first.
    pub last_trial_unix_ns: Option<u64>,
}

/// Number of trials per outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchTrials {
    /// Trials that count.
    pub valid: u64,
    /// Trials that a gate excluded.
    pub invalid: u64,
    /// Trials that did not run to the end.
    pub failed: u64,
}

/// Changes of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchChange {
    /// Quantity that changed: `rtt-p99`.
    pub quantity: &'static str,
    /// Direction of the change.
    pub direction: Direction,
    /// Side that caused it, without the name, to keep label values few: `device`, `hosts`.
    pub whose: &'static str,
    /// Number of such changes.
    pub count: u64,
}

/// Unwatched time of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchGap {
    /// `suspended`, `stopped`.
    pub cause: &'static str,
    /// Total duration.
    pub lasted: Nanos,
}

/// `up`, `down`
const fn direction_label(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}

/// `device`, `direct`
pub const fn path_label(path: Path) -> &'static str {
    match path {
        Path::Device => "device",
        Path::Bypass => "direct",
    }
}

/// Returns the families of these series for Prometheus.
pub fn watch(all: &[WatchSeries]) -> Vec<Family> {
    let mut families = Filled::default();
    for one in all {
        families.take(one);
    }
    families.0.into_iter().map(|(_, family)| family).collect()
}

#[derive(Default)]
struct Filled(Vec<(String, Family)>);

impl Filled {
    fn family(&mut self, named: &names::Named) -> &mut Family {
        let at = self.0.iter().position(|(name, _)| *name == named.name).unwrap_or_else(|| {
            self.0.push((named.name.to_string(), named.family()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    fn take(&mut self, one: &WatchSeries) {
        let own = [&*one.testbed, &one.from, &one.to, path_label(one.path)];
        let with = |more: &[&'static str]| [&own[..], more].concat();
        self.family(&names::WATCH_INFO).add(&[&one.testbed, &one.run, &one.version], 1.0);
        self.family(&names::WATCH_RTT).distribution(&own, &one.rtt);
        for (named, value) in [
            (names::WATCH_SENT, one.sent),
            (names::WATCH_LOST, one.lost),
            (names::WATCH_REORDERED, one.reordered),
            (names::WATCH_OUTAGE, u64::from(one.outage)),
        ] {
            self.family(&named).add(&own, value as f64);
        }
        if let Some(goodput) = one.goodput {
            self.family(&names::WATCH_GOODPUT).add(&own, goodput);
        }
        if let Some(unix_ns) = one.last_trial_unix_ns {
            self.family(&names::WATCH_LAST_TRIAL).add(&own, seconds(unix_ns));
        }
        let trials = one.trials;
        for (outcome, count) in
            [("valid", trials.valid), ("invalid", trials.invalid), ("failed", trials.failed)]
        {
            self.family(&names::WATCH_TRIALS).add(&with(&[outcome]), count as f64);
        }
        for gap in &one.gaps {
            self.family(&names::WATCH_GAP).add(&with(&[gap.cause]), seconds(gap.lasted.0));
        }
        for change in &one.changes {
            let direction = direction_label(change.direction);
            let values = with(&[change.quantity, direction, change.whose]);
            self.family(&names::WATCH_CHANGES).add(&values, change.count as f64);
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::render;

    fn gap(cause: &'static str, seconds: u64) -> WatchGap {
        WatchGap { cause, lasted: Nanos::from_secs(seconds) }
    }

    fn series(path: Path) -> WatchSeries {
        let mut rtt = Histogram::new();
        rtt.record(Nanos(30_000));
        rtt.record(Nanos(70_000));
        WatchSeries {
            testbed: "rack".to_owned(),
            run: "20261125-090000-1a2b".to_owned(),
            version: "0.2.0".to_owned(),
            from: "h1/eth1".to_owned(),
            to: "h2/eth1".to_owned(),
            path,
            rtt,
            sent: 1000,
            lost: 3,
            reordered: 0,
            goodput: Some(1.25e8),
            trials: WatchTrials { valid: 9, invalid: 1, failed: 0 },
            changes: vec![WatchChange {
                quantity: "rtt-p99",
                direction: Direction::Up,
                whose: "pair",
                count: 2,
            }],
            outage: false,
            gaps: vec![gap("suspended", 90), gap("stopped", 0)],
            last_trial_unix_ns: Some(1_763_000_000_500_000_000),
        }
    }

    #[test]
    fn a_series_fills_every_family_of_a_watch() {
        let text = render(&watch(&[series(Path::Device), series(Path::Bypass)]));
        let device = r#"testbed="rack",from="h1/eth1",to="h2/eth1",path="device""#;
        for line in [
            r#"switchmark_watch_info{testbed="rack",run="20261125-090000-1a2b",version="0.2.0"} 1"#
                .to_owned(),
            format!("switchmark_watch_rtt_seconds_count{{{device}}} 2"),
            format!("switchmark_watch_rtt_seconds_bucket{{{device},le=\"0.00005\"}} 1"),
            format!("switchmark_watch_frames_sent_total{{{device}}} 1000"),
            format!("switchmark_watch_frames_lost_total{{{device}}} 3"),
            format!("switchmark_watch_frames_reordered_total{{{device}}} 0"),
            format!("switchmark_watch_goodput_bytes_per_second{{{device}}} 125000000"),
            format!("switchmark_watch_trials_total{{{device},outcome=\"invalid\"}} 1"),
            format!(
                "switchmark_watch_changes_total{{{device},quantity=\"rtt-p99\",direction=\"up\",whose=\"pair\"}} 2"
            ),
            format!("switchmark_watch_outage{{{device}}} 0"),
            format!("switchmark_watch_gap_seconds_total{{{device},cause=\"suspended\"}} 90"),
            format!("switchmark_watch_gap_seconds_total{{{device},cause=\"stopped\"}} 0"),
            format!("switchmark_watch_last_trial_timestamp_seconds{{{device}}} 1763000000.5"),
            format!("switchmark_watch_outage{{{}}} 0", device.replace("\"device", "\"direct")),
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
        let all = names::FIXED.iter().filter(|named| named.name.contains("_watch_"));
        for named in all {
            assert!(text.contains(&format!("# TYPE {} ", named.name)), "{}", named.name);
        }
        assert_eq!(text.matches("switchmark_watch_info{").count(), 1, "of one watch once");
    }

    #[test]
    fn what_was_not_measured_is_not_there() {
        let mut one = series(Path::Device);
        (one.rtt, one.goodput, one.last_trial_unix_ns) = (Histogram::new(), None, None);
        one.changes.clear();
        let text = render(&watch(&[one]));
        for name in ["_rtt_", "_goodput_", "_last_trial_", "_changes_"] {
            assert!(!text.contains(name), "{name} in {text}");
        }
        assert!(watch(&[]).is_empty());
    }
}
