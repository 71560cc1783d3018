//! Requests to the real kernel, each test in an empty namespace of its own.
//!
//! Needs root and says so otherwise. Never touches the namespace that the tests were started in.

use std::net::IpAddr;

use measure::{ByteCount, Rate};
use netlink::{Arrivals, Netlink, NextHop, Offloads, TokenBucket};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

/// Runs `work` in a namespace that ends with it.
fn alone(work: impl FnOnce(&mut Netlink) + Send + 'static) {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: a network namespace needs root");
        return;
    }
    let inside = move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        work(&mut Netlink::open().expect("a conversation"));
    };
    if let Err(panic) = std::thread::spawn(inside).join() {
        std::panic::resume_unwind(panic);
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn links_come_up_and_go_down_together() {
    alone(|kernel| {
        kernel.create_veth("a", "b", 1).unwrap();
        let [a, b] = ["a", "b"].map(|name| kernel.link(name).unwrap());
        assert_eq!(a.kind.as_deref(), Some("veth"));
        assert!(!a.up && !a.carrier && !a.running && a.mac.is_some());
        kernel.set_mtu(a.index, 9000).unwrap();
        kernel.set_mac(a.index, [2, 0, 0, 0, 0, 1]).unwrap();
        kernel.set_up(a.index).unwrap();
        assert!(!kernel.link("a").unwrap().carrier, "its far end is down");
        kernel.set_up(b.index).unwrap();
        let a = kernel.link("a").unwrap();
        assert_eq!((a.up, a.carrier, a.mtu, a.mac), (true, true, 9000, Some([2, 0, 0, 0, 0, 1])));
        kernel.set_down(b.index).unwrap();
        assert!(!kernel.link("a").unwrap().carrier);
        let names: Vec<String> = kernel.links().unwrap().into_iter().map(|l| l.name).collect();
        assert!(names.contains(&"a".to_owned()) && names.contains(&"lo".to_owned()), "{names:?}");
    });
}

#[test]
fn a_bridge_and_its_port() {
    alone(|kernel| {
        kernel.create_bridge("br0").unwrap();
        kernel.create_veth("a", "b", 1).unwrap();
        let bridge = kernel.link("br0").unwrap();
        let a = kernel.link("a").unwrap();
        kernel.set_master(a.index, bridge.index).unwrap();
        let a = kernel.link("a").unwrap();
        assert_eq!((a.master, a.forwarding), (Some(bridge.index), Some(false)));
        assert_eq!(bridge.kind.as_deref(), Some("bridge"));
    });
}

#[test]
fn a_link_moves_and_changes_its_name() {
    alone(|kernel| {
        kernel.create_veth("a", "b", 1).unwrap();
        let index = kernel.link("b").unwrap().index;
        let other = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            let namespace = std::fs::File::open("/proc/thread-self/ns/net").unwrap();
            (namespace, Netlink::open().unwrap())
        });
        let (namespace, mut there) = other.join().unwrap();
        kernel.rename_into_namespace(index, "a", &namespace).unwrap();
        assert!(kernel.link("b").unwrap_err().is_absent());
        // The connection concerns the namespace it was opened in, not its caller's.
        assert_eq!(there.link("a").unwrap().kind.as_deref(), Some("veth"));
    });
}

