//! Devices of a lab on this machine: prepared for a trial, and their counters read around its load.
//!
//! Owns the list of those that a trial crosses. Never changes a device's forwarding.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use dataplane::counters::{self, InterfaceCounters};
use lab::{DevicePlan, Emulation, FarEnd, Lab, LabPlan};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use trial::counters::QDISC_DROPS;
use trial::record::{PortCounters, Side};
use trial::topology::{CableEnd, PortRef, Topology};
use trial::{Backend, Flow, FlowKind, Reception, Trial, TrialRecord};

use super::companion::{Companion, Done, Preparing, TrialContext};
use super::models::{self, ModelSnapshot};
use super::site::interfaces;
use super::trial_error::TrialError;
use crate::failed::Failed;
use crate::guest;

/// All lab devices; does nothing if the testbed is no lab.
#[derive(Debug, Default)]
pub struct LabDevices {
    /// Counters before the load.
    before: Option<(DeviceSnapshot, ModelSnapshot)>,
}

impl Companion for LabDevices {
    fn prepare(&mut self, context: TrialContext<'_>, _hosts: &mut Preparing<'_>) -> Done {
        if let Some(lab) = context.lab {
            make_ready(lab, context.topology, context.trial);
        }
        Ok(())
    }

    fn before(&mut self, context: TrialContext<'_>) -> Done {
        self.before = context.lab.map(|lab| look(lab, context)).transpose()?;
        Ok(())
    }

    fn after(&mut self, context: TrialContext<'_>, record: &mut TrialRecord) -> Done {
        let Some((lab, (devices, models))) = context.lab.zip(self.before.take()) else {
            return Ok(());
        };
        let (devices_now, models_now) = look(lab, context)?;
        record.ports.extend(device_changes(lab.plan(), &devices, &devices_now));
        models::add_changes(&mut record.ports, &models, &models_now);
        Ok(())
    }
}

/// Reads the counters of all devices that the trial crosses.
fn look(
    lab: &Lab,
    context: TrialContext<'_>,
) -> Result<(DeviceSnapshot, ModelSnapshot), TrialError> {
    let devices = crossed(lab.plan(), context.topology, context.trial);
    Ok((device_counters(lab, &devices)?, models::look(lab, &devices)?))
}

/// Lists this machine's processors without an emulated device that the trial crosses.
pub fn free_processors(lab: &Lab, topology: &Topology, trial: &Trial) -> Vec<usize> {
    let crossed = crossed(lab.plan(), topology, trial);
    let models = crossed.iter().filter_map(|device| lab.emulation(&device.name));
    let taken: Vec<usize> = models.filter_map(Emulation::processor).collect();
    // Only those that this process may use.
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    let is_free = |cpu: &usize| allowed.is_set(*cpu).unwrap_or(false) && !taken.contains(cpu);
    (0..CpuSet::count()).filter(is_free).collect()
}

/// Lets the devices that a trial crosses accept frames from XDP's live senders, only if the trial
/// may have such; see [`Lab::take_redirected`].
fn make_ready(lab: &Lab, topology: &Topology, trial: &Trial) {
    let (mut devices, mut spoken_for) = (BTreeSet::new(), Vec::new());
    for flow in &trial.flows {
        let FlowKind::Datagrams(kind) = &flow.kind else { continue };
        if matches!(kind.backend, Backend::Auto | Backend::XdpLive) {
            devices.extend(subject_of(topology, flow));
        }
        let own_program =
            matches!(kind.receiver, Reception::Auto | Reception::Xdp | Reception::AfXdp);
        // A receiver has one program and therefore one interface; otherwise it uses another receive
        // method.
        if let Some([interface]) = topology.port(&flow.to).map(|port| port.interfaces.as_slice())
            && own_program
        {
            spoken_for.push((flow.to.host.clone(), interface.clone()));
        }
    }
    lab.take_redirected(&Vec::from_iter(devices), &spoken_for);
}

/// Device that a flow crosses.
fn subject_of(topology: &Topology, flow: &Flow) -> Option<String> {
    match &topology.port(&flow.from)?.cable {
        CableEnd::Device { device, .. } => Some(device.clone()),
        CableEnd::Host(_) => None,
    }
}

/// Lists the devices that a trial's flows cross; none for a flow that bypasses all of them.
fn crossed<'a>(plan: &'a LabPlan, topology: &Topology, trial: &Trial) -> Vec<&'a DevicePlan> {
    let subjects = trial.flows.iter().filter_map(|flow| subject_of(topology, flow));
    let subjects = subjects.filter_map(|name| plan.subject(&name));
    let names: BTreeSet<&String> = subjects.flat_map(|subject| &subject.devices).collect();
    plan.devices.iter().filter(|device| names.contains(&device.name)).collect()
}

/// Counters of devices' ports at one moment.
type DeviceSnapshot = BTreeMap<String, Vec<InterfaceCounters>>;

/// Reads these devices' ports, from inside each.
fn device_counters(lab: &Lab, devices: &[&DevicePlan]) -> Result<DeviceSnapshot, TrialError> {
    let read = |device: &&DevicePlan| {
        let counters = match lab.machine(&device.name) {
            Some(machine) => guest::counters(machine),
            None => counters_inside(lab, device),
        };
        let counters = counters
            .map_err(Failed::to(format!("read the counters of device `{}`", device.name)))?;
        Ok((device.name.clone(), counters))
    };
    devices.iter().map(read).collect()
}

fn counters_inside(
    lab: &Lab,
    device: &DevicePlan,
) -> Result<Vec<InterfaceCounters>, Box<dyn Error + Send + Sync>> {
    let interfaces = interfaces(device);
    let mut all = lab.inside(&device.name, || counters::interfaces(&interfaces))??;
    for one in &mut all {
        let before = lab.dropped_before(&device.name, &one.name);
        *one.counters.entry(QDISC_DROPS.to_owned()).or_default() += before;
    }
    Ok(all)
}

/// Computes the change of each device port's counters, under the plan's name of the port:
/// `bridge/1`.
fn device_changes(
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
                cable: cabled_to(plan, &device.name, &port.name).map(|port| port.to_string()),
                counters: now.since(then).counters,
            });
        }
    }
    ports
}

/// Host port at the other end of a device port's cable.
fn cabled_to(plan: &LabPlan, device: &str, port: &str) -> Option<PortRef> {
    let ends_there = |end: &FarEnd| matches!(end, FarEnd::Device { device: d, port: p } if d == device && p == port);
    plan.hosts.iter().find_map(|host| {
        let own = host.ports.iter().find(|own| own.far_ends.iter().any(ends_there))?;
        Some(PortRef { host: host.name.clone(), port: own.name.clone() })
    })
}
