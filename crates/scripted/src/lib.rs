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

/// Script of a testbed's answers.
pub trait Script {
    /// Answers `trial`, before which `number` others were requested.
    fn answer(&mut self, number: usize, trial: &Trial) -> Result<TrialRecord, TestbedError>;
}

impl<F: FnMut(usize, &Trial) -> Result<TrialRecord, TestbedError>> Script for F {
    fn answer(&mut self, number: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self(number, trial)
    }
}

/// Testbed that measures nothing. It derefs to its script, so that a test can change the script's
/// fields from trial to trial.
#[derive(Debug, Clone)]
pub struct Scripted<S> {
    /// Topology that the testbed claims.
    pub topology: Topology,
    /// Every trial requested.
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

/// Returns the record of a trial with these flows, judged as a real one is. None of its ports and
/// hosts counted anything.
pub fn judged(trial: &Trial, flows: Vec<FlowRecord>) -> TrialRecord {
    let outcome = judge(trial, &flows, &[], &[]);
    TrialRecord { outcome, flows, ..TrialRecord::failed(0, String::new()) }
}

/// Returns the record of a flow that sent `sent` frames over the whole load, of which `came`
/// arrived.
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
