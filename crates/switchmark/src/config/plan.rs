//! The plan file: a testbed, a seed, and the studies to carry out on it.
//!
//! Owns the file's typed form and every check that needs a place to point at. Never runs anything.

mod buffer;
mod campaign;
mod depth;
mod fabric;
mod forwarding;
mod storage;
mod switching;
mod values;

use std::path::Path;

use measure::FrameSize;
use method::StudySpec;
use serde::Deserialize;
use toml::Spanned;
use trial::{Headers, Protocol};

use super::resolved::Testbed;
use super::source::{ConfigError, Fault, SourceText};
use super::study::{self, LatencyAsk};
use super::typed::{self, Text};
use super::{fit, frame_rate, lab_name, sim_name, testbed};
use buffer::BufferFile;
use campaign::CampaignFile;
use depth::DepthFile;
use fabric::FabricFile;
use forwarding::ForwardingFile;
pub use forwarding::MOST_SPREAD;
use storage::StorageFile;
use switching::SwitchingFile;
pub use values::check_duration;
use values::{ProfileFile, Sizes, placed};

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
    campaign: Option<Spanned<CampaignFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StudyFile {
    Latency(Box<LatencyFile>),
    Forwarding(Box<ForwardingFile>),
    Fabric(Box<FabricFile>),
    Buffer(Box<BufferFile>),
    Switching(Box<SwitchingFile>),
    Depth(Box<DepthFile>),
    Storage(Box<StorageFile>),
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
    #[serde(default)]
    devices: Vec<Text>,
    #[serde(default)]
    variants: Vec<Text>,
    open_loop: Option<Text>,
    duration: Option<Text>,
    blocks: Option<Spanned<i64>>,
}

/// Reads and resolves a plan file, and the testbed file that it names.
pub fn read(path: &Path) -> Result<Plan, ConfigError> {
    let source = SourceText::read(path)?;
    resolve(&source, path.parent().unwrap_or(Path::new("")))
}

/// Reads a plan file and resolves its studies on another testbed than its own, which is not looked
/// at.
pub fn read_for(path: &Path, testbed: Testbed) -> Result<Plan, ConfigError> {
    let source = SourceText::read(path)?;
    let file: PlanFile = typed::read(&source)?;
    resolve_on(&file, &source, testbed, path.parent().unwrap_or(Path::new("")))
}

/// Resolves a plan's text; a testbed file's path is relative to `directory`.
pub fn resolve(source: &SourceText, directory: &Path) -> Result<Plan, ConfigError> {
    let file: PlanFile = typed::read(source)?;
    let testbed = testbed_of(&file.testbed, source, directory)?;
    resolve_on(&file, source, testbed, directory)
}

fn resolve_on(
    file: &PlanFile,
    source: &SourceText,
    testbed: Testbed,
    base: &Path,
) -> Result<Plan, ConfigError> {
    if file.study.is_empty() {
        let end = source.text.len();
        return Err(source.locate(Fault::new(
            end..end,
            "the plan has no study",
            "add a [[study]] table with [study.latency] or [study.forwarding] below it",
        )));
    }
    let studies: Result<Vec<StudySpec>, Fault> =
        file.study.iter().map(|s| study_of(s.get_ref(), &testbed, base)).collect();
    let mut studies = studies.map_err(|f| source.locate(f))?;
    if let Some(campaign) = &file.campaign {
        let all = CampaignFile::resolve(campaign, studies, &testbed);
        studies = vec![all.map_err(|f| source.locate(f))?];
    }
    Ok(Plan { studies, testbed, seed: file.seed })
}

fn testbed_of(text: &Text, source: &SourceText, base: &Path) -> Result<Testbed, ConfigError> {
    let name = text.get_ref();
    let inside = |mut fault: Fault| {
        let quoted = text.span();
        let verbatim = quoted.len() == name.len() + 2;
        fault.span = if verbatim {
            quoted.start + 1 + fault.span.start..quoted.start + 1 + fault.span.end
        } else {
            quoted
        };
        source.locate(fault)
    };
    if name.starts_with(lab_name::PREFIX) {
        return lab_name::resolve(name, base).map_err(inside);
    }
    if name.starts_with(sim_name::PREFIX) {
        return sim_name::parse(name, base).map_err(inside);
    }
    let path = base.join(name);
    if !path.is_file() {
        return Err(source.locate(Fault::new(
            text.span(),
            format!("there is no testbed file `{}`", path.display()),
            "the path is relative to the plan; a lab is named lab:bridge, a model sim:PROFILE.toml",
        )));
    }
    let inner = SourceText::read(&path)?;
    testbed::from_source(&path.display().to_string(), &inner)
}

fn study_of(file: &StudyFile, testbed: &Testbed, base: &Path) -> Result<StudySpec, Fault> {
    match file {
        StudyFile::Latency(file) => latency_of(file, testbed),
        StudyFile::Forwarding(file) => file.resolve(testbed),
        StudyFile::Fabric(file) => file.resolve(testbed),
        StudyFile::Buffer(file) => file.resolve(testbed),
        StudyFile::Switching(file) => file.resolve(testbed),
        StudyFile::Depth(file) => file.resolve(testbed),
        StudyFile::Storage(file) => file.resolve(testbed, base),
    }
}

fn latency_of(file: &LatencyFile, testbed: &Testbed) -> Result<StudySpec, Fault> {
    let mut loads = Vec::new();
    for text in &file.loads {
        let load = study::load(text.get_ref()).map_err(|e| {
            let example = "write \"idle\", \"udp:50kpps\", \"udp:50kpps@512\" or \"tcp:4\"";
            Fault::new(text.span(), e.to_string(), example)
        })?;
        fit::load_fits(&load, testbed).map_err(|misfit| placed(text.span(), misfit))?;
        loads.push(load);
    }
    let sizes =
        Sizes { frames: &file.sizes, ip_lengths: &file.ip_lengths, payloads: &file.payloads };
    let sizes = sizes.resolve(Headers::default(), testbed)?;
    let largest = sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
    let open_loop = file.open_loop.as_ref().map(|text| {
        let rate = typed::unit(text, frame_rate::parse, "\"1kpps\"")?;
        fit::rate_fits(rate, largest, testbed).map_err(|misfit| placed(text.span(), misfit))?;
        Ok(rate)
    });
    let ask = LatencyAsk {
        profile: file.profile.map(Into::into),
        protocols: file.protocols.clone(),
        sizes,
        loads,
        subjects: values::subjects(&file.devices, &file.variants, testbed)?,
        open_loop: open_loop.transpose()?,
        duration: file.duration.as_ref().map(values::duration).transpose()?,
        blocks: file.blocks.as_ref().map(values::blocks).transpose()?,
    };
    Ok(ask.resolve())
}
