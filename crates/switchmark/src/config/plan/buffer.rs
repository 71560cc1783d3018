//! `[study.buffer]`: the table's typed form, and the study that it asks for.
//!
//! Owns its keys. Never decides a default: what is absent here is the profile's or the testbed's.

use std::ops::RangeInclusive;

use measure::{FrameSize, Nanos, Rate};
use method::{Background, BufferPorts, StudySpec};
use serde::Deserialize;
use toml::Spanned;
use trial::PortRef;

use super::values::{self, ProfileFile, placed};
use crate::config::buffer::{self, BufferAsk};
use crate::config::fit;
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
use crate::config::typed::{self, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferFile {
    profile: Option<ProfileFile>,
    from: Option<Text>,
    to: Option<Text>,
    background_from: Option<Text>,
    background_to: Option<Text>,
    #[serde(default)]
    devices: Vec<Text>,
    #[serde(default)]
    variants: Vec<Text>,
    #[serde(default)]
    congestion_controls: Vec<Text>,
    #[serde(default)]
    streams: Vec<Spanned<i64>>,
    backgrounds: Option<Vec<Text>>,
    background_size: Option<Spanned<i64>>,
    mtu: Option<Spanned<i64>>,
    link_rate: Option<Text>,
    retransmits_per_gigabyte: Option<Spanned<f64>>,
    variation: Option<Spanned<f64>>,
    share: Option<Spanned<f64>>,
    omit: Option<Text>,
    duration: Option<Text>,
    interval: Option<Text>,
    blocks: Option<Spanned<i64>>,
}

impl BufferFile {
    pub(super) fn resolve(&self, testbed: &Testbed) -> Result<StudySpec, Fault> {
        let ask = BufferAsk {
            profile: self.profile.map(Into::into),
            ports: BufferPorts {
                from: self.from.as_ref().map(port).transpose()?,
                to: self.to.as_ref().map(port).transpose()?,
                background_from: self.background_from.as_ref().map(port).transpose()?,
                background_to: self.background_to.as_ref().map(port).transpose()?,
            },
            subjects: values::subjects(&self.devices, &self.variants, testbed)?,
            congestion_controls: self.controls()?,
            streams: self.streams.iter().map(streams).collect::<Result<_, _>>()?,
            backgrounds: self.backgrounds.as_ref().map(|list| loads(list)).transpose()?,
            background_size: self.size(testbed)?,
            mtu: self.mtu.as_ref().map(mtu).transpose()?,
            link_rate: self.link_rate.as_ref().map(rate).transpose()?,
            retransmits_per_gigabyte: self
                .retransmits_per_gigabyte
                .as_ref()
                .map(|value| limit(value, 0.0..=1e9, "ten are one 9,000-octet segment in 11,000"))
                .transpose()?,
            variation: self
                .variation
                .as_ref()
                .map(|value| limit(value, 0.001..=10.0, "0.1 is a standard deviation of 10 %"))
                .transpose()?,
            share: self
                .share
                .as_ref()
                .map(|value| limit(value, 0.01..=1.0, "0.9 asks for nine tenths"))
                .transpose()?,
            omit: self.omit.as_ref().map(omit).transpose()?,
            duration: self.duration.as_ref().map(values::duration).transpose()?,
            interval: self.interval.as_ref().map(values::duration).transpose()?,
            blocks: self.blocks.as_ref().map(values::blocks).transpose()?,
        };
        Ok(ask.resolve(testbed))
    }

    fn controls(&self) -> Result<Vec<String>, Fault> {
        let name = |text: &Text| match text.get_ref().as_str() {
            "" => Err(Fault::new(text.span(), "a congestion control has a name", "such as cubic")),
            name => Ok(name.to_owned()),
        };
        self.congestion_controls.iter().map(name).collect()
    }

    fn size(&self, testbed: &Testbed) -> Result<Option<FrameSize>, Fault> {
        let Some(value) = &self.background_size else { return Ok(None) };
        let hint = "frame sizes count from the MAC address through the FCS";
        let octets: u32 = values::count(value, 64..=9018, "frame sizes", hint)?;
        let size = FrameSize::new(octets)
            .map_err(|e| Fault::new(value.span(), e.to_string(), hint.to_owned()))?;
        fit::size_fits(size, testbed).map_err(|misfit| placed(value.span(), misfit))?;
        Ok(Some(size))
    }
}

pub(super) fn port(text: &Text) -> Result<PortRef, Fault> {
    let port = text.get_ref().parse::<PortRef>();
    port.map_err(|e| Fault::new(text.span(), e.to_string(), "write it as \"h1/eth1\""))
}

fn streams(value: &Spanned<i64>) -> Result<u16, Fault> {
    values::count(value, 1..=256, "streams", "ESnet takes two, as iperf3's -P 2")
}

fn mtu(value: &Spanned<i64>) -> Result<u32, Fault> {
    values::count(value, 576..=9000, "MTUs", "ESnet recommends 9000 for long paths")
}

fn rate(text: &Text) -> Result<Rate, Fault> {
    typed::unit(text, str::parse, "\"10Gbit\"")
}

fn loads(list: &[Text]) -> Result<Vec<Background>, Fault> {
    let read = |text: &Text| {
        let example = "write \"2Gbit\" or \"20%\"; an empty list is TCP alone";
        buffer::background(text.get_ref())
            .map_err(|e| Fault::new(text.span(), e.to_string(), example))
    };
    list.iter().map(read).collect()
}

/// Unlike a duration it may be nothing.
fn omit(text: &Text) -> Result<Nanos, Fault> {
    let omit: Nanos = typed::unit(text, str::parse, "\"5s\" or \"0s\"")?;
    if omit == Nanos::ZERO {
        return Ok(omit);
    }
    values::duration(text)
}

fn limit(value: &Spanned<f64>, range: RangeInclusive<f64>, hint: &str) -> Result<f64, Fault> {
    let number = *value.get_ref();
    if range.contains(&number) {
        return Ok(number);
    }
    let (low, high) = (range.start(), range.end());
    let message = format!("{number} is outside the range of this limit, {low}…{high}");
    Err(Fault::new(value.span(), message, hint))
}
