//! `[study.switching]`: the table's typed form, and the study that it asks for.
//!
//! Owns its keys. Never decides a default: what is absent here is the profile's.

use method::StudySpec;
use serde::Deserialize;
use toml::Spanned;
use trial::Headers;

use super::values::{self, ProfileFile, Sizes};
use crate::config::fit;
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
use crate::config::switching::{self, SwitchingAsk};
use crate::config::typed::Text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SwitchingFile {
    profile: Option<ProfileFile>,
    #[serde(default)]
    tests: Vec<Text>,
    #[serde(default)]
    sizes: Vec<Spanned<i64>>,
    ports: Option<Spanned<i64>>,
    #[serde(default)]
    devices: Vec<Text>,
    #[serde(default)]
    variants: Vec<Text>,
    duration: Option<Text>,
    final_duration: Option<Text>,
    stations: Option<Spanned<i64>>,
    learn_rate: Option<Spanned<i64>>,
}

impl SwitchingFile {
    pub(super) fn resolve(&self, testbed: &Testbed) -> Result<StudySpec, Fault> {
        let mut tests = Vec::new();
        for text in &self.tests {
            let named = switching::tests(text.get_ref()).map_err(|error| {
                let hint = "write \"rfc2889\", \"rfc8239\", or a test such as \"mesh\"";
                Fault::new(text.span(), error.to_string(), hint)
            })?;
            tests.extend(named);
        }
        let sizes = Sizes { frames: &self.sizes, ip_lengths: &[], payloads: &[] };
        let duration = |text: &Option<Text>| text.as_ref().map(values::duration).transpose();
        let ports = |value| values::count(value, 2..=255, "ports that take part", "8 are a look");
        let stations = |value| {
            values::count(value, 1..=1 << 20, "stations", "more than the table is said to hold")
        };
        let rate = |value| {
            values::count(value, 1..=1_000_000_000, "frames a second", "1000 is any switch's")
        };
        let ask = SwitchingAsk {
            profile: self.profile.map(Into::into),
            tests: switching::in_order(tests),
            frames: sizes.resolve(Headers::default(), testbed)?,
            ports: self.ports.as_ref().map(ports).transpose()?,
            subjects: values::subjects(&self.devices, &self.variants, testbed)?,
            duration: duration(&self.duration)?,
            final_duration: duration(&self.final_duration)?,
            stations: self.stations.as_ref().map(stations).transpose()?,
            learn_rate: self.learn_rate.as_ref().map(rate).transpose()?,
            ..SwitchingAsk::default()
        };
        Ok(ask.resolve(fit::link_rate(testbed)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use measure::{FrameSize, Nanos};
    use method::{SwitchTest, SwitchingSpec};

    use super::super::resolve;
    use super::*;
    use crate::config::source::SourceText;

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
        let plan = resolve(&SourceText::file("plan.toml", PLAN), Path::new("")).expect("a plan");
        let expected = SwitchingSpec {
            tests: vec![SwitchTest::Mesh, SwitchTest::Incast],
            frames: vec![FrameSize::new(128).expect("legal")],
            ports: 4,
            duration: Nanos::from_millis(200),
            final_duration: Nanos::from_secs(1),
            stations: 100,
            learn_rate: 500,
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
            let error = resolve(&SourceText::file("plan.toml", text), Path::new("")).expect_err(to);
            assert!(error.message.contains(says), "{to}: {}", error.message);
            assert!(!error.hint.is_empty(), "{to}");
        }
    }
}
