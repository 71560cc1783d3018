//! The report: well-formed, self-contained, complete, and unmoved by hostile names or missing
//! values.

use crate::synthetic;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use render::figures_json;
use study::run::{ReportInput, RunMeta, TrialAccount, TrialTotals};
use trial::{Topology, Trial, TrialRecord};

/// Elements that HTML closes by itself.
const VOID: [&str; 3] = ["meta", "link", "br"];

/// Checks that tags balance and returns how many elements there are; style and script are opaque.
fn check_balanced(html: &str) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut elements = 0;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            assert_eq!(last, Some(name), "before: {}", &rest[..rest.len().min(200)]);
            continue;
        }
        elements += 1;
        let name = tag.split([' ', '/']).next().expect("a tag has a name");
        if matches!(name, "style" | "script") {
            let close = format!("</{name}>");
            let skip = rest.find(&close).expect("it is closed");
            rest = &rest[skip + close.len()..];
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    elements
}

fn render(meta: &RunMeta, figures: &[Figure], records: &[(Trial, TrialRecord)]) -> String {
    let trials = TrialTotals::from_trials(records);
    let pages = [(std::num::NonZeroU16::MIN, synthetic::page(figures))];
    let input = ReportInput {
        meta,
        figures,
        claims: &[],
        pages: &pages,
        trials: &trials,
        comparable: None,
    };
    let html = render::html(study::run::document(&[input]), synthetic::BEGAN).expect("it renders");
    check_balanced(&html);
    for forbidden in ["http://", "https://", "src=", "url(", "@import", "<link rel=\"stylesheet"] {
        assert!(!html.contains(forbidden), "a reference to the outside: {forbidden}");
    }
    html
}

fn count(html: &str, what: &str) -> usize {
    html.matches(what).count()
}

