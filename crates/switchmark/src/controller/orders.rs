//! A trial's flows as orders for the hosts' agents.
//!
//! Pure. Owns the translation from names to addresses, and which processor a datagram flow's sides
//! run on. Never knows how an agent is reached.

mod datagrams;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use dataplane::Identity;
use dataplane::bulk::{SinkSpec, SourceSpec};
use dataplane::echo::{self, EchoClientSpec, EchoServerSpec};
use dataplane::exchange::{ExchangeInitiatorSpec, ExchangeResponderSpec};
use measure::{FrameRate, Rate};
use trial::topology::{PortRef, Topology};
use trial::{Flow, FlowKind, IpVersion, Protocol, Schedule};

use super::clocks::Allowances;
use super::numbers::Numbers;
use super::sender_split::SenderSplit;
use crate::protocol::{
    ClientSpec, ReceiverOrder, SenderOrder, StorageServerSpec, WIRE_OCTETS, echo_bits, per_second,
};

/// A trial can't be carried out on this topology.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OrderError {
    /// A flow's end is not in the topology.
    #[error("order flow {flow}: there is no port `{port}`")]
    NoPort {
        /// The flow's number.
        flow: u16,
        /// Its end.
        port: PortRef,
    },
    /// The port has no address of the version asked for.
    #[error("order flow {flow}: port `{port}` has no {version} address")]
    NoAddress {
        /// The flow's number.
        flow: u16,
        /// Its end.
        port: PortRef,
        /// The version asked for.
        version: IpVersion,
    },
    /// Fewer addresses lead to the port than the flow is to vary.
    #[error("order flow {flow}: {asked} {version} addresses behind port `{port}`, which has {had}")]
    FewAddresses {
        /// The flow's number.
        flow: u16,
        /// Its end.
        port: PortRef,
        /// The version asked for.
        version: IpVersion,
        /// How many are asked for.
        asked: u16,
        /// How many there are.
        had: u16,
    },
    /// A server made for a trial copies nothing.
    #[error(
        "order flow {flow}: a server made for the trial has no replicas; a `sim:` testbed has, and so may a \
         storage that exists"
    )]
    Copies {
        /// The flow's number.
        flow: u16,
    },
    /// Two flows would be told apart by nothing.
    #[error("order flow {flow}: another flow of the trial has this number")]
    SameNumber {
        /// The number.
        flow: u16,
    },
    /// A rate that is none.
    #[error("order flow {flow}: {rate} frames a second is not a rate")]
    Rate {
        /// The flow's number.
        flow: u16,
        /// As asked.
        rate: f64,
    },
    /// Too many frames to account for each.
    #[error("order flow {flow}: {frames:.0} frames are more than can be told apart")]
    TooMany {
        /// The flow's number.
        flow: u16,
        /// As asked.
        frames: f64,
    },
    /// Requests go out closed loop or at one rate.
    #[error("order flow {flow}: an echo flow sends no bursts and keeps one rate")]
    NoEchoSchedule {
        /// The flow's number.
        flow: u16,
    },
    /// A receiver's port is unknown.
    #[error("order flow {flow}: its receiver opened no port")]
    NoReceiver {
        /// The flow's number.
        flow: u16,
    },
}

/// Everything that orders need beside the flow.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Where the trial runs.
    pub topology: &'a Topology,
    /// What is asked.
    pub lanes: &'a SenderSplit<'a>,
    /// How many frames floods may send.
    pub numbers: Numbers,
    /// What an interface may be asked to send, where there is a limit.
    pub rate: Option<Rate>,
    /// Drawn for this trial.
    pub token: u32,
    /// Processors to share out among the hosts' datagram sides, where all hosts are this machine;
    /// else empty, and the kernel decides.
    pub processors: Vec<usize>,
    /// What senders on one host add to their stamps for receivers on another; none where one clock
    /// is all's.
    pub allowances: Allowances,
}

/// Orders by host name.
pub type ByHost<T> = BTreeMap<String, Vec<T>>;

