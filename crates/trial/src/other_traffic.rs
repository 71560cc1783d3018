//! Foreign traffic: frames at the tester's ports that do not belong to the trial.
//!
//! Pure: takes a trial and its counts, returns frame rates. Never says whose frames they are, nor
//! how far they affect a result. Frames that it cannot count are taken for the trial's own, so
//! foreign traffic is underestimated, never overestimated.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Add, AddAssign, Sub};

use measure::{FrameRate, FrameSize};

use crate::counters::{
    HOST_LOSS, RX_BYTES, RX_DROPPED, RX_OTHERHOST, RX_PACKETS, SOFTNET_DROPPED, TX_BYTES,
    TX_PACKETS,
};
use crate::record::{FlowRecord, HostUsage, PortCounters, Side};
use crate::topology::PortRef;
use crate::{Destination, Flow, FlowKind, Offloads, Protocol, Role, Trial};

/// Least share of a port's own frames or octets that counts as foreign traffic.
pub const SHARE: f64 = 0.02;

/// Frames per trial that any port sees from its neighbours and sends to them: ARP, IPv6 neighbour
/// discovery, LLDP, spanning tree, a controller's heartbeat.
const BACKGROUND: f64 = 20.0;

/// Background frames per second, in addition to [`BACKGROUND`].
const BACKGROUND_FPS: f64 = 20.0;

/// Loopback interface: all programs of a machine use it, and one counter counts both ends of a
/// flow.
const LOOPBACK: &str = "lo";

/// Octets of the FCS. Kernel counters leave it out; those of some drivers do not.
const FCS: f64 = 4.0;

/// Delay between the end of counting at a receiver and the reading of the port's counters, in
/// seconds.
const READ_LATE_SECONDS: f64 = 0.005;

/// Mean frame size in octets up to which a card is not taken to segment frames.
const LARGER_THAN_ETHERNETS: f64 = 1_600.0;

/// Ratio of mean sizes, sent over received, up to which a card is not taken to segment frames.
const CUT_UP: f64 = 1.5;

/// Octets of MAC, IPv6 and TCP headers with timestamps, added per frame when a card segments a
/// large one.
const HEADERS: f64 = 14.0 + 40.0 + 20.0 + 12.0;

/// Foreign traffic at a port.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherTraffic {
    /// Port: `h2/eth1`.
    pub place: String,
    /// Frames per second in the busier direction.
    pub rate: FrameRate,
}

/// Returns foreign traffic at the ports of measured flows, with its rate. A port is listed if the
/// traffic exceeds [`SHARE`] of its own frames or octets, and the usual background.
///
/// Datagram flows and round trips without TCP are counted exactly. TCP traffic (segments,
/// acknowledgements) is bounded by what the other end's port sent. A port in a TCP flow is
/// therefore judged by received frames only, and losses in the device hide as many foreign frames.
/// Frames that a device floods for want of an address count as the trial's if another of its flows
/// crosses the device. With segmentation offloads as found, a port of a TCP flow is judged by
/// octets alone: a device may split what the sender counted as one frame. A device port that
/// replaces a receiver is judged by the frames that left it at rest.
///
/// Left out are ports whose storage is not the testbed's own, ports without counters, and the
/// loopback.
pub fn other_traffic(
    trial: &Trial,
    flows: &[FlowRecord],
    ports: &[PortCounters],
    hosts: &[HostUsage],
) -> Vec<OtherTraffic> {
    let books = Books::new(trial, flows, ports, hosts);
    let measured = trial.flows.iter().filter(|flow| flow.role == Role::Measured);
    let of_measured: BTreeSet<&PortRef> =
        measured.flat_map(|flow| [&flow.from, &flow.to]).collect();
    let told_apart = of_measured.into_iter().filter(|port| port.port != LOOPBACK);
    told_apart.filter_map(|port| books.others_at(port)).chain(books.others_at_devices()).collect()
}

/// Frames and their octets, without FCS.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Amount {
    frames: f64,
    octets: f64,
}

