//! One source of a device's counters, ready for use.
//!
//! Owns the state between two readings. Never parses an answer itself: the crate `management` does.

use std::collections::BTreeMap;
use std::error::Error;

use management::Account;
use management::json::Map;
use management::snmp::{Access, Extra, Neighbour, Reader, Secret, Target};
use measure::Nanos;

use crate::controller::{Stop, command};
use crate::failed::Failed;
use crate::hosts::accounts::{AccountSource, Credentials, SnmpAccess, SnmpSource};
use crate::unfinished::{self, Kind, UnderWay};

/// Number of retries of a request.
const RETRIES: u32 = 2;

pub(super) type Cause = Box<dyn Error + Send + Sync>;

/// A source of counters.
#[derive(Debug)]
pub(super) enum Source {
    Command { words: Vec<String>, map: Map, timeout: Nanos },
    Snmp { reader: Box<Reader>, asked: SnmpSource },
}

impl Source {
    pub(super) fn open(source: &AccountSource, stop: &Stop) -> Result<Self, Failed> {
        match source {
            AccountSource::Command { command, map, timeout } => {
                Ok(Self::Command { words: command.clone(), map: map.clone(), timeout: *timeout })
            }
            AccountSource::Snmp(asked) => {
                let reader = Box::new(reader(asked)?.with_stop(stop.flag()));
                Ok(Self::Snmp { reader, asked: asked.clone() })
            }
        }
    }

    /// Reads the counters of these ports, by the device's names, and those of all others if `all`
    /// is true.
    pub(super) fn read(
        &mut self,
        ports: &[String],
        all: bool,
        stop: &Stop,
    ) -> Result<Account, Cause> {
        match self {
            Self::Command { words, map, timeout } => {
                let printed = command::print(words, *timeout, stop)?;
                Ok(map.read(&printed).map_err(|cause| Failed::because(words.join(" "), cause))?)
            }
            Self::Snmp { reader, asked } => {
                let _waits = waits_for(asked);
                let mut said = if all { reader.read()? } else { Account::default() };
                let named = reader.read_only(ports)?;
                said.ports.extend(named.ports);
                Ok(Account { uptime_cs: named.uptime_cs, ..said })
            }
        }
    }

    /// Reads facts about the device; empty if the source has none.
    pub(super) fn facts(&mut self) -> BTreeMap<String, String> {
        match self {
            Self::Command { .. } => BTreeMap::new(),
            Self::Snmp { reader, asked } => {
                let _waits = waits_for(asked);
                reader.facts().unwrap_or_default()
            }
        }
    }

    /// Reads the neighbours at the device's ports; empty if it reports none.
    pub(super) fn neighbours(&mut self) -> Vec<Neighbour> {
        match self {
            Self::Command { .. } => Vec::new(),
            Self::Snmp { reader, asked } => {
                let _waits = waits_for(asked);
                reader.neighbours().unwrap_or_default()
            }
        }
    }

    /// Suggested fix if reading fails.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Command { words, .. } => {
                format!("try it by hand: {}", words.join(" "))
            }
            Self::Snmp { asked, .. } => by_hand(asked),
        }
    }
}

fn waits_for(asked: &SnmpSource) -> UnderWay {
    unfinished::note(format!("{} by SNMP", asked.address), Kind::Wait)
}

fn reader(asked: &SnmpSource) -> Result<Reader, Failed> {
    let access = match &asked.access {
        SnmpAccess::Community(community) => Access::V2c { community: secret(community)? },
        SnmpAccess::User { name, auth, privacy } => Access::V3 {
            user: name.clone(),
            auth: auth.as_ref().map(|(how, at)| Ok((*how, secret(at)?))).transpose()?,
            privacy: privacy.as_ref().map(|(how, at)| Ok((*how, secret(at)?))).transpose()?,
        },
    };
    let target = Target {
        address: asked.address.clone(),
        access,
        timeout: asked.timeout.as_duration(),
        retries: RETRIES,
    };
    let extra =
        |(counter, oid): (&String, &Vec<u32>)| Extra { counter: counter.clone(), oid: oid.clone() };
    Ok(Reader::new(target, asked.oids.iter().map(extra).collect()))
}

/// Reads a secret from its location; it is passed to the device only.
fn secret(at: &Credentials) -> Result<Secret, Failed> {
    let text = match at {
        Credentials::Env(name) => std::env::var(name).map_err(|cause| {
            Failed::because(format!("read the credentials in ${name}"), cause)
                .hinted(format!("set it where switchmark is started: export {name}=…"))
        })?,
        Credentials::File(path) => std::fs::read_to_string(path)
            .map_err(Failed::to(format!("read the credentials in {}", path.display())))?,
    };
    Ok(Secret::new(text.lines().next().unwrap_or_default().to_owned()))
}

fn by_hand(asked: &SnmpSource) -> String {
    let (address, tree) = (&asked.address, "IF-MIB::ifXTable");
    match &asked.access {
        SnmpAccess::Community(_) => {
            format!("does it answer you? snmpwalk -v 2c -c COMMUNITY {address} {tree}")
        }
        SnmpAccess::User { name, .. } => {
            format!("does it answer you? snmpwalk -v 3 -u {name} -l authPriv … {address} {tree}")
        }
    }
}
