//! A lab as a study may see it, and its device's own counters.
//!
//! Owns the lab while the testbed lives, and the translation of its plan into a topology. Never runs
//! anything in a host's namespace: that is the agents'.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dataplane::counters::{self, InterfaceCounters};
use lab::{DevicePlan, FarEnd, HostPlan, HostPortPlan, Lab, LabPlan, SubjectPlan};
use method::record::{PortCounters, Side};
use method::topology::{
    AddressBlock, CableEnd, Device, DeviceKind, Host, HostPort, PortRef, Topology,
};

use super::mishap::Mishap;

/// What a study may know of the lab.
pub fn topology(name: &str, plan: &LabPlan) -> Topology {
    Topology {
        name: name.to_owned(),
        hosts: plan.hosts.iter().map(|h| host(plan, h)).collect(),
        devices: plan.subjects.iter().filter_map(|subject| device(plan, subject)).collect(),
    }
}

fn host(plan: &LabPlan, host: &HostPlan) -> Host {
    Host {
        name: host.name.clone(),
        reach: "lab".to_owned(),
        ports: host.ports.iter().map(|p| port(plan, p)).collect(),
    }
}

fn port(plan: &LabPlan, port: &HostPortPlan) -> HostPort {
    let cable = match port.far_end() {
        FarEnd::Device { device, port } => {
            CableEnd::Device { device: seen_as(plan, device), port: port.clone() }
        }
        FarEnd::Host { host, port } => {
            CableEnd::Host(PortRef { host: host.clone(), port: port.clone() })
        }
    };
    HostPort {
        name: port.name.clone(),
        interfaces: port.interfaces.clone(),
        address: IpAddr::V4(port.address),
        address6: plan.ipv6.then(|| lab::twin(port.address)),
        blocks: blocks(plan, port),
        cable,
        rate: port.rate,
    }
}

fn blocks(plan: &LabPlan, port: &HostPortPlan) -> Vec<AddressBlock> {
    let block = |first| AddressBlock { first, count: lab::BLOCK_ADDRESSES };
    let v6 = plan.ipv6.then(|| block(IpAddr::V6(lab::twin(port.block))));
    [Some(block(IpAddr::V4(port.block))), v6].into_iter().flatten().collect()
}

/// Routers side by side are one thing to measure.
fn seen_as(plan: &LabPlan, device: &str) -> String {
    plan.subject_of(device).map_or(device, |subject| &subject.name).to_owned()
}

fn device(plan: &LabPlan, subject: &SubjectPlan) -> Option<Device> {
    let parts: Vec<&DevicePlan> =
        subject.devices.iter().filter_map(|name| plan.device(name)).collect();
    let first = parts.first()?;
    let limit = first.ports.first().and_then(|p| p.limit);
    let mut facts = BTreeMap::from([
        ("made_of".to_owned(), format!("this machine's kernel: {}", subject.devices.join(", "))),
        ("mtu".to_owned(), plan.mtu.to_string()),
        ("shared_machine".to_owned(), "true".to_owned()),
    ]);
    if let Some(limit) = limit {
        facts.insert("port_burst".to_owned(), limit.burst.to_string());
    }
    Some(Device {
        variants: Vec::new(),
        resettable: false,
        name: subject.name.clone(),
        kind: match first.kind {
            lab::DeviceKind::Switch => DeviceKind::Switch,
            lab::DeviceKind::Router => DeviceKind::Router,
        },
        port_rate: limit.map(|l| l.rate),
        port_queue: limit.map(|l| l.queue),
        facts,
    })
}

/// One look at every device's ports.
pub type DeviceSnapshot = BTreeMap<String, Vec<InterfaceCounters>>;

/// Reads every device's ports, from inside it.
pub fn device_counters(lab: &Lab) -> Result<DeviceSnapshot, Mishap> {
    let read = |device: &DevicePlan| {
        let interfaces = interfaces(device);
        let counters = lab
            .inside(&device.name, || counters::interfaces(&interfaces))
            .map_err(|cause| Mishap::device(&device.name, cause))?
            .map_err(|cause| Mishap::Device {
                device: device.name.clone(),
                cause: Box::new(cause),
            })?;
        Ok((device.name.clone(), counters))
    };
    lab.plan().devices.iter().map(read).collect()
}

/// The change of each device port's counters, under the plan's name of the port: `bridge/1`.
pub fn device_changes(
    plan: &LabPlan,
    before: &DeviceSnapshot,
    after: &DeviceSnapshot,
) -> Vec<PortCounters> {
    let mut ports = Vec::new();
    for device in &plan.devices {
        let (Some(before), Some(after)) = (before.get(&device.name), after.get(&device.name))
        else {
            continue;
        };
        for port in &device.ports {
            let named = |c: &&InterfaceCounters| c.name == port.interface;
            let (Some(then), Some(now)) = (before.iter().find(named), after.iter().find(named))
            else {
                continue;
            };
            ports.push(PortCounters {
                place: format!("{}/{}", device.name, port.name),
                side: Side::Device,
                counters: now.since(then).counters,
            });
        }
    }
    ports
}

/// Turns segmentation and receive offloads off on every device port, for the lab's whole life: a
/// device forwards frames, not bundles of them. What could not be read or set is an error.
pub fn device_offloads_off(lab: &Lab) -> Result<(), lab::LabError> {
    for device in &lab.plan().devices {
        let interfaces = interfaces(device);
        lab.netlink(&device.name, |kernel| {
            for interface in &interfaces {
                kernel.offloads_off(interface)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The device's interfaces in its own namespace.
pub fn interfaces(device: &DevicePlan) -> Vec<String> {
    device.ports.iter().map(|p| p.interface.clone()).collect()
}
