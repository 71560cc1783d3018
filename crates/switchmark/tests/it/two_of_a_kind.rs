//! Plans with two studies of one kind: each is shown with its own figures, wherever one is shown.
//! Needs no root: nothing is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::{Scratch, switchmark};

/// What the program prints, started in that folder; its journal is `j.db` there.
fn ask(scratch: &Scratch, args: &[&str]) -> String {
    let output = Command::new(switchmark())
        .args(args)
        .args(["--store", "j.db"])
        .current_dir(scratch.folder())
        .stdin(Stdio::null())
        .output()
        .expect("switchmark starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code == 0), "{args:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A plan's rows, its text and its page.
struct Shown {
    rows: Vec<Value>,
    text: String,
    html: String,
}

impl Shown {
    fn of(name: &str, plan: &str) -> Self {
        let scratch = Scratch::new(name);
        std::fs::write(scratch.path("plan.toml"), plan).expect("a plan");
        let json = ask(&scratch, &["run", "plan.toml", "--json"]);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        each_rests_on_trials_of_its_study(json["figures"].as_array().expect("rows"));
        let text = ask(&scratch, &["report", "latest", "--out", "page.html"]);
        let html = std::fs::read_to_string(scratch.path("page.html")).expect("a page");
        Self { rows: json["figures"].as_array().expect("rows").clone(), text, html }
    }

    /// The only value of a study's metric, through the device, with these conditions.
    fn value(&self, study: u64, metric: &str, conditions: &[(&str, &str)]) -> f64 {
        let is_it = |row: &&Value| {
            row["case"]["study"] == study
                && row["metric"] == metric
                && row["where"]["path"] == "device"
                && conditions.iter().all(|(key, value)| row["where"][*key] == *value)
                && row["where"].get("estimate").is_none()
                && row["where"].get("part").is_none()
                && row.get("quantile").is_none_or(|q| q == 0.5)
        };
        let found: Vec<&Value> = self.rows.iter().filter(is_it).collect();
        assert!(!found.is_empty(), "study {study}: no {metric}");
        found[0]["value"].as_f64().expect("a value")
    }

    /// The text of a study's section on the page.
    fn section(&self, id: &str) -> &str {
        let begin = format!("id=\"{id}\"");
        let at = self.html.find(&begin).unwrap_or_else(|| panic!("no section {id}"));
        let rest = &self.html[at..];
        &rest[..rest.find("</section>").expect("its end")]
    }
}

/// No value rests on another study's trials, and none on no trial; rows of one case share what
/// identifies them.
fn each_rests_on_trials_of_its_study(rows: &[Value]) {
    let number = |value: &Value| value.as_u64().expect("a number");
    let mut of_study: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut ways: BTreeMap<(u64, u64), &Value> = BTreeMap::new();
    for row in rows {
        let study = number(&row["case"]["study"]);
        let ranges = row["trials"].as_array().unwrap_or_else(|| panic!("no trial: {row}"));
        let places = ranges.iter().flat_map(|range| number(&range[0])..=number(&range[1]));
        of_study.entry(study).or_default().extend(places);
        let way = &row["where"]["path"];
        let known = ways.entry((study, number(&row["case"]["index"]))).or_insert(way);
        assert_eq!(*known, way, "{row}");
    }
    let all: Vec<&BTreeSet<u64>> = of_study.values().collect();
    assert!(all.windows(2).all(|two| two[0].last() < two[1].first()), "{of_study:?}");
}

/// `3587.2` as tables write it.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    match digits.len() {
        4.. => format!("{},{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..]),
        _ => digits,
    }
}

#[test]
fn two_storage_studies() {
    let study = |more: &str| {
        format!(
            "[[study]]\n[study.storage]\nrw = \"randwrite\"\nbs = [\"4k\"]\niodepth = [4]\n\
             numjobs = 1\nduration = \"300ms\"\nblocks = 6\n{more}\n"
        )
    };
    let plan = format!(
        "testbed = \"sim:x450a-48t,hosts=4\"\nseed = 7\n{}{}",
        study(""),
        study("replicas = [\"h3/eth1\"]")
    );
    let shown = Shown::of("two-storage", &plan);
    let iops = [1, 2].map(|study| shown.value(study, "iops", &[("operation", "write")]));
    assert!(iops[0] > 1.02 * iops[1], "{iops:?}");
    for (iops, id) in iops.iter().zip(["run1-1-storage", "run1-2-storage"]) {
        let (own, text) = (thousands(*iops), shown.section(id));
        assert!(text.contains(&own), "{own} is not in {id}");
        let sentences = shown.text.lines().take_while(|line| !line.starts_with('─'));
        assert!(sentences.collect::<String>().contains(&own), "{own}: {}", shown.text);
    }
    assert!(!shown.section("run1-2-storage").contains(&thousands(iops[0])));
}

#[test]
fn two_storage_mixes() {
    let study = |reads: u32| {
        format!(
            "[[study]]\n[study.storage]\nrw = \"randrw\"\nrwmixread = {reads}\nbs = [\"4k\"]\n\
             iodepth = [4]\nnumjobs = 1\nduration = \"300ms\"\nblocks = 6\n"
        )
    };
    let plan = format!("testbed = \"sim:x450a-48t,hosts=4\"\nseed = 7\n{}{}", study(90), study(10));
    let shown = Shown::of("two-mixes", &plan);
    for study in [1, 2] {
        let section = shown.section(&format!("run1-{study}-storage"));
        for operation in ["read", "write"] {
            let iops = shown.value(study, "iops", &[("operation", operation)]);
            assert!(section.contains(&thousands(iops)), "study {study}: {operation} {iops}");
        }
    }
}

#[test]
fn two_tcp_studies() {
    let study = |from: &str, to: &str| {
        format!(
            "[[study]]\n[study.tcp]\nfrom = \"{from}/eth1\"\nto = \"{to}/eth1\"\n\
             duration = \"1s\"\nblocks = 6\n"
        )
    };
    let plan = format!(
        "testbed = \"sim:teg-s16g,hosts=4\"\nseed = 7\n{}{}",
        study("h1", "h2"),
        study("h3", "h4")
    );
    let shown = Shown::of("two-tcp", &plan);
    for way in ["h1 -> h2", "h3 -> h4"] {
        assert!(shown.text.matches(way).count() >= 2, "{way}: {}", shown.text);
    }
    assert!(shown.section("run1-1-tcp").contains("h1 → h2"));
    assert!(!shown.section("run1-2-tcp").contains("h1 → h2"));
    assert!(shown.section("run1-2-tcp").contains("h3 → h4"));
}

#[test]
fn a_closed_and_an_open_loop() {
    let study = |more: &str| {
        format!(
            "[[study]]\n[study.latency]\nprotocols = [\"udp\"]\nsizes = [64]\n\
             duration = \"100ms\"\nblocks = 6\n{more}\n"
        )
    };
    let plan = format!(
        "testbed = \"sim:c2758-router\"\nseed = 7\n{}{}",
        study(""),
        study("open_loop = \"600kpps\"")
    );
    let shown = Shown::of("two-latency", &plan);
    let [closed, open] = [1, 2].map(|study| shown.value(study, "rtt", &[]));
    assert!(open > 5.0 * closed, "{closed} {open}");
    // Nanoseconds, as three digits of milliseconds.
    let open = format!("{:.2}", open / 1e6);
    assert!(shown.section("run1-2-latency").contains(&open), "{open}");
    assert!(shown.text.contains(&open), "{open}: {}", shown.text);
    assert!(!shown.section("run1-1-latency").contains(&open));
}

#[test]
fn senders_are_not_ports() {
    let study = |senders: u32| {
        format!(
            "[[study]]\n[study.forwarding]\ntests = [\"throughput\"]\nsizes = [64]\n\
             senders = {senders}\n"
        )
    };
    let plan = format!(
        "testbed = \"sim:x450a-48t\"\nseed = 7\n{}{}[[accept]]\nmetric = \"throughput\"\n\
         where = {{ frame_size = 64 }}\nat_least = \"1Mpps\"\n",
        study(1),
        study(4)
    );
    let shown = Shown::of("senders", &plan);
    assert!(!shown.text.contains("4 ports"), "{}", shown.text);
    for study in ["Study 1", "Study 2"] {
        assert!(shown.text.contains(study), "{study}: {}", shown.text);
    }
    let threads = |study: u64| {
        let own = shown.rows.iter().filter(move |row| row["case"]["study"] == study);
        own.filter(|row| row["where"]["senders_a_port"] == 4).count()
    };
    assert_eq!(threads(1), 0);
    assert!(threads(2) > 0);
}

#[test]
fn runs_of_two_studies_of_one_kind_are_compared_study_by_study() {
    let study = |rate: &str| {
        format!(
            "[[study]]\n[study.latency]\nprotocols = [\"udp\"]\nsizes = [64]\n\
             duration = \"100ms\"\nblocks = 8\nloads = [\"udp:{rate}\"]\n"
        )
    };
    let scratch = Scratch::new("compared");
    let plan =
        format!("testbed = \"sim:c2758-router\"\nseed = 7\n{}{}", study("10kpps"), study("10kpps"));
    std::fs::write(scratch.path("plan.toml"), plan).expect("a plan");
    for label in ["one", "other"] {
        ask(&scratch, &["run", "plan.toml", "--label", label]);
    }
    let json = ask(&scratch, &["compare", "one", "other", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let rows = json["figures"].as_array().unwrap_or_else(|| panic!("{json}"));
    let medians = |nth: Option<u64>| {
        let of = |row: &&Value| row["where"]["of"] == "rtt" && row["where"]["of_quantile"] == 0.5;
        let own = rows.iter().filter(of).filter(|row| row["where"]["nth"].as_u64() == nth);
        own.map(|row| row["case"]["study"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!((medians(None), medians(Some(2))), (vec![Some(1)], vec![Some(2)]), "{json}");
}
