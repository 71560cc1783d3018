//! Facts about this host, as far as its kernel reports them.
//!
//! Only reads. A fact that cannot be read is left out, never guessed.

use std::fs;

use crate::protocol::{HostFacts, MachineFacts};

/// Gathers the facts about the host and the named ports.
pub fn gather(interfaces: &[String]) -> HostFacts {
    let sysctl = |name: &str| read_line(&format!("/proc/sys/{name}"));
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim())
        })
    };
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let is_hypervisors = |flags: &str| flags.split_whitespace().any(|flag| flag == "hypervisor");
    let machine = MachineFacts {
        kernel: sysctl("kernel/osrelease"),
        kernel_build: sysctl("kernel/version"),
        realtime_kernel: read_line("/sys/kernel/realtime"),
        hostname: sysctl("kernel/hostname"),
        boot_id: sysctl("kernel/random/boot_id"),
        clocksource: read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor: read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        machine: read_line("/sys/class/dmi/id/product_name"),
        tcp_congestion_control: sysctl("net/ipv4/tcp_congestion_control"),
        tcp_timestamps: sysctl("net/ipv4/tcp_timestamps"),
        rmem_max: sysctl("net/core/rmem_max"),
        wmem_max: sysctl("net/core/wmem_max"),
        netdev_max_backlog: sysctl("net/core/netdev_max_backlog"),
        cpu_model: field("model name").map(str::to_owned),
        cpus: Some(cpus).filter(|count| *count > 0),
        hypervisor: field("flags").map(is_hypervisors),
        cpus_allowed: std::thread::available_parallelism().ok().map(usize::from),
        agent_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
    };
    HostFacts { machine, ports: super::offloads::describe(interfaces) }
}

fn read_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}
