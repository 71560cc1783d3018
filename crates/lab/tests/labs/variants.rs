//! Variants of a lab's devices on the real kernel: applied, verified, undone.
//!
//! Needs root and says so otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::xdp;
use lab::{Cause, Equipment, Guard, Lab, Privilege, XdpForwarder, privilege};

use crate::ends::{Pair, echo, machine, promised_pairs, side_by_side};

fn ports(lab: &Lab, subject: &str) -> Vec<(String, String)> {
    let devices = &lab.plan().subject(subject).unwrap().devices;
    let of = |name: &String| {
        let device = lab.plan().device(name).unwrap();
        device.ports.iter().map(|port| (name.clone(), port.interface.clone())).collect::<Vec<_>>()
    };
    devices.iter().flat_map(of).collect()
}

fn gro(lab: &Lab, subject: &str) -> Vec<bool> {
    let is_on = |(node, port): (String, String)| {
        lab.netlink(&node, |kernel| Ok(kernel.offloads(&port)?.gro)).unwrap()
    };
    ports(lab, subject).into_iter().map(is_on).collect()
}

/// Output of a program in a device that reads a file from a sysfs of its own: an independent check.
fn shown(lab: &Lab, node: &str, file: &str) -> Option<String> {
    let script = format!("mount -t sysfs sysfs /sys && cat /sys/class/net/{file}");
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", &script]);
    command.stdout(Stdio::piped());
    let child = lab.spawn(node, &mut command).ok()?;
    let output = child.wait_with_output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn a_variant_is_applied_and_taken_back() {
    let Some(_machine) = machine() else { return };
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let lab = Lab::build(&side_by_side()).unwrap();
    assert_eq!(lab.variants("bridge"), ["gro", "rps", "threaded"]);
    assert_eq!(lab.variants("routers"), ["gro", "rps", "threaded", "one-path", "two-paths"]);
    assert_eq!(lab.variants("switch"), [] as [&str; 0]);
    for subject in ["bridge", "routers", "router"] {
        let (node, port) = ports(&lab, subject).remove(0);
        let rps = || shown(&lab, &node, &format!("{port}/queues/rx-0/rps_cpus")).unwrap();
        let threaded = || shown(&lab, &node, &format!("{port}/threaded")).unwrap();
        let (rps_off, threaded_off) = (rps(), threaded());
        let plain = gro(&lab, subject);
        assert!(plain.iter().all(|on| !on), "a virtual cable starts without: {plain:?}");
        let steps = [Some("gro"), None, Some("rps"), Some("threaded"), Some("gro"), Some("rps")];
        for variant in steps.into_iter().chain([None]) {
            lab.apply(subject, variant).unwrap();
            let merging = matches!(variant, Some("gro" | "threaded"));
            assert!(gro(&lab, subject).iter().all(|on| *on == merging), "{subject} {variant:?}");
            assert_eq!(rps() != rps_off, variant == Some("rps"), "{subject} {variant:?}");
            let threads = variant == Some("threaded");
            assert_eq!(threaded() != threaded_off, threads, "{subject} {variant:?}");
            assert!(gro(&lab, "bridge2").iter().all(|on| !on), "another was touched");
            for pair in
                promised_pairs(&lab).iter().filter(|p| p.subject.as_deref() == Some(subject))
            {
                echo(&lab, pair, 1000);
            }
        }
    }
    assert_eq!(mounts(), before, "a mount of ours is seen elsewhere");
    let unknown = lab.apply("bridge", Some("one-path")).unwrap_err().to_string();
    assert_eq!(unknown, "put device bridge into variant one-path: it has gro, rps, threaded");
}

#[test]
fn one_path_or_two() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&side_by_side()).unwrap();
    let across = |pair: &&Pair| pair.subject.as_deref() == Some("routers2");
    let all = promised_pairs(&lab);
    let pairs: Vec<&Pair> = all.iter().filter(across).collect();
    // Number of 64 flows that each of the two routers carried.
    let carried = || {
        let sent = |router: &str| {
            let links = lab.netlink(router, netlink::Netlink::links).unwrap();
            links.iter().map(|link| link.stats.tx_packets).sum::<u64>()
        };
        let before = ["r3", "r4"].map(sent);
        for _ in 0..16 {
            for pair in &pairs {
                echo(&lab, pair, 64);
            }
        }
        let after = ["r3", "r4"].map(sent);
        [after[0] - before[0], after[1] - before[1]]
    };
    let both = |[first, second]: [u64; 2]| first > 0 && second > 0 && first + second == 128;
    assert!(both(carried()));
    lab.apply("routers2", Some("one-path")).unwrap();
    assert_eq!(carried(), [128, 0]);
    // The variant survives a pulled cable and a reset.
    let interface = &lab.plan().host("h1").unwrap().ports[4].interfaces[0];
    lab.set_link("h1", interface, false).unwrap();
    lab.set_link("h1", interface, true).unwrap();
    lab.reset("routers2", Duration::from_millis(10)).unwrap();
    assert_eq!(carried(), [128, 0]);
    lab.apply("routers2", Some("two-paths")).unwrap();
    assert!(both(carried()));
    lab.apply("routers2", Some("one-path")).unwrap();
    lab.apply("routers2", None).unwrap();
    assert!(both(carried()));
}

