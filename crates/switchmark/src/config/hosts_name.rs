//! Two or more hosts named on the command line: `root@a:eth1,root@b:eth1` through a device,
//! `root@a:eth1=root@b:eth1` over a direct cable, both in one list, `srun:node[001-016]:eth1` with
//! a list in brackets, `root@a:wg0@10.8.0.1/24` with the address that the port has.
//!
//! Owns the short form of a host and the testbed file that it stands for. Never reads a file.

use std::fmt::Write as _;
use std::ops::Range;

use measure::name;
use toml::Spanned;

use super::address::IpNetwork;
use super::host_list::{HostList, HostWord, Repeated};
use super::source::{ConfigError, Fault, SourceText};

/// Prefix of such a testbed's name.
pub const PREFIX: &str = "hosts:";
/// Name of the device between the hosts.
const DEVICE: &str = "dut";
/// Means to reach a host other than ssh.
const WAYS: [&str; 10] = [
    "local", "netns:", "pid:", "ssh:", "srun:", "mpirun:", "docker:", "podman:", "kubectl:",
    "iperf3:",
];

/// Returns the `reach` of a host: `root@a` and `ssh:root@a` are by ssh; a testbed file's `reach`
/// stays as it is.
pub fn reach(word: &str) -> String {
    let whole = WAYS.iter().any(|way| match way.strip_suffix(':') {
        Some(_) => word.starts_with(way),
        None => word == *way,
    });
    match word.strip_prefix("ssh:").filter(|place| !place.starts_with("//")) {
        Some(place) => format!("ssh://{place}"),
        None if whole => word.to_owned(),
        None => format!("ssh://{word}"),
    }
}

/// A host and its port, as a word names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAndPort<'a> {
    /// Host, as [`reach`] takes it.
    pub host: &'a str,
    /// Text behind the last colon: an interface; `None` if the host alone is named.
    pub port: Option<&'a str>,
}

impl<'a> HostAndPort<'a> {
    /// Splits `root@a:eth1`, `srun:node1:eth1`, `ssh://[fe80::1]:22:eth1`. The number behind a
    /// host of `ssh://` and `iperf3://` is that of its TCP port, and no interface.
    pub fn split(word: &'a str) -> Self {
        let way = WAYS.iter().filter(|way| way.ends_with(':')).find(|way| word.starts_with(**way));
        let start = way.map_or(0, |way| way.len());
        let start = word.rfind(']').map_or(start, |close| close.max(start));
        let alone = Self { host: word, port: None };
        let Some(colon) = word[start..].rfind(':').map(|at| start + at).filter(|at| *at > 0) else {
            return alone;
        };
        let (host, port) = (&word[..colon], &word[colon + 1..]);
        let is_number = !port.is_empty() && port.bytes().all(|octet| octet.is_ascii_digit());
        let place = word.find("://").map(|at| (at + 3).max(start));
        if is_number && place.is_some_and(|place| !word[place..colon].contains(':')) {
            return alone;
        }
        Self { host, port: Some(port) }
    }
}

/// Names a host after its address: `a` of `ssh://root@a:2222`. The name is none of `taken`.
pub fn host_name(reach: &str, taken: &[String]) -> String {
    let place = reach.rsplit_once("//").map_or(reach, |(_, place)| place);
    let place = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let place = match reach.split_once(':') {
        Some(("ssh", _)) if !place.starts_with('[') => place.split(':').next().unwrap_or(place),
        Some((way, name)) if way != "ssh" => name,
        Some(_) | None => place,
    };
    let plain = name::made_of(place.trim_matches(['[', ']']));
    let mut unique = plain.clone();
    let mut number = 2;
    while taken.contains(&unique) {
        unique = format!("{plain}-{number}");
        number += 1;
    }
    unique
}

