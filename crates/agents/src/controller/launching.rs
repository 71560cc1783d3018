//! Starting an agent on every host, and a replacement for one that lost its connection.
//!
//! Owns the transport to each host, the terms and held ports of its agent, and the time to wait for
//! an unreachable host. Never replaces an agent that was killed or that broke.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use std::time::Duration;

use dataplane::{clock, open_files};
use lab::Lab;
use measure::Nanos;
use trial::Topology;
use trial::topology::{AddressBlock, Host};

use super::Stop;
use super::handle::Agent;
use super::heartbeat::Heartbeat;
use super::launcher::{Launcher, on_nodes};
use super::own_addresses::OwnAddresses;
use super::pool::AgentPool;
use super::program::Program;
use super::rights;
use crate::failed::Failed;
use crate::hosts::{HostsConfig, Limits, Reach};
use crate::protocol::{Answer, Ask, Mended, Terms, describe_error};
use crate::speak::speak;

/// Maximum number of machines to connect to at once, and of a job step's nodes, of which each
/// receives what all are sent.
const MOST_AT_ONCE: usize = 64;
/// Open files per host: the ends of its agent's streams here.
const FILES_PER_HOST: u64 = 8;
/// Time to wait for a host that reboots or whose network is down.
const RETURNING: Nanos = Nanos::from_secs(120);
/// Pause between two attempts to reach it.
const PAUSE: Nanos = Nanos::from_secs(1);
/// Time-out for setting the terms, which are only noted.
const AGREEING: Duration = Duration::from_secs(10);
/// Time-out for holding a port, which is immediate.
const HOLDING: Duration = Duration::from_secs(10);
/// Maximum duration of a trial without a limit in the testbed; an agent's own limit is the same.
const LONGEST: Nanos = Nanos::from_secs(6 * 3600);

/// Transports to the hosts, and first requests to their agents.
#[derive(Debug)]
pub struct Launching {
    program: Program,
    /// Transports by host; empty in a lab, whose nodes have the hosts' names.
    reaches: BTreeMap<String, Reach>,
    /// Command prefix of the agent, by host.
    becomes: BTreeMap<String, String>,
    limits: Limits,
    /// Changes left by killed agents that were undone, by host.
    mended: BTreeMap<String, Mended>,
    addresses: OwnAddresses,
    /// Name of the run that holds the test ports; `None` if they are not held.
    holder: Option<String>,
    /// Hosts whose agents lost their connection.
    away: BTreeSet<String>,
}

impl Launching {
    /// Creates the launching for hosts of a lab.
    pub fn of_lab(program: &Path) -> Self {
        Self {
            program: Program::new(program),
            reaches: BTreeMap::new(),
            becomes: BTreeMap::new(),
            limits: Limits::default(),
            mended: BTreeMap::new(),
            addresses: OwnAddresses::default(),
            holder: None,
            away: BTreeSet::new(),
        }
    }

    /// Creates the launching for hosts that exist already.
    pub fn of_hosts(program: &Path, hosts: &HostsConfig, topology: &Topology) -> Self {
        Self {
            reaches: hosts.reaches.clone(),
            becomes: hosts.becomes.clone(),
            limits: hosts.limits,
            addresses: OwnAddresses::plan(topology, &hosts.own_addresses),
            ..Self::of_lab(program)
        }
    }

    /// Changes left by killed agents that were undone, by host, as text.
    pub const fn mended(&self) -> &BTreeMap<String, Mended> {
        &self.mended
    }

    /// Starts an agent on every host, sets its terms, and gives the test ports their addresses.
    /// Where agents may not, the topology gets the addresses that the ports have.
    pub fn all(
        &mut self,
        topology: &mut Topology,
        lab: Option<&Lab>,
        pool: &mut AgentPool,
    ) -> Result<(), Failed> {
        self.start(topology, lab, pool)?;
        if lab.is_none() {
            rights::settle(topology, &mut self.addresses, pool)?;
        }
        self.agree(topology, pool)?;
        let put = self.addresses.apply(None, pool);
        put.map_err(Failed::to("give the test ports their addresses"))
    }

    /// Keeps other runs from the test ports for as long as the agents run.
    pub fn hold(
        &mut self,
        holder: &str,
        topology: &Topology,
        pool: &mut AgentPool,
    ) -> Result<(), Failed> {
        self.holder = Some(holder.to_owned());
        topology.agents().try_for_each(|host| self.hold_on(host, pool))
    }

