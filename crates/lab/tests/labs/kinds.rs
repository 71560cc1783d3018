//! Each kind of lab on the real kernel: reachability, drops of a limit, and clean-up.
//!
//! Needs root and says so otherwise. Traffic stays inside the lab's own namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Duration;

use lab::{
    BridgesSpec, Drops, FarEnd, Lab, LabDevice, LabSpec, Policer, Privilege, RandomLoss, Shaper,
    privilege,
};
use measure::{ByteCount, FrameRate, Rate};
use nix::sys::socket::{setsockopt, sockopt};

use crate::ends::{
    self, echo, frames_by_subject, local, machine, promised_pairs, side_by_side, socket, some_specs,
};

#[test]
fn every_promised_pair_is_reached_across_its_own_subject() {
    let Some(_machine) = machine() else { return };
    for spec in some_specs() {
        for hosts in [2, 4] {
            let lab = Lab::build(&LabSpec { hosts, ..spec.clone() }).unwrap();
            let pairs = promised_pairs(&lab);
            assert!(pairs.len() >= 2 * usize::from(hosts), "{spec:?}");
            for pair in &pairs {
                // Then both ends have sent frames, and no switch floods.
                echo(&lab, pair, 18);
                let before = frames_by_subject(&lab);
                // The largest is the payload of a frame of 9018 octets, less IP and UDP.
                let largest = if pair.asking.1.is_ipv4() { 8972 } else { 8952 };
                for payload in [18, largest] {
                    echo(&lab, pair, payload);
                }
                for (subject, frames) in frames_by_subject(&lab) {
                    let expected = if Some(&subject) == pair.subject.as_ref() { 4 } else { 0 };
                    let (asking, answering) = (&pair.asking, &pair.answering);
                    let sent = frames - before[&subject];
                    assert_eq!(sent, expected, "{asking:?} to {answering:?}: {subject}");
                }
            }
            eprintln!("{:?}, {hosts} hosts: {} pairs answered", spec.devices, pairs.len());
        }
    }
}

#[test]
fn a_reset_interrupts_one_subject_only() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&side_by_side()).unwrap();
    let changes = || -> BTreeMap<String, u32> {
        let of = |name: &String| {
            let links = lab.netlink(name, netlink::Netlink::links).unwrap();
            links.iter().filter_map(|link| link.carrier_changes).sum::<u32>()
        };
        let subjects = lab.plan().subjects.iter();
        subjects.map(|s| (s.name.clone(), s.devices.iter().map(of).sum())).collect()
    };
    for subject in &lab.plan().subjects {
        let before = changes();
        lab.reset(&subject.name, Duration::from_millis(20)).unwrap();
        for (name, now) in changes() {
            assert_eq!(now > before[&name], name == subject.name, "{name}");
        }
    }
    let unknown = lab.reset("switch", Duration::ZERO).unwrap_err().to_string();
    let known = "bridge, routers, router, bridge2, routers2, router2";
    assert_eq!(unknown, format!("find device switch: the lab has {known}"));
}