/// The testbed file that the text behind [`PREFIX`] stands for.
pub fn written(flag: &str, text: &str) -> Result<SourceText, ConfigError> {
    let written = file(text).map_err(|fault| SourceText::argument(flag, text).locate(fault))?;
    Ok(SourceText::argument(flag, written))
}

/// Returns the file's text.
fn file(text: &str) -> Result<String, Fault> {
    const LIKE: &str = "name hosts with their ports: root@a:eth1,root@b:eth1, and with `=` between \
                        the two ends of a direct cable";
    let start = if text.starts_with(PREFIX) { PREFIX.len() } else { 0 };
    let (list, cables) = parse(text, start)?;
    let words = &list.words;
    let at_device = words.len().saturating_sub(2 * cables.0.len());
    if at_device == 1 || words.len() < 2 {
        let message = format!("`{}` names {} host(s)", &text[start..], words.len());
        return Err(Fault::new(0..text.len(), message, LIKE));
    }
    cables.check(text, start, words)?;
    let mut hosts: Vec<Host> = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    let mut ends: Vec<(usize, &str, Option<&str>)> = Vec::new();
    let mut networks: Vec<Option<IpNetwork>> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let HostAndPort { host, port: Some(port) } = HostAndPort::split(&word.text) else {
            let message = format!("`{}` names no port of a host", word.text);
            return Err(Fault::new(word.span.clone(), message, LIKE));
        };
        let reach = reach(host);
        // A host at the device may have a direct cable too.
        let known = hosts.iter().position(|host| host.reach == reach);
        let host = known.filter(|_| cables.far_of(at).is_some()).unwrap_or_else(|| {
            let name = host_name(&reach, &taken);
            taken.push(name.clone());
            hosts.push(Host { name, reach, ports: Vec::new() });
            hosts.len() - 1
        });
        let (port, address) = port_and_address(port);
        let network =
            |text: &str| IpNetwork::of_port(&Spanned::new(word.span.clone(), text.into()));
        let network = address.map(network).transpose()?;
        if cables.far_of(at).is_none() {
            networks.push(network);
        }
        ends.push((host, port, address));
    }
    let normal = |text: &str| {
        let HostAndPort { host, port } = HostAndPort::split(text);
        (reach(host), port.map(|port| port_and_address(port).0.to_owned()))
    };
    if let Some(Repeated { first, again }) = list.repeated(|word| normal(&word.text)) {
        let message = format!("`{}` is named twice", again.text);
        let earlier = &text[first.span.clone()];
        let hint = format!("name each port of a host once; the first is in `{earlier}`");
        return Err(Fault::new(again.span.clone(), message, hint));
    }
    if networks.contains(&None) && networks.iter().any(Option::is_some) {
        let message = format!("`{}` has addresses for some ports of the device", &text[start..]);
        let hint = "give one for each of them, as in root@a:eth1@192.0.2.1/24, or for none";
        return Err(Fault::new(start..text.len(), message, hint));
    }
    for (at, (host, port, address)) in ends.iter().enumerate() {
        let cable = match cables.far_of(at).map(|far| &ends[far]) {
            Some((far, far_port, _)) => format!("{}/{far_port}", hosts[*far].name),
            None => format!("{DEVICE}/{}", at + 1),
        };
        let (name, address) = ((*port).to_owned(), address.unwrap_or("auto").to_owned());
        hosts[*host].ports.push(Port { name, address, cable });
    }
    // Addresses of one network need nothing in between that routes.
    let is_one = networks.windows(2).all(|two| two[0] == two[1]);
    let kind = (at_device > 0).then_some(if is_one { "switch" } else { "router" });
    Ok(written_out(&hosts, kind))
}

/// Splits `wg0@10.8.0.1/24`.
fn port_and_address(port: &str) -> (&str, Option<&str>) {
    match port.split_once('@') {
        Some((name, address)) => (name, Some(address)),
        None => (port, None),
    }
}

