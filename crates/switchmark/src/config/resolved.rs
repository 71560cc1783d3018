//! Testbed after its file or name was resolved: checked, complete, with every default filled in.
//!
//! Data only. Its holder need not check again whether a cable's far end exists.

use agents::failed::Failed;
use agents::hosts::{Hosts, Place};
pub use agents::hosts::{HostsConfig, Limits, Reach};
use lab::LabSpec;
use sim::VirtualTestbed;
use trial::Testbed as _;
use trial::topology::Topology;

use super::written::Written;

/// Testbed for trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Testbed {
    /// Name as the user gave it: `lab:bridge`, or the testbed file's path.
    pub name: String,
    /// A lab to build, or hosts to reach.
    pub source: Source,
    /// Places of statements in its file.
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

/// Kind of a testbed.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Namespaces on this machine, built for the run and removed after it.
    Lab(LabSpec),
    /// Hosts that exist already.
    Hosts(Box<HostsConfig>),
    /// A model of a device and of hosts, in virtual time.
    Virtual(Box<VirtualConfig>),
}

/// Parts of a simulated testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualConfig {
    /// Device between the hosts.
    pub profile: device::Profile,
    /// Model of every host.
    pub hosts: sim::HostModel,
    /// Far ends of the hosts' ports.
    pub cabling: sim::Cabling,
}

impl VirtualConfig {
    /// Returns the simulated hosts and devices, as far as a study may know them.
    pub fn topology(&self, name: &str) -> Topology {
        // The seed affects trials, and none runs here.
        let testbed = VirtualTestbed::new(name, self.profile.clone(), self.hosts.clone(), 0)
            .with_cabling(self.cabling);
        let mut topology = testbed.topology().clone();
        for device in &mut topology.devices {
            device.facts.insert("model".to_owned(), self.digest());
        }
        topology
    }

    /// Sixteen hex digits that differ if any setting of device or hosts does, so that a run is not
    /// resumed on another device of the same name. FNV-1a, 64 bits.
    fn digest(&self) -> String {
        let text = format!("{:?} {:?}", self.profile, self.hosts);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
            (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}