/// The XDP programs as switchmark passes them to a lab.
#[derive(Debug)]
struct Programs;

impl XdpForwarder for Programs {
    fn forward(&self, interfaces: &[String]) -> Result<Guard, Cause> {
        let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
        Ok(Box::new(xdp::forward(&names)?))
    }

    fn accept(&self, interface: &str) -> Result<Guard, Cause> {
        Ok(Box::new(xdp::accept_frames(interface)?))
    }
}

fn equipped() -> Option<Lab> {
    if privilege() != Privilege::Root {
        eprintln!("skipped: attaching XDP programs needs root");
        return None;
    }
    let equipment = Equipment { forwarder: Some(Arc::new(Programs)), ..Equipment::default() };
    Some(Lab::build_with(&side_by_side(), equipment).unwrap())
}

/// Packets that a router's stack forwarded, of IPv4 and of IPv6, by its own count.
fn forwarded_by_stack(lab: &Lab, router: &str) -> u64 {
    let read = || {
        let v4 = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        let v6 = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap();
        let mut lines = v4.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let names = lines.next().unwrap().split(' ');
        let counted: BTreeMap<&str, &str> = names.zip(lines.next().unwrap().split(' ')).collect();
        let v6 = v6.lines().find_map(|line| line.strip_prefix("Ip6OutForwDatagrams")).unwrap();
        counted["ForwDatagrams"].parse::<u64>().unwrap() + v6.trim().parse::<u64>().unwrap()
    };
    lab.inside(router, read).unwrap()
}

#[test]
fn xdp_forwards_past_the_stack() {
    let Some(_machine) = machine() else { return };
    let Some(lab) = equipped() else { return };
    assert_eq!(lab.variants("router"), ["gro", "rps", "threaded", "xdp"]);
    assert_eq!(lab.variants("bridge"), ["gro", "rps", "threaded"]);
    let all = promised_pairs(&lab);
    for subject in ["router", "routers"] {
        let routers = lab.plan().subject(subject).unwrap().devices.clone();
        let pairs: Vec<&Pair> =
            all.iter().filter(|pair| pair.subject.as_deref() == Some(subject)).collect();
        // Number of frames that went through the stack in each direction.
        let by_stack = || {
            let count = || routers.iter().map(|r| forwarded_by_stack(&lab, r)).sum::<u64>();
            let before = count();
            for pair in &pairs {
                echo(&lab, pair, 1000);
            }
            count() - before
        };
        let frames = 2 * pairs.len() as u64;
        assert_eq!(by_stack(), frames, "{subject}");
        lab.take_redirected(&[subject.to_owned()], &[]);
        lab.apply(subject, Some("xdp")).unwrap();
        assert_eq!(by_stack(), 0, "{subject}");
        lab.take_redirected(&[subject.to_owned()], &[]);
        assert_eq!(by_stack(), 0, "{subject}");
        // A receiver's own program finds the interface free.
        let port = lab.plan().hosts[1].ports.iter().find(|port| match port.far_end() {
            lab::FarEnd::Device { device, .. } => routers.contains(device),
            lab::FarEnd::Host { .. } => false,
        });
        let interface = port.unwrap().interfaces[0].clone();
        let attach = || lab.inside("h2", || xdp::accept_frames(&interface)).unwrap();
        attach().expect_err("the lab's own is there");
        lab.take_redirected(&[], &[("h2".to_owned(), interface.clone())]);
        let own = attach().unwrap();
        assert_eq!(by_stack(), 0, "{subject}, received by another program");
        drop(own);
        lab.take_redirected(&[], &[]);
        lab.reset(subject, Duration::from_millis(10)).unwrap();
        assert_eq!(by_stack(), 0, "{subject} after a reset");
        lab.apply(subject, None).unwrap();
        assert_eq!(by_stack(), frames, "{subject}");
    }
}

