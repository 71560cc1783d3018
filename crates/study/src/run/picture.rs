//! Testbed as a picture: hosts, devices and cables.
//!
//! Shows any topology; never checks one.

use page::{
    Image, Picture, PicturedCable, PicturedDevice, PicturedHost, PicturedPort, TestbedPicture,
};
use trial::Topology;
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort};

/// Number of hosts and of devices drawn; the caption counts the rest.
const MOST_HOSTS: usize = 8;
const MOST_DEVICES: usize = 6;

/// Picture of hosts, devices and cables; `None` without a host.
pub fn picture(topology: &Topology) -> Option<Picture> {
    if topology.hosts.is_empty() {
        return None;
    }
    let title = format!("Testbed {}", topology.name);
    let mut ports = topology.hosts.iter().flat_map(|host| &host.ports);
    let has_direct = ports.any(|port| matches!(port.cable, CableEnd::Host(_)));
    let direct = if has_direct { " Dashed: direct cables, the bypass." } else { "" };
    let more = left_out(topology);
    let caption = format!("{title}: hosts, devices and test cables.{direct}{more}");
    let hosts = topology.hosts.iter().take(MOST_HOSTS).map(pictured_host).collect();
    let devices = topology.devices.iter().take(MOST_DEVICES);
    let devices =
        devices.map(|device| PicturedDevice { name: device.name.clone(), kind: describe(device) });
    let devices = devices.collect();
    Some(Picture { image: Image::Testbed(TestbedPicture { title, hosts, devices }), caption })
}

fn pictured_host(host: &Host) -> PicturedHost {
    PicturedHost {
        name: host.name.clone(),
        text: format!("{}, reached by {}", host.name, host.reach),
        ports: host.ports.iter().map(pictured_port).collect(),
    }
}

fn pictured_port(port: &HostPort) -> PicturedPort {
    let rate = port.rate.map(|rate| rate.to_string());
    let after = rate.as_ref().map_or_else(String::new, |rate| format!(", {rate}"));
    let (name, address) = (port.name.clone(), port.address.to_string());
    let cable = match &port.cable {
        CableEnd::Device { device, port } => {
            PicturedCable::Device { name: device.clone(), port: port.clone() }
        }
        CableEnd::Host(to) => PicturedCable::Host { name: to.host.clone(), port: to.port.clone() },
    };
    PicturedPort {
        text: format!("{name} {address}{after}, interfaces {}", port.interfaces.join(", ")),
        rate: rate.unwrap_or_default(),
        name,
        address,
        cable,
    }
}

/// Caption text about hosts and devices that are not drawn.
fn left_out(topology: &Topology) -> String {
    let hosts = topology.hosts.len().saturating_sub(MOST_HOSTS);
    let devices = topology.devices.len().saturating_sub(MOST_DEVICES);
    let said: Vec<String> = [(hosts, "hosts"), (devices, "devices")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if said.is_empty() { String::new() } else { format!(" Not drawn: {} more.", said.join(", ")) }
}

fn describe(device: &Device) -> String {
    let kind = match device.kind {
        DeviceKind::Switch => "switch",
        DeviceKind::Router => "router",
    };
    let rate = device.port_rate.map_or(String::new(), |r| format!(", ports {r}"));
    let queue = device.port_queue.map_or(String::new(), |q| format!(", queue {q}"));
    format!("{kind}{rate}{queue}")
}
