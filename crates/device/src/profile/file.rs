//! Profile file as written: every key with its location, nothing checked yet.
//!
//! Owns the keys and the wording of the reader's own errors. The same table represents a file of
//! one device, a file of several, and one device among them; which keys go where is checked later.

use std::ops::Range;

use measure::{ByteCount, Nanos, Rate};
use serde::Deserialize;
use toml::Spanned;

use super::ProfileError;

/// File, or one device of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sheet {
    pub name: Option<Spanned<String>>,
    pub profile: Option<Spanned<String>>,
    pub ports: Option<Spanned<u16>>,
    pub rate: Option<Spanned<Rate>>,
    pub forwarding: Option<Spanned<Forwarding>>,
    pub groups: Option<Spanned<Vec<PortGroup>>>,
    pub cables: Option<Spanned<Vec<HostCable>>>,
    pub buffer: Option<Spanned<Buffer>>,
    pub mac_table: Option<Spanned<MacTable>>,
    pub link_delay: Option<Spanned<Nanos>>,
    pub pps_limit: Option<Spanned<u64>>,
    pub pps_queue: Option<Spanned<u32>>,
    pub policer: Option<Spanned<Policer>>,
    pub sessions: Option<Spanned<Sessions>>,
    pub pause: Option<Spanned<bool>>,
    pub max_frame: Option<Spanned<u32>>,
    pub loss: Option<Spanned<f64>>,
    pub stalls: Option<Spanned<Stalls>>,
    pub scale: Option<Spanned<f64>>,
    #[serde(default)]
    pub device: Vec<Spanned<Sheet>>,
    #[serde(default)]
    pub link: Vec<Spanned<Cable>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forwarding {
    pub kind: Option<Kind>,
    pub mode: Option<Mode>,
    pub latency: Option<Spanned<Nanos>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Switch,
    Router,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    StoreAndForward,
    CutThrough,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PortGroup {
    pub ports: Spanned<String>,
    pub uplink: Option<Spanned<Rate>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostCable {
    pub ports: Spanned<String>,
    pub rate: Option<Spanned<Rate>>,
    pub shaped: Option<Spanned<Rate>>,
    pub broken: Option<Broken>,
    pub damaged: Option<Damaged>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a share of each way: { in = 0.01 }, { out = 0.01 }")]
pub(super) struct Damaged {
    #[serde(rename = "in")]
    pub inward: Option<Spanned<f64>>,
    #[serde(rename = "out")]
    pub outward: Option<Spanned<f64>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Broken {
    In,
    Out,
    Both,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Buffer {
    pub total: Option<Spanned<ByteCount>>,
    pub per_port: Option<Spanned<ByteCount>>,
    pub reserved_per_port: Option<Spanned<ByteCount>>,
    pub alpha: Option<Spanned<f64>>,
    pub cell: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MacTable {
    pub entries: Option<Spanned<u32>>,
    pub learn_rate: Option<Spanned<u64>>,
    pub age: Option<Spanned<Nanos>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stalls {
    pub per_second: Spanned<f64>,
    pub length: Spanned<Nanos>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policer {
    pub pps: Spanned<u64>,
    pub burst: Option<Spanned<u32>>,
    pub only: Option<Policed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sessions {
    pub table: Option<Spanned<u64>>,
    pub per_second: Option<Spanned<u64>>,
    pub burst: Option<Spanned<u32>>,
    pub idle: Option<Spanned<Nanos>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Policed {
    Broadcast,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cable {
    pub a: Spanned<String>,
    pub b: Spanned<String>,
    pub rate: Option<Spanned<Rate>>,
    pub delay: Option<Spanned<Nanos>>,
}

impl Sheet {
    /// Returns the first key that describes a device, besides its name.
    pub(super) fn first_of_device(&self) -> Option<(&'static str, Range<usize>)> {
        let keys = [
            ("ports", self.ports.as_ref().map(Spanned::span)),
            ("rate", self.rate.as_ref().map(Spanned::span)),
            ("forwarding", self.forwarding.as_ref().map(Spanned::span)),
            ("groups", self.groups.as_ref().map(Spanned::span)),
            ("cables", self.cables.as_ref().map(Spanned::span)),
            ("buffer", self.buffer.as_ref().map(Spanned::span)),
            ("mac_table", self.mac_table.as_ref().map(Spanned::span)),
            ("link_delay", self.link_delay.as_ref().map(Spanned::span)),
            ("pps_limit", self.pps_limit.as_ref().map(Spanned::span)),
            ("pps_queue", self.pps_queue.as_ref().map(Spanned::span)),
            ("policer", self.policer.as_ref().map(Spanned::span)),
            ("sessions", self.sessions.as_ref().map(Spanned::span)),
            ("pause", self.pause.as_ref().map(Spanned::span)),
            ("max_frame", self.max_frame.as_ref().map(Spanned::span)),
            ("loss", self.loss.as_ref().map(Spanned::span)),
            ("stalls", self.stalls.as_ref().map(Spanned::span)),
        ];
        keys.into_iter().find_map(|(key, span)| span.map(|span| (key, span)))
    }
}

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Sheet, ProfileError> {
    toml::from_str(text).map_err(|error| explain(&error, text))
}

fn explain(error: &toml::de::Error, text: &str) -> ProfileError {
    let span = error.span().unwrap_or(0..0);
    let message = error.message().lines().next().unwrap_or_default();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((word, known)) = quoted.split_first() {
        let known = || format!("known here: {}", known.join(", "));
        if message.starts_with("unknown field") {
            return ProfileError::new(span, format!("unknown key `{word}`"), known());
        }
        if message.starts_with("unknown variant") {
            return ProfileError::new(span, format!("unknown value `{word}`"), known());
        }
        if message.starts_with("missing field") {
            let hint = format!("add `{word} = …` to this table");
            let message = format!("key `{word}` is missing");
            return ProfileError::new(first_line(span, text), message, hint);
        }
    }
    let syntax = !message.starts_with("invalid ")
        && !message.contains(" unit of ")
        && !message.contains("start with a number");
    let hint = if syntax && !message.contains("is outside") {
        "the file is TOML: https://toml.io/en/v1.0.0"
    } else {
        "quantities with a unit are texts (\"1Gbit\", \"3us\", \"2MiB\"), counts are bare numbers"
    };
    ProfileError::new(span, message, hint)
}

/// Location of a missing key: of its whole table, only the first line is shown.
pub(super) fn first_line(span: Range<usize>, text: &str) -> Range<usize> {
    let length = text.get(span.clone()).and_then(|table| table.lines().next()).map_or(0, str::len);
    span.start..span.start + length
}
