//! Construction of ports and flows from a trial, ready to start.
//!
//! Owns the checks that a live testbed's agents make, and the assignment of alarms. Never starts
//! anything.

use std::collections::{BTreeMap, BTreeSet};

use device::profile::port_mac;
use device::{Edge, Frame, Network, Profile, chance};
use measure::Picos;
use measure::reading::Segment;
use measure::units::FRAMING_OCTETS;
use trial::topology::{CableEnd, PortRef, Topology};
use trial::{
    Destination, Flow, FlowKind, Opening, Protocol, RankPair, Schedule, Trial, collective,
};

use crate::bulk::Bulk;
use crate::collective::{Connection, Member};
use crate::conversation::Conversation;
use crate::disk::{self, Disk};
use crate::echo::{self, Echo};
use crate::exchange::{self, Exchange};
use crate::exchange_way::ExchangeWay;
use crate::jitter::Jitter;
use crate::load::Load;
use crate::nic::{Far, Nic};
use crate::sessions::Sessions;
use crate::shared_state::{Lane, SharedState, Window};
use crate::stations::Stations;
use crate::storage::{Servers, Storage};
use crate::stream::{Course, Owner, Stream, TCP_OVERHEAD};
use crate::tcp::{Algorithm, Config};
use crate::world::{Alarm, Flows, Hosts, World};
use crate::{DiskModel, HostModel, topology};

const VLAN_TAG: u32 = 4;

/// Reason why a trial cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// This trial cannot run; the record says so.
    Trial(String),
    /// No trial of the kind can run.
    Testbed(String),
}

/// Testbed and trial to be simulated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) profile: &'a Profile,
    pub(crate) hosts: &'a HostModel,
    pub(crate) trial: &'a Trial,
}

/// Ports in use, by name.
type Numbers = BTreeMap<PortRef, u32>;

impl Scene<'_> {
    /// Builds the network at rest, the ports in use and the flows of the trial, in the window. Also
    /// returns every lane that its frames take.
    pub(crate) fn set_up(&self, seed: u64, window: Window) -> Result<(World, Vec<Lane>), Unfit> {
        let names = self.numbers()?;
        let mut nics: Vec<Nic> =
            names.keys().map(|place| self.nic(place, &names, seed)).collect::<Result<_, _>>()?;
        let (flows, lanes) = self.flows(&nics, names, window, seed)?;
        for load in flows.loads.iter().filter(|load| load.stations().is_some()) {
            nics[load.to() as usize].stations = load.stations();
        }
        let network = Network::new(self.profile, seed);
        let turnaround = Picos::from(self.hosts.turnaround);
        let ground = SharedState::new(nics, network.edges(), turnaround, flows.alarms.len());
        Ok((World { network, hosts: Hosts { ground, flows }, death: None }, lanes))
    }

    /// Numbers the flows' ends in the order of their names, including each direct cable's other
    /// end.
    fn numbers(&self) -> Result<Numbers, Unfit> {
        let mut names = Numbers::new();
        for flow in &self.trial.flows {
            for end in ends(flow) {
                if names.contains_key(end) {
                    continue;
                }
                names.insert(end.clone(), 0);
                if let CableEnd::Host(far) = &self.port(flow, end)?.cable {
                    names.insert(far.clone(), 0);
                }
            }
        }
        for (number, at) in (0..).zip(names.values_mut()) {
            *at = number;
        }
        Ok(names)
    }

    fn port(&self, flow: &Flow, end: &PortRef) -> Result<&trial::topology::HostPort, Unfit> {
        let missing = || Unfit::Trial(format!("flow {}: there is no port `{end}`", flow.id));
        self.topology.port(end).ok_or_else(missing)
    }

    fn nic(&self, place: &PortRef, names: &Numbers, seed: u64) -> Result<Nic, Unfit> {
        let gone = || Unfit::Trial(format!("there is no port `{place}`"));
        let host = self.topology.hosts.iter().position(|h| h.name == place.host);
        let number = host.ok_or_else(gone)? as u16;
        let edge = Edge(number);
        let port = self.topology.port(place).ok_or_else(gone)?;
        let link = port.rate.unwrap_or(self.profile.rate);
        let slow = self.hosts.slow.iter().find(|slow| slow.host == number);
        let rate = slow.and_then(|slow| slow.sends).map_or(link, |own| own.min(link));
        let (far, (mac, address)) = match &port.cable {
            CableEnd::Device { .. } => (Far::Edge(edge), topology::across(self.profile, edge)),
            CableEnd::Host(peer) => {
                let peer_edge = Edge(number ^ 1);
                // Joins the two cables to the network.
                let away = self.profile.edge_delay(edge) + self.profile.edge_delay(peer_edge);
                let peer = *names.get(peer).ok_or_else(gone)?;
                (Far::Nic(peer, away.into()), topology::direct(number))
            }
        };
        let own = u64::from(*names.get(place).ok_or_else(gone)?);
        let jitter = Jitter::new(seed, own);
        let mut nic = Nic::new(place.clone(), far, mac, address, rate, self.hosts, jitter);
        nic.late = slow.map_or(Picos::ZERO, |slow| slow.late.into());
        nic.mortal = self.hosts.dies.is_some_and(|death| death.host == number);
        Ok(nic)
    }

    fn flows(
        &self,
        nics: &[Nic],
        names: Numbers,
        window: Window,
        seed: u64,
    ) -> Result<(Flows, Vec<Lane>), Unfit> {
        let (flows, lanes) = (Flows::default(), Vec::new());
        let (disks, members) = (BTreeMap::new(), BTreeMap::new());
        let mut builder =
            Builder { scene: self, nics, names, window, seed, flows, lanes, disks, members };
        let mut ids = BTreeSet::new();
        for flow in &self.trial.flows {
            if !ids.insert(flow.id) {
                let reason = format!("flow {}: another flow of the trial has this number", flow.id);
                return Err(Unfit::Trial(reason));
            }
            builder.add(flow)?;
        }
        Ok((builder.flows, builder.lanes))
    }
}

