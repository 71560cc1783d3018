//! What of a test port bears on a measurement: its link, its card's settings, where it stands.
//!
//! Pure. Never asks the host.

use std::net::IpAddr;

use agents::protocol::{Interrupt, Link, PortExamination, Setting};
use trial::topology::HostPort;

use netlink::{Coalescing, Pause, Rings};

use super::{Finding, State, file};
use crate::config::written::Part;

pub(super) fn of_port(place: &str, port: &HostPort, known: &PortExamination) -> Vec<Finding> {
    let interface = port.interfaces.first().map_or(port.name.as_str(), String::as_str);
    let Some(up) = &known.link else {
        let found = format!("there is no interface `{interface}`");
        return vec![
            Finding::new(place, "link", State::Bad, found)
                .fixed_by("ip link show", Vec::new())
                .prevents_all(place, Part::Name),
        ];
    };
    vec![
        link(place, interface, up),
        address(place, interface, port, known),
        speed(place, interface, port, known),
        offloads(place, interface, known),
        rings(place, interface, known),
        coalescing(place, interface, known),
        pause(place, interface, known),
        interrupts(place, known),
        numa(place, known),
        stamps(place, interface, known),
    ]
}

fn link(place: &str, interface: &str, link: &Link) -> Finding {
    if !link.up {
        return Finding::new(place, "link", State::Bad, "the interface is down")
            .fixed_by(format!("ip link set dev {interface} up"), Vec::new())
            .prevents_all(place, Part::Name);
    }
    if link.carrier {
        return Finding::new(place, "link", State::Good, "up, with a far end");
    }
    Finding::new(place, "link", State::Bad, "no carrier: plug the cable in, or set its far end up")
        .fixed_by(format!("ip link show dev {interface}"), Vec::new())
        .prevents_all(place, Part::Cable)
}

fn address(place: &str, interface: &str, port: &HostPort, known: &PortExamination) -> Finding {
    let wanted = port.address.to_string();
    // All of 127.0.0.0/8 is a host's own where any of it is (RFC 1122 section 3.2.1.3).
    let is_there =
        |own: &IpAddr| *own == port.address || own.is_loopback() && port.address.is_loopback();
    if known.addresses.iter().any(is_there) {
        return Finding::new(place, "address", State::Good, wanted);
    }
    let have = known.addresses.iter().map(ToString::to_string);
    let found = format!(
        "{wanted} is not there; the interface has: {}",
        if known.addresses.is_empty() {
            "none".to_owned()
        } else {
            have.collect::<Vec<_>>().join(" ")
        }
    );
    let prefix = if port.address.is_ipv6() { 64 } else { 24 };
    Finding::new(place, "address", State::Bad, found)
        .fixed_by(format!("ip address add {wanted}/{prefix} dev {interface}"), Vec::new())
        .prevents_all(place, Part::Address)
}

fn speed(place: &str, interface: &str, port: &HostPort, known: &PortExamination) -> Finding {
    const CHECK: &str = "speed and duplex";
    let speed = known.nic.speed_mbits;
    let said = speed.map_or_else(|| "no speed".to_owned(), |speed| format!("{speed} Mbit/s"));
    if known.nic.full_duplex == Some(false) {
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

fn offloads(place: &str, interface: &str, known: &PortExamination) -> Finding {
    let on = &known.offloads;
    if on.is_empty() {
        return Finding::new(place, "offloads", State::Good, "none merges or splits frames");
    }
    let found = format!("{} on: each trial turns them off and puts them back", on.len());
    Finding::new(place, "offloads", State::Good, found)
        .fixed_by(format!("ethtool -K {interface} tso off gso off gro off lro off"), Vec::new())
}

fn rings(place: &str, interface: &str, known: &PortExamination) -> Finding {
    let Some(Rings { rx, rx_max, tx, tx_max }) = known.nic.rings else {
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
    let setting = Setting::Rings { interface: interface.to_owned(), rx: rx_max, tx: tx_max };
    Finding::new(place, "rings", State::Doubtful, format!("{found}: a burst may overflow them"))
        .fixed_by(format!("ethtool -G {interface} rx {rx_max} tx {tx_max}"), vec![setting])
}

fn coalescing(place: &str, interface: &str, known: &PortExamination) -> Finding {
    const CHECK: &str = "coalescing";
    let Some(Coalescing { rx_us, adaptive }) = known.nic.coalescing else {
        return Finding::new(place, CHECK, State::Unknown, "the driver has none, or does not tell");
    };
    if rx_us == 0 && !adaptive {
        return Finding::new(place, CHECK, State::Good, "off");
    }
    let how = if adaptive { ", and changes by itself" } else { "" };
    let setting =
        Setting::Coalescing { interface: interface.to_owned(), rx_us: 0, adaptive: false };
    Finding::new(place, CHECK, State::Doubtful, format!("a received frame waits {rx_us} µs{how}"))
        .fixed_by(format!("ethtool -C {interface} adaptive-rx off rx-usecs 0"), vec![setting])
}

fn pause(place: &str, interface: &str, known: &PortExamination) -> Finding {
    const CHECK: &str = "flow control";
    let Some(Pause { rx, tx, .. }) = known.nic.pause else {
        return Finding::new(place, CHECK, State::Unknown, "the driver has none, or does not tell");
    };
    if !rx && !tx {
        return Finding::new(place, CHECK, State::Good, "off");
    }
    let setting =
        Setting::Pause { interface: interface.to_owned(), negotiated: false, rx: false, tx: false };
    Finding::new(place, CHECK, State::Doubtful, "PAUSE frames hide loss and slow senders down")
        .fixed_by(format!("ethtool -A {interface} autoneg off rx off tx off"), vec![setting])
}

fn interrupts(place: &str, known: &PortExamination) -> Finding {
    const CHECK: &str = "interrupts";
    if known.interrupts.is_empty() {
        return Finding::new(place, CHECK, State::Unknown, "the port has none of its own");
    }
    let lines = known.interrupts.iter().map(|one| format!("{} on {}", one.number, one.processors));
    let all = lines.collect::<Vec<_>>().join("; ");
    let loose = known.interrupts.iter().find(|one| one.processors.contains(['-', ',']));
    match loose {
        None => Finding::new(place, CHECK, State::Good, all),
        Some(Interrupt { number, processors: on }) => {
            let first = on.split(['-', ',']).next().unwrap_or("0");
            let path = format!("/proc/irq/{number}/smp_affinity_list");
            let found = format!("{all}: one that wanders meets the sender's processor");
            Finding::new(place, CHECK, State::Doubtful, found)
                .fixed_by(format!("echo {first} > {path}"), vec![file(&path, first)])
        }
    }
}

fn numa(place: &str, known: &PortExamination) -> Finding {
    match &known.numa {
        None => Finding::new(place, "memory node", State::Unknown, "the port stands on no bus"),
        Some((-1, _)) => Finding::new(place, "memory node", State::Good, "the machine has one"),
        Some((node, near)) => Finding::new(
            place,
            "memory node",
            State::Good,
            format!("{node}, near processors {near}"),
        )
        .fixed_by(
            format!("numactl --cpunodebind={node} --membind={node} switchmark …"),
            Vec::new(),
        ),
    }
}

fn stamps(place: &str, interface: &str, known: &PortExamination) -> Finding {
    const CHECK: &str = "time stamps";
    let has = |way: &str| known.nic.stamping.iter().any(|own| own == way);
    let clock = known.nic.phc.filter(|phc| *phc != u32::MAX).map_or_else(
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
