//! What can go wrong between a question and its answer.
//!
//! Owns the words for each kind; what to do about it is the caller's to say. Never holds a secret.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Why a device was not read.
#[derive(Debug, Error)]
pub enum SnmpError {
    /// The name of the host is not known, or is none.
    #[error("find the address of {address}")]
    Address {
        /// As it was given.
        address: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// The kernel refused to send or receive.
    #[error("{deed} {address}")]
    Socket {
        /// `open a socket to`, or `exchange messages with`.
        deed: &'static str,
        /// The device.
        address: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The host says that no agent is there.
    #[error("ask {address}: nothing listens there")]
    Closed {
        /// The device.
        address: String,
    },
    /// Not a word came.
    #[error(
        "ask {address}: no answer; {tries} requests, each waited for {timeout:?}{}",
        .suspect.map(|suspect| format!("; {suspect}")).unwrap_or_default()
    )]
    Silence {
        /// The device.
        address: String,
        /// How long each answer was waited for.
        timeout: Duration,
        /// How often it was asked.
        tries: u32,
        /// Which credential would look the same if it were wrong.
        suspect: Option<Suspect>,
    },
    /// The device answers, but not in time for what is to be read in all.
    #[error("read {address}: not done after {after:?}")]
    TooSlow {
        /// The device.
        address: String,
        /// How long all of it may take.
        after: Duration,
    },
    /// The user wants an end.
    #[error("read {address}: interrupted")]
    Stopped {
        /// The device.
        address: String,
    },
    /// The device does not take the user (SNMPv3).
    #[error("ask {address} as {user}: {why}")]
    Refused {
        /// The device.
        address: String,
        /// The user's name.
        user: String,
        /// What it objects to.
        why: Refusal,
    },
    /// The credentials can't be used as they are, whatever the device says.
    #[error("use the credentials of {user}: {why}")]
    Credentials {
        /// The user's name.
        user: String,
        /// Why not.
        why: String,
    },
    /// What is to be asked can't be written: an identifier that is none.
    #[error("write a question to {address}: {source}")]
    Unwritten {
        /// The device.
        address: String,
        /// What is wrong with it.
        source: Defect,
    },
    /// What came is not an answer in SNMP.
    #[error("read the answer of {address}: {source}")]
    Malformed {
        /// The device.
        address: String,
        /// What is wrong with it.
        source: Defect,
    },
    /// Only answers to something else came.
    #[error("ask {address}: {answers} answers, none to this request")]
    Foreign {
        /// The device.
        address: String,
        /// How many there were.
        answers: u32,
    },
    /// The device says that one value is too large for an answer.
    #[error("read {object} of {address}: too large for one answer")]
    TooLarge {
        /// The device.
        address: String,
        /// The object's identifier.
        object: String,
    },
    /// The device answered with an error of its own.
    #[error("read {object} of {address}: the device says {status}")]
    Status {
        /// The device.
        address: String,
        /// The object that it names, or the first that was asked for.
        object: String,
        /// By the name that RFC 3416 §3 has for it.
        status: &'static str,
    },
    /// A table whose next row is not after the last.
    #[error("walk {column} of {address}: the row after {at} is not behind it")]
    NotAdvancing {
        /// The device.
        address: String,
        /// The column's identifier.
        column: String,
        /// Where it stands.
        at: String,
    },
    /// A table of too many rows.
    #[error("walk {column} of {address}: more than {rows} rows")]
    Endless {
        /// The device.
        address: String,
        /// The column's identifier.
        column: String,
        /// How many were read.
        rows: usize,
    },
    /// The device has no such port.
    #[error("find port {port} of {address}: it has {}", listed(.known, *.others))]
    UnknownPort {
        /// The device.
        address: String,
        /// What was asked for.
        port: String,
        /// The first of those that there are.
        known: Vec<String>,
        /// How many more there are.
        others: usize,
    },
    /// More than one port is called so.
    #[error("find port {port} of {address}: it may be {}", listed(.candidates, 0))]
    AmbiguousPort {
        /// The device.
        address: String,
        /// What was asked for.
        port: String,
        /// Those that it may be.
        candidates: Vec<String>,
    },
    /// The port has no counter of packets.
    #[error("count packets at {port} of {address}: it counts {}", listed(.had, 0))]
    NoPackets {
        /// The device.
        address: String,
        /// The port.
        port: String,
        /// The columns that it has, by their names in the MIB.
        had: Vec<String>,
    },
    /// What the user calls a counter is something else.
    #[error("count {counter} by {object} of {address}: it is of type {kind}")]
    NotACounter {
        /// The device.
        address: String,
        /// The counter's name.
        counter: String,
        /// The object's identifier.
        object: String,
        /// What it is.
        kind: &'static str,
    },
}

/// A credential that a device need not refuse in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Suspect {
    /// RFC 3584 §5.2.1: a message of an unknown community is dropped.
    #[error("a wrong community is met with silence, too")]
    Community,
    /// The engine did answer, but not what is encrypted: a wrong key decrypts to no message, which
    /// net-snmp drops.
    #[error("it does tell its engine: a wrong password of privacy is met with silence, too")]
    Privacy,
}

/// What a device objects to (the counters of RFC 3414 §5 that its reports name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// usmStatsUnknownUserNames.
    #[error("the device knows no such user")]
    UnknownUser,
    /// usmStatsWrongDigests: another password or another protocol.
    #[error("the password of authentication, or its protocol, is not the device's")]
    WrongDigest,
    /// usmStatsDecryptionErrors.
    #[error("the device can't decrypt what this password and cipher encrypt")]
    Decryption,
    /// usmStatsUnsupportedSecLevels: the user has no privacy, or no authentication.
    #[error("the device has this user at another level of security")]
    Level,
    /// usmStatsNotInTimeWindows, although the clocks were just compared.
    #[error("the device does not keep to the clock that it told")]
    Clock,
    /// usmStatsUnknownEngineIDs, although it was just asked for its own.
    #[error("the device does not know the engine that it said it was")]
    Engine,
    /// Another report.
    #[error("the device reports something that is not of its security model")]
    Other,
}

/// What is wrong with octets that should have been an answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Defect {
    /// Not the syntax of an SNMP message.
    #[error("no SNMP message: {0}")]
    Syntax(String),
    /// A message that is no answer.
    #[error("{0} in the place of an answer")]
    Kind(String),
    /// Other objects than were asked for, or another number of them.
    #[error("other objects than were asked for")]
    Objects,
    /// Not verified: signed or encrypted with another key, changed on its way, too old, or of
    /// another engine, user or level of security (RFC 3414 §3.2).
    #[error("not to be verified: of another key, engine or level of security, or too old")]
    Unverified,
}

fn listed(names: &[String], others: usize) -> String {
    let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    if others == 0 { list } else { format!("{list} and {others} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_named_and_the_rest_counted() {
        let error = |known: &[&str], others| {
            let known = known.iter().map(|&name| name.to_owned()).collect();
            let (address, port) = ("sw1:161".to_owned(), "swp9".to_owned());
            SnmpError::UnknownPort { address, port, known, others }.to_string()
        };
        assert_eq!(error(&[], 0), "find port swp9 of sw1:161: it has none");
        let many = error(&["swp1", "swp2"], 40);
        assert_eq!(many, "find port swp9 of sw1:161: it has swp1, swp2 and 40 more");
    }
}
