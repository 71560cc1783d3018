//! One trial, from the first order to the record: the phases of RFC 2544 §23 in their order.
//!
//! Owns the common start. Never recovers: the first thing that goes wrong ends it, and the caller
//! cleans up.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use dataplane::{Window, clock};
use lab::Lab;
use measure::{Nanos, Rate};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use trial::record::{DeedRecord, DeviceRecord, FlowRecord, HostUsage, PortCounters, Side};
use trial::topology::PortRef;
use trial::{Flow, FlowKind, Offloads};
use trial::{Topology, Trial, TrialRecord, validity};
use wire::MacAddr;

use super::accounts::{Accounts, Counted};
use super::assemble::{Sides, assemble};
use super::clocks::{Allowances, Clocks};
use super::delays::Delays;
use super::numbers::Numbers;
use super::orders::Scene;
use super::pool::AgentPool;
use super::sender_split::SenderSplit;
use super::subjects::Subjects;
use super::trial_error::TrialError;
use super::{Stop, deeds, far_counter, models, site};
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, Collected, OffloadChange};

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
    /// The agents.
    pub pool: &'a mut AgentPool,
    /// Who is where.
    pub topology: &'a Topology,
    /// Ethernet addresses of far ends that do not answer who asks for them.
    pub macs: &'a BTreeMap<PortRef, MacAddr>,
    /// The lab, where the testbed is one.
    pub lab: Option<&'a Lab>,
    /// What can be done to the devices.
    pub subjects: &'a Subjects,
    /// What devices say of their own ports.
    pub accounts: &'a mut Accounts,
    /// What hosts add to the path.
    pub delays: &'a mut Delays,
    /// What is asked, and what hosts do of it.
    pub lanes: &'a SenderSplit<'a>,
    /// What an interface may be asked to send, where there is a limit.
    pub rate: Option<Rate>,
    /// How many frames floods may send, and whether that was enough.
    pub numbers: &'a mut Numbers,
    /// How long before the start agents are told of it.
    pub lead: Nanos,
}

/// The ports of a trial, by host: each with the kernel interfaces that count for it.
type PortsInUse = BTreeMap<String, BTreeMap<String, Vec<String>>>;

impl<'a> Conduct<'a> {
    /// All of it but the settling.
    pub fn run(&mut self) -> Result<TrialRecord, TrialError> {
        let ports_in_use = self.ports_in_use();
        let hosts: Vec<String> = ports_in_use.keys().cloned().collect();

        self.accounts.look_at_rest(self.topology, self.lanes.trial(), self.pool)?;
        self.set_offloads(&ports_in_use)?;
        self.delays.put(self.pool)?;
        let ports_in_use = self.with_delays(ports_in_use);
        self.pool.compare_clocks(&hosts)?;
        let scene = self.scene()?;
        let ports = self.prepare(&scene, &ports_in_use)?;
        self.connect(&scene, &ports)?;
        self.pool.rest(self.lanes.trial().phases.learned)?;

        let lab = self.lab;
        let devices = lab.map_or_else(Vec::new, |lab| {
            site::crossed(lab.plan(), self.topology, self.lanes.trial())
        });
        let look = || lab.map(|lab| site::device_counters(lab, &devices)).transpose();
        let look_inside = || lab.map(|lab| models::look(lab, &devices)).transpose();
        let account = self.accounts.before(self.topology, self.lanes.trial(), self.pool)?;
        let (device_before, models_before) = (look()?, look_inside()?);
        let (window, started_unix_ns) = self.start(&hosts)?;
        let (collected, deeds) = self.collect_with_events(&hosts, window)?;
        let (device_after, models_after) = (look()?, look_inside()?);

        let mut port_counters = host_counters(self.topology, &ports_in_use, &collected);
        if let (Some(lab), Some(before), Some(after)) = (lab, device_before, device_after) {
            port_counters.extend(site::device_changes(lab.plan(), &devices, &before, &after));
        }
        if !self.pool.clocks().are_one() {
            self.pool.compare_clocks(&hosts)?;
        }
        let usage = collected.iter().map(|(host, c)| host_usage(host, c)).collect::<Vec<_>>();
        let start_spread = start_spread(self.lanes.trial(), window, &collected, self.pool.clocks());
        let mut flows = self.flows(collected)?;
        let asked = &self.lanes.asked().flows;
        let sent = far_counter::sent(asked, &flows, self.topology);
        let counted = Counted { ports: &port_counters, sent: &sent };
        let (accounts, readings) = self.accounts.after(account, counted, self.pool)?;
        port_counters.extend(accounts);
        far_counter::fill_in(asked, &mut flows, self.topology, (&port_counters, &readings));
        if let (Some(before), Some(after)) = (models_before, models_after) {
            models::add_changes(&mut port_counters, &before, &after);
        }
        let clocks = self.pool.clocks();
        for (flow, record) in self.lanes.asked().flows.iter().zip(&mut flows) {
            if let FlowRecord::Datagrams(record) = record {
                let hosts = (flow.from.host.as_str(), flow.to.host.as_str());
                clocks.settle(record, hosts, scene.allowance(flow), (window.start, window.closed));
            }
        }
        let outcome = validity::judge(self.lanes.asked(), &flows, &port_counters, &usage);
        Ok(TrialRecord {
            ordinal: 0,
            started_unix_ns,
            outcome,
            flows,
            ports: port_counters,
            hosts: usage,
            start_spread,
            device: DeviceRecord { probe: None, deeds, readings },
            unanswered: false,
        })
    }

