//! State of each port after its newest trial, for the colours in the testbed's picture.
//!
//! Never a verdict: one trial has none.

use std::collections::BTreeMap;

use serde::Serialize;
use trial::record::{FlowRecord, Outcome};
use trial::{Trial, TrialRecord};

use page::numbers;
use study::run::all_exactly;

/// Port in its state after its newest trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortLine {
    /// Port: `h1/eth1`.
    pub port: String,
    /// State of the port.
    pub state: PortState,
    /// State in words, with numbers.
    pub said: String,
}

/// Result of a trial for a port, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    /// No frame of its flows is missing.
    Whole,
    /// Some frames are missing.
    Lossy,
    /// The trial does not count.
    Spoilt,
}

/// Port states by port name.
pub type Ports = BTreeMap<String, PortLine>;

/// Result of a trial for its ports.
pub struct TrialPorts {
    /// Frames lost and frames sent per port, over all flows that end there.
    pub ports: BTreeMap<String, (u64, u64)>,
    /// Reason why the trial does not count; `None` if it does.
    pub spoilt: Option<String>,
}

/// Records a trial's result for its ports.
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

/// Extracts a trial's result for its ports.
pub fn trial_ports(trial: &Trial, record: &TrialRecord) -> TrialPorts {
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

/// Frames of a flow lost and sent. TCP retransmissions are no loss to the application.
fn missing(flow: &FlowRecord) -> (u64, u64) {
    match flow {
        FlowRecord::Datagrams(seen) => (seen.received.lost(seen.sent), seen.sent),
        FlowRecord::Echo(echo) => (echo.answers.lost(echo.sent), echo.sent),
        FlowRecord::Bulk(_)
        | FlowRecord::Exchange(_)
        | FlowRecord::Storage(_)
        | FlowRecord::Sessions(_) => (0, 0),
    }
}
