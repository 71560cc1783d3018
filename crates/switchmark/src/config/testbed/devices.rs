//! The file's devices: what each is, the variants it can be put into, the command that resets it,
//! and those that disturb it.
//!
//! Owns the shape of these tables and every check on them. Never runs a command, and never looks
//! into one: it is the user's own line for `sh -c`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use measure::{Nanos, name};
use serde::Deserialize;
use study::campaign::AS_FOUND;
use toml::Spanned;
use trial::topology::{Device, DeviceKind, KnownDeed};

use super::counters::{self, CountersFile};
use crate::config::accounts::Accounts;
use crate::config::hooks::{DeedHook, DeviceHooks, Hooks, Ready, ReadyBy, VariantHook};
use crate::config::source::Fault;
use crate::config::typed::{self, Text};

/// Time limit of a command that applies a variant, if the file states none.
const APPLIED_WITHIN: Nanos = Nanos::from_secs(15 * 60);
/// Time for routes to return after a deed was undone, if the file states none.
const SETTLED_WITHIN: Nanos = Nanos::from_secs(10);
const MOST_SETTLE: Nanos = Nanos::from_secs(3_600);
/// Time limit of a reboot, if the file states none.
const READY_WITHIN: Nanos = Nanos::from_secs(300);
/// Time limit of a deed, or of its undoing, if the file states none.
const DONE_WITHIN: Nanos = Nanos::from_secs(60);
/// Name of the deed that [`DeviceFile::reset`] does.
const RESET: &str = "reset";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceFile {
    pub(super) name: Text,
    kind: KindFile,
    #[serde(default)]
    facts: BTreeMap<String, String>,
    reset: Option<Text>,
    counters: Option<Spanned<CountersFile>>,
    #[serde(default)]
    ports: BTreeMap<String, String>,
    #[serde(default)]
    paths: Vec<Text>,
    #[serde(default)]
    variant: Vec<VariantFile>,
    #[serde(default)]
    deed: Vec<DeedFile>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindFile {
    Switch,
    Router,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantFile {
    name: Text,
    apply: Text,
    timeout: Option<Text>,
    ready: Option<Spanned<ReadyFile>>,
    probe: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeedFile {
    name: Text,
    run: Text,
    undo: Option<Text>,
    timeout: Option<Text>,
    ready: Option<Spanned<ReadyFile>>,
    settle: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadyFile {
    tcp: Option<Text>,
    command: Option<Text>,
    timeout: Option<Text>,
}

/// Returns what a study may know of the devices.
pub(super) fn devices(files: &[DeviceFile]) -> Vec<Device> {
    let device = |file: &DeviceFile| {
        let kind = match file.kind {
            KindFile::Switch => DeviceKind::Switch,
            KindFile::Router => DeviceKind::Router,
        };
        Device {
            facts: file.facts.clone(),
            variants: file.variant.iter().map(|v| v.name.get_ref().clone()).collect(),
            resettable: file.reset.is_some(),
            deeds: file.deed.iter().map(DeedFile::to_known_deed).collect(),
            ..Device::plain(file.name.get_ref(), kind)
        }
    };
    files.iter().map(device).collect()
}

/// Resolves how the devices' counters are read.
pub(super) fn accounts(files: &[DeviceFile], folder: &Path) -> Result<Accounts, Fault> {
    let mut accounts = Accounts::new();
    for file in files {
        let paths = counters::paths(&file.paths, file.counters.is_some())?;
        if let Some(counters) = &file.counters {
            let of_one = counters::resolve(counters, &file.ports, paths, folder)?;
            accounts.insert(file.name.get_ref().clone(), of_one);
        }
    }
    Ok(accounts)
}

/// Resolves what the controller may do to the devices.
pub(super) fn hooks(files: &[DeviceFile]) -> Result<Hooks, Fault> {
    let mut hooks = Hooks::new();
    for file in files {
        let of_one = hooks_of(file)?;
        if of_one != DeviceHooks::default() {
            hooks.insert(file.name.get_ref().clone(), of_one);
        }
    }
    Ok(hooks)
}

fn hooks_of(file: &DeviceFile) -> Result<DeviceHooks, Fault> {
    let mut seen = HashSet::new();
    let mut variants = BTreeMap::new();
    for variant in &file.variant {
        let name = variant.name.get_ref();
        name_is_usable(&variant.name)?;
        if !seen.insert(name) {
            return Err(Fault::new(
                variant.name.span(),
                format!("device `{}` already has a variant `{name}`", file.name.get_ref()),
                "give each variant a name of its own",
            ));
        }
        let hook = VariantHook {
            apply: command(&variant.apply)?,
            timeout: timeout(variant.timeout.as_ref())?.unwrap_or(APPLIED_WITHIN),
            ready: variant.ready.as_ref().map(ready).transpose()?,
            probe: variant.probe.as_ref().map(command).transpose()?,
        };
        variants.insert(name.clone(), hook);
    }
    let reset = file.reset.as_ref().map(command).transpose()?;
    Ok(DeviceHooks { variants, reset, deeds: deeds(file)? })
}

impl DeedFile {
    fn to_known_deed(&self) -> KnownDeed {
        let settle = settle(self).unwrap_or(SETTLED_WITHIN);
        KnownDeed { name: self.name.get_ref().clone(), undo: self.undo.is_some(), settle }
    }
}

fn deeds(file: &DeviceFile) -> Result<BTreeMap<String, DeedHook>, Fault> {
    let mut deeds = BTreeMap::new();
    for deed in &file.deed {
        let name = deed.name.get_ref();
        if name == RESET {
            return Err(Fault::new(
                deed.name.span(),
                format!("`{RESET}` is what the key `{RESET}` of the device does"),
                "give the deed another name",
            ));
        }
        name_is_one("deed", &deed.name)?;
        let hook = DeedHook {
            run: command(&deed.run)?,
            undo: deed.undo.as_ref().map(command).transpose()?,
            timeout: timeout(deed.timeout.as_ref())?.unwrap_or(DONE_WITHIN),
            ready: deed.ready.as_ref().map(ready).transpose()?,
            settle: settle(deed)?,
        };
        if deeds.insert(name.clone(), hook).is_some() {
            return Err(Fault::new(
                deed.name.span(),
                format!("device `{}` already has a deed `{name}`", file.name.get_ref()),
                "give each deed a name of its own",
            ));
        }
    }
    Ok(deeds)
}

/// Returns the wait after a deed; zero if a check tells that all is as it was.
fn settle(deed: &DeedFile) -> Result<Nanos, Fault> {
    let Some(text) = &deed.settle else {
        return Ok(if deed.ready.is_some() { Nanos::ZERO } else { SETTLED_WITHIN });
    };
    let settle: Nanos = typed::unit(text, str::parse, "\"30s\" or \"0s\"")?;
    if settle <= MOST_SETTLE {
        return Ok(settle);
    }
    let message = format!("{settle} is outside the range of a rest, 0s…{MOST_SETTLE}");
    Err(Fault::new(text.span(), message, "routing protocols take seconds, a reboot minutes"))
}

fn name_is_usable(given: &Text) -> Result<(), Fault> {
    let text = given.get_ref().as_str();
    if text == AS_FOUND {
        return Err(Fault::new(
            given.span(),
            format!("`{AS_FOUND}` is a device that no variant was applied to"),
            "give the variant another name",
        ));
    }
    name_is_one("variant", given)
}

fn name_is_one(of: &str, given: &Text) -> Result<(), Fault> {
    let text = given.get_ref();
    if name::is_name(text) {
        return Ok(());
    }
    Err(Fault::new(given.span(), format!("`{text}` cannot be the name of a {of}"), name::RULE))
}

fn command(line: &Text) -> Result<String, Fault> {
    if line.get_ref().trim().is_empty() {
        return Err(Fault::new(
            line.span(),
            "the command is empty",
            "write a line for `sh -c`; `true` does nothing",
        ));
    }
    Ok(line.get_ref().clone())
}

fn ready(file: &Spanned<ReadyFile>) -> Result<Ready, Fault> {
    const HOW: &str = "write { tcp = \"sw1:22\" } or { command = \"ping -c1 sw1\" }";
    let by = match (&file.get_ref().tcp, &file.get_ref().command) {
        (Some(address), None) => ReadyBy::Tcp(tcp(address)?),
        (None, Some(line)) => ReadyBy::Command(command(line)?),
        (None, None) => {
            return Err(Fault::new(file.span(), "nothing tells when the device is ready", HOW));
        }
        (Some(_), Some(line)) => {
            return Err(Fault::new(line.span(), "one thing tells when the device is ready", HOW));
        }
    };
    Ok(Ready { by, timeout: timeout(file.get_ref().timeout.as_ref())?.unwrap_or(READY_WITHIN) })
}

fn timeout(text: Option<&Text>) -> Result<Option<Nanos>, Fault> {
    let Some(text) = text else { return Ok(None) };
    let timeout: Nanos = typed::unit(text, str::parse, "\"5m\" or \"30s\"")?;
    if (Nanos::from_secs(1)..=Nanos::from_secs(86_400)).contains(&timeout) {
        return Ok(Some(timeout));
    }
    let message = format!("{timeout} is outside the range of a timeout, 1s…24h");
    Err(Fault::new(text.span(), message, "a machine that reboots takes minutes"))
}

/// A name or address and a port; whether it resolves is seen when it is asked.
fn tcp(text: &Text) -> Result<String, Fault> {
    let port = text.get_ref().rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(1..) => Ok(text.get_ref().clone()),
        _ => Err(Fault::new(
            text.span(),
            format!("`{}` is not of the form host:port", text.get_ref()),
            "write a name or an address with its TCP port, such as sw1:22 or [fd00::1]:22",
        )),
    }
}
