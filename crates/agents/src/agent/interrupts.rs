//! Processors that handle a port's interrupts, and its number of queues. They decide whether the
//! sender's processor also receives frames.
//!
//! Only reads. A virtual port has queues and no interrupts. Interrupts belong to the machine, ports
//! to a network namespace: only those of the port's own device count.

use std::fs;

use netlink::Netlink;

use super::sysfs::{self, Sysfs};
use crate::protocol::{Interrupt, PortFacts};

/// Reads a port's queues and interrupts, as far as they are known.
pub fn describe(sysfs: Sysfs, interface: &str) -> PortFacts {
    let Some(port) = sysfs.port(interface) else { return PortFacts::default() };
    let queues = entries(&format!("{port}/queues"));
    let count = |way| {
        let count = queues.iter().filter(|queue| queue.starts_with(way)).count();
        Some(count).filter(|count| *count > 0)
    };
    let told = |one: Interrupt| format!("{} on {}", one.number, one.processors);
    let places: Vec<String> = of_interface(sysfs, interface).into_iter().map(told).collect();
    PortFacts {
        queues_rx: count("rx"),
        queues_tx: count("tx"),
        interrupts: Some(places.join("; ")).filter(|places| !places.is_empty()),
        ..PortFacts::default()
    }
}

/// Lists the interrupts of a port's device, each with the processors that handle it.
pub fn of_interface(sysfs: Sysfs, interface: &str) -> Vec<Interrupt> {
    let Some(port) = sysfs.port(interface) else { return Vec::new() };
    let place = |number: u32| {
        let path = format!("/proc/irq/{number}/smp_affinity_list");
        let processors = fs::read_to_string(path).ok()?.trim().to_owned();
        Some(Interrupt { number, processors })
    };
    of_port(&port).into_iter().filter_map(place).collect()
}

/// True if an interrupt belongs to a port in this network namespace.
pub fn is_ours(number: u32) -> bool {
    let links = Netlink::open().and_then(|mut kernel| kernel.links()).unwrap_or_default();
    sysfs::look(|sysfs| {
        let mut ports = links.iter().filter_map(|link| sysfs.port(&link.name));
        ports.any(|port| of_port(&port).contains(&number))
    })
}

/// Lists the numbers of a port's interrupts: those of its device, and those with its device's name.
/// A port's name is not enough: one in another namespace may have it too.
fn of_port(port: &str) -> Vec<u32> {
    let device = format!("{port}/device");
    let Ok(path) = fs::read_link(&device) else { return Vec::new() };
    let mut numbers: Vec<u32> = ["msi_irqs", "../msi_irqs"]
        .iter()
        .flat_map(|place| entries(&format!("{device}/{place}")))
        .filter_map(|name| name.parse().ok())
        .collect();
    if let Some(name) = path.file_name() {
        let table = fs::read_to_string("/proc/interrupts").unwrap_or_default();
        numbers.extend(named(&table, &name.to_string_lossy()));
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn entries(directory: &str) -> Vec<String> {
    let read = fs::read_dir(directory).into_iter().flatten().flatten();
    read.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Finds the lines of `/proc/interrupts` whose last word is the name, alone or followed by a
/// separator: `virtio2-input.0`. Returns their numbers.
fn named(table: &str, name: &str) -> Vec<u32> {
    let is_ours = |word: &str| {
        word.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    table
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let number = number.trim().parse().ok()?;
            rest.split_whitespace().next_back().is_some_and(is_ours).then_some(number)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_by_their_last_word() {
        let table = "           CPU0       CPU1\n  1:          0          9   IO-APIC   1-edge      i8042\n \
                     24:          1          0   PCI-MSI 65536-edge      eth1-rx-0\n \
                     25:          1          0   PCI-MSI 65537-edge      virtio20-input.0\n \
                     26:          1          0   IO-APIC  virtio2-input.0\nNMI:          0          0   Non-maskable interrupts\n";
        assert_eq!(named(table, "virtio2"), [26]);
        assert_eq!(named(table, "0000:00:03.0"), [0_u32; 0]);
    }

    #[test]
    fn an_interrupt_of_no_port_is_not_ours() {
        assert!(!is_ours(u32::MAX));
    }
}
