//! Sources of the devices' own counters.
//!
//! Data only: the controller reads them. A secret is only referenced here: it is read where it is
//! needed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use management::json::Map;
use management::snmp::{AuthProtocol, Cipher};
use measure::Nanos;

/// Sources by device name; a device without any is absent.
pub type Accounts = BTreeMap<String, DeviceAccount>;

/// Sources of one device's counters.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceAccount {
    /// Sources in the file's order; the counters that several report for one port are merged.
    pub sources: Vec<AccountSource>,
    /// Names of ports on the device, by their names in cables, if the file states them.
    pub ports: BTreeMap<String, String>,
    /// Ports between which the device balances load, by its own names; no host is connected to
    /// them.
    pub paths: Vec<String>,
    /// Maximum lag of its counters behind its frames.
    pub lag: Nanos,
}

/// A source of counters.
#[derive(Debug, Clone, PartialEq)]
pub enum AccountSource {
    /// A program that prints JSON, run where switchmark runs.
    Command {
        /// Program and its arguments; no shell reads them.
        command: Vec<String>,
        /// Position of the counters in its JSON.
        map: Map,
        /// Time-out of the program.
        timeout: Nanos,
    },
    /// SNMP, IF-MIB (RFC 2863) and EtherLike-MIB (RFC 3635).
    Snmp(SnmpSource),
}

/// Parameters for reading a device by SNMP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnmpSource {
    /// Name or address, with or without a port.
    pub address: String,
    /// Version and credentials.
    pub access: SnmpAccess,
    /// Additional columns of tables with IF-MIB's index, by counter.
    pub oids: BTreeMap<String, Vec<u32>>,
    /// Time-out for one answer.
    pub timeout: Nanos,
}

/// Version and credentials for SNMP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnmpAccess {
    /// Version 2c.
    Community(Credentials),
    /// Version 3.
    User {
        /// Name of the user.
        name: String,
        /// Authentication protocol and its passphrase.
        auth: Option<(AuthProtocol, Credentials)>,
        /// Cipher and its passphrase.
        privacy: Option<(Cipher, Credentials)>,
    },
}

/// Location of a secret, without the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// In an environment variable.
    Env(String),
    /// In a file's first line.
    File(PathBuf),
}
