//! A testbed whose trials take no time: hosts around a modelled device, and direct cables beside it.
//!
//! Owns the topology and the turn from a trial to its record. Each trial begins with an idle device
//! that has learned its hosts' addresses. Never keeps anything from one trial to the next but the
//! virtual clock.

use device::Profile;
use method::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::HostModel;

/// Carries trials out in virtual time.
#[derive(Debug)]
pub struct VirtualTestbed {
    topology: Topology,
    profile: Profile,
    hosts: HostModel,
    seed: u64,
}

impl VirtualTestbed {
    /// Hosts `h1`… at the edges of `profile` from the first on, each with a port `eth1` to the device
    /// and, in pairs, a direct cable of the same rate: the topology that a lab has.
    pub fn new(name: &str, profile: Profile, hosts: HostModel, seed: u64) -> Self {
        let topology = Topology { name: name.to_owned(), hosts: Vec::new(), devices: Vec::new() };
        Self { topology, profile, hosts, seed }
    }
}

impl Testbed for VirtualTestbed {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let reason = format!(
            "nothing is simulated yet ({}, {} hosts, seed {})",
            self.profile.name, self.hosts.count, self.seed
        );
        Err(TestbedError::Unavailable { label: trial.label.clone(), reason })
    }
}
