//! Checks of cables: do they lead where the testbed file says, and what passes over them?
//!
//! Pure. Never sends a frame.

use std::collections::{BTreeMap, BTreeSet};

use agents::controller::Proof;
use agents::protocol::{Examination, Setting};
use dataplane::iperf3;
use measure::quantile::upper_median;
use page::words::first_names;
use page::{Unit, numbers};
use trial::topology::{CableEnd, DeviceKind, Host, HostPort, Opening, PortRef, Runs};
use trial::{Protocol, Topology};

use super::{Finding, State, link_of, tunnels};
use crate::config::written::Part;
use crate::doctor::paths::{BestRates, Passage};

/// Name of the check on which end may begin.
pub const DIRECTIONS: &str = "directions";

/// Most ports named in a row; the others are counted.
const NAMED: usize = 4;

/// Name of the check on a port's rate.
const SPEED: &str = "throughput";

/// Checks that both ends of a direct cable, and all ports of one device, take frames of one size.
pub(super) fn mtu(
    place: &str,
    topology: &Topology,
    port: &HostPort,
    facts: &BTreeMap<String, Examination>,
) -> Option<Finding> {
    let own: PortRef = place.parse().ok()?;
    let mtu_of = |at: &PortRef| Some(link_of(facts, topology, at)?.mtu);
    let ours = mtu_of(&own)?;
    let others: Vec<PortRef> = match &port.cable {
        CableEnd::Host(far) => vec![far.clone()],
        CableEnd::Device { device, .. } => leading_to(topology, device),
    };
    let largest = others.iter().filter_map(mtu_of).max()?;
    if ours >= largest {
        return Some(Finding::new(place, "MTU", State::Good, ours.to_string()));
    }
    let interface = port.interfaces.first()?;
    let setting = Setting::Mtu { interface: interface.clone(), mtu: largest };
    Some(
        Finding::new(place, "MTU", State::Bad, format!("{ours}, and {largest} at the far end"))
            .fixed_by(format!("ip link set dev {interface} mtu {largest}"), vec![setting]),
    )
}

fn list(ports: &[PortRef]) -> String {
    first_names(&ports.iter().map(ToString::to_string).collect::<Vec<_>>(), NAMED)
}

/// Ports that were asked what they hear, and those of them that are cut off.
pub(super) struct Hearing {
    asked: BTreeSet<PortRef>,
    cut_off: BTreeSet<PortRef>,
}

impl Hearing {
    pub(super) fn from_proofs(topology: &Topology, proofs: &[Proof]) -> Self {
        let asked = proofs.iter().map(|proof| proof.port.clone()).collect();
        Self { asked, cut_off: cut_off(topology, proofs) }
    }
}

/// Returns ports of a switch that neither hear any other of its ports nor are heard by one, while
/// others do hear each other: the fault is theirs, and not everybody's.
fn cut_off(topology: &Topology, proofs: &[Proof]) -> BTreeSet<PortRef> {
    let hears = |one: &PortRef, other: &PortRef| {
        proofs.iter().any(|proof| proof.port == *other && proof.small.contains(one))
    };
    let mut all = BTreeSet::new();
    for device in topology.devices.iter().filter(|device| device.kind == DeviceKind::Switch) {
        let asked = |at: &PortRef| proofs.iter().any(|proof| proof.port == *at);
        let ports: Vec<PortRef> = leading_to(topology, &device.name);
        let ports: Vec<&PortRef> = ports.iter().filter(|at| asked(at)).collect();
        let linked = |one: &PortRef| {
            let mut others = ports.iter().filter(|other| **other != one);
            others.any(|other| hears(one, other) || hears(other, one))
        };
        let (joined, alone): (Vec<&PortRef>, Vec<&PortRef>) =
            ports.iter().partition(|port| linked(port));
        if joined.len() > 1 {
            all.extend(alone.into_iter().cloned());
        }
    }
    all
}

