//! The file's `counters` of a device: how they are read.
//!
//! Owns the shape of these tables and every check on them. Never runs a command, asks a device or
//! reads a secret.

mod file;
mod snmp;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use management::json::{Map, PathError, PortPath};
use measure::{Nanos, name};
use toml::Spanned;

use crate::config::accounts::{AccountSource, DeviceAccount};
use crate::config::source::Fault;
use crate::config::typed::{self, Text};
pub(super) use file::CountersFile;
use file::SourceFile;

/// Time limit of a command that prints counters, if the file states none.
const PRINTED_WITHIN: Nanos = Nanos::from_secs(10);
/// Longest delay of a command's counters, if the file states none: most programs ask the hardware
/// when they are run.
const COMMANDS_LAG: Nanos = Nanos::from_secs(3);
/// Longest delay of an SNMP agent's counters: many ask the hardware every few seconds, and keep the
/// answer.
const AGENTS_LAG: Nanos = Nanos::from_secs(10);
/// Largest delay that a file may state.
const MOST_LAG: Nanos = Nanos::from_secs(120);

const HOW: &str =
    "write counters = { command = [\"ssh\", \"sw1\", …], port = \"$[*].ifname\", map = { … } }";

/// Resolves how a device's counters are read, and its names of its ports.
pub(super) fn resolve(
    counters: &Spanned<CountersFile>,
    ports: &BTreeMap<String, String>,
    paths: Vec<String>,
    folder: &Path,
) -> Result<DeviceAccount, Fault> {
    let files = &counters.get_ref().0;
    let sources = files.iter().map(|file| source(file, counters.span(), folder));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let lags = files.iter().map(lag).collect::<Result<Vec<_>, _>>()?;
    let lag = lags.into_iter().max().unwrap_or(COMMANDS_LAG);
    Ok(DeviceAccount { sources, ports: ports.clone(), paths, lag })
}

/// Checks the ports among which a device chooses, by its own names.
pub(super) fn paths(named: &[Text], counted: bool) -> Result<Vec<String>, Fault> {
    for (at, path) in named.iter().enumerate() {
        let name = path.get_ref();
        let twice = named[..at].iter().any(|other| other.get_ref() == name);
        let (message, hint) = if name.is_empty() {
            ("a path is a port's name".to_owned(), "write it as the device calls it: \"swp9\"")
        } else if twice {
            (format!("path `{name}` is named twice"), "name each port once")
        } else if !counted {
            let message = "nothing says how the device is asked what crosses its paths".to_owned();
            (message, "give it `counters`, which tell what each of its ports counted")
        } else {
            continue;
        };
        return Err(Fault::new(path.span(), message, hint));
    }
    if let [only] = named {
        let message = "one path is nothing to choose from".to_owned();
        return Err(Fault::new(only.span(), message, "name all ports that share the flows"));
    }
    Ok(named.iter().map(|path| path.get_ref().clone()).collect())
}

fn source(file: &SourceFile, place: Range<usize>, folder: &Path) -> Result<AccountSource, Fault> {
    match (&file.command, &file.snmp) {
        (Some(words), None) => command(file, words, place),
        (None, Some(address)) => {
            snmp::source(file, address, timeout(file.timeout.as_ref())?, folder)
        }
        (None, None) => Err(Fault::new(place, "nothing says how the device is asked", HOW)),
        (Some(_), Some(address)) => {
            let message = "a device is asked by a command or by SNMP, not by both in one table";
            Err(Fault::new(address.span(), message, "write two [[device.counters]] tables"))
        }
    }
}

fn timeout(text: Option<&Text>) -> Result<Option<Nanos>, Fault> {
    text.map(|text| within(text, Nanos::from_millis(100), MOST_LAG)).transpose()
}

fn command(file: &SourceFile, words: &[Text], place: Range<usize>) -> Result<AccountSource, Fault> {
    let of_snmp = [
        ("version", &file.version),
        ("user", &file.user),
        ("auth", &file.auth),
        ("privacy", &file.privacy),
    ];
    let of_snmp = of_snmp.into_iter().find_map(|(key, given)| Some((key, given.as_ref()?.span())));
    let credentials = file.credentials.as_ref().or(file.privacy_credentials.as_ref());
    let oids = file.oids.values().next().map(|oid| ("oids", oid.span()));
    let credentials = credentials.map(|given| ("credentials", given.span()));
    if let Some((key, span)) = of_snmp.or(credentials).or(oids) {
        let hint = "remove it, or name a device with snmp = \"…\" in a table of its own";
        return Err(Fault::new(span, format!("a command has no `{key}`: SNMP has"), hint));
    }
    if words.is_empty() {
        return Err(Fault::new(place, "the command is empty", HOW));
    }
    if file.map.is_empty() {
        let message = "the command has no `map`: nothing says which counters its JSON holds";
        let hint = "add map = { rx_packets = \"$[*].stats64.rx.packets\", … }";
        return Err(Fault::new(place, message, hint));
    }
    let counters = file.map.iter().map(|(counter, paths)| {
        if !name::is_name(counter) {
            let message = format!("`{counter}` cannot be the name of a counter");
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
    let timeout = timeout(file.timeout.as_ref())?.unwrap_or(PRINTED_WITHIN);
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

fn lag(file: &SourceFile) -> Result<Nanos, Fault> {
    let usual = if file.snmp.is_some() { AGENTS_LAG } else { COMMANDS_LAG };
    file.lag.as_ref().map_or(Ok(usual), |text| within(text, Nanos::ZERO, MOST_LAG))
}

fn within(text: &Text, least: Nanos, most: Nanos) -> Result<Nanos, Fault> {
    let time: Nanos = typed::unit(text, str::parse, "\"5s\" or \"500ms\"")?;
    if (least..=most).contains(&time) {
        return Ok(time);
    }
    let message = format!("{time} is outside of {least}…{most}");
    Err(Fault::new(text.span(), message, "most devices count within a few seconds"))
}
