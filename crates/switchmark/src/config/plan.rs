//! The plan file: a testbed, a seed, and the studies to carry out on it.
//!
//! Owns the file's typed form and every check that needs a place to point at. Never runs anything.

use std::ops::Range;
use std::path::Path;

use measure::{FrameSize, Nanos, UnitError};
use method::trial::{Backend, Protocol};
use method::{ForwardingTest, Profile, StudySpec};
use serde::Deserialize;
use toml::Spanned;

use super::resolved::Testbed;
use super::source::{ConfigError, Fault, SourceText};
use super::study::{self, ForwardingAsk, LatencyAsk, Misfit};
use super::typed::{self, Text, not_yet};
use super::{frame_rate, lab_name, testbed};

/// What shall be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Where.
    pub testbed: Testbed,
    /// Of every random choice; `None` leaves it to the caller, who records what was drawn.
    pub seed: Option<u64>,
    /// What, in this order.
    pub studies: Vec<StudySpec>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    testbed: Text,
    seed: Option<u64>,
    #[serde(default)]
    study: Vec<Spanned<StudyFile>>,
    campaign: Option<Spanned<toml::Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StudyFile {
    Latency(LatencyFile),
    Forwarding(ForwardingFile),
    Fabric(Spanned<toml::Value>),
    Buffer(Spanned<toml::Value>),
    Storage(Spanned<toml::Value>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencyFile {
    profile: Option<ProfileFile>,
    #[serde(default)]
    protocols: Vec<Protocol>,
    #[serde(default)]
    sizes: Vec<Spanned<i64>>,
    #[serde(default)]
    ip_lengths: Vec<Spanned<i64>>,
    #[serde(default)]
    payloads: Vec<Spanned<i64>>,
    #[serde(default)]
    loads: Vec<Text>,
    open_loop: Option<Text>,
    duration: Option<Text>,
    blocks: Option<Spanned<i64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForwardingFile {
    profile: Option<ProfileFile>,
    #[serde(default)]
    tests: Vec<ForwardingTest>,
    #[serde(default)]
    sizes: Vec<Spanned<i64>>,
    #[serde(default)]
    ip_lengths: Vec<Spanned<i64>>,
    #[serde(default)]
    payloads: Vec<Spanned<i64>>,
    backend: Option<Backend>,
    duration: Option<Text>,
    final_duration: Option<Text>,
    blocks: Option<Spanned<i64>>,
    precision: Option<Spanned<f64>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProfileFile {
    Quick,
    Strict,
}

impl From<ProfileFile> for Profile {
    fn from(profile: ProfileFile) -> Self {
        match profile {
            ProfileFile::Quick => Self::Quick,
            ProfileFile::Strict => Self::Strict,
        }
    }
}

/// Reads and resolves a plan file, and the testbed file that it names.
pub fn read(path: &Path) -> Result<Plan, ConfigError> {
    let source = SourceText::read(path)?;
    resolve(&source, path.parent().unwrap_or(Path::new("")))
}

/// Resolves a plan's text; a testbed file's path is relative to `directory`.
pub fn resolve(source: &SourceText, directory: &Path) -> Result<Plan, ConfigError> {
    let file: PlanFile = typed::read(source)?;
    if let Some(campaign) = &file.campaign {
        return Err(source.locate(not_yet("a campaign", campaign.span())));
    }
    let testbed = testbed_of(&file.testbed, source, directory)?;
    if file.study.is_empty() {
        let end = source.text.len();
        return Err(source.locate(Fault::new(
            end..end,
            "the plan has no study",
            "add a [[study]] table with [study.latency] or [study.forwarding] below it",
        )));
    }
    let studies: Result<Vec<StudySpec>, Fault> =
        file.study.iter().map(|s| study_of(s.get_ref(), &testbed)).collect();
    Ok(Plan { studies: studies.map_err(|f| source.locate(f))?, testbed, seed: file.seed })
}

fn testbed_of(text: &Text, source: &SourceText, base: &Path) -> Result<Testbed, ConfigError> {
    let name = text.get_ref();
    if name.starts_with(lab_name::PREFIX) {
        let quoted = text.span();
        let verbatim = quoted.len() == name.len() + 2;
        let lab = lab_name::parse(name).map_err(|mut fault| {
            fault.span = if verbatim {
                quoted.start + 1 + fault.span.start..quoted.start + 1 + fault.span.end
            } else {
                quoted.clone()
            };
            source.locate(fault)
        })?;
        return Ok(Testbed { name: name.clone(), source: super::resolved::Source::Lab(lab) });
    }
    if name.starts_with("sim:") {
        return Err(source.locate(not_yet("the simulator", text.span())));
    }
    let path = base.join(name);
    if !path.is_file() {
        return Err(source.locate(Fault::new(
            text.span(),
            format!("there is no testbed file `{}`", path.display()),
            "the path is relative to the plan; a lab is named lab:bridge",
        )));
    }
    let inner = SourceText::read(&path)?;
    testbed::from_source(&path.display().to_string(), &inner)
}

fn study_of(file: &StudyFile, testbed: &Testbed) -> Result<StudySpec, Fault> {
    match file {
        StudyFile::Latency(file) => latency_of(file, testbed),
        StudyFile::Forwarding(file) => forwarding_of(file, testbed),
        StudyFile::Fabric(value) => Err(not_yet("the study `fabric`", value.span())),
        StudyFile::Buffer(value) => Err(not_yet("the study `buffer`", value.span())),
        StudyFile::Storage(value) => Err(not_yet("the study `storage`", value.span())),
    }
}

fn latency_of(file: &LatencyFile, testbed: &Testbed) -> Result<StudySpec, Fault> {
    let mut loads = Vec::new();
    for text in &file.loads {
        let load = study::load(text.get_ref()).map_err(|e| {
            let example = "write \"idle\", \"udp:50kpps\", \"udp:50kpps@512\" or \"tcp:4\"";
            Fault::new(text.span(), e.to_string(), example)
        })?;
        study::load_fits(&load, testbed).map_err(|misfit| placed(text.span(), misfit))?;
        loads.push(load);
    }
    let sizes = sizes_of(&file.sizes, &file.ip_lengths, &file.payloads, testbed)?;
    let largest = sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
    let open_loop = file.open_loop.as_ref().map(|text| {
        let rate = typed::unit(text, frame_rate::parse, "\"1kpps\"")?;
        study::rate_fits(rate, largest, testbed).map_err(|misfit| placed(text.span(), misfit))?;
        Ok(rate)
    });
    let ask = LatencyAsk {
        profile: file.profile.map(Into::into),
        protocols: file.protocols.clone(),
        sizes,
        loads,
        open_loop: open_loop.transpose()?,
        duration: file.duration.as_ref().map(duration_of).transpose()?,
        blocks: file.blocks.as_ref().map(blocks_of).transpose()?,
    };
    Ok(ask.resolve())
}

fn forwarding_of(file: &ForwardingFile, testbed: &Testbed) -> Result<StudySpec, Fault> {
    let precision = file.precision.as_ref().map(|p| {
        let value = *p.get_ref();
        if (0.0001..=0.5).contains(&value) {
            return Ok(value);
        }
        let message = format!("{value} is outside the range of a precision, 0.0001…0.5");
        Err(Fault::new(p.span(), message, "0.005 ends a search within half a percent"))
    });
    let ask = ForwardingAsk {
        profile: file.profile.map(Into::into),
        tests: file.tests.clone(),
        sizes: sizes_of(&file.sizes, &file.ip_lengths, &file.payloads, testbed)?,
        backend: file.backend,
        duration: file.duration.as_ref().map(duration_of).transpose()?,
        final_duration: file.final_duration.as_ref().map(duration_of).transpose()?,
        blocks: file.blocks.as_ref().map(blocks_of).transpose()?,
        precision: precision.transpose()?,
    };
    Ok(ask.resolve(study::link_rate(testbed)))
}

fn placed(span: Range<usize>, (message, hint): Misfit) -> Fault {
    Fault::new(span, message, hint)
}

/// All sizes, whichever way each was stated.
fn sizes_of(
    frames: &[Spanned<i64>],
    ip_lengths: &[Spanned<i64>],
    payloads: &[Spanned<i64>],
    testbed: &Testbed,
) -> Result<Vec<FrameSize>, Fault> {
    type Make = fn(u32) -> Result<FrameSize, UnitError>;
    let ways: [(&[Spanned<i64>], Make, &str); 3] = [
        (frames, FrameSize::new, "frame sizes count from the MAC address through the FCS"),
        (ip_lengths, FrameSize::from_ip_length, "an IP length is the frame size less 18"),
        (payloads, FrameSize::from_udp_payload_v4, "a UDP payload is the frame size less 46"),
    ];
    let mut sizes = Vec::new();
    for (values, make, hint) in ways {
        for value in values {
            let octets = u32::try_from(*value.get_ref()).unwrap_or(if *value.get_ref() < 0 {
                0
            } else {
                u32::MAX
            });
            let size = make(octets).map_err(|e| Fault::new(value.span(), e.to_string(), hint))?;
            study::size_fits(size, testbed).map_err(|misfit| placed(value.span(), misfit))?;
            if !sizes.contains(&size) {
                sizes.push(size);
            }
        }
    }
    Ok(sizes)
}

fn duration_of(text: &Text) -> Result<Nanos, Fault> {
    let duration: Nanos = typed::unit(text, str::parse, "\"5s\" or \"300ms\"")?;
    check_duration(duration).map_err(|misfit| placed(text.span(), misfit))?;
    Ok(duration)
}

/// A load phase between 10 ms and a day.
pub fn check_duration(duration: Nanos) -> Result<(), Misfit> {
    if (Nanos::from_millis(10)..=Nanos::from_secs(86_400)).contains(&duration) {
        return Ok(());
    }
    let message = format!("{duration} is outside the range of a duration, 10ms…24h");
    Err((message, "300 ms are a look, 60 s are RFC 2544's".to_owned()))
}

fn blocks_of(value: &Spanned<i64>) -> Result<u32, Fault> {
    match u32::try_from(*value.get_ref()) {
        Ok(blocks @ 1..=1000) => Ok(blocks),
        _ => Err(Fault::new(
            value.span(),
            format!("{} is outside the range of blocks, 1…1000", value.get_ref()),
            "six are the least for a 95 % interval, ten the usual",
        )),
    }
}
