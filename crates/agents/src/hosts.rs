//! Hosts on which trials run: transport, limits of their agents, the user's commands for devices,
//! and the sources of the devices' counters.
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

/// Suffix of a testbed file's path: the delay of arriving frames at each host.
pub const DELAY: &str = ",delay=";

/// Path of the file that a testbed's name means, relative to this folder.
pub fn file_of(text: &str, folder: &Path) -> PathBuf {
    folder.join(text.rsplit_once(DELAY).map_or(text, |(file, _)| file))
}

/// Place where agents run.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Name as the user typed it: `lab:bridge`, or the testbed file's path.
    pub name: &'a str,
    /// Hosts of the place: a lab to build, or hosts to reach.
    pub hosts: Hosts<'a>,
}

/// Hosts of a place.
#[derive(Debug, Clone, Copy)]
pub enum Hosts<'a> {
    /// Namespaces on this machine, built for the run and removed after it.
    Lab(&'a LabSpec),
    /// Hosts that exist already.
    Reached(&'a HostsConfig),
}

/// Hosts that exist already, with their cables.
#[derive(Debug, Clone, PartialEq)]
pub struct HostsConfig {
    /// Hosts in the file's order. A port is the kernel's interface of that name, and has its
    /// addresses already, unless it is in `own_addresses`.
    pub hosts: Vec<Host>,
    /// Transport to each host, by host.
    pub reaches: BTreeMap<String, Reach>,
    /// Ports that have their address only while the testbed is up, each with its prefix length in
    /// bits.
    pub own_addresses: BTreeMap<PortRef, u8>,
    /// Stated Ethernet addresses of ports that do not answer ARP, at hosts on which nothing runs.
    pub macs: BTreeMap<PortRef, MacAddr>,
    /// Command prefix of the agent, by host: `sudo -n`.
    pub becomes: BTreeMap<String, String>,
    /// Devices in the file's order.
    pub devices: Vec<Device>,
    /// Commands of the user for the devices.
    pub hooks: Hooks,
    /// Sources of the devices' own counters.
    pub accounts: Accounts,
    /// Delay of every frame that arrives at a host, added to the path; zero for none.
    pub delay: Nanos,
    /// Limits of the agents.
    pub limits: Limits,
}

/// Limits of the agents, whatever a study asks for; `None` is no limit in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Maximum rate of a host's interface.
    pub rate: Option<Rate>,
    /// Maximum duration of a trial.
    pub trial: Option<Nanos>,
}

/// Transport to a host's agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This host, as it is.
    Local,
    /// A named network namespace of this host (`/var/run/netns/NAME`).
    Netns(String),
    /// The network namespace of a process of this host.
    Pid(u32),
    /// Another machine, by the system's OpenSSH: `[user@]host[:port]`, with any host name from the
    /// user's own configuration.
    Ssh(String),
    /// A node of a Slurm cluster, by `srun`.
    Srun(String),
    /// A node that Open MPI reaches, by `mpirun`.
    Mpirun(String),
    /// A container or pod that runs already.
    Container(Container),
    /// No agent: a third party's iperf3 server is its end of a flow.
    Iperf3 {
        /// Name of the host, or its test address.
        server: String,
        /// TCP port on which the server listens.
        port: u16,
    },
    /// No agent, and nothing runs there: the host's device port counts the frames sent to it.
    Nothing,
}

impl Reach {
    /// Command with which a user can test whether the host is reachable; `None` if no other program
    /// is needed.
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

    /// True if the agent is another program's child, and does not end with the thread that started
    /// it.
    pub const fn is_away(&self) -> bool {
        match self {
            // The agent may have to be started next to one of this machine's containers, by this
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
    /// Builds the topology that a study may know of these hosts.
    pub fn topology(&self, name: &str) -> Topology {
        Topology::new(name, self.hosts.clone(), self.devices.clone())
    }
}