#[test]
fn addresses_routes_and_neighbours() {
    alone(|kernel| {
        kernel.create_veth("a", "b", 1).unwrap();
        kernel.create_veth("c", "d", 1).unwrap();
        let [a, c] = ["a", "c"].map(|name| kernel.link(name).unwrap().index);
        for name in ["a", "b", "c", "d"] {
            let index = kernel.link(name).unwrap().index;
            kernel.set_up(index).unwrap();
        }
        kernel.add_address(a, ip("198.18.1.2"), 24).unwrap();
        kernel.add_address(c, ip("198.18.2.2"), 24).unwrap();
        kernel.add_address(c, ip("2001:2::2"), 64).unwrap();
        let again = kernel.add_address(a, ip("198.18.1.2"), 24).unwrap_err();
        assert_eq!(again.errno(), Some(Errno::EEXIST));

        let via = |text, index| NextHop { via: Some(ip(text)), index };
        let two = [via("198.18.1.1", a), via("198.18.2.1", c)];
        kernel.add_route(ip("198.19.0.0"), 16, &two, Some(ip("198.18.2.2"))).unwrap();
        kernel.replace_route(ip("198.19.0.0"), 16, &two[..1], None).unwrap();
        let route = kernel.route_to(ip("198.19.0.9"), None, 0, 0, 17).unwrap();
        assert_eq!((route.index, route.gateway), (a, Some(ip("198.18.1.1"))));
        assert_eq!(route.source, Some(ip("198.18.1.2")));
        let on_link = kernel.route_to(ip("2001:2::9"), None, 1000, 2000, 6).unwrap();
        assert_eq!((on_link.index, on_link.gateway), (c, None));
        let nowhere = kernel.route_to(ip("192.0.2.1"), None, 0, 0, 1).unwrap_err();
        assert_eq!(nowhere.errno(), Some(Errno::ENETUNREACH));

        assert_eq!(kernel.neighbour(a, ip("198.18.1.1")).unwrap(), None);
        kernel.add_permanent_neighbour(a, ip("198.18.1.1"), [2, 0, 0, 0, 0, 9]).unwrap();
        let known = kernel.neighbour(a, ip("198.18.1.1")).unwrap();
        assert_eq!(known, Some([2, 0, 0, 0, 0, 9]));
    });
}

#[test]
fn a_limit_is_set_and_changed() {
    alone(|kernel| {
        kernel.create_veth("a", "b", 1).unwrap();
        let index = kernel.link("a").unwrap().index;
        // The last is more than 32 bits of bytes a second.
        for rate in [8, 10_000_000, 1_000_000_000, 100_000_000_000] {
            let (burst, limit) = (ByteCount(10_000), ByteCount(20_000));
            let tbf = TokenBucket { rate: Rate(rate), burst, limit, overhead: 0 };
            kernel.set_tbf(index, &tbf).unwrap();
            let queues = kernel.qdiscs().unwrap();
            let queue = queues.iter().find(|queue| queue.index == index).unwrap();
            assert_eq!((queue.kind.as_str(), queue.root, queue.handle.major), ("tbf", true, 1));
            assert_eq!(queue.stats, netlink::QdiscStats::default());
        }
        let none =
            TokenBucket { rate: Rate(0), burst: ByteCount(1), limit: ByteCount(1), overhead: 0 };
        let error = kernel.set_tbf(index, &none).unwrap_err();
        assert!(error.to_string().contains("below one byte a second"), "{error}");
    });
}

#[test]
fn a_class_holds_a_links_rate() {
    alone(|kernel| {
        kernel.create_veth("a", "b", 1).unwrap();
        let index = kernel.link("a").unwrap().index;
        let bucket = TokenBucket {
            rate: Rate(100_000_000_000),
            burst: ByteCount(12_500_000),
            limit: ByteCount(20_000),
            overhead: 0,
        };
        kernel.set_htb(index, &bucket).unwrap();
        let queues = kernel.qdiscs().unwrap();
        let on_link = queues.iter().filter(|queue| queue.index == index);
        let mut seen: Vec<_> =
            on_link.map(|queue| (queue.handle.major, queue.kind.as_str(), queue.root)).collect();
        seen.sort_unstable();
        assert_eq!(seen, [(1, "htb", true), (2, "bfifo", false)]);
        // As another program reads the kernel's settings.
        let show = |what: &[&str]| {
            let output = std::process::Command::new("tc").args(what).output();
            output.ok().map(|it| String::from_utf8_lossy(&it.stdout).into_owned())
        };
        let shown = show(&["-d", "class", "show", "dev", "a"]);
        let Some(class) = shown else { return eprintln!("skipped: no tc to ask") };
        for word in ["htb 1:1 root leaf 2:", "rate 100Gbit ceil 100Gbit", "linklayer ethernet"] {
            assert!(class.contains(word), "{word}: {class}");
        }
        let queues = show(&["qdisc", "show", "dev", "a"]).unwrap();
        for word in ["htb 1: root", "default 0x1", "bfifo 2: parent 1:1 limit 20000b"] {
            assert!(queues.contains(word), "{word}: {queues}");
        }
    });
}

