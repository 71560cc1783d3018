//! `[study.fabric]`: the table's typed form, and the study that it asks for.
//!
//! Owns its keys. Never decides a default: what is absent here is the profile's.

use measure::{ByteCount, Nanos};
use method::{Arrangement, Recabling, StudySpec};
use serde::Deserialize;
use toml::Spanned;

use super::values::{self, ProfileFile};
use crate::config::fabric::{self, FabricAsk};
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
use crate::config::typed::{self, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FabricFile {
    profile: Option<ProfileFile>,
    #[serde(default)]
    arrangements: Vec<Text>,
    #[serde(default)]
    nodes: Vec<Spanned<i64>>,
    message: Option<Text>,
    #[serde(default)]
    messages: Vec<Text>,
    carrier: Option<Text>,
    #[serde(default)]
    infer: Option<bool>,
    hosts: Option<u32>,
    ports: Option<u32>,
    #[serde(default)]
    devices: Vec<Text>,
    #[serde(default)]
    variants: Vec<Text>,
    margin: Option<Text>,
    interval: Option<Text>,
    duration: Option<Text>,
    blocks: Option<Spanned<i64>>,
}

impl FabricFile {
    pub(super) fn resolve(&self, testbed: &Testbed) -> Result<StudySpec, Fault> {
        let duration = self.duration.as_ref().map(values::duration).transpose()?;
        let ask = FabricAsk {
            profile: self.profile.map(Into::into),
            arrangements: self.arrangements.iter().map(arrangement).collect::<Result<_, _>>()?,
            nodes: self.nodes.iter().map(nodes).collect::<Result<_, _>>()?,
            message: self.message.as_ref().map(message).transpose()?,
            messages: self.messages.iter().map(message).collect::<Result<_, _>>()?,
            carrier: self.carrier.as_ref().map(|text| told(text, fabric::carrier)).transpose()?,
            infer: self.infer,
            recabling: self.hosts.zip(self.ports).map(|(hosts, ports)| Recabling { hosts, ports }),
            subjects: values::subjects(&self.devices, &self.variants, testbed)?,
            margin: self.margin.as_ref().map(|text| told(text, fabric::margin)).transpose()?,
            interval: self.interval.as_ref().map(interval).transpose()?,
            duration,
            blocks: self.blocks.as_ref().map(values::blocks).transpose()?,
        };
        let study = ask.resolve(testbed);
        if let (StudySpec::Fabric(spec), Some(text)) = (&study, &self.interval)
            && spec.interval > spec.duration
        {
            let message = format!("{} is longer than a trial's {}", spec.interval, spec.duration);
            return Err(Fault::new(text.span(), message, "a tenth of the duration is usual"));
        }
        Ok(study)
    }
}

fn arrangement(text: &Text) -> Result<Arrangement, Fault> {
    text.get_ref().parse().map_err(|error: method::study::fabric::arrangement::NotAnArrangement| {
        let example =
            "write \"neighbours\", \"offset=12\", \"sweep\", \"bisections=50\" or \"tournament\"";
        Fault::new(text.span(), error.to_string(), example)
    })
}

fn nodes(value: &Spanned<i64>) -> Result<u32, Fault> {
    let count = values::count(value, 2..=4096, "ports that talk at once", "2, 4, 8… are usual")?;
    if u32::is_multiple_of(count, 2) {
        return Ok(count);
    }
    let message = format!("{count} ports can't all be in pairs");
    Err(Fault::new(value.span(), message, "give an even number"))
}

fn message(text: &Text) -> Result<ByteCount, Fault> {
    let size: ByteCount = typed::unit(text, str::parse, "\"64KiB\"")?;
    if (1..=16 << 20).contains(&size.0) {
        return Ok(size);
    }
    let message = format!("{size} is outside the range of a message, 1B…16MiB");
    Err(Fault::new(text.span(), message, "1 to 128 KiB are usual"))
}

fn interval(text: &Text) -> Result<Nanos, Fault> {
    let interval: Nanos = typed::unit(text, str::parse, "\"100ms\"")?;
    if interval > Nanos::ZERO {
        return Ok(interval);
    }
    Err(Fault::new(text.span(), "an interval of 0 has no rate", "a tenth of the duration is usual"))
}

fn told<T>(text: &Text, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Fault> {
    read(text.get_ref()).map_err(|message| match message.split_once(';') {
        Some((what, hint)) => Fault::new(text.span(), what.to_owned(), hint.trim().to_owned()),
        None => Fault::new(text.span(), message, ""),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use method::{FabricSpec, Nodes};
    use trial::Carrier;

    use super::super::resolve;
    use super::*;
    use crate::config::source::SourceText;

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
        let plan = resolve(&SourceText::file("plan.toml", PLAN), Path::new("")).expect("a plan");
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
            recabling: None,
            margin: 0.02,
            interval: Nanos::from_millis(50),
            duration: Nanos::from_millis(500),
            blocks: 4,
            ..FabricSpec::quick()
        };
        assert_eq!(*spec, expected);
    }

    #[test]
    fn a_fault_is_shown_at_its_place() {
        // What is changed, into what, and what the caret stands under.
        let table = [
            ("\"offset=2\"", "\"ofset=2\"", "\"ofset=2\"", "not an arrangement"),
            ("[2, 4]", "[2, 5]", "5", "5 ports can't all be in pairs"),
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
            let error = resolve(&SourceText::file("plan.toml", text), Path::new("")).expect_err(to);
            assert!(error.message.contains(says), "{to}: {}", error.message);
            let caret = error.excerpt.lines().last().unwrap_or_default();
            let under: usize = caret.matches('^').count();
            assert_eq!(under, at.len(), "{to}:\n{}", error.excerpt);
            assert!(!error.hint.is_empty(), "{to}");
        }
    }
}
