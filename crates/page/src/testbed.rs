//! Data of the testbed's picture: hosts with their ports, devices, and cables.
//!
//! Owns labels and hover text. Never laid out here.

/// Picture of a testbed: hosts above, devices below, test cables between them, direct cables over
/// the hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestbedPicture {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Hosts from left to right.
    pub hosts: Vec<PicturedHost>,
    /// Devices from left to right.
    pub devices: Vec<PicturedDevice>,
}

/// Host in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedHost {
    /// Label on the host.
    pub name: String,
    /// Text on hover.
    pub text: String,
    /// Ports from left to right.
    pub ports: Vec<PicturedPort>,
}

/// Test port of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedPort {
    /// Label on the port.
    pub name: String,
    /// Address below the name, if there is room.
    pub address: String,
    /// Rate beside or below the name; empty if unknown.
    pub rate: String,
    /// Text on hover.
    pub text: String,
    /// Far end of its cable.
    pub cable: PicturedCable,
}

/// Far end of a port's cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PicturedCable {
    /// Device.
    Device {
        /// Name of the device.
        name: String,
        /// Port of the device.
        port: String,
    },
    /// Another host, directly.
    Host {
        /// Name of the host.
        name: String,
        /// Port of the host.
        port: String,
    },
}

/// Device in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedDevice {
    /// Label on the device.
    pub name: String,
    /// Text below the name: kind, and limits of the ports.
    pub kind: String,
}