#[test]
fn sent_is_received_and_dropped() {
    let Some(_machine) = machine_of_root() else { return };
    for device in LabDevice::ALL {
        // In front of bridges in groups a sender is blocked by its own wire, so the effective limit
        // is between the bridges.
        let device = match device {
            LabDevice::Bridges(spec) => {
                LabDevice::Bridges(BridgesSpec { uplink: Some(Rate(10_000_000)), ..spec })
            }
            other => other,
        };
        let spec = LabSpec {
            rate: Some(Rate(20_000_000)),
            queue: Some(ByteCount(20_000)),
            ..LabSpec::new(device.clone())
        };
        let lab = Lab::build(&spec).unwrap();
        let pair = promised_pairs(&lab).remove(0);
        // Both ends have sent frames, so that no switch floods.
        echo(&lab, &pair, 18);
        let before = drops(&lab);
        let (count, received) = flood(&lab, &pair);
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
fn a_class_of_htb_holds_a_port_to_its_rate() {
    let Some(_machine) = machine_of_root() else { return };
    let spec = LabSpec {
        rate: Some(Rate(20_000_000)),
        queue: Some(ByteCount(20_000)),
        shaper: Shaper::Htb,
        ..LabSpec::new(LabDevice::Bridge)
    };
    let lab = Lab::build(&spec).unwrap();
    let pair = promised_pairs(&lab).remove(0);
    echo(&lab, &pair, 18);
    let (sent, received) = flood(&lab, &pair);
    let queues = lab.netlink("bridge", netlink::Netlink::qdiscs).unwrap();
    let of = |kind: &str, root| -> u64 {
        let like = queues.iter().filter(|queue| queue.kind == kind && queue.root == root);
        like.map(|queue| u64::from(queue.stats.drops)).sum()
    };
    // The root's count holds its class's.
    assert_eq!((of("htb", true), of("bfifo", false)), (sent - received, sent - received));
    assert!(sent > received, "the limit never bit");
    let shown = |what: &[&str]| shown(&lab, "tc", what);
    let Some(class) = shown(&["-s", "class", "show", "dev", "p2"]) else { return };
    eprintln!("{sent} sent, {received} received: {class}");
    assert!(class.contains("class htb 1:1 root leaf 2:"), "{class}");
    assert!(class.contains("rate 20Mbit ceil 20Mbit"), "{class}");
    assert!(class.contains(&format!("(dropped {}", sent - received)), "{class}");
    let queue = shown(&["-s", "qdisc", "show", "dev", "p2"]).unwrap();
    assert!(queue.contains("direct_packets_stat 0"), "every frame was in the class: {queue}");
    assert!(queue.contains("bfifo 2: parent 1:1 limit 20000b"), "{queue}");
}

/// Compares each rule's count with the frames that did not arrive.
#[test]
fn what_is_dropped_at_random_or_policed_is_counted() {
    let Some(_machine) = machine_of_root() else { return };
    if let Err(error) = Drops::try_here() {
        eprintln!("skipped: {error}: {:?}", error.hint());
        return;
    }
    let policer = Policer::of_rate(FrameRate(10_000.0));
    let check = |drops: Drops, what: &str| {
        let lab = Lab::build(&LabSpec { drops, ..LabSpec::new(LabDevice::Bridge) }).unwrap();
        let pair = promised_pairs(&lab).remove(0);
        let (sent, received) = flood(&lab, &pair);
        let Some(rules) = shown(&lab, "nft", &["list", "ruleset"]) else { return };
        let counts = rules.lines().filter_map(|line| line.split_once("counter packets "));
        let counts = counts.filter_map(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
        let dropped: u64 = counts.sum();
        eprintln!("{what}: {sent} sent, {received} received, {dropped} dropped");
        assert_eq!(sent - received, dropped, "{what}: {rules}");
        assert!(dropped > 0 && received > 0, "{what}: {rules}");
        if let Some(loss) = drops.loss {
            let expected = sent as f64 * loss.share();
            // Five standard deviations of a binomial count.
            let room = 5.0 * (expected * (1.0 - loss.share())).sqrt();
            assert!((dropped as f64 - expected).abs() < room, "{what}: {expected} expected");
        }
    };
    check(Drops { loss: RandomLoss::of_share(0.1), police: None }, "random loss of 10 %");
    check(Drops { loss: None, police: policer }, "policed at 10,000 frames/s");
    // None of it is in this machine's own namespace.
    let own = Command::new("nft").args(["list", "tables"]).output();
    let own = own.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default();
    assert!(!own.contains("switchmark"), "{own}");
}

/// Output of a program in the bridge's namespace; `None` if there is no such program.
fn shown(lab: &Lab, program: &str, arguments: &[&str]) -> Option<String> {
    let output = lab.inside("bridge", || Command::new(program).args(arguments).output()).unwrap();
    let said = output.ok().map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    if said.is_none() {
        eprintln!("skipped: no {program} to ask");
    }
    said
}

/// Locks the machine like [`machine`], if a socket buffer can hold a whole flood.
fn machine_of_root() -> Option<std::sync::MutexGuard<'static, ()>> {
    if privilege() == Privilege::Root {
        return machine();
    }
    eprintln!("skipped: a receive buffer beyond the limit needs root");
    None
}

/// Sends as fast as possible; returns the number of frames sent and received.
fn flood(lab: &Lab, pair: &ends::Pair) -> (u64, u64) {
    let sender = socket(lab, &pair.asking.0, pair.asking.1);
    let receiver = socket(lab, &pair.answering.0, pair.answering.1);
    // Space for all, so that no drop is the socket's however long the receiver is delayed.
    setsockopt(&receiver, sockopt::RcvBufForce, &(16 << 20)).unwrap();
    let destination = local(&receiver);
    let received = std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            receiver.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            let mut buffer = [0; 2048];
            std::iter::from_fn(|| receiver.recv(&mut buffer).ok()).count() as u64
        });
        for _ in 0..FLOOD {
            sender.send_to(&[0; 1000], destination).unwrap();
        }
        counting.join().unwrap()
    });
    (FLOOD, received)
}

