//! One trial, from the first order to the record: the phases of RFC 2544 §23 in their order.
//!
//! Owns the common start. Never recovers: the first thing that goes wrong ends it, and the caller
//! cleans up.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::Duration;

use dataplane::{Window, clock};
use measure::Nanos;
use trial::record::{DeviceRecord, FlowRecord, HostUsage, Outcome, PortCounters, Side};
use trial::topology::PortRef;
use trial::{Flow, FlowKind, Offloads, Topology, Trial, TrialRecord, validity};

use super::assemble::{Sides, assemble};
use super::clocks::{Allowances, Clocks, allowance};
use super::companion::{Companion, PortsInUse, Preparing, TrialContext, around};
use super::far_counter;
use super::orders::{ByHost, Scene, Standing};
use super::pool::AgentPool;
use super::sender_split::SenderSplit;
use super::trial_error::TrialError;
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, Collected, FlowReport, OffloadChange, Order};

/// Of an agent's time before the start, for each flow, because each is a thread.
const LEAD_PER_FLOW: Nanos = Nanos::from_millis(2);
/// Opening sockets, setting offloads.
const SETTING_UP: Duration = Duration::from_secs(10);
/// Each sender gives up learning after a second or so, one after another.
const LEARNING: Duration = Duration::from_secs(3);
/// A file of a storage's job is as large as the user says.
const LAYING_OUT: Duration = Duration::from_mins(30);
/// After the window, an agent still reads counters and writes its report.
const REPORTING: Duration = Duration::from_secs(10);

/// Counters of what crosses an interface.
const CROSSING: [&str; 4] = ["rx_packets", "rx_bytes", "tx_packets", "tx_bytes"];

/// A trial under way.
pub struct Conduct<'a> {
    /// What is asked, and where.
    pub context: TrialContext<'a>,
    /// The agents.
    pub pool: &'a mut AgentPool,
    /// What hosts do of what is asked.
    pub lanes: &'a SenderSplit<'a>,
    /// What holds for all orders.
    pub standing: &'a mut Standing,
    /// Processors to share out among the hosts, where all are this machine.
    pub processors: Vec<usize>,
    /// What else takes part.
    pub companions: &'a mut [&'a mut dyn Companion],
    /// How long before the start agents are told of it.
    pub lead: Nanos,
}

