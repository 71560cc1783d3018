//! Each kind of lab on the real kernel: who reaches whom, what a limit drops, what is left behind.
//!
//! Needs root and says so otherwise. Traffic stays inside the lab's own namespaces.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lab::{FarEnd, Lab, LabDevice, LabSpec, Privilege, privilege};
use measure::{ByteCount, Rate};
use nix::sys::socket::{setsockopt, sockopt};

/// One test at a time: each compares what the machine has before and after.
static MACHINE: Mutex<()> = Mutex::new(());

fn machine() -> Option<MutexGuard<'static, ()>> {
    if privilege() == Privilege::None {
        eprintln!("skipped: building a lab needs root or a user namespace");
        return None;
    }
    Some(MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Every (asking, answering) address pair that the plan promises: across the device each host with
/// each other, and on each cable its two ends.
fn promised_pairs(lab: &Lab) -> Vec<(String, Ipv4Addr, String, Ipv4Addr)> {
    let mut pairs = Vec::new();
    for a in &lab.plan().hosts {
        for b in &lab.plan().hosts {
            for (p, q) in a.ports.iter().flat_map(|p| b.ports.iter().map(move |q| (p, q))) {
                let meet = match p.far_end() {
                    FarEnd::Host { host, port } => *host == b.name && *port == q.name,
                    FarEnd::Device { .. } => {
                        a.name != b.name && matches!(q.far_end(), FarEnd::Device { .. })
                    }
                };
                if meet {
                    pairs.push((a.name.clone(), p.address, b.name.clone(), q.address));
                }
            }
        }
    }
    pairs
}

fn socket(lab: &Lab, node: &str, address: Ipv4Addr) -> UdpSocket {
    let socket = lab.inside(node, || UdpSocket::bind((address, 0))).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

fn local(socket: &UdpSocket) -> std::net::SocketAddr {
    socket.local_addr().unwrap()
}

/// One datagram there and one back.
fn echo(lab: &Lab, from: (&str, Ipv4Addr), to: (&str, Ipv4Addr), payload: usize) {
    let (asking, answering) = (socket(lab, from.0, from.1), socket(lab, to.0, to.1));
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

#[test]
fn every_promised_pair_is_reached() {
    let Some(_machine) = machine() else { return };
    for device in LabDevice::ALL {
        for hosts in [2, 4] {
            let lab = Lab::build(&LabSpec { hosts, ..LabSpec::new(device.clone()) }).unwrap();
            let pairs = promised_pairs(&lab);
            assert!(pairs.len() >= usize::from(hosts), "{device:?}: {pairs:?}");
            for (a, from, b, to) in &pairs {
                // The largest is the payload of a frame of 9018 octets: 9000 less IP and UDP.
                for payload in [18, 8972] {
                    echo(&lab, (a, *from), (b, *to), payload);
                }
            }
            eprintln!("{device:?}, {hosts} hosts: {} pairs answered", pairs.len());
        }
    }
}

#[test]
fn no_frame_but_those_sent() {
    let Some(_machine) = machine() else { return };
    for device in LabDevice::ALL {
        let lab = Lab::build(&LabSpec::new(device.clone())).unwrap();
        let frames = |node: &str| {
            let links = lab.netlink(node, netlink::Netlink::links).unwrap();
            let ours = links.iter().filter(|link| link.kind.as_deref() == Some("veth"));
            ours.map(|link| link.stats.tx_packets).sum::<u64>()
        };
        let before: Vec<u64> = lab.nodes().map(frames).collect();
        let (a, from, b, to) = promised_pairs(&lab).remove(0);
        echo(&lab, (&a, from), (&b, to), 100);
        let after: Vec<u64> = lab.nodes().map(frames).collect();
        // One frame from each host, and, as the devices forward each, two from them together.
        let sent: Vec<u64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
        assert_eq!(sent[..2], [1, 1], "{device:?}: {sent:?}");
        let forwarded = if device == LabDevice::Cable { 0 } else { 2 };
        assert_eq!(sent[2..].iter().sum::<u64>(), forwarded, "{device:?}: {sent:?}");
        assert_eq!(before.iter().sum::<u64>(), 0, "{device:?} was silent: {before:?}");
    }
}

#[test]
fn sent_is_received_and_dropped() {
    let Some(_machine) = machine() else { return };
    if privilege() != Privilege::Root {
        eprintln!("skipped: a receive buffer beyond the limit needs root");
        return;
    }
    for device in LabDevice::ALL {
        let spec = LabSpec {
            rate: Some(Rate(20_000_000)),
            queue: Some(ByteCount(20_000)),
            ..LabSpec::new(device.clone())
        };
        let lab = Lab::build(&spec).unwrap();
        let (a, from, b, to) = promised_pairs(&lab).remove(0);
        // Both ends have spoken, so that no switch floods.
        echo(&lab, (&a, from), (&b, to), 18);
        let (sender, receiver) = (socket(&lab, &a, from), socket(&lab, &b, to));
        // Room for all, so that no drop is the socket's however long the receiver is kept waiting.
        setsockopt(&receiver, sockopt::RcvBufForce, &(16 << 20)).unwrap();
        let before = drops(&lab);
        let count = 3000;
        let destination = local(&receiver);
        let received = std::thread::scope(|scope| {
            let counting = scope.spawn(|| {
                receiver.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                let mut buffer = [0; 2048];
                std::iter::from_fn(|| receiver.recv(&mut buffer).ok()).count() as u64
            });
            for _ in 0..count {
                sender.send_to(&[0; 1000], destination).unwrap();
            }
            counting.join().unwrap()
        });
        let dropped = drops(&lab) - before;
        eprintln!("{device:?}: {count} sent = {received} received + {dropped} dropped");
        assert_eq!(count, received + dropped, "{device:?}: {received} received, {dropped} dropped");
        assert!(dropped > 0, "{device:?}: the limit never bit");
    }
}

fn drops(lab: &Lab) -> u64 {
    let of = |node: &str| {
        let queues = lab.netlink(node, netlink::Netlink::qdiscs).unwrap();
        let limits = queues.iter().filter(|queue| queue.kind == "tbf");
        limits.map(|queue| u64::from(queue.stats.drops)).sum::<u64>()
    };
    lab.nodes().map(of).sum()
}

#[test]
fn flows_take_both_routers_as_the_kernel_foretells() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&LabSpec::new(LabDevice::Routers)).unwrap();
    let ends: Vec<Ipv4Addr> = lab.plan().hosts.iter().map(|h| h.ports[0].address).collect();
    let receiver = socket(&lab, "h2", ends[1]);
    let to = local(&receiver);
    let mut used = BTreeSet::new();
    for _ in 0..32 {
        let sender = socket(&lab, "h1", ends[0]);
        let (foretold, before) = lab
            .netlink("h1", |kernel| {
                let ports = (local(&sender).port(), to.port());
                let source = Some(ends[0].into());
                let route = kernel.route_to(ends[1].into(), source, ports.0, ports.1, 17)?;
                Ok((route, kernel.links()?))
            })
            .unwrap();
        sender.send_to(&[1; 64], to).unwrap();
        receiver.recv_from(&mut [0; 64]).unwrap();
        let after = lab.netlink("h1", netlink::Netlink::links).unwrap();
        let moved: Vec<u32> = after
            .iter()
            .zip(&before)
            .filter(|(a, b)| a.stats.tx_packets > b.stats.tx_packets)
            .map(|(link, _)| link.index)
            .collect();
        assert_eq!(moved, [foretold.index], "source port {}", local(&sender).port());
        assert_eq!(foretold.source, Some(ends[0].into()));
        used.insert(foretold.index);
    }
    assert_eq!(used.len(), 2, "32 flows took links {used:?}");
    for router in ["r1", "r2"] {
        let links = lab.netlink(router, netlink::Netlink::links).unwrap();
        let forwarded: u64 = links.iter().map(|l| l.stats.tx_packets).sum();
        eprintln!("{router} forwarded {forwarded} of 32");
        assert!(forwarded > 0, "{router} forwarded nothing");
    }
}

#[test]
fn offloads_off_reads_off_and_comes_back() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&LabSpec::new(LabDevice::Cable)).unwrap();
    lab.netlink("h1", |kernel| {
        let before = kernel.features("eth1")?;
        assert!(kernel.offloads("eth1")?.any(), "a veth starts with segmentation: {before:?}");
        let previous = kernel.offloads_off("eth1")?;
        let off = kernel.offloads("eth1")?;
        eprintln!("turned off {} features; left on {:?}", previous.changed.len(), previous.left_on);
        assert!(!off.any(), "{off:?}");
        kernel.restore("eth1", &previous)?;
        assert_eq!(kernel.features("eth1")?, before);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_pulled_cable_and_its_return() {
    let Some(_machine) = machine() else { return };
    for device in LabDevice::ALL {
        let lab = Lab::build(&LabSpec::new(device.clone())).unwrap();
        let (a, from, b, to) = promised_pairs(&lab).remove(0);
        let interface = lab.plan().host(&b).unwrap().ports[0].interfaces[0].clone();
        lab.set_link(&b, &interface, false).unwrap();
        let link = lab.netlink(&b, |kernel| kernel.link(&interface)).unwrap();
        assert!(!link.up && !link.running, "{link:?}");
        lab.set_link(&b, &interface, true).unwrap();
        echo(&lab, (&a, from), (&b, to), 18);
        let link = lab.netlink(&b, |kernel| kernel.link(&interface)).unwrap();
        assert!(link.up && link.running && link.carrier_changes >= Some(2), "{link:?}");
    }
}

#[test]
fn children_stand_in_their_node() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&LabSpec::new(LabDevice::Bridge)).unwrap();
    let here = fs::read_link("/proc/thread-self/ns/net").unwrap();
    let mut child = lab.spawn("h1", Command::new("sleep").arg("30")).unwrap();
    let there = fs::read_link(format!("/proc/{}/ns/net", child.id())).unwrap();
    let node = lab.inside("h1", || fs::read_link("/proc/thread-self/ns/net")).unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(there, node);
    assert_ne!(there, here);
    assert_eq!(fs::read_link("/proc/thread-self/ns/net").unwrap(), here);
    let forwards = |node| lab.inside(node, || lab::sysctl::read("net/ipv4/ip_forward")).unwrap();
    assert_eq!(forwards("h1").unwrap(), "0");
    let missing = lab.spawn("h1", &mut Command::new("/nonexistent")).unwrap_err();
    assert_eq!(missing.to_string(), "start /nonexistent");
    let unknown = lab.inside("h9", || ()).unwrap_err();
    assert_eq!(unknown.to_string(), "find node h9: the lab has h1, h2, bridge");
}