/// Number of frames of [`flood`].
const FLOOD: u64 = 3000;

#[test]
fn a_block_leads_to_its_host() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&side_by_side()).unwrap();
    // Each router, and the first of each pair.
    for number in [1, 2, 4, 5] {
        // The host's last address of the block, and its twin.
        let h2 = &lab.plan().hosts[1].ports[number];
        let last = |first: Ipv4Addr| Ipv4Addr::from_bits(first.to_bits() + 255);
        for v6 in [false, true] {
            let ip = |ip| if v6 { IpAddr::V6(lab::twin(ip)) } else { IpAddr::V4(ip) };
            let to = ip(last(h2.block));
            let FarEnd::Device { device, .. } = h2.far_end() else { panic!("{h2:?}") };
            // As the router itself decides.
            let (route, port) = lab
                .netlink(device, |kernel| {
                    Ok((kernel.route_to(to, None, 1, 1, 17)?, kernel.link("p2")?.index))
                })
                .unwrap();
            assert_eq!(route.index, port, "{to} at {device}");
        }
    }
}

#[test]
fn flows_take_both_routers_as_the_kernel_foretells() {
    let Some(_machine) = machine() else { return };
    let lab =
        Lab::build(&LabSpec::with_devices(vec![LabDevice::Bridge, LabDevice::Routers])).unwrap();
    let ends: Vec<Ipv4Addr> = lab.plan().hosts.iter().map(|h| h.ports[1].address).collect();
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
        let pair = promised_pairs(&lab).remove(0);
        let b = pair.answering.0.clone();
        let interface = lab.plan().host(&b).unwrap().ports[0].interfaces[0].clone();
        lab.set_link(&b, &interface, false).unwrap();
        let link = lab.netlink(&b, |kernel| kernel.link(&interface)).unwrap();
        assert!(!link.up && !link.running, "{link:?}");
        lab.set_link(&b, &interface, true).unwrap();
        for pair in promised_pairs(&lab) {
            echo(&lab, &pair, 18);
        }
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
        let spec =
            LabSpec { hosts: 4, rate: Some(Rate(1_000_000_000)), ..LabSpec::new(device.clone()) };
        let lab = Lab::build(&spec).unwrap();
        for node in lab.nodes() {
            let inode = fs::metadata(format!(
                "/proc/self/fd/{}",
                AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(lab.namespace(node).unwrap()))
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

/// Inodes of every network namespace that a process of this machine runs in, and of every
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
    for pair in promised_pairs(&lab) {
        if pair.asking.0 == "h1" && pair.answering.0 == "h64" {
            echo(&lab, &pair, 18);
        }
    }
    let to: SocketAddrV4 = "198.19.31.2:1".parse().unwrap();
    assert_eq!(lab.plan().host("h64").unwrap().ports[1].address, *to.ip());
}
