//! Debian's Prometheus beside `serve`: it scrapes, answers, and takes the rules and the
//! dashboard's queries.
//!
//! Needs no root; says `skipped:` where Prometheus is not installed. It listens on loopback, keeps
//! its data in the test's own folder and is ended with the test.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Server, run, two_runs};
use crate::program::prometheus::{Prometheus, is_there};
use crate::program::{Scratch, wait_for};

/// Buckets are so much wider than the one before: a quantile cannot be told more closely.
const BUCKET: f64 = 1.189_207_2;

fn printed(scratch: &Scratch, what: &str) -> String {
    let output = run(scratch, &["serve", "--print", what]);
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn prometheus_answers_with_the_quantile_that_the_report_prints() {
    let test = "prometheus_answers_with_the_quantile_that_the_report_prints";
    if !is_there("prometheus", test) {
        return;
    }
    let scratch = Scratch::new("serve-prometheus");
    // Of two alike, the newest is exposed.
    let [_, newest] = two_runs(&scratch);
    let server = Server::new(&scratch, &[]);
    let prometheus = Prometheus::new(&scratch, server.host());
    let report = run(&scratch, &["report", &newest, "--json", "--journal", "j.db"]);
    let report = crate::program::json(&report);
    let figures = report["figures"].as_array().expect("figures");
    let mut compared = 0;
    for quantile in [0.5, 0.99] {
        let buckets = format!("switchmark_round_trip_seconds_bucket{{run=\"{newest}\"}}");
        let query = format!("histogram_quantile({quantile}, {buckets})");
        let mut answers = Vec::new();
        wait_for("a scrape", || {
            answers = prometheus.query(&query).as_array().expect("a vector").clone();
            !answers.is_empty()
        });
        for answer in &answers {
            let of = &answer["metric"];
            let found = answer["value"][1].as_str().and_then(|text| text.parse::<f64>().ok());
            let found = found.expect("a number");
            let told = told(figures, of, quantile) / 1e9;
            let off = found / told;
            println!("{of}: {quantile}: {found} s by Prometheus, {told} s by report: {off:.3}");
            assert!((1.0 / BUCKET..=BUCKET).contains(&off), "{of}: {found} for {told}");
            compared += 1;
        }
    }
    // Three protocols and two sizes, on both ways, at both quantiles.
    assert_eq!(compared, 24);
    takes_the_rules(&prometheus);
    takes_the_dashboard(&prometheus, &printed(&scratch, "grafana"));
}

/// The round trip that the report has, in nanoseconds: that of the case whose label has the same
/// protocol and size.
fn told(figures: &[Value], of: &Value, quantile: f64) -> f64 {
    let label = of["trial"].as_str().expect("a label");
    let has = |word: &str| label.split(' ').any(|own| own == word);
    let is_it = |figure: &&Value| {
        let case = &figure["where"];
        figure["metric"] == "rtt"
            && figure["quantile"] == quantile
            && case["path"] == of["path"]
            && case["protocol"].as_str().is_some_and(has)
            && has(&case["frame_size"].to_string())
    };
    let mut found = figures.iter().filter(is_it);
    let figure = found.next().unwrap_or_else(|| panic!("no figure of {of}"));
    assert!(found.next().is_none(), "two figures of {of}");
    figure["value"].as_f64().expect("a value")
}

fn takes_the_rules(prometheus: &Prometheus) {
    let mut rules = Vec::new();
    wait_for("the rules to be evaluated", || {
        let answer = prometheus.ask("/api/v1/rules");
        rules = answer["data"]["groups"][0]["rules"].as_array().cloned().unwrap_or_default();
        !rules.is_empty() && rules.iter().all(|rule| rule["health"] != "unknown")
    });
    assert!(rules.len() >= 5, "{rules:?}");
    for rule in rules {
        assert!(rule["health"] == "ok" && rule["lastError"].is_null(), "{rule}");
        assert_eq!(rule["state"], "inactive", "nothing is watched: {rule}");
    }
}

/// Every query of every panel, with Grafana's variables filled in.
fn takes_the_dashboard(prometheus: &Prometheus, dashboard: &str) {
    let dashboard: Value = serde_json::from_str(dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let marks = dashboard["annotations"]["list"].as_array().expect("a list");
    let (mut asked, mut answered) = (0, 0);
    for target in targets.chain(marks) {
        let mut query = target["expr"].as_str().expect("a query").replace("$window", "1h");
        for variable in ["testbed", "from", "to", "path"] {
            query = query.replace(&format!("${variable}"), ".*");
        }
        assert!(!query.contains('$'), "{query}");
        let answer = prometheus.query(&query);
        answered += usize::from(answer.as_array().is_some_and(|found| !found.is_empty()));
        asked += 1;
    }
    assert!(asked > 15 && answered >= 1, "{asked} asked, {answered} answered");
}

#[test]
fn the_rules_fire_when_they_should() {
    if !is_there("promtool", "the_rules_fire_when_they_should") {
        return;
    }
    let scratch = Scratch::new("serve-rules");
    std::fs::write(scratch.path("rules.yml"), printed(&scratch, "rules")).expect("written");
    std::fs::write(scratch.path("test.yml"), include_str!("rules_test.yml")).expect("written");
    for args in [&["check", "rules", "rules.yml"][..], &["test", "rules", "test.yml"]] {
        let mut promtool = Command::new("promtool");
        let output = promtool.args(args).current_dir(scratch.folder()).output().expect("it starts");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        println!("{said}");
        assert!(output.status.success() && said.contains("SUCCESS"), "{args:?}: {said}");
    }
}

/// What Grafana's own types lose of a dashboard, by Python; the data source's own fields are not
/// theirs.
const READ: &str = r#"
import json, sys
from grafana_foundation_sdk.models.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
register_default_plugins()
ours = json.load(open(sys.argv[1]))
theirs = json.loads(JSONEncoder().encode(Dashboard.from_json(ours)))
def lost(a, b, at):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a:
            lost(a[key], b.get(key), at + "/" + key)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for x, y in zip(a, b):
            lost(x, y, at)
    elif a != b and at.split("/")[-1] not in ("definition", "step", "textFormat", "titleFormat"):
        print("lost", at, a, b)
lost(ours, theirs, "")
print(len(theirs["panels"]), "panels")
"#;

#[test]
fn grafanas_own_types_take_the_dashboard() {
    let python = |program: &str, file: &Path| {
        Command::new("python3").args(["-c", program]).arg(file).output()
    };
    let scratch = Scratch::new("serve-grafana");
    let file = scratch.path("grafana.json");
    if !python("import grafana_foundation_sdk", &file).is_ok_and(|ran| ran.status.success()) {
        eprintln!("skipped: python3 has no module grafana_foundation_sdk; pip install it");
        return;
    }
    std::fs::write(&file, printed(&scratch, "grafana")).expect("written");
    let ran = python(READ, &file).expect("python3 starts");
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    assert!(said.contains(" panels") && !said.contains("lost"), "{said}");
}
