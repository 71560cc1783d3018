//! Errors of requests to the kernel, with hints for the user.
//!
//! Owns the error type and its hints. Never prints.

use std::fmt;
use std::io;

use netlink_packet_core::DecodeError;
use nix::errno::Errno;

/// A request to the kernel failed.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The kernel refused the request.
    #[error("{deed} {object}")]
    Refused {
        /// Attempted operation, such as "create bridge".
        deed: &'static str,
        /// Object of the operation: a link's name or number, an address.
        object: String,
        /// The kernel's answer.
        #[source]
        cause: KernelAnswer,
    },
    /// The socket failed, or no answer came in time.
    #[error("{deed} {object}")]
    Socket {
        /// Attempted operation.
        deed: &'static str,
        /// Object of the operation.
        object: String,
        /// The system call's error.
        #[source]
        cause: io::Error,
    },
    /// The kernel's answer is malformed.
    #[error("{deed} {object}: the answer cannot be read")]
    Unreadable {
        /// Attempted operation.
        deed: &'static str,
        /// Object of the operation.
        object: String,
        /// Position and cause of the decoding failure.
        #[source]
        cause: DecodeError,
    },
    /// A table kept changing while it was being listed.
    #[error("{deed} {object}: the table changed during each of {attempts} attempts")]
    Unsteady {
        /// Attempted operation.
        deed: &'static str,
        /// Object of the operation.
        object: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// A feature kept its value although the kernel accepted the request.
    #[error("set features of {interface}: {} cannot be changed", .features.join(", "))]
    Fixed {
        /// The interface.
        interface: String,
        /// The features, by the kernel's names.
        features: Vec<String>,
    },
    /// The kernel's interface cannot express the value.
    #[error("{deed} {object}: {reason}")]
    Unsuitable {
        /// Attempted operation.
        deed: &'static str,
        /// Object of the operation.
        object: String,
        /// Reason why the value is unsuitable.
        reason: String,
    },
}

/// The kernel's error number and, often since Linux 4.12, its explanation.
#[derive(Debug)]
pub struct KernelAnswer {
    /// The error number.
    pub errno: Errno,
    /// Explanation of the kernel; `None` if it gave none.
    pub explanation: Option<String>,
}

impl fmt::Display for KernelAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.errno)?;
        match &self.explanation {
            Some(text) => write!(f, ": {text}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for KernelAnswer {}

impl NetlinkError {
    /// Error number of the kernel; `None` if there is none.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { cause, .. } => Some(cause.errno),
            Self::Socket { cause, .. } => cause.raw_os_error().map(Errno::from_raw),
            _ => None,
        }
    }

    /// True if the object asked for does not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self.errno(), Some(Errno::ENODEV | Errno::ENOENT | Errno::ESRCH))
    }

    /// Suggested fix for the user; `None` if unknown.
    pub fn hint(&self) -> Option<String> {
        let hint = match (self, self.errno()) {
            (Self::Fixed { .. }, _) => {
                "the driver fixes these; a virtual link (veth) lets them be changed"
            }
            (_, Some(Errno::EPERM | Errno::EACCES)) => {
                "this needs CAP_NET_ADMIN: run as root, in a container with \
                 `--cap-add=NET_ADMIN`, or in a user namespace of your own"
            }
            (_, Some(Errno::EOPNOTSUPP | Errno::EAFNOSUPPORT | Errno::EPROTONOSUPPORT)) => {
                "this kernel lacks it: look for veth, bridge, sch_tbf and ethtool-netlink in its \
                 configuration, and load their modules as root beforehand"
            }
            (Self::Refused { deed: "set token bucket filter on", .. }, Some(Errno::ENOENT)) => {
                "this kernel lacks the tbf queue: load the module sch_tbf as root"
            }
            (
                Self::Refused { deed: "set hierarchical token bucket on", .. },
                Some(Errno::ENOENT),
            ) => "this kernel lacks the HTB queue: load the module sch_htb as root",
            (Self::Refused { deed: "set netem on", .. }, Some(Errno::ENOENT)) => {
                "this kernel lacks the netem queue: load the module sch_netem as root"
            }
            (Self::Refused { deed: "redirect what arrives at", .. }, Some(Errno::ENOENT)) => {
                "this kernel lacks the filter: load the modules cls_u32 and act_mirred as root"
            }
            (Self::Refused { deed: "add ingress queue to", .. }, Some(Errno::EEXIST)) => {
                "another program queues what arrives there: `tc filter show dev DEV ingress` shows what"
            }
            (_, Some(Errno::EAGAIN)) => "the kernel did not answer: see its log",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
