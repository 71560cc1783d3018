//! Which processors a port's interrupts go to, and how many queues it has: what decides whether the
//! sender's processor is also the one that takes frames in.
//!
//! Only reads. A virtual port has queues and no interrupts.

use std::collections::BTreeMap;
use std::fs;

/// `queues_rx`, `queues_tx` and `interrupts` (`24 on 0; 25 on 0-1`), as far as they are known.
pub fn describe(interface: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for way in ["rx", "tx"] {
        let queues = entries(&format!("/sys/class/net/{interface}/queues"));
        let count = queues.iter().filter(|queue| queue.starts_with(way)).count();
        if count > 0 {
            facts.insert(format!("queues_{way}"), count.to_string());
        }
    }
    let table = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let mut numbers = named(&table, &names_of(interface));
    numbers.extend(of_its_own(interface));
    numbers.sort_unstable();
    numbers.dedup();
    let places: Vec<String> = numbers
        .iter()
        .filter_map(|number| {
            let path = format!("/proc/irq/{number}/smp_affinity_list");
            Some(format!("{number} on {}", fs::read_to_string(path).ok()?.trim()))
        })
        .collect();
    if !places.is_empty() {
        facts.insert("interrupts".into(), places.join("; "));
    }
    facts
}

fn entries(directory: &str) -> Vec<String> {
    let read = fs::read_dir(directory).into_iter().flatten().flatten();
    read.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// What a driver may call its interrupts after: the port, or the device behind it.
fn names_of(interface: &str) -> Vec<String> {
    let device = fs::read_link(format!("/sys/class/net/{interface}/device")).ok();
    let device = device.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    // A port without a device has no interrupts, whatever else bears its name.
    device.map_or_else(Vec::new, |device| vec![interface.to_owned(), device])
}

/// Message-signalled interrupts of the port's device, or of the one that this stands on.
fn of_its_own(interface: &str) -> Vec<u32> {
    let device = format!("/sys/class/net/{interface}/device");
    ["msi_irqs", "../msi_irqs"]
        .iter()
        .flat_map(|place| entries(&format!("{device}/{place}")))
        .filter_map(|name| name.parse().ok())
        .collect()
}

/// Numbers of the lines of `/proc/interrupts` whose last word begins with one of the names, alone or
/// before a mark: `eth1-rx-0`, `virtio2-input.0`.
fn named(table: &str, names: &[String]) -> Vec<u32> {
    let is_ours = |word: &str| {
        names.iter().any(|name| {
            word.strip_prefix(name.as_str())
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        })
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
                     25:          1          0   PCI-MSI 65537-edge      eth10-rx-0\n \
                     26:          1          0   IO-APIC  virtio2-input.0\nNMI:          0          0   Non-maskable interrupts\n";
        let names = ["eth1".to_owned(), "virtio2".to_owned()];
        assert_eq!(named(table, &names), [24, 26]);
        assert_eq!(named(table, &[]), [0_u32; 0]);
    }
}
