//! Segmentation and receive offloads: turned off for a trial, restored afterwards.
//!
//! Owns the ports' offloads; [`super::found`] records their original state. Never changes a feature
//! without an order.

use std::collections::BTreeMap;

use netlink::{Netlink, NetlinkError};

use super::found::{Found, Notes};
use super::sysfs::{self, Sysfs};
use super::{examine, interrupts};
use crate::failed::Failed;
use crate::protocol::{Feature, PortFacts};

/// Turns off everything that merges or splits frames. Ports whose offloads are already off cost
/// nothing, so every trial may ask.
pub fn turn_off(notes: &mut Notes, interfaces: &[String]) -> Result<(), Failed> {
    for name in interfaces {
        if notes.has(|found| is_of(found, name)) {
            continue;
        }
        let mut kernel = Netlink::open().map_err(fault("turn off", name))?;
        let before = kernel.offloads_to_turn_off(name).map_err(fault("turn off", name))?.changed;
        let port = kernel.link(name).map_err(fault("turn off", name))?.index;
        notes.note(Found::Offloads { interface: name.clone(), port, features: before })?;
        kernel.offloads_off(name).map_err(fault("turn off", name))?;
    }
    Ok(())
}

/// Restores the original offloads of these ports.
pub fn restore(notes: &mut Notes, interfaces: &[String]) -> Result<(), Failed> {
    notes.undo_those(|found| interfaces.iter().any(|name| is_of(found, name)))
}

fn is_of(found: &Found, interface: &str) -> bool {
    matches!(found, Found::Offloads { interface: of, .. } if of == interface)
}

fn fault(deed: &'static str, interface: &str) -> impl FnOnce(NetlinkError) -> Failed {
    Failed::to(format!("{deed} offloads of `{interface}`"))
}

/// Describes ports by name: their links, offload features, queues and interrupts. A port that
/// cannot be read is absent.
pub fn describe(interfaces: &[String]) -> BTreeMap<String, PortFacts> {
    sysfs::look(|sysfs| {
        let Ok(mut netlink) = Netlink::open() else { return BTreeMap::new() };
        interfaces
            .iter()
            .map(|name| (name.clone(), describe_one(&mut netlink, sysfs, name)))
            .filter(|(_, facts)| *facts != PortFacts::default())
            .collect()
    })
}

fn describe_one(netlink: &mut Netlink, sysfs: Sysfs, name: &str) -> PortFacts {
    let mut facts = interrupts::describe(sysfs, name);
    if let Ok(link) = netlink.link(name) {
        facts.mtu = Some(link.mtu);
        facts.running = Some(link.running);
        facts.mac = examine::to_message(&link).mac;
        facts.driver = link.kind.or_else(|| sysfs.driver(name));
    }
    let features = netlink.features(name).unwrap_or_default();
    let offloads = features.into_iter().filter(|(name, _)| netlink::Offloads::covers(name));
    let state = |on| if on { Feature::On } else { Feature::Off };
    facts.offloads = offloads.map(|(name, on)| (name, state(on))).collect();
    facts
}
