//! Addresses behind each port of an emulated router, from the lab's plan. Pure.

use device::{Edge, Mac, PortAddress};

use crate::plan::{BLOCK_PREFIX, FarEnd, HostPortPlan, LabPlan};
use crate::spec::EmulatedSpec;

/// Lists the addresses behind each port of an emulated router, from the lab's plan.
pub(crate) fn addresses(plan: &LabPlan, device: &str, spec: &EmulatedSpec) -> Vec<PortAddress> {
    let edge = |number: u16| -> Option<PortAddress> {
        let planned = spec.profile.port_address(Edge(number))?;
        let host = plan.hosts.get(usize::from(number));
        let Some((host, node)) = host.and_then(|h| Some((h, plan.node(&h.name)?))) else {
            return Some(planned);
        };
        let leads = |port: &&HostPortPlan| matches!(port.far_end(), FarEnd::Device { device: far, .. } if far == device);
        let port = host.ports.iter().find(leads)?;
        let interface = node.interfaces.iter().find(|i| i.name == port.name)?;
        let (gateway, own) = *interface.neighbours.first()?;
        Some(PortAddress {
            own: mac(own),
            host: mac(interface.mac),
            gateway,
            address: port.address,
            prefix: port.prefix,
            routes: vec![(port.block, BLOCK_PREFIX)],
        })
    };
    (0..spec.profile.edges()).filter_map(edge).collect()
}

fn mac(octets: [u8; 6]) -> Mac {
    Mac(octets.iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet)))
}
