//! The outline of a testbed, known before anything is opened: its devices, and what its frames,
//! rates, addresses and hosts allow.
//!
//! Owns the reading of it from a resolved testbed. Whether a study keeps within it is the study's
//! to say; where it was stated, the request's.

use lab::{LabDevice, LabSpec};
use measure::Rate;
use study::{KnownDevice, LinkMtu, Outline};
use trial::topology::Device;

use super::resolved::{Source, Testbed};

/// The outline of a testbed.
pub fn from_testbed(testbed: &Testbed) -> Outline {
    let (name, devices) = (testbed.name.clone(), devices(testbed));
    let outline = Outline { name, devices, ..Outline::default() };
    match &testbed.source {
        Source::Lab(lab) => {
            let mtu = LinkMtu { octets: lab.mtu, owner: "the lab's links", set_by: "the lab" };
            let links = wires(lab).unwrap_or_default();
            Outline { mtu: Some(mtu), links, bucket: lab.rate, ..outline }
        }
        Source::Virtual(config) => {
            let octets = config.hosts.mtu;
            let mtu = LinkMtu { octets, owner: "the simulated hosts", set_by: "the hosts" };
            let hosts = config.hosts.count.min(config.profile.edges());
            let links = (0..hosts).map(|edge| config.profile.edge_rate(device::Edge(edge)));
            let (mtu, links) = (Some(mtu), links.collect());
            Outline { mtu, links, is_simulated: true, ..outline }
        }
        Source::Hosts(config) => {
            let ports = config.hosts.iter().flat_map(|host| &host.ports);
            let links = ports.filter_map(|port| port.rate).collect();
            Outline { links, hosts: config.hosts.clone(), ..outline }
        }
    }
}

/// Devices, as far as they are known before anything is built.
fn devices(testbed: &Testbed) -> Vec<KnownDevice> {
    let Source::Lab(lab) = &testbed.source else {
        let devices = testbed.topology().map_or_else(Vec::new, |topology| topology.devices);
        let known = |device: Device| KnownDevice { name: device.name, variants: device.variants };
        return devices.into_iter().map(known).collect();
    };
    // A lab that cannot be planned is refused elsewhere, and then for its own reason.
    let subjects = lab.plan().map_or_else(|_| Vec::new(), |plan| plan.subjects);
    let known = |subject: lab::SubjectPlan| KnownDevice {
        variants: subject.device.variants().into_iter().map(str::to_owned).collect(),
        name: subject.name,
    };
    subjects.into_iter().map(known).collect()
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