#[test]
fn features_are_read_and_set() {
    alone(|kernel| {
        kernel.create_veth("a", "b", 1).unwrap();
        let before = kernel.features("a").unwrap();
        assert!(before.len() > 30 && before["tx-tcp-segmentation"], "{before:?}");
        kernel.set_features("a", &[("tx-tcp-segmentation", false), ("rx-gro", true)]).unwrap();
        let after = kernel.features("a").unwrap();
        assert!(!after["tx-tcp-segmentation"] && after["rx-gro"]);
        let previous = kernel.offloads_off("a").unwrap();
        assert_eq!(kernel.offloads("a").unwrap(), Offloads::default());
        kernel.restore("a", &previous).unwrap();
        assert_eq!(kernel.features("a").unwrap(), after);
        // Fixed by the driver: the kernel refuses or ignores it, and the error names it.
        let error = kernel.set_features("a", &[("rx-vlan-filter", true)]).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        let error = kernel.features("nowhere").unwrap_err();
        assert!(error.is_absent(), "{error:?}");
        assert_eq!(error.to_string(), "read features of nowhere");
    });
}

#[test]
fn refusals_carry_the_kernels_words() {
    alone(|kernel| {
        let error = kernel.link("nowhere").unwrap_err();
        assert_eq!(error.to_string(), "look up link nowhere");
        assert!(error.is_absent(), "{error:?}");
        let error = kernel.create_veth("much-too-long-a-name", "b", 1).unwrap_err();
        assert!(error.to_string().contains("is not a link name"), "{error}");
        let nowhere = NextHop { via: Some(ip("198.18.1.1")), index: 1 };
        let error = kernel.add_route(ip("198.19.0.0"), 16, &[nowhere], None).unwrap_err();
        let words = std::error::Error::source(&error).unwrap().to_string();
        assert!(words.contains("Nexthop has invalid gateway") || words.contains("down"), "{words}");
    });
}

/// Creates two namespaces with a cable between them; the caller has the connection of the near end.
fn across(kernel: &mut Netlink) -> (u32, std::net::UdpSocket, std::net::UdpSocket) {
    kernel.create_veth("a", "b", 1).unwrap();
    let far = kernel.link("b").unwrap().index;
    let (tell, told) = std::sync::mpsc::channel();
    let there = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        tell.send(std::fs::File::open("/proc/thread-self/ns/net").unwrap()).unwrap();
        let mut kernel = Netlink::open().unwrap();
        let index = loop {
            match kernel.link("b") {
                Ok(link) => break link.index,
                Err(_) => std::thread::yield_now(),
            }
        };
        kernel.add_address(index, ip("192.0.2.2"), 24).unwrap();
        kernel.set_up(index).unwrap();
        std::net::UdpSocket::bind("192.0.2.2:0").unwrap()
    });
    let namespace = told.recv().unwrap();
    kernel.rename_into_namespace(far, "b", &namespace).unwrap();
    let near = kernel.link("a").unwrap().index;
    kernel.add_address(near, ip("192.0.2.1"), 24).unwrap();
    kernel.set_up(near).unwrap();
    let there = there.join().unwrap();
    while !kernel.link("a").unwrap().running {
        std::thread::yield_now();
    }
    let here = std::net::UdpSocket::bind("192.0.2.1:0").unwrap();
    here.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    (near, here, there)
}