/// The ports named in a text from `start` on, and which of them are joined directly.
fn parse(text: &str, start: usize) -> Result<(HostList, Cables), Fault> {
    let (mut list, mut at, mut cables) = (HostList::default(), start, Vec::new());
    for side in text[start..].split('=') {
        cables.extend(list.words.len().checked_sub(1));
        list.words.extend(HostList::parse(text, at..at + side.len())?.words);
        at += side.len() + 1;
    }
    Ok((list, Cables(cables)))
}

/// Direct cables: each by the place of its first end in the list; the next word is the other end.
struct Cables(Vec<usize>);

impl Cables {
    /// Place of the far end; `None` for a port at the device.
    fn far_of(&self, word: usize) -> Option<usize> {
        let far = |first: &usize| match word.checked_sub(*first) {
            Some(0) => Some(first + 1),
            Some(1) => Some(*first),
            _ => None,
        };
        self.0.iter().find_map(far)
    }

    /// Fails for a port in two cables, and for a list at the end of one.
    fn check(&self, text: &str, start: usize, words: &[HostWord]) -> Result<(), Fault> {
        if self.0.windows(2).any(|two| two[1] - two[0] < 2) {
            let message = format!("`{}` has a port in two cables", &text[start..]);
            let hint = "put a comma between two cables: a:eth2=b:eth2,c:eth2=d:eth2";
            return Err(Fault::new(start..text.len(), message, hint));
        }
        let count = |span: &Range<usize>| words.iter().filter(|word| word.span == *span).count();
        let ends = words.iter().enumerate().filter(|(at, _)| self.far_of(*at).is_some());
        if let Some((_, HostWord { span, .. })) = ends.into_iter().find(|(_, w)| count(&w.span) > 1)
        {
            let message = format!("`{}` is one end of a cable", &text[span.clone()]);
            let hint = "a direct cable has one port at each end: a:eth2=b:eth2";
            return Err(Fault::new(span.clone(), message, hint));
        }
        Ok(())
    }
}

/// Writes the testbed file of hosts, with a device of this kind if some are at it.
fn written_out(hosts: &[Host], device: Option<&str>) -> String {
    let mut out = String::new();
    for Host { name, reach, ports } in hosts {
        let _ = write!(out, "[[host]]\nname = \"{name}\"\nreach = \"{reach}\"\n");
        for Port { name, address, cable } in ports {
            let _ = write!(
                out,
                "[[host.port]]\nname = \"{name}\"\naddress = \"{address}\"\ncable = \"{cable}\"\n"
            );
        }
        out.push('\n');
    }
    if let Some(kind) = device {
        let _ = write!(out, "[[device]]\nname = \"{DEVICE}\"\nkind = \"{kind}\"\n");
    }
    out
}

/// A host with its ports.
struct Host {
    name: String,
    reach: String,
    ports: Vec<Port>,
}

/// A port with the far end of its cable.
struct Port {
    name: String,
    address: String,
    cable: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::resolved::Source;
    use crate::config::testbed;

    #[test]
    fn hosts_have_names_of_their_own() {
        let check = |word: &str, expected: &str| {
            assert_eq!(host_name(&reach(word), &["b".to_owned()]), expected, "{word}");
        };
        check("root@a", "a");
        check("ssh://root@a:2222", "a");
        check("root@b", "b-2");
        check("root@192.0.2.7", "192.0.2.7");
        check("netns:left", "left");
        check("local", "local");
    }

