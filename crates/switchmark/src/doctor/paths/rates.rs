//! Payload rates of ports by short TCP streams, to see a port that is far slower than the others.
//!
//! Owns these trials. Never a figure.

use std::collections::BTreeMap;

use measure::{Nanos, Rate};
use trial::topology::{Pair, PortRef};
use trial::{Bulk, Flow, FlowKind, FlowRecord, Gate, Offloads, Testbed, TestbedError, Trial};

use super::run_unless_refused;

/// Length of a TCP test: on a short path, a connection has reached its pace by then.
const BULK_LOAD: Nanos = Nanos::from_millis(300);
const BULK_INTERVAL: Nanos = Nanos::from_millis(100);

/// TCP payload rate from one port to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// Sending port.
    pub from: PortRef,
    /// Receiving port.
    pub to: PortRef,
    /// Payload rate.
    pub rate: Rate,
}

/// Best payload rate of each port over all its partners, by direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BestRates {
    /// Rate at which the port sends.
    pub sends: BTreeMap<PortRef, Rate>,
    /// Rate at which the port receives.
    pub receives: BTreeMap<PortRef, Rate>,
}

impl BestRates {
    /// Keeps the best of each port and direction.
    pub fn from_carried(carried: &[Carried]) -> Self {
        let mut best = Self::default();
        for one in carried {
            let ends = [(&mut best.sends, &one.from), (&mut best.receives, &one.to)];
            for (rates, port) in ends {
                let rate = rates.entry(port.clone()).or_insert(one.rate);
                *rate = one.rate.max(*rate);
            }
        }
        best
    }
}

/// Runs one TCP connection each way between each pair, one after another, for a moment each: enough
/// to see a port that is far slower than the others.
pub fn carried(testbed: &mut dyn Testbed, pairs: &[Pair]) -> Result<Vec<Carried>, TestbedError> {
    let mut all = Vec::new();
    for pair in pairs {
        for way in [pair.clone(), pair.back()] {
            let bulk = bulk();
            let label = format!("TCP {} > {}", way.from, way.to);
            let flows = vec![Flow::measured(&way, bulk)];
            let trial = Trial {
                offloads: Offloads::AsFound,
                ..Trial::quick(label, flows, BULK_LOAD, Gate::Uneven)
            };
            let Some(record) = run_unless_refused(testbed, &trial)? else { continue };
            let Some(FlowRecord::Bulk(bulk)) = record.flows.first() else { continue };
            if bulk.elapsed > Nanos::ZERO {
                let rate = Rate(bulk.goodput() as u64);
                all.push(Carried { from: way.from, to: way.to, rate });
            }
        }
    }
    Ok(all)
}

/// One TCP connection.
pub(super) fn bulk() -> FlowKind {
    let congestion_control = "cubic".to_owned();
    FlowKind::Bulk(Bulk { streams: 1, congestion_control, interval: BULK_INTERVAL })
}
