//! Settings of the host: reading and writing each.
//!
//! Never changes anything that is not a [`Setting`], and never remembers an original value.

use std::fs;

use dataplane::opening::ip;
use netlink::{Coalescing, Netlink, NetlinkError, Pause};

use crate::failed::Failed;
use crate::protocol::Setting;

/// Reads the current value of a setting.
pub fn now(setting: &Setting) -> Result<Setting, Failed> {
    Ok(match setting {
        Setting::File { path, .. } => {
            let text = fs::read_to_string(path).map_err(Failed::to(format!("read {path}")))?;
            Setting::File { path: path.clone(), value: text.trim().to_owned() }
        }
        Setting::Up { interface, .. } => {
            let link = netlink(interface, |kernel| kernel.link(interface))?;
            Setting::Up { interface: interface.clone(), up: link.up }
        }
        Setting::Address { interface, address, prefix, .. } => {
            let own = nix::ifaddrs::getifaddrs().into_iter().flatten();
            let present = own
                .filter(|one| one.interface_name == *interface)
                .any(|one| one.address.as_ref().and_then(ip) == Some(*address));
            let (interface, address, prefix) = (interface.clone(), *address, *prefix);
            Setting::Address { interface, address, prefix, present }
        }
        Setting::Mtu { interface, .. } => {
            let link = netlink(interface, |kernel| kernel.link(interface))?;
            Setting::Mtu { interface: interface.clone(), mtu: link.mtu }
        }
        Setting::Rings { interface, .. } => {
            let nic = netlink(interface, |kernel| kernel.nic(interface))?;
            let rings = nic.rings.ok_or_else(|| absent(interface, "rings"))?;
            Setting::Rings { interface: interface.clone(), rx: rings.rx, tx: rings.tx }
        }
        Setting::Coalescing { interface, .. } => {
            let nic = netlink(interface, |kernel| kernel.nic(interface))?;
            let Coalescing { rx_us, adaptive } =
                nic.coalescing.ok_or_else(|| absent(interface, "coalescing"))?;
            Setting::Coalescing { interface: interface.clone(), rx_us, adaptive }
        }
        Setting::Pause { interface, .. } => {
            let nic = netlink(interface, |kernel| kernel.nic(interface))?;
            let Pause { negotiated, rx, tx } =
                nic.pause.ok_or_else(|| absent(interface, "flow control"))?;
            Setting::Pause { interface: interface.clone(), negotiated, rx, tx }
        }
    })
}

/// Restores an original value; a port that is gone needs no restoring.
pub fn restore(found: &Setting) -> Result<(), Failed> {
    match apply(found) {
        Err(fault) if is_absent(&fault) => Ok(()),
        restored => restored,
    }
}

/// True if the setting's port is gone.
pub fn is_absent(fault: &Failed) -> bool {
    fault.cause::<NetlinkError>().is_some_and(NetlinkError::is_absent)
}

/// Applies a setting.
pub fn apply(setting: &Setting) -> Result<(), Failed> {
    match setting {
        Setting::File { path, value } => {
            fs::write(path, value).map_err(Failed::to(format!("write {path}")))
        }
        Setting::Up { interface, up } => netlink(interface, |kernel| {
            let index = kernel.link(interface)?.index;
            if *up { kernel.set_up(index) } else { kernel.set_down(index) }
        }),
        Setting::Address { interface, address, prefix, present } => netlink(interface, |kernel| {
            let index = kernel.link(interface)?.index;
            if *present {
                kernel.add_address(index, *address, *prefix)
            } else {
                kernel.remove_address(index, *address, *prefix)
            }
        }),
        Setting::Mtu { interface, mtu } => netlink(interface, |kernel| {
            let index = kernel.link(interface)?.index;
            kernel.set_mtu(index, *mtu)
        }),
        Setting::Rings { interface, rx, tx } => {
            netlink(interface, |kernel| kernel.set_rings(interface, *rx, *tx))
        }
        Setting::Coalescing { interface, rx_us, adaptive } => {
            let wanted = Coalescing { rx_us: *rx_us, adaptive: *adaptive };
            netlink(interface, |kernel| kernel.set_coalescing(interface, wanted))
        }
        Setting::Pause { interface, negotiated, rx, tx } => {
            let wanted = Pause { negotiated: *negotiated, rx: *rx, tx: *tx };
            netlink(interface, |kernel| kernel.set_pause(interface, wanted))
        }
    }
}

fn netlink<T>(
    interface: &str,
    work: impl FnOnce(&mut Netlink) -> Result<T, NetlinkError>,
) -> Result<T, Failed> {
    Netlink::open()
        .and_then(|mut kernel| work(&mut kernel))
        .map_err(Failed::to(format!("set up `{interface}`")))
}

fn absent(interface: &str, what: &'static str) -> Failed {
    Failed::new(format!("set up `{interface}`: its driver tells of no {what}"))
}
