//! A trial's flows as orders for the hosts' agents.
//!
//! Pure. Owns the translation from names to addresses, and the processors of a datagram flow's
//! sides. Never knows how an agent is reached.

mod datagrams;
mod servers;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dataplane::Identity;
use dataplane::echo::Requests;
use dataplane::opening::Opening;
use measure::Rate;
use trial::topology::{Pair, PortRef, Topology};
use trial::{Echo, Flow, FlowKind, IpVersion, Protocol, Schedule};
use wire::MacAddr;

use super::clocks::Allowances;
use super::far_counter;
use super::numbers::Numbers;
use super::sender_split::SenderSplit;
use crate::failed::Failed;
use crate::protocol::{Order, WIRE_OCTETS, Work, echo_bits, echo_rate};

/// Builds the error for a flow that is impossible on this topology.
fn refused(flow: &Flow, why: impl Display) -> Failed {
    Failed::new(format!("order flow {}: {why}", flow.id))
}

/// Parameters of every trial's orders.
#[derive(Debug, Default)]
pub struct Standing {
    /// Ethernet addresses of far ends that do not answer ARP.
    pub macs: BTreeMap<PortRef, MacAddr>,
    /// Rate limit of an interface; `None` for no limit.
    pub rate: Option<Rate>,
    /// Sequence numbers for floods.
    pub numbers: Numbers,
}

/// All inputs of the orders besides the flow.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Hosts, ports and cables of the testbed.
    pub topology: &'a Topology,
    /// Flows of the trial, divided among senders.
    pub lanes: &'a SenderSplit<'a>,
    /// Parameters of every trial.
    pub standing: &'a Standing,
    /// Random token of this trial.
    pub token: u32,
    /// Processors to divide among the hosts' datagram sides, if all hosts are this machine;
    /// otherwise empty, and the kernel decides.
    pub processors: Vec<usize>,
    /// Offsets that senders on one host add to their stamps for receivers on another; empty if all
    /// share one clock.
    pub allowances: &'a Allowances,
}

/// Orders by host name.
pub type ByHost<T> = BTreeMap<String, Vec<T>>;

