//! Facts about this host that affect a measurement, as far as its kernel reports them.
//!
//! Only reads. The controller judges them.

use std::fs;
use std::thread;
use std::time::Duration;

use dataplane::counters::{self, ProcessTree};
use dataplane::opening::ip;
use netlink::Netlink;
use nix::sys::resource::{Resource, getrlimit};
use trial::record::Usage;

use super::interrupts;
use super::sysfs::{self, Sysfs};
use crate::protocol::{Examination, IdleState, Link, PortExamination};

const CPUS: &str = "/sys/devices/system/cpu";
const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0";

/// Maximum time for watching other programs.
const LONGEST_WATCH: Duration = Duration::from_secs(5);

/// Examines the host and these ports; other programs' processor use is measured for `watched`.
pub fn gather(interfaces: &[String], watched: Duration) -> Examination {
    let usage = if watched.is_zero() { Usage::default() } else { watch(watched) };
    let processors = processors();
    let ports = sysfs::look(|sysfs| {
        let Ok(mut kernel) = Netlink::open() else { return Vec::new() };
        let of = |name: &String| (name.clone(), of_port(&mut kernel, sysfs, name));
        interfaces.iter().map(of).collect()
    });
    Examination {
        cpus: Some(processors.len()).filter(|count| *count > 0),
        governors: every_cpu(&processors, "cpufreq/scaling_governor"),
        idle_states: idle_states(),
        clock_source: Some(line(&format!("{CLOCKS}/current_clocksource")))
            .filter(|name| !name.is_empty()),
        clock_sources: words(&line(&format!("{CLOCKS}/available_clocksource"))),
        rmem_max: line("/proc/sys/net/core/rmem_max").parse().ok(),
        wmem_max: line("/proc/sys/net/core/wmem_max").parse().ok(),
        memlock: getrlimit(Resource::RLIMIT_MEMLOCK).ok().map(|(soft, _)| soft),
        capabilities: capabilities(),
        busy: usage.busy,
        stolen: usage.stolen,
        ports: ports.into_iter().collect(),
    }
}

/// Measures other programs' use of the processors.
fn watch(span: Duration) -> Usage {
    let before = counters::host_beside(&ProcessTree::find());
    thread::park_timeout(span.min(LONGEST_WATCH));
    let after = counters::host_beside(&ProcessTree::find());
    match (before, after) {
        (Ok(before), Ok(after)) => after.since(&before),
        _ => Usage::default(),
    }
}

/// Examines a port: its card's settings, its location, and its addresses.
fn of_port(kernel: &mut Netlink, sysfs: Sysfs, name: &str) -> PortExamination {
    let link = kernel.link(name).ok();
    let kind = link.as_ref().and_then(|link| link.kind.clone());
    let device = |file: &str| Some(line(&format!("{}/device/{file}", sysfs.port(name)?)));
    let node = device("numa_node").and_then(|node| node.parse().ok());
    let own = nix::ifaddrs::getifaddrs().into_iter().flatten().filter(|i| i.interface_name == name);
    let features = kernel.features(name).unwrap_or_default();
    let offloads = features.into_iter().filter(|(name, on)| *on && netlink::Offloads::covers(name));
    let lower = link.as_ref().filter(|link| link.is_tunnel()).and_then(|link| link.lower);
    let underlay_mtu = lower.and_then(|index| {
        kernel.links().ok()?.into_iter().find(|link| link.index == index).map(|link| link.mtu)
    });
    PortExamination {
        link: link.as_ref().map(|link| Link { underlay_mtu, ..to_message(link) }),
        addresses: own.filter_map(|i| ip(&i.address?)).collect(),
        nic: kernel.nic(name).unwrap_or_default(),
        driver: kind.or_else(|| sysfs.driver(name)),
        firmware: counters::firmware(name),
        offloads: offloads.map(|(name, _)| name).collect(),
        interrupts: interrupts::of_interface(sysfs, name),
        numa: node.map(|node| (node, device("local_cpulist").unwrap_or_default())),
    }
}

/// Converts a link to its form in messages.
pub fn to_message(link: &netlink::Link) -> Link {
    let (up, carrier, mtu) = (link.up, link.carrier, link.mtu);
    let mac = link.mac.map(|mac| mac.map(|octet| format!("{octet:02x}")).join(":"));
    Link { up, carrier, mtu, mac, tunnel: link.is_tunnel(), underlay_mtu: None }
}

/// Lists the distinct values of a file across processors: `performance powersave`.
fn every_cpu(processors: &[String], file: &str) -> Vec<String> {
    let mut values: Vec<String> =
        processors.iter().map(|cpu| line(&format!("{CPUS}/{cpu}/{file}"))).collect();
    values.sort_unstable();
    values.dedup();
    values.retain(|value| !value.is_empty());
    values
}

fn processors() -> Vec<String> {
    entries(CPUS)
        .into_iter()
        .filter(|name| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok()))
        .collect()
}

/// Lists the first processor's enabled idle states.
fn idle_states() -> Vec<IdleState> {
    let folder = format!("{CPUS}/cpu0/cpuidle");
    let mut states = entries(&folder);
    states.sort_unstable();
    states.retain(|state| line(&format!("{folder}/{state}/disable")) == "0");
    let waking = |name: String| {
        let wake_us = line(&format!("{folder}/{name}/latency")).parse().ok()?;
        Some(IdleState { name, wake_us })
    };
    states.into_iter().filter_map(waking).collect()
}

fn capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn entries(folder: &str) -> Vec<String> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    read.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn line(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}
