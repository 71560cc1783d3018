//! Checks of a testbed before any measurement: facts that affect it, and the cables.
//!
//! Owns the requests. Never judges, and changes only what it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use measure::Nanos;
use measure::units::FRAMING_OCTETS;
use trial::topology::{Host, PortRef};

use super::launching::useless;
use super::testbed::LiveTestbed;
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, Examination, PortProbe, ProbeFrame, ProbeReply, Setting};

/// Time-out for examining a host, which takes about a second.
const LOOKING: Duration = Duration::from_secs(20);
/// Time to wait for frames, which a switch may hold for a while.
const ARRIVING: Nanos = Nanos::from_millis(100);

/// Ports at which frames out of one port were received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Sending port.
    pub port: PortRef,
    /// Ports that received a frame of 64 octets.
    pub small: Vec<PortRef>,
    /// Ports that received the longest frame of the sending port.
    pub full: Vec<PortRef>,
    /// Ports that received a frame that switches do not forward.
    pub far_end: Vec<PortRef>,
    /// Octets of the longest frame, with its FCS.
    pub full_size: u32,
    /// MAC addresses of other owners of the port's address.
    pub owners: Vec<String>,
    /// Reason why a frame could not be sent; `None` if all were sent.
    pub failed: Option<String>,
}

impl LiveTestbed {
    /// Gathers the facts of each host that affect a measurement; other programs' processor use is
    /// measured for `watched`.
    pub fn examine(&mut self, watched: Nanos) -> Result<BTreeMap<String, Examination>, Failed> {
        let ask = |host: &Host| {
            (host.name.clone(), Ask::Examine { interfaces: host.interfaces(), watched })
        };
        let asks: Vec<_> = self.topology.agents().map(ask).collect();
        self.ask_hosts(asks, Answer::examined)
    }

    /// Changes settings of a host until its agent ends.
    pub fn change(&mut self, host: &str, settings: Vec<Setting>) -> Result<(), Failed> {
        let changed = self.pool.ask(host, Ask::Change { settings }, LOOKING, Answer::done);
        changed.map_err(|cause| useless(host, cause))
    }

    fn ask_hosts<T>(
        &mut self,
        asks: impl IntoIterator<Item = (String, Ask)>,
        read: impl Fn(Answer) -> Option<T>,
    ) -> Result<BTreeMap<String, T>, Failed> {
        self.pool.ask_all(asks, LOOKING, read).map_err(|cause| useless("every host", cause))
    }

    /// Sends frames out of every cabled test port at once, and collects the ports at which they
    /// arrive. `mtu` is each port's; `mark` identifies our own frames.
    pub fn prove_cables(
        &mut self,
        is_cabled: &dyn Fn(&PortRef) -> bool,
        mtu: &dyn Fn(&PortRef) -> u32,
        mark: u32,
    ) -> Result<Vec<Proof>, Failed> {
        let ports: Vec<Port> = self
            .topology
            .agents()
            .flat_map(|host| host.ports.iter().map(|port| (host.name.clone(), port)))
            .filter_map(|(host, port)| {
                let (name, interface) = (port.name.clone(), port.interfaces.first()?.clone());
                let address = match port.address {
                    IpAddr::V4(v4) if !v4.is_unspecified() => Some(v4),
                    _ => None,
                };
                Some(Port { at: PortRef { host, port: name }, interface, address })
            })
            .filter(|port| is_cabled(&port.at))
            .collect();
        self.listen(&ports, mark)?;
        let replies = self.probe(&ports, mtu, mark)?;
        self.pool.stop().rest(ARRIVING).map_err(|cause| useless("every host", cause))?;
        let heard = self.collect_frames(&ports)?;
        let proof = |(number, (port, reply)): (usize, (&Port, ProbeReply))| {
            let arrived = |frame: Frame| {
                let there =
                    heard.iter().filter(|(_, frames)| frames.contains(&frame.number(number)));
                there.map(|(at, _)| at.clone()).collect::<Vec<_>>()
            };
            Proof {
                port: port.at.clone(),
                small: arrived(Frame::Small),
                full: arrived(Frame::Full),
                far_end: arrived(Frame::FarEnd),
                full_size: mtu(&port.at) + FRAMING_OCTETS,
                owners: reply.owners,
                failed: reply.failed,
            }
        };
        Ok(ports.iter().zip(replies).enumerate().map(proof).collect())
    }

    fn listen(&mut self, ports: &[Port], mark: u32) -> Result<(), Failed> {
        let mut by_host: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for port in ports {
            by_host.entry(port.at.host.clone()).or_default().push(port.interface.clone());
        }
        let asks =
            by_host.into_iter().map(|(host, interfaces)| (host, Ask::Listen { interfaces, mark }));
        self.ask_hosts(asks, Answer::done).map(drop)
    }

    /// Sends the frames; returns one reply per port, in their order.
    fn probe(
        &mut self,
        ports: &[Port],
        mtu: &dyn Fn(&PortRef) -> u32,
        mark: u32,
    ) -> Result<Vec<ProbeReply>, Failed> {
        let of = |place: usize, port: &Port| {
            let sizes = [
                (Frame::Small, 64),
                (Frame::FarEnd, 64),
                (Frame::Full, mtu(&port.at) + FRAMING_OCTETS),
            ];
            let frame = |(frame, size): (Frame, u32)| ProbeFrame {
                number: frame.number(place),
                size,
                far_end_only: frame == Frame::FarEnd,
            };
            let (interface, address) = (port.interface.clone(), port.address);
            PortProbe { interface, frames: sizes.map(frame).to_vec(), address }
        };
        let mut by_host: BTreeMap<String, Vec<PortProbe>> = BTreeMap::new();
        for (place, port) in ports.iter().enumerate() {
            by_host.entry(port.at.host.clone()).or_default().push(of(place, port));
        }
        let asks = by_host.into_iter().map(|(host, ports)| (host, Ask::CableProbe { mark, ports }));
        let mut replies = self.ask_hosts(asks, |answer| match answer {
            Answer::CableProbed { replies } => Some(replies.into_iter()),
            _ => None,
        })?;
        let next = |port: &Port| replies.get_mut(&port.at.host)?.next();
        Ok(ports.iter().map(next).map(Option::unwrap_or_default).collect())
    }

    /// Collects the frames that each port received.
    fn collect_frames(&mut self, ports: &[Port]) -> Result<Vec<(PortRef, BTreeSet<u16>)>, Failed> {
        let asks: Vec<_> =
            self.topology.agents().map(|host| (host.name.clone(), Ask::Heard)).collect();
        let mut heard = self.ask_hosts(asks, |answer| match answer {
            Answer::Heard { frames } => Some(frames),
            _ => None,
        })?;
        let at = |port: &Port| {
            Some((port.at.clone(), heard.get_mut(&port.at.host)?.remove(&port.interface)?))
        };
        Ok(ports.iter().filter_map(at).collect())
    }
}

/// A port whose cable is to be found.
struct Port {
    at: PortRef,
    interface: String,
    address: Option<Ipv4Addr>,
}

/// Kinds of frames that each port sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Small,
    Full,
    FarEnd,
}

impl Frame {
    /// Number of the frame, unique within a check; each port uses three of the 65,536 numbers.
    const fn number(self, port: usize) -> u16 {
        (port * 3 + self as usize) as u16
    }
}