/// Compares where a port's frames arrived with the testbed file.
pub(super) fn cable(
    topology: &Topology,
    facts: &BTreeMap<String, Examination>,
    heard: &Hearing,
    proof: &Proof,
) -> Vec<Finding> {
    let place = proof.port.to_string();
    let Some(port) = topology.port(&proof.port) else { return Vec::new() };
    let mut all = Vec::new();
    // A virtual cable refuses at once what its far end would not take: then a short frame passed
    // before.
    if let Some(words) = &proof.failed
        && proof.small.is_empty()
    {
        all.push(Finding::new(&place, "cable", State::Bad, words));
        return all;
    }
    let expected: Vec<PortRef> = match &port.cable {
        CableEnd::Host(far) => hearing(topology, far),
        CableEnd::Device { device, .. } => {
            let ports =
                if is_switch(topology, device) { leading_to(topology, device) } else { Vec::new() };
            ports.into_iter().filter(|at| *at != proof.port).collect()
        }
    };
    let strange: Vec<PortRef> =
        proof.small.iter().filter(|at| !expected.contains(at)).cloned().collect();
    let own_fault = heard.cut_off.contains(&proof.port);
    let deaf: Vec<PortRef> = expected
        .iter()
        .filter(|at| heard.asked.contains(at) && !proof.small.contains(at))
        .filter(|at| own_fault || !heard.cut_off.contains(at))
        .cloned()
        .collect();
    let short: Vec<PortRef> =
        proof.small.iter().filter(|at| !proof.full.contains(at)).cloned().collect();
    all.push(if !strange.is_empty() {
        strangers(topology, port, &place, &strange)
    } else if own_fault {
        apart(&place, device_of(&port.cable))
    } else if !deaf.is_empty() {
        let found = format!("its frames do not arrive at {}", list(&deaf));
        Finding::new(&place, "cable", State::Bad, found)
            .fixed_by(format!("ip -s link show dev {}", port.name), Vec::new())
    } else if expected.is_empty() {
        Finding::new(&place, "cable", State::Good, unheard(topology, &port.cable))
    } else if proof.small.is_empty() {
        let found = "no agent there may say what it hears: no CAP_NET_RAW";
        Finding::new(&place, "cable", State::Unknown, found)
    } else {
        let found = format!("its frames arrive at {}", list(&proof.small));
        Finding::new(&place, "cable", State::Good, found)
    });
    if !short.is_empty() {
        let found =
            format!("frames of {} octets do not arrive at {}", proof.full_size, list(&short));
        all.push(Finding::new(&place, "full-size frame", State::Bad, found).fixed_by(
            format!("ip link show dev {}; and the MTU of what is between", port.name),
            Vec::new(),
        ));
    } else if !proof.full.is_empty() {
        let found = format!("{} octets arrive", proof.full_size);
        all.push(Finding::new(&place, "full-size frame", State::Good, found));
    }
    all.push(duplicate(&place, port, &own_macs(facts, &proof.port.host), proof));
    all
}

/// Reports a port whose frames arrive where the file does not say.
fn strangers(topology: &Topology, port: &HostPort, place: &str, strange: &[PortRef]) -> Finding {
    let (at, written) = (list(strange), port.cable.to_string());
    let found = format!("its frames arrive at {at}, and the testbed file says {written}");
    let finding = Finding::new(place, "cable", State::Bad, found)
        .fixed_by(format!("move the cable, or write cable = \"{}\"", strange[0]), Vec::new());
    // Two devices may have a cable between them; a direct cable leads to one port only.
    let is_direct = |port: &HostPort| matches!(port.cable, CableEnd::Host(_));
    let mut ends = strange.iter().filter_map(|at| topology.port(at)).chain([port]);
    if ends.any(is_direct) { finding.prevents_all(place, Part::Cable) } else { finding }
}

