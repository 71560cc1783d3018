//! The one test double for a testbed: it answers every trial from a script.
//!
//! Owns what each such double has to do: it has a topology and keeps every trial it was asked for.
//! A test states its script alone. A dev-dependency: never part of the product.

use std::ops::{Deref, DerefMut};

use measure::reading::Rejected;
use measure::sequence::SequenceCounts;
use measure::{Histogram, Nanos};
use trial::record::{DatagramsRecord, FlowRecord};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord, judge};

/// What a scripted testbed answers.
pub trait Script {
    /// The answer to `trial`, before which `number` others were asked for.
    fn answer(&mut self, number: usize, trial: &Trial) -> Result<TrialRecord, TestbedError>;
}

impl<F: FnMut(usize, &Trial) -> Result<TrialRecord, TestbedError>> Script for F {
    fn answer(&mut self, number: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self(number, trial)
    }
}

/// A testbed that measures nothing. It can be handled like its script: a test changes the script's
/// fields from trial to trial.
#[derive(Debug, Clone)]
pub struct Scripted<S> {
    /// Where it claims to be.
    pub topology: Topology,
    /// Every trial it was asked for.
    pub asked: Vec<Trial>,
    script: S,
}

impl<S: Script> Scripted<S> {
    /// Answers in `topology` by `script`.
    pub const fn new(topology: Topology, script: S) -> Self {
        Self { topology, asked: Vec::new(), script }
    }
}

impl<S: Script> Testbed for Scripted<S> {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self.asked.push(trial.clone());
        self.script.answer(self.asked.len() - 1, trial)
    }
}

impl<S> Deref for Scripted<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.script
    }
}

impl<S> DerefMut for Scripted<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.script
    }
}

/// The record of a trial whose flows did this, judged as a real one's is. No port and no host of it
/// counted anything.
pub fn judged(trial: &Trial, flows: Vec<FlowRecord>) -> TrialRecord {
    let outcome = judge(trial, &flows, &[], &[]);
    TrialRecord { outcome, flows, ..TrialRecord::failed(0, String::new()) }
}

/// The record of a flow that sent so many frames through the whole load, and of which so many came.
pub fn one_way(load: Nanos, sent: u64, came: u64) -> DatagramsRecord {
    DatagramsRecord {
        backend: "scripted".to_owned(),
        backend_reason: String::new(),
        offered: sent,
        sent,
        receiver: "scripted".to_owned(),
        receiver_reason: String::new(),
        received: SequenceCounts { unique: came, ..SequenceCounts::default() },
        at_device: None,
        conversations: Vec::new(),
        ends: None,
        rejected: Rejected::default(),
        sending: load,
        receiving: load,
        quiet: None,
        departures: Histogram::growing(),
        arrivals: Histogram::growing(),
        delays: None,
        longest_burst: 1,
        late: 0,
        overran: Nanos::ZERO,
        socket_drops: 0,
    }
}
