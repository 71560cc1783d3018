//! Orders of a machine's first process, and carrying them out.
//!
//! Owns the orders as stored in the machine's file system, and the part of the work that is the
//! same as for a namespace. The node's ports are named and configured by the same code as any node
//! of a lab, so only the kernel differs. Never loads a module and never talks to the host.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Duration;

use netlink::{Link, Netlink, NetlinkError};
use serde::{Deserialize, Serialize};

use crate::build::{forward, furnish, prepare};
use crate::{InterfacePlan, LabError, NodePlan, Shaper};

/// Path of the orders. A first process without this file is not in a switchmark machine.
pub const ORDERS_FILE: &str = "/switchmark-orders.json";
/// Serial port for the host's requests. The first one is the console.
pub const CONTROL_DEVICE: &str = "/dev/ttyS1";
/// Number of checks until links exist and are settled, and the pause between them: about twenty
/// seconds in all. An emulated kernel takes tens of milliseconds.
const ATTEMPTS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(10);

/// A machine's orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Node to become. The machine is one node, in its kernel's first namespace.
    pub node: NodePlan,
    /// The largest IP packet of every link, in octets.
    pub mtu: u32,
    /// Module files in its own file system, in the order of loading.
    pub modules: Vec<String>,
}

impl Orders {
    /// Lists the drivers that these ports and this kind of forwarding need.
    pub(super) fn drivers(node: &NodePlan) -> Vec<&'static str> {
        let mut drivers = vec!["virtio_pci", "virtio_net"];
        drivers.extend((!node.bridges.is_empty()).then_some("bridge"));
        for (shaper, driver) in [(Shaper::Tbf, "sch_tbf"), (Shaper::Htb, "sch_htb")] {
            let by = |port: &InterfacePlan| port.limit.is_some_and(|limit| limit.shaper == shaper);
            drivers.extend(node.interfaces.iter().any(by).then_some(driver));
        }
        drivers
    }

    /// Formats the orders for [`ORDERS_FILE`].
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain values under text keys")
    }

    /// Parses the orders.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Makes this kernel the node, once its drivers are loaded: names its ports, configures them,
    /// turns off merging of frames, and waits until frames pass.
    pub fn carry_out(&self) -> Result<(), LabError> {
        prepare(&self.node)?;
        let own = File::open("/proc/self/ns/net")
            .map_err(|e| LabError::kernel("open network namespace", "current", e))?;
        let failed = |cause| LabError::netlink(&self.node.name, cause);
        let mut kernel = Netlink::open().map_err(failed)?;
        self.await_links(&mut kernel, |links| {
            self.ports(links).len() == self.node.interfaces.len()
        })?;
        let links = kernel.links().map_err(failed)?;
        let ports = self.ports(&links);
        let mut furnish_all = || -> Result<(), NetlinkError> {
            for (name, link) in &ports {
                // Moved into the namespace where it already is, to give it its name.
                kernel.rename_into_namespace(link.index, name, &own)?;
            }
            furnish(&mut kernel, &self.node, self.mtu)?;
            for name in ports.keys() {
                kernel.offloads_off(name)?;
            }
            Ok(())
        };
        furnish_all().map_err(failed)?;
        forward(&self.node)?;
        self.await_links(&mut kernel, |links| links.iter().all(Link::is_settled))
    }

    /// Finds the node's interfaces among these links, by the Ethernet address that the host
    /// assigned.
    fn ports<'a>(&self, links: &'a [Link]) -> BTreeMap<&str, &'a Link> {
        let find = |mac| links.iter().find(|link| link.mac == Some(mac));
        let ports = self.node.interfaces.iter();
        ports.filter_map(|port| Some((port.name.as_str(), find(port.mac)?))).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "the kernel gives no answer when it is done")]
    fn await_links(
        &self,
        kernel: &mut Netlink,
        settled: impl Fn(&[Link]) -> bool,
    ) -> Result<(), LabError> {
        let node = &self.node.name;
        let mut links = Vec::new();
        for _ in 0..ATTEMPTS {
            links = kernel.links().map_err(|cause| LabError::netlink(node, cause))?;
            if settled(&links) {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        let restless = links.iter().filter(|link| !link.is_settled()).map(|link| link.name.clone());
        let absent = self
            .node
            .interfaces
            .iter()
            .filter(|port| !links.iter().any(|link| link.mac == Some(port.mac)));
        let links: Vec<String> =
            restless.chain(absent.map(|port| format!("{} (absent)", port.name))).collect();
        Err(LabError::unsettled(node, &links))
    }
}

#[cfg(test)]
mod tests {
    use crate::{LabDevice, LabSpec};

    use super::*;

    #[test]
    fn orders_survive_the_way_into_the_machine() {
        for device in [LabDevice::Bridge, LabDevice::Router] {
            let rate = Some("1Gbit".parse().expect("a rate"));
            let plan = LabSpec { rate, ..LabSpec::new(device) }.plan().expect("a plan");
            let node = plan.nodes.last().expect("the device").clone();
            let drivers = Orders::drivers(&node);
            assert_eq!(drivers.contains(&"bridge"), !node.bridges.is_empty());
            assert!(drivers.contains(&"sch_tbf"));
            let orders = Orders { node, mtu: 9000, modules: vec!["/modules/a.ko".to_owned()] };
            assert_eq!(Orders::from_json(&orders.to_json()).expect("our own"), orders);
        }
    }
}