/// Reports a port that is cut off from all others of its device.
fn apart(place: &str, device: &str) -> Finding {
    let found = format!(
        "no other port at {device} hears it, nor it them: its cable leads elsewhere, or the switch \
         keeps it apart (VLAN, port down)"
    );
    let fix = format!(
        "move the cable of {place} to {device}, or put its port into the VLAN of the others"
    );
    Finding::new(place, "cable", State::Bad, found).fixed_by(fix, Vec::new())
}

fn device_of(cable: &CableEnd) -> &str {
    match cable {
        CableEnd::Host(port) => &port.host,
        CableEnd::Device { device, .. } => device,
    }
}

/// Returns all addresses of a host: with two ports on one switch, it answers for either.
fn own_macs(facts: &BTreeMap<String, Examination>, host: &str) -> Vec<String> {
    let ports = facts.get(host).into_iter().flat_map(|facts| facts.ports.values());
    ports.filter_map(|port| port.link.as_ref()?.mac.clone()).collect()
}

fn duplicate(place: &str, port: &HostPort, own: &[String], proof: &Proof) -> Finding {
    const CHECK: &str = "duplicate address";
    let others: Vec<&str> =
        proof.owners.iter().filter(|mac| !own.contains(mac)).map(String::as_str).collect();
    if others.is_empty() {
        return Finding::new(place, CHECK, State::Good, "nobody else has it");
    }
    let found = format!("{} is also that of {}", port.address, others.join(", "));
    Finding::new(place, CHECK, State::Bad, found)
        .fixed_by(
            format!("ip address del {} dev IT, on the host with that MAC", port.address),
            Vec::new(),
        )
        .prevents_all(place, Part::Address)
}

/// Judges the passage between two hosts through a device, in whichever direction it opens.
pub(super) fn passage(passage: &Passage) -> Vec<Finding> {
    let place = format!("{} > {}", passage.from, passage.to);
    let mut all = Vec::new();
    let passes = |check, passed: bool, what: &str, fix: &str| {
        if passed {
            Finding::new(&place, check, State::Good, format!("{what} pass"))
        } else {
            Finding::new(&place, check, State::Bad, format!("{what} do not pass"))
                .fixed_by(fix.to_owned(), Vec::new())
        }
    };
    let (to, far) = (passage.to_address, passage.to.to_string());
    let back = passage.back.as_ref();
    let pings = passage.small || back.is_some_and(|way| way.icmp);
    let datagrams = passage.served || back.is_some_and(|way| way.udp);
    // Pings that come back to the far end alone may take another way.
    let passes_forward = passage.small || datagrams;
    if let (Some(why), false, None) = (&passage.refused, passes_forward, passage.server) {
        let command =
            format!("ip route get {to} on {}, and a subnet for each cable", passage.from.host);
        return vec![
            Finding::new(&place, "path", State::Bad, why)
                .fixed_by(command, Vec::new())
                .prevents_all(&far, Part::Address),
        ];
    }
    let mut path = passes("path", pings, "pings", &format!("ping -c 3 {to}"));
    if !(pings || datagrams || passage.opens_tcp()) {
        if back.is_some() {
            path.found = format!("{} {}, nor do UDP and TCP", path.found, neither_way(passage));
        }
        path = path.prevents_all(&far, Part::Address);
    }
    all.push(path);
    if let Some(largest) = &passage.largest {
        all.push(tunnels::path_mtu(&place, largest));
    } else if passage.small {
        let what = format!("pings in frames of {} octets", passage.full_size);
        let payload = passage.full_size.saturating_sub(if to.is_ipv6() { 66 } else { 46 });
        all.push(passes(
            "path MTU",
            passage.full,
            &what,
            &format!("ping -M do -s {payload} -c 3 {to}"),
        ));
    }
    match passage.server {
        Some(port) => all.push(server(&place, passage, port)),
        None if pings || datagrams || passage.opens_tcp() => {
            all.push(firewall(&place, passage, datagrams));
            let asked = passage.forward.is_some() && !passage.from_outside;
            all.extend((asked && !passage.opens_tcp()).then(|| closed_to_tcp(&place, passage)));
        }
        None => {}
    }
    all.extend(passage.one_sided().map(|ways| directions(&place, ways)));
    all
}

