//! Alert rules for Prometheus, over what a watch exposes.
//!
//! Owns the thresholds and the words of alerts. Every name comes from [`names`]. What a change is,
//! and whose doing, the watch has decided: a rule only asks whether there is a new one.

use std::fmt::Write as _;

use super::names::{self, Named};

/// One alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub alert: &'static str,
    /// When it fires, in PromQL.
    pub expr: String,
    /// For how long that must hold; at once, where it is none.
    pub hold: Option<&'static str>,
    /// `critical`, `warning`, `info`.
    pub severity: &'static str,
    /// In one line.
    pub summary: &'static str,
    /// What it means, and what to look at.
    pub description: &'static str,
}

/// The loss through the device, less that over the direct cable, above which an alert fires.
pub const MOST_LOSS: f64 = 0.001;
/// Without a trial for so long, a watch is taken to have stopped.
pub const LONGEST_SILENCE_S: u32 = 600;
/// Longer gaps within an hour are told of.
pub const LONGEST_GAP_S: u32 = 60;
/// A change is told of for so long.
const NEW: &str = "15m";

/// A pair of ports.
const PAIR: &str = "testbed, from, to";

/// All of them.
pub fn all() -> Vec<Rule> {
    [outages(), changes(), watches()].concat()
}

fn outages() -> Vec<Rule> {
    vec![
        Rule {
            alert: "SwitchmarkOutage",
            expr: format!("{} == 1\nunless\n{} == 1", out("device"), out("direct")),
            hold: None,
            severity: "critical",
            summary: "Nothing gets through between {{ $labels.from }} and {{ $labels.to }} of {{ $labels.testbed }}",
            description: "No frame comes through the device, and the direct cable between the same hosts, where there is one, works.",
        },
        Rule {
            alert: "SwitchmarkDirectCableOutage",
            expr: format!("{} == 1", out("direct")),
            hold: None,
            severity: "warning",
            summary: "The direct cable between {{ $labels.from }} and {{ $labels.to }} of {{ $labels.testbed }} carries nothing",
            description: "The hosts or their cable, not the device: until it works again nothing is said of the device between these two.",
        },
        Rule {
            alert: "SwitchmarkLoss",
            expr: added_loss() + &format!(" > {MOST_LOSS}"),
            hold: Some("5m"),
            severity: "warning",
            summary: "{{ $value | humanizePercentage }} of the frames from {{ $labels.from }} to {{ $labels.to }} of {{ $labels.testbed }} are lost in the device",
            description: "Over the last hour, less what the direct cable between the same hosts lost.",
        },
    ]
}

/// Of each pair, whether the path carries nothing.
fn out(path: &str) -> String {
    format!("max by ({PAIR}) ({}{{path=\"{path}\"}})", names::WATCH_OUTAGE.name)
}

/// The lost share through the device over an hour, less that of the direct cable. Without a direct
/// cable, and while it is silent, nothing is taken off.
fn added_loss() -> String {
    let sum = |named: &Named, path: &str| {
        format!("sum by ({PAIR}) (increase({}{{path=\"{path}\"}}[1h]))", named.name)
    };
    let share = |path: &str| {
        format!("{} / ({} > 0)", sum(&names::WATCH_LOST, path), sum(&names::WATCH_SENT, path))
    };
    let device = share("device");
    format!("({device})\n- (\n  ({})\n  or\n  ({device}) * 0\n)", share("direct"))
}

const WHOSE_DOING: &str = "Path: {{ $labels.path }}. Whose doing: {{ $labels.whose }}\
    {{ if eq $labels.whose \"hosts\" }}, not the device's{{ end }}.";

