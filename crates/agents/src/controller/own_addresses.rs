//! Test addresses that the testbed assigns to its ports while it is up.
//!
//! Owns the list of such ports, that they are up, and the wait for their links. The settings are
//! undone by the agents that made them, or by the next agent if one was killed.

use std::collections::BTreeMap;
use std::time::Duration;

use dataplane::clock;
use measure::Nanos;
use trial::Topology;
use trial::topology::PortRef;

use super::pool::AgentPool;
use super::trial_error::TrialError;
use crate::protocol::{Answer, Ask, Setting};

/// Time-out for a few requests to the kernel for each port.
const SETTING_UP: Duration = Duration::from_secs(10);
/// Time to wait for links: two ends negotiate for some seconds (IEEE Std 802.3, clause 28).
const NEGOTIATING: Nanos = Nanos::from_secs(10);
const GLANCE: Nanos = Nanos::from_millis(100);

/// Settings by host; empty if the ports have addresses already.
#[derive(Debug, Default)]
pub struct OwnAddresses {
    settings: BTreeMap<String, Vec<Setting>>,
}

impl OwnAddresses {
    /// Plans the addresses for these ports, each with its prefix length in bits. Nothing is changed
    /// yet.
    pub fn plan(topology: &Topology, prefixes: &BTreeMap<PortRef, u8>) -> Self {
        let mut this = Self::default();
        for (at, prefix) in prefixes {
            let Some(port) = topology.port(at) else { continue };
            let of_host = this.settings.entry(at.host.clone()).or_default();
            for interface in port.interfaces.iter().cloned() {
                of_host.push(Setting::Up { interface: interface.clone(), up: true });
                let (address, prefix) = (port.address, *prefix);
                of_host.push(Setting::Address { interface, address, prefix, present: true });
            }
        }
        this
    }

    /// Plans only to take these ports up.
    pub fn none_but_up(ports: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut this = Self::default();
        for (host, interface) in ports {
            this.settings.entry(host).or_default().push(Setting::Up { interface, up: true });
        }
        this
    }

    /// Gives up the addresses, and returns their ports. Nothing is changed from then on.
    pub fn withdraw(&mut self) -> Vec<PortRef> {
        let port = |host: &str, setting| match setting {
            Setting::Address { interface, .. } => {
                Some(PortRef { host: host.to_owned(), port: interface })
            }
            _ => None,
        };
        let settings = std::mem::take(&mut self.settings).into_iter();
        let ports = |(host, all): (String, Vec<Setting>)| -> Vec<PortRef> {
            all.into_iter().filter_map(|setting| port(&host, setting)).collect()
        };
        settings.flat_map(ports).collect()
    }

    /// Applies the settings on every host, or only on the host `only`, whose agent was replaced,
    /// and waits for the links. A link that stays without a far end is no error here; a later check
    /// reports it.
    pub fn apply(&self, only: Option<&str>, pool: &mut AgentPool) -> Result<(), TrialError> {
        let is_meant = |host: &&String| only.is_none_or(|only| only == *host);
        let hosts: Vec<&String> = self.settings.keys().filter(is_meant).collect();
        let ask = |host: &&String| {
            let settings = self.settings.get(*host).cloned().unwrap_or_default();
            ((*host).clone(), Ask::Change { settings })
        };
        pool.ask_all(hosts.iter().map(ask), SETTING_UP, Answer::done)?;
        let until = clock::monotonic() + NEGOTIATING;
        while !hosts.is_empty() && !self.have_carriers(&hosts, pool)? && clock::monotonic() < until
        {
            pool.stop().rest(GLANCE)?;
        }
        Ok(())
    }

    fn have_carriers(&self, hosts: &[&String], pool: &mut AgentPool) -> Result<bool, TrialError> {
        let ask = |host: &&String| {
            let of_host = self.settings.get(*host).into_iter().flatten();
            let interfaces = of_host.filter_map(Setting::interface).map(str::to_owned).collect();
            ((*host).clone(), Ask::Examine { interfaces, watched: Nanos::ZERO })
        };
        let answers = pool.ask_all(hosts.iter().map(ask), SETTING_UP, Answer::examined)?;
        let mut links = answers.values().flat_map(|examined| examined.ports.values());
        Ok(links.all(|port| port.link.as_ref().is_none_or(|link| link.carrier)))
    }
}
