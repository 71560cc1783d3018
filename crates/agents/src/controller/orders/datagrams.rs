//! A datagram flow in the orders for its two ends.
//!
//! Owns the number of sequence numbers of a flow, and the addresses that a flow with varying
//! addresses cycles through. Never uses an address outside the testbed.

use dataplane::datagram::Traffic;
use measure::Nanos;
use trial::topology::{AddressBlock, PortRef};
use trial::{Backend, Datagrams, Destination, Flow, IpVersion, Schedule};

use super::super::clocks::allowance;
use super::super::numbers::MARGIN;
use super::{Scene, check_schedule, refused};
use crate::failed::Failed;

/// Rate from which the load itself keeps a receiver's processor awake.
const HEAVY_FPS: f64 = 200_000.0;
/// Maximum number of frames: 2^33 sequence numbers take 1 GiB at the receiver.
const LARGEST_LIMIT: f64 = 8_589_934_592.0;

impl Scene<'_> {
    /// Builds the flow's parameters for the end at the port `own`.
    pub(super) fn traffic(
        &self,
        flow: &Flow,
        datagrams: &Datagrams,
        own: &PortRef,
    ) -> Result<Traffic, Failed> {
        check_schedule(flow, datagrams.schedule)?;
        let cpu = |host| self.processor(flow, host);
        let mut asked = datagrams.clone();
        if self.topology.port(own).is_some_and(|port| port.address.is_ipv6()) {
            asked.headers.version = IpVersion::V6;
        }
        let headers = asked.headers;
        let range = |port: &PortRef| match headers.spread.addresses {
            0 | 1 => Ok(None),
            asked => self.block(flow, port, headers.version, asked).map(Some),
        };
        let ports = &mut asked.headers.spread;
        ports.source_ports = ports.source_ports.max(1);
        ports.destination_ports = ports.destination_ports.max(1);
        Ok(Traffic {
            sources: range(&flow.from)?,
            destinations: range(&flow.to)?,
            mac: self.mac(flow, datagrams.destination),
            cpu: cpu(&own.host),
            // On the sender's own processor it would only disturb the sender.
            relieves_sender: is_heavy(datagrams)
                && self.lanes.lane(flow.id).of == 1
                && cpu(&flow.to.host) != cpu(&flow.from.host),
            phase: self.phase(flow, datagrams.schedule),
            receiver_ahead_ns: allowance(self.allowances, flow),
            ..Traffic::new(asked, self.limit(flow, datagrams)?)
        })
    }

    /// Offset of a sender's schedule: threads that divide a paced load take turns.
    fn phase(&self, flow: &Flow, schedule: Schedule) -> Nanos {
        match schedule {
            Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => {
                self.lanes.lane(flow.id).phase(1e9 / rate.0)
            }
            Schedule::Greedy | Schedule::Burst(_) => Nanos::ZERO,
        }
    }

    /// Destination MAC address: the receiver's stated one, or the first station's. Stations'
    /// addresses are locally administered, and each receiving host has its own. Stations that never
    /// send have others.
    fn mac(&self, flow: &Flow, destination: Destination) -> Option<u64> {
        const BASE: u64 = 0x0257_0000_0000;
        const SILENT: u64 = 0x0257_8000_0000;
        match destination {
            Destination::Receiver => self
                .standing
                .macs
                .get(&flow.to)
                .map(|mac| mac.0.iter().fold(0, |low: u64, octet| low << 8 | u64::from(*octet))),
            Destination::Broadcast => None,
            Destination::Stations { rounds, .. } => {
                let host = self.topology.hosts.iter().position(|h| h.name == flow.to.host);
                let base = if rounds == 0 { SILENT } else { BASE };
                Some(base + ((host.unwrap_or(0) as u64) << 20))
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
            Schedule::Greedy => self.standing.numbers.for_flood(load),
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

/// True if the receiver's processor should process the frames that arrive over a virtual cable.
/// XDP's live frames come in batches and gain nothing by it; `auto` picks them if a receiver
/// supports this at all.
fn is_heavy(datagrams: &Datagrams) -> bool {
    let fps = match datagrams.schedule {
        Schedule::Greedy | Schedule::Burst(_) => f64::INFINITY,
        Schedule::Paced(rate) => rate.0,
        Schedule::Falling { from, to, .. } => from.0.max(to.0),
    };
    fps >= HEAVY_FPS && !matches!(datagrams.backend, Backend::Auto | Backend::XdpLive)
}

/// Sequence numbers for this many frames; `None` if too large or not a number.
fn frame_limit(frames: f64) -> Option<u64> {
    let frames = frames.ceil();
    (0.0..=LARGEST_LIMIT).contains(&frames).then_some(frames as u64 + MARGIN)
}
