//! Disturbances of a device's port while frames pass: its link goes down, or it becomes a black
//! hole. Both can be undone.
//!
//! Owns the list of disturbances that a device offers here, and the ports that are disturbed now,
//! so that each can be done and undone repeatedly. Keeps the drop count of a replaced queue,
//! because the kernel forgets it. Never decides when.

use std::sync::OnceLock;

use device::Edge;
use netlink::{BLACKHOLE, Netlink, NetlinkError};

use crate::build::or_none;
use crate::emulated::PortOrder;
use crate::error::LabError;
use crate::furnish::hold_to;
use crate::namespace::Namespace;
use crate::plan::{DevicePlan, FarEnd};
use crate::spec::LabDevice;
use crate::subject_state::{Port, PortDeed, Variant};
use crate::unpoisoned::unpoisoned;
use crate::{Lab, PortLimit};

/// A device port to disturb.
struct Target<'a> {
    device: &'a DevicePlan,
    /// Index of the port in the device.
    edge: Edge,
    interface: &'a str,
    limit: Option<PortLimit>,
}

impl Target<'_> {
    fn name(&self) -> Port {
        (self.device.name.clone(), self.interface.to_owned())
    }
}

impl LabDevice {
    /// Lists the disturbances that this kind of device supports if the kernel does. Empty for a
    /// virtual machine, which has a kernel of its own.
    pub const fn deeds(&self) -> &'static [PortDeed] {
        match self {
            Self::Cable | Self::Vm(_) => &[],
            Self::Bridge | Self::Bridges(_) | Self::Router | Self::Routers | Self::Emulated(_) => {
                &PortDeed::ALL
            }
        }
    }
}

impl Lab {
    /// Lists the disturbances that a device's ports support on this machine. Empty for an unknown
    /// device.
    pub fn deeds(&self, device: &str) -> Vec<PortDeed> {
        let Some(subject) = self.plan().subject(device) else { return Vec::new() };
        let modelled = matches!(subject.device, LabDevice::Emulated(_));
        let may = |deed: &PortDeed| *deed != PortDeed::Blackhole || modelled || drops_here();
        subject.device.deeds().iter().copied().filter(may).collect()
    }

    /// Disturbs the device's port at the other end of a host port's cable; with several cables, the
    /// first. Returns when it is done; does nothing if it was done already.
    pub fn disturb(&self, deed: PortDeed, host: &str, port: &str) -> Result<(), LabError> {
        let target = self.target(host, port)?;
        self.offers(deed, &target)?;
        let is = (deed, target.name());
        // Recorded before it is done: a disturbance that fails half way is undone as well.
        if !unpoisoned(&self.disturbed).now.insert(is) {
            return Ok(());
        }
        match deed {
            PortDeed::LinkDown => {
                self.tell_model(&target, PortOrder::Link { up: false })?;
                self.set_link(&target.device.name, target.interface, false)
            }
            PortDeed::Blackhole => self.swallow(&target, true),
        }
    }

    /// Undoes the disturbance exactly: the port is as the lab was built. Does nothing if the port
    /// is not disturbed.
    pub fn restore(&self, deed: PortDeed, host: &str, port: &str) -> Result<(), LabError> {
        let target = self.target(host, port)?;
        let is = (deed, target.name());
        if !unpoisoned(&self.disturbed).now.contains(&is) {
            return Ok(());
        }
        match deed {
            PortDeed::LinkDown => {
                self.set_link(&target.device.name, target.interface, true)?;
                self.tell_model(&target, PortOrder::Link { up: true })?;
            }
            PortDeed::Blackhole => self.swallow(&target, false)?,
        }
        unpoisoned(&self.disturbed).now.remove(&is);
        Ok(())
    }

    /// Frames dropped by earlier, replaced queues of a device's port, which the kernel no longer
    /// counts.
    pub fn dropped_before(&self, device: &str, interface: &str) -> u64 {
        let port = (device.to_owned(), interface.to_owned());
        unpoisoned(&self.disturbed).dropped.get(&port).copied().unwrap_or(0)
    }

