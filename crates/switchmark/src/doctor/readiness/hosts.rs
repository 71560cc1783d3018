//! Properties of a host that affect a measurement: processors, clock, memory, other programs.
//!
//! Pure. Never asks the host.

use agents::protocol::Examination;

use super::{Finding, State, file};

/// Waking from a deeper sleep than this shows in round trips.
const WAKING_US: u64 = 10;
/// Socket buffers that an agent may ask for without privileges.
const BUFFER_OCTETS: u64 = 8 << 20;
/// An AF_XDP socket's memory.
const MEMLOCK_OCTETS: u64 = 64 << 20;
/// Capabilities of `linux/capability.h`.
const CAP_NET_ADMIN: u32 = 12;
pub(super) const CAP_NET_RAW: u32 = 13;
/// Capability to lock memory, of `linux/capability.h`.
const CAP_IPC_LOCK: u32 = 14;
/// A share of the processors that others may take.
pub(in crate::doctor) const BUSY: f64 = 0.10;
/// Clock sources that are read without leaving the processor.
const QUICK_CLOCKS: [&str; 4] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];

pub(super) fn of_host(host: &str, known: &Examination) -> Vec<Finding> {
    vec![
        governor(host, known),
        idle(host, known),
        clock_source(host, known),
        buffers(host, "rmem_max", known.rmem_max, known),
        buffers(host, "wmem_max", known.wmem_max, known),
        memlock(host, known),
        privileges(host, known),
        load(host, known),
    ]
}

fn governor(host: &str, known: &Examination) -> Finding {
    const CHECK: &str = "processor governor";
    if known.governors.is_empty() {
        return Finding::new(
            host,
            CHECK,
            State::Unknown,
            "no cpufreq here: firmware or a hypervisor decides",
        );
    }
    let governors = known.governors.join(" ");
    if governors == "performance" {
        return Finding::new(host, CHECK, State::Good, governors);
    }
    let cpus = known.cpus.unwrap_or(1);
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let settings = (0..cpus).map(|cpu| file(&path(cpu), "performance")).collect();
    Finding::new(
        host,
        CHECK,
        State::Doubtful,
        format!("{governors}: the clock rate changes in a trial"),
    )
    .fixed_by(
        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        settings,
    )
}

fn idle(host: &str, known: &Examination) -> Finding {
    const CHECK: &str = "idle states";
    if known.idle_states.is_empty() {
        return Finding::new(host, CHECK, State::Unknown, "no cpuidle here, or all states are off");
    }
    let all = known.idle_states.iter().map(|state| format!("{}={}", state.name, state.wake_us));
    let states = all.collect::<Vec<_>>().join(" ");
    let deep = known.idle_states.iter().filter(|state| state.wake_us > WAKING_US);
    let deep: Vec<&str> = deep.map(|state| state.name.as_str()).collect();
    if deep.is_empty() {
        return Finding::new(host, CHECK, State::Good, states);
    }
    let cpus = known.cpus.unwrap_or(1);
    let path = |cpu, state| format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/{state}/disable");
    let settings = (0..cpus)
        .flat_map(|cpu| deep.iter().map(move |state| file(&path(cpu, state), "1")))
        .collect();
    let found = format!("{states} (µs to wake): more than {WAKING_US} µs shows in round trips");
    let command =
        format!("echo 1 | tee /sys/devices/system/cpu/cpu*/cpuidle/{{{}}}/disable", deep.join(","));
    Finding::new(host, CHECK, State::Doubtful, found).fixed_by(command, settings)
}