impl Amount {
    fn new(frames: u64, octets_each: f64) -> Self {
        Self { frames: frames as f64, octets: frames as f64 * octets_each }
    }

    /// Replaces negative counts by zero.
    const fn at_least_nothing(self) -> Self {
        Self { frames: self.frames.max(0.0), octets: self.octets.max(0.0) }
    }
}

impl Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { frames: self.frames + other.frames, octets: self.octets + other.octets }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Amount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { frames: self.frames - other.frames, octets: self.octets - other.octets }
    }
}

/// Frames that an exactly countable flow added at its two ends.
struct Counted {
    /// Frames sent and received at `from`.
    from: (Amount, Amount),
    /// Frames sent and received at `to`.
    to: (Amount, Amount),
}

struct Books<'a> {
    trial: &'a Trial,
    flows: &'a [FlowRecord],
    ports: &'a [PortCounters],
    hosts: &'a [HostUsage],
    /// Indices of the flows with an end at each port. A mesh of n ports has about n² flows, so each
    /// port visits only its own.
    at: BTreeMap<&'a PortRef, Vec<usize>>,
    /// Indices of the flows whose frames reach every port.
    everywhere: Vec<usize>,
}

impl<'a> Books<'a> {
    fn new(
        trial: &'a Trial,
        flows: &'a [FlowRecord],
        ports: &'a [PortCounters],
        hosts: &'a [HostUsage],
    ) -> Self {
        let (mut at, mut everywhere) = (BTreeMap::<_, Vec<usize>>::new(), Vec::new());
        for (place, (flow, record)) in trial.flows.iter().zip(flows).enumerate() {
            let ends: BTreeSet<&PortRef> =
                [&flow.from, &flow.to].into_iter().chain(replicas(flow)).collect();
            for end in ends {
                at.entry(end).or_default().push(place);
            }
            if to_everybody(flow, record) != Amount::default() {
                everywhere.push(place);
            }
        }
        Self { trial, flows, ports, hosts, at, everywhere }
    }
}

