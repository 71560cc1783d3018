//! One way of asking a device, ready to be used.
//!
//! Owns what is kept between two readings. Never reads an answer itself: the room `management`
//! does.

use std::error::Error;

use management::Account;
use management::json::Map;
use measure::Nanos;

use crate::config::accounts::AccountSource;
use crate::controller::{Stop, command};
use crate::failed::Failed;

type Cause = Box<dyn Error + Send + Sync>;

/// It.
#[derive(Debug)]
pub(super) enum Source {
    Command { words: Vec<String>, map: Map, timeout: Nanos },
}

impl Source {
    pub(super) fn open(source: &AccountSource) -> Result<Self, Failed> {
        match source {
            AccountSource::Command { command, map, timeout } => {
                Ok(Self::Command { words: command.clone(), map: map.clone(), timeout: *timeout })
            }
            AccountSource::Snmp(_) => Err(Failed::new("no snmp yet")),
        }
    }

    /// The counters of these ports, by the device's names, and perhaps of others.
    pub(super) fn read(&mut self, _ports: &[String], stop: &Stop) -> Result<Account, Cause> {
        match self {
            Self::Command { words, map, timeout } => {
                let printed = command::print(words, *timeout, stop)?;
                Ok(map.read(&printed).map_err(|cause| Failed::because(words.join(" "), cause))?)
            }
        }
    }

    /// What to do where that fails.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Command { words, .. } => {
                format!("try it by hand: {}", words.join(" "))
            }
        }
    }
}
