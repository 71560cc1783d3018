//! Results of a trial, in the form of a record.
//!
//! Owns the mapping of the model's counters to the kernel's names. Never judges.

use std::collections::BTreeMap;

use device::{Edge, PortCounts, Profile};
use trial::counters::{
    QDISC_DROPS, RX_CRC_ERRORS, RX_DROPPED, RX_PACKETS, TX_PACKETS, TX_PAUSE, TX_PAUSE_US,
};
use trial::record::{FlowRecord, PortCounters, Side};
use trial::topology::Topology;
use trial::{Flow, FlowKind};

use crate::nic::{Far, Nic, NicCounts};
use crate::topology::port_name;
use crate::world::{Flows, World};

/// Counters of the network before the load.
#[derive(Debug)]
pub(crate) struct Baseline {
    edges: Vec<PortCounts>,
}

impl Baseline {
    /// Reads the network's counters, and resets the hosts' own.
    pub(crate) fn take(world: &mut World) -> Self {
        for nic in &mut world.hosts.ground.nics {
            nic.counts = NicCounts::default();
        }
        let edges = 0..world.network.edges();
        Self { edges: edges.map(|edge| world.network.counts(Edge(edge))).collect() }
    }

    /// Changes of each port's counters since then: of the hosts' ports in use and, if frames cross
    /// the device, of all its ports with a host.
    pub(crate) fn changes(
        &self,
        world: &World,
        profile: &Profile,
        topology: &Topology,
    ) -> Vec<PortCounters> {
        let nics = &world.hosts.ground.nics;
        let change = |edge: Edge| {
            let counts = world.network.counts(edge);
            counts.since(&self.edges[usize::from(edge.0)])
        };
        let of_host = |nic: &Nic| {
            let mut counters = nic.counters();
            if let Far::Edge(edge) = nic.far {
                counters.insert(RX_CRC_ERRORS.to_owned(), change(edge).damaged_out);
            }
            let place = nic.place.to_string();
            PortCounters { place, side: Side::Tester, cable: None, counters }
        };
        let mut ports: Vec<PortCounters> = nics.iter().map(of_host).collect();
        if nics.iter().any(Nic::is_at_network) {
            let edges = (0..world.network.edges()).take(topology.hosts.len());
            ports.extend(edges.map(Edge).map(|edge| {
                let port = port_name(profile, edge);
                let cable = topology.at_device(&profile.name, &port).map(|port| port.to_string());
                PortCounters {
                    place: format!("{}/{port}", profile.name),
                    side: Side::Device,
                    cable,
                    counters: counters(&change(edge)),
                }
            }));
        }
        ports
    }
}

/// Counters of one port that only a model knows. A switch counts a drop at the egress port, if that
/// is known by then, otherwise at the ingress port. Copies of a flooded frame are included.
pub fn port_counters(change: &PortCounts) -> [(&'static str, u64); 5] {
    [
        (RX_DROPPED, change.discarded()),
        (QDISC_DROPS, change.dropped_out),
        (RX_CRC_ERRORS, change.damaged_in),
        (TX_PAUSE, change.pauses),
        (TX_PAUSE_US, change.paused.to_nanos().0 / 1_000),
    ]
}

/// Converts a port's counters. A frame that the cable lost counts as sent by the port that sent it,
/// and not as received.
fn counters(change: &PortCounts) -> BTreeMap<String, u64> {
    let passed = [
        (RX_PACKETS, change.entered.saturating_sub(change.lost_in())),
        (TX_PACKETS, change.delivered + change.lost_out()),
        ("flooded_copies", change.copies),
    ];
    let named = passed.into_iter().chain(port_counters(change));
    named.map(|(name, by)| (name.to_owned(), by)).collect()
}

/// Builds one record for each flow, in the trial's order: flows of a kind were created in it.
pub(crate) fn flow_records(asked: &[Flow], flows: Flows) -> Vec<FlowRecord> {
    let mut loads = flows.loads.into_iter();
    let mut echoes = flows.echoes.into_iter();
    let mut bulks = flows.bulks.into_iter();
    let mut exchanges = flows.exchanges.into_iter();
    let mut storages = flows.storages.into_iter();
    let mut sessions = flows.sessions.into_iter();
    let of = |flow: &Flow| match flow.kind {
        FlowKind::Datagrams(_) => loads.next().map(|load| FlowRecord::Datagrams(load.record())),
        FlowKind::Echo(_) => echoes.next().map(|echo| FlowRecord::Echo(echo.record())),
        FlowKind::Bulk(_) => bulks.next().map(|bulk| FlowRecord::Bulk(bulk.record())),
        FlowKind::Exchange(_) => exchanges.next().map(|e| FlowRecord::Exchange(e.record())),
        FlowKind::Sessions(_) => sessions.next().map(|s| FlowRecord::Sessions(s.record())),
        FlowKind::Storage(_) => storages.next().map(|s| FlowRecord::Storage(s.record())),
    };
    asked.iter().filter_map(of).collect()
}