    #[test]
    fn two_hosts_are_a_testbed() {
        let check = |text: &str, cable: &str| {
            let testbed = testbed::from_argument("--hosts", text).expect(text);
            let Source::Hosts(hosts) = testbed.source else { panic!("{text}") };
            let far = serde_json::to_value(&hosts.hosts[0].ports[0].cable).expect("text");
            assert_eq!(far, cable, "{text}");
            let ports: usize = hosts.hosts.iter().map(|host| host.ports.len()).sum();
            assert_eq!(hosts.own_addresses.len(), ports);
        };
        check("hosts:root@a:eth1,root@b:eth1", "device:dut/1");
        check("hosts:root@a:eth1=root@b:eth2", "host:b/eth2");
        check("hosts:netns:x:eth1,netns:y:eth1,local:eth3", "device:dut/1");
        check("hosts:srun:node[001-016]:eth1", "device:dut/1");
        check("hosts:ssh:user@n[1-4]:eth1,mpirun:m[1-2]:ib0", "device:dut/1");
        check("hosts:root@[2001:db8::1]:eth1,ssh://[2001:db8::2]:22:eth1", "device:dut/1");
        check("hosts:n[1-2]:eth[1-2]", "device:dut/1");
        check("hosts:n[1]:eth1=n[2]:eth1", "host:n2/eth1");
        check("hosts:c:eth1=d:eth1,a:eth1,b:eth1", "host:d/eth1");
    }

    #[test]
    fn hosts_at_a_device_may_have_a_direct_cable() {
        let text = "root@a:eth1,root@b:eth1,root@a:eth2=root@b:eth3,c:eth1";
        let expected = "[[host]]\nname = \"a\"\nreach = \"ssh://root@a\"\n\
            [[host.port]]\nname = \"eth1\"\naddress = \"auto\"\ncable = \"dut/1\"\n\
            [[host.port]]\nname = \"eth2\"\naddress = \"auto\"\ncable = \"b/eth3\"\n\n";
        let written = file(text).expect(text);
        assert!(written.starts_with(expected), "{written}");
        assert_eq!(written.matches("[[host]]").count(), 3, "{written}");
        assert!(written.contains("name = \"eth3\"\naddress = \"auto\"\ncable = \"a/eth2\""));
        assert!(written.contains("cable = \"dut/5\""), "{written}");
        let testbed = testbed::from_argument("--hosts", &format!("{PREFIX}{text}")).expect(text);
        let Source::Hosts(hosts) = testbed.source else { panic!("{text}") };
        assert_eq!((hosts.hosts.len(), hosts.own_addresses.len()), (3, 5));
    }

    #[test]
    fn ports_of_a_router_or_a_tunnel_keep_their_addresses() {
        let check = |text: &str, kind: Option<&str>, addresses: [&str; 2]| {
            let written = file(text).expect(text);
            let device =
                written.split_once("kind = ").map(|(_, kind)| kind.trim().trim_matches('"'));
            assert_eq!(device, kind, "{written}");
            for address in addresses {
                assert!(written.contains(&format!("address = \"{address}\"")), "{written}");
            }
            let testbed = testbed::from_argument("--hosts", &format!("{PREFIX}{text}"));
            assert!(matches!(testbed.expect(text).source, Source::Hosts(_)), "{text}");
        };
        let router = "root@a:eth1@192.168.1.10/24,root@b:eth1@203.0.113.5/24";
        check(router, Some("router"), ["192.168.1.10/24", "203.0.113.5/24"]);
        let tunnel = "root@a:wg0@10.8.0.1/24,root@b:wg0@10.8.0.2/24";
        check(tunnel, Some("switch"), ["10.8.0.1/24", "10.8.0.2/24"]);
        check(&format!("{tunnel},a:eth1=b:eth1"), Some("switch"), ["10.8.0.1/24", "auto"]);
        let both = format!("{tunnel},root@a:eth1@192.0.2.1/24=root@b:eth1@192.0.2.2/24");
        check(&both, Some("switch"), ["10.8.0.1/24", "192.0.2.2/24"]);
        check("a:e@10.0.0.1/8=b:e@10.0.0.2/8", None, ["10.0.0.1/8", "10.0.0.2/8"]);
    }

