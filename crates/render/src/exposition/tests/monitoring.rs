//! The alert rules and the dashboard, held against the table of families and the watch's words.
//!
//! Owns the reading of PromQL that this needs: names, selectors and lists of labels. Never asks
//! Prometheus: a test of the program does.

use std::collections::BTreeSet;

use serde_json::Value;
use study::watch::{Family, Quantity};
use yaml_rust2::YamlLoader;

use crate::exposition::Kind;
use crate::exposition::names::{self, Named};

const RULES: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../monitoring/switchmark.rules.yml"));
const DASHBOARD: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../monitoring/grafana.json"));
const COLUMNS: u64 = 24;

/// Query with the words that are said of its results.
struct Asked {
    query: String,
    words: String,
}

fn rules() -> Vec<Asked> {
    let rules = YamlLoader::load_from_str(RULES).expect("YAML");
    let rules = rules[0]["groups"][0]["rules"].as_vec().expect("a list").clone();
    let text = |value: &yaml_rust2::Yaml| value.as_str().expect("a text").to_owned();
    let asked = rules.iter().map(|rule| {
        let words = [&rule["annotations"]["summary"], &rule["annotations"]["description"]];
        Asked { query: text(&rule["expr"]), words: words.map(text).concat() }
    });
    asked.collect()
}

fn dashboard() -> Value {
    serde_json::from_str(DASHBOARD).expect("JSON")
}

/// Every object of the dashboard that asks for something.
fn queries(value: &Value, into: &mut Vec<Asked>) {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    if let Some(query) = value["expr"].as_str().or_else(|| value["definition"].as_str()) {
        let words = ["legendFormat", "titleFormat", "textFormat"].map(text).concat();
        into.push(Asked { query: query.to_owned(), words: words.replace("{{", "$labels.") });
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|field| queries(field, into)),
        Value::Array(all) => all.iter().for_each(|one| queries(one, into)),
        _ => {}
    }
}

fn all_queries() -> Vec<Asked> {
    let mut all = rules();
    queries(&dashboard(), &mut all);
    assert!(all.len() > 30, "{}", all.len());
    all
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Families that a query asks for; one that the table lacks is a panic.
fn families(query: &str) -> Vec<Named> {
    let words = query.split(|letter: char| !is_of_a_name(letter));
    let series: Vec<&str> = words.filter(|word| word.starts_with("switchmark_")).collect();
    assert!(!series.is_empty(), "{query}");
    // The variable of testbeds names two families, not their series.
    let family = |series: &str| {
        assert!(names::is_known(series), "{query}: {series}");
        let ends = ["_bucket", "_sum", "_count"].map(|end| series.strip_suffix(end));
        let names = [series].into_iter().chain(ends.into_iter().flatten());
        let names: Vec<&str> = names.collect();
        let all = names::FIXED.iter().cloned().chain(names::figures());
        all.into_iter().find(|named| names.contains(&named.name.as_ref())).expect("it is known")
    };
    series.into_iter().map(family).collect()
}

/// Labels that a query names: in selectors and behind `by`, `on`, `group_left`, and that of
/// `label_values`.
fn labels(query: &str) -> BTreeSet<String> {
    let mut lists: Vec<&str> = Vec::new();
    for open in ["by (", "on (", "group_left ("] {
        lists.extend(query.split(open).skip(1).filter_map(|rest| rest.split(')').next()));
    }
    let mut labels: BTreeSet<String> =
        lists.iter().flat_map(|list| list.split(", ")).map(str::to_owned).collect();
    for selector in query.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
        let names = selector.split("\",").filter_map(|one| one.split(['=', '!']).next());
        labels.extend(names.map(str::to_owned));
    }
    if let Some(values) = query.strip_prefix("label_values(") {
        labels.extend(values.trim_end_matches(')').rsplit(", ").next().map(str::to_owned));
    }
    labels.retain(|label| !label.is_empty() && label != "__name__");
    labels
}

/// Labels that samples of these families have.
fn known_labels(families: &[Named]) -> BTreeSet<&str> {
    let mut known: BTreeSet<&str> = families.iter().flat_map(|n| n.labels).copied().collect();
    let has = |kind: Kind| families.iter().any(|named| named.kind == kind);
    if has(Kind::Histogram) {
        known.insert("le");
    }
    if families.iter().any(|named| !names::FIXED.contains(named)) {
        known.insert("percentile");
    }
    known
}

#[test]
fn every_name_and_label_stands_in_the_table() {
    for Asked { query, words } in all_queries() {
        let families = families(&query);
        let known = known_labels(&families);
        let mut labels = labels(&query);
        let said = words.split("$labels.").skip(1);
        labels.extend(said.map(|rest| rest.chars().take_while(|c| is_of_a_name(*c)).collect()));
        for label in labels {
            assert!(known.contains(&*label), "{query}: {label}");
        }
    }
}

/// The probe of the probe.
#[test]
fn labels_are_found_wherever_a_query_names_them() {
    for (query, expect) in [
        (r#"max by (a, b) (x{c="1",d!~"e=f|g"}) == 1"#, "a b c d"),
        (r#"label_values(x{__name__=~"y|z"}, e)"#, "e"),
        ("x < on (a) group_left () y", "a"),
    ] {
        assert_eq!(labels(query).into_iter().collect::<Vec<_>>().join(" "), expect);
    }
}

#[test]
fn rules_on_round_trips_name_all_quantities_of_round_trips() {
    let rtt = Quantity::ALL.into_iter().filter(|quantity| quantity.family() == Family::Rtt);
    let rtt = rtt.map(Quantity::as_str).collect::<Vec<_>>().join("|");
    for comparison in ["=~", "!~"] {
        assert!(RULES.contains(&format!("{{quantity{comparison}\"{rtt}\"}}")), "{rtt}");
    }
    assert_eq!(RULES.matches("quantity").count(), RULES.matches(&rtt).count() + 2);
}

#[test]
fn variables_that_are_used_are_there_and_panels_lie_beside_each_other() {
    let dashboard = dashboard();
    let list = dashboard["templating"]["list"].as_array().expect("a list");
    let known: BTreeSet<&str> = list.iter().filter_map(|one| one["name"].as_str()).collect();
    for used in DASHBOARD.split('$').skip(1) {
        let used = used.trim_start_matches('{');
        let name: String = used.chars().take_while(|c| is_of_a_name(*c)).collect();
        assert!(name == "__all" || known.contains(&*name), "${name}");
    }
    let (mut taken, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().expect("panels") {
        assert!(ids.insert(panel["id"].as_u64()), "{panel}");
        let at = |name: &str| panel["gridPos"][name].as_u64().expect("a number");
        assert!(at("x") + at("w") <= COLUMNS, "{panel}");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{panel}");
            }
        }
    }
}

#[test]
fn every_family_of_a_watch_is_shown() {
    for named in names::FIXED.iter().filter(|named| named.name.contains("_watch_")) {
        assert!(DASHBOARD.contains(named.name.as_ref()), "{}", named.name);
    }
}
