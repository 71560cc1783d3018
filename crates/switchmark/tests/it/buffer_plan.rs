//! The plan's `[study.buffer]`: what it comes to, and the place and hint of each mistake. Only
//! words are tested here; nothing is built.

use std::path::Path;

use measure::{FrameSize, Nanos, Rate};
use study::{Background, BufferSpec, StudySpec};
use switchmark::config::{ConfigError, SourceText, plan};

fn read(table: &str) -> Result<BufferSpec, ConfigError> {
    let text =
        format!("testbed = \"lab:bridge,hosts=4,mtu=1500\"\n[[study]]\n[study.buffer]\n{table}\n");
    let plan = plan::resolve(&SourceText::file("plan.toml", text), Path::new(""))?;
    match &plan.studies[..] {
        [StudySpec::Buffer(spec)] => Ok(spec.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_absent_comes_from_profile_and_testbed() {
    assert_eq!(
        read(""),
        Ok(BufferSpec { mtu: study::buffer::Mtu::known(1500), ..BufferSpec::quick() })
    );
    let spec = read(
        r#"
        profile = "strict"
        from = "h1/eth1"
        background_from = "h4/eth1"
        congestion_controls = ["reno", "cubic"]
        streams = [1, 4]
        backgrounds = ["20Mbit", "12.5%"]
        background_size = 512
        link_rate = "100Mbit"
        omit = "0s"
        variation = 0.1
        "#,
    )
    .expect("a study");
    assert_eq!(spec.congestion_controls, ["reno", "cubic"]);
    assert_eq!(spec.streams, [1, 4]);
    let loads = [Background::Payload(Rate(20_000_000)), Background::Share(0.125)];
    assert_eq!(spec.backgrounds, loads);
    assert_eq!(spec.background_size, FrameSize::new(512).expect("legal"));
    assert_eq!(spec.link_rate, Some(Rate(100_000_000)));
    assert_eq!((spec.omit, spec.duration), (Nanos::ZERO, Nanos::from_secs(30)));
    assert!((spec.limits.variation.get() - 0.1).abs() < 1e-12);
    let ports = [&spec.ports.from, &spec.ports.to, &spec.ports.background_from];
    let named = ports.map(|port| port.as_ref().map(ToString::to_string));
    assert_eq!(named, [Some("h1/eth1".to_owned()), None, Some("h4/eth1".to_owned())]);
    assert_eq!(read("backgrounds = []").expect("TCP alone").backgrounds, []);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let table = [
        ("backgrounds = [\"fast\"]", "`fast` is not a load", "\"fast\""),
        ("backgrounds = [\"120%\"]", "120% leaves TCP nothing", "\"120%\""),
        ("streams = [0]", "0 is outside the range of streams, 1…256", "0"),
        ("to = \"h2\"", "`h2` is not of the form name/port", "\"h2\""),
        ("background_size = 9018", "needs an MTU of 9018 - 18", "9018"),
        ("share = 1.5", "1.5 is outside the range of this limit", "1.5"),
        ("omit = \"5\"", "", "\"5\""),
        ("strams = [1]", "unknown key `strams`", "strams"),
    ];
    for (line, message, place) in table {
        let error = read(line).expect_err(line);
        assert!(error.message.contains(message), "{line}: {}", error.message);
        let carets = "^".repeat(place.chars().count());
        assert!(error.excerpt.contains(&format!(" {carets}\n")), "{line}:\n{}", error.excerpt);
        assert!(!error.hint.is_empty(), "{line}");
    }
}
