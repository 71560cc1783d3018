//! Settings of the host that were changed on request, and what they were.
//!
//! Owns the memory of what was found. Never changes what is not on the list of [`Setting`], and restores
//! in the reverse order, so that the oldest value is the one that stays.

use std::fs;

use netlink::{Coalescing, Netlink, NetlinkError, Pause};

use super::fault::AgentFault;
use super::{interrupts, leash};
use crate::protocol::Setting;

/// What was found, in the order in which it was changed.
#[derive(Default)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Whether nothing is changed.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Changes one after another.
    pub fn change(&mut self, wanted: &[Setting]) -> Result<(), AgentFault> {
        for setting in wanted {
            setting.check()?;
            if let Some(number) = setting.interrupt()
                && !interrupts::is_ours(number)
            {
                return Err(AgentFault::OthersInterrupt { number });
            }
            let before = found(setting)?;
            // A killed agent restores nothing: from here on only the other ties end it.
            leash::slacken()?;
            self.0.push(before);
            apply(setting)?;
        }
        Ok(())
    }

    /// Puts everything back, as far as it goes; the first failure is told.
    pub fn restore_all(&mut self) -> Result<(), AgentFault> {
        let mut first = Ok(());
        while let Some(before) = self.0.pop() {
            let restored = apply(&before);
            first = first.and(restored);
        }
        first
    }
}

/// The setting with the value that it has now.
fn found(setting: &Setting) -> Result<Setting, AgentFault> {
    Ok(match setting {
        Setting::File { path, .. } => {
            let text = fs::read_to_string(path).map_err(|cause| AgentFault::File {
                deed: "read",
                path: path.clone(),
                cause,
            })?;
            Setting::File { path: path.clone(), value: text.trim().to_owned() }
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

fn apply(setting: &Setting) -> Result<(), AgentFault> {
    match setting {
        Setting::File { path, value } => fs::write(path, value).map_err(|cause| AgentFault::File {
            deed: "write",
            path: path.clone(),
            cause,
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
) -> Result<T, AgentFault> {
    Netlink::open()
        .and_then(|mut kernel| work(&mut kernel))
        .map_err(|cause| AgentFault::Setting { interface: interface.to_owned(), cause })
}

fn absent(interface: &str, what: &'static str) -> AgentFault {
    AgentFault::NoSetting { interface: interface.to_owned(), what }
}
