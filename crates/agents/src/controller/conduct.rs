//! One trial, from the first order to the record: the phases of RFC 2544 §23 in their order.
//!
//! Owns the common start. Never recovers: the first failure ends the trial, and the caller cleans
//! up.

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

/// Additional lead time before the start for each flow, because each is a thread.
const LEAD_PER_FLOW: Nanos = Nanos::from_millis(2);
/// Time-out for opening sockets and setting offloads.
const SETTING_UP: Duration = Duration::from_secs(10);
/// Additional time-out per flow: each sender gives up learning after a second or so, one after
/// another.
const LEARNING: Duration = Duration::from_secs(3);
/// Time-out for laying out the file of a storage job, whose size the user chooses.
const LAYING_OUT: Duration = Duration::from_mins(30);
/// Time-out after the window, in which an agent reads counters and writes its report.
const REPORTING: Duration = Duration::from_secs(10);

/// Counters of frames that cross an interface.
const CROSSING: [&str; 4] = ["rx_packets", "rx_bytes", "tx_packets", "tx_bytes"];

/// The current trial.
pub struct Conduct<'a> {
    /// Trial to run, and its testbed.
    pub context: TrialContext<'a>,
    /// Agents of the testbed.
    pub pool: &'a mut AgentPool,
    /// Division of the flows among senders.
    pub lanes: &'a SenderSplit<'a>,
    /// Parameters of all orders.
    pub standing: &'a mut Standing,
    /// Processors to divide among the hosts, if all are this machine.
    pub processors: Vec<usize>,
    /// Companions of the trial.
    pub companions: &'a mut [&'a mut dyn Companion],
    /// Lead time between the announcement of the start and the start.
    pub lead: Nanos,
}

impl Conduct<'_> {
    /// Runs the whole trial except the settling.
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
                let (from, to) = (&flow.from.host, &flow.to.host);
                let allowed = allowance(&allowances, flow);
                clocks.settle(record, from, to, allowed, window.start, window.closed);
            }
        }
        record.outcome = validity::judge(asked, &record.flows, &record.ports, &record.hosts);
        Ok(record)
    }

    /// Builds a record for each requested flow from the hosts' reports.
    fn flows(
        &mut self,
        collected: BTreeMap<String, Collected>,
        ports: &BTreeMap<u16, u16>,
    ) -> Result<Vec<FlowRecord>, TrialError> {
        let trial = self.lanes.trial();
        let mut sides = into_sides(collected)?;
        far_counter::stand_in(&trial.flows, self.context.topology, &mut sides);
        let flows = assemble(&trial.flows, sides, ports)?;
        self.standing.numbers.observe(&trial.flows, &flows, trial.phases.load);
        Ok(self.lanes.merge(flows))
    }

    /// Opens both sides of every flow; returns the data ports by flow.
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

    /// Computes the clock allowances for the maximum duration of the trial from now on.
    fn allowances(&self) -> Allowances {
        let trial = self.lanes.trial();
        let phases = trial.phases;
        let before = SETTING_UP + LEARNING * trial.flows.len() as u32;
        let longest = phases.learned + phases.load + phases.residual + before.into();
        let now = clock::monotonic();
        self.pool.clocks().allowances(&trial.flows, now, now + longest)
    }

    /// Lists the ports of all flows at hosts with agents.
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

    /// Time during which receivers send for the stations behind them before they answer.
    fn stations_speak(&self) -> Nanos {
        let each = self.lanes.trial().flows.iter().map(|flow| match &flow.kind {
            FlowKind::Datagrams(datagrams) => datagrams.destination.learning(),
            FlowKind::Echo(_)
            | FlowKind::Bulk(_)
            | FlowKind::Exchange(_)
            | FlowKind::Storage(_)
            | FlowKind::Sessions(_) => Nanos::ZERO,
        });
        each.fold(Nanos::ZERO, |all, one| all + one)
    }

    /// Time-out for filling a file that a job reads and writes, before the first trial.
    fn laying_out(&self) -> Duration {
        let fills = |flow: &Flow| matches!(&flow.kind, FlowKind::Storage(s) if s.server.is_none());
        let any = self.lanes.trial().flows.iter().any(fills);
        if any { LAYING_OUT } else { Duration::ZERO }
    }

    /// Makes every agent start at one instant. Returns the window on our clock, and its start as
    /// wall-clock time.
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

    /// Waits for the end and collects the reports, by host. A broken flow ends the wait.
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
            pool.ask_each(asks, left + REPORTING, collected, |host, report, _| {
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

/// Opens the data ports; returns their numbers by flow. Receivers first send for the stations, for
/// `stations_speak`.
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

/// Sums each used port's counters over its interfaces, named as `h1/eth1`. Links that delay frames
/// contribute only their drops: their other frames were counted at the port.
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

/// Builds the error for a flow side that broke, in its agent's words.
fn flow_broke(flow: u16, host: &str, reason: &str) -> Failed {
    Failed::new(format!("flow {flow} on host `{host}`: {reason}"))
}

/// Upper bound of the time between the flows' first and last start. It follows from the threads'
/// readiness and, between hosts, also from the uncertainty of the clocks.
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

/// Draws a random token. It comes from the kernel, not from the study's seed: a replayed study must
/// not accept an old trial's frames.
fn draw_token() -> Result<u32, TrialError> {
    let mut bytes = [0; 4];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(Failed::to("draw the trial's token"))?;
    Ok(u32::from_ne_bytes(bytes))
}
