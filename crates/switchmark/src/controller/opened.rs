//! A testbed that is up, whatever it is made of: agents on hosts, or a model in virtual time.
//!
//! Owns the choice between the two. Never carries a trial out itself.

use std::collections::BTreeMap;

use agents::controller::deed_notes::Origin;
use agents::controller::{Facts, LiveTestbed, Stop};
use agents::failed::Failed;
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::manual_steps::ManualSteps;
use super::simulated::Simulated;
use crate::config::resolved::{self, Source};

/// Testbed of either kind.
#[derive(Debug)]
pub enum Opened {
    /// Real packets, and a person for what a campaign needs done by hand.
    Live(Box<ManualSteps<LiveTestbed>>),
    /// Model in virtual time, without packets.
    Virtual(Box<Simulated>),
}

impl Opened {
    /// Brings the testbed up. `seed` decides what happens by chance in a model; with real packets
    /// it has no effect. Call it from a thread that lives as long as the testbed.
    pub fn open(testbed: &resolved::Testbed, stop: Stop, seed: u64) -> Result<Self, Failed> {
        match &testbed.source {
            Source::Virtual(config) => {
                let simulated = Simulated::open(&testbed.name, config, &stop, seed);
                Ok(Self::Virtual(Box::new(simulated)))
            }
            Source::Lab(_) | Source::Hosts(_) => {
                let live = LiveTestbed::open(testbed, stop.clone())?;
                Ok(Self::Live(Box::new(ManualSteps::new(live, stop))))
            }
        }
    }

    /// Returns the hosts if they are real.
    pub fn live(&mut self) -> Option<&mut LiveTestbed> {
        match self {
            Self::Live(live) => Some(&mut live.testbed),
            Self::Virtual(_) => None,
        }
    }

    /// Returns the facts of hosts and devices, for the report.
    pub fn facts(&self) -> &Facts {
        match self {
            Self::Live(live) => live.testbed.facts(),
            Self::Virtual(simulated) => simulated.facts(),
        }
    }

    /// Continues a run that put these devices, by name, into these variants. A model ignores it.
    pub fn left_in(&mut self, variants: BTreeMap<String, String>) {
        if let Self::Live(live) = self {
            live.testbed.left_in(variants);
        }
    }

    /// Undoes a deed that an earlier process of the run began at a device, whether it was undone or
    /// not.
    pub fn undo_left(&self, run: &str, device: &str, deed: &str) -> Result<(), Failed> {
        match self {
            Self::Live(live) => live.testbed.undo_left(run, device, deed),
            Self::Virtual(_) => Ok(()),
        }
    }

    /// Attributes deeds at devices to this run from now on. A model ignores it.
    pub fn used_by(&mut self, origin: Origin) {
        if let Self::Live(live) = self {
            live.testbed.used_by(origin);
        }
    }

    /// Keeps other runs from the hosts' test ports. A model is nobody else's.
    pub fn hold(&mut self, holder: &str) -> Result<(), Failed> {
        match self {
            Self::Live(live) => live.testbed.hold(holder),
            Self::Virtual(_) => Ok(()),
        }
    }

    /// Returns notes on the testbed for every reader.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Live(live) => {
                let live = &live.testbed;
                let held = live.rate_limit().map(|rate| {
                    format!("Closed loops keep to the testbed's limit of {rate}: their round trips are true, how often they \
                             ask is not.")
                });
                live_notes(live.facts()).into_iter().chain(held).collect()
            }
            Self::Virtual(simulated) => simulated.notes(),
        }
    }
}

fn live_notes(facts: &Facts) -> Vec<String> {
    let shared = "Hosts and whatever is between them share one machine.";
    let rootless = "Run in a user namespace, without the machine's root.";
    let elsewhere = "The cable between the two hosts that are at no device is no control: they are not known to be, \
                     in this order, the machines of the measured ports.";
    let is_rootless = lab::privilege() == lab::Privilege::UserNamespace;
    [(facts.shared_machine, shared), (is_rootless, rootless), (facts.elsewhere_below, elsewhere)]
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, note)| note.to_owned())
        .collect()
}

impl Testbed for Opened {
    fn topology(&self) -> &Topology {
        match self {
            Self::Live(live) => live.topology(),
            Self::Virtual(simulated) => simulated.topology(),
        }
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        match self {
            Self::Live(live) => live.run(trial),
            Self::Virtual(simulated) => simulated.run(trial),
        }
    }
}