impl Conduct<'_> {
    /// All of it but the settling.
    pub fn run(&mut self) -> Result<TrialRecord, TrialError> {
        let (context, asked) = (self.context, self.context.trial);
        let mut in_use = self.ports_in_use();
        let hosts: Vec<String> = in_use.keys().cloned().collect();
        self.set_offloads(&in_use)?;
        for companion in &mut *self.companions {
            companion.prepare(context, &mut Preparing { pool: self.pool, ports: &mut in_use })?;
        }
        self.pool.compare_clocks(&hosts)?;
        let allowances = self.allowances();
        let ports = self.open_flows(&allowances, &in_use)?;
        context.stop.rest(asked.phases.learned)?;

        for companion in &mut *self.companions {
            companion.before(context)?;
        }
        let (window, started_unix_ns) = self.start(&hosts)?;
        let collected = self.collect_all(&hosts, window)?;

        if !self.pool.clocks().are_one() {
            self.pool.compare_clocks(&hosts)?;
        }
        let host_usage = |(host, c): (&String, &Collected)| HostUsage {
            host: host.clone(),
            usage: c.usage.clone(),
        };
        let mut record = TrialRecord {
            ordinal: 0,
            started_unix_ns,
            outcome: Outcome::Valid,
            ports: host_counters(context.topology, &in_use, &collected),
            hosts: collected.iter().map(host_usage).collect(),
            start_spread: start_spread(self.lanes.trial(), window, &collected, self.pool.clocks()),
            flows: self.flows(collected, &ports)?,
            device: DeviceRecord::default(),
            unanswered: false,
        };
        for companion in self.companions.iter_mut().rev() {
            companion.after(context, &mut record)?;
        }
        let clocks = self.pool.clocks();
        for (flow, record) in asked.flows.iter().zip(&mut record.flows) {
            if let FlowRecord::Datagrams(record) = record {
                let hosts = (flow.from.host.as_str(), flow.to.host.as_str());
                let allowed = allowance(&allowances, flow);
                clocks.settle(record, hosts, allowed, (window.start, window.closed));
            }
        }
        record.outcome = validity::judge(asked, &record.flows, &record.ports, &record.hosts);
        Ok(record)
    }

    /// A record for each flow that was asked for, as its hosts told.
    fn flows(
        &mut self,
        collected: BTreeMap<String, Collected>,
        ports: &BTreeMap<u16, u16>,
    ) -> Result<Vec<FlowRecord>, TrialError> {
        let trial = self.lanes.trial();
        let mut sides = into_sides(collected)?;
        far_counter::stand_in(&trial.flows, self.context.topology, &mut sides);
        let flows = assemble(&trial.flows, sides, ports)?;
        self.standing.numbers.hear(&trial.flows, &flows, trial.phases.load);
        Ok(self.lanes.merge(flows))
    }

    /// Opens both sides of every flow; the data ports by flow.
    fn open_flows(
        &mut self,
        allowances: &Allowances,
        in_use: &PortsInUse,
    ) -> Result<BTreeMap<u16, u16>, TrialError> {
        let scene = Scene {
            topology: self.context.topology,
            lanes: self.lanes,
            standing: self.standing,
            token: draw_token()?,
            processors: std::mem::take(&mut self.processors),
            allowances,
        };
        let receivers = scene.receivers()?;
        let ports = prepare(self.pool, receivers, in_use, self.stations_speak())?;
        let senders = scene.senders(&ports)?;
        let most = senders.values().map(Vec::len).max().unwrap_or(0);
        let within = SETTING_UP + LEARNING * most as u32 + self.laying_out();
        let ask = |(host, senders)| (host, Ask::Connect { senders });
        self.pool.ask_all(senders.into_iter().map(ask), within, Answer::done)?;
        Ok(ports)
    }

    /// For as long as the trial may take from now on.
    fn allowances(&self) -> Allowances {
        let trial = self.lanes.trial();
        let phases = trial.phases;
        let before = SETTING_UP + LEARNING * trial.flows.len() as u32;
        let longest = phases.learned + phases.load + phases.residual + before.into();
        let now = clock::monotonic();
        self.pool.clocks().allowances(&trial.flows, (now, now + longest))
    }

    /// The ends of all flows that agents have.
    fn ports_in_use(&self) -> PortsInUse {
        let mut in_use = PortsInUse::new();
        for end in self.lanes.trial().flows.iter().flat_map(|f| [&f.from, &f.to]) {
            let agent = self.context.topology.agents().any(|host| host.name == end.host);
            if let Some(port) = self.context.topology.port(end).filter(|_| agent) {
                let host = in_use.entry(end.host.clone()).or_default();
                host.insert(end.port.clone(), port.interfaces.clone());
            }
        }
        in_use
    }

    fn set_offloads(&mut self, ports: &PortsInUse) -> Result<(), TrialError> {
        let change = match self.lanes.trial().offloads {
            Offloads::Off => OffloadChange::Off,
            Offloads::AsFound => OffloadChange::Restore,
        };
        let ask = |(host, ports): (&String, _)| {
            (host.clone(), Ask::Offloads { interfaces: interfaces(ports), change })
        };
        self.pool.ask_all(ports.iter().map(ask), SETTING_UP, Answer::done).map(drop)
    }

    /// How long receivers speak for stations behind them before they answer.
    fn stations_speak(&self) -> Nanos {
        let each = self.lanes.trial().flows.iter().map(|flow| match &flow.kind {
            FlowKind::Datagrams(datagrams) => datagrams.destination.learning(),
            FlowKind::Echo(_)
            | FlowKind::Bulk(_)
            | FlowKind::Exchange(_)
            | FlowKind::Storage(_) => Nanos::ZERO,
        });
        each.fold(Nanos::ZERO, |all, one| all + one)
    }

    /// How long a client may fill a file that its job reads and writes, before the first trial.
    fn laying_out(&self) -> Duration {
        let fills = |flow: &Flow| matches!(&flow.kind, FlowKind::Storage(s) if s.server.is_none());
        let any = self.lanes.trial().flows.iter().any(fills);
        if any { LAYING_OUT } else { Duration::ZERO }
    }

    /// Tells every agent to start at one instant; the window on our clock, and its start on the
    /// wall's.
    fn start(&mut self, hosts: &[String]) -> Result<(Window, u64), TrialError> {
        let phases = self.lanes.trial().phases;
        let now = clock::monotonic();
        let start = now + self.lead + LEAD_PER_FLOW * self.lanes.trial().flows.len() as u64;
        let started_unix_ns = clock::realtime().0 + start.saturating_sub(now).0;
        let stop = start + phases.load;
        let window = Window { start, stop, closed: stop + phases.residual };
        let asks: Vec<_> = hosts
            .iter()
            .map(|host| {
                let there = |at| self.pool.clocks().theirs(host, at);
                let window = Window {
                    start: there(window.start),
                    stop: there(window.stop),
                    closed: there(window.closed),
                };
                (host.clone(), Ask::Start { window })
            })
            .collect();
        self.pool.ask_all(asks, SETTING_UP, Answer::done)?;
        Ok((window, started_unix_ns))
    }

    /// Waits for the end and takes the reports, by host. A flow that broke ends the wait.
    fn collect_all(
        &mut self,
        hosts: &[String],
        window: Window,
    ) -> Result<BTreeMap<String, Collected>, TrialError> {
        let mut all = BTreeMap::new();
        let pool = &mut *self.pool;
        let mut load = || {
            let left = window.closed.saturating_sub(clock::monotonic()).as_duration();
            let asks = hosts.iter().map(|host| (host.clone(), Ask::Collect));
            let collected = |answer| match answer {
                Answer::Collected(report) => Some(report),
                _ => None,
            };
            pool.ask_each(asks, left + REPORTING, collected, |host, report| {
                let broken = |it: &FlowReport| Some((it.flow, it.report.as_ref().err()?.clone()));
                if let Some((flow, reason)) = report.reports.iter().find_map(broken) {
                    return Err(flow_broke(flow, host, &reason).into());
                }
                all.insert(host.to_owned(), *report);
                Ok(())
            })
        };
        around(self.companions, self.context, window, &mut load)?;
        Ok(all)
    }
}

