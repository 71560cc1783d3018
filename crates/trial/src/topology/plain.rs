//! Topologies and their parts of which no more is known than where cables go.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{CableEnd, Device, DeviceKind, Host, HostPort, Topology};

impl Topology {
    /// Hosts and devices, with every cable in its place.
    pub fn new(name: impl Into<String>, hosts: Vec<Host>, devices: Vec<Device>) -> Self {
        Self { name: name.into(), hosts, devices, another_time: None, shared_machine: false }
    }
}

impl HostPort {
    /// An interface with one address.
    pub fn plain(name: &str, address: IpAddr, cable: CableEnd) -> Self {
        Self {
            name: name.to_owned(),
            interfaces: vec![name.to_owned()],
            address,
            address6: None,
            blocks: Vec::new(),
            cable,
            rate: None,
        }
    }
}

impl CableEnd {
    /// A device's port.
    pub fn device(device: &str, port: impl Into<String>) -> Self {
        Self::Device { device: device.to_owned(), port: port.into() }
    }
}

impl Device {
    /// One that nothing can be done to.
    pub fn plain(name: &str, kind: DeviceKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            port_rate: None,
            port_queue: None,
            facts: BTreeMap::new(),
            variants: Vec::new(),
            resettable: false,
            deeds: Vec::new(),
        }
    }
}