/// Flows under construction.
struct Builder<'a> {
    scene: &'a Scene<'a>,
    nics: &'a [Nic],
    names: Numbers,
    window: Window,
    seed: u64,
    flows: Flows,
    lanes: Vec<Lane>,
    /// Disks of storage servers, by their ports.
    disks: BTreeMap<u32, u32>,
    /// Members of the collective, by their ranks.
    members: BTreeMap<u32, u32>,
}

impl Builder<'_> {
    fn add(&mut self, flow: &Flow) -> Result<(), Unfit> {
        let ends = [self.names[&flow.from], self.names[&flow.to]];
        let lanes = self.there_and_back(flow, ends)?;
        self.lanes.extend(lanes);
        match &flow.kind {
            FlowKind::Datagrams(asked) => self.load(flow, asked, lanes[0], ends[1]),
            FlowKind::Echo(asked) => self.echo(flow, asked, lanes),
            FlowKind::Bulk(asked) => self.bulk(flow, asked, lanes),
            FlowKind::Exchange(asked) => self.exchange(flow, asked, lanes),
            FlowKind::Storage(asked) => self.storage(flow, asked, lanes),
            FlowKind::Sessions(asked) => self.open(flow, *asked, lanes),
        }
    }

    fn open(&mut self, flow: &Flow, asked: trial::Sessions, lanes: [Lane; 2]) -> Result<(), Unfit> {
        if let Opening::Paced(rate) = asked.opening {
            is_rate(flow, rate.0)?;
        }
        let nic = &self.nics[lanes[0].nic as usize];
        let limits = self.scene.profile.session_limits().filter(|_| nic.is_at_network());
        let place = self.flows.sessions.len() as u32;
        let alarm = self.alarm(Alarm::Sessions(place));
        self.flows.sessions.push(Sessions::new(asked, place, lanes, alarm, self.window, limits));
        Ok(())
    }

    fn there_and_back(&self, flow: &Flow, [from, to]: [u32; 2]) -> Result<[Lane; 2], Unfit> {
        let nic = |number: u32| &self.nics[number as usize];
        let meet = match (nic(from).far, nic(to).far) {
            (Far::Edge(one), Far::Edge(other)) => one != other,
            (Far::Nic(peer, _), Far::Nic(..)) => peer == to,
            _ => false,
        };
        if !meet {
            let reason = format!("no way leads from `{}` to `{}`", nic(from).place, nic(to).place);
            return Err(Unfit::Trial(format!("flow {}: {reason}", flow.id)));
        }
        let lane = |number: u32, other: u32| {
            let (nic, peer) = (nic(number), nic(other));
            let destination = match nic.far {
                Far::Edge(edge) if self.scene.profile.is_router() => port_mac(edge),
                Far::Edge(_) | Far::Nic(..) => peer.mac,
            };
            let target = Some(peer.address);
            Lane::new(number, Frame { octets: 0, source: nic.mac, destination, target, tag: 0 })
        };
        Ok([lane(from, to), lane(to, from)])
    }

    fn load(
        &mut self,
        flow: &Flow,
        asked: &trial::Datagrams,
        lane: Lane,
        to: u32,
    ) -> Result<(), Unfit> {
        let tag = if asked.headers.vlan.is_some() { VLAN_TAG } else { 0 };
        self.fits(flow, asked.frames.largest().octets() - tag)?;
        let rates = match asked.schedule {
            Schedule::Greedy | Schedule::Burst(_) => Vec::new(),
            Schedule::Paced(rate) => vec![rate],
            Schedule::Falling { from, to, .. } => vec![from, to],
        };
        for rate in rates {
            is_rate(flow, rate.0)?;
        }
        if let Destination::Stations { count, .. } = asked.destination
            && !(1..=Stations::MOST).contains(&count)
        {
            let (id, most) = (flow.id, Stations::MOST);
            let reason = format!("flow {id}: {count} stations are outside of 1 to {most}");
            return Err(Unfit::Trial(reason));
        }
        let place = self.flows.loads.len() as u32;
        let nic = &self.nics[lane.nic as usize];
        let shortest = asked.frames.pattern().iter().map(|size| nic.slot(size.octets())).min();
        // Flow numbers follow the port numbers.
        let jitter = Jitter::new(self.seed, self.nics.len() as u64 + u64::from(place));
        let shortest = shortest.unwrap_or_default();
        let load = Load::new(asked, lane, to, place, self.window, jitter, shortest);
        self.flows.loads.push(load);
        Ok(())
    }

    /// Refuses an untagged frame that exceeds the hosts' MTU.
    fn fits(&self, flow: &Flow, octets: u32) -> Result<(), Unfit> {
        let mtu = self.scene.hosts.mtu;
        if octets <= mtu + FRAMING_OCTETS {
            return Ok(());
        }
        let (id, needed) = (flow.id, octets - FRAMING_OCTETS);
        Err(Unfit::Trial(format!(
            "flow {id}: frames of {octets} octets need an MTU of {needed}, and hosts have {mtu}"
        )))
    }

    fn echo(&mut self, flow: &Flow, asked: &trial::Echo, lanes: [Lane; 2]) -> Result<(), Unfit> {
        self.fits(flow, Echo::sized(asked).octets())?;
        match asked.schedule {
            Schedule::Greedy => {}
            Schedule::Paced(rate) => is_rate(flow, rate.0)?,
            Schedule::Burst(_) | Schedule::Falling { .. } => {
                let reason = "an echo flow sends no bursts and keeps one rate";
                return Err(Unfit::Trial(format!("flow {}: {reason}", flow.id)));
            }
        }
        let place = self.flows.echoes.len() as u32;
        let carrier = match asked.protocol {
            Protocol::Icmp | Protocol::Udp => echo::Carrier::Frames(lanes),
            Protocol::Tcp => {
                let config = self.config(Algorithm::Cubic);
                let owners = [false, true].map(|back| Owner::Echo(place, back));
                let segment = Segment { mss: config.mss, timestamps: true };
                echo::Carrier::Streams(self.both_ways(owners, lanes, config), segment)
            }
        };
        let alarm = self.alarm(Alarm::Echo(place));
        self.flows.echoes.push(Echo::new(asked, place, carrier, alarm, self.window));
        Ok(())
    }

    fn bulk(&mut self, flow: &Flow, asked: &trial::Bulk, lanes: [Lane; 2]) -> Result<(), Unfit> {
        if asked.streams == 0 || asked.interval.0 == 0 {
            let (streams, interval) = (asked.streams, asked.interval);
            return Err(Unfit::Trial(format!(
                "flow {}: {streams} streams read every {interval}: both must be above zero",
                flow.id
            )));
        }
        let name = asked.preferred_control();
        let algorithm = Algorithm::from_name(name).ok_or_else(|| {
            Unfit::Testbed(format!(
                "congestion control `{name}` is not modelled; cubic, reno and htcp are"
            ))
        })?;
        let config = self.config(algorithm);
        let place = self.flows.bulks.len() as u32;
        let first = self.flows.streams.len() as u32;
        for stream in 0..asked.streams {
            self.stream(Owner::Bulk(place, stream), None, lanes, config, self.window.stop);
        }
        let alarm = self.alarm(Alarm::Bulk(place));
        self.flows.bulks.push(Bulk::new(asked, config.mss, first, alarm, self.window));
        Ok(())
    }

    fn exchange(
        &mut self,
        flow: &Flow,
        asked: &trial::Exchange,
        lanes: [Lane; 2],
    ) -> Result<(), Unfit> {
        if asked.message.0 == 0 || asked.interval.0 == 0 {
            let (message, interval) = (asked.message, asked.interval);
            return Err(Unfit::Trial(format!(
                "flow {}: messages of {message} summed up every {interval}: both must be above zero",
                flow.id
            )));
        }
        let place = self.flows.exchanges.len() as u32;
        let carrier = match (asked.carrier, asked.collective) {
            (trial::Carrier::Tcp, part) => {
                let config = self.config(Algorithm::Cubic);
                let owners = [false, true].map(|back| Owner::Exchange(place, back));
                let streams = self.both_ways(owners, lanes, config);
                match part {
                    None => exchange::Carrier::Streams(streams),
                    Some(part) => self.parts(flow, asked, part, streams)?,
                }
            }
            (trial::Carrier::Datagrams { .. }, Some(part)) => {
                let reason = format!("{} travels over TCP only", part.collective);
                return Err(Unfit::Trial(format!("flow {}: {reason}", flow.id)));
            }
            (trial::Carrier::Datagrams { credits }, None) => {
                let (hosts, message) = (self.scene.hosts, asked.message.0);
                let way = |end: u32, lanes| {
                    ExchangeWay::new(place, end, lanes, message, hosts, credits, self.window.stop)
                };
                let [there, back] = lanes;
                let ways = [way(0, [there, back]), way(1, [back, there])];
                exchange::Carrier::Frames(Box::new(ways))
            }
        };
        let alarms = [0, 1].map(|end| self.alarm(Alarm::Exchange(place, end)));
        self.flows.exchanges.push(Exchange::new(asked, carrier, alarms, self.window));
        Ok(())
    }

    /// Makes an exchange a part of the trial's collective.
    fn parts(
        &mut self,
        flow: &Flow,
        asked: &trial::Exchange,
        part: RankPair,
        streams: [u32; 2],
    ) -> Result<exchange::Carrier, Unfit> {
        let RankPair { ranks, from, to, .. } = part;
        let unfit = |reason: String| Unfit::Trial(format!("flow {}: {reason}", flow.id));
        let schedule = collective::Schedule::new(part.collective, ranks, asked.message.0)
            .map_err(|error| unfit(error.to_string()))?;
        if from == to || from.max(to) >= ranks {
            return Err(unfit(format!("ranks {from} and {to} of {ranks} are not two of them")));
        }
        let exchange = self.flows.exchanges.len() as u32;
        let ranks = [from, to];
        let members = ranks.map(|rank| self.member(schedule, rank));
        for (end, member) in members.into_iter().enumerate() {
            let connection = Connection { exchange, end };
            self.flows.members[member as usize].connect(ranks[1 - end], connection);
        }
        Ok(exchange::Carrier::Parts(exchange::Parts { streams, ranks, members }))
    }

    /// Returns the member with a rank, by its place.
    fn member(&mut self, schedule: collective::Schedule, rank: u32) -> u32 {
        if let Some(place) = self.members.get(&rank) {
            return *place;
        }
        let place = self.flows.members.len() as u32;
        self.alarm(Alarm::Member(place));
        self.flows.members.push(Member::new(schedule, rank, self.window));
        self.members.insert(rank, place);
        place
    }

    fn storage(
        &mut self,
        flow: &Flow,
        asked: &trial::Storage,
        lanes: [Lane; 2],
    ) -> Result<(), Unfit> {
        let trial::Storage { numjobs, bs, .. } = asked;
        if bs.0 == 0 {
            return Err(Unfit::Trial(format!("flow {}: operations of no octets", flow.id)));
        }
        let place = self.flows.storages.len() as u32;
        let config = self.config(Algorithm::Cubic);
        let talk = |builder: &mut Self, over: u16, lanes| {
            let owners = [false, true].map(|back| Owner::Storage(place, over, back));
            Conversation::new(builder.both_ways(owners, lanes, config))
        };
        let jobs = (0..numjobs.get()).map(|job| talk(self, job, lanes)).collect();
        let disk = asked.server.map_or(self.scene.hosts.disk, disk::made_of);
        let mut disks = vec![self.disk(lanes[1].nic, disk)];
        let mut replicas = Vec::new();
        for (over, replica) in (numjobs.get()..).zip(&asked.replicas) {
            let ends = [self.names[&flow.to], self.names[replica]];
            let lanes = self.there_and_back(flow, ends)?;
            self.lanes.extend(lanes);
            replicas.push(talk(self, over, lanes));
            disks.push(self.disk(lanes[1].nic, disk));
        }
        let servers = Servers { jobs, replicas, disks };
        let alarm = self.alarm(Alarm::Storage(place));
        let seed = chance::scatter(self.seed, u64::from(flow.id));
        self.flows.storages.push(Storage::new(asked, place, alarm, servers, self.window, seed));
        Ok(())
    }

    /// Returns the disk behind a port, by its place: a host has one, for all flows it serves.
    fn disk(&mut self, nic: u32, model: DiskModel) -> u32 {
        if let Some(place) = self.disks.get(&nic) {
            return *place;
        }
        let place = self.flows.disks.len() as u32;
        let alarm = self.alarm(Alarm::Disk(place));
        let seed = chance::scatter(!self.seed, u64::from(nic));
        self.flows.disks.push(Disk::new(model, alarm, seed));
        self.disks.insert(nic, place);
        place
    }

    fn config(&self, algorithm: Algorithm) -> Config {
        let mss = self.scene.hosts.mtu + FRAMING_OCTETS - TCP_OVERHEAD;
        Config { peer_window: self.scene.hosts.receive_window.0, ..Config::new(mss, algorithm) }
    }

    /// Creates a connection: a stream in each direction.
    fn both_ways(&mut self, owners: [Owner; 2], lanes: [Lane; 2], config: Config) -> [u32; 2] {
        let [there, back] = lanes;
        let closed = self.window.closed;
        let first = self.flows.streams.len() as u32;
        let partners = [Some(first + 1), Some(first)];
        [
            self.stream(owners[0], partners[0], [there, back], config, closed),
            self.stream(owners[1], partners[1], [back, there], config, closed),
        ]
    }

    fn stream(
        &mut self,
        owner: Owner,
        partner: Option<u32>,
        [data, acks]: [Lane; 2],
        config: Config,
        silent: Picos,
    ) -> u32 {
        let place = self.flows.streams.len() as u32;
        let alarms = [Alarm::Sender(place), Alarm::Receiver(place)].map(|alarm| self.alarm(alarm));
        let course = Course { place, data, acks, alarms, silent, partner };
        let window = self.scene.hosts.receive_window.0;
        self.flows.streams.push(Stream::new(owner, course, config, window));
        place
    }

    fn alarm(&mut self, alarm: Alarm) -> u32 {
        self.flows.alarms.push(alarm);
        (self.flows.alarms.len() - 1) as u32
    }
}

/// Ports at the ends of a flow's frames: its two, and those of its replicas.
pub(crate) fn ends(flow: &Flow) -> Vec<&PortRef> {
    let mut ends = vec![&flow.from, &flow.to];
    if let FlowKind::Storage(storage) = &flow.kind {
        ends.extend(&storage.replicas);
    }
    ends
}

fn is_rate(flow: &Flow, rate: f64) -> Result<(), Unfit> {
    if rate.is_finite() && rate > 0.0 {
        return Ok(());
    }
    Err(Unfit::Trial(format!("flow {}: {rate} frames a second is not a rate", flow.id)))
}