    fn hold_on(&self, host: &Host, pool: &mut AgentPool) -> Result<(), Failed> {
        let Some(holder) = self.holder.clone() else { return Ok(()) };
        let ask = Ask::Hold { interfaces: host.interfaces(), holder };
        pool.ask(&host.name, ask, HOLDING, Answer::done).map_err(|cause| useless(&host.name, cause))
    }

    /// Notes that a host's agent lost its connection.
    pub fn lost_touch(&mut self, host: &str) {
        self.away.insert(host.to_owned());
    }

    /// Starts another agent on every host whose agent lost its connection.
    pub fn reach_again(
        &mut self,
        topology: &Topology,
        lab: Option<&Lab>,
        pool: &mut AgentPool,
    ) -> Result<(), Failed> {
        while let Some(name) = self.away.first().cloned() {
            self.again(&name, topology, lab, pool)?;
            self.addresses.apply(Some(&name), pool).map_err(|cause| useless(&name, cause))?;
            let mut own = topology.hosts.iter().filter(|host| host.name == name);
            own.try_for_each(|host| self.hold_on(host, pool))?;
            self.away.remove(&name);
        }
        Ok(())
    }

    /// Starts an agent on every host. Those on other machines start at once: each takes as long as
    /// its network does. Slurm's nodes share a job step; where that fails, each has its own, whose
    /// error names the node. The others die with the thread that started them, and are therefore
    /// started on this one.
    pub fn start(
        &self,
        topology: &Topology,
        lab: Option<&Lab>,
        pool: &mut AgentPool,
    ) -> Result<(), Failed> {
        let is_away = |name: &&String| self.reaches.get(*name).is_some_and(Reach::is_away);
        let names = topology.agents().map(|host| &host.name);
        let (mut away, here): (Vec<_>, Vec<_>) = names.partition(is_away);
        open_files::make_room(FILES_PER_HOST * (away.len() + here.len()) as u64);
        let (heart, stop) = (pool.heart().clone(), pool.stop().clone());
        for step in self.steps(&away) {
            match self.launch_step(&step, &heart) {
                Ok(agents) => {
                    away.retain(|host| !step.iter().any(|(own, _)| own == host));
                    for agent in agents {
                        pool.join(agent);
                    }
                }
                Err(failed) => speak(&format!(
                    "no job step for {} hosts at once: {}",
                    step.len(),
                    describe_error(&failed)
                )),
            }
        }
        for group in away.chunks(MOST_AT_ONCE) {
            let started: Vec<_> = thread::scope(|scope| {
                let one = |name| self.launch(name, lab, &heart, &stop);
                let threads: Vec<_> =
                    group.iter().map(|name| scope.spawn(move || one(name))).collect();
                let ends = threads.into_iter().map(thread::ScopedJoinHandle::join);
                ends.map(|end| end.unwrap_or_else(|panic| resume_unwind(panic))).collect()
            });
            for agent in started {
                pool.join(agent?);
            }
        }
        for name in here {
            pool.join(self.launch(name, lab, &heart, &stop)?);
        }
        Ok(())
    }

    /// Sets every agent's terms.
    pub fn agree(&mut self, topology: &Topology, pool: &mut AgentPool) -> Result<(), Failed> {
        topology.agents().try_for_each(|host| self.agree_with(&host.name, topology, pool))
    }