    /// A record for each flow that was asked for, as its hosts told.
    fn flows(
        &mut self,
        collected: BTreeMap<String, Collected>,
    ) -> Result<Vec<FlowRecord>, TrialError> {
        let trial = self.lanes.trial();
        let mut sides = into_sides(collected)?;
        far_counter::stand_in(&trial.flows, self.topology, &mut sides);
        let flows = assemble(&trial.flows, sides)?;
        self.numbers.hear(&trial.flows, &flows, trial.phases.load);
        Ok(self.lanes.merge(flows))
    }

    /// Hosts of a lab share this machine's processors; on real hosts the kernel decides.
    fn scene(&self) -> Result<Scene<'a>, TrialError> {
        Ok(Scene {
            topology: self.topology,
            macs: self.macs,
            lanes: self.lanes,
            numbers: *self.numbers,
            rate: self.rate,
            token: draw_token()?,
            processors: self.lab.map(|lab| self.processors(lab)).unwrap_or_default(),
            allowances: self.allowances(),
        })
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

    /// Those that no emulated device keeps busy which the trial crosses.
    fn processors(&self, lab: &Lab) -> Vec<usize> {
        let crossed = site::crossed(lab.plan(), self.topology, self.lanes.trial());
        let models = crossed.iter().filter_map(|device| lab.emulation(&device.name));
        let taken: Vec<usize> = models.filter_map(lab::Emulation::processor).collect();
        allowed_processors().into_iter().filter(|cpu| !taken.contains(cpu)).collect()
    }

    /// The ends of all flows that agents have.
    fn ports_in_use(&self) -> PortsInUse {
        let mut in_use = PortsInUse::new();
        for end in self.lanes.trial().flows.iter().flat_map(|f| [&f.from, &f.to]) {
            let agent = self.topology.agents().any(|host| host.name == end.host);
            if let Some(port) = self.topology.port(end).filter(|_| agent) {
                let host = in_use.entry(end.host.clone()).or_default();
                host.insert(end.port.clone(), port.interfaces.clone());
            }
        }
        in_use
    }

    /// What is dropped where frames wait on purpose is the host's doing too.
    fn with_delays(&self, mut ports: PortsInUse) -> PortsInUse {
        for (host, ports) in &mut ports {
            for interfaces in ports.values_mut() {
                let links = interfaces.iter().filter_map(|name| self.delays.link(host, name));
                let links: Vec<String> = links.cloned().collect();
                interfaces.extend(links);
            }
        }
        ports
    }

    fn set_offloads(&mut self, ports: &PortsInUse) -> Result<(), TrialError> {
        let change = match self.lanes.trial().offloads {
            Offloads::Off => OffloadChange::Off,
            Offloads::AsFound => OffloadChange::Restore,
        };
        let asks = ports.iter().map(|(host, ports)| {
            (host.clone(), Ask::Offloads { interfaces: interfaces(ports), change })
        });
        self.pool.ask_all(asks.collect::<Vec<_>>(), SETTING_UP).map(drop)
    }

