//! Requests to all agents of a testbed.
//!
//! Owns the waiting: every wait has a deadline and checks for the user's request to stop, and the
//! first agent that fails ends it. Never knows what a trial is.

use std::collections::BTreeMap;
use std::time::Duration;

use dataplane::clock;
use measure::Nanos;
use measure::clocks::Exchange;

use super::Stop;
use super::clocks::Clocks;
use super::handle::{Agent, AgentError, Pending};
use super::heartbeat::Heartbeat;
use super::trial_error::TrialError;
use crate::failed::Failed;
use crate::protocol::{Answer, Ask};

/// Time to wait for one agent before the next one's turn.
const TURN: Duration = Duration::from_millis(10);
/// Time-out for an abort, which waits for the flows' threads; they check the halt many times a
/// second.
const ABORTING: Duration = Duration::from_secs(5);
/// Time-out for an abort if the user asked to stop.
const STOPPING: Duration = Duration::from_secs(1);
/// Time-out for one reading of a clock.
const CLOCK: Duration = Duration::from_secs(5);
/// Number of round trips per clock comparison.
const CLOCK_READINGS: usize = 8;
/// Most comparisons one after another; of more hosts several are compared at the same time.
const CLOCK_GROUPS: usize = 8;

/// Agents by host name.
#[derive(Debug, Default)]
pub struct AgentPool {
    agents: BTreeMap<String, Agent>,
    heart: Heartbeat,
    stop: Stop,
    clocks: Clocks,
}

impl AgentPool {
    /// Creates an empty pool. `one_clock`: all hosts will be this machine.
    pub fn new(stop: Stop, one_clock: bool) -> Self {
        Self { stop, clocks: Clocks::new(one_clock), ..Self::default() }
    }

    /// Adds an agent.
    pub fn join(&mut self, agent: Agent) {
        self.agents.insert(agent.host().to_owned(), agent);
    }

    /// Ends an agent, whatever its state, and forgets its host's clock.
    pub fn dismiss(&mut self, host: &str) {
        self.agents.remove(host);
        self.clocks.forget(host);
    }

    /// Heartbeat of the agents.
    pub const fn heart(&self) -> &Heartbeat {
        &self.heart
    }

    /// Lists the process ids, by host.
    pub fn pids(&self) -> BTreeMap<String, u32> {
        self.agents.iter().map(|(host, agent)| (host.clone(), agent.pid())).collect()
    }

    /// Request to stop by the user.
    pub const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Sends one agent a request, and reads the answer with `read`.
    pub fn ask<T>(
        &mut self,
        host: &str,
        ask: Ask,
        within: Duration,
        read: impl Fn(Answer) -> Option<T>,
    ) -> Result<T, TrialError> {
        let name = ask.name();
        let answers = self.ask_all([(host.to_owned(), ask)], within, read)?;
        let answer = answers.into_values().next();
        answer.ok_or_else(|| no_agent(host, name).into())
    }

    /// Sends several requests at once, and waits for all answers, by host.
    pub fn ask_all<T>(
        &mut self,
        asks: impl IntoIterator<Item = (String, Ask)>,
        within: Duration,
        read: impl Fn(Answer) -> Option<T>,
    ) -> Result<BTreeMap<String, T>, TrialError> {
        let mut answers = BTreeMap::new();
        self.ask_each(asks, within, read, |host, answer, _| {
            answers.insert(host.to_owned(), answer);
            Ok(())
        })?;
        Ok(answers)
    }

