//! Constructors for topologies and parts of which only the cabling is known.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{CableEnd, Device, DeviceKind, Host, HostPort, Topology};

impl Topology {
    /// Creates a topology of hosts and devices.
    pub fn new(name: impl Into<String>, hosts: Vec<Host>, devices: Vec<Device>) -> Self {
        Self {
            name: name.into(),
            hosts,
            devices,
            another_time: None,
            shared_machine: false,
            elsewhere_below: false,
            settings_as_found: false,
            openings: Vec::new(),
        }
    }
}

impl HostPort {
    /// Creates a port with one interface and one address.
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
    /// Creates the end at a device's port.
    pub fn device(device: &str, port: impl Into<String>) -> Self {
        Self::Device { device: device.to_owned(), port: port.into() }
    }
}

impl Device {
    /// Creates a device without variants, reset or other actions.
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
