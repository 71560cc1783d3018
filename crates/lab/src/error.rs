//! What can go wrong with a lab, a namespace or a machine, and what to do about it.
//!
//! Owns the error type and its hints. Never prints.

use std::fmt::Display;
use std::io;

use netlink::NetlinkError;
use nix::errno::Errno;

use crate::equipment::Cause;
use crate::spec::SpecError;

/// A lab can't be planned, built or used: what was attempted, and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("{deed}")]
pub struct LabError {
    deed: String,
    #[source]
    cause: Option<Cause>,
    hint: Option<String>,
}

impl LabError {
    /// What was attempted and, where nothing is underneath, why that is refused.
    pub(crate) fn new(deed: impl Into<String>) -> Self {
        Self { deed: deed.into(), cause: None, hint: None }
    }

    pub(crate) fn because(deed: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self { cause: Some(cause.into()), ..Self::new(deed) }
    }

    /// A system call about namespaces failed: "create network namespace for", on what.
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

    /// Something that needs no right of ours failed: "read kernel image", which.
    pub(crate) fn file(
        deed: &'static str,
        object: impl Display,
        cause: impl Into<io::Error>,
    ) -> Self {
        Self::because(format!("{deed} {object}"), cause.into())
    }

    /// A request about links, routes or queues failed, in the namespace of a node.
    pub(crate) fn netlink(node: impl Display, cause: NetlinkError) -> Self {
        let hint = cause.hint();
        Self { hint, ..Self::because(format!("set up {node}"), cause) }
    }

    /// The kernel did not take note of carriers in time: a node's links that are not as theirs.
    pub(crate) fn unsettled(node: impl Display, links: &[String]) -> Self {
        Self::new(format!("set up {node}: {} did not come to rest", links.join(", ")))
    }

    #[must_use]
    pub(crate) fn hinted(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What the user can do about it, where we know.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl From<SpecError> for LabError {
    fn from(cause: SpecError) -> Self {
        Self::because("plan the lab", cause)
    }
}

/// The deed whose failures have hints of their own.
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