fn clock_source(host: &str, known: &Examination) -> Finding {
    const CHECK: &str = "clock source";
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Some(now) = &known.clock_source else {
        return Finding::new(host, CHECK, State::Unknown, "the kernel does not tell");
    };
    if QUICK_CLOCKS.contains(&now.as_str()) {
        return Finding::new(host, CHECK, State::Good, now);
    }
    let better =
        QUICK_CLOCKS.iter().find(|clock| known.clock_sources.iter().any(|one| one == **clock));
    let finding =
        Finding::new(host, CHECK, State::Bad, format!("{now}: reading it takes microseconds"));
    match better {
        Some(better) => {
            finding.fixed_by(format!("echo {better} > {FILE}"), vec![file(FILE, better)])
        }
        None => finding,
    }
}

fn buffers(host: &str, name: &'static str, octets: Option<u64>, known: &Examination) -> Finding {
    let check = if name == "rmem_max" { "receive buffers" } else { "send buffers" };
    let Some(octets) = octets else {
        return Finding::new(
            host,
            check,
            State::Unknown,
            format!("net.core.{name} is not told in this namespace"),
        );
    };
    if octets >= BUFFER_OCTETS {
        return Finding::new(host, check, State::Good, format!("{octets} octets"));
    }
    let capable = has(known, CAP_NET_ADMIN);
    let path = format!("/proc/sys/net/core/{name}");
    let (state, why) = if capable {
        (State::Good, "; the agent's privileges exceed it")
    } else {
        (State::Doubtful, ": a burst that the processor takes late is lost")
    };
    let finding = Finding::new(host, check, state, format!("{octets} octets{why}"));
    if capable {
        return finding;
    }
    finding.fixed_by(
        format!("sysctl -w net.core.{name}={BUFFER_OCTETS}"),
        vec![file(&path, &BUFFER_OCTETS.to_string())],
    )
}

/// True if the agent has a capability, by its number.
pub(super) fn has(known: &Examination, capability: u32) -> bool {
    known.capabilities >> capability & 1 == 1
}

fn memlock(host: &str, known: &Examination) -> Finding {
    const CHECK: &str = "locked memory";
    match known.memlock {
        None => Finding::new(host, CHECK, State::Unknown, "the limit cannot be read"),
        Some(octets) if octets >= MEMLOCK_OCTETS => {
            Finding::new(host, CHECK, State::Good, "enough")
        }
        Some(octets) if has(known, CAP_IPC_LOCK) => {
            let found = format!("{octets} octets; the agent's privileges exceed it");
            Finding::new(host, CHECK, State::Good, found)
        }
        Some(octets) => {
            let found =
                format!("{octets} octets may be locked: AF_XDP sockets need {MEMLOCK_OCTETS}");
            Finding::new(host, CHECK, State::Doubtful, found)
                .fixed_by("ulimit -l unlimited", Vec::new())
        }
    }
}

/// Offloads are turned off for every trial, and counters read, which takes the right to.
fn privileges(host: &str, known: &Examination) -> Finding {
    const CHECK: &str = "privileges";
    let on = known.ports.values().any(|port| !port.offloads.is_empty());
    if has(known, CAP_NET_ADMIN) {
        return Finding::new(host, CHECK, State::Good, "the agent may set up ports");
    }
    if !on {
        return Finding::new(host, CHECK, State::Doubtful, "the agent may not set up ports");
    }
    let found = "the agent may not set up ports (no CAP_NET_ADMIN): offloads and addresses stay as \
                 they are";
    Finding::new(host, CHECK, State::Bad, found).fixed_by(
        "run switchmark as root (in a container with --cap-add=NET_ADMIN), log in as root, or, by \
         ssh, write become = \"sudo -n\"",
        Vec::new(),
    )
}

fn load(host: &str, known: &Examination) -> Finding {
    const CHECK: &str = "other load";
    let Examination { busy, stolen, .. } = *known;
    let found = format!(
        "processors {:.0} % busy, {:.0} % taken by a hypervisor",
        busy * 100.0,
        stolen * 100.0
    );
    if busy + stolen <= BUSY {
        return Finding::new(host, CHECK, State::Good, found);
    }
    Finding::new(host, CHECK, State::Doubtful, found).fixed_by("top -b -n 1 | head -20", Vec::new())
}
