//! A switching study's request: what is left open, and a plan's keys and faults.

use std::path::Path;

use measure::{FrameSize, Nanos, Rate};
use study::switching::{LearnRate, PortCount, Stations, Switching};
use study::{StudySpec, SwitchTest, SwitchingSpec};

use crate::config::request::from_flags;
use crate::config::source::SourceText;
use crate::config::{plan, testbed};

fn resolved(keys: &str) -> SwitchingSpec {
    let request: Switching = toml::from_str(keys).expect(keys);
    let testbed = testbed::from_argument("--testbed", "lab:bridge,hosts=4");
    let Ok(StudySpec::Switching(spec)) = from_flags(&request, &testbed.expect("a lab")) else {
        panic!("{keys}")
    };
    spec
}

#[test]
fn what_is_left_open_comes_from_the_profile() {
    assert_eq!(resolved(""), SwitchingSpec::quick());
    let longer = resolved("duration = \"7s\"");
    assert_eq!(longer.final_duration, longer.duration);
    let testbed = "sim:PROFILES/x450a-48t.toml";
    let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
    let testbed = testbed.replace("PROFILES", profiles);
    let testbed = testbed::from_argument("--testbed", &testbed);
    let study = from_flags(&Switching::default(), &testbed.expect("a model"));
    let Ok(StudySpec::Switching(spec)) = study else { panic!("{study:?}") };
    assert_eq!(spec.link_rate, Some(Rate(1_000_000_000)));
}

const PLAN: &str = r#"testbed = "lab:bridge,hosts=4"
[[study]]
[study.switching]
tests = ["incast", "mesh"]
sizes = [128]
ports = 4
duration = "200ms"
final_duration = "1s"
stations = 100
learn_rate = 500
"#;

#[test]
fn every_key_is_taken() {
    let plan = plan::resolve(&SourceText::file("plan.toml", PLAN), Path::new("")).expect("a plan");
    let expected = SwitchingSpec {
        tests: vec![SwitchTest::Mesh, SwitchTest::Incast],
        frames: vec![FrameSize::new(128).expect("legal")],
        ports: PortCount::known(4),
        duration: Nanos::from_millis(200),
        final_duration: Nanos::from_secs(1),
        stations: Stations::known(100),
        learn_rate: LearnRate::known(500),
        ..SwitchingSpec::quick()
    };
    assert_eq!(plan.studies, [StudySpec::Switching(expected)]);
}

#[test]
fn a_fault_is_shown_at_its_place() {
    let table = [
        ("\"mesh\"", "\"mash\"", "not a test"),
        ("ports = 4", "ports = 1", "1 is outside the range"),
        ("stations = 100", "stations = 0", "0 is outside the range"),
        ("sizes", "size", "unknown key `size`"),
    ];
    for (from, to, says) in table {
        let text = PLAN.replacen(from, to, 1);
        assert_ne!(text, PLAN, "{from}");
        let error =
            plan::resolve(&SourceText::file("plan.toml", text), Path::new("")).expect_err(to);
        assert!(error.message.contains(says), "{to}: {}", error.message);
        assert!(!error.hint.is_empty(), "{to}");
    }
}