    fn target(&self, host: &str, port: &str) -> Result<Target<'_>, LabError> {
        let missing = || LabError::new(format!("find a device's port at {host}/{port}: none is"));
        let plan = self.plan().host(host).ok_or_else(missing)?;
        let own = plan.ports.iter().find(|own| own.name == port).ok_or_else(missing)?;
        let FarEnd::Device { device, port } = own.far_end() else { return Err(missing()) };
        let device = self.plan().device(device).ok_or_else(missing)?;
        let at = device.ports.iter().position(|own| own.name == *port).ok_or_else(missing)?;
        let interface = device.ports[at].interface.as_str();
        let node = self.plan().node(&device.name).ok_or_else(missing)?;
        let limit = node.interfaces.iter().find(|own| own.name == interface);
        let limit = limit.and_then(|own| own.limit);
        Ok(Target { device, edge: Edge(at as u16), interface, limit })
    }

    fn offers(&self, deed: PortDeed, target: &Target<'_>) -> Result<(), LabError> {
        let name = &target.device.name;
        let subject = self.plan().subject_of(name).map_or(name, |subject| &subject.name);
        let offered = self.deeds(subject);
        let refused = |why: String| {
            LabError::new(format!("do {} to a port of device {subject}: {why}", deed.as_str()))
        };
        if !offered.contains(&deed) {
            return Err(refused(format!(
                "it offers {}",
                or_none(offered.iter().map(|d| d.as_str()))
            )));
        }
        let states = unpoisoned(&self.states);
        let by_xdp = states.get(subject).is_some_and(|state| state.variant == Variant::Xdp);
        if by_xdp && deed == PortDeed::Blackhole {
            let why = "it forwards by XDP, past the queue that would drop";
            return Err(refused(why.to_owned()).hinted("measure the device in another variant"));
        }
        Ok(())
    }

    fn tell_model(&self, target: &Target<'_>, order: PortOrder) -> Result<(), LabError> {
        match self.emulation(&target.device.name) {
            Some(model) => model.change_port(target.edge, order),
            None => Ok(()),
        }
    }

    /// Replaces the queue of a kernel's port by one that drops all frames, or restores its own.
    fn swallow(&self, target: &Target<'_>, on: bool) -> Result<(), LabError> {
        if self.emulation(&target.device.name).is_some() {
            return self.tell_model(target, PortOrder::Blackhole { on });
        }
        let dropped = self.netlink(&target.device.name, |kernel| {
            let index = kernel.link(target.interface)?.index;
            let queues = kernel.qdiscs()?;
            let root = queues.iter().find(|queue| queue.index == index && queue.root);
            let swallows = root.is_some_and(|queue| queue.kind == BLACKHOLE);
            if swallows == on {
                return Ok(0);
            }
            match target.limit {
                _ if on => kernel.set_blackhole(index)?,
                Some(limit) => hold_to(kernel, index, limit)?,
                None => kernel.remove_blackhole(index)?,
            }
            Ok(root.map_or(0, |queue| u64::from(queue.stats.drops)))
        })?;
        *unpoisoned(&self.disturbed).dropped.entry(target.name()).or_default() += dropped;
        Ok(())
    }
}

/// True if this kernel has such a queue; tried once, in a temporary namespace.
fn drops_here() -> bool {
    static DROPS: OnceLock<bool> = OnceLock::new();
    let try_it = || -> Result<(), NetlinkError> {
        let mut kernel = Netlink::open()?;
        kernel.create_veth("one", "other", 1)?;
        let index = kernel.link("one")?.index;
        kernel.set_blackhole(index)?;
        kernel.remove_blackhole(index)
    };
    *DROPS.get_or_init(|| {
        let tried = Namespace::create("a trial of a black hole")
            .and_then(|namespace| namespace.enter_with(try_it));
        matches!(tried, Ok(Ok(())))
    })
}
