//! A dashboard for Grafana 9 and later, over what a watch and finished runs expose.
//!
//! Owns which panels there are and what each asks. Every name comes from [`names`]; data source,
//! testbed, ports and path are variables. Never asks Prometheus anything itself.

use serde_json::{Value, json};

use super::names::{self, Named};

/// The layout's version of Grafana 9.0, which later ones bring up to date by themselves.
const SCHEMA: u32 = 37;
/// Of a row of panels.
const COLUMNS: u32 = 24;
const HEIGHT: u32 = 8;

/// The labels that variables narrow.
const CHOSEN: &str = r#"testbed=~"$testbed",from=~"$from",to=~"$to""#;
const PAIR: &str = "testbed, from, to";

/// A panel before it has a place.
struct Panel {
    title: &'static str,
    what: &'static str,
    kind: &'static str,
    unit: &'static str,
    columns: u32,
    queries: Vec<Query>,
}

struct Query {
    expr: String,
    legend: &'static str,
}

/// A heading with its panels.
struct Section {
    title: &'static str,
    panels: Vec<Panel>,
}

const EACH: &str = "{{from}} → {{to}} {{path}}";
const EACH_PAIR: &str = "{{from}} → {{to}}";

/// As a file that Grafana imports.
pub fn render() -> String {
    let dashboard = json!({
        "uid": "switchmark",
        "title": "switchmark",
        "description": "What a watch measures through a device and over the direct cable beside it; and the newest runs.",
        "tags": ["switchmark", "network"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "timezone": "",
        "refresh": "1m",
        "time": { "from": "now-24h", "to": "now" },
        "annotations": { "list": [changes_as_marks()] },
        "templating": { "list": variables() },
        "panels": placed(sections()),
    });
    serde_json::to_string_pretty(&dashboard).expect("plain data") + "\n"
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn variables() -> Vec<Value> {
    let (watch, run) = (&names::WATCH_INFO.name, &names::RUN_INFO.name);
    let any = format!("{{__name__=~\"{watch}|{run}\"}}");
    let series = |more: &str| format!("{}{{{more}}}", names::WATCH_OUTAGE.name);
    let windows = ["15m", "1h", "6h", "1d"];
    let window = |one: &str| json!({ "text": one, "value": one, "selected": one == windows[1] });
    vec![
        json!({
            "name": "datasource", "label": "Data source", "type": "datasource",
            "query": "prometheus", "refresh": 1, "regex": "", "hide": 0,
            "multi": false, "includeAll": false, "options": [], "current": {},
        }),
        variable("testbed", "Testbed", &any),
        variable("from", "From", &series(r#"testbed=~"$testbed""#)),
        variable("to", "To", &series(r#"testbed=~"$testbed",from=~"$from""#)),
        variable("path", "Path", &series(CHOSEN)),
        json!({
            "name": "window", "label": "Over", "type": "custom", "query": windows.join(","),
            "hide": 0, "multi": false, "includeAll": false,
            "options": windows.map(window), "current": window(windows[1]),
        }),
    ]
}

/// All values of a label, of which several may be picked.
fn variable(name: &str, label: &str, series: &str) -> Value {
    let query = format!("label_values({series}, {name})");
    json!({
        "name": name, "label": label, "type": "query", "datasource": source(),
        "definition": query, "query": { "query": query, "refId": name },
        "refresh": 2, "sort": 1, "regex": "", "hide": 0, "options": [],
        "multi": true, "includeAll": true, "allValue": ".*",
        "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
    })
}

/// A mark at each change, in every plot.
fn changes_as_marks() -> Value {
    json!({
        "name": "Changes", "enable": true, "iconColor": "orange", "datasource": source(),
        "expr": format!("changes({}{{{CHOSEN},path=~\"$path\"}}[1m]) > 0", names::WATCH_CHANGES.name),
        "step": "60s",
        "titleFormat": "{{quantity}} {{direction}}: {{whose}}",
        "textFormat": EACH,
    })
}

fn sections() -> Vec<Section> {
    vec![
        Section { title: "Now", panels: now() },
        Section { title: "Round trips", panels: round_trips() },
        Section { title: "Loss, reordering, goodput", panels: frames() },
        Section { title: "Changes, outages and the watch itself", panels: events() },
        Section { title: "Newest finished runs", panels: runs() },
    ]
}

fn now() -> Vec<Panel> {
    let (outage, last) = (&names::WATCH_OUTAGE.name, &names::WATCH_LAST_TRIAL.name);
    let changes = &names::WATCH_CHANGES.name;
    let stat = |title, what, unit, expr: String| Panel {
        title,
        what,
        kind: "stat",
        unit,
        columns: 6,
        queries: vec![Query { expr, legend: "" }],
    };
    vec![
        stat(
            "Outages through the device",
            "Pairs between which no frame comes through the device.",
            "short",
            format!("sum({outage}{{{CHOSEN},path=\"device\"}})"),
        ),
        stat(
            "Outages of direct cables",
            "Pairs whose direct cable carries nothing: the hosts, not the device.",
            "short",
            format!("sum({outage}{{{CHOSEN},path=\"direct\"}})"),
        ),
        stat(
            "Changes",
            "What the watch found to have changed within the window.",
            "short",
            format!("round(sum(increase({changes}{{{CHOSEN}}}[$window])))"),
        ),
        stat(
            "Since the latest trial",
            "Above ten minutes nothing is measured.",
            "s",
            format!("time() - max({last}{{{CHOSEN}}})"),
        ),
    ]
}

/// A quantile of the round trips within the window.
fn quantile(of: f64, by: &str, path: &str) -> String {
    let buckets = format!("{}_bucket{{{CHOSEN},{path}}}", names::WATCH_RTT.name);
    format!("histogram_quantile({of}, sum by (le, {by}) (rate({buckets}[$window])))")
}

fn round_trips() -> Vec<Panel> {
    let plot = |title, what, queries| Panel {
        title,
        what,
        kind: "timeseries",
        unit: "s",
        columns: 8,
        queries,
    };
    let both =
        |q| Query { expr: quantile(q, &format!("{PAIR}, path"), r#"path=~"$path""#), legend: EACH };
    let added = |q, legend| {
        let of = |path: &str| quantile(q, PAIR, &format!("path=\"{path}\""));
        Query { expr: format!("{} - {}", of("device"), of("direct")), legend }
    };
    vec![
        plot(
            "RTT, median",
            "Through the device and over the direct cable; within a bucket, at most 19 % wide.",
            vec![both(0.5)],
        ),
        plot("RTT, 99th percentile", "The same of one round trip in a hundred.", vec![both(0.99)]),
        plot(
            "Added latency",
            "A quantile through the device less that over the direct cable.",
            vec![added(0.5, "p50 {{from}} → {{to}}"), added(0.99, "p99 {{from}} → {{to}}")],
        ),
    ]
}

/// The share of the frames sent, within the window.
fn share(of: &Named, by: &str, path: &str) -> String {
    let sum = |named: &Named| {
        format!("sum by ({by}) (increase({}{{{CHOSEN},{path}}}[$window]))", named.name)
    };
    format!("{} / ({} > 0)", sum(of), sum(&names::WATCH_SENT))
}

fn frames() -> Vec<Panel> {
    let plot = |title, what, unit, expr, legend| Panel {
        title,
        what,
        kind: "timeseries",
        unit,
        columns: 6,
        queries: vec![Query { expr, legend }],
    };
    let (all, path) = (format!("{PAIR}, path"), r#"path=~"$path""#);
    let lost = &names::WATCH_LOST;
    let [device, direct] = ["device", "direct"].map(|way| format!("path=\"{way}\""));
    vec![
        plot(
            "Loss",
            "The lost share of the frames sent.",
            "percentunit",
            share(lost, &all, path),
            EACH,
        ),
        plot(
            "Loss in the device",
            "Through the device, less that over the direct cable.",
            "percentunit",
            format!("{} - {}", share(lost, PAIR, &device), share(lost, PAIR, &direct)),
            EACH_PAIR,
        ),
        plot(
            "Reordering",
            "The share that arrived behind a later frame (RFC 4737).",
            "percentunit",
            share(&names::WATCH_REORDERED, &all, path),
            EACH,
        ),
        plot(
            "Goodput",
            "TCP payload at the receiver, of the latest trial.",
            "Bps",
            format!("{}{{{CHOSEN},{path}}}", names::WATCH_GOODPUT.name),
            EACH,
        ),
    ]
}

fn events() -> Vec<Panel> {
    let plot = |title, what, kind, unit, expr, legend| Panel {
        title,
        what,
        kind,
        unit,
        columns: 6,
        queries: vec![Query { expr, legend }],
    };
    let path = r#"path=~"$path""#;
    let increase = |by: &str, named: &Named, path: &str| {
        format!("sum by ({by}) (increase({}{{{CHOSEN},{path}}}[$window]))", named.name)
    };
    vec![
        plot(
            "Changes",
            "What changed, whither, and whose doing; `hosts` is not the device's.",
            "timeseries",
            "short",
            increase("quantity, direction, whose", &names::WATCH_CHANGES, path),
            "{{quantity}} {{direction}}: {{whose}}",
        ),
        plot(
            "Outages",
            "1 while nothing gets through.",
            "state-timeline",
            "short",
            format!("{}{{{CHOSEN},{path}}}", names::WATCH_OUTAGE.name),
            EACH,
        ),
        plot(
            "Trials",
            "Trials within the window by outcome; invalid ones count for nothing.",
            "timeseries",
            "short",
            increase("outcome", &names::WATCH_TRIALS, path),
            "{{outcome}}",
        ),
        plot(
            "Gaps",
            "Time within the window in which the watch itself did not measure: no outage.",
            "timeseries",
            "s",
            format!(
                "max by (testbed, cause) (increase({}{{{CHOSEN},{path}}}[$window]))",
                names::WATCH_GAP.name
            ),
            "{{testbed}} {{cause}}",
        ),
    ]
}

fn runs() -> Vec<Panel> {
    let table = |title, what, unit, expr| Panel {
        title,
        what,
        kind: "table",
        unit,
        columns: 8,
        queries: vec![Query { expr, legend: "" }],
    };
    let rtt = names::figure(page::Metric::Rtt, page::Unit::Nanoseconds).0.name;
    let loss = names::figure(page::Metric::LossRatio, page::Unit::Ratio).0.name;
    let throughput = names::figure(page::Metric::Throughput, page::Unit::FramesPerSecond).0.name;
    let on = r#"testbed=~"$testbed""#;
    vec![
        table(
            "RTT, median",
            "As `switchmark report` prints it.",
            "s",
            format!("{rtt}{{{on},percentile=\"50\"}}"),
        ),
        table(
            "Loss",
            "As `switchmark report` prints it.",
            "percentunit",
            format!("{loss}{{{on}}}"),
        ),
        table(
            "Throughput",
            "Frames a second at which none is lost, or the goal named holds.",
            "short",
            format!("{throughput}{{{on}}}"),
        ),
    ]
}

/// Panels side by side below their headings.
fn placed(sections: Vec<Section>) -> Vec<Value> {
    let (mut out, mut y) = (Vec::new(), 0);
    for section in sections {
        out.push(json!({
            "id": out.len() + 1, "type": "row", "title": section.title, "collapsed": false,
            "panels": [], "gridPos": { "x": 0, "y": y, "w": COLUMNS, "h": 1 },
        }));
        y += 1;
        let mut x = 0;
        for panel in section.panels {
            if x + panel.columns > COLUMNS {
                (x, y) = (0, y + HEIGHT);
            }
            out.push(panel.at(out.len() + 1, x, y));
            x += panel.columns;
        }
        y += HEIGHT;
    }
    out
}

impl Panel {
    fn at(&self, id: usize, x: u32, y: u32) -> Value {
        let is_instant = matches!(self.kind, "table" | "stat");
        let target = |(at, query): (usize, &Query)| {
            json!({
                "refId": char::from(b'A' + at as u8).to_string(),
                "datasource": source(),
                "editorMode": "code",
                "expr": query.expr,
                "legendFormat": query.legend,
                "instant": is_instant,
                "range": !is_instant,
                "format": if self.kind == "table" { "table" } else { "time_series" },
            })
        };
        json!({
            "id": id,
            "type": self.kind,
            "title": self.title,
            "description": self.what,
            "datasource": source(),
            "gridPos": { "x": x, "y": y, "w": self.columns, "h": HEIGHT },
            "targets": self.queries.iter().enumerate().map(target).collect::<Vec<_>>(),
            "fieldConfig": { "defaults": { "unit": self.unit }, "overrides": [] },
            "options": self.options(),
        })
    }

    fn options(&self) -> Value {
        match self.kind {
            "timeseries" => json!({
                "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
                "tooltip": { "mode": "multi", "sort": "desc" },
            }),
            "stat" => json!({
                "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
                "colorMode": "none", "graphMode": "none",
            }),
            _ => json!({}),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every text below the key.
    fn texts<'a>(value: &'a Value, key: &str, into: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    match field.as_str() {
                        Some(text) if name == key => into.push(text),
                        _ => texts(field, key, into),
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|one| texts(one, key, into)),
            _ => {}
        }
    }

    fn dashboard() -> Value {
        serde_json::from_str(&render()).expect("JSON")
    }

    #[test]
    fn it_asks_for_families_of_the_table_alone() {
        let dashboard = dashboard();
        let (mut queries, mut definitions) = (Vec::new(), Vec::new());
        texts(&dashboard, "expr", &mut queries);
        texts(&dashboard, "definition", &mut definitions);
        assert!(queries.len() > 15, "{queries:?}");
        for query in &queries {
            let asked = names::asked_for(query);
            assert!(!asked.is_empty(), "{query}");
            let unknown = asked.iter().find(|series| !names::is_known(series));
            assert_eq!(unknown, None, "{query}");
        }
        for definition in definitions {
            for series in names::asked_for(definition) {
                assert!(names::is_known(&series), "{definition}");
            }
        }
    }

    #[test]
    fn variables_that_are_used_are_there_and_panels_lie_beside_each_other() {
        let dashboard = dashboard();
        let list = dashboard["templating"]["list"].as_array().expect("a list");
        let known: BTreeSet<&str> = list.iter().filter_map(|one| one["name"].as_str()).collect();
        let text = render();
        for used in text.split('$').skip(1) {
            let used = used.trim_start_matches('{');
            let name: String =
                used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            assert!(name == "__all" || known.contains(&*name), "${name}");
        }
        let (mut taken, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for panel in dashboard["panels"].as_array().expect("panels") {
            assert!(ids.insert(panel["id"].as_u64()), "{panel}");
            let at = |name: &str| panel["gridPos"][name].as_u64().expect("a number");
            assert!(at("x") + at("w") <= u64::from(COLUMNS), "{panel}");
            for x in at("x")..at("x") + at("w") {
                for y in at("y")..at("y") + at("h") {
                    assert!(taken.insert((x, y)), "{panel}");
                }
            }
        }
    }

    #[test]
    fn every_family_of_a_watch_is_shown() {
        let text = render();
        for named in names::FIXED.iter().filter(|named| named.name.contains("_watch_")) {
            assert!(text.contains(named.name.as_ref()), "{}", named.name);
        }
    }
}
