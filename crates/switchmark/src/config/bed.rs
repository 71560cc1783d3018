//! Knowledge of a testbed before anything is built or sent, on which a data sheet's studies, and
//! those of claims, depend.
//!
//! Owns nothing else. Never opens a testbed.

use lab::{LabDevice, VmRole};
use study::xray::Bed;
use trial::Topology;
use trial::topology::DeviceKind;

use super::outline;
use super::resolved::{Source, Testbed};

/// Returns what is known of the testbed before anything is built or sent.
pub fn from_testbed(place: &Testbed) -> Bed {
    let attached = |topology: Topology| {
        let device = topology.devices.first();
        let switch = device.is_some_and(|device| device.kind == DeviceKind::Switch);
        let deeds = device.is_some_and(|device| !device.deeds.is_empty());
        (topology.ports_of(device.map(|device| device.name.as_str())).len(), switch, deeds)
    };
    let (hosts, switch, deeds) = match &place.source {
        Source::Lab(lab) => {
            let device = lab.devices.first();
            let deeds = device.is_some_and(|device| !device.deeds().is_empty());
            (lab.hosts as usize, device.is_some_and(is_switch), deeds)
        }
        _ => place.topology().map_or((0, false, false), attached),
    };
    let simulated = matches!(place.source, Source::Virtual(_));
    Bed { simulated, link: outline::from_testbed(place).slowest_link(), hosts, switch, deeds }
}

fn is_switch(device: &LabDevice) -> bool {
    match device {
        LabDevice::Bridge | LabDevice::Bridges(_) => true,
        LabDevice::Vm(machine) => machine.role == VmRole::Bridge,
        LabDevice::Emulated(model) => !model.profile.is_router(),
        LabDevice::Cable | LabDevice::Router | LabDevice::Routers => false,
    }
}