/// Sends this many datagrams of 1000 octets, and checks that all arrive.
fn send_and_count(from: &std::net::UdpSocket, to: &std::net::UdpSocket, frames: usize) {
    for _ in 0..frames {
        from.send_to(&[0; 1000], to.local_addr().unwrap()).unwrap();
    }
    let mut buffer = [0; 2000];
    for number in 0..frames {
        to.recv(&mut buffer).unwrap_or_else(|e| panic!("{number} of {frames} came: {e}"));
    }
}

/// Ethernet address of the ifb link: locally administered, unicast.
const MARK: [u8; 6] = [0x02, 1, 2, 3, 4, 5];

/// Checks the redirection with tbf in place of netem, since every kernel with these tests has it.
#[test]
fn what_arrives_takes_the_detour_and_later_does_not() {
    alone(|kernel| {
        let (near, here, there) = across(kernel);
        kernel.create_ifb("detour", MARK).unwrap();
        let detour = kernel.link("detour").unwrap();
        assert_eq!((detour.mac, detour.kind.as_deref()), (Some(MARK), Some("ifb")));
        let detour = detour.index;
        let (rate, burst, limit) = (Rate(1_000_000), ByteCount(2_000), ByteCount(1_000_000));
        kernel.set_tbf(detour, &TokenBucket { rate, burst, limit, overhead: 0 }).unwrap();
        kernel.set_up(detour).unwrap();
        assert_eq!(kernel.arrivals(near).unwrap(), Arrivals::Direct);
        kernel.lead_arrivals(near, detour).unwrap();
        assert!(kernel.leads_arrivals(near).unwrap());
        assert_eq!(kernel.arrivals(near).unwrap(), Arrivals::Through(detour));
        let through = |kernel: &mut Netlink| {
            let all = kernel.qdiscs().unwrap();
            all.into_iter().find(|queue| queue.index == detour && queue.root).unwrap().stats
        };
        let before = through(kernel);
        send_and_count(&there, &here, 20);
        let after = through(kernel);
        assert!(after.packets - before.packets >= 20, "{before:?} {after:?}");
        assert!(after.overlimits > before.overlimits, "20,000 octets through 2,000: some waited");
        assert_eq!(after.drops, before.drops);

        // An existing ingress queue is never taken over.
        let taken = kernel.lead_arrivals(near, detour).unwrap_err();
        assert_eq!(taken.errno(), Some(Errno::EEXIST), "{taken:?}");
        assert!(taken.hint().unwrap().contains("another program"), "{taken:?}");
        assert!(kernel.leads_arrivals(near).unwrap(), "and is left as it is");

        kernel.restore_arrivals(near).unwrap();
        assert!(!kernel.leads_arrivals(near).unwrap());
        // A few small frames of the kernel's own (of IPv6) may still wait in the detour's queue
        // and leave it now; not one of ours is among what came through since.
        let before = through(kernel).bytes;
        send_and_count(&there, &here, 20);
        let since = through(kernel).bytes - before;
        assert!(since < 1000, "none of 1000 octets came this way: {since}");
        kernel.remove_link(detour).unwrap();
        assert!(kernel.link("detour").unwrap_err().is_absent());
    });
}

#[test]
fn netem_is_set_and_read_back_or_its_absence_is_told() {
    alone(|kernel| {
        kernel.create_ifb("detour", MARK).unwrap();
        let detour = kernel.link("detour").unwrap().index;
        let netem = netlink::Netem { delay: measure::Nanos::from_micros(12_800), limit: 5_000 };
        match kernel.set_netem(detour, &netem) {
            Ok(()) => assert_eq!(kernel.netem(detour).unwrap(), Some(netem)),
            Err(refused) => {
                assert_eq!(refused.errno(), Some(Errno::ENOENT), "{refused:?}");
                assert!(refused.hint().unwrap().contains("sch_netem"), "{refused:?}");
                assert_eq!(kernel.netem(detour).unwrap(), None);
                eprintln!("this kernel lacks netem: its refusal is what was tested");
            }
        }
    });
}
