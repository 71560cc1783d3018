//! Errors of a lab, a namespace or a machine, with hints for the user.
//!
//! Owns the error type and its hints. Never prints.

use std::fmt::Display;
use std::io;

use netlink::NetlinkError;
use nix::errno::Errno;

use crate::equipment::Cause;
use crate::spec::SpecError;

/// Failure to plan, build or use a lab: the attempted operation and its cause.
#[derive(Debug, thiserror::Error)]
#[error("{deed}")]
pub struct LabError {
    deed: String,
    #[source]
    cause: Option<Cause>,
    hint: Option<String>,
}

impl LabError {
    /// Creates an error from the attempted operation; without a cause, the text includes the
    /// reason.
    pub(crate) fn new(deed: impl Into<String>) -> Self {
        Self { deed: deed.into(), cause: None, hint: None }
    }

    pub(crate) fn because(deed: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self { cause: Some(cause.into()), ..Self::new(deed) }
    }

    /// Creates the error of a failed system call about namespaces, such as "create network
    /// namespace for".
    pub(crate) fn kernel(
        deed: &'static str,
        object: impl Display,
        cause: impl Into<io::Error>,
    ) -> Self {
        let cause = cause.into();
        let hint = cause.raw_os_error().and_then(|number| hint(deed, Errno::from_raw(number)));
        let failed = Self::file(deed, object, cause);
        Self { hint: hint.map(str::to_owned), ..failed }
    }

    /// Creates the error of an operation that needs no privilege, such as "read kernel image".
    pub(crate) fn file(
        deed: &'static str,
        object: impl Display,
        cause: impl Into<io::Error>,
    ) -> Self {
        Self::because(format!("{deed} {object}"), cause.into())
    }

    /// Creates the error of a request about links, routes or queues in a node's namespace.
    pub(crate) fn netlink(node: impl Display, cause: NetlinkError) -> Self {
        let hint = cause.hint();
        Self { hint, ..Self::because(format!("set up {node}"), cause) }
    }

    /// Creates the error for links of a node that did not settle in time.
    pub(crate) fn unsettled(node: impl Display, links: &[String]) -> Self {
        Self::new(format!("set up {node}: {} did not come to rest", links.join(", ")))
    }

    #[must_use]
    pub(crate) fn hinted(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Suggested fix for the user; `None` if unknown.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl From<SpecError> for LabError {
    fn from(cause: SpecError) -> Self {
        Self::because("plan the lab", cause)
    }
}

/// Operation whose failures have hints of their own.
pub(crate) const USER_NAMESPACE: &str = "enter a user namespace as";

fn hint(deed: &str, cause: Errno) -> Option<&'static str> {
    Some(match (deed, cause) {
        (USER_NAMESPACE, Errno::ENOSPC | Errno::EUSERS) => {
            "too many user namespaces: raise user.max_user_namespaces, or run as root"
        }
        (USER_NAMESPACE, Errno::EINVAL) => {
            "this kernel has no user namespaces (CONFIG_USER_NS): run as root"
        }
        (_, Errno::EPERM | Errno::EACCES) => {
            "this needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run as root, or in a user namespace"
        }
        ("set", Errno::EROFS) => {
            "/proc/sys is read-only here, as in a container: start that with `--privileged`, or \
             with `--security-opt unmask=/proc/sys` (podman) or `--security-opt \
             systempaths=unconfined` (Docker)"
        }
        (_, Errno::ENOENT | Errno::ESRCH) => "no such namespace or process: is it still there?",
        (_, Errno::EMFILE | Errno::ENFILE) => "too many open files: raise `ulimit -n`",
        _ => return None,
    })
}