/// Checks that datagrams to a free port are answered from one end at least. What drops them may be
/// either host, or anything between.
fn firewall(place: &str, passage: &Passage, passes: bool) -> Finding {
    const WHAT: &str = "UDP datagrams to a free port";
    if passes {
        return Finding::new(place, "firewall", State::Good, format!("{WHAT} pass"));
    }
    let (from, to) = (&passage.from, &passage.to);
    if passage.from_outside {
        let found = format!(
            "{WHAT} arrive from {from} at {to} under an address outside the testbed, in no \
             subnet of its ports: nothing is sent there"
        );
        let fix = format!("translate {from} to an address in the subnet of {to}, or not at all");
        return Finding::new(place, "firewall", State::Bad, found)
            .fixed_by(fix, Vec::new())
            .prevents_all(&to.to_string(), Part::Address);
    }
    let found = format!("{WHAT} do not pass {}", neither_way(passage));
    Finding::new(place, "firewall", State::Bad, found)
        .fixed_by(let_through(passage, "UDP"), Vec::new())
        .prevents_flows(Protocol::Udp, &to.to_string())
}

/// Reports that TCP opens from neither end, while something else passes.
fn closed_to_tcp(place: &str, passage: &Passage) -> Finding {
    let (from, to) = (&passage.from, &passage.to);
    let found = format!(
        "TCP connections to a free port do not open from {from} to {to}, nor from {to} to {from}"
    );
    Finding::new(place, "firewall", State::Bad, found)
        .fixed_by(let_through(passage, "TCP"), Vec::new())
        .prevents_flows(Protocol::Tcp, &to.to_string())
}

fn let_through(passage: &Passage, protocol: &str) -> String {
    format!(
        "nft list ruleset on {}, on {} and on what is between, and let {protocol} through one way at \
         least",
        passage.from.host, passage.to.host
    )
}

/// Both ways, and what the agents say of them.
fn neither_way(passage: &Passage) -> String {
    let (from, to) = (&passage.from, &passage.to);
    let words = match passage.unanswered.join("; ") {
        none if none.is_empty() => none,
        some => format!(" ({some})"),
    };
    format!("from {from} to {to}, nor from {to} to {from}{words}")
}

/// Says which end may begin, and as whom the other sees it.
fn directions(place: &str, ways: [&Opening; 2]) -> Finding {
    let [forward, back] = ways;
    let said = |way: &Opening| {
        let names = [(way.icmp, "ICMP"), (way.udp, "UDP"), (way.tcp, "TCP")];
        let open: Vec<&str> = names.iter().filter(|(opens, _)| *opens).map(|(_, n)| *n).collect();
        let Opening { from, to, .. } = way;
        match open.len() {
            0 => format!("{from} to {to} is not let in"),
            3 => format!("{from} to {to} opens and is answered"),
            _ => format!("{from} to {to} opens and is answered in {} only", open.join(" and ")),
        }
    };
    // The way that opens is named first.
    let (first, second) = if forward.is_shut() { (back, forward) } else { (forward, back) };
    let mut found = format!("{}; {}", said(first), said(second));
    if ways.iter().any(|way| !(way.icmp && way.udp && way.tcp)) {
        found.push_str(": a NAT or firewall stands between, as home routers do");
    }
    for way in ways {
        if let Some(address) = way.translated {
            found = format!("{found}; {} sees {} as {address}", way.to, way.from);
        }
    }
    Finding::new(place, DIRECTIONS, State::Good, found)
}

