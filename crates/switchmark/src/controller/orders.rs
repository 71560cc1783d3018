//! A trial's flows as orders for the hosts' agents.
//!
//! Pure. Owns the translation from names to addresses, and which processor a datagram flow's sides
//! run on. Never knows how an agent is reached.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use dataplane::bulk::{SinkSpec, SourceSpec};
use dataplane::datagram::{ReceiverSpec, SenderBackend, SenderSpec};
use dataplane::echo::{AskerSpec, Carrier, ReflectorSpec};
use dataplane::{Identity, Pace};
use measure::Nanos;
use method::topology::{PortRef, Topology};
use method::trial::{Backend, Datagrams, Flow, FlowKind, Protocol, Schedule, Trial};

use crate::protocol::{ReceiverOrder, SenderOrder};

/// No backend here sends more: a greedy flow's receiver takes a bit of memory for so many a second.
const GREEDY_CEILING_FPS: f64 = 4e6;
/// Room above what a schedule comes to: its last batch, and rounding.
const LIMIT_MARGIN: u64 = 1024;
/// 2^33 sequence numbers take 1 GiB at the receiver.
const LARGEST_LIMIT: f64 = 8_589_934_592.0;

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
    pub trial: &'a Trial,
    /// Drawn for this trial.
    pub token: u32,
    /// Processors to share out among the hosts' datagram sides, where all hosts are this machine;
    /// else empty, and the kernel decides.
    pub processors: Vec<usize>,
}

/// Orders by host name.
pub type ByHost<T> = BTreeMap<String, Vec<T>>;

impl Scene<'_> {
    /// What each host must open before anybody sends.
    pub fn receivers(&self) -> Result<ByHost<ReceiverOrder>, OrderError> {
        let mut orders = ByHost::new();
        let mut seen = Vec::new();
        for flow in &self.trial.flows {
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
        for flow in &self.trial.flows {
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
            FlowKind::Echo(echo) => ReceiverOrder::Reflector(ReflectorSpec {
                protocol: carrier(echo.protocol),
                local,
                peer,
                identity,
                frame_size: echo.frame_size,
            }),
            FlowKind::Datagrams(datagrams) => ReceiverOrder::Receiver(ReceiverSpec {
                local,
                peer,
                identity,
                frame_size: datagrams.frame_size,
                limit: self.limit(flow, datagrams)?,
                cpu: self.processor(&flow.to.host),
            }),
            FlowKind::Bulk(bulk) => ReceiverOrder::Sink(SinkSpec {
                local,
                peer,
                identity,
                streams: bulk.streams,
                interval: bulk.interval,
            }),
        }))
    }

    fn sender(&self, flow: &Flow, ports: &BTreeMap<u16, u16>) -> Result<SenderOrder, OrderError> {
        let local = self.address(flow, &flow.from)?;
        let peer = self.address(flow, &flow.to)?;
        let identity = self.identity(flow);
        let port = || ports.get(&flow.id).copied().ok_or(OrderError::NoReceiver { flow: flow.id });
        Ok(match &flow.kind {
            FlowKind::Echo(echo) => SenderOrder::Asker(AskerSpec {
                carrier: carrier(echo.protocol),
                local,
                remote: match echo.protocol {
                    Protocol::Icmp => SocketAddr::new(peer, 0),
                    Protocol::Udp | Protocol::Tcp => SocketAddr::new(peer, port()?),
                },
                identity,
                frame_size: echo.frame_size,
                pace: pace(flow, echo.schedule)?,
            }),
            FlowKind::Datagrams(datagrams) => SenderOrder::Sender(SenderSpec {
                local,
                remote: SocketAddr::new(peer, port()?),
                identity,
                frame_size: datagrams.frame_size,
                pace: pace(flow, datagrams.schedule)?,
                backend: backend(datagrams.backend),
                burst_limit: datagrams.burst_limit,
                limit: self.limit(flow, datagrams)?,
                cpu: self.processor(&flow.from.host),
            }),
            FlowKind::Bulk(bulk) => SenderOrder::Source(SourceSpec {
                local,
                remote: SocketAddr::new(peer, port()?),
                identity,
                streams: bulk.streams,
                congestion_control: bulk.congestion_control.clone(),
                interval: bulk.interval,
            }),
        })
    }

    fn identity(&self, flow: &Flow) -> Identity {
        Identity { token: self.token, flow: flow.id }
    }

    fn address(&self, flow: &Flow, port: &PortRef) -> Result<IpAddr, OrderError> {
        let found = self.topology.port(port).map(|p| p.address);
        found.ok_or_else(|| OrderError::NoPort { flow: flow.id, port: port.clone() })
    }

    /// Neighbouring hosts, which talk to each other, get different processors.
    fn processor(&self, host: &str) -> Option<usize> {
        let index = self.topology.hosts.iter().position(|h| h.name == host)?;
        let count = self.processors.len();
        (count > 0).then(|| self.processors[index % count])
    }

    fn limit(&self, flow: &Flow, datagrams: &Datagrams) -> Result<u64, OrderError> {
        let rate = match datagrams.schedule {
            Schedule::Greedy => GREEDY_CEILING_FPS,
            Schedule::Paced(rate) => rate.0,
        };
        frame_limit(rate, self.trial.phases.load)
            .map_err(|frames| OrderError::TooMany { flow: flow.id, frames })
    }
}

/// Sequence numbers that a flow of this rate and length can use; the count itself where it is too
/// large or no number.
fn frame_limit(rate_fps: f64, load: Nanos) -> Result<u64, f64> {
    let frames = (rate_fps * load.as_secs_f64()).ceil();
    if frames.is_finite() && (0.0..=LARGEST_LIMIT).contains(&frames) {
        Ok(frames as u64 + LIMIT_MARGIN)
    } else {
        Err(frames)
    }
}

fn pace(flow: &Flow, schedule: Schedule) -> Result<Pace, OrderError> {
    match schedule {
        Schedule::Greedy => Ok(Pace::Greedy),
        Schedule::Paced(rate) if rate.0.is_finite() && rate.0 > 0.0 => {
            Ok(Pace::Every(1e9 / rate.0))
        }
        Schedule::Paced(rate) => Err(OrderError::Rate { flow: flow.id, rate: rate.0 }),
    }
}

const fn carrier(protocol: Protocol) -> Carrier {
    match protocol {
        Protocol::Icmp => Carrier::Icmp,
        Protocol::Udp => Carrier::Udp,
        Protocol::Tcp => Carrier::Tcp,
    }
}

const fn backend(backend: Backend) -> SenderBackend {
    match backend {
        Backend::Auto => SenderBackend::Auto,
        Backend::Udp => SenderBackend::Udp,
        Backend::Packet => SenderBackend::Packet,
    }
}
