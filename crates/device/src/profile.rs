//! Data sheet of a device: the parts of a network of devices, checked and complete.
//!
//! Owns the numbering of edges and the effect of a scale. Reading a file is in [`file`]; nothing
//! here does I/O: the caller passes the text in.

mod address;
mod adjust;
mod data;
mod file;
mod ranges;
mod resolve;
mod several;
mod shapes;
mod whole;

use std::ops::Range;

use measure::{ByteCount, Nanos, Rate};

use crate::Edge;

pub use address::{PortAddress, host_mac, port_mac};
pub use adjust::{Parameter, Unfit};
pub use data::{
    Broken, Buffer, Damaged, Device, Group, HostCable, Kind, Link, MacTable, Mode, Policer, PortAt,
    SessionLimits, Stalls,
};

/// Loader of another file's text by its name.
type Load<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Device, or several with cables among them: checked, complete, every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Name as in the file.
    pub name: String,
    /// Rate of the first edge's cable; [`Self::edge_rate`] returns each one's.
    pub rate: Rate,
    /// One-way delay of the first edge's cable; [`Self::edge_delay`] returns each one's.
    pub link_delay: Nanos,
    /// Factor by which every rate was multiplied so that an emulated device can keep up; 1 as
    /// written.
    pub scale: f64,
    devices: Vec<Device>,
    links: Vec<Link>,
    edges: Vec<PortAt>,
}

impl Profile {
    /// Parses a file's text. Files that it names (`profile = "…"` of one device among several) are
    /// requested from `load` by the name as written.
    pub fn parse(
        text: &str,
        load: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ProfileError> {
        whole::profile(text, load)
    }

    /// Creates one switch that stores and forwards without a latency of its own, with a queue of 1
    /// MiB at each port.
    pub fn single(ports: u16, rate: Rate) -> Self {
        Self::of_device(Device::plain("switch", ports, rate))
    }

    /// Creates a network of one device.
    pub fn of_device(device: Device) -> Self {
        Self::of_network(&device.name.clone(), vec![device], Vec::new())
    }

    /// Creates a network of devices and the cables among them. The caller guarantees that the ports
    /// exist, none has two cables, and each device can be reached from each.
    fn of_network(name: &str, devices: Vec<Device>, links: Vec<Link>) -> Self {
        let taken: Vec<PortAt> = links.iter().flat_map(|link| [link.a, link.b]).collect();
        let mut edges = Vec::new();
        for (device, sheet) in devices.iter().enumerate() {
            let device = device as u16;
            edges.extend((0..sheet.ports).map(|port| PortAt { device, port }));
        }
        if !taken.is_empty() {
            let taken: std::collections::BTreeSet<PortAt> = taken.into_iter().collect();
            edges.retain(|at| !taken.contains(at));
        }
        let first = edges.first().copied().unwrap_or(PortAt { device: 0, port: 0 });
        let sheet = &devices[usize::from(first.device)];
        Self {
            name: name.to_owned(),
            rate: sheet.port_rate(first.port),
            link_delay: sheet.link_delay,
            scale: 1.0,
            devices,
            links,
            edges,
        }
    }

    /// Number of hosts that can be attached.
    pub fn edges(&self) -> u16 {
        self.edges.len() as u16
    }

    /// The devices, in the order of the file.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The cables among the devices.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Device and port of an edge.
    pub fn port_of(&self, edge: Edge) -> PortAt {
        self.edges[usize::from(edge.0)]
    }

    /// Name of the edge, as a cable would name it: `switch/1`; ports count from 1 there.
    pub fn edge_name(&self, edge: Edge) -> String {
        let at = self.port_of(edge);
        format!("{}/{}", self.devices[usize::from(at.device)].name, at.port + 1)
    }

    /// The rate of an edge's cable.
    pub fn edge_rate(&self, edge: Edge) -> Rate {
        self.device_of(edge).port_rate(self.port_of(edge).port)
    }

    /// One-way delay of an edge's cable.
    pub fn edge_delay(&self, edge: Edge) -> Nanos {
        self.device_of(edge).link_delay
    }

    /// True if it forwards by IPv4 address: a host then sends to its router's port, not to its
    /// peer.
    pub fn is_router(&self) -> bool {
        self.devices[0].kind == Kind::Router
    }

    /// Addresses at a router's port, in the plan that labs use too; `None` for a switch.
    pub fn port_address(&self, edge: Edge) -> Option<PortAddress> {
        self.is_router().then(|| PortAddress::planned(edge))
    }

    /// Multiplies all rates, the packet limit, the learning rate and the buffers by `by`; delays,
    /// latencies, stalls and cells stay. So oversubscription, the drain time of a full buffer, and
    /// its ratio to a path's RTT stay the same. A buffer holds at least two of the longest frames,
    /// which limits the scaling.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        let mut scaled = self.clone();
        scaled.scale *= by;
        for device in &mut scaled.devices {
            device.scale(by);
        }
        for link in &mut scaled.links {
            link.rate = data::scaled_rate(link.rate, by);
        }
        scaled.rate = data::scaled_rate(scaled.rate, by);
        scaled
    }

    /// Replaces every device's buffer: `size` in total if it is shared among the ports, `size` for
    /// each queue if not. The reserve stays, or shrinks to fit.
    #[must_use]
    pub fn with_buffer(&self, size: ByteCount) -> Self {
        let mut changed = self.clone();
        for device in &mut changed.devices {
            device.resize_buffer(size);
        }
        changed
    }

    /// Sets the one-way delay of every edge's cable.
    #[must_use]
    pub fn with_link_delay(&self, delay: Nanos) -> Self {
        let mut changed = self.clone();
        changed.link_delay = delay;
        for device in &mut changed.devices {
            device.link_delay = delay;
        }
        changed
    }

    /// Limits of sessions of the first device that has any.
    pub fn session_limits(&self) -> Option<SessionLimits> {
        self.devices.iter().find_map(|device| device.sessions)
    }

    fn device_of(&self, edge: Edge) -> &Device {
        &self.devices[usize::from(self.port_of(edge).device)]
    }
}

/// Error: a file is not a valid profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProfileError {
    /// Location in the text, as offsets.
    pub span: Range<usize>,
    /// Description of the error, naming the object.
    pub message: String,
    /// Suggested correction.
    pub hint: String,
}

impl ProfileError {
    fn new(span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: hint.into() }
    }
}