/// Checks that an iperf3 server is there, and free.
fn server(place: &str, passage: &Passage, port: u16) -> Finding {
    const CHECK: &str = "iperf3 server";
    if passage.served {
        return Finding::new(place, CHECK, State::Good, "takes a test");
    }
    let host = &passage.to.host;
    let why = passage.refused.as_deref().unwrap_or("nothing of its test arrived");
    let option = if port == iperf3::PORT { String::new() } else { format!(" -p {port}") };
    Finding::new(place, CHECK, State::Bad, why)
        .fixed_by(format!("iperf3 -s{option} on {host}, port {port} open"), Vec::new())
        .prevents_all(host, Part::Reach)
}

/// Ratio at which a port that sends, or receives, less than the others is slow by itself. Two hosts
/// of one kind differ by less, and so do two moments of a busy machine.
const FAR_LESS: f64 = 4.0;

/// Compares the best rate of each port with the others'. One cable alone is compared with its other
/// direction.
pub(super) fn slow_ports(best: &BestRates) -> Vec<Finding> {
    let mut all = Vec::new();
    for (best, deed) in [(&best.sends, "sends"), (&best.receives, "receives")] {
        // Of two, the faster: nothing else says what is usual.
        let rates: Vec<f64> = best.values().map(|rate| rate.bits_per_second()).collect();
        let Some(usual) = upper_median(&rates) else { continue };
        for (port, own) in best {
            let own = own.bits_per_second();
            let place = port.to_string();
            let words = format!("{deed} {} by TCP", numbers::value(Unit::BitsPerSecond, own));
            all.push(if own * FAR_LESS < usual {
                let found = format!(
                    "{words}, where others come to {}",
                    numbers::value(Unit::BitsPerSecond, usual)
                );
                Finding::new(&place, SPEED, State::Bad, found).fixed_by(
                    format!("ethtool {0}; tc qdisc show dev {0}; and the cable", port.port),
                    Vec::new(),
                )
            } else {
                Finding::new(&place, SPEED, State::Good, words)
            });
        }
    }
    all
}

/// Reports the receiver at the ports of a host on which nothing runs: a device whose counters were
/// read when the testbed came up.
pub(super) fn counted(host: &Host) -> Vec<Finding> {
    let of_port = |port: &HostPort| {
        let place = format!("{}/{}", host.name, port.name);
        let found = format!(
            "{} counts what leaves towards it, one way: `forwarding` by flood, search and loss curve",
            port.cable
        );
        Finding::new(&place, "receiver", State::Good, found)
    };
    let nothing = host.runs() == Runs::Nothing;
    host.ports.iter().filter(|_| nothing).map(of_port).collect()
}

/// Returns the reason why nobody is expected to hear a port's frames.
fn unheard(topology: &Topology, cable: &CableEnd) -> &'static str {
    match cable {
        CableEnd::Device { device, .. } if !is_switch(topology, device) => {
            "a router passes no broadcast on, and none passed"
        }
        _ => "no agent is at another end, to hear its frames",
    }
}

fn is_switch(topology: &Topology, device: &str) -> bool {
    topology.devices.iter().any(|d| d.name == device && d.kind == DeviceKind::Switch)
}

/// Returns the port if an agent hears frames there; nothing for an iperf3 server.
fn hearing(topology: &Topology, far: &PortRef) -> Vec<PortRef> {
    let heard = topology.agents().any(|host| host.name == far.host);
    if heard { vec![far.clone()] } else { Vec::new() }
}

/// Returns every port of every host that is cabled to the device and has an agent.
fn leading_to(topology: &Topology, wanted: &str) -> Vec<PortRef> {
    let leads = |port: &HostPort| matches!(&port.cable, CableEnd::Device { device, .. } if device == wanted);
    let of_host = |host: &Host| {
        let ports = host.ports.iter().filter(|port| leads(port));
        let named = |port: &HostPort| PortRef { host: host.name.clone(), port: port.name.clone() };
        ports.map(named).collect::<Vec<_>>()
    };
    topology.agents().flat_map(of_host).collect()
}