#[test]
fn redirected_frames_are_taken_where_asked_for() {
    let Some(_machine) = machine() else { return };
    let Some(lab) = equipped() else { return };
    let takes =
        |interface: &str| lab.inside("h1", || xdp::takes_frames(interface)).unwrap().unwrap();
    let towards = |subject: &str| {
        let place = lab.plan().subjects.iter().position(|s| s.name == subject).unwrap();
        lab.plan().hosts[0].ports[place].interfaces.iter().all(|interface| takes(interface))
    };
    assert!(!towards("bridge"), "a virtual cable refuses them by itself");
    lab.take_redirected(&["bridge".to_owned(), "routers".to_owned()], &[]);
    assert!(towards("bridge") && towards("routers") && !towards("router"));
    lab.take_redirected(&["routers".to_owned()], &[]);
    assert!(!towards("bridge") && towards("routers"));
    for pair in promised_pairs(&lab) {
        echo(&lab, &pair, 1000);
    }
    lab.take_redirected(&[], &[]);
    assert!(!towards("routers"));
    // Ignored silently: a device that is a bridge, and an unknown name.
    lab.take_redirected(&["switch".to_owned()], &[]);
}

/// Prints the cost to ordinary frames of a device that accepts redirected ones, which is why it
/// accepts them only for trials that send such. Asserts nothing: a shared machine's times.
#[test]
#[allow(clippy::disallowed_methods, reason = "tells a ratio of times")]
fn what_taking_redirected_frames_costs_others() {
    let Some(_machine) = machine() else { return };
    let Some(lab) = equipped() else { return };
    let pairs = promised_pairs(&lab);
    let pair = pairs.iter().find(|pair| pair.subject.as_deref() == Some("bridge")).unwrap();
    echo(&lab, pair, 18);
    let open = |(host, ip): &(String, std::net::IpAddr)| {
        lab.inside(host, || UdpSocket::bind((*ip, 0))).unwrap().unwrap()
    };
    let (from, to) = (open(&pair.asking), open(&pair.answering));
    let to_address = to.local_addr().unwrap();
    let sent_in = |time: Duration| {
        let begun = Instant::now();
        let mut count = 0u32;
        while begun.elapsed() < time {
            for _ in 0..64 {
                from.send_to(&[0; 18], to_address).unwrap();
                count += 1;
            }
        }
        f64::from(count) / begun.elapsed().as_secs_f64()
    };
    let mut ratios: Vec<f64> = (0..7)
        .map(|_| {
            let plain = sent_in(Duration::from_millis(150));
            lab.take_redirected(&["bridge".to_owned()], &[]);
            let taking = sent_in(Duration::from_millis(150));
            lab.take_redirected(&[], &[]);
            taking / plain
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    eprintln!(
        "frames of one UDP socket over a bridge that takes redirected ones, against one that \
               does not: {:.3} (median of {:.3?})",
        ratios[3], ratios
    );
}
