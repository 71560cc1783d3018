//! How devices are asked for their own counters.
//!
//! Data only: the controller asks. A secret is named here and never held: it is read where it is
//! needed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use management::json::Map;
use management::snmp::{AuthProtocol, Cipher};
use measure::Nanos;

/// By device name; devices that are not asked are absent.
pub type Accounts = BTreeMap<String, DeviceAccount>;

/// One device's.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceAccount {
    /// In the file's order; what several say of one port is put together.
    pub sources: Vec<AccountSource>,
    /// By the port's name in cables, the device's own name of it, where the file says it.
    pub ports: BTreeMap<String, String>,
    /// Those of its ports among which it chooses, as it calls them: no host is behind them.
    pub paths: Vec<String>,
    /// How far its counters may be behind its frames.
    pub lag: Nanos,
}

/// One way of asking.
#[derive(Debug, Clone, PartialEq)]
pub enum AccountSource {
    /// A program that prints JSON, run where switchmark runs.
    Command {
        /// The program and its arguments; no shell reads them.
        command: Vec<String>,
        /// Where in its JSON the counters are.
        map: Map,
        /// For so long it may run.
        timeout: Nanos,
    },
    /// SNMP, IF-MIB (RFC 2863) and EtherLike-MIB (RFC 3635).
    Snmp(SnmpSource),
}

/// How a device is asked by SNMP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnmpSource {
    /// A name or an address, with a port or without.
    pub address: String,
    /// Which version, and what it needs.
    pub access: SnmpAccess,
    /// By counter, further columns of tables that are indexed as IF-MIB's are.
    pub oids: BTreeMap<String, Vec<u32>>,
    /// How long one answer is waited for.
    pub timeout: Nanos,
}

/// What a version of SNMP needs to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnmpAccess {
    /// Version 2c.
    Community(Credentials),
    /// Version 3.
    User {
        /// The user's name.
        name: String,
        /// The protocol and the passphrase that it authenticates with.
        auth: Option<(AuthProtocol, Credentials)>,
        /// The cipher and its passphrase.
        privacy: Option<(Cipher, Credentials)>,
    },
}

/// Where a secret is, and not what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// In a variable of the environment.
    Env(String),
    /// In a file's first line.
    File(PathBuf),
}
