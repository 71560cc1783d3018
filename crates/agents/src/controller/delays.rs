//! Delay that hosts add to frames that arrive at their test ports.
//!
//! Owns the limits of waiting frames, and the link at which each port's frames wait. The delays end
//! with the agents.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::{FrameSize, Nanos, Rate};
use trial::Topology;
use trial::topology::HostPort;

use super::companion::{Companion, Done, Preparing, TrialContext};
use super::pool::AgentPool;
use super::trial_error::TrialError;
use crate::protocol::{Answer, Ask};

/// Rate assumed for a port of unknown speed.
const FASTEST: Rate = Rate(100_000_000_000);
/// Factor over the number of smallest frames that arrive during the delay, and a minimum. The limit
/// must never be reached.
const ROOM: f64 = 2.0;
const LEAST: f64 = 1_000.0;
/// Time-out for a few requests to the kernel for each port.
const SETTING_UP: Duration = Duration::from_secs(10);

/// Added delays; empty if none were requested.
#[derive(Debug, Default)]
pub struct Delays {
    delay: Nanos,
    /// Limits of waiting frames, by host and interface.
    limits: BTreeMap<String, BTreeMap<String, u32>>,
    /// Links at which frames wait, by host and interface.
    through: BTreeMap<String, BTreeMap<String, String>>,
}

impl Delays {
    /// Plans the delay for every port of every host; nothing is changed yet.
    pub fn plan(topology: &Topology, delay: Nanos) -> Self {
        let mut limits: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
        for host in topology.agents().filter(|_| delay > Nanos::ZERO) {
            let of_host = limits.entry(host.name.clone()).or_default();
            for port in &host.ports {
                let each = port.interfaces.iter().map(|name| (name.clone(), limit(port, delay)));
                of_host.extend(each);
            }
        }
        Self { delay, limits, through: BTreeMap::new() }
    }

    /// Adds the delays, or checks that they are still as they were added.
    pub fn apply(&mut self, pool: &mut AgentPool) -> Result<(), TrialError> {
        let ask = |(host, ports): (&String, &BTreeMap<String, u32>)| {
            (host.clone(), Ask::Delay { ports: ports.clone(), delay: self.delay })
        };
        let asks: Vec<_> = self.limits.iter().map(ask).collect();
        self.through = pool.ask_all(asks, SETTING_UP, |answer| match answer {
            Answer::Delayed { through } => Some(through),
            _ => None,
        })?;
        Ok(())
    }
}

impl Companion for Delays {
    /// Adds the delays, and counts drops at the delaying links as the host's.
    fn prepare(&mut self, _context: TrialContext<'_>, hosts: &mut Preparing<'_>) -> Done {
        self.apply(hosts.pool)?;
        for (host, through) in &self.through {
            for interfaces in hosts.ports.get_mut(host).into_iter().flat_map(BTreeMap::values_mut) {
                let links = interfaces.iter().filter_map(|name| through.get(name)).cloned();
                let links: Vec<String> = links.collect();
                interfaces.extend(links);
            }
        }
        Ok(())
    }
}

fn limit(port: &HostPort, delay: Nanos) -> u32 {
    let rate = port.rate.unwrap_or(FASTEST).line_rate(FrameSize::MIN).0;
    ROOM.mul_add(rate * delay.as_secs_f64(), LEAST) as u32
}