/// Opens the data ports; their numbers by flow. Receivers take so long as stations speak first.
fn prepare(
    pool: &mut AgentPool,
    mut orders: ByHost<Order>,
    in_use: &PortsInUse,
    stations_speak: Nanos,
) -> Result<BTreeMap<u16, u16>, TrialError> {
    let flows = |orders: &Vec<Order>| orders.iter().map(|order| order.identity.flow).collect();
    let flows: BTreeMap<String, Vec<u16>> =
        orders.iter().map(|(host, orders)| (host.clone(), flows(orders))).collect();
    let asks = in_use.iter().map(|(host, ports)| {
        let receivers = orders.remove(host).unwrap_or_default();
        (host.clone(), Ask::Prepare { receivers, interfaces: interfaces(ports) })
    });
    let within = SETTING_UP + stations_speak.as_duration();
    let opened = pool.ask_all(asks, within, |answer| match answer {
        Answer::Prepared { ports } => Some(ports),
        _ => None,
    })?;
    let mut by_flow = BTreeMap::new();
    for (host, flows) in flows {
        let ports = opened.get(&host).map_or(&[][..], Vec::as_slice);
        if ports.len() != flows.len() {
            let why = format!("host `{host}` opened {} ports of {}", ports.len(), flows.len());
            return Err(Failed::new(why).into());
        }
        by_flow.extend(flows.into_iter().zip(ports.iter().copied()));
    }
    Ok(by_flow)
}