impl Scene<'_> {
    /// Builds each host's waiting sides, to be opened before any frame is sent.
    pub fn receivers(&self) -> Result<ByHost<Order>, Failed> {
        let mut orders = ByHost::new();
        let mut seen = Vec::new();
        for flow in &self.lanes.trial().flows {
            if seen.contains(&flow.id) {
                return Err(refused(flow, "another flow of the trial has this number"));
            }
            seen.push(flow.id);
            if self.server_of(flow)?.is_some() || self.is_counted_by_device(flow)? {
                continue;
            }
            let (begins, waits) = self.ends(flow);
            let order = self.order(flow, waits, begins, 0)?;
            if !answered_by_kernel(flow) {
                orders.entry(waits.host.clone()).or_default().push(order);
            }
        }
        Ok(orders)
    }

    /// Builds each host's sending sides, for the opened `ports` (by flow number).
    pub fn senders(&self, ports: &BTreeMap<u16, u16>) -> Result<ByHost<Order>, Failed> {
        let mut orders = self.tests()?;
        for flow in &self.lanes.trial().flows {
            if self.server_of(flow)?.is_some() {
                continue;
            }
            let port = match ports.get(&flow.id) {
                _ if answered_by_kernel(flow) => 0,
                Some(port) => *port,
                None if let FlowKind::Datagrams(datagrams) = &flow.kind
                    && self.is_counted_by_device(flow)? =>
                {
                    far_counter::udp_port(datagrams)
                }
                None => return Err(refused(flow, "its receiver opened no port")),
            };
            let (begins, waits) = self.ends(flow);
            let order = self.order(flow, begins, waits, port)?;
            orders.entry(begins.host.clone()).or_default().push(order);
        }
        Ok(orders)
    }

    /// Returns the end that begins, and the end that waits.
    fn ends<'f>(&self, flow: &'f Flow) -> (&'f PortRef, &'f PortRef) {
        if self.is_opened_by_receiver(flow) {
            (&flow.to, &flow.from)
        } else {
            (&flow.from, &flow.to)
        }
    }

    /// True if only the receiver of the flow's load may begin.
    fn is_opened_by_receiver(&self, flow: &Flow) -> bool {
        let pair = Pair { from: flow.from.clone(), to: flow.to.clone() };
        match &flow.kind {
            FlowKind::Bulk(_) => self.topology.is_opened_by_receiver(&pair, |way| way.tcp),
            FlowKind::Datagrams(_) => self.topology.is_opened_by_receiver(&pair, |way| way.udp),
            FlowKind::Echo(_)
            | FlowKind::Exchange(_)
            | FlowKind::Storage(_)
            | FlowKind::Sessions(_) => false,
        }
    }

    /// True if a device counts the flow's frames in place of a host.
    fn is_counted_by_device(&self, flow: &Flow) -> Result<bool, Failed> {
        let counts = far_counter::counts(flow, &self.lanes.trial().flows, self.topology);
        counts.map_err(|why| refused(flow, why).unavailable())
    }

    /// Builds the order for one end of a flow; `port` is the data port of the other end.
    fn order(
        &self,
        flow: &Flow,
        own: &PortRef,
        other: &PortRef,
        port: u16,
    ) -> Result<Order, Failed> {
        Ok(Order {
            local: self.address(flow, own)?,
            remote: SocketAddr::new(self.address(flow, other)?, port),
            identity: Identity { token: self.token, flow: flow.id },
            opening: Opening {
                translated: self
                    .topology
                    .translated(&Pair { from: other.clone(), to: own.clone() }),
                by_receiver: self.is_opened_by_receiver(flow),
                ..Opening::PLAIN
            },
            flow: match &flow.kind {
                FlowKind::Echo(echo) => Work::Echo(self.requests(flow, echo)?),
                FlowKind::Datagrams(datagrams) => {
                    Work::Datagrams(self.traffic(flow, datagrams, own)?)
                }
                FlowKind::Bulk(bulk) => Work::Bulk(bulk.clone()),
                FlowKind::Exchange(exchange) => Work::Exchange(exchange.clone()),
                FlowKind::Storage(job) if job.server.is_some() && !job.replicas.is_empty() => {
                    let why = "a server made for the trial has no replicas; a `sim:` testbed has, and so may a \
                               storage that exists";
                    return Err(refused(flow, why).unavailable());
                }
                FlowKind::Storage(job) => Work::Storage(job.clone()),
                FlowKind::Sessions(sessions) => Work::Sessions(*sessions),
            },
        })
    }

    fn address(&self, flow: &Flow, port: &PortRef) -> Result<IpAddr, Failed> {
        let missing = || refused(flow, format_args!("there is no port `{port}`"));
        let found = self.topology.port(port).ok_or_else(missing)?;
        let version = match &flow.kind {
            FlowKind::Datagrams(datagrams) => datagrams.headers.version,
            FlowKind::Echo(_)
            | FlowKind::Bulk(_)
            | FlowKind::Exchange(_)
            | FlowKind::Storage(_)
            | FlowKind::Sessions(_) => return Ok(found.address),
        };
        let address = match version {
            // A port with an IPv6 address alone has no other headers.
            IpVersion::V4 => Some(found.address),
            IpVersion::V6 if found.address.is_ipv6() => Some(found.address),
            IpVersion::V6 => found.address6.map(IpAddr::V6),
        };
        address.ok_or_else(|| refused(flow, format_args!("port `{port}` has no {version} address")))
    }

    /// Builds a flow's requests. A closed loop keeps to the rate limit, if there is one: it gets
    /// its share of the rate that other flows leave at either end.
    fn requests(&self, flow: &Flow, echo: &Echo) -> Result<Requests, Failed> {
        check_schedule(flow, echo.schedule)?;
        let (Some(limit), Schedule::Greedy) = (self.standing.rate, echo.schedule) else {
            return Ok(Requests { asked: echo.clone(), least_gap_ns: 0.0 });
        };
        let mut share = limit.bits_per_second();
        for port in [&flow.from, &flow.to] {
            let (mut paced, mut closed) = (0.0, 0.0);
            for other in &self.lanes.trial().flows {
                if ![&other.from, &other.to].contains(&port) {
                    continue;
                }
                match &other.kind {
                    FlowKind::Echo(echo) => match echo_rate(echo) {
                        Some(bits) => paced += bits,
                        None => closed += 1.0,
                    },
                    FlowKind::Datagrams(d) if other.from == *port => {
                        if let Schedule::Paced(rate) = d.schedule {
                            paced += (d.frames.mean_octets() + WIRE_OCTETS) * 8.0 * rate.0;
                        }
                    }
                    _ => {}
                }
            }
            share = share.min((limit.bits_per_second() - paced) / closed);
        }
        // If others leave nothing, the agents report it.
        let least_gap_ns = echo_bits(echo) * 1e9 / share.max(1e-3);
        Ok(Requests { asked: echo.clone(), least_gap_ns })
    }

    /// Chooses a processor. Neighbouring hosts, which talk to each other, get different processors,
    /// and so do the threads of a divided load.
    fn processor(&self, flow: &Flow, host: &str) -> Option<usize> {
        let index = self.topology.hosts.iter().position(|h| h.name == host)?;
        let index = index + usize::from(self.lanes.lane(flow.id).number);
        let count = self.processors.len();
        (count > 0).then(|| self.processors[index % count])
    }
}

