//! What of a test port bears on a measurement: its link, its card's settings, where it stands.
//!
//! Pure. Never asks the host.

use trial::topology::HostPort;

use super::{Finding, State, Told, file, number};
use crate::protocol::Setting;

pub(super) fn of_port(place: &str, port: &HostPort, told: &Told) -> Vec<Finding> {
    let interface = port.interfaces.first().map_or(port.name.as_str(), String::as_str);
    let Some(up) = told.get("up") else {
        let found = format!("there is no interface `{interface}`");
        return vec![
            Finding::new(place, "link", State::Bad, found).fixed_by("ip link show", Vec::new()),
        ];
    };
    vec![
        link(place, interface, up == "true", told),
        address(place, interface, port, told),
        speed(place, interface, port, told),
        offloads(place, interface, told),
        rings(place, interface, told),
        coalescing(place, interface, told),
        pause(place, interface, told),
        interrupts(place, told),
        numa(place, told),
        stamps(place, interface, told),
    ]
}

fn link(place: &str, interface: &str, up: bool, told: &Told) -> Finding {
    if !up {
        return Finding::new(place, "link", State::Bad, "the interface is down")
            .fixed_by(format!("ip link set dev {interface} up"), Vec::new());
    }
    if told.get("carrier").is_some_and(|carrier| carrier == "true") {
        return Finding::new(place, "link", State::Good, "up, with a far end");
    }
    Finding::new(place, "link", State::Bad, "no carrier: plug the cable in, or set its far end up")
}

fn address(place: &str, interface: &str, port: &HostPort, told: &Told) -> Finding {
    let wanted = port.address.to_string();
    let have = told.get("addresses").map(String::as_str).unwrap_or_default();
    if have.split_whitespace().any(|own| own == wanted) {
        return Finding::new(place, "address", State::Good, wanted);
    }
    let found = format!(
        "{wanted} is not there; the interface has: {}",
        if have.is_empty() { "none" } else { have }
    );
    Finding::new(place, "address", State::Bad, found)
        .fixed_by(format!("ip address add {wanted}/24 dev {interface}"), Vec::new())
}

fn speed(place: &str, interface: &str, port: &HostPort, told: &Told) -> Finding {
    const CHECK: &str = "speed and duplex";
    let speed = number::<u32>(told, "speed_mbits");
    let said = speed.map_or_else(|| "no speed".to_owned(), |speed| format!("{speed} Mbit/s"));
    if told.get("duplex").is_some_and(|duplex| duplex == "half") {
        return Finding::new(
            place,
            CHECK,
            State::Bad,
            format!("{said}, half duplex: the two ends disagree"),
        )
        .fixed_by(format!("ethtool -s {interface} autoneg on"), Vec::new());
    }
    let stated = port.rate.map(|rate| rate.bits_per_second() / 1e6);
    match (speed, stated) {
        (Some(speed), Some(stated)) if (f64::from(speed) - stated).abs() > 0.5 => {
            let found = format!("{said}; the testbed file says {stated} Mbit/s");
            Finding::new(place, CHECK, State::Bad, found).fixed_by(
                format!("ethtool -s {interface} speed {stated:.0} duplex full autoneg on"),
                Vec::new(),
            )
        }
        (None, _) => Finding::new(place, CHECK, State::Unknown, "the driver does not tell"),
        _ => Finding::new(place, CHECK, State::Good, said),
    }
}

fn offloads(place: &str, interface: &str, told: &Told) -> Finding {
    let on: Vec<&str> = told
        .iter()
        .filter(|(name, value)| netlink::Offloads::covers(name) && *value == "on")
        .map(|(name, _)| name.as_str())
        .collect();
    if on.is_empty() {
        return Finding::new(place, "offloads", State::Good, "none merges or splits frames");
    }
    let found = format!("{} on: each trial turns them off and puts them back", on.len());
    Finding::new(place, "offloads", State::Good, found)
        .fixed_by(format!("ethtool -K {interface} tso off gso off gro off lro off"), Vec::new())
}

/// The words of a fact, as numbers or truths.
fn words<const N: usize>(told: &Told, key: &str) -> Option<[String; N]> {
    let all: Vec<String> = told.get(key)?.split_whitespace().map(str::to_owned).collect();
    all.try_into().ok()
}