impl Books<'_> {
    fn others_at(&self, port: &PortRef) -> Option<OtherTraffic> {
        let counters = self.counters(port)?;
        let own_in = self.own_in(port)?;
        let own_out = self.own_out(port);
        let received =
            Amount { frames: read(counters, RX_PACKETS)?, octets: octets(counters, RX_BYTES) };
        let sent =
            Amount { frames: read(counters, TX_PACKETS)?, octets: octets(counters, TX_BYTES) };
        let busier = |a: f64, b: f64| a.max(b);
        let out = own_out.unwrap_or_default();
        let own = Amount {
            frames: busier(own_in.frames, out.frames),
            octets: busier(own_in.octets, out.octets),
        };
        let came = (received - own_in).at_least_nothing();
        let left = own_out.map(|own| (sent - own).at_least_nothing()).unwrap_or_default();
        let cut_up = own_out.is_none() && self.trial.offloads == Offloads::AsFound;
        let notable = |others: Amount, all: Amount| {
            let headers = if cut_up { HEADERS * others.frames } else { 0.0 };
            let octets = others.octets - FCS * all.frames - headers;
            let frames = others.frames > SHARE * own.frames && !cut_up;
            others.frames > BACKGROUND + BACKGROUND_FPS * self.seconds()
                && (frames || octets > SHARE * own.octets)
        };
        if !notable(came, received) && !notable(left, sent) {
            return None;
        }
        let rate = FrameRate(came.frames.max(left.frames) / self.seconds());
        Some(OtherTraffic { place: port.to_string(), rate })
    }

    /// Returns foreign traffic at device ports that replace a receiver, by their movement at rest.
    fn others_at_devices(&self) -> impl Iterator<Item = OtherTraffic> {
        let counted = self.flows.iter().filter_map(|record| match record {
            FlowRecord::Datagrams(seen) => Some((seen.sent as f64, seen.at_device.as_ref()?)),
            _ => None,
        });
        counted.filter_map(|(sent, count)| {
            let others = count.others as f64;
            let spoken = BACKGROUND + BACKGROUND_FPS * self.seconds();
            (others > spoken && others > SHARE * sent).then(|| OtherTraffic {
                place: count.port.clone(),
                rate: FrameRate(others / self.seconds()),
            })
        })
    }

    /// Time that the port's counters cover, in seconds.
    fn seconds(&self) -> f64 {
        let phases = &self.trial.phases;
        (phases.load + phases.residual).as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn counters(&self, port: &PortRef) -> Option<&PortCounters> {
        let place = port.to_string();
        self.ports.iter().find(|p| p.side == Side::Tester && p.place == place)
    }

    fn recorded(&self, place: usize) -> (&Flow, &FlowRecord) {
        (&self.trial.flows[place], &self.flows[place])
    }

    /// Indices of the flows with an end at the port, in order.
    fn places_at(&self, port: &PortRef) -> &[usize] {
        self.at.get(port).map_or(&[], Vec::as_slice)
    }

    /// Flows with an end at the port.
    fn at(&self, port: &PortRef) -> impl Iterator<Item = (&Flow, &FlowRecord)> {
        self.places_at(port).iter().map(|place| self.recorded(*place))
    }

    /// Upper bound of the frames that the trial's own flows brought to the port; `None` if unknown.
    fn own_in(&self, port: &PortRef) -> Option<Amount> {
        let counters = self.counters(port)?;
        let mut own = Amount::default();
        let mut uncounted = BTreeSet::new();
        let here = self.places_at(port);
        let elsewhere = here.len() < self.trial.flows.len().min(self.flows.len());
        let heard: BTreeSet<usize> = here.iter().chain(&self.everywhere).copied().collect();
        for (flow, record) in heard.into_iter().map(|place| self.recorded(place)) {
            // The storage server copies writes to each replica, and the replica answers.
            if replicas(flow).contains(port) {
                uncounted.insert(&flow.to);
                continue;
            } else if flow.to == *port {
                uncounted.extend(replicas(flow));
            }
            let (here, other) = match (flow.from == *port, flow.to == *port) {
                (true, _) => (true, &flow.to),
                (_, true) => (false, &flow.from),
                _ => {
                    own += to_everybody(flow, record);
                    continue;
                }
            };
            match counted(flow, record, self.trial) {
                Some(counted) => own += if here { counted.from.1 } else { counted.to.1 },
                None if is_of_others(flow) => return None,
                None => drop(uncounted.insert(other)),
            }
        }
        for other in uncounted {
            own += self.uncounted_out(other, counters)?;
        }
        if elsewhere {
            own.frames += read(counters, RX_OTHERHOST)?;
            own.octets = f64::INFINITY;
        }
        own.frames += self.dropped(port, counters);
        Some(own)
    }

    /// Frames that the trial's own flows sent out of the port; `None` if one of them cannot be
    /// counted.
    fn own_out(&self, port: &PortRef) -> Option<Amount> {
        let mut own = Amount::default();
        for (flow, record) in self.at(port) {
            if replicas(flow).contains(port) {
                return None;
            } else if flow.from == *port {
                own += counted(flow, record, self.trial)?.from.0;
            } else if flow.to == *port {
                own += counted(flow, record, self.trial)?.to.0;
            }
        }
        Some(own)
    }

    /// Frames sent from a port towards `receiving` beyond the countable flows: an upper bound for
    /// TCP. `None` if the port's counter misses frames, as under some drivers' XDP, or if the card
    /// segments large frames.
    fn uncounted_out(&self, port: &PortRef, receiving: &PortCounters) -> Option<Amount> {
        let counters = self.counters(port)?;
        let mut counted_out = Amount::default();
        for (flow, record) in self.at(port) {
            let Some(counted) = counted(flow, record, self.trial) else { continue };
            if flow.from == *port {
                counted_out += counted.from.0;
            } else if flow.to == *port {
                counted_out += counted.to.0;
            }
        }
        let all =
            Amount { frames: read(counters, TX_PACKETS)?, octets: octets(counters, TX_BYTES) };
        let received = (read(receiving, RX_PACKETS)?, octets(receiving, RX_BYTES));
        let (sent_mean, received_mean) =
            (all.octets / all.frames.max(1.0), received.1 / received.0.max(1.0));
        let cut_up = sent_mean > LARGER_THAN_ETHERNETS && sent_mean > CUT_UP * received_mean;
        let sees_all = all.frames >= (1.0 - SHARE) * counted_out.frames;
        (sees_all && !cut_up).then(|| (all - counted_out).at_least_nothing())
    }

    /// Frames that the port counted and the tester dropped afterwards.
    fn dropped(&self, port: &PortRef, counters: &PortCounters) -> f64 {
        let host = self.hosts.iter().find(|host| host.host == port.host);
        let of_host = |name: &str| host.and_then(|host| host.usage.counters.get(name)).copied();
        let behind = HOST_LOSS.iter().chain([&SOFTNET_DROPPED]);
        let behind: u64 = behind.filter_map(|name| of_host(name)).sum();
        read(counters, RX_DROPPED).unwrap_or(0.0) + behind as f64
    }
}

