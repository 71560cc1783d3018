//! The file's `counters` of a device: how it is asked for what it counted.
//!
//! Owns the shape of these tables and every check on them. Never runs a command, asks a device or
//! reads a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

use management::json::{Map, PathError, PortPath};
use measure::{Nanos, name};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use crate::config::accounts::{AccountSource, DeviceAccount};
use crate::config::source::Fault;
use crate::config::typed::{self, Text};

/// A command that prints counters is given so long where the file says nothing.
const PRINTED_WITHIN: Nanos = Nanos::from_secs(10);
/// So far a command's counters may be behind, where the file says nothing: most programs ask the
/// hardware when they are run.
const COMMANDS_LAG: Nanos = Nanos::from_secs(3);
/// No device is further behind.
const MOST_LAG: Nanos = Nanos::from_secs(120);

/// One way of asking, or several: a table, or a list of them.
#[derive(Debug)]
pub(super) struct CountersFile(Vec<SourceFile>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    command: Option<Vec<Text>>,
    port: Option<Text>,
    #[serde(default)]
    map: BTreeMap<String, Spanned<Paths>>,
    bits: Option<Spanned<u32>>,
    timeout: Option<Text>,
    lag: Option<Text>,
}

/// A path, or several whose values are added up.
#[derive(Debug)]
struct Paths(Vec<String>);

/// By hand, because an untagged enum loses the places of what is in it.
struct OneOrMore<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
        T::deserialize(text.into_deserializer()).map(|one| vec![one])
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq))
    }
}

impl<'de> Deserialize<'de> for CountersFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let either = OneOrMore("a table, or a list of tables", PhantomData);
        deserializer.deserialize_any(either).map(Self)
    }
}

impl<'de> Deserialize<'de> for Paths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let either = OneOrMore("a path, or a list of paths", PhantomData);
        deserializer.deserialize_any(either).map(Self)
    }
}

/// How a device is asked, and what it calls its ports.
pub(super) fn resolve(
    counters: &Spanned<CountersFile>,
    ports: &BTreeMap<String, String>,
    _folder: &Path,
) -> Result<DeviceAccount, Fault> {
    let files = &counters.get_ref().0;
    let sources = files.iter().map(|file| source(file, counters.span()));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let lags = files.iter().map(|file| lag(file.lag.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let lag = lags.into_iter().flatten().max().unwrap_or(COMMANDS_LAG);
    Ok(DeviceAccount { sources, ports: ports.clone(), lag })
}

fn source(file: &SourceFile, place: Range<usize>) -> Result<AccountSource, Fault> {
    const HOW: &str =
        "write counters = { command = [\"ssh\", \"sw1\", …], port = \"$[*].ifname\", map = { … } }";
    let Some(words) = file.command.as_ref().filter(|words| !words.is_empty()) else {
        return Err(Fault::new(place, "nothing says how the device is asked", HOW));
    };
    if file.map.is_empty() {
        let message = "the command has no `map`: nothing says which counters its JSON holds";
        let hint = "add map = { rx_packets = \"$[*].stats64.rx.packets\", … }";
        return Err(Fault::new(place, message, hint));
    }
    let counters = file.map.iter().map(|(counter, paths)| {
        if !name::is_name(counter) {
            let message = format!("`{counter}` can't be the name of a counter");
            return Err(Fault::new(paths.span(), message, name::RULE));
        }
        let of = |text: &String| path(text, paths.span());
        let paths = paths.get_ref().0.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        Ok((counter.clone(), paths))
    });
    let port = file.port.as_ref().map(|port| path(port.get_ref(), port.span()));
    let map = Map {
        port: port.transpose()?,
        counters: counters.collect::<Result<_, Fault>>()?,
        narrow: narrow(file.bits.as_ref())?,
    };
    let command = words.iter().map(|word| word.get_ref().clone()).collect();
    let timeout = match &file.timeout {
        Some(text) => within(text, (Nanos::from_millis(100), MOST_LAG))?,
        None => PRINTED_WITHIN,
    };
    Ok(AccountSource::Command { command, map, timeout })
}

fn path(text: &str, span: Range<usize>) -> Result<PortPath, Fault> {
    PortPath::parse(text).map_err(|error| {
        let hint = match &error {
            PathError::One { .. } => {
                "one place of a path stands for the ports: write [*], .* or a filter there"
            }
            PathError::Path { .. } => "a path begins with $: $[*].stats64.rx.packets (RFC 9535)",
        };
        Fault::new(span, error.to_string(), hint)
    })
}

fn narrow(bits: Option<&Spanned<u32>>) -> Result<bool, Fault> {
    match bits.map(|bits| (*bits.get_ref(), bits.span())) {
        None | Some((64, _)) => Ok(false),
        Some((32, _)) => Ok(true),
        Some((bits, span)) => {
            let message = format!("counters have 32 or 64 bits, and not {bits}");
            Err(Fault::new(span, message, "leave it out for counters that never wrap"))
        }
    }
}

fn lag(text: Option<&Text>) -> Result<Option<Nanos>, Fault> {
    text.map(|text| within(text, (Nanos::ZERO, MOST_LAG))).transpose()
}

fn within(text: &Text, (least, most): (Nanos, Nanos)) -> Result<Nanos, Fault> {
    let time: Nanos = typed::unit(text, str::parse, "\"5s\" or \"500ms\"")?;
    if (least..=most).contains(&time) {
        return Ok(time);
    }
    let message = format!("{time} is outside of {least}…{most}");
    Err(Fault::new(text.span(), message, "most devices count within a few seconds"))
}