#[test]
fn a_whole_run_is_shown() {
    let (meta, figures, records) =
        (synthetic::meta("20261121-140312-5e7d"), synthetic::figures(), synthetic::records(7));
    let html = render(&meta, &figures, &records);
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("synthetic-report.html");
    std::fs::write(&path, &html).expect("the target directory can be written");
    // The testbed, and the way on which frames were lost.
    assert_eq!(count(&html, r#"<svg class="testbed""#), 2);
    assert!(count(&html, r#"class="verdict "#) > 0, "questions are answered");
    for text in [
        "agent on h2 ended (synthetic)",
        "switchmark demo --seed 7",
        "6.18.0 (synthetic)",
        "qdisc_drops",
        "p99.9",
    ] {
        assert!(html.contains(text), "missing: {text}");
    }
    for name in ["quick-profile", "shared-machine", "software-timestamps", "search-ceiling"] {
        assert_eq!(count(&html, &format!("<dt>{name}</dt>")), 1, "{name} is explained once");
    }
    assert!(!html.contains("NaN") && !html.contains("inf,"), "every coordinate is a number");
}

#[test]
fn devices_and_conformance_of_a_suite_are_shown() {
    let (meta, figures, records) = (
        synthetic::suite::meta("suite"),
        synthetic::suite::figures(),
        synthetic::suite::records(7),
    );
    let html = render(&meta, &figures, &records);
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("synthetic-suite.html");
    std::fs::write(&path, &html).expect("the target directory can be written");
    for text in [
        "Conformance to RFC 2544",
        "router gro-off, in 24 trials",
        "generic-receive-offload: off",
        "not carried out",
        "not-resettable",
    ] {
        assert!(html.contains(text), "missing: {text}");
    }
    assert!(!html.contains("<b>synthetic</b>"), "what a probe said stays text");
    assert!(!html.contains("NaN") && !html.contains("inf,"), "every coordinate is a number");
    let (first, last) = (html.find(">deviates<"), html.rfind(">deviates<"));
    let kept = html.find(">conforms<").expect("some clause is kept");
    assert!(first < Some(kept) && last < Some(kept), "deviations come first");
}

#[test]
fn records_of_an_older_program_are_still_shown() {
    let (trial, mut record) = synthetic::suite::records(3).swap_remove(0);
    record.device.probe = None;
    let mut old = serde_json::to_value((&trial, &record)).expect("it is written");
    let [trial, record] = [0, 1].map(|at| old[at].as_object_mut().map(std::mem::take));
    let (mut trial, mut record) = (trial.expect("a trial"), record.expect("a record"));
    for name in ["subject", "events"] {
        trial.remove(name);
    }
    record.remove("device");
    let flow = &mut trial["flows"][0]["kind"]["datagrams"];
    let done = &mut record["flows"][0]["datagrams"];
    for name in ["receiver", "headers"] {
        flow.as_object_mut().expect("a flow").remove(name);
    }
    for name in ["receiver", "receiver_reason", "delays"] {
        done.as_object_mut().expect("a flow's record").remove(name);
    }
    let trial: Trial = serde_json::from_value(trial.into()).expect("an old trial is read");
    let record: TrialRecord = serde_json::from_value(record.into()).expect("an old record is read");
    render(&synthetic::meta("old"), &synthetic::figures(), &[(trial, record)]);
}

#[test]
fn hostile_names_stay_text() {
    const EVIL: &str = "<script>alert('1')</script>\"'&\u{7}";
    let mut meta = synthetic::meta(EVIL);
    evil_topology(&mut meta.topology, EVIL);
    for text in [&mut meta.verb, &mut meta.command_line, &mut meta.version] {
        EVIL.clone_into(text);
    }
    meta.notes = vec![EVIL.to_owned()];
    meta.facts = [(EVIL.to_owned(), [(EVIL.to_owned(), EVIL.to_owned())].into())].into();
    let mut figures = synthetic::figures();
    for figure in &mut figures {
        for key in ["device", "variant", "from", "protocol", "goal", "direction", "estimate", EVIL]
        {
            figure.set(Key::named(key), EVIL);
        }
    }
    let mut records = synthetic::records(7);
    for (trial, record) in &mut records {
        EVIL.clone_into(&mut trial.label);
        trial.subject =
            Some(trial::Subject { device: EVIL.to_owned(), variant: Some(EVIL.to_owned()) });
        record.device.probe = Some(EVIL.to_owned());
        for flow in &mut record.flows {
            if let trial::FlowRecord::Datagrams(done) = flow {
                for text in [&mut done.backend, &mut done.backend_reason, &mut done.receiver] {
                    EVIL.clone_into(text);
                }
            }
        }
        for host in &mut record.hosts {
            EVIL.clone_into(&mut host.host);
        }
        for port in &mut record.ports {
            EVIL.clone_into(&mut port.place);
        }
    }
    records.push((records[0].0.clone(), synthetic::failed_record(1, EVIL)));
    let html = render(&meta, &figures, &records);
    assert_eq!(count(&html, "<script"), 1, "only our own");
    assert!(!html.contains("alert('1')"));
}

fn evil_topology(topology: &mut Topology, evil: &str) {
    evil.clone_into(&mut topology.name);
    for host in &mut topology.hosts {
        evil.clone_into(&mut host.name);
        evil.clone_into(&mut host.reach);
        for port in &mut host.ports {
            evil.clone_into(&mut port.name);
            port.interfaces = vec![evil.to_owned()];
        }
    }
    for device in &mut topology.devices {
        evil.clone_into(&mut device.name);
        device.facts = [(evil.to_owned(), evil.to_owned())].into();
    }
}

#[test]
fn a_run_without_results_says_so() {
    let meta = synthetic::meta("empty");
    let html = render(&meta, &[], &[]);
    assert!(html.contains("There is no figure to state"));
    let trial = synthetic::datagram_trial(64, 1e5, trial::Path::Device, 0);
    let failed = vec![(trial, synthetic::failed_record(0, "no carrier"))];
    let html = render(&meta, &[], &failed);
    assert!(html.contains("0 valid, 0 invalid, 1 failed") && html.contains("no carrier"));
    let html = render::html(study::run::document(&[]), 0).expect("it renders");
    check_balanced(&html);
}

#[test]
fn missing_values_are_dashes() {
    let mut figures = synthetic::figures();
    for figure in &mut figures {
        (figure.value, figure.low, figure.high, figure.confidence) = (None, None, None, None);
        figure.caveats = vec![Caveat::NoValidTrial];
        figure.verdict = Verdict::Undetermined;
    }
    let html = render(&synthetic::meta("none"), &figures, &[]);
    assert!(html.contains(">–<"), "a dash for what is missing");
    assert!(!html.contains("NaN"));
}

#[test]
fn figures_without_conditions_or_direct_cable_do_no_harm() {
    let mut figures = synthetic::figures();
    figures.retain(|f| f.conditions.get(&Key::Path) != Some(&"bypass".into()));
    figures.retain(|f| f.metric != Metric::RttAdded);
    let html = render(&synthetic::meta("alone"), &figures, &synthetic::records(1));
    assert!(html.contains("Synthetic rtt"));
    for figure in &mut figures {
        figure.conditions.clear();
        figure.value = figure.value.map(|_| f64::INFINITY);
    }
    render(&synthetic::meta("bare"), &figures, &[]);
}

#[test]
fn several_runs_share_one_page() {
    let (a, b) = (synthetic::meta("a"), synthetic::meta("b"));
    let (figures, records) = (synthetic::figures(), synthetic::records(3));
    let [some, none] = [&records[..], &[]].map(TrialTotals::from_trials);
    let pages = [(std::num::NonZeroU16::MIN, synthetic::page(&figures))];
    let inputs = [
        ReportInput {
            meta: &a,
            figures: &figures,
            claims: &[],
            pages: &pages,
            trials: &some,
            comparable: None,
        },
        ReportInput {
            meta: &b,
            figures: &[],
            claims: &[],
            pages: &[],
            trials: &none,
            comparable: None,
        },
    ];
    let html = render::html(study::run::document(&inputs), synthetic::BEGAN).expect("it renders");
    check_balanced(&html);
    for id in ["id=\"run1\"", "id=\"run2\"", "id=\"run1-synthetic\"", "id=\"run2-conditions\""] {
        assert_eq!(count(&html, id), 1, "{id}");
    }
}

#[test]
fn rows_have_the_documented_shape() {
    let meta = synthetic::meta("r");
    let mut figure =
        synthetic::figure(Metric::Rtt, Unit::Nanoseconds, Some(31_800.0), trial::Path::Device);
    figure.quantile = Some(0.5);
    let rows = figures_json(synthetic::labels(&meta), &[figure], &TrialAccount::default());
    assert_eq!(rows["trials"]["valid"], 0);
    assert_eq!(rows["schema"], "switchmark/3");
    assert_eq!((&rows["run"], &rows["verb"]), (&"r".into(), &"demo".into()));
    let row = &rows["figures"][0];
    assert_eq!((&row["metric"], &row["unit"]), (&"rtt".into(), &"ns".into()));
    assert_eq!((&row["value"], &row["quantile"]), (&31_800.0.into(), &0.5.into()));
    assert_eq!((&row["verdict"], &row["where"]["path"]), (&"device".into(), &"device".into()));
    assert_eq!(row["caveats"][0], "quick-profile");
}
