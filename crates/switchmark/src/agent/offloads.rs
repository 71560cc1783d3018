//! Segmentation and receive offloads: turned off for a trial, put back afterwards.
//!
//! Owns the memory of what was found, and what the ports are. Never changes a feature that it was not
//! told to, and never forgets one that it could not restore.

use std::collections::BTreeMap;

use netlink::{Netlink, NetlinkError, PreviousFeatures};

use super::fault::AgentFault;
use super::leash;
use super::sysfs::{self, Sysfs};

/// By port, each feature that was changed, and its state now.
pub type Changed = BTreeMap<String, BTreeMap<String, bool>>;

/// What was found on the ports whose offloads are off.
#[derive(Default)]
pub struct Offloads(BTreeMap<String, PreviousFeatures>);

impl Offloads {
    /// Turns off whatever merges or splits frames. A port whose offloads are off already costs
    /// nothing, so that every trial may ask.
    pub fn turn_off(&mut self, interfaces: &[String]) -> Result<Changed, AgentFault> {
        let mut changed = Changed::new();
        for name in interfaces {
            if self.0.contains_key(name) {
                continue;
            }
            // A killed agent restores nothing: from here on only the end of stdin ends it.
            leash::slacken()?;
            let previous = Netlink::open()
                .and_then(|mut netlink| netlink.offloads_off(name))
                .map_err(fault("turn off", name))?;
            changed.insert(name.clone(), states(&previous, |_| false));
            self.0.insert(name.clone(), previous);
        }
        Ok(changed)
    }

    /// Puts back what was found on these ports.
    pub fn restore(&mut self, interfaces: &[String]) -> Result<Changed, AgentFault> {
        let mut changed = Changed::new();
        for name in interfaces {
            let Some(previous) = self.0.get(name) else { continue };
            Netlink::open()
                .and_then(|mut netlink| netlink.restore(name, previous))
                .map_err(fault("restore", name))?;
            changed.insert(name.clone(), states(previous, |was| was));
            self.0.remove(name);
        }
        Ok(changed)
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts everything back, as far as it goes; the first failure is told.
    pub fn restore_all(&mut self) -> Result<(), AgentFault> {
        let names: Vec<String> = self.0.keys().cloned().collect();
        let mut first = Ok(());
        for name in &names {
            let restored = self.restore(std::slice::from_ref(name)).map(drop);
            first = first.and(restored);
        }
        first
    }
}

fn states(previous: &PreviousFeatures, now: impl Fn(bool) -> bool) -> BTreeMap<String, bool> {
    previous.changed.iter().map(|(feature, was)| (feature.clone(), now(*was))).collect()
}

fn fault(deed: &'static str, interface: &str) -> impl FnOnce(NetlinkError) -> AgentFault {
    let interface = interface.to_owned();
    move |cause| AgentFault::Offloads { deed, interface, cause }
}

/// What each port is: `driver`, `mtu`, `mac`, its offload features, queues and interrupts. A port that can't be read is described
/// by nothing.
pub fn describe(interfaces: &[String]) -> BTreeMap<String, BTreeMap<String, String>> {
    sysfs::look(|sysfs| {
        let Ok(mut netlink) = Netlink::open() else { return BTreeMap::new() };
        interfaces
            .iter()
            .map(|name| (name.clone(), describe_one(&mut netlink, sysfs, name)))
            .filter(|(_, facts)| !facts.is_empty())
            .collect()
    })
}

fn describe_one(netlink: &mut Netlink, sysfs: Sysfs, name: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if let Ok(link) = netlink.link(name) {
        facts.insert("mtu".into(), link.mtu.to_string());
        facts.insert("running".into(), link.running.to_string());
        if let Some(mac) = link.mac {
            let octets = mac.map(|octet| format!("{octet:02x}"));
            facts.insert("mac".into(), octets.join(":"));
        }
        if let Some(driver) = link.kind.or_else(|| hardware_driver(sysfs, name)) {
            facts.insert("driver".into(), driver);
        }
    }
    if let Ok(features) = netlink.features(name) {
        let offloads = features.into_iter().filter(|(name, _)| netlink::Offloads::covers(name));
        for (feature, on) in offloads {
            facts.insert(feature, if on { "on" } else { "off" }.into());
        }
    }
    facts.extend(super::interrupts::describe(sysfs, name));
    facts
}

/// The driver behind a port that is hardware.
fn hardware_driver(sysfs: Sysfs, interface: &str) -> Option<String> {
    let link = std::fs::read_link(format!("{}/device/driver", sysfs.port(interface)?)).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}
