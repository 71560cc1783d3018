//! A datagram flow as its two ends are told of it.
//!
//! Owns how many sequence numbers a flow may use, and which addresses a flow that varies them goes
//! round. Never names an address that the testbed does not.

use dataplane::datagram::{Addressee, Pace, Spread, Stations, Traffic};
use measure::Nanos;
use trial::topology::{AddressBlock, PortRef};
use trial::{Backend, Datagrams, Destination, Flow, IpVersion, Schedule};

use super::super::numbers::MARGIN;
use super::{Scene, gap_ns, refused};
use crate::failed::Failed;

/// From here on a receiver's processor is kept awake by the load itself.
const HEAVY_FPS: f64 = 200_000.0;
/// 2^33 sequence numbers take 1 GiB at the receiver.
const LARGEST_LIMIT: f64 = 8_589_934_592.0;

impl Scene<'_> {
    /// As the end at the port `own` is told of them.
    pub(super) fn traffic(
        &self,
        flow: &Flow,
        datagrams: &Datagrams,
        own: &PortRef,
    ) -> Result<Traffic, Failed> {
        let cpu = |host| self.processor(flow, host);
        Ok(Traffic {
            frames: datagrams.frames.clone(),
            vlan: datagrams.headers.vlan,
            spread: self.spread(flow, datagrams)?,
            pace: pace(flow, datagrams.schedule)?,
            backend: datagrams.backend,
            receiver: datagrams.receiver,
            burst_limit: datagrams.burst_limit,
            limit: self.limit(flow, datagrams)?,
            cpu: cpu(&own.host),
            // On the sender's own processor it would only stand in its way.
            relieves_sender: is_heavy(datagrams)
                && self.lanes.lane(flow.id).of == 1
                && cpu(&flow.to.host) != cpu(&flow.from.host),
            phase: self.phase(flow, datagrams.schedule),
            tells_apart: datagrams.conversations,
            receiver_ahead_ns: self.allowance(flow),
        })
    }

    /// Threads that share a paced load take turns.
    fn phase(&self, flow: &Flow, schedule: Schedule) -> Nanos {
        match schedule {
            Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => {
                gap_ns(flow, rate).map_or(Nanos::ZERO, |gap| self.lanes.lane(flow.id).phase(gap))
            }
            Schedule::Greedy | Schedule::Burst(_) => Nanos::ZERO,
        }
    }

    fn spread(&self, flow: &Flow, datagrams: &Datagrams) -> Result<Spread, Failed> {
        let headers = &datagrams.headers;
        let asked = headers.spread.addresses;
        let range = |port: &PortRef| match asked {
            0 | 1 => Ok(None),
            _ => self.block(flow, port, headers.version, asked).map(Some),
        };
        Ok(Spread {
            source_ports: headers.spread.source_ports.max(1),
            destination_ports: headers.spread.destination_ports.max(1),
            sources: range(&flow.from)?,
            destinations: range(&flow.to)?,
            addressee: self.addressee(flow, datagrams.destination),
        })
    }

    /// Stations' addresses are locally administered, and each receiving host's are its own. Those
    /// that never speak are others.
    fn addressee(&self, flow: &Flow, destination: Destination) -> Addressee {
        const BASE: u64 = 0x0257_0000_0000;
        const SILENT: u64 = 0x0257_8000_0000;
        match destination {
            Destination::Receiver => match self.macs.get(&flow.to) {
                Some(mac) => {
                    let number = |low: u64, octet: &u8| low << 8 | u64::from(*octet);
                    Addressee::Stated(mac.0.iter().fold(0, number))
                }
                None => Addressee::NextHop,
            },
            Destination::Broadcast => Addressee::Everybody,
            Destination::Stations { count, learn_rate, rounds } => {
                let host = self.topology.hosts.iter().position(|h| h.name == flow.to.host);
                let base = if rounds == 0 { SILENT } else { BASE };
                let first = base + ((host.unwrap_or(0) as u64) << 20);
                Addressee::Stations(Stations { first, count, learn_rate, rounds })
            }
        }
    }

    fn block(
        &self,
        flow: &Flow,
        port: &PortRef,
        version: IpVersion,
        asked: u16,
    ) -> Result<AddressBlock, Failed> {
        let blocks = self.topology.port(port).map(|p| p.blocks.as_slice()).unwrap_or_default();
        let v6 = version == IpVersion::V6;
        let block = blocks.iter().find(|block| block.first.is_ipv6() == v6);
        match block {
            Some(block) if block.count >= asked => Ok(AddressBlock { count: asked, ..*block }),
            other => {
                let had = other.map_or(0, |block| block.count);
                let why =
                    format!("{asked} {version} addresses behind port `{port}`, which has {had}");
                Err(refused(flow, why))
            }
        }
    }

    pub(super) fn limit(&self, flow: &Flow, datagrams: &Datagrams) -> Result<u64, Failed> {
        let load = self.lanes.trial().phases.load;
        let frames = match datagrams.schedule {
            Schedule::Greedy => self.numbers.for_flood(load),
            Schedule::Paced(rate) => rate.0 * load.as_secs_f64(),
            Schedule::Falling { from, to, .. } => from.0.max(to.0) * load.as_secs_f64(),
            Schedule::Burst(frames) => frames as f64,
        };
        frame_limit(frames).ok_or_else(|| {
            let frames = frames.ceil();
            refused(flow, format_args!("{frames:.0} frames are more than can be told apart"))
        })
    }
}

/// Whether the receiver's processor should take in what a virtual cable brings. XDP's live frames
/// come in bundles and gain nothing by it; they are what `auto` picks where a receiver can do this
/// at all.
fn is_heavy(datagrams: &Datagrams) -> bool {
    let fps = match datagrams.schedule {
        Schedule::Greedy | Schedule::Burst(_) => f64::INFINITY,
        Schedule::Paced(rate) => rate.0,
        Schedule::Falling { from, to, .. } => from.0.max(to.0),
    };
    fps >= HEAVY_FPS && !matches!(datagrams.backend, Backend::Auto | Backend::XdpLive)
}

/// Sequence numbers that a flow of so many frames can use; none where it is too large or no number.
fn frame_limit(frames: f64) -> Option<u64> {
    let frames = frames.ceil();
    (0.0..=LARGEST_LIMIT).contains(&frames).then_some(frames as u64 + MARGIN)
}

fn pace(flow: &Flow, schedule: Schedule) -> Result<Pace, Failed> {
    Ok(match schedule {
        Schedule::Greedy => Pace::Greedy,
        Schedule::Paced(rate) => Pace::Every(gap_ns(flow, rate)?),
        Schedule::Burst(frames) => Pace::Burst(frames),
        Schedule::Falling { from, to, after } => {
            Pace::Falling { from: gap_ns(flow, from)?, to: gap_ns(flow, to)?, after }
        }
    })
}