    #[test]
    fn a_list_has_its_hosts_in_order() {
        let text = "hosts:srun:node[003,001-002]:eth1,gpu[09-10]:ib0";
        let testbed = testbed::from_argument("--hosts", text).expect(text);
        assert_eq!(testbed.name, text, "a run is resumed by it");
        let Source::Hosts(hosts) = testbed.source else { panic!("{text}") };
        let told: Vec<String> = hosts
            .hosts
            .iter()
            .map(|host| format!("{} {} {}", host.name, host.reach, host.ports[0].name))
            .collect();
        let expected = [
            "node003 srun:node003 eth1",
            "node001 srun:node001 eth1",
            "node002 srun:node002 eth1",
            "gpu09 ssh://gpu09 ib0",
            "gpu10 ssh://gpu10 ib0",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_names_no_testbed_is_refused_at_its_place() {
        let check = |text: &str, place: &str, message: &str| {
            let fault = file(text).expect_err(text);
            assert_eq!(&text[fault.span.clone()], place, "{fault:?}");
            assert!(fault.message.contains(message), "{fault:?}");
        };
        check("hosts:a:eth1", "hosts:a:eth1", "names 1 host(s)");
        check("hosts:a,b", "a", "names no port");
        check("hosts:srun:node[1-2]", "srun:node[1-2]", "`srun:node1` names no port");
        check("hosts:ssh://a:22,b:eth1", "ssh://a:22", "names no port");
        check("hosts:root@[::1],b:eth1", "root@[::1]", "names no port");
        check("hosts:a:e=b:e=c:e", "a:e=b:e=c:e", "a port in two cables");
        check("hosts:a:e,b:e,a:f=n[1-2]:f", "n[1-2]:f", "one end of a cable");
        check("hosts:a:e=n[1-2]:e", "hosts:a:e=n[1-2]:e", "names 3 host(s)");
        check("hosts:n[3-1]:e,b:e", "3-1", "ends before");
        check("hosts:n[1-3]:e,n2:e", "n2:e", "`n2:e` is named twice");
        check("hosts:n[1,1]:e", "n[1,1]:e", "`n1:e` is named twice");
        check("hosts:ssh://a:e,a:e", "a:e", "named twice");
        check("hosts:a:e@10.0.0.1/8,a:e@10.0.0.2/8", "a:e@10.0.0.2/8", "named twice");
        check("hosts:a:e@10.0.0.1,b:e@10.0.0.2/8", "a:e@10.0.0.1", "no prefix length");
        check("hosts:a:e@10.0.0.1/8,b:e", "a:e@10.0.0.1/8,b:e", "addresses for some ports");
        assert!(testbed::from_argument("--hosts", "hosts:").is_err());
    }

    #[test]
    fn a_word_is_a_host_and_its_port() {
        let check = |word: &str, host: &str, port: Option<&str>| {
            assert_eq!(HostAndPort::split(word), HostAndPort { host, port }, "{word}");
        };
        check("root@a:eth1", "root@a", Some("eth1"));
        check("root@a", "root@a", None);
        check("local:eth0", "local", Some("eth0"));
        check("local", "local", None);
        check("srun:node1", "srun:node1", None);
        check("srun:node1:eth1", "srun:node1", Some("eth1"));
        check("node1:4", "node1", Some("4"));
        check("ssh://n1:2222", "ssh://n1:2222", None);
        check("ssh://a:2222:eth1", "ssh://a:2222", Some("eth1"));
        check("ssh://a:eth1", "ssh://a", Some("eth1"));
        check("ssh://[fe80::1]", "ssh://[fe80::1]", None);
        check("ssh://[fe80::1]:22", "ssh://[fe80::1]:22", None);
        check("root@[fe80::1]:eth1", "root@[fe80::1]", Some("eth1"));
        check("kubectl:lab/pod-1:eth0", "kubectl:lab/pod-1", Some("eth0"));
        check("iperf3://server:5201:eth1", "iperf3://server:5201", Some("eth1"));
        check("iperf3://server:5201", "iperf3://server:5201", None);
        check(":eth1", ":eth1", None);
    }
}
