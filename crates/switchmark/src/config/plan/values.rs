//! Values that both kinds of study take: sizes, durations, counts, subjects, each with its range.
//!
//! Owns the ranges and what is said where a value is outside. Never decides a default.

use std::ops::{Range, RangeInclusive};

use measure::{FrameSize, Nanos, UnitError};
use serde::Deserialize;
use toml::Spanned;
use trial::{Headers, Subject};

use crate::config::fit::{self, Misfit};
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
use crate::config::subjects::{self, Word};
use crate::config::typed::{self, Text};

/// The three ways to state a frame's size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes<'a> {
    pub(super) frames: &'a [Spanned<i64>],
    pub(super) ip_lengths: &'a [Spanned<i64>],
    pub(super) payloads: &'a [Spanned<i64>],
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ProfileFile {
    Quick,
    Strict,
}

impl From<ProfileFile> for method::Profile {
    fn from(profile: ProfileFile) -> Self {
        match profile {
            ProfileFile::Quick => Self::Quick,
            ProfileFile::Strict => Self::Strict,
        }
    }
}

pub(super) fn placed(span: Range<usize>, (message, hint): Misfit) -> Fault {
    Fault::new(span, message, hint)
}

impl Sizes<'_> {
    /// All sizes, whichever way each was stated.
    pub(super) fn resolve(
        self,
        headers: Headers,
        testbed: &Testbed,
    ) -> Result<Vec<FrameSize>, Fault> {
        let (ip, payload) = (fit::above_ip(headers), fit::above_payload(headers));
        let ways = [
            (self.frames, 0, "frame sizes count from the MAC address through the FCS".to_owned()),
            (self.ip_lengths, ip, format!("an IP length is the frame size less {ip}")),
            (self.payloads, payload, format!("a UDP payload is the frame size less {payload}")),
        ];
        let mut sizes: Vec<FrameSize> = Vec::new();
        for (values, above, hint) in ways {
            for value in values {
                let size = frame_size(*value.get_ref(), above)
                    .map_err(|e| Fault::new(value.span(), e.to_string(), hint.clone()))?;
                fit::size_fits(size, testbed).map_err(|misfit| placed(value.span(), misfit))?;
                if !sizes.contains(&size) {
                    sizes.push(size);
                }
            }
        }
        Ok(sizes)
    }
}

fn frame_size(stated: i64, above: u32) -> Result<FrameSize, UnitError> {
    let octets = if stated < 0 { 0 } else { u32::try_from(stated).unwrap_or(u32::MAX) };
    FrameSize::new(octets.saturating_add(above))
}

pub(super) fn duration(text: &Text) -> Result<Nanos, Fault> {
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

pub(super) fn blocks(value: &Spanned<i64>) -> Result<u32, Fault> {
    let hint = "six are the least for a 95 % interval, ten the usual";
    count(value, 1..=1000, "blocks", hint)
}

/// A number in its range; `what` is a plural.
pub(super) fn count<T: TryFrom<i64>>(
    value: &Spanned<i64>,
    range: RangeInclusive<i64>,
    what: &str,
    hint: &str,
) -> Result<T, Fault> {
    let fault = || {
        let (low, high) = (range.start(), range.end());
        let message = format!("{} is outside the range of {what}, {low}…{high}", value.get_ref());
        Fault::new(value.span(), message, hint)
    };
    if !range.contains(value.get_ref()) {
        return Err(fault());
    }
    T::try_from(*value.get_ref()).map_err(|_| fault())
}

pub(super) fn subjects(
    devices: &[Text],
    variants: &[Text],
    testbed: &Testbed,
) -> Result<Vec<Subject>, Fault> {
    let texts = |list: &[Text]| list.iter().map(|t| t.get_ref().clone()).collect::<Vec<_>>();
    subjects::resolve(&texts(devices), &texts(variants), testbed).map_err(|(word, misfit)| {
        let text = match word {
            Word::Device(at) => devices.get(at).or(variants.first()),
            Word::Variant(at) => variants.get(at),
        };
        placed(text.map_or(0..0, Spanned::span), misfit)
    })
}
