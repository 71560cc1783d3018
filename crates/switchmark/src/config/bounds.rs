//! Bounds of a testbed, known before anything is opened: what its frames, rates, addresses and
//! hosts allow.
//!
//! Owns the reading of them from a resolved testbed. Whether a study keeps within them is the
//! study's to say; where it was stated, the request's.

use lab::{LabDevice, LabSpec};
use measure::Rate;
use method::study::{Bounds, LinkMtu};

use super::resolved::{Source, Testbed};

/// The slowest link's speed, where it is known before anything runs. Which links a flow takes, and
/// so what its line rate is, a study tells by its own ports.
pub fn link_rate(testbed: &Testbed) -> Option<Rate> {
    of(testbed).links.into_iter().min()
}

/// The bounds of a testbed.
pub fn of(testbed: &Testbed) -> Bounds {
    match &testbed.source {
        Source::Lab(lab) => {
            let mtu = LinkMtu { octets: lab.mtu, owner: "the lab's links", set_by: "the lab" };
            let links = wires(lab).unwrap_or_default();
            Bounds { mtu: Some(mtu), links, bucket: lab.rate, ..Bounds::default() }
        }
        Source::Virtual(config) => {
            let octets = config.hosts.mtu;
            let mtu = LinkMtu { octets, owner: "the simulated hosts", set_by: "the hosts" };
            let hosts = config.hosts.count.min(config.profile.edges());
            let links = (0..hosts).map(|edge| config.profile.edge_rate(device::Edge(edge)));
            let (mtu, links) = (Some(mtu), links.collect());
            Bounds { mtu, links, is_simulated: true, ..Bounds::default() }
        }
        Source::Hosts(config) => {
            let ports = config.hosts.iter().flat_map(|host| &host.ports);
            let links = ports.filter_map(|port| port.rate).collect();
            Bounds { links, hosts: config.hosts.clone(), ..Bounds::default() }
        }
    }
}

/// The rates of a lab's ports, where every device is a model or bridges in groups: its cables have
/// rates as real ones have. Those of the kernel's devices have none, and what their ports are
/// limited to is a token bucket's rate.
fn wires(lab: &LabSpec) -> Option<Vec<Rate>> {
    let rates: Option<Vec<Vec<Rate>>> = lab
        .devices
        .iter()
        .map(|device| match device {
            LabDevice::Emulated(model) => {
                let hosts = (0..lab.hosts).map(device::Edge);
                Some(hosts.map(|edge| model.profile.edge_rate(edge)).collect())
            }
            // Its limits count as wires do.
            LabDevice::Bridges(_) => lab.rate.map(|rate| vec![rate]),
            _ => None,
        })
        .collect();
    rates.map(|rates| rates.concat())
}