#[test]
fn nothing_is_left() {
    let Some(_machine) = machine() else { return };
    let links = || netlink::Netlink::open().unwrap().links().unwrap();
    let names = || links().into_iter().map(|l| (l.index, l.name)).collect::<Vec<_>>();
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = (names(), mounts());
    let mut made = BTreeSet::new();
    for device in LabDevice::ALL {
        let spec = LabSpec { hosts: 4, rate: Some(Rate(1_000_000_000)), ..LabSpec::new(device.clone()) };
        let lab = Lab::build(&spec).unwrap();
        for node in lab.nodes() {
            let inode = fs::metadata(format!(
                "/proc/self/fd/{}",
                std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(
                    lab.namespace(node).unwrap()
                ))
            ));
            made.insert(inode.unwrap().ino());
        }
        assert_eq!(namespaces_held().intersection(&made).count(), made.len(), "{device:?}");
        drop(lab);
        let left: Vec<_> = namespaces_held().intersection(&made).copied().collect();
        assert!(left.is_empty(), "{device:?} left {left:?}");
        made.clear();
    }
    assert_eq!((names(), mounts()), before);
}

/// The inodes of every network namespace that a process of this machine stands in, and of every
/// descriptor of ours.
fn namespaces_held() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|p| p.path().join("ns/net"));
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten().map(|fd| fd.path());
    let of_net = |path: &std::path::PathBuf| {
        fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("net:"))
    };
    let held = processes.chain(descriptors).filter(of_net);
    held.filter_map(|path| fs::metadata(path).ok().map(|m| m.ino())).collect()
}

#[test]
fn sixty_four_hosts_stand() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&LabSpec { hosts: 64, ..LabSpec::new(LabDevice::Routers) }).unwrap();
    let ends: Vec<Ipv4Addr> = lab.plan().hosts.iter().map(|h| h.ports[0].address).collect();
    echo(&lab, ("h1", ends[0]), ("h64", ends[63]), 18);
    let to: SocketAddrV4 = "198.19.31.2:1".parse().unwrap();
    assert_eq!(lab.plan().host("h64").unwrap().ports[1].address, *to.ip());
}
