//! Where hosts' cables end while a trial runs, where there are fewer hosts than ports.
//!
//! Owns the turn of a trial of moved cables into one of hosts that stand at every port. Never moves
//! a cable.

use serde::{Deserialize, Serialize};

use super::Trial;
use crate::topology::PortRef;

/// A cable between a host and the trial's subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// The host's end.
    pub port: PortRef,
    /// The device's port, from 1.
    pub device_port: u32,
}

impl Trial {
    /// The same trial where a host stands at every port of the device: it is that host's.
    #[must_use]
    pub fn at_standing_hosts(&self, host_at: &dyn Fn(u32) -> PortRef) -> Self {
        let stands = |port: &PortRef| {
            let cable = self.cabling.iter().find(|cable| cable.port == *port);
            cable.map_or_else(|| port.clone(), |cable| host_at(cable.device_port))
        };
        let mut trial = Self { cabling: Vec::new(), ..self.clone() };
        for flow in &mut trial.flows {
            (flow.from, flow.to) = (stands(&flow.from), stands(&flow.to));
        }
        trial
    }
}
