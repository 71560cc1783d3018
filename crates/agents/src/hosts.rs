//! Hosts on which trials run: how they are reached, what their agents keep to, what the user's
//! commands can do to devices, and how these are asked for their counters.
//!
//! Data only, checked and complete, with every default filled in. Never reads a file.

pub mod accounts;
pub mod container;
pub mod hooks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lab::LabSpec;
use measure::{Nanos, Rate};
use trial::topology::{Device, Host, IPERF3, NOTHING, PortRef, Topology};
use wire::MacAddr;

use accounts::Accounts;
use container::{Container, Keeper};
use hooks::Hooks;

/// Behind a testbed file's path: how long what arrives at each host waits there.
pub const DELAY: &str = ",delay=";

/// The file that a testbed's name means, said in this folder.
pub fn file_of(text: &str, folder: &Path) -> PathBuf {
    folder.join(text.rsplit_once(DELAY).map_or(text, |(file, _)| file))
}

/// Where agents run.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// As the user named it: `lab:bridge`, or the testbed file's path.
    pub name: &'a str,
    /// A lab to build, or hosts to reach.
    pub hosts: Hosts<'a>,
}

/// The hosts of a place.
#[derive(Debug, Clone, Copy)]
pub enum Hosts<'a> {
    /// Namespaces on this machine, built for the run and gone after it.
    Lab(&'a LabSpec),
    /// Hosts that exist already.
    Reached(&'a HostsConfig),
}

/// Hosts that exist already, and how they are cabled.
#[derive(Debug, Clone, PartialEq)]
pub struct HostsConfig {
    /// In the file's order. A port is the kernel's interface of that name, and has its addresses
    /// already, unless it stands in `own_addresses`.
    pub hosts: Vec<Host>,
    /// By host, the launcher.
    pub reaches: BTreeMap<String, Reach>,
    /// Ports that get their address when the testbed comes up and lose it with it, each with its
    /// subnet's length in bits.
    pub own_addresses: BTreeMap<PortRef, u8>,
    /// Ports of hosts on which nothing runs that do not answer who asks for their Ethernet address:
    /// it is stated.
    pub macs: BTreeMap<PortRef, MacAddr>,
    /// By host, before which command its agent is put: `sudo -n`.
    pub becomes: BTreeMap<String, String>,
    /// In the file's order.
    pub devices: Vec<Device>,
    /// What the user's commands can do to them.
    pub hooks: Hooks,
    /// How they are asked for their own counters.
    pub accounts: Accounts,
    /// How long every frame that arrives at a host waits there, added to the path; zero is nothing.
    pub delay: Nanos,
    /// What agents hold themselves to.
    pub limits: Limits,
}

/// What agents hold themselves to, whatever a study asks for; nothing is no limit of the file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The most that a host's interface may be asked to send.
    pub rate: Option<Rate>,
    /// The longest trial.
    pub trial: Option<Nanos>,
}

/// How an agent gets to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This host, as it is.
    Local,
    /// A named network namespace of this host (`/var/run/netns/NAME`).
    Netns(String),
    /// The network namespace of a process of this host.
    Pid(u32),
    /// Another machine, by the system's OpenSSH: `[user@]host[:port]`, where a host may be any name
    /// that the user's own configuration knows.
    Ssh(String),
    /// A node of a Slurm cluster, by `srun`.
    Srun(String),
    /// A node that Open MPI reaches, by `mpirun`.
    Mpirun(String),
    /// A container or pod that runs already.
    Container(Container),
    /// Not at all: somebody else's iperf3 server is its end of a flow.
    Iperf3 {
        /// The host's own name, or its test address.
        server: String,
        /// Where it listens.
        port: u16,
    },
    /// Not at all, and nothing runs there: the device before it counts what leaves towards it.
    Nothing,
}

impl Reach {
    /// A command that shows whether the host can be reached at all, where another program does it.
    pub fn try_by_hand(&self) -> Option<String> {
        match self {
            Self::Local | Self::Netns(_) | Self::Pid(_) | Self::Iperf3 { .. } | Self::Nothing => {
                None
            }
            Self::Ssh(destination) => Some(format!("ssh ssh://{destination} true")),
            Self::Container(container) => Some(format!("{} true", container.exec().join(" "))),
            Self::Srun(node) => Some(format!("srun --nodelist {node} true")),
            Self::Mpirun(node) => Some(format!("mpirun -n 1 --host {node} true")),
        }
    }

    /// Whether the agent is another program's child, and does not end with the thread that started
    /// it.
    pub const fn is_away(&self) -> bool {
        match self {
            // An agent may have to be started beside one of this machine's containers, by this
            // program itself.
            Self::Container(container) => matches!(container.keeper, Keeper::Kubectl),
            Self::Ssh(_) | Self::Srun(_) | Self::Mpirun(_) => true,
            Self::Local | Self::Netns(_) | Self::Pid(_) | Self::Iperf3 { .. } | Self::Nothing => {
                false
            }
        }
    }
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => f.pad("local"),
            Self::Netns(name) => write!(f, "netns:{name}"),
            Self::Pid(pid) => write!(f, "pid:{pid}"),
            Self::Ssh(destination) => write!(f, "ssh://{destination}"),
            Self::Container(container) => container.fmt(f),
            Self::Srun(node) => write!(f, "srun:{node}"),
            Self::Mpirun(node) => write!(f, "mpirun:{node}"),
            Self::Iperf3 { server, port } => write!(f, "{IPERF3}{server}:{port}"),
            Self::Nothing => f.pad(NOTHING),
        }
    }
}

impl HostsConfig {
    /// What a study may know of these hosts.
    pub fn topology(&self, name: &str) -> Topology {
        Topology::new(name, self.hosts.clone(), self.devices.clone())
    }
}
