//! A fabric's request: what is left open, and a plan's keys and faults.

use std::path::Path;

use measure::{ByteCount, Nanos};
use study::fabric::Fabric;
use study::{Arrangement, Blocks, FabricSpec, Nodes, StudySpec};
use trial::Carrier;

use crate::config::request::from_flags;
use crate::config::source::SourceText;
use crate::config::{plan, testbed};

fn resolved(request: &Fabric, name: &str) -> FabricSpec {
    let testbed = testbed::from_argument("--testbed", name).expect(name);
    let Ok(StudySpec::Fabric(spec)) = from_flags(request, &testbed) else { panic!("{name}") };
    spec
}

#[test]
fn what_is_left_open_comes_from_the_profile() {
    let quick = resolved(&Fabric::default(), "lab:bridge");
    assert_eq!(quick, FabricSpec { infer: true, ..FabricSpec::quick() });
    let asked: Fabric = toml::from_str("nodes = [2, 8]\nduration = \"50ms\"").unwrap();
    let short = resolved(&asked, "lab:bridge");
    assert_eq!(short.nodes, Nodes::These(vec![2, 8]));
    assert_eq!(short.interval, short.duration);
    let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
    let sim = format!("sim:{profiles}/s400-48t.toml");
    assert_eq!(resolved(&asked, &sim).duration, Nanos::from_millis(50));
    let virtual_time = resolved(&Fabric::default(), &sim);
    assert_eq!(virtual_time.duration, Nanos::from_millis(100));
    assert_eq!(virtual_time.interval, Nanos::from_millis(10));
}

const PLAN: &str = r#"testbed = "lab:bridge,hosts=4"
[[study]]
[study.fabric]
arrangements = ["neighbours", "offset=2", "tournament"]
nodes = [2, 4]
message = "16KiB"
messages = ["1KiB", "32KiB"]
carrier = "datagrams:7"
infer = true
margin = "2%"
interval = "50ms"
duration = "500ms"
blocks = 4
"#;

#[test]
fn every_key_is_taken() {
    let plan = plan::resolve(&SourceText::file("plan.toml", PLAN), Path::new("")).expect("a plan");
    let [StudySpec::Fabric(spec)] = &plan.studies[..] else { panic!("{:?}", plan.studies) };
    let expected = FabricSpec {
        arrangements: vec![
            Arrangement::Neighbours,
            Arrangement::Offset(2),
            Arrangement::Tournament,
        ],
        nodes: Nodes::These(vec![2, 4]),
        message: ByteCount(16 << 10),
        messages: vec![ByteCount(1 << 10), ByteCount(32 << 10)],
        carrier: Carrier::Datagrams { credits: 7 },
        infer: true,
        margin: 0.02,
        interval: Nanos::from_millis(50),
        duration: Nanos::from_millis(500),
        blocks: Blocks::known(4),
        ..FabricSpec::quick()
    };
    assert_eq!(*spec, expected);
}

#[test]
fn a_fault_is_shown_at_its_place() {
    // What is changed, into what, and what the caret stands under.
    let table = [
        ("\"offset=2\"", "\"ofset=2\"", "\"ofset=2\"", "not an arrangement"),
        ("[2, 4]", "[2, 5]", "5", "5 ports cannot all be in pairs"),
        ("[2, 4]", "[0]", "0", "0 is outside the range"),
        ("\"16KiB\"", "\"16KB/s\"", "\"16KB/s\"", ""),
        ("\"16KiB\"", "\"32MiB\"", "\"32MiB\"", "32MiB is outside the range of a message"),
        ("datagrams:7", "datagrams:0", "\"datagrams:0\"", "is not a carrier"),
        ("\"2%\"", "\"200%\"", "\"200%\"", "is not a margin"),
        ("\"50ms\"", "\"5s\"", "\"5s\"", "longer than a trial's"),
        ("margin", "marign", "marign", "unknown key `marign`"),
    ];
    for (from, to, at, says) in table {
        let text = PLAN.replacen(from, to, 1);
        assert_ne!(text, PLAN, "{from}");
        let error =
            plan::resolve(&SourceText::file("plan.toml", text), Path::new("")).expect_err(to);
        assert!(error.message.contains(says), "{to}: {}", error.message);
        let caret = error.excerpt.lines().last().unwrap_or_default();
        let under: usize = caret.matches('^').count();
        assert_eq!(under, at.len(), "{to}:\n{}", error.excerpt);
        assert!(!error.hint.is_empty(), "{to}");
    }
}
