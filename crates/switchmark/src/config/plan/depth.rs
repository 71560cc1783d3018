//! `[study.depth]`: the table's typed form, and the study that it asks for.
//!
//! Owns its keys. Never decides a default: what is absent here is the profile's or the testbed's.

use measure::FrameSize;
use method::StudySpec;
use serde::Deserialize;
use toml::Spanned;

use super::buffer::port;
use super::values::{self, ProfileFile, placed};
use crate::config::depth::DepthAsk;
use crate::config::fit;
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
use crate::config::typed::Text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DepthFile {
    profile: Option<ProfileFile>,
    #[serde(default)]
    outputs: Vec<Text>,
    #[serde(default)]
    devices: Vec<Text>,
    #[serde(default)]
    variants: Vec<Text>,
    senders: Option<Spanned<i64>>,
    frame_size: Option<Spanned<i64>>,
    congested: Option<Spanned<i64>>,
    longest: Option<Text>,
    blocks: Option<Spanned<i64>>,
}

impl DepthFile {
    pub(super) fn resolve(&self, testbed: &Testbed) -> Result<StudySpec, Fault> {
        let subjects = values::subjects(&self.devices, &self.variants, testbed)?;
        let ask = DepthAsk {
            profile: self.profile.map(Into::into),
            outputs: self.outputs.iter().map(port).collect::<Result<_, _>>()?,
            subject: subjects.into_iter().next(),
            senders: self.senders.as_ref().map(senders).transpose()?,
            size: self.frame_size.as_ref().map(|value| size(value, testbed)).transpose()?,
            congested: self.congested.as_ref().map(congested).transpose()?,
            longest: self.longest.as_ref().map(values::duration).transpose()?,
            blocks: self.blocks.as_ref().map(values::blocks).transpose()?,
        };
        Ok(ask.resolve(testbed))
    }
}

fn senders(value: &Spanned<i64>) -> Result<u16, Fault> {
    values::count(value, 1..=1024, "numbers of senders", "two overfill an output of their own rate")
}

fn congested(value: &Spanned<i64>) -> Result<u16, Fault> {
    values::count(value, 0..=1024, "numbers of outputs", "0 or 1: sharing is not asked for")
}

fn size(value: &Spanned<i64>, testbed: &Testbed) -> Result<FrameSize, Fault> {
    let hint = "frame sizes count from the MAC address through the FCS";
    let octets: u32 = values::count(value, 64..=9018, "frame sizes", hint)?;
    let size = FrameSize::new(octets)
        .map_err(|e| Fault::new(value.span(), e.to_string(), hint.to_owned()))?;
    fit::size_fits(size, testbed).map_err(|misfit| placed(value.span(), misfit))?;
    Ok(size)
}
