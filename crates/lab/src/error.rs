//! What can go wrong with a lab or a namespace, and what to do about it.
//!
//! Owns the error type and its hints. Never prints.

use std::io;

use netlink::NetlinkError;
use nix::errno::Errno;

use crate::equipment::Cause;
use crate::spec::SpecError;
use crate::vm::VmError;

/// A lab can't be planned, built or used.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// It can't be as asked.
    #[error("plan the lab")]
    Spec(#[from] SpecError),
    /// A system call failed.
    #[error("{deed} {object}")]
    Kernel {
        /// What was attempted: "create network namespace for".
        deed: &'static str,
        /// On what.
        object: String,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// A request about links, routes or queues failed.
    #[error("set up {node}")]
    Netlink {
        /// The node in whose namespace it was made.
        node: String,
        /// What the kernel refused.
        #[source]
        cause: NetlinkError,
    },
    /// The device can't be told which frames to drop.
    #[error("set up the drop rules of {node} by nft")]
    Drops {
        /// The device.
        node: String,
        /// What nft said, or why it did not run.
        #[source]
        cause: io::Error,
    },
    /// No host or device has this name.
    #[error("find node {name}: the lab has {}", .known.join(", "))]
    NoSuchNode {
        /// As asked.
        name: String,
        /// The nodes that there are.
        known: Vec<String>,
    },
    /// No device has this name.
    #[error("find device {name}: the lab has {}", or_none(.known))]
    NoSuchDevice {
        /// As asked.
        name: String,
        /// The devices that there are.
        known: Vec<String>,
    },
    /// A device can't be put so.
    #[error("put device {device} into variant {variant}: it has {}", or_none(.known))]
    NoSuchVariant {
        /// The device.
        device: String,
        /// As asked.
        variant: String,
        /// The variants that it has, here.
        known: Vec<String>,
    },
    /// The kernel took a setting and does not show it.
    #[error("put device {device} into variant {variant}: {found}")]
    VariantNotTaken {
        /// The device.
        device: String,
        /// As asked.
        variant: &'static str,
        /// What was found instead.
        found: String,
    },
    /// Forwarding by XDP could not be set up.
    #[error("forward by XDP in {node}")]
    Xdp {
        /// The node.
        node: String,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// Nobody said by what frames come to a model and leave it.
    #[error("start emulated device {device}: this program has no switchboard for it")]
    NoSwitchboard {
        /// The device.
        device: String,
    },
    /// An emulated device can't be started, or does not answer.
    #[error("turn emulated device {device}")]
    Emulated {
        /// The device.
        device: String,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// Nobody said what machines are started with.
    #[error("start machine {device}: this program has no emulator to start it with")]
    NoEmulator {
        /// The device.
        device: String,
    },
    /// The kernel did not take note of carriers in time.
    #[error("set up {node}: {} did not come to rest", .links.join(", "))]
    Unsettled {
        /// The node.
        node: String,
        /// Its links that are not as their carriers are.
        links: Vec<String>,
    },
    /// The process already has more than one thread.
    #[error("enter a user namespace: the process has {threads} threads, and must have one")]
    NotSingleThreaded {
        /// How many.
        threads: usize,
    },
    /// A name that can't be a file's.
    #[error("open network namespace {name}: not a plain name")]
    BadName {
        /// As asked.
        name: String,
    },
    /// A virtual machine can't be prepared, started or asked.
    #[error(transparent)]
    Vm(#[from] VmError),
}

impl LabError {
    pub(crate) fn kernel(
        deed: &'static str,
        object: impl std::fmt::Display,
        cause: impl Into<io::Error>,
    ) -> Self {
        Self::Kernel { deed, object: format!("{object}"), cause: cause.into() }
    }

    /// What the user can do about it, where we know.
    pub fn hint(&self) -> Option<String> {
        let (deed, cause) = match self {
            Self::Netlink { cause, .. } => return cause.hint(),
            Self::Vm(cause) => return cause.hint(),
            Self::NoSuchVariant { variant, .. } if matches!(variant.as_str(), "xdp" | "rps") => {
                return Some("xdp (of routers only) and rps need root".to_owned());
            }
            Self::Kernel { deed, cause, .. } => (*deed, cause),
            Self::Drops { cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
                return Some("apt install nftables".to_owned());
            }
            Self::Drops { .. } => {
                return Some(
                    "the kernel needs nf_tables of bridges, with limit and numgen \
                     (CONFIG_NF_TABLES_BRIDGE, NFT_LIMIT, NFT_NUMGEN): load its modules as root; \
                     where nft itself is old, apt install nftables"
                        .to_owned(),
                );
            }
            Self::NotSingleThreaded { .. } => {
                return Some("this is a fault of the program: enter before any thread".to_owned());
            }
            _ => return None,
        };
        let hint = match (deed, cause.raw_os_error().map(Errno::from_raw)?) {
            (USER_NAMESPACE, Errno::EPERM | Errno::EACCES) => {
                "the kernel keeps user namespaces from ordinary users: as root set \
                 kernel.unprivileged_userns_clone=1 (Debian) or \
                 kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or run as root"
            }
            (USER_NAMESPACE, Errno::ENOSPC | Errno::EUSERS) => {
                "too many user namespaces: raise user.max_user_namespaces, or run as root"
            }
            (USER_NAMESPACE, Errno::EINVAL) => {
                "this kernel has no user namespaces (CONFIG_USER_NS): run as root"
            }
            (_, Errno::EPERM | Errno::EACCES) => {
                "this needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run as root, or in a user namespace"
            }
            (_, Errno::ENOENT | Errno::ESRCH) => "no such namespace or process: is it still there?",
            (_, Errno::EMFILE | Errno::ENFILE) => "too many open files: raise `ulimit -n`",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// The deed whose failures have hints of their own.
pub(crate) const USER_NAMESPACE: &str = "enter a user namespace as";

fn or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