    /// Starts another agent on a host whose agent lost its connection, within [`RETURNING`].
    /// Returns the last attempt's error if the host stays unreachable or the user asks to stop.
    fn again(
        &mut self,
        host: &str,
        topology: &Topology,
        lab: Option<&Lab>,
        pool: &mut AgentPool,
    ) -> Result<(), Failed> {
        pool.dismiss(host);
        let (heart, stop) = (pool.heart().clone(), pool.stop().clone());
        let until = clock::monotonic() + RETURNING;
        loop {
            let ended = self.launch(host, lab, &heart, &stop);
            match ended {
                Ok(agent) => {
                    pool.join(agent);
                    return self.agree_with(host, topology, pool);
                }
                Err(error) if clock::monotonic() >= until => return Err(error),
                Err(error) => {
                    if stop.rest(PAUSE).is_err() {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Groups Slurm's hosts, each with its node. No step has a node twice.
    fn steps<'a>(&'a self, hosts: &[&'a String]) -> Vec<Vec<(&'a String, &'a str)>> {
        let mut steps: Vec<Vec<(&String, &str)>> = Vec::new();
        for host in hosts {
            let Some(Reach::Srun(node)) = self.reaches.get(*host) else { continue };
            let free = |step: &&mut Vec<(&String, &str)>| {
                step.len() < MOST_AT_ONCE && step.iter().all(|(_, taken)| taken != node)
            };
            match steps.iter_mut().find(free) {
                Some(step) => step.push((host, node)),
                None => steps.push(vec![(host, node)]),
            }
        }
        steps.retain(|step| step.len() > 1);
        steps
    }

    fn launch_step(
        &self,
        step: &[(&String, &str)],
        heart: &Heartbeat,
    ) -> Result<Vec<Agent>, Failed> {
        let nodes: Vec<&str> = step.iter().map(|(_, node)| *node).collect();
        let started = on_nodes(&nodes, &self.program)?;
        let greeted = step.iter().zip(started).map(|((host, _), agent)| {
            Agent::greet(host, agent, heart).map_err(|cause| useless(host, cause))
        });
        greeted.collect()
    }

    fn launch(
        &self,
        host: &str,
        lab: Option<&Lab>,
        heart: &Heartbeat,
        stop: &Stop,
    ) -> Result<Agent, Failed> {
        let launcher = match (self.reaches.get(host), lab) {
            (Some(reach), _) => {
                Launcher::Host { reach, becomes: self.becomes.get(host).map(String::as_str) }
            }
            (None, Some(lab)) => Launcher::Lab { lab, node: host },
            (None, None) => Launcher::Host { reach: &Reach::Local, becomes: None },
        };
        let started = launcher
            .start(&self.program, stop)
            .map_err(Failed::to(format!("reach host `{host}`")))?;
        let hint = self.reaches.get(host).and_then(Reach::try_by_hand);
        Agent::greet(host, started, heart).map_err(|cause| match hint {
            Some(command) => {
                let hint = format!("`{command}` has to work without a question");
                useless(host, cause).hinted(hint)
            }
            None => useless(host, cause),
        })
    }

    fn agree_with(
        &mut self,
        host: &str,
        topology: &Topology,
        pool: &mut AgentPool,
    ) -> Result<(), Failed> {
        let lasting = self.reaches.contains_key(host);
        let terms = terms(topology, host, &self.limits, lasting);
        let agreed = pool.ask(host, Ask::Terms { terms }, AGREEING, |answer| match answer {
            Answer::Agreed { mended } => Some(mended),
            _ => None,
        });
        let mended = agreed.map_err(|cause| useless(host, cause))?;
        for what in &mended.restored {
            speak(&format!(
                "host `{host}`: put back {what}, left changed by an agent that was killed"
            ));
        }
        for what in &mended.left {
            speak(&format!("host `{host}`: left as it is: {what}"));
        }
        if mended != Mended::default() {
            let of_host = self.mended.entry(host.to_owned()).or_default();
            of_host.restored.extend(mended.restored);
            of_host.left.extend(mended.left);
        }
        Ok(())
    }
}

/// Builds the error for an agent that started but is unusable.
pub fn useless(host: &str, cause: impl Error + Send + Sync + 'static) -> Failed {
    Failed::because(format!("bring up the agent on host `{host}`"), cause)
}

/// Builds a host's terms: flows between the testbed's addresses, over the host's test ports.
fn terms(topology: &Topology, host: &str, limits: &Limits, lasting: bool) -> Terms {
    let ports = || topology.hosts.iter().flat_map(|host| &host.ports);
    let one = AddressBlock::single;
    let mut addresses: Vec<AddressBlock> = ports().map(|port| one(port.address)).collect();
    addresses.extend(ports().filter_map(|port| port.address6).map(|v6| one(v6.into())));
    addresses.extend(ports().flat_map(|port| &port.blocks));
    let own = || topology.hosts.iter().filter(|h| h.name == host).flat_map(|h| &h.ports);
    let leaves = own().flat_map(|port| {
        let both = [Some(port.address), port.address6.map(IpAddr::V6)];
        both.into_iter().flatten().map(|address| (address, port.interfaces.clone()))
    });
    let servers = topology.hosts.iter().filter_map(|host| Some((host, host.runs().iperf3_port()?)));
    let servers = servers.flat_map(|(host, port)| {
        host.ports.iter().map(move |own| SocketAddr::new(own.address, port))
    });
    Terms {
        servers: servers.collect(),
        addresses,
        interfaces: own().flat_map(|port| port.interfaces.clone()).collect(),
        own: leaves.filter(|(address, _)| !address.is_unspecified()).collect(),
        longest: limits.trial.unwrap_or(LONGEST),
        rate: limits.rate,
        lasting,
    }
}
