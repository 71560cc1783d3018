//! What of this host would bear on a measurement, as far as its kernel tells.
//!
//! Only reads. Names and values are raw: what is good is the controller's to say.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use dataplane::counters::{self, ProcessTree};
use netlink::Netlink;
use nix::sys::resource::{Resource, getrlimit};

use super::facts;
use super::sysfs::{self, Sysfs};
use crate::protocol::HostFacts;

/// How long other programs are watched.
const WATCHED: Duration = Duration::from_millis(800);
const CPUS: &str = "/sys/devices/system/cpu";

/// Facts, and what else there is.
pub fn gather(interfaces: &[String]) -> HostFacts {
    let before = counters::host_beside(&ProcessTree::find());
    thread::park_timeout(WATCHED);
    let after = counters::host_beside(&ProcessTree::find());
    let mut all = facts::gather(interfaces);
    let mut add = |name: &str, value: String| drop(all.host.insert(name.to_owned(), value));
    if let (Ok(before), Ok(after)) = (before, after) {
        add("busy", format!("{:.3}", after.since(&before).busy));
        add("stolen", format!("{:.3}", after.since(&before).stolen));
    }
    add("governors", every_cpu("cpufreq/scaling_governor"));
    add("idle_states", idle_states());
    add("clocksources", line("/sys/devices/system/clocksource/clocksource0/available_clocksource"));
    if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_MEMLOCK) {
        add("memlock", soft.to_string());
    }
    let privileges = line_of("/proc/self/status", "CapEff:");
    add("capabilities", privileges);
    let ports = sysfs::look(|sysfs| {
        let Ok(mut kernel) = Netlink::open() else { return Vec::new() };
        let of = |name: &String| (name.clone(), of_port(&mut kernel, sysfs, name));
        interfaces.iter().map(of).collect()
    });
    for (name, facts) in ports {
        all.ports.entry(name).or_default().extend(facts);
    }
    all.host.retain(|_, value| !value.is_empty());
    all
}

/// What the card is set to, where it stands, and its addresses.
fn of_port(kernel: &mut Netlink, sysfs: Sysfs, name: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut add = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(key.to_owned(), value);
        }
    };
    if let Ok(nic) = kernel.nic(name) {
        add("speed_mbits", nic.speed_mbits.map(|speed| speed.to_string()));
        add("duplex", nic.full_duplex.map(|full| if full { "full" } else { "half" }.to_owned()));
        if let Some(rings) = nic.rings {
            add(
                "rings",
                Some(format!("{} {} {} {}", rings.rx, rings.rx_max, rings.tx, rings.tx_max)),
            );
        }
        if let Some(coalescing) = nic.coalescing {
            add("coalescing", Some(format!("{} {}", coalescing.rx_us, coalescing.adaptive)));
        }
        if let Some(pause) = nic.pause {
            add("pause", Some(format!("{} {} {}", pause.negotiated, pause.rx, pause.tx)));
        }
        add("stamping", Some(nic.stamping.join(" ")));
        add("phc", nic.phc.filter(|phc| *phc != u32::MAX).map(|phc| phc.to_string()));
    }
    if let Ok(link) = kernel.link(name) {
        add("up", Some(link.up.to_string()));
        add("carrier", Some(link.carrier.to_string()));
    }
    let device = |file: &str| Some(line(&format!("{}/device/{file}", sysfs.port(name)?)));
    add("numa_node", device("numa_node"));
    add("numa_processors", device("local_cpulist"));
    let own = nix::ifaddrs::getifaddrs().into_iter().flatten().filter(|i| i.interface_name == name);
    let v4 = own.filter_map(|i| Some(i.address?.as_sockaddr_in()?.ip().to_string()));
    add("addresses", Some(v4.collect::<Vec<_>>().join(" ")));
    facts
}

/// Each value that processors have there, once: `performance powersave`.
fn every_cpu(file: &str) -> String {
    let mut values: Vec<String> =
        processors().iter().map(|cpu| line(&format!("{CPUS}/{cpu}/{file}"))).collect();
    values.sort_unstable();
    values.dedup();
    values.retain(|value| !value.is_empty());
    values.join(" ")
}

fn processors() -> Vec<String> {
    entries(CPUS)
        .into_iter()
        .filter(|name| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok()))
        .collect()
}

/// The first processor's enabled idle states, each with the microseconds that waking from it takes.
fn idle_states() -> String {
    let folder = format!("{CPUS}/cpu0/cpuidle");
    let mut states = entries(&folder);
    states.sort_unstable();
    let told = states.iter().filter(|state| line(&format!("{folder}/{state}/disable")) == "0");
    told.map(|state| format!("{state}={}", line(&format!("{folder}/{state}/latency"))))
        .collect::<Vec<_>>()
        .join(" ")
}

fn entries(folder: &str) -> Vec<String> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    read.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn line(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn line_of(path: &str, key: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let found = text.lines().find_map(|line| line.strip_prefix(key));
    found.map(|value| value.trim().to_owned()).unwrap_or_default()
}
