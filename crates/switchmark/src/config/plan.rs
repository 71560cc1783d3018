//! The plan file: a testbed, a seed, and the studies to carry out on it.
//!
//! Owns the file's typed form and every check that needs a place to point at. Never runs anything.

mod campaign;

use std::path::Path;

use serde::Deserialize;
use study::acceptance::{self, SheetClaim};
use study::study_verbs;
use study::{StudySpec, buffer, depth};
use toml::Spanned;

use super::claims::{self, AcceptTable};
use super::resolved::Testbed;
use super::source::{ConfigError, Fault, SourceText};
use super::typed::{self, Text};
use super::{lab_name, request, sim_name, testbed};
use campaign::CampaignFile;

/// Plan, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Testbed to measure on.
    pub testbed: Testbed,
    /// Seed of every random choice; `None` leaves it to the caller, who records what was drawn.
    pub seed: Option<u64>,
    /// Studies to run, in this order.
    pub studies: Vec<StudySpec>,
    /// Claims that the figures are checked against.
    pub claims: Vec<SheetClaim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    testbed: Text,
    seed: Option<u64>,
    #[serde(default)]
    study: Vec<Spanned<StudyFile>>,
    #[serde(default)]
    accept: Vec<Spanned<AcceptTable>>,
    campaign: Option<Spanned<CampaignFile>>,
}

macro_rules! study_file {
    ($($(#[$help:meta])* $study:ident($request:ty))+) => {
        /// A study's table: each that has a verb, and the two that `buffer` asks.
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum StudyFile {
            Buffer(Box<buffer::Buffer>),
            Depth(Box<depth::Depth>),
            $($study(Box<$request>),)+
        }

        impl StudyFile {
            fn resolve(&self, testbed: &Testbed, base: &Path) -> Result<StudySpec, Fault> {
                match self {
                    Self::Buffer(stated) => request::resolve(&**stated, testbed, base),
                    Self::Depth(stated) => request::resolve(&**stated, testbed, base),
                    $(Self::$study(stated) => request::resolve(&**stated, testbed, base),)+
                }
            }
        }
    };
}
study_verbs!(study_file);

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
    if file.study.is_empty() && (file.accept.is_empty() || file.campaign.is_some()) {
        let end = source.text.len();
        return Err(source.locate(Fault::new(
            end..end,
            "the plan has no study",
            "add a [[study]] table with [study.latency] or [study.forwarding] below it, or [[accept]]",
        )));
    }
    let studies: Result<Vec<StudySpec>, Fault> =
        file.study.iter().map(|s| s.get_ref().resolve(&testbed, base)).collect();
    let mut studies = studies.map_err(|f| source.locate(f))?;
    if let Some(campaign) = &file.campaign {
        let all = CampaignFile::resolve(campaign, studies, &testbed);
        studies = vec![all.map_err(|f| source.locate(f))?];
    }
    let claims = claims::all(&file.accept).map_err(|f| source.locate(f))?;
    if file.study.is_empty() {
        studies = acceptance::studies(&claims, super::bed::from_testbed(&testbed));
    }
    Ok(Plan { studies, testbed, seed: file.seed, claims })
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
