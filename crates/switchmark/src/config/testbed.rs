//! The testbed file: hosts and devices and their cables, or a lab to build.
//!
//! Owns the file's typed form and every check on it. Never reaches a host: what it accepts may
//! still turn out to be unreachable.

mod addresses;
mod agentless;
mod counters;
mod devices;
mod labs;
mod limits;
mod reach;
mod sims;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use measure::{Nanos, name};
use serde::Deserialize;
use toml::Spanned;
use trial::topology::{CableEnd, Host, HostPort, PortRef};

use super::MOST_HOSTS;
use super::address;
use super::hosts_name;
use super::lab_name;
use super::resolved::{HostsConfig, Source, Testbed};
use super::sim_name;
use super::source::{ConfigError, Fault, SourceText, Word};
use super::typed::{self, Text};
use super::written::{Part, Written};
use addresses::Own;
use agents::hosts::DELAY;
pub use agents::hosts::file_of;
use devices::DeviceFile;
use labs::LabFile;
use limits::LimitsFile;
pub use reach::{is_destination, reach_of};
use sims::SimFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestbedFile {
    #[serde(default)]
    host: Vec<HostFile>,
    #[serde(default)]
    device: Vec<DeviceFile>,
    limits: Option<Spanned<LimitsFile>>,
    lab: Option<Spanned<LabFile>>,
    sim: Option<Spanned<SimFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostFile {
    name: Text,
    reach: Text,
    #[serde(rename = "become")]
    becomes: Option<Text>,
    #[serde(default)]
    port: Vec<PortFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortFile {
    name: Text,
    address: Text,
    address6: Option<Text>,
    mac: Option<Text>,
    block: Option<Text>,
    block6: Option<Text>,
    cable: Text,
    rate: Option<Text>,
}

/// Resolves a `lab:…` name or a testbed file's path from the command line.
pub fn from_argument(flag: &str, text: &str) -> Result<Testbed, ConfigError> {
    from_folder(flag, text, Path::new(""))
}

/// Resolves it as it was given in another folder; the testbed keeps the name that it had there.
pub fn from_folder(flag: &str, text: &str, folder: &Path) -> Result<Testbed, ConfigError> {
    let source = SourceText::argument(flag, text);
    if text.starts_with(lab_name::PREFIX) {
        return lab_name::resolve(text, folder).map_err(|fault| source.locate(fault));
    }
    if text.starts_with(hosts_name::PREFIX) {
        return from_source(text, &hosts_name::written(flag, text)?);
    }
    if text.starts_with(sim_name::PREFIX) {
        return sim_name::parse(text, folder).map_err(|fault| source.locate(fault));
    }
    if let Some((file, delay)) = text.rsplit_once(DELAY) {
        return resolve_with_delay(flag, text, file, delay, folder);
    }
    let path = folder.join(text);
    if !path.exists() {
        let fault = Fault::new(
            0..text.len(),
            format!("there is no testbed file `{}`", path.display()),
            "give a testbed file, a lab such as lab:bridge, or a model such as sim:trident2",
        );
        return Err(source.locate(fault));
    }
    from_source(text, &SourceText::read(&path)?)
}

/// Resolves hosts that are to add delay.
fn resolve_with_delay(
    flag: &str,
    text: &str,
    file: &str,
    delay: &str,
    folder: &Path,
) -> Result<Testbed, ConfigError> {
    let source = SourceText::argument(flag, text);
    let span = text.len() - delay.len()..text.len();
    let delay: Nanos = delay.parse().map_err(|error: measure::UnitError| {
        source.locate(Fault::new(span.clone(), error.to_string(), "write it like 25ms"))
    })?;
    let mut testbed = from_folder(flag, file, folder)?;
    let Source::Hosts(hosts) = &mut testbed.source else {
        let (message, hint) = ("only hosts of a testbed file add delay", "say it in the file");
        return Err(source.locate(Fault::new(span, message, hint)));
    };
    hosts.delay = delay;
    text.clone_into(&mut testbed.name);
    Ok(testbed)
}

/// Resolves a testbed file's text. `name` is the user's name for it.
pub fn from_source(name: &str, source: &SourceText) -> Result<Testbed, ConfigError> {
    let file: TestbedFile = typed::read(source)?;
    let base = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    let made = match (&file.lab, &file.sim) {
        (Some(_), Some(sim)) => Err(Fault::new(
            sim.span(),
            "a testbed is either a lab or simulated, not both",
            "remove the [lab] table, or the [sim] table",
        )),
        (Some(lab), None) => {
            alone(&file, "lab").and_then(|()| lab.get_ref().resolve(base)).map(Source::Lab)
        }
        (None, Some(sim)) => alone(&file, "sim")
            .and_then(|()| sim.get_ref().resolve(base))
            .map(|config| Source::Virtual(Box::new(config))),
        (None, None) => hosts_of(&file, source, base).map(Box::new).map(Source::Hosts),
    };
    let mut testbed = Testbed::new(name, made.map_err(|fault| source.locate(fault))?);
    if let Source::Hosts(_) = &testbed.source {
        testbed.written = written(&file, source);
    }
    Ok(testbed)
}

/// Refuses hosts and devices beside a lab or a simulation, which has its own.
fn alone(file: &TestbedFile, table: &str) -> Result<(), Fault> {
    if let Some(host) = file.host.first() {
        return Err(Fault::new(
            host.name.span(),
            format!("a testbed has either hosts or a [{table}] table, not both"),
            format!("remove the [{table}] table, or the [[host]] tables"),
        ));
    }
    if let Some(limits) = &file.limits {
        return Err(Fault::new(
            limits.span(),
            format!("limits are of hosts, and a [{table}] has its own"),
            "remove the [limits] table",
        ));
    }
    let key = if table == "lab" { "device" } else { "profile" };
    match file.device.first() {
        Some(device) => Err(Fault::new(
            device.name.span(),
            format!("what stands between the hosts is said in [{table}]"),
            format!("name it in [{table}]'s `{key}`, and remove the [[device]] tables"),
        )),
        None => Ok(()),
    }
}

fn hosts_of(file: &TestbedFile, source: &SourceText, base: &Path) -> Result<HostsConfig, Fault> {
    if file.host.len() < 2 {
        let length = source.text.len();
        let span = file.host.first().map_or(length..length, |h| h.name.span());
        return Err(Fault::new(
            span,
            format!("a testbed needs at least two hosts, here are {}", file.host.len()),
            "add a [[host]] table, a [lab] table to have hosts built, or a [sim] table",
        ));
    }
    names_are_unique(file)?;
    let own = addresses::own(&file.host)?;
    let of = |host| host_of(host, file, &own);
    let hosts = file.host.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    addresses::are_unique(&file.host, &hosts)?;
    addresses::are_alike(&file.host, &hosts)?;
    let devices = devices::devices(&file.device);
    let hooks = devices::hooks(&file.device)?;
    let accounts = devices::accounts(&file.device, base)?;
    agentless::fit(&file.host, &hosts, &accounts)?;
    let macs = agentless::macs(&file.host, &hosts, &devices)?;
    cables_fit(file, &hosts)?;
    let limits = file.limits.as_ref().map(|limits| limits.get_ref().resolve()).transpose()?;
    let limits = limits.unwrap_or_default();
    let reached = |host: &HostFile| Ok((host.name.get_ref().clone(), reach_of(&host.reach)?));
    let reaches = file.host.iter().map(reached).collect::<Result<_, Fault>>()?;
    let becomes = |host| Some(reach::become_of(host, host.becomes.as_ref()?));
    let becomes = file.host.iter().filter_map(becomes).collect::<Result<_, Fault>>()?;
    let own_addresses = own.into_iter().map(|(at, own)| (at, own.prefix)).collect();
    let delay = Nanos::ZERO;
    Ok(HostsConfig {
        hosts,
        reaches,
        own_addresses,
        macs,
        becomes,
        devices,
        hooks,
        accounts,
        delay,
        limits,
    })
}

/// Records the places of the file's parts.
fn written(file: &TestbedFile, source: &SourceText) -> Written {
    let mut written = Written::new(source.clone());
    for host in &file.host {
        let name = host.name.get_ref();
        written.note(name, Part::Name, host.name.span());
        written.note(name, Part::Reach, host.reach.span());
        for port in &host.port {
            let place = format!("{name}/{}", port.name.get_ref());
            written.note(&place, Part::Name, port.name.span());
            written.note(&place, Part::Address, port.address.span());
            written.note(&place, Part::Cable, port.cable.span());
            if let Some(rate) = &port.rate {
                written.note(&place, Part::Rate, rate.span());
            }
        }
    }
    written
}

fn names_are_unique(file: &TestbedFile) -> Result<(), Fault> {
    let hosts = file.host.iter().map(|h| ("host", &h.name));
    let devices = file.device.iter().map(|d| ("device", &d.name));
    let mut seen = HashMap::new();
    for (what, given) in hosts.chain(devices) {
        let text = given.get_ref().as_str();
        if !name::is_name(text) {
            return Err(Fault::new(
                given.span(),
                format!("`{text}` cannot be the name of a {what}"),
                name::RULE,
            ));
        }
        if let Some(other) = seen.insert(text, what) {
            return Err(Fault::new(
                given.span(),
                format!("there is already a {other} called `{text}`"),
                "hosts and devices share one set of names: rename one of the two",
            ));
        }
    }
    if let Some(beyond) = file.host.get(MOST_HOSTS) {
        return Err(Fault::new(
            beyond.name.span(),
            format!("the file has {} hosts", file.host.len()),
            "at most 4096 take part in one testbed",
        ));
    }
    for host in &file.host {
        let mut seen = HashSet::new();
        for port in &host.port {
            if !is_interface(port.name.get_ref()) {
                return Err(Fault::new(
                    port.name.span(),
                    format!("`{}` cannot be an interface", port.name.get_ref()),
                    "a port's name is its interface's: 1 to 15 octets, no slash, colon or blank",
                ));
            }
            if !seen.insert(port.name.get_ref()) {
                let (host, port_name) = (host.name.get_ref(), port.name.get_ref());
                return Err(Fault::new(
                    port.name.span(),
                    format!("host `{host}` already has a port `{port_name}`"),
                    "a port's name is its interface's: each can be named once",
                ));
            }
        }
    }
    Ok(())
}

/// True for a name of an interface in Linux (IFNAMSIZ is 16, with a zero at its end).
pub fn is_interface(text: &str) -> bool {
    name::is_name(text) && text.len() < 16 && ![".", ".."].contains(&text)
}

fn host_of(
    host: &HostFile,
    file: &TestbedFile,
    own: &BTreeMap<PortRef, Own>,
) -> Result<Host, Fault> {
    if host.port.is_empty() {
        return Err(Fault::new(
            host.name.span(),
            format!("host `{}` has no test port", host.name.get_ref()),
            "add a [[host.port]] table below it",
        ));
    }
    let of = |port: &PortFile| {
        let (host, name) = (host.name.get_ref().clone(), port.name.get_ref().clone());
        port_of(port, file, own.get(&PortRef { host, port: name }))
    };
    let ports = host.port.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let reach = reach_of(&host.reach)?.to_string();
    Ok(Host { name: host.name.get_ref().clone(), reach, ports })
}

fn port_of(port: &PortFile, file: &TestbedFile, own: Option<&Own>) -> Result<HostPort, Fault> {
    let blocks = [
        port.block.as_ref().map(addresses::block4).transpose()?,
        port.block6.as_ref().map(addresses::block6).transpose()?,
    ];
    let rate =
        port.rate.as_ref().map(|r| lab_name::rate(&Word { text: r.get_ref(), span: r.span() }));
    Ok(HostPort {
        name: port.name.get_ref().clone(),
        interfaces: vec![port.name.get_ref().clone()],
        address: own.map_or_else(|| address::of_port(&port.address), |own| Ok(own.address))?,
        address6: port.address6.as_ref().map(addresses::v6).transpose()?,
        blocks: blocks.into_iter().flatten().collect(),
        cable: cable_of(&port.cable, file)?,
        rate: rate.transpose()?,
    })
}

fn cable_of(text: &Text, file: &TestbedFile) -> Result<CableEnd, Fault> {
    let end: PortRef = text.get_ref().parse().map_err(|e: trial::topology::NotAPort| {
        Fault::new(
            text.span(),
            e.to_string(),
            "write a device's port as sw1/1, a host's as h2/eth1",
        )
    })?;
    if file.device.iter().any(|d| *d.name.get_ref() == end.host) {
        return Ok(CableEnd::Device { device: end.host, port: end.port });
    }
    let Some(host) = file.host.iter().find(|h| *h.name.get_ref() == end.host) else {
        let names = file.device.iter().map(|d| &d.name).chain(file.host.iter().map(|h| &h.name));
        let known: Vec<&str> = names.map(|n| n.get_ref().as_str()).collect();
        return Err(Fault::new(
            text.span(),
            format!("there is no device or host `{}`", end.host),
            super::suggest::hint(&end.host, &known),
        ));
    };
    let known: Vec<&str> = host.port.iter().map(|p| p.name.get_ref().as_str()).collect();
    if known.contains(&end.port.as_str()) {
        return Ok(CableEnd::Host(end));
    }
    Err(Fault::new(
        text.span(),
        format!("host `{}` has no port `{}`", end.host, end.port),
        names_back(text, file, host).unwrap_or_else(|| super::suggest::hint(&end.port, &known)),
    ))
}

/// Returns a hint for a direct cable whose far end is written otherwise: the port of that `host`
/// whose cable leads here.
fn names_back(text: &Text, file: &TestbedFile, host: &HostFile) -> Option<String> {
    let here = file.host.iter().find_map(|own| {
        let port = own.port.iter().find(|port| port.cable.span() == text.span())?;
        Some(format!("{}/{}", own.name.get_ref(), port.name.get_ref()))
    })?;
    let far = host.port.iter().find(|port| *port.cable.get_ref() == here)?;
    let far = format!("{}/{}", host.name.get_ref(), far.name.get_ref());
    Some(format!("the other end is {far} by its own entry: write cable = \"{far}\""))
}

/// Checks that a device's port has one cable, and that a direct cable is named at both its ends.
fn cables_fit(file: &TestbedFile, hosts: &[Host]) -> Result<(), Fault> {
    let mut taken: HashMap<&CableEnd, PortRef> = HashMap::new();
    for (written, host) in file.host.iter().zip(hosts) {
        for (text, port) in written.port.iter().zip(&host.ports) {
            let here = PortRef { host: host.name.clone(), port: port.name.clone() };
            let span = text.cable.span();
            if let CableEnd::Host(there) = &port.cable {
                fits_back(&here, there, hosts, span.clone())?;
            }
            if let Some(other) = taken.insert(&port.cable, here) {
                return Err(Fault::new(
                    span,
                    format!("port `{}` already takes the cable of {other}", text.cable.get_ref()),
                    "one port takes one cable: name another port",
                ));
            }
        }
    }
    Ok(())
}

fn fits_back(
    here: &PortRef,
    there: &PortRef,
    hosts: &[Host],
    span: Range<usize>,
) -> Result<(), Fault> {
    if there.host == here.host {
        return Err(Fault::new(
            span,
            format!("the cable of {here} ends at its own host"),
            "a direct cable joins two hosts",
        ));
    }
    let far = hosts.iter().find(|h| h.name == there.host);
    let port = far.and_then(|h| h.ports.iter().find(|p| p.name == there.port));
    match port.map(|p| &p.cable) {
        Some(CableEnd::Host(back)) if back == here => Ok(()),
        Some(end) => Err(Fault::new(
            span,
            format!("port {there} is already cabled to {end}"),
            format!("a direct cable is named at both ends: set its cable to \"{here}\""),
        )),
        None => Ok(()),
    }
}