    /// Opens the data ports; their numbers by flow.
    fn prepare(
        &mut self,
        scene: &Scene<'_>,
        in_use: &PortsInUse,
    ) -> Result<BTreeMap<u16, u16>, TrialError> {
        let mut orders = scene.receivers()?;
        let mut flows: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        let mut asks = Vec::new();
        for (host, ports) in in_use {
            let receivers = orders.remove(host).unwrap_or_default();
            flows.insert(host.clone(), receivers.iter().map(|order| order.identity.flow).collect());
            asks.push((host.clone(), Ask::Prepare { receivers, interfaces: interfaces(ports) }));
        }
        let mut by_flow = BTreeMap::new();
        let within = SETTING_UP + self.stations_speak().as_duration();
        for (host, answer) in self.pool.ask_all(asks, within)? {
            let expected = flows.remove(&host).unwrap_or_default();
            match answer {
                Answer::Prepared { ports } if ports.len() == expected.len() => {
                    by_flow.extend(expected.into_iter().zip(ports));
                }
                _ => return Err(self.pool.unexpected(&host, "a port for each receiver")),
            }
        }
        Ok(by_flow)
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

    /// Opens the sending sides, which learn their paths.
    fn connect(&mut self, scene: &Scene<'_>, ports: &BTreeMap<u16, u16>) -> Result<(), TrialError> {
        let orders = scene.senders(ports)?;
        let most = orders.values().map(Vec::len).max().unwrap_or(0);
        let asks: Vec<_> =
            orders.into_iter().map(|(host, senders)| (host, Ask::Connect { senders })).collect();
        let within = SETTING_UP + LEARNING * most as u32 + self.laying_out();
        self.pool.ask_all(asks, within).map(drop)
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
        self.pool.ask_all(asks, SETTING_UP)?;
        Ok((window, started_unix_ns))
    }

    /// Takes the reports while another thread does to the device what the trial says.
    fn collect_with_events(
        &mut self,
        hosts: &[String],
        window: Window,
    ) -> Result<(BTreeMap<String, Collected>, Vec<DeedRecord>), TrialError> {
        if self.lanes.trial().events.is_empty() {
            return Ok((self.collect(hosts, window)?, Vec::new()));
        }
        let (trial, known, lab) = (self.lanes.trial(), self.subjects, self.lab);
        let stop = self.pool.stop().clone();
        let over = Stop::new();
        thread::scope(|scope| {
            // Also where collecting panics: what was done is undone before the panic goes on.
            let ended = Ending(&over);
            let (over, stop) = (&over, &stop);
            let deeds =
                scope.spawn(move || deeds::carry_out(trial, window, (known, lab), (stop, over)));
            let collected = self.collect(hosts, window);
            drop(ended);
            match deeds.join().unwrap_or_else(|panic| resume_unwind(panic)) {
                // Worse than whatever ended the trial.
                Err(left @ TrialError::NotUndone(_)) => Err(left),
                deeds => Ok((collected?, deeds?)),
            }
        })
    }

    /// Waits for the end and takes the reports. A flow that broke ends the wait.
    fn collect(
        &mut self,
        hosts: &[String],
        window: Window,
    ) -> Result<BTreeMap<String, Collected>, TrialError> {
        let left = window.closed.saturating_sub(clock::monotonic()).as_duration();
        let asks: Vec<_> = hosts.iter().map(|host| (host.clone(), Ask::Collect)).collect();
        let mut collected = BTreeMap::new();
        let mut strange = None;
        self.pool.ask_each(asks, left + REPORTING, |host, answer| {
            let Answer::Collected(report) = answer else {
                strange = Some(host.to_owned());
                return Ok(());
            };
            let broken =
                report.reports.iter().find_map(|r| Some((r.flow, r.report.as_ref().err()?)));
            if let Some((flow, reason)) = broken {
                return Err(flow_broke(flow, host, reason).into());
            }
            collected.insert(host.to_owned(), *report);
            Ok(())
        })?;
        match strange {
            Some(host) => Err(self.pool.unexpected(&host, "reports")),
            None => Ok(collected),
        }
    }
}

/// Whatever ends this, the trial is over.
struct Ending<'a>(&'a Stop);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ask();
    }
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

fn host_usage(host: &str, collected: &Collected) -> HostUsage {
    HostUsage { host: host.to_owned(), usage: collected.usage.clone() }
}

fn into_sides(collected: BTreeMap<String, Collected>) -> Result<Sides, TrialError> {
    let mut sides = Sides::default();
    for (host, collected) in collected {
        for report in collected.reports {
            let flow = report.flow;
            match report.report {
                Ok(side) if report.begins => sides.put_beginning(flow, side),
                Ok(side) => sides.put_waiting(flow, side),
                Err(reason) => return Err(flow_broke(flow, &host, &reason).into()),
            }
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

/// The processors that this process may use.
fn allowed_processors() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}
