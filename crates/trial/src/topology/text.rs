//! Ports and cable ends as text: in a testbed file, on a command line and in a journal.
//!
//! Never looks a name up.

use std::fmt;
use std::str::FromStr;

use super::{CableEnd, PortRef};

/// Error: the text is not of the form `name/port`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not of the form name/port")]
pub struct NotAPort(pub String);

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.host, self.port))
    }
}

impl FromStr for PortRef {
    type Err = NotAPort;
    fn from_str(text: &str) -> Result<Self, NotAPort> {
        match text.split_once('/') {
            Some((host, port)) if !host.is_empty() && !port.is_empty() && !port.contains('/') => {
                Ok(Self { host: host.to_owned(), port: port.to_owned() })
            }
            _ => Err(NotAPort(text.to_owned())),
        }
    }
}

impl From<PortRef> for String {
    fn from(port: PortRef) -> Self {
        port.to_string()
    }
}

impl TryFrom<String> for PortRef {
    type Error = NotAPort;
    fn try_from(text: String) -> Result<Self, NotAPort> {
        text.parse()
    }
}

/// Formats the end as in a testbed file: `sw1/1`, `h2/eth1`.
impl fmt::Display for CableEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device { device, port } => f.pad(&format!("{device}/{port}")),
            Self::Host(port) => port.fmt(f),
        }
    }
}

/// Formats the end for a journal. A device's end is written `device:sw1/1`, because only the
/// testbed file knows whether a name is a host's.
impl From<CableEnd> for String {
    fn from(end: CableEnd) -> Self {
        match end {
            CableEnd::Device { device, port } => format!("device:{device}/{port}"),
            CableEnd::Host(port) => format!("host:{port}"),
        }
    }
}

impl TryFrom<String> for CableEnd {
    type Error = NotAPort;
    fn try_from(text: String) -> Result<Self, NotAPort> {
        let read = |rest: &str| rest.parse::<PortRef>();
        match text.split_once(':') {
            Some(("device", rest)) => {
                read(rest).map(|p| Self::Device { device: p.host, port: p.port })
            }
            Some(("host", rest)) => read(rest).map(Self::Host),
            _ => Err(NotAPort(text)),
        }
    }
}