fn interfaces(ports: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let all: BTreeSet<&String> = ports.values().flatten().collect();
    all.into_iter().cloned().collect()
}

/// What each port in use counted, its interfaces added up, as `h1/eth1`. Of links at which frames
/// wait on purpose only what they dropped: what crosses them has been counted at the port.
fn host_counters(
    topology: &Topology,
    in_use: &PortsInUse,
    collected: &BTreeMap<String, Collected>,
) -> Vec<PortCounters> {
    let mut all = Vec::new();
    for (host, ports) in in_use {
        let Some(collected) = collected.get(host) else { continue };
        for (port, interfaces) in ports {
            let mut counters = BTreeMap::new();
            let place = PortRef { host: host.clone(), port: port.clone() };
            let own = topology.port(&place).map_or(&[][..], |port| &port.interfaces);
            for interface in interfaces {
                let change = collected.interfaces.get(interface).into_iter().flatten();
                let crossing = |name: &str| CROSSING.contains(&name) && !own.contains(interface);
                for (name, by) in change.filter(|(name, _)| !crossing(name)) {
                    *counters.entry(name.clone()).or_insert(0) += by;
                }
            }
            all.push(PortCounters {
                place: place.to_string(),
                side: Side::Tester,
                cable: None,
                counters,
            });
        }
    }
    all
}

fn into_sides(collected: BTreeMap<String, Collected>) -> Result<Sides, TrialError> {
    let mut sides = Sides::default();
    for (host, collected) in collected {
        for report in collected.reports {
            let side = if report.begins { &mut sides.began } else { &mut sides.waited };
            let broken = |reason: String| flow_broke(report.flow, &host, &reason);
            side.insert(report.flow, report.report.map_err(broken)?);
        }
    }
    Ok(sides)
}

/// A flow's side broke while it ran, in its agent's words.
fn flow_broke(flow: u16, host: &str, reason: &str) -> Failed {
    Failed::new(format!("flow {flow} on host `{host}`: {reason}"))
}

/// An upper bound on how far apart the flows' senders began: what their threads' readiness tells,
/// and between hosts also what their clocks may be off.
fn start_spread(
    trial: &Trial,
    window: Window,
    collected: &BTreeMap<String, Collected>,
    clocks: &Clocks,
) -> Nanos {
    let mut begins = Vec::new();
    let mut doubts: BTreeMap<&str, Nanos> = BTreeMap::new();
    for flow in &trial.flows {
        let host = flow.from.host.as_str();
        let Some(collected) = collected.get(host) else { continue };
        // Both sides may run on one host; the later of the two is the flow's.
        let ready = collected.reports.iter().filter(|r| r.flow == flow.id).map(|r| r.ready).max();
        begins.extend(ready.map(|at| clocks.ours(host, at, window.start).max(window.start)));
        doubts.insert(host, clocks.ahead(host, window.start).uncertainty());
    }
    let (Some(first), Some(last)) = (begins.iter().min(), begins.iter().max()) else {
        return Nanos::ZERO;
    };
    let mut doubts: Vec<Nanos> = doubts.into_values().collect();
    doubts.sort_unstable_by(|a, b| b.cmp(a));
    let between = if doubts.len() > 1 { doubts[0] + doubts[1] } else { Nanos::ZERO };
    last.saturating_sub(*first) + between
}

/// From the kernel, not from the study's seed: a replayed study must not accept an old trial's
/// frames.
fn draw_token() -> Result<u32, TrialError> {
    let mut bytes = [0; 4];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(Failed::to("draw the trial's token"))?;
    Ok(u32::from_ne_bytes(bytes))
}