/// True if the kernel answers a flow's requests, so no waiting side is needed.
fn answered_by_kernel(flow: &Flow) -> bool {
    matches!(&flow.kind, FlowKind::Echo(echo) if echo.protocol == Protocol::Icmp)
}

fn check_schedule(flow: &Flow, schedule: Schedule) -> Result<(), Failed> {
    let rates = match schedule {
        Schedule::Greedy | Schedule::Burst(_) => return Ok(()),
        Schedule::Paced(rate) => [rate, rate],
        Schedule::Falling { from, to, .. } => [from, to],
    };
    match rates.into_iter().find(|rate| !(rate.0.is_finite() && rate.0 > 0.0)) {
        Some(rate) => Err(refused(flow, format_args!("{} frames a second is not a rate", rate.0))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use measure::{ByteCount, FrameRate, FrameSize, Nanos};
    use trial::topology::{CableEnd, Host, HostPort};
    use trial::{Backend, Datagrams, Exchange, Gate, Role, Trial};

    use super::*;

    static ONE_CLOCK: Allowances = Allowances::new();

    fn topology() -> Topology {
        let host = |name: &str, address: &str, far: &str| Host {
            name: name.into(),
            reach: "lab".into(),
            ports: vec![HostPort::plain(
                "eth1",
                address.parse().unwrap(),
                CableEnd::Host(far.parse().unwrap()),
            )],
        };
        let hosts = vec![host("h1", "198.18.0.1", "h2/eth1"), host("h2", "198.18.0.2", "h1/eth1")];
        Topology::new("two", hosts, Vec::new())
    }

    fn trial(rates: &[f64]) -> Trial {
        let flow = |(id, rate): (u16, &f64)| Flow {
            id,
            from: "h1/eth1".parse().unwrap(),
            to: "h2/eth1".parse().unwrap(),
            role: Role::Measured,
            kind: FlowKind::Datagrams(Datagrams::plain(
                FrameSize::MIN,
                Schedule::Paced(FrameRate(*rate)),
                Backend::Udp,
                4,
            )),
        };
        let flows = (1..).zip(rates).map(flow).collect();
        Trial::quick("test", flows, Nanos::from_secs(2), Gate::Strict)
    }

    fn scene<'a>(topology: &'a Topology, lanes: &'a SenderSplit<'a>) -> Scene<'a> {
        let (processors, allowances) = (vec![2, 5], &ONE_CLOCK);
        let standing = Box::leak(Box::default());
        Scene { topology, lanes, standing, token: 0xdead_beef, processors, allowances }
    }

    #[test]
    fn both_sides_agree_and_sit_on_different_processors() {
        let (topology, trial) = (topology(), trial(&[1000.0]));
        let lanes = SenderSplit::new(&trial);
        let scene = scene(&topology, &lanes);
        let receivers = scene.receivers().unwrap();
        let receiver = &receivers["h2"][0];
        let Work::Datagrams(counted) = &receiver.flow else { panic!("{receiver:?}") };
        let senders = scene.senders(&BTreeMap::from([(1, 4321)])).unwrap();
        let sender = &senders["h1"][0];
        let Work::Datagrams(sent) = &sender.flow else { panic!("{sender:?}") };
        assert_eq!((receiver.local, receiver.peer()), (sender.peer(), sender.local));
        assert_eq!(sender.remote.port(), 4321);
        assert_eq!(receiver.identity, sender.identity);
        assert_eq!(counted.limit, sent.limit);
        assert!(sent.limit >= 2000, "every frame of two seconds has a number");
        assert_eq!((sent.cpu, counted.cpu), (Some(2), Some(5)));
        assert_eq!(sent.asked.schedule, Schedule::Paced(FrameRate(1000.0)));
    }

    #[test]
    fn where_only_the_receiver_may_begin_it_calls_and_the_sender_waits() {
        let (mut topology, trial) = (topology(), trial(&[1000.0]));
        let seen: IpAddr = "198.18.9.9".parse().unwrap();
        let way = |from: &str, to: &str, opens, translated| trial::topology::Opening {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            icmp: opens,
            udp: opens,
            tcp: opens,
            translated,
        };
        topology.openings = vec![
            way("h1/eth1", "h2/eth1", false, None),
            way("h2/eth1", "h1/eth1", true, Some(seen)),
        ];
        let lanes = SenderSplit::new(&trial);
        let scene = scene(&topology, &lanes);
        let waiting = scene.receivers().unwrap();
        let sender = &waiting["h1"][0];
        assert!(sender.opening.by_receiver, "{sender:?}");
        assert_eq!((sender.seen_peer(), sender.peer().to_string()), (seen, "198.18.0.2".into()));
        let calling = scene.senders(&BTreeMap::from([(1, 4321)])).unwrap();
        let receiver = &calling["h2"][0];
        assert_eq!(receiver.remote.to_string(), "198.18.0.1:4321");
        assert_eq!((receiver.opening.by_receiver, receiver.opening.translated), (true, None));
    }

    #[test]
    fn an_exchange_has_two_ends_that_agree() {
        let topology = topology();
        let of = |carrier| {
            let mut trial = trial(&[1.0]);
            let (message, interval) = (ByteCount(65_536), Nanos::from_millis(100));
            trial.flows[0].kind =
                FlowKind::Exchange(Exchange { message, carrier, interval, collective: None });
            trial
        };
        for carrier in [trial::Carrier::Tcp, trial::Carrier::Datagrams { credits: 8 }] {
            let trial = of(carrier);
            let lanes = SenderSplit::new(&trial);
            let scene = scene(&topology, &lanes);
            let receivers = scene.receivers().unwrap();
            let senders = scene.senders(&BTreeMap::from([(1, 4321)])).unwrap();
            let (waiter, caller) = (&receivers["h2"][0], &senders["h1"][0]);
            assert_eq!((waiter.local, waiter.peer()), (caller.peer(), caller.local));
            assert_eq!(waiter.flow, caller.flow);
            let Work::Exchange(exchange) = &caller.flow else { panic!("{caller:?}") };
            assert_eq!(exchange.carrier, carrier);
        }
    }

    #[test]
    fn a_storage_has_a_client_and_a_keeper_and_what_is_made_for_a_trial_copies_nothing() {
        let (topology, mut trial) = (topology(), trial(&[1.0]));
        let (read, write) = (Nanos::from_millis(1), Nanos::from_millis(2));
        let storage = trial::Storage {
            ioengine: "nbd".into(),
            filename: String::new(),
            pattern: trial::Pattern::Random,
            rwmixread: trial::ReadPercent::known(50),
            bs: ByteCount(4096),
            numjobs: trial::Jobs::known(1),
            iodepth: trial::QueueDepth::known(1),
            replicas: Vec::new(),
            options: BTreeMap::new(),
            server: Some(trial::ServedMemory { size: ByteCount(1 << 20), read, write }),
            disk: None,
            allow_destroy: false,
        };
        trial.flows[0].kind = FlowKind::Storage(storage.clone());
        let lanes = SenderSplit::new(&trial);
        let receivers = scene(&topology, &lanes).receivers().unwrap();
        let senders = scene(&topology, &lanes).senders(&BTreeMap::from([(1, 4321)])).unwrap();
        let (keeper, client) = (&receivers["h2"][0], &senders["h1"][0]);
        assert_eq!((keeper.local, keeper.peer()), (client.peer(), client.local));
        assert_eq!(client.remote.port(), 4321);
        assert_eq!([&keeper.flow, &client.flow], [&Work::Storage(storage.clone()); 2]);
        let replicas = vec!["h2/eth1".parse().unwrap()];
        trial.flows[0].kind = FlowKind::Storage(trial::Storage { replicas, ..storage });
        let refused = scene(&topology, &SenderSplit::new(&trial)).receivers().unwrap_err();
        assert!(refused.is_unavailable(), "{refused}");
    }

    #[test]
    fn a_server_gets_one_order_whichever_way_its_streams_go() {
        let mut topology = topology();
        topology.hosts[1].reach = "iperf3://h2:5202".into();
        let bulk = |streams, id, back: bool| {
            let congestion_control = "cubic".to_owned();
            let interval = Nanos::from_millis(100);
            let kind = FlowKind::Bulk(trial::Bulk { streams, congestion_control, interval });
            let mut flow = Flow { kind, id, ..trial(&[1.0]).flows.remove(0) };
            if back {
                std::mem::swap(&mut flow.from, &mut flow.to);
            }
            flow
        };
        let ordered = |flows: Vec<Flow>| {
            let trial = Trial { flows, ..trial(&[1.0]) };
            let lanes = SenderSplit::new(&trial);
            let scene = scene(&topology, &lanes);
            assert!(scene.receivers()?.is_empty(), "nobody opens a port");
            scene.senders(&BTreeMap::new())
        };
        let orders = ordered(vec![bulk(2, 7, true), bulk(2, 8, false)]).unwrap();
        let [order] = orders["h1"].as_slice() else { panic!("{orders:?}") };
        assert_eq!((orders.len(), order.local.to_string()), (1, "198.18.0.1".to_owned()));
        assert_eq!(order.remote.to_string(), "198.18.0.2:5202");
        let Work::Iperf3(test) = &order.flow else { panic!("{order:?}") };
        let ways: Vec<_> = test.ways.iter().map(|way| (way.flow, way.reverse)).collect();
        assert_eq!(ways, [(7, true), (8, false)]);
        for flows in [
            vec![bulk(2, 7, true), bulk(3, 8, false)],
            vec![bulk(2, 7, true), bulk(2, 8, true)],
            vec![bulk(2, 7, false), bulk(2, 8, true), bulk(2, 9, true)],
        ] {
            assert!(ordered(flows).unwrap_err().is_unavailable());
        }
        // Datagrams at a rate, and nothing that takes an agent.
        let datagrams = ordered(trial(&[1000.0]).flows).unwrap();
        let Work::Iperf3(test) = &datagrams["h1"][0].flow else { panic!("{datagrams:?}") };
        let FlowKind::Datagrams(asked) = &test.ways[0].kind else { panic!("{test:?}") };
        let size = asked.frames.single();
        assert_eq!((size, test.ways[0].limit >= 2000), (Some(FrameSize::MIN), true));
        assert_eq!(asked.schedule, Schedule::Paced(FrameRate(1000.0)));
        let mut exchange = trial(&[1.0]);
        let (message, interval) = (ByteCount(65_536), Nanos::from_millis(100));
        let carrier = trial::Carrier::Tcp;
        exchange.flows[0].kind =
            FlowKind::Exchange(Exchange { message, carrier, interval, collective: None });
        let refused = ordered(exchange.flows).unwrap_err();
        assert!(refused.to_string().contains("host `h2` runs an iperf3 server only"), "{refused}");
    }

    #[test]
    fn what_can_not_be_ordered_is_refused() {
        let topology = topology();
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let trial = trial(&[rate]);
            let lanes = SenderSplit::new(&trial);
            let scene = scene(&topology, &lanes);
            let either = scene.receivers().err().or(scene.senders(&BTreeMap::from([(1, 1)])).err());
            let words = either.expect("no rate").to_string();
            let refused = words.contains("is not a rate") || words.contains("can be told apart");
            assert!(refused, "{rate}: {words}");
        }
        let mut twice = trial(&[1.0, 1.0]);
        twice.flows[1].id = 1;
        let error = scene(&topology, &SenderSplit::new(&twice)).receivers().unwrap_err();
        assert_eq!(error.to_string(), "order flow 1: another flow of the trial has this number");
        let mut nowhere = trial(&[1.0]);
        nowhere.flows[0].to = "h3/eth1".parse().unwrap();
        let error = scene(&topology, &SenderSplit::new(&nowhere)).receivers().unwrap_err();
        assert_eq!(error.to_string(), "order flow 1: there is no port `h3/eth1`");
        let closed = trial(&[1.0]);
        let error =
            scene(&topology, &SenderSplit::new(&closed)).senders(&BTreeMap::new()).unwrap_err();
        assert_eq!(error.to_string(), "order flow 1: its receiver opened no port");
    }
}
