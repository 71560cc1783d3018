//! What is on the wire, as tshark captures and reads it: sizes, tags, addresses, ports, checksums
//! and the probe of every frame, from every backend that a capture can see. Needs root and tshark,
//! and says so otherwise.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::datagram_ends::{End, Flow, IDENTITY, check_conserved, lab, run, size};
use dataplane::datagram::Spread;
use lab::{Lab, LabDevice, LabSpec, twin};
use measure::{FrameMix, Nanos};
use trial::topology::AddressBlock;
use trial::{Backend, Reception, Schedule};

const FRAMES: u64 = 200;

/// A capture of the flow's frames at the receiving host, one line a frame.
struct Capture {
    tshark: Child,
    lines: BufReader<std::process::ChildStdout>,
}

const FIELDS: [&str; 11] = [
    "frame.len",
    "vlan.id",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "udp.srcport",
    "udp.dstport",
    "udp.checksum.status",
    "ip.checksum.status",
    "udp.payload",
];

impl Capture {
    /// Begins; none without tshark.
    fn begin(lab: &Lab, interface: &str) -> Option<Self> {
        let mut command = Command::new("tshark");
        command.args([
            "-i",
            interface,
            "-l",
            "-n",
            "-f",
            "udp or (vlan and udp) or ip6",
            "-Y",
            "udp",
        ]);
        command.args(["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
        command.args(["-T", "fields", "-E", "separator=;"]);
        for field in FIELDS {
            command.args(["-e", field]);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tshark = match lab.spawn("h2", &mut command) {
            Ok(child) => child,
            Err(error) => {
                eprintln!("skipped: there is no tshark ({error})");
                return None;
            }
        };
        // It tells when it begins; the capture itself follows within moments.
        let mut told = BufReader::new(tshark.stderr.take().expect("stderr"));
        let mut line = String::new();
        while !line.contains("Capturing on") {
            line.clear();
            assert!(told.read_line(&mut line).expect("read stderr") > 0, "tshark ended early");
        }
        thread::spawn(move || told.lines().for_each(drop));
        thread::sleep(Duration::from_millis(500));
        let lines = BufReader::new(tshark.stdout.take().expect("stdout"));
        Some(Self { tshark, lines })
    }

    /// The next frames whose payload begins with the token, learning frames aside, until so many
    /// have come.
    fn frames(&mut self, expected: u64) -> Vec<Seen> {
        let mut seen = Vec::new();
        while (seen.len() as u64) < expected {
            let mut line = String::new();
            let octets = self.lines.read_line(&mut line).expect("read from tshark");
            assert!(octets > 0, "tshark ended after {} frames", seen.len());
            seen.extend(Seen::read(line.trim_end_matches('\n')));
        }
        seen
    }
}

impl Drop for Capture {
    /// As Ctrl-C would: killed outright it leaves its capture behind among the temporary files.
    fn drop(&mut self) {
        let id = nix::unistd::Pid::from_raw(self.tshark.id() as i32);
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT);
        let _ = self.tshark.wait();
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    number: u64,
    octets_with_fcs: u32,
    vlan: Option<u16>,
    source: SocketAddr,
    destination: SocketAddr,
    /// As tshark tells it: `1` is good; empty where there is none to check.
    udp_checksum: String,
    ip_checksum: String,
}

impl Seen {
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(';').collect();
        let [octets, vlan, v4_from, v4_to, v6_from, v6_to, from, to, udp, ip, payload] =
            fields.try_into().expect("all fields");
        let payload: Vec<u8> = (0..payload.len() / 2)
            .map(|i| u8::from_str_radix(&payload[2 * i..2 * i + 2], 16).expect("hexadecimal"))
            .collect();
        let probe = wire::Probe::parse(&payload).ok()?;
        let ours = probe.token == IDENTITY.token && probe.flow == IDENTITY.flow;
        // Learning frames have the highest numbers there are.
        if !ours || probe.sequence > u32::MAX / 2 {
            return None;
        }
        assert!(payload[wire::Probe::LEN..].iter().all(|octet| *octet == 0), "filler is zeros");
        let socket = |v4: &str, v6: &str, port: &str| {
            let address: IpAddr = if v4.is_empty() { v6 } else { v4 }.parse().expect("address");
            SocketAddr::new(address, port.parse().expect("port"))
        };
        Some(Self {
            number: probe.sequence.into(),
            octets_with_fcs: octets.parse::<u32>().expect("length") + 4,
            vlan: vlan.parse().ok(),
            source: socket(v4_from, v6_from, from),
            destination: socket(v4_to, v6_to, to),
            udp_checksum: udp.to_owned(),
            ip_checksum: ip.to_owned(),
        })
    }
}

/// Whole frames carry true checksums; a socket's are left to hardware that a cable has not got.
fn fills_checksums(sender: Backend) -> bool {
    !matches!(sender, Backend::Udp | Backend::UdpGso)
}

fn check(lab: &Lab, capture: &mut Capture, flow: &Flow) {
    let (from, to) = (End::of(lab, "h1", flow.ipv6), End::of(lab, "h2", flow.ipv6));
    let mut port = 0;
    let ran = run(lab, flow, |_, lowest| port = lowest);
    check_conserved(&ran, flow);
    assert_eq!(ran.sent.sent, FRAMES);
    let seen = capture.frames(FRAMES);
    let first_port = seen[0].source.port();
    for (number, frame) in (0..).zip(&seen) {
        let index = |count: u16| (number % u64::from(count)) as u16;
        let address = |own: IpAddr, range: Option<AddressBlock>| match range {
            None => own,
            Some(AddressBlock { first: IpAddr::V4(first), count }) => {
                IpAddr::V4((first.to_bits() + u32::from(index(count))).into())
            }
            Some(AddressBlock { first: IpAddr::V6(first), count }) => {
                IpAddr::V6((first.to_bits() + u128::from(index(count))).into())
            }
        };
        let spread = flow.spread;
        let expected = Seen {
            number,
            octets_with_fcs: flow.frames.at(number).octets(),
            vlan: flow.vlan,
            source: SocketAddr::new(
                address(from.address, spread.sources),
                first_port + index(spread.source_ports),
            ),
            destination: SocketAddr::new(
                address(to.address, spread.destinations),
                port + index(spread.destination_ports),
            ),
            udp_checksum: if fills_checksums(flow.sender) {
                "1".to_owned()
            } else {
                frame.udp_checksum.clone()
            },
            ip_checksum: if flow.ipv6 { String::new() } else { "1".to_owned() },
        };
        assert_eq!(*frame, expected, "{flow:?}");
    }
}

fn flows(lab: &Lab) -> Vec<Flow> {
    let block = |host: &str, ipv6: bool| {
        let first = lab.plan().host(host).expect("a host").ports[0].block;
        let first: IpAddr = if ipv6 { twin(first).into() } else { first.into() };
        Some(AddressBlock { first, count: 3 })
    };
    let spread = |ipv6| Spread {
        source_ports: 5,
        destination_ports: 2,
        sources: block("h1", ipv6),
        destinations: block("h2", ipv6),
    };
    let plain = Flow {
        schedule: Schedule::Burst(FRAMES),
        load: Nanos::from_millis(50),
        ..Flow::of(64, Backend::Packet, Reception::Packet)
    };
    let mix = FrameMix::new(vec![size(88), size(1_518), size(91)]).expect("a mix");
    vec![
        Flow { frames: FrameMix::imix(), ..plain.clone() },
        Flow { frames: mix.clone(), ipv6: true, ..plain.clone() },
        Flow { frames: size(68).into(), vlan: Some(100), spread: spread(false), ..plain.clone() },
        Flow { frames: mix, vlan: Some(4_094), ipv6: true, spread: spread(true), ..plain },
    ]
}

#[test]
fn frames_are_what_was_asked_for() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    let interface = End::of(&lab, "h2", false).interface;
    let Some(mut capture) = Capture::begin(&lab, &interface) else { return };
    for flow in flows(&lab) {
        for sender in [Backend::Packet, Backend::AfXdp, Backend::Udp] {
            let by_socket = sender == Backend::Udp;
            if !by_socket || (flow.vlan.is_none() && flow.spread == Spread::NONE) {
                check(&lab, &mut capture, &Flow { sender, ..flow.clone() });
            }
        }
    }
}

#[test]
fn frames_that_the_kernel_makes_are_what_was_asked_for() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    // A veth takes redirected frames while its peer merges what comes (GRO), and a capture sees
    // them.
    let to = End::of(&lab, "h2", false);
    let on = [("rx-gro", true)];
    let merging = lab.netlink("h2", |netlink| netlink.set_features(&to.interface, &on));
    if let Err(error) = merging {
        eprintln!("skipped: the receiving interface does not merge ({error})");
        return;
    }
    let Some(mut capture) = Capture::begin(&lab, &to.interface) else { return };
    for flow in flows(&lab) {
        check(&lab, &mut capture, &Flow { sender: Backend::XdpLive, ..flow });
    }
}