impl Scene<'_> {
    /// Nanoseconds.
    pub(super) fn allowance(&self, flow: &Flow) -> i64 {
        let hosts = (flow.from.host.clone(), flow.to.host.clone());
        self.allowances.get(&hosts).copied().unwrap_or(0)
    }

    /// What each host must open before anybody sends.
    pub fn receivers(&self) -> Result<ByHost<ReceiverOrder>, OrderError> {
        let mut orders = ByHost::new();
        let mut seen = Vec::new();
        for flow in &self.lanes.trial().flows {
            if seen.contains(&flow.id) {
                return Err(OrderError::SameNumber { flow: flow.id });
            }
            seen.push(flow.id);
            if let Some(order) = self.receiver(flow)? {
                orders.entry(flow.to.host.clone()).or_default().push(order);
            }
        }
        Ok(orders)
    }

    /// Who speaks to which of the opened `ports` (by flow number).
    pub fn senders(&self, ports: &BTreeMap<u16, u16>) -> Result<ByHost<SenderOrder>, OrderError> {
        let mut orders = ByHost::new();
        for flow in &self.lanes.trial().flows {
            let order = self.sender(flow, ports)?;
            orders.entry(flow.from.host.clone()).or_default().push(order);
        }
        Ok(orders)
    }

    /// `None` where the peer's kernel answers.
    fn receiver(&self, flow: &Flow) -> Result<Option<ReceiverOrder>, OrderError> {
        let local = self.address(flow, &flow.to)?;
        let peer = self.address(flow, &flow.from)?;
        let identity = self.identity(flow);
        Ok(Some(match &flow.kind {
            FlowKind::Echo(echo) if echo.protocol == Protocol::Icmp => return Ok(None),
            FlowKind::Echo(echo) => ReceiverOrder::EchoServer(EchoServerSpec {
                protocol: echo.protocol,
                local,
                peer,
                identity,
                frame_size: echo.frame_size,
                pace: self.asking(flow, echo)?,
                messages: echo.messages,
            }),
            FlowKind::Datagrams(datagrams) => {
                ReceiverOrder::Receiver(self.counting(flow, datagrams)?)
            }
            FlowKind::Bulk(bulk) => ReceiverOrder::Sink(SinkSpec {
                local,
                peer,
                identity,
                streams: bulk.streams,
                interval: bulk.interval,
            }),
            FlowKind::Exchange(exchange) => {
                ReceiverOrder::ExchangeResponder(ExchangeResponderSpec {
                    local,
                    peer,
                    identity,
                    exchange: exchange.clone(),
                })
            }
            FlowKind::Storage(storage) => {
                ReceiverOrder::StorageServer(keeper(flow, storage, (local, peer), identity)?)
            }
        }))
    }

    fn sender(&self, flow: &Flow, ports: &BTreeMap<u16, u16>) -> Result<SenderOrder, OrderError> {
        let local = self.address(flow, &flow.from)?;
        let peer = self.address(flow, &flow.to)?;
        let identity = self.identity(flow);
        let port = || ports.get(&flow.id).copied().ok_or(OrderError::NoReceiver { flow: flow.id });
        Ok(match &flow.kind {
            FlowKind::Echo(echo) => SenderOrder::EchoClient(EchoClientSpec {
                protocol: echo.protocol,
                local,
                remote: match echo.protocol {
                    Protocol::Icmp => SocketAddr::new(peer, 0),
                    Protocol::Udp | Protocol::Tcp => SocketAddr::new(peer, port()?),
                },
                identity,
                frame_size: echo.frame_size,
                pace: self.asking(flow, echo)?,
                messages: echo.messages,
            }),
            FlowKind::Datagrams(datagrams) => {
                SenderOrder::Sender(self.sending(flow, datagrams, port()?)?)
            }
            FlowKind::Bulk(bulk) => SenderOrder::Source(SourceSpec {
                local,
                remote: SocketAddr::new(peer, port()?),
                identity,
                streams: bulk.streams,
                congestion_control: bulk.congestion_control.clone(),
                interval: bulk.interval,
            }),
            FlowKind::Exchange(exchange) => SenderOrder::ExchangeInitiator(ExchangeInitiatorSpec {
                local,
                remote: SocketAddr::new(peer, port()?),
                identity,
                exchange: exchange.clone(),
            }),
            FlowKind::Storage(storage) => SenderOrder::Client(Box::new(ClientSpec {
                local,
                remote: SocketAddr::new(peer, port()?),
                identity,
                job: storage.clone(),
            })),
        })
    }

    fn identity(&self, flow: &Flow) -> Identity {
        Identity { token: self.token, flow: flow.id }
    }

    fn address(&self, flow: &Flow, port: &PortRef) -> Result<IpAddr, OrderError> {
        let missing = || OrderError::NoPort { flow: flow.id, port: port.clone() };
        let found = self.topology.port(port).ok_or_else(missing)?;
        let version = match &flow.kind {
            FlowKind::Datagrams(datagrams) => datagrams.headers.version,
            FlowKind::Echo(_)
            | FlowKind::Bulk(_)
            | FlowKind::Exchange(_)
            | FlowKind::Storage(_) => return Ok(found.address),
        };
        let address = match (version, found.address) {
            (IpVersion::V4, IpAddr::V4(_)) | (IpVersion::V6, IpAddr::V6(_)) => Some(found.address),
            (IpVersion::V6, IpAddr::V4(_)) => found.address6.map(IpAddr::V6),
            (IpVersion::V4, IpAddr::V6(_)) => None,
        };
        address.ok_or_else(|| OrderError::NoAddress { flow: flow.id, port: port.clone(), version })
    }

    /// A closed loop keeps to the limit, where there is one: to what other flows leave of it at
    /// either end, shared with the closed loops there.
    fn asking(&self, flow: &Flow, echo: &trial::Echo) -> Result<echo::Pace, OrderError> {
        let pace = asking(flow, echo.schedule)?;
        let (Some(limit), echo::Pace::Greedy) = (self.rate, pace) else { return Ok(pace) };
        let mut share = limit.bits_per_second();
        for port in [&flow.from, &flow.to] {
            let (mut paced, mut closed) = (0.0, 0.0);
            for other in &self.lanes.trial().flows {
                if ![&other.from, &other.to].contains(&port) {
                    continue;
                }
                match &other.kind {
                    FlowKind::Echo(echo) => match per_second(asking(other, echo.schedule)?) {
                        Some(often) => paced += often * wire_bits(echo),
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
        // Where others leave nothing the agents say so.
        Ok(echo::Pace::Within(wire_bits(echo) * 1e9 / share.max(1e-3)))
    }

    /// Neighbouring hosts, which talk to each other, get different processors, and so do the
    /// threads that share a load.
    fn processor(&self, flow: &Flow, host: &str) -> Option<usize> {
        let index = self.topology.hosts.iter().position(|h| h.name == host)?;
        let index = index + usize::from(self.lanes.lane(flow.id).number);
        let count = self.processors.len();
        (count > 0).then(|| self.processors[index % count])
    }
}

fn keeper(
    flow: &Flow,
    storage: &trial::Storage,
    (local, peer): (IpAddr, IpAddr),
    identity: Identity,
) -> Result<StorageServerSpec, OrderError> {
    if storage.server.is_some() && !storage.replicas.is_empty() {
        return Err(OrderError::Copies { flow: flow.id });
    }
    Ok(StorageServerSpec {
        local,
        peer,
        identity,
        server: storage.server,
        disk: storage.disk.clone(),
    })
}

fn wire_bits(echo: &trial::Echo) -> f64 {
    echo_bits(echo.protocol, echo.frame_size, echo.messages)
}

fn asking(flow: &Flow, schedule: Schedule) -> Result<echo::Pace, OrderError> {
    match schedule {
        Schedule::Greedy => Ok(echo::Pace::Greedy),
        Schedule::Paced(rate) => Ok(echo::Pace::Every(gap_ns(flow, rate)?)),
        Schedule::Burst(_) | Schedule::Falling { .. } => {
            Err(OrderError::NoEchoSchedule { flow: flow.id })
        }
    }
}

fn gap_ns(flow: &Flow, rate: FrameRate) -> Result<f64, OrderError> {
    if rate.0.is_finite() && rate.0 > 0.0 {
        Ok(1e9 / rate.0)
    } else {
        Err(OrderError::Rate { flow: flow.id, rate: rate.0 })
    }
}

#[cfg(test)]
mod tests {
    use dataplane::datagram;
    use measure::{ByteCount, FrameSize, Nanos};
    use trial::topology::{CableEnd, Host, HostPort};
    use trial::{Backend, Datagrams, Exchange, Gate, Role, Trial};

    use super::*;

    fn topology() -> Topology {
        let host = |name: &str, address: &str, far: &str| Host {
            name: name.into(),
            reach: "lab".into(),
            ports: vec![HostPort {
                name: "eth1".into(),
                interfaces: vec!["eth1".into()],
                address: address.parse().unwrap(),
                address6: None,
                blocks: Vec::new(),
                cable: CableEnd::Host(far.parse().unwrap()),
                rate: None,
            }],
        };
        let hosts = vec![host("h1", "198.18.0.1", "h2/eth1"), host("h2", "198.18.0.2", "h1/eth1")];
        Topology { name: "two".into(), hosts, devices: Vec::new() }
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
        let (processors, allowances) = (vec![2, 5], Allowances::new());
        let numbers = Numbers::default();
        Scene { topology, lanes, numbers, rate: None, token: 0xdead_beef, processors, allowances }
    }

    #[test]
    fn both_sides_agree_and_sit_on_different_processors() {
        let (topology, trial) = (topology(), trial(&[1000.0]));
        let lanes = SenderSplit::of(&trial);
        let scene = scene(&topology, &lanes);
        let receivers = scene.receivers().unwrap();
        let ReceiverOrder::Receiver(receiver) = &receivers["h2"][0] else { panic!() };
        let senders = scene.senders(&BTreeMap::from([(1, 4321)])).unwrap();
        let SenderOrder::Sender(sender) = &senders["h1"][0] else { panic!() };
        assert_eq!((receiver.local, receiver.peer), (sender.remote.ip(), sender.local));
        assert_eq!(sender.remote.port(), 4321);
        assert_eq!(receiver.identity, sender.identity);
        assert_eq!(receiver.limit, sender.limit);
        assert!(sender.limit >= 2000, "every frame of two seconds has a number");
        assert_eq!((sender.cpu, receiver.cpu), (Some(2), Some(5)));
        assert_eq!(sender.pace, datagram::Pace::Every(1e6));
    }

    #[test]
    fn an_exchange_has_two_ends_that_agree() {
        let topology = topology();
        let of = |carrier| {
            let mut trial = trial(&[1.0]);
            let (message, interval) = (ByteCount(65_536), Nanos::from_millis(100));
            trial.flows[0].kind = FlowKind::Exchange(Exchange { message, carrier, interval });
            trial
        };
        for carrier in [trial::Carrier::Tcp, trial::Carrier::Datagrams { credits: 8 }] {
            let trial = of(carrier);
            let lanes = SenderSplit::of(&trial);
            let scene = scene(&topology, &lanes);
            let receivers = scene.receivers().unwrap();
            let ReceiverOrder::ExchangeResponder(waiter) = &receivers["h2"][0] else { panic!() };
            let senders = scene.senders(&BTreeMap::from([(1, 4321)])).unwrap();
            let SenderOrder::ExchangeInitiator(caller) = &senders["h1"][0] else { panic!() };
            assert_eq!((waiter.local, waiter.peer), (caller.remote.ip(), caller.local));
            assert_eq!(waiter.exchange, caller.exchange);
            assert_eq!(caller.exchange.carrier, carrier);
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
            rwmixread: 50,
            bs: ByteCount(4096),
            numjobs: 1,
            iodepth: 1,
            replicas: Vec::new(),
            options: BTreeMap::new(),
            server: Some(trial::ServedMemory { size: ByteCount(1 << 20), read, write }),
            disk: None,
            allow_destroy: false,
        };
        trial.flows[0].kind = FlowKind::Storage(storage.clone());
        let lanes = SenderSplit::of(&trial);
        let ordered = scene(&topology, &lanes).receivers().unwrap();
        let ReceiverOrder::StorageServer(keeper) = &ordered["h2"][0] else { panic!("{ordered:?}") };
        let ordered = scene(&topology, &lanes).senders(&BTreeMap::from([(1, 4321)])).unwrap();
        let SenderOrder::Client(client) = &ordered["h1"][0] else { panic!("{ordered:?}") };
        assert_eq!((keeper.local, keeper.peer), (client.remote.ip(), client.local));
        assert_eq!((client.remote.port(), keeper.server), (4321, storage.server));
        let replicas = vec!["h2/eth1".parse().unwrap()];
        trial.flows[0].kind = FlowKind::Storage(trial::Storage { replicas, ..storage });
        let refused = scene(&topology, &SenderSplit::of(&trial)).receivers().unwrap_err();
        assert_eq!(refused, OrderError::Copies { flow: 1 });
    }

    #[test]
    fn what_can_not_be_ordered_is_refused() {
        let topology = topology();
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let trial = trial(&[rate]);
            let lanes = SenderSplit::of(&trial);
            let scene = scene(&topology, &lanes);
            let either = scene.receivers().err().or(scene.senders(&BTreeMap::from([(1, 1)])).err());
            let refused =
                matches!(either, Some(OrderError::Rate { .. } | OrderError::TooMany { .. }));
            assert!(refused, "{rate}: {either:?}");
        }
        let mut twice = trial(&[1.0, 1.0]);
        twice.flows[1].id = 1;
        assert_eq!(
            scene(&topology, &SenderSplit::of(&twice)).receivers(),
            Err(OrderError::SameNumber { flow: 1 })
        );
        let mut nowhere = trial(&[1.0]);
        nowhere.flows[0].to = "h3/eth1".parse().unwrap();
        let error = scene(&topology, &SenderSplit::of(&nowhere)).receivers().unwrap_err();
        assert_eq!(error.to_string(), "order flow 1: there is no port `h3/eth1`");
        let closed = trial(&[1.0]);
        let error =
            scene(&topology, &SenderSplit::of(&closed)).senders(&BTreeMap::new()).unwrap_err();
        assert_eq!(error, OrderError::NoReceiver { flow: 1 });
    }
}
