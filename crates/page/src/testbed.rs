//! A testbed as a picture's data: hosts with their ports, devices, and which cable leads where.
//!
//! Owns what is written and said on hover. Never laid out here.

/// Hosts above, devices below, test cables between them, direct cables over the hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestbedPicture {
    /// Description for those who can't see it.
    pub title: String,
    /// From left to right.
    pub hosts: Vec<PicturedHost>,
    /// From left to right.
    pub devices: Vec<PicturedDevice>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedHost {
    /// On it.
    pub name: String,
    /// Text on hover.
    pub text: String,
    /// From left to right.
    pub ports: Vec<PicturedPort>,
}

/// One test port of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedPort {
    /// On it.
    pub name: String,
    /// Below the name, where there is room.
    pub address: String,
    /// Beside the name, or below it; empty where it is not known.
    pub rate: String,
    /// Text on hover.
    pub text: String,
    /// Where its cable leads.
    pub cable: PicturedCable,
}

/// The far end of a port's cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PicturedCable {
    /// A device.
    Device {
        /// The device's name.
        name: String,
        /// The device's port.
        port: String,
    },
    /// Another host, directly.
    Host {
        /// The host's name.
        name: String,
        /// The host's port.
        port: String,
    },
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedDevice {
    /// On it.
    pub name: String,
    /// Below the name: kind, and limits of the ports.
    pub kind: String,
}