/// Frames of a flow at each end; `None` if they cannot be counted one by one.
fn counted(flow: &Flow, record: &FlowRecord, trial: &Trial) -> Option<Counted> {
    match (&flow.kind, record) {
        (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) => {
            let each = asked.frames.mean_octets() - FCS;
            let came = &seen.received;
            let seconds = trial.phases.load.as_secs_f64().max(f64::MIN_POSITIVE);
            let late = came.unique as f64 / seconds * READ_LATE_SECONDS;
            let late = late.min(came.lost(seen.sent) as f64) as u64;
            let arrived = came.unique + came.duplicated + came.beyond_limit + seen.socket_drops;
            let (sent, arrived) = (Amount::new(seen.sent, each), Amount::new(arrived + late, each));
            let spoke = asked.destination.announcements();
            let spoken = Amount::new(spoke, f64::from(FrameSize::MIN.octets()) - FCS);
            let nothing = Amount::default();
            // A device that forwards more slowly than stations send still delivers their frames
            // during the load.
            Some(Counted { from: (sent, spoken), to: (nothing, arrived) })
        }
        (FlowKind::Echo(asked), FlowRecord::Echo(seen)) if asked.protocol != Protocol::Tcp => {
            let each = f64::from(seen.frame_size.octets()) - FCS;
            let again = seen.answers.duplicated;
            let sent = Amount::new(seen.sent, each);
            let came_back = Amount::new(seen.answers.unique + again, each);
            // A request without an answer may have been lost in either direction.
            let most = Amount::new(seen.sent + again, each);
            Some(Counted { from: (sent, came_back), to: (most, most) })
        }
        _ => None,
    }
}

/// Frames of a flow between other ports that reach every port.
fn to_everybody(flow: &Flow, record: &FlowRecord) -> Amount {
    match (&flow.kind, record) {
        (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen))
            if asked.destination == Destination::Broadcast =>
        {
            Amount::new(seen.sent, asked.frames.mean_octets() - FCS)
        }
        _ => Amount::default(),
    }
}

/// Hosts to which a storage server copies writes.
fn replicas(flow: &Flow) -> &[PortRef] {
    match &flow.kind {
        FlowKind::Storage(storage) => &storage.replicas,
        _ => &[],
    }
}

/// True for a storage flow whose server was not created for the trial. Its data may be on hosts
/// that the testbed does not know.
fn is_of_others(flow: &Flow) -> bool {
    matches!(&flow.kind, FlowKind::Storage(storage) if storage.server.is_none())
}

fn read(port: &PortCounters, name: &str) -> Option<f64> {
    port.counters.get(name).map(|by| *by as f64)
}

/// Returns a counter of octets; zero without the counter, so that frames alone decide.
fn octets(port: &PortCounters, name: &str) -> f64 {
    read(port, name).unwrap_or(0.0)
}