fn changes() -> Vec<Rule> {
    let which = "quantity=~\"rtt-p50|rtt-p99\"";
    vec![
        Rule {
            alert: "SwitchmarkRttChanged",
            expr: new_changes(which),
            hold: None,
            severity: "warning",
            summary: "RTT ({{ $labels.quantity }}) from {{ $labels.from }} to {{ $labels.to }} of {{ $labels.testbed }} went {{ $labels.direction }}",
            description: WHOSE_DOING,
        },
        Rule {
            alert: "SwitchmarkChanged",
            expr: new_changes(&which.replace("=~", "!~")),
            hold: None,
            severity: "info",
            summary: "{{ $labels.quantity }} from {{ $labels.from }} to {{ $labels.to }} of {{ $labels.testbed }} went {{ $labels.direction }}",
            description: WHOSE_DOING,
        },
    ]
}

/// A counter that was not there a while ago has counted too, where the watch was scraped before it:
/// what a Prometheus finds when it first looks is no news.
fn new_changes(which: &str) -> String {
    let (changes, info) = (&names::WATCH_CHANGES.name, &names::WATCH_INFO.name);
    let of = format!("{changes}{{{which}}}");
    format!(
        "increase({of}[{NEW}]) > 0\nor\n(\n  {of}\n  unless\n  {of} offset {NEW}\n)\nand\n(\n  count_over_time({of}[{NEW}])\n  < on (testbed) group_left ()\n  max by (testbed) (count_over_time({info}[{NEW}]))\n)"
    )
}

fn watches() -> Vec<Rule> {
    let (last, gap) = (&names::WATCH_LAST_TRIAL.name, &names::WATCH_GAP.name);
    vec![
        Rule {
            alert: "SwitchmarkWatchSilent",
            expr: format!("time() - max by (testbed) ({last}) > {LONGEST_SILENCE_S}"),
            hold: None,
            severity: "warning",
            summary: "The watch of {{ $labels.testbed }} has ended no trial for {{ $value | humanizeDuration }}",
            description: "It was stopped, or its hosts can't be reached: nothing is known of the device meanwhile.",
        },
        Rule {
            alert: "SwitchmarkWatchGap",
            expr: format!("max by (testbed, cause) (increase({gap}[1h])) > {LONGEST_GAP_S}"),
            hold: None,
            severity: "info",
            summary: "The watch of {{ $labels.testbed }} did not measure for {{ $value | humanizeDuration }} of the last hour ({{ $labels.cause }})",
            description: "A gap is the monitor's own and no outage: suspended, clock-step, agents or stopped.",
        },
    ]
}

/// As a file of rules.
pub fn render() -> String {
    let mut out = "# Made by `switchmark serve --print rules`.\n\
                   groups:\n  - name: switchmark\n    rules:\n"
        .to_owned();
    for rule in all() {
        let _ = writeln!(out, "      - alert: {}\n        expr: |", rule.alert);
        for line in rule.expr.lines() {
            let _ = writeln!(out, "          {line}");
        }
        if let Some(hold) = rule.hold {
            let _ = writeln!(out, "        for: {hold}");
        }
        let _ = writeln!(out, "        labels: {{ severity: {} }}", rule.severity);
        let (summary, description) = (quoted(rule.summary), quoted(rule.description));
        let _ = writeln!(out, "        annotations:\n          summary: {summary}");
        let _ = writeln!(out, "          description: {description}");
    }
    out
}

/// YAML takes JSON's strings.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_ask_for_families_of_the_table_alone() {
        for rule in all() {
            let asked = names::asked_for(&rule.expr);
            assert!(!asked.is_empty(), "{}", rule.alert);
            for series in asked {
                assert!(names::is_known(&series), "{}: {series}", rule.alert);
            }
        }
    }

    #[test]
    fn labels_in_words_are_labels_of_what_is_asked_for() {
        for rule in all() {
            let words = format!("{} {}", rule.summary, rule.description);
            for label in words.split("$labels.").skip(1) {
                let label: String = label.chars().take_while(char::is_ascii_alphanumeric).collect();
                let has = |named: &Named| {
                    rule.expr.contains(named.name.as_ref()) && named.labels.contains(&&*label)
                };
                assert!(names::FIXED.iter().any(has), "{}: {label}", rule.alert);
            }
        }
    }
}
