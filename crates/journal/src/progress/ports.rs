//! What the newest trial over each port came to: for the colours of the testbed's picture.
//!
//! Never a verdict: one trial has none.

use std::collections::BTreeMap;

use serde::Serialize;
use trial::record::{FlowRecord, Outcome};
use trial::{Trial, TrialRecord};

use method::run::all_exactly;
use page::numbers;

/// A port, as its newest trial left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortLine {
    /// `h1/eth1`
    pub port: String,
    /// How it went.
    pub state: PortState,
    /// The same in words, with numbers.
    pub said: String,
}

/// How a trial went, the worse the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    /// No frame of its flows is missing.
    Whole,
    /// Some are.
    Lossy,
    /// It does not count.
    Spoilt,
}

/// By the port's name.
pub type Ports = BTreeMap<String, PortLine>;

/// What a trial says of its ports.
pub struct TrialPorts {
    /// By port: frames lost of frames sent, of all flows that end there.
    pub ports: BTreeMap<String, (u64, u64)>,
    /// Why it does not count.
    pub spoilt: Option<String>,
}

/// Takes what the trial of that number says.
pub fn take(ports: &mut Ports, number: u64, seen: TrialPorts) {
    for (port, (lost, sent)) in seen.ports {
        let (state, said) = match (&seen.spoilt, lost) {
            (Some(why), _) => (PortState::Spoilt, format!("trial {number} does not count: {why}")),
            (None, 0) => (PortState::Whole, format!("nothing was missing in trial {number}")),
            (None, _) => {
                let [lost, sent] = [lost, sent].map(|count| numbers::grouped(count as f64));
                (PortState::Lossy, format!("{lost} of {sent} frames were lost in trial {number}"))
            }
        };
        ports.insert(port.clone(), PortLine { port, state, said });
    }
}

/// What a trial's record says.
pub fn seen(trial: &Trial, record: &TrialRecord) -> TrialPorts {
    let spoilt = match &record.outcome {
        Outcome::Valid => None,
        Outcome::Invalid { reasons } => Some(all_exactly(reasons)),
        Outcome::Failed { reason } => Some(reason.clone()),
    };
    let mut ports: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (at, flow) in trial.flows.iter().enumerate() {
        let (lost, sent) = record.flows.get(at).map(missing).unwrap_or_default();
        for end in [&flow.from, &flow.to] {
            let counted = ports.entry(end.to_string()).or_default();
            *counted = (counted.0 + lost, counted.1 + sent);
        }
    }
    TrialPorts { ports, spoilt }
}

/// Frames of a flow that did not come, and those sent. What TCP sends again is no loss to whom it
/// serves.
fn missing(flow: &FlowRecord) -> (u64, u64) {
    match flow {
        FlowRecord::Datagrams(seen) => (seen.received.lost(seen.sent), seen.sent),
        FlowRecord::Echo(echo) => (echo.answers.lost(echo.sent), echo.sent),
        FlowRecord::Bulk(_) | FlowRecord::Exchange(_) | FlowRecord::Storage(_) => (0, 0),
    }
}