    /// Sends several requests at once, and passes on each answer as it comes, with the time of its
    /// arrival; ends at the first failure.
    pub fn ask_each<T>(
        &mut self,
        asks: impl IntoIterator<Item = (String, Ask)>,
        within: Duration,
        read: impl Fn(Answer) -> Option<T>,
        mut take: impl FnMut(&str, T, Nanos) -> Result<(), TrialError>,
    ) -> Result<(), TrialError> {
        let mut waiting: Vec<(String, Pending)> = Vec::new();
        for (host, ask) in asks {
            let name = ask.name();
            let Some(agent) = self.agents.get_mut(&host) else {
                return Err(no_agent(&host, name).into());
            };
            waiting.push((host, agent.post(ask)?));
        }
        let until = clock::monotonic() + within.into();
        while !waiting.is_empty() {
            if self.stop.is_requested() {
                return Err(TrialError::Stopped);
            }
            let late = clock::monotonic() >= until;
            let mut still = Vec::with_capacity(waiting.len());
            for (host, pending) in waiting {
                let Some(agent) = self.agents.get_mut(&host) else { continue };
                match agent.poll(pending, TURN)? {
                    Some((answer, at)) => {
                        let known = read(answer).ok_or_else(|| agent.unexpected(pending))?;
                        take(&host, known, at)?;
                    }
                    None if late => return Err(agent.late(pending, within).into()),
                    None => still.push((host, pending)),
                }
            }
            waiting = still;
        }
        Ok(())
    }

    /// Offsets of the hosts' clocks, as far as they are known.
    pub const fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Compares these hosts' clocks with ours.
    pub fn compare_clocks(&mut self, hosts: &[String]) -> Result<(), TrialError> {
        // Few hosts one after another, because each disturbs the others' round trips a little.
        let at_once = hosts.len().div_ceil(CLOCK_GROUPS).max(1);
        for group in hosts.chunks(at_once) {
            let mut exchanges = vec![Vec::with_capacity(CLOCK_READINGS); group.len()];
            for _ in 0..CLOCK_READINGS {
                for (exchange, known) in self.read_clocks(group)?.into_iter().zip(&mut exchanges) {
                    known.push(exchange);
                }
            }
            for (host, exchanges) in group.iter().zip(&exchanges) {
                if !self.clocks.add_exchanges(host, exchanges) {
                    let what = format!(
                        "compare clocks with host `{host}`: its readings contradict each other"
                    );
                    return Err(Failed::new(what).into());
                }
            }
        }
        Ok(())
    }

    /// Reads these hosts' clocks once, at the same time.
    fn read_clocks(&mut self, hosts: &[String]) -> Result<Vec<Exchange>, TrialError> {
        let mut sent = Vec::with_capacity(hosts.len());
        // Each request is sent as soon as it is taken.
        let asks = hosts.iter().cloned().map(|host| {
            sent.push(clock::monotonic());
            (host, Ask::Clock)
        });
        let read = |answer| match answer {
            Answer::Clock { monotonic } => Some(monotonic),
            _ => None,
        };
        let mut answers = BTreeMap::new();
        self.ask_each(asks, CLOCK, read, |host, there, at| {
            answers.insert(host.to_owned(), (there, at));
            Ok(())
        })?;
        let exchange = |(host, asked): (&String, Nanos)| {
            let (there, answered) = answers.get(host).copied()?;
            Some(Exchange { asked, received: there, replied: there, answered })
        };
        Ok(hosts.iter().zip(sent).filter_map(exchange).collect())
    }

    /// Aborts the trial on every host. Returns an agent's error if the agent cannot be used any
    /// more.
    pub fn abort(&mut self) -> Option<AgentError> {
        let posted: Vec<_> = self.agents.values_mut().map(|a| a.post(Ask::Abort)).collect();
        let mut worst = None;
        // If the user asked to stop, the agents have a shorter time-out.
        let within = if self.stop.is_requested() { STOPPING } else { ABORTING };
        for (agent, pending) in self.agents.values_mut().zip(posted) {
            let answer = pending.and_then(|pending| match agent.poll(pending, within)? {
                Some(_) => Ok(()),
                None => Err(agent.late(pending, within)),
            });
            // An agent that died explains more than one that is slow to answer.
            match answer {
                Err(error @ AgentError::Died { .. }) => worst = Some(error),
                Err(error) if error.is_fatal() => worst = worst.or(Some(error)),
                _ => {}
            }
        }
        worst
    }
}

fn no_agent(host: &str, ask: &str) -> Failed {
    Failed::new(format!("ask for {ask} on host `{host}`: it has no agent"))
}
