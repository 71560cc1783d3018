//! What a trial came to, in the shape of a record.
//!
//! Owns which counter of the model is called by which name of the kernel's. Never judges.

use std::collections::BTreeMap;

use device::{Edge, PortCounts, Profile};
use trial::record::{FlowRecord, PortCounters, Side};
use trial::topology::Topology;
use trial::{Flow, FlowKind};

use crate::nic::NicCounts;
use crate::topology::port_name;
use crate::world::{Flows, World};

/// What the network had counted before the load.
#[derive(Debug)]
pub(crate) struct Baseline {
    edges: Vec<PortCounts>,
}

impl Baseline {
    /// Looks at the network's counters, and sets the hosts' own to zero.
    pub(crate) fn take(world: &mut World) -> Self {
        for nic in &mut world.hosts.ground.nics {
            nic.counts = NicCounts::default();
        }
        let edges = 0..world.network.edges();
        Self { edges: edges.map(|edge| world.network.counts(Edge(edge))).collect() }
    }

    /// Each port's counters since then: those in use of hosts', and, where frames cross the device,
    /// all of its ports that have a host.
    pub(crate) fn changes(
        &self,
        world: &World,
        (profile, topology): (&Profile, &Topology),
    ) -> Vec<PortCounters> {
        let nics = &world.hosts.ground.nics;
        let mut ports: Vec<PortCounters> = nics
            .iter()
            .map(|nic| PortCounters {
                place: nic.place.to_string(),
                side: Side::Tester,
                cable: None,
                counters: nic.counters(),
            })
            .collect();
        if nics.iter().any(crate::nic::Nic::is_at_network) {
            let edges = self.edges.iter().take(topology.hosts.len());
            ports.extend((0..).map(Edge).zip(edges).map(|(edge, before)| {
                let port = port_name(profile, edge);
                let cable = topology.at_device(&profile.name, &port).map(|port| port.to_string());
                PortCounters {
                    place: format!("{}/{port}", profile.name),
                    side: Side::Device,
                    cable,
                    counters: since(world.network.counts(edge), *before),
                }
            }));
        }
        ports
    }
}

/// A switch counts its drops where the frames came in; copies of a flooded frame are among them.
fn since(now: PortCounts, before: PortCounts) -> BTreeMap<String, u64> {
    let named = [
        ("rx_packets", now.entered - before.entered),
        ("tx_packets", now.delivered - before.delivered),
        ("rx_dropped", now.dropped - before.dropped),
        ("flooded_copies", now.copies - before.copies),
    ];
    named.into_iter().map(|(name, by)| (name.to_owned(), by)).collect()
}

/// One record for each flow, in the trial's order: flows of a kind were made in it.
pub(crate) fn flow_records(asked: &[Flow], flows: Flows) -> Vec<FlowRecord> {
    let mut loads = flows.loads.into_iter();
    let mut echoes = flows.echoes.into_iter();
    let mut bulks = flows.bulks.into_iter();
    let mut exchanges = flows.exchanges.into_iter();
    let mut storages = flows.storages.into_iter();
    let of = |flow: &Flow| match flow.kind {
        FlowKind::Datagrams(_) => loads.next().map(|load| FlowRecord::Datagrams(load.record())),
        FlowKind::Echo(_) => echoes.next().map(|echo| FlowRecord::Echo(echo.record())),
        FlowKind::Bulk(_) => bulks.next().map(|bulk| FlowRecord::Bulk(bulk.record())),
        FlowKind::Exchange(_) => exchanges.next().map(|e| FlowRecord::Exchange(e.record())),
        FlowKind::Storage(_) => storages.next().map(|s| FlowRecord::Storage(s.record())),
    };
    asked.iter().filter_map(of).collect()
}
