//! Starting an agent where its host is.
//!
//! Owns the ways to get there; [the one by ssh](super::ssh) has a place of its own. Never talks to the
//! agent it started. The child is tied to the calling *thread*, unless it is ssh's: call from one that
//! outlives it.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use lab::{Lab, LabError, Namespace};

use super::Stop;
use super::ssh::{self, SshError};
use crate::config::resolved::Reach;

/// A way to a host.
#[derive(Debug)]
pub enum Launcher<'a> {
    /// A node of a lab on this machine.
    Lab {
        /// The lab.
        lab: &'a Lab,
        /// The node's name.
        node: &'a str,
    },
    /// A host that exists already.
    Host(&'a Reach),
}

/// An agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// In a namespace.
    #[error("start an agent at {place}")]
    Namespace {
        /// `lab node h1`, `netns:red`.
        place: String,
        /// Why.
        #[source]
        cause: LabError,
    },
    /// On this host as it is.
    #[error("start an agent here")]
    Local(#[source] std::io::Error),
    /// On another machine.
    #[error("start an agent at ssh://{destination}")]
    Ssh {
        /// `[user@]host[:port]`
        destination: String,
        /// Why.
        #[source]
        cause: SshError,
    },
}

impl Launcher<'_> {
    /// Starts `program agent` there, its three streams piped.
    pub fn start(&self, program: &Path, stop: &Stop) -> Result<Child, LaunchError> {
        let mut command = Command::new(program);
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let namespace = |place: String| |cause| LaunchError::Namespace { place, cause };
        match self {
            Self::Lab { lab, node } => {
                lab.spawn(node, &mut command).map_err(namespace(format!("lab node {node}")))
            }
            Self::Host(reach @ Reach::Netns(name)) => Namespace::named(name)
                .and_then(|there| there.spawn(&mut command))
                .map_err(namespace(reach.to_string())),
            Self::Host(reach @ Reach::Pid(pid)) => Namespace::of_process(*pid)
                .and_then(|there| there.spawn(&mut command))
                .map_err(namespace(reach.to_string())),
            Self::Host(Reach::Local) => command.spawn().map_err(LaunchError::Local),
            Self::Host(Reach::Ssh(destination)) => ssh::start(destination, program, stop)
                .map_err(|cause| LaunchError::Ssh { destination: destination.clone(), cause }),
        }
    }
}
