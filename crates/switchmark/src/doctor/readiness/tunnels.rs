//! Checks of tunnels: what their MTU costs, and whether their packets fit the path below.
//!
//! Pure. Owns the arithmetic, and the octets that each kind of tunnel puts around a packet. Never
//! asks a host.

use agents::protocol::{Link, PortExamination, Setting};
use trial::topology::HostPort;

use super::{Finding, State};
use crate::doctor::ORDINARY_MTU;
use crate::doctor::paths::Largest;

/// Octets of an IPv4 header, a TCP header and its time stamps.
const TCP_HEADERS: u32 = 20 + 20 + 12;

/// Octets around an inner packet over IPv4, by the kernel's name of the tunnel's kind: outer IP
/// header and the tunnel's own, and an inner Ethernet header where it carries frames.
const AROUND: [(&str, u32); 8] = [
    ("vxlan", 20 + 8 + 8 + 14),
    ("geneve", 20 + 8 + 8 + 14),
    ("gretap", 20 + 4 + 14),
    ("gre", 20 + 4),
    ("ipip", 20),
    ("sit", 20),
    ("ip6tnl", 40),
    // IPv4, UDP, type and receiver, counter, authentication tag.
    ("wireguard", 20 + 8 + 8 + 8 + 16),
];

/// Share of TCP payload that a full packet of a tunnel lacks, beside a full packet of the path
/// below, 0…1. Each full packet of the tunnel becomes one of those.
fn cost(mtu: u32, underlay: u32) -> f64 {
    let payload = |mtu: u32| f64::from(mtu.saturating_sub(TCP_HEADERS));
    (1.0 - payload(mtu) / payload(underlay).max(1.0)).max(0.0)
}

/// Checks the MTU of a tunnel; nothing for other ports.
pub(super) fn of_port(place: &str, port: &HostPort, known: &PortExamination) -> Option<Finding> {
    const CHECK: &str = "tunnel MTU";
    let link = known.link.as_ref().filter(|link| link.tunnel)?;
    let interface = port.interfaces.first()?;
    let kind = known.driver.as_deref().unwrap_or("unknown kind");
    let Link { mtu, underlay_mtu, .. } = *link;
    let underlay = underlay_mtu.unwrap_or(ORDINARY_MTU);
    let beside = match underlay_mtu {
        Some(below) => format!("the {below} of the interface below"),
        None => format!("{ORDINARY_MTU}, the MTU of ordinary Ethernet"),
    };
    let percent = cost(mtu, underlay) * 100.0;
    let found = format!("{kind}, {mtu}: costs {percent:.1} % of the payload rate beside {beside}");
    let around = AROUND.iter().find(|(name, _)| *name == kind).map_or(0, |(_, octets)| *octets);
    let fits = underlay.saturating_sub(around);
    if mtu <= fits {
        return Some(Finding::new(place, CHECK, State::Good, found));
    }
    let setting = Setting::Mtu { interface: interface.clone(), mtu: fits };
    let found = format!(
        "{kind}, {mtu} and {around} octets around each packet exceed {beside}: full packets are \
         fragmented, or vanish"
    );
    Some(
        Finding::new(place, CHECK, State::Doubtful, found)
            .fixed_by(format!("ip link set dev {interface} mtu {fits}"), vec![setting]),
    )
}

/// Reports a path that carries packets up to a length only.
pub(super) fn path_mtu(place: &str, largest: &Largest) -> Finding {
    const CHECK: &str = "path MTU";
    let Largest { octets, is_reported, pair, ipv6 } = largest;
    let [from, to] = [&pair.from, &pair.to];
    let fix =
        format!("ip link set dev {} mtu {octets} on {}, and likewise {to}", from.port, from.host);
    if *is_reported {
        let found = format!(
            "packets above {octets} octets are refused with an ICMP error: TCP adapts, and larger \
             datagrams are not sent"
        );
        return Finding::new(place, CHECK, State::Doubtful, found).fixed_by(fix, Vec::new());
    }
    let (headers, error) = if *ipv6 { (60, "ICMPv6 type 2") } else { (40, "ICMP type 3 code 4") };
    let mss = octets.saturating_sub(headers);
    let found = format!(
        "packets above {octets} octets vanish between {} and {}, and no ICMP error says so: TCP stalls \
         once its segments are full",
        from.host, to.host
    );
    let others = format!(
        "; or let {error} through, or lower the MSS on the way: nft add rule inet filter \
         forward tcp flags syn tcp option maxseg size set {mss}"
    );
    Finding::new(place, CHECK, State::Bad, found).fixed_by(fix + &others, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(kind: &str, mtu: u32, underlay_mtu: Option<u32>) -> Finding {
        let link = Link { tunnel: true, mtu, underlay_mtu, ..Link::default() };
        let (link, driver) = (Some(link), Some(kind.to_owned()));
        let known = PortExamination { link, driver, ..PortExamination::default() };
        let cable = trial::topology::CableEnd::Host("h2/t0".parse().expect("a port"));
        let port = HostPort::plain("t0", "198.18.0.1".parse().expect("an address"), cable);
        of_port("h1/t0", &port, &known).expect("it is a tunnel")
    }

    #[test]
    fn what_an_mtu_costs() {
        // 1368 and 1398 octets of payload, beside 1448.
        assert!((cost(1420, 1500) - 80.0 / 1448.0).abs() < 1e-12);
        assert!((cost(1450, 1500) - 50.0 / 1448.0).abs() < 1e-12);
        assert!(cost(9000, 1500).abs() < 1e-12);
        let wireguard = judged("wireguard", 1420, None);
        assert_eq!(wireguard.state, State::Good);
        assert!(wireguard.found.contains("costs 5.5 % of the payload rate"), "{}", wireguard.found);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let vxlan = judged("vxlan", 1500, Some(1500));
        assert_eq!(vxlan.state, State::Doubtful);
        assert_eq!(vxlan.fix.as_deref(), Some("ip link set dev t0 mtu 1450"));
        assert_eq!(judged("vxlan", 1450, Some(1500)).state, State::Good);
        assert_eq!(judged("vxlan", 1500, Some(9000)).state, State::Good);
        assert_eq!(judged("tun", 1500, None).state, State::Good);
    }
}
