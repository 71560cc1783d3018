//! Shared parts of the tests of built labs: the promised pairs of hosts, and an echoed datagram.
//!
//! Owns the lock that keeps labs of one test program apart. Asserts only that an echo comes back.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lab::{FarEnd, Lab, LabDevice, LabSpec, Privilege, privilege};

/// Lock for one test at a time: each compares the machine's state before and after.
pub static MACHINE: Mutex<()> = Mutex::new(());

pub fn machine() -> Option<MutexGuard<'static, ()>> {
    if privilege() == Privilege::None {
        eprintln!("skipped: building a lab needs root or a user namespace");
        return None;
    }
    Some(MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// A requesting and an answering end, and the subject between them.
pub struct Pair {
    pub asking: (String, IpAddr),
    pub answering: (String, IpAddr),
    pub subject: Option<String>,
}

/// Lists every pair that the plan promises, of IPv4 and of IPv6: across each subject each host with
/// each other, and on each cable its two ends.
pub fn promised_pairs(lab: &Lab) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for a in &lab.plan().hosts {
        for b in &lab.plan().hosts {
            for (p, q) in a.ports.iter().flat_map(|p| b.ports.iter().map(move |q| (p, q))) {
                let behind = |end: &FarEnd| match end {
                    FarEnd::Device { device, .. } => {
                        lab.plan().subject_of(device).map(|subject| subject.name.clone())
                    }
                    FarEnd::Host { .. } => None,
                };
                let subject = behind(p.far_end());
                let meet = match p.far_end() {
                    FarEnd::Host { host, port } => *host == b.name && *port == q.name,
                    FarEnd::Device { .. } => a.name != b.name && behind(q.far_end()) == subject,
                };
                if !meet {
                    continue;
                }
                let ends = [(p.address.into(), q.address.into())];
                let v6 = lab.plan().ipv6;
                let twins = v6.then(|| (lab::twin(p.address).into(), lab::twin(q.address).into()));
                for (from, to) in ends.into_iter().chain(twins) {
                    let (asking, answering) = ((a.name.clone(), from), (b.name.clone(), to));
                    pairs.push(Pair { asking, answering, subject: subject.clone() });
                }
            }
        }
    }
    pairs
}

pub fn socket(lab: &Lab, node: &str, address: impl Into<IpAddr>) -> UdpSocket {
    let address = address.into();
    let socket = lab.inside(node, || UdpSocket::bind((address, 0))).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

pub fn local(socket: &UdpSocket) -> std::net::SocketAddr {
    socket.local_addr().unwrap()
}

/// Sends one datagram there and one back.
pub fn echo(lab: &Lab, pair: &Pair, payload: usize) {
    let (from, to) = (&pair.asking, &pair.answering);
    let (asking, answering) = (socket(lab, &from.0, from.1), socket(lab, &to.0, to.1));
    let mut buffer = vec![0; 65_536];
    asking.send_to(&vec![7; payload], local(&answering)).unwrap();
    let (length, peer) = answering
        .recv_from(&mut buffer)
        .unwrap_or_else(|e| panic!("{from:?} to {to:?}, {payload} octets: {e}"));
    assert_eq!((length, peer), (payload, local(&asking)));
    answering.send_to(&buffer[..length], peer).unwrap();
    let (length, peer) = asking
        .recv_from(&mut buffer)
        .unwrap_or_else(|e| panic!("{to:?} back to {from:?}, {payload} octets: {e}"));
    assert_eq!((length, peer), (payload, local(&answering)));
}

/// Specs of each device alone, and of all of them side by side, some twice.
pub fn some_specs() -> Vec<LabSpec> {
    let mut specs: Vec<LabSpec> = LabDevice::ALL.map(LabSpec::new).into();
    specs.push(side_by_side());
    specs
}

pub fn side_by_side() -> LabSpec {
    let (bridge, router, routers) = (LabDevice::Bridge, LabDevice::Router, LabDevice::Routers);
    LabSpec::with_devices(vec![
        bridge.clone(),
        routers.clone(),
        router.clone(),
        bridge,
        routers,
        router,
    ])
}

/// Counts the frames that each subject's ports have sent to hosts, without cables between the
/// subject's own parts.
pub fn frames_by_subject(lab: &Lab) -> BTreeMap<String, u64> {
    let sent = |name: &String, own: &[String]| {
        let links = lab.netlink(name, netlink::Netlink::links).unwrap();
        let leads_out = |link: &&netlink::Link| {
            let end = (name.clone(), link.name.clone());
            let far = lab.plan().cables.iter().find_map(|cable| cable.far_end_of(&end));
            far.is_some_and(|(node, _)| !own.contains(node))
        };
        links.iter().filter(leads_out).map(|link| link.stats.tx_packets).sum::<u64>()
    };
    let subjects = lab.plan().subjects.iter();
    let of = |devices: &[String]| devices.iter().map(|name| sent(name, devices)).sum();
    subjects.map(|s| (s.name.clone(), of(&s.devices))).collect()
}
