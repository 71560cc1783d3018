//! A lab as a study may see it.
//!
//! Owns building a lab with this program's own equipment, and the translation of its plan into a
//! topology. Never runs anything in a host's namespace: the agents do.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use dataplane::xdp;
use lab::{
    Cause, DevicePlan, Drops, EmulatedSpec, Equipment, FarEnd, Guard, HostPlan, HostPortPlan, Lab,
    LabError, LabPlan, LabSpec, SubjectPlan, XdpForwarder,
};
use trial::topology::{
    AddressBlock, CableEnd, Device, DeviceKind, Host, HostPort, KnownDeed, PortRef, Topology,
};

use super::models::Ports;
use crate::guest;
use crate::protocol::HostFacts;

/// Builds a lab whose devices forward single frames, not merged ones. `program` is a switchmark,
/// for virtual machines.
pub fn build(spec: &LabSpec, program: &Path) -> Result<Lab, LabError> {
    let emulator = Some(guest::emulator(program));
    let equipment =
        Equipment { emulator, forwarder: Some(Arc::new(Xdp)), switchboard: Some(Arc::new(Ports)) };
    let lab = Lab::build_with(spec, equipment)?;
    device_offloads_off(&lab)?;
    Ok(lab)
}

/// The data plane's XDP programs, passed to the lab, which may not depend on them.
#[derive(Debug)]
struct Xdp;

impl XdpForwarder for Xdp {
    fn forward(&self, interfaces: &[String]) -> Result<Guard, Cause> {
        let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
        Ok(Box::new(xdp::forward(&names)?))
    }

    fn accept(&self, interface: &str) -> Result<Guard, Cause> {
        Ok(Box::new(xdp::accept_frames(interface)?))
    }
}

/// Builds the topology that a study may know of the lab.
pub fn topology(name: &str, lab: &Lab) -> Topology {
    let plan = lab.plan();
    Topology::new(
        name,
        plan.hosts.iter().map(|h| host(plan, h)).collect(),
        plan.subjects.iter().filter_map(|subject| device(lab, subject)).collect(),
    )
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

/// Name of the subject that a device belongs to: routers side by side are one subject.
fn seen_as(plan: &LabPlan, device: &str) -> String {
    plan.subject_of(device).map_or(device, |subject| &subject.name).to_owned()
}

fn device(lab: &Lab, subject: &SubjectPlan) -> Option<Device> {
    let plan = lab.plan();
    let parts: Vec<&DevicePlan> =
        subject.devices.iter().filter_map(|name| plan.device(name)).collect();
    let first = parts.first()?;
    let limit = first.ports.first().and_then(|p| p.limit);
    let mut facts = BTreeMap::from([
        ("made_of".to_owned(), format!("this machine's kernel: {}", subject.devices.join(", "))),
        ("mtu".to_owned(), plan.mtu.to_string()),
        ("shared_machine".to_owned(), "true".to_owned()),
    ]);
    if let Some(machine) = lab.machine(&first.name) {
        let told = machine.facts();
        facts.insert("made_of".to_owned(), "a virtual machine on this one".to_owned());
        facts.insert("kernel".to_owned(), told.release);
        facts.insert("kernel_build".to_owned(), told.banner);
        facts.insert("kernel_arguments".to_owned(), told.kernel_arguments);
        facts.insert("acceleration".to_owned(), told.acceleration);
    }
    if let Some(limit) = limit {
        facts.insert("port_burst".to_owned(), limit.burst.to_string());
        facts.insert("port_shaper".to_owned(), limit.shaper.as_str().to_owned());
    }
    if plan.dropping().any(|device| device.name == first.name) {
        facts.extend(drops(plan.drops));
    }
    let model = plan.emulated(&first.name);
    if let Some(EmulatedSpec { profile, seed }) = model {
        facts.insert("made_of".to_owned(), format!("a model on this machine: {}", profile.name));
        facts.insert("scale".to_owned(), profile.scale.to_string());
        facts.insert("model_seed".to_owned(), seed.to_string());
    }
    Some(Device {
        variants: lab.variants(&subject.name),
        resettable: true,
        deeds: lab.deeds(&subject.name).into_iter().map(known_deed).collect(),
        name: subject.name.clone(),
        kind: match first.kind {
            lab::DeviceKind::Switch => DeviceKind::Switch,
            lab::DeviceKind::Router => DeviceKind::Router,
        },
        port_rate: limit.map(|l| l.rate).or(model.map(|model| model.profile.rate)),
        port_queue: limit.map(|l| l.queue),
        facts,
    })
}

/// Describes a lab's disturbance, which can always be undone.
fn known_deed(deed: lab::PortDeed) -> KnownDeed {
    KnownDeed { name: deed.as_str().to_owned(), undo: true, settle: measure::Nanos::ZERO }
}

/// Lists the facts of a device's deliberate drops.
fn drops(drops: Drops) -> impl Iterator<Item = (String, String)> {
    let loss = drops.loss.map(|loss| ("random_loss", loss.share().to_string()));
    let police = drops.police.map(|it| ("policed_frames_per_s", it.passes().0.to_string()));
    let burst = drops.police.map(|it| ("police_burst_frames", it.burst_frames.to_string()));
    let all = [loss, police, burst].into_iter().flatten();
    all.map(|(name, value)| (name.to_owned(), value))
}

/// Gathers facts about a device and its ports.
pub fn device_facts(
    lab: &Lab,
    device: &DevicePlan,
) -> Result<HostFacts, Box<dyn Error + Send + Sync>> {
    if let Some(machine) = lab.machine(&device.name) {
        return guest::facts(machine);
    }
    let interfaces = interfaces(device);
    let ports = lab.inside(&device.name, || crate::agent::describe_ports(&interfaces))?;
    Ok(HostFacts { ports, ..HostFacts::default() })
}

/// Turns segmentation and receive offloads off on every device port, for the lab's whole life. A
/// virtual machine does it by itself. Fails if a feature could not be read or set.
fn device_offloads_off(lab: &Lab) -> Result<(), LabError> {
    let namespaces = |device: &&DevicePlan| lab.machine(&device.name).is_none();
    for device in lab.plan().devices.iter().filter(namespaces) {
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

/// Lists the device's interfaces in its own namespace.
pub fn interfaces(device: &DevicePlan) -> Vec<String> {
    device.ports.iter().map(|p| p.interface.clone()).collect()
}
