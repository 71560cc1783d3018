//! What this host is, as far as its kernel tells.
//!
//! Only reads. What can't be read is left out: a fact is never guessed.

use std::collections::BTreeMap;
use std::fs;

use crate::protocol::{BOOT_ID, HostFacts};

/// One file, one fact.
const FILES: &[(&str, &str)] = &[
    ("kernel", "/proc/sys/kernel/osrelease"),
    ("kernel_build", "/proc/sys/kernel/version"),
    ("realtime_kernel", "/sys/kernel/realtime"),
    ("hostname", "/proc/sys/kernel/hostname"),
    (BOOT_ID, "/proc/sys/kernel/random/boot_id"),
    ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("machine", "/sys/class/dmi/id/product_name"),
    ("tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"),
    ("tcp_timestamps", "/proc/sys/net/ipv4/tcp_timestamps"),
    ("rmem_max", "/proc/sys/net/core/rmem_max"),
    ("wmem_max", "/proc/sys/net/core/wmem_max"),
    ("netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog"),
];

/// Everything known of the host and of the named ports.
pub fn gather(interfaces: &[String]) -> HostFacts {
    let mut host = BTreeMap::new();
    for (name, path) in FILES {
        if let Some(value) = read_line(path) {
            host.insert((*name).to_owned(), value);
        }
    }
    host.extend(processors());
    if let Ok(cpus) = std::thread::available_parallelism() {
        host.insert("cpus_allowed".into(), cpus.to_string());
    }
    host.insert("agent_version".into(), env!("CARGO_PKG_VERSION").into());
    HostFacts { host, ports: super::offloads::describe(interfaces) }
}

fn read_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Model and number of the processors, and whether they are a hypervisor's.
fn processors() -> BTreeMap<String, String> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let mut facts = BTreeMap::new();
    if let Some(model) = field("model name") {
        facts.insert("cpu_model".into(), model);
    }
    let count = text.lines().filter(|l| l.starts_with("processor")).count();
    if count > 0 {
        facts.insert("cpus".into(), count.to_string());
    }
    if let Some(flags) = field("flags") {
        let virtual_machine = flags.split_whitespace().any(|flag| flag == "hypervisor");
        facts.insert("hypervisor".into(), virtual_machine.to_string());
    }
    facts
}
