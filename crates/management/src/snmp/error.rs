//! Errors of SNMP requests.
//!
//! Owns the wording of each kind; the caller adds the fix. Never holds a secret.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Reason why a device was not read.
#[derive(Debug, Error)]
pub enum SnmpError {
    /// The host name is unknown or invalid.
    #[error("find the address of {address}")]
    Address {
        /// Address as given.
        address: String,
        /// Error of the resolver.
        source: io::Error,
    },
    /// The kernel refused to send or receive.
    #[error("{deed} {address}")]
    Socket {
        /// `open a socket to`, or `exchange messages with`.
        deed: &'static str,
        /// Address of the device.
        address: String,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The host reports that no agent listens.
    #[error("ask {address}: nothing listens there")]
    Closed {
        /// Address of the device.
        address: String,
    },
    /// No answer came.
    #[error(
        "ask {address}: no answer; {tries} requests, each waited for {timeout:?}{}",
        .suspect.map(|suspect| format!("; {suspect}")).unwrap_or_default()
    )]
    Silence {
        /// Address of the device.
        address: String,
        /// Time-out for each answer.
        timeout: Duration,
        /// Number of requests sent.
        tries: u32,
        /// Credential that would cause the same silence if it were wrong; `None` if there is none.
        suspect: Option<Suspect>,
    },
    /// The device answers, but the whole reading exceeds its time limit.
    #[error("read {address}: not done after {after:?}")]
    TooSlow {
        /// Address of the device.
        address: String,
        /// Time limit of the whole reading.
        after: Duration,
    },
    /// The user interrupted the reading.
    #[error("read {address}: interrupted")]
    Stopped {
        /// Address of the device.
        address: String,
    },
    /// The device rejected the user (SNMPv3).
    #[error("ask {address} as {user}: {why}")]
    Refused {
        /// Address of the device.
        address: String,
        /// Name of the user.
        user: String,
        /// Reason that the device gave.
        why: Refusal,
    },
    /// The credentials cannot be used, whatever the device says.
    #[error("use the credentials of {user}: {why}")]
    Credentials {
        /// Name of the user.
        user: String,
        /// Reason why not.
        why: String,
    },
    /// Request that cannot be encoded: an invalid identifier.
    #[error("write a question to {address}: {source}")]
    Unwritten {
        /// Address of the device.
        address: String,
        /// Defect of the request.
        source: Defect,
    },
    /// Malformed answer.
    #[error("read the answer of {address}: {source}")]
    Malformed {
        /// Address of the device.
        address: String,
        /// Defect of the answer.
        source: Defect,
    },
    /// Only answers to other requests came.
    #[error("ask {address}: {answers} answers, none to this request")]
    Foreign {
        /// Address of the device.
        address: String,
        /// Number of such answers.
        answers: u32,
    },
    /// The device reports that one value is too large for an answer.
    #[error("read {object} of {address}: too large for one answer")]
    TooLarge {
        /// Address of the device.
        address: String,
        /// Identifier of the object.
        object: String,
    },
    /// The device answered with an error of its own.
    #[error("read {object} of {address}: the device says {status}")]
    Status {
        /// Address of the device.
        address: String,
        /// Object that the error names, or the first one in the request.
        object: String,
        /// Error status, by its name in RFC 3416 §3.
        status: &'static str,
    },
    /// A table's next row does not come after the last one.
    #[error("walk {column} of {address}: the row after {at} is not behind it")]
    NotAdvancing {
        /// Address of the device.
        address: String,
        /// Identifier of the column.
        column: String,
        /// Identifier of the last row.
        at: String,
    },
    /// A table with too many rows.
    #[error("walk {column} of {address}: more than {rows} rows")]
    Endless {
        /// Address of the device.
        address: String,
        /// Identifier of the column.
        column: String,
        /// Number of rows read.
        rows: usize,
    },
    /// The device has no such port.
    #[error("find port {port} of {address}: it has {}", join_names(.known, *.others))]
    UnknownPort {
        /// Address of the device.
        address: String,
        /// Requested port.
        port: String,
        /// Names of the first existing ports.
        known: Vec<String>,
        /// Number of further ports.
        others: usize,
    },
    /// The name matches more than one port.
    #[error("find port {port} of {address}: it may be {}", join_names(.candidates, 0))]
    AmbiguousPort {
        /// Address of the device.
        address: String,
        /// Requested port.
        port: String,
        /// Ports that match.
        candidates: Vec<String>,
    },
    /// The port has no packet counter.
    #[error("count packets at {port} of {address}: it counts {}", join_names(.had, 0))]
    NoPackets {
        /// Address of the device.
        address: String,
        /// Name of the port.
        port: String,
        /// Columns that it has, by their names in the MIB.
        had: Vec<String>,
    },
    /// The object that the user named as a counter is of another type.
    #[error("count {counter} by {object} of {address}: it is of type {kind}")]
    NotACounter {
        /// Address of the device.
        address: String,
        /// Name of the counter.
        counter: String,
        /// Identifier of the object.
        object: String,
        /// Actual type of the object.
        kind: &'static str,
    },
}

/// A credential that a device may reject without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Suspect {
    /// RFC 3584 §5.2.1: a message of an unknown community is dropped.
    #[error("a wrong community is met with silence, too")]
    Community,
    /// The engine answered, but no encrypted message was answered. A wrong key decrypts to no valid
    /// message, which net-snmp drops.
    #[error("it does tell its engine: a wrong password of privacy is met with silence, too")]
    Privacy,
}

/// Reason why a device rejects a request (the counters of RFC 3414 §5 that its reports name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// usmStatsUnknownUserNames.
    #[error("the device knows no such user")]
    UnknownUser,
    /// usmStatsWrongDigests: a wrong password or protocol.
    #[error("the password of authentication, or its protocol, is not the device's")]
    WrongDigest,
    /// usmStatsDecryptionErrors.
    #[error("the device cannot decrypt what this password and cipher encrypt")]
    Decryption,
    /// usmStatsUnsupportedSecLevels: the user has no privacy, or no authentication.
    #[error("the device has this user at another level of security")]
    Level,
    /// usmStatsNotInTimeWindows, although the clocks were just synchronised.
    #[error("the device does not keep to the clock that it told")]
    Clock,
    /// usmStatsUnknownEngineIDs, although the device just reported its own.
    #[error("the device does not know the engine that it said it was")]
    Engine,
    /// Another report.
    #[error("the device reports something that is not of its security model")]
    Other,
}

/// Defect of octets that should have been an answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Defect {
    /// Not the syntax of an SNMP message.
    #[error("no SNMP message: {0}")]
    Syntax(String),
    /// A message that is not an answer.
    #[error("{0} in the place of an answer")]
    Kind(String),
    /// Other objects than requested, or another number of them.
    #[error("other objects than were asked for")]
    Objects,
    /// Not verified: signed or encrypted with another key, changed in transit, too old, or of
    /// another engine, user or level of security (RFC 3414 §3.2).
    #[error("not to be verified: of another key, engine or level of security, or too old")]
    Unverified,
}

fn join_names(names: &[String], others: usize) -> String {
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
