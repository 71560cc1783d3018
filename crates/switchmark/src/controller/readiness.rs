//! What a testbed's hosts tell before anything is measured: what bears on it, and where cables
//! lead.
//!
//! Owns the asking. Never judges, and changes only what it is told to.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use trial::topology::{HostPort, PortRef};

use super::launching::useless;
use super::testbed::LiveTestbed;
use super::trial_error::TrialError;
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, Examination, Setting};

/// Looking at a host takes about a second.
const LOOKING: Duration = Duration::from_secs(20);
/// Frames are on their way for as long as a switch holds them.
const ARRIVING: measure::Nanos = measure::Nanos::from_millis(100);

/// Where frames out of one port were heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Out of which port.
    pub port: PortRef,
    /// Which ports heard a frame of 64 octets.
    pub small: Vec<PortRef>,
    /// Which ports heard the longest frame of the sending port.
    pub full: Vec<PortRef>,
    /// The longest frame's octets, with its FCS.
    pub full_size: u32,
    /// MAC addresses of others who have the port's address.
    pub owners: Vec<String>,
    /// Why no frame could be sent.
    pub failed: Option<String>,
}

impl LiveTestbed {
    /// What of each host bears on a measurement.
    pub fn examine(&mut self) -> Result<BTreeMap<String, Examination>, Failed> {
        let asks: Vec<(String, Ask)> = self
            .topology
            .hosts
            .iter()
            .map(|host| {
                let interfaces = host.ports.iter().flat_map(|port| port.interfaces.clone());
                (host.name.clone(), Ask::Examine { interfaces: interfaces.collect() })
            })
            .collect();
        let answers =
            self.pool.ask_all(asks, LOOKING).map_err(|cause| useless("every host", cause))?;
        let mut all = BTreeMap::new();
        for (host, answer) in answers {
            let Answer::Examined(examined) = answer else {
                return Err(useless(&host, self.pool.unexpected(&host, "examined")));
            };
            all.insert(host, *examined);
        }
        Ok(all)
    }

    /// Changes settings of a host until its agent ends.
    pub fn change(&mut self, host: &str, settings: Vec<Setting>) -> Result<(), Failed> {
        match self.pool.ask(host, Ask::Change { settings }, LOOKING) {
            Ok(Answer::Changed) => Ok(()),
            Ok(_) => Err(useless(host, self.pool.unexpected(host, "changed"))),
            Err(cause) => Err(useless(host, cause)),
        }
    }

    /// Sends frames out of every test port, one port after another, and hears where they arrive.
    /// `mtu` is each port's; `mark` keeps other people's frames out.
    pub fn prove_cables(
        &mut self,
        mtu: &dyn Fn(&PortRef) -> u32,
        mark: u32,
    ) -> Result<Vec<Proof>, Failed> {
        let ports: Vec<(PortRef, HostPort)> = self
            .topology
            .hosts
            .iter()
            .flat_map(|host| host.ports.iter().map(|port| (host.name.clone(), port)))
            .map(|(host, port)| (PortRef { host, port: port.name.clone() }, port.clone()))
            .collect();
        let mut proofs: Vec<Proof> = Vec::with_capacity(ports.len());
        for (at, port) in &ports {
            let full_size = mtu(at) + 18;
            let (host, name) = (at.host.as_str(), port.interfaces.first().cloned());
            let mut proof = Proof {
                port: at.clone(),
                small: Vec::new(),
                full: Vec::new(),
                full_size,
                owners: Vec::new(),
                failed: None,
            };
            let Some(interface) = name else { continue };
            let address = match port.address {
                IpAddr::V4(v4) => Some(v4),
                IpAddr::V6(_) => None,
            };
            for size in [64, full_size] {
                let number = u16::from(size != 64);
                self.listen(&ports, mark)?;
                let address = address.filter(|_| size == 64);
                let ask = Ask::CableProbe {
                    interface: interface.clone(),
                    mark,
                    port: number,
                    size,
                    address,
                };
                match self.pool.ask(host, ask, LOOKING) {
                    Ok(Answer::CableProbed { owners }) => proof.owners.extend(owners),
                    Ok(_) => return Err(useless(host, self.pool.unexpected(host, "knocked"))),
                    Err(TrialError::Agent(error)) if !error.is_fatal() => {
                        proof.failed = Some(error.to_string());
                    }
                    Err(cause) => return Err(useless(host, cause)),
                }
                self.pool.rest(ARRIVING).map_err(|cause| useless(host, cause))?;
                let heard = self.heard(&ports, number)?;
                *(if size == 64 { &mut proof.small } else { &mut proof.full }) = heard;
            }
            proofs.push(proof);
        }
        Ok(proofs)
    }

    fn listen(&mut self, ports: &[(PortRef, HostPort)], mark: u32) -> Result<(), Failed> {
        let mut by_host: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (at, port) in ports {
            by_host.entry(&at.host).or_default().extend(port.interfaces.clone());
        }
        let ask = |(host, interfaces): (&str, Vec<String>)| {
            (host.to_owned(), Ask::Listen { interfaces, mark })
        };
        let asks: Vec<_> = by_host.into_iter().map(ask).collect();
        let answers = self.pool.ask_all(asks, LOOKING);
        answers.map(drop).map_err(|cause| useless("every host", cause))
    }

    /// Which ports heard frames of this number.
    fn heard(
        &mut self,
        ports: &[(PortRef, HostPort)],
        number: u16,
    ) -> Result<Vec<PortRef>, Failed> {
        let hosts = self.topology.hosts.iter().map(|host| (host.name.clone(), Ask::Heard));
        let asks: Vec<_> = hosts.collect();
        let answers =
            self.pool.ask_all(asks, LOOKING).map_err(|cause| useless("every host", cause))?;
        let mut all = Vec::new();
        for (host, answer) in answers {
            let Answer::Heard { knocks } = answer else {
                return Err(useless(&host, self.pool.unexpected(&host, "heard")));
            };
            let here = ports.iter().filter(|(at, port)| {
                let heard = |interface| {
                    knocks.get(interface).is_some_and(|heard| heard.contains_key(&number))
                };
                at.host == host && port.interfaces.iter().any(heard)
            });
            all.extend(here.map(|(at, _)| at.clone()));
        }
        Ok(all)
    }
}
