//! What a testbed file or a testbed name comes to: checked, complete, with every default filled in.
//!
//! Data only. Whoever holds one of these need not ask again whether a cable's far end exists.

use agents::failed::Failed;
use agents::hosts::{Hosts, Place};
pub use agents::hosts::{HostsConfig, Limits, Reach};
use lab::LabSpec;
use sim::VirtualTestbed;
use trial::Testbed as _;
use trial::topology::Topology;

use super::written::Written;

/// Where trials shall run.
#[derive(Debug, Clone, PartialEq)]
pub struct Testbed {
    /// As the user named it: `lab:bridge`, or the testbed file's path.
    pub name: String,
    /// A lab to build, or hosts to reach.
    pub source: Source,
    /// Where a file says what.
    pub written: Written,
}

impl Testbed {
    /// A testbed that no file describes.
    pub fn new(name: impl Into<String>, source: Source) -> Self {
        Self { name: name.into(), source, written: Written::default() }
    }

    /// The hosts and devices, where they are known before anything is built.
    pub fn topology(&self) -> Option<Topology> {
        match &self.source {
            Source::Hosts(hosts) => Some(hosts.topology(&self.name)),
            Source::Virtual(config) => Some(config.topology(&self.name)),
            Source::Lab(_) => None,
        }
    }
}

impl<'a> TryFrom<&'a Testbed> for Place<'a> {
    type Error = Failed;

    fn try_from(testbed: &'a Testbed) -> Result<Self, Failed> {
        let name = testbed.name.as_str();
        let hosts = match &testbed.source {
            Source::Lab(spec) => Hosts::Lab(spec),
            Source::Hosts(hosts) => Hosts::Reached(hosts),
            Source::Virtual(_) => {
                let why = "it is simulated, and its hosts are models";
                return Err(Failed::new(format!("start agents on testbed `{name}`: {why}")));
            }
        };
        Ok(Self { name, hosts })
    }
}

/// What a testbed is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Namespaces on this machine, built for the run and gone after it.
    Lab(LabSpec),
    /// Hosts that exist already.
    Hosts(Box<HostsConfig>),
    /// A model of a device and of hosts, in virtual time.
    Virtual(Box<VirtualConfig>),
}

/// What a simulated testbed is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualConfig {
    /// What stands between the hosts.
    pub profile: device::Profile,
    /// All of them alike.
    pub hosts: sim::HostModel,
    /// Where their ports lead.
    pub cabling: sim::Cabling,
}

impl VirtualConfig {
    /// What a study may know of the simulated hosts and devices.
    pub fn topology(&self, name: &str) -> Topology {
        // The seed is of what happens in a trial, and none runs here.
        let testbed = VirtualTestbed::new(name, self.profile.clone(), self.hosts.clone(), 0)
            .with_cabling(self.cabling);
        let mut topology = testbed.topology().clone();
        for device in &mut topology.devices {
            device.facts.insert("model".to_owned(), self.digest());
        }
        topology
    }

    /// Sixteen hex digits that differ where anything that was said of device or hosts does: a run
    /// is not resumed on another device of the same name. FNV-1a, 64 bits.
    fn digest(&self) -> String {
        let text = format!("{:?} {:?}", self.profile, self.hosts);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
            (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}