fn rings(place: &str, interface: &str, told: &Told) -> Finding {
    let Some([rx, rx_max, tx, tx_max]) = words::<4>(told, "rings") else {
        return Finding::new(
            place,
            "rings",
            State::Unknown,
            "the driver has none, or does not tell",
        );
    };
    let found = format!("{rx} of {rx_max} received, {tx} of {tx_max} sent");
    if rx == rx_max && tx == tx_max {
        return Finding::new(place, "rings", State::Good, found);
    }
    let wanted = (rx_max.parse().unwrap_or(0), tx_max.parse().unwrap_or(0));
    let setting = Setting::Rings { interface: interface.to_owned(), rx: wanted.0, tx: wanted.1 };
    Finding::new(place, "rings", State::Doubtful, format!("{found}: a burst may overflow them"))
        .fixed_by(format!("ethtool -G {interface} rx {rx_max} tx {tx_max}"), vec![setting])
}

fn coalescing(place: &str, interface: &str, told: &Told) -> Finding {
    const CHECK: &str = "coalescing";
    let Some([rx_us, adaptive]) = words::<2>(told, "coalescing") else {
        return Finding::new(place, CHECK, State::Unknown, "the driver has none, or does not tell");
    };
    if rx_us == "0" && adaptive == "false" {
        return Finding::new(place, CHECK, State::Good, "off");
    }
    let how = if adaptive == "true" { ", and changes by itself" } else { "" };
    let setting =
        Setting::Coalescing { interface: interface.to_owned(), rx_us: 0, adaptive: false };
    Finding::new(place, CHECK, State::Doubtful, format!("a received frame waits {rx_us} µs{how}"))
        .fixed_by(format!("ethtool -C {interface} adaptive-rx off rx-usecs 0"), vec![setting])
}

fn pause(place: &str, interface: &str, told: &Told) -> Finding {
    const CHECK: &str = "flow control";
    let Some([_, rx, tx]) = words::<3>(told, "pause") else {
        return Finding::new(place, CHECK, State::Unknown, "the driver has none, or does not tell");
    };
    if rx == "false" && tx == "false" {
        return Finding::new(place, CHECK, State::Good, "off");
    }
    let setting =
        Setting::Pause { interface: interface.to_owned(), negotiated: false, rx: false, tx: false };
    Finding::new(place, CHECK, State::Doubtful, "PAUSE frames hide loss and slow senders down")
        .fixed_by(format!("ethtool -A {interface} autoneg off rx off tx off"), vec![setting])
}

fn interrupts(place: &str, told: &Told) -> Finding {
    const CHECK: &str = "interrupts";
    let Some(all) = told.get("interrupts") else {
        return Finding::new(place, CHECK, State::Unknown, "the port has none of its own");
    };
    let lines: Vec<(&str, &str)> =
        all.split("; ").filter_map(|line| line.split_once(" on ")).collect();
    let loose = lines.iter().find(|(_, on)| on.contains(['-', ',']));
    match loose {
        None => Finding::new(place, CHECK, State::Good, all),
        Some((number, on)) => {
            let first = on.split(['-', ',']).next().unwrap_or("0");
            let path = format!("/proc/irq/{number}/smp_affinity_list");
            let found = format!("{all}: one that wanders meets the sender's processor");
            Finding::new(place, CHECK, State::Doubtful, found)
                .fixed_by(format!("echo {first} > {path}"), vec![file(&path, first)])
        }
    }
}

fn numa(place: &str, told: &Told) -> Finding {
    match told.get("numa_node").map(String::as_str) {
        None => Finding::new(place, "memory node", State::Unknown, "the port stands on no bus"),
        Some("-1") => Finding::new(place, "memory node", State::Good, "the machine has one"),
        Some(node) => {
            let near = told.get("numa_processors").map(String::as_str).unwrap_or_default();
            Finding::new(
                place,
                "memory node",
                State::Good,
                format!("{node}, near processors {near}"),
            )
            .fixed_by(
                format!("numactl --cpunodebind={node} --membind={node} switchmark …"),
                Vec::new(),
            )
        }
    }
}

fn stamps(place: &str, interface: &str, told: &Told) -> Finding {
    const CHECK: &str = "time stamps";
    let ways = told.get("stamping").map(String::as_str).unwrap_or_default();
    let has = |way: &str| ways.split_whitespace().any(|w| w == way);
    let clock = told.get("phc").map_or_else(
        || "no clock on the card, so no PTP".to_owned(),
        |phc| format!("its clock is /dev/ptp{phc}: see `ptp4l -i {interface} -m`"),
    );
    if has("hardware-transmit") && has("hardware-receive") {
        return Finding::new(place, CHECK, State::Good, format!("by the card; {clock}"));
    }
    if has("software-receive") {
        return Finding::new(place, CHECK, State::Good, format!("by the kernel; {clock}"));
    }
    Finding::new(place, CHECK, State::Doubtful, format!("none; {clock}"))
}
