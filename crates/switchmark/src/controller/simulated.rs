//! The testbed in virtual time, as a run sees it: with a model's digest in its topology, with facts
//! and notes, and with the user's wish to stop.
//!
//! Never simulates: `sim` does. Needs no root, no agent and no namespace.

use std::collections::BTreeMap;

use agents::controller::{Facts, Stop};
use sim::{HostModel, VirtualTestbed};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::config::resolved::VirtualConfig;

/// Carries trials out in virtual time.
#[derive(Debug)]
pub struct Simulated {
    inner: VirtualTestbed,
    topology: Topology,
    facts: Facts,
    notes: Vec<String>,
    stop: Stop,
}

impl Simulated {
    /// Hosts around a modelled device.
    pub fn open(name: &str, config: &VirtualConfig, stop: &Stop, seed: u64) -> Self {
        let (profile, hosts) = (config.profile.clone(), config.hosts.clone());
        Self {
            inner: VirtualTestbed::new(name, profile, hosts, seed)
                .with_cabling(config.cabling)
                .with_stop(stop.flag()),
            topology: config.topology(name),
            facts: facts(config),
            notes: notes(config),
            stop: stop.clone(),
        }
    }

    /// Returns the model's facts of hosts and devices.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns notes for every reader.
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Testbed for Simulated {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        if self.stop.is_requested() {
            return Err(TestbedError::Interrupted);
        }
        self.inner.run(trial)
    }
}

/// All hosts are alike: they are one entry.
fn facts(config: &VirtualConfig) -> Facts {
    let profile = &config.profile;
    let device = [
        ("profile", profile.name.clone()),
        ("ports for hosts", profile.edges().to_string()),
        ("port rate", profile.rate.to_string()),
        ("delay of a host's cable", profile.link_delay.to_string()),
    ];
    let of = |facts: Vec<(&str, String)>| {
        facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    };
    let described = BTreeMap::from([
        ("every host".to_owned(), of(host_facts(&config.hosts))),
        ("device".to_owned(), of(device.to_vec())),
    ]);
    Facts { described, ..Facts::default() }
}

fn host_facts(hosts: &HostModel) -> Vec<(&'static str, String)> {
    let sends = hosts.sends_at_most.map_or_else(
        || "as fast as its port".to_owned(),
        |rate| format!("at most {:.0} frames/s", rate.0),
    );
    vec![
        ("hosts", hosts.count.to_string()),
        ("MTU", hosts.mtu.to_string()),
        ("sends", sends),
        ("turnaround", hosts.turnaround.to_string()),
        ("queue at its port", hosts.queue.to_string()),
        ("receive window", hosts.receive_window.to_string()),
    ]
}

fn notes(config: &VirtualConfig) -> Vec<String> {
    let profile = &config.profile;
    let mut notes = vec!["Simulated: no packet was sent, times are virtual.".to_owned()];
    if (profile.scale - 1.0).abs() > f64::EPSILON {
        notes.push(format!("All rates are scaled by {}.", profile.scale));
    }
    notes
}
