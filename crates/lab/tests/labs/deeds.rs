//! Disturbances of a device's port on the real kernel: which hosts stay reachable, the kernel's
//! state, and its complete restoration.
//!
//! Needs root or a user namespace and says so otherwise.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

use lab::{Lab, LabDevice, LabSpec, PortDeed, Shaper};
use measure::Rate;
use netlink::{Link, QdiscHandle};

use crate::ends::{Pair, echo, local, machine, promised_pairs, socket};

const FRAMES: u64 = 100;

/// Specs of the device's kind of lab, with no limit and with each shaper's.
fn specs(device: &LabDevice) -> Vec<LabSpec> {
    let plain = LabSpec::new(device.clone());
    let limited = |shaper| LabSpec { rate: Some(Rate(100_000_000)), shaper, ..plain.clone() };
    let mut specs = vec![plain.clone()];
    specs.extend(Shaper::ALL.map(limited));
    specs
}

/// Port of the pair's second end, as host and name.
fn port(lab: &Lab, pair: &Pair) -> (String, String) {
    let (host, address) = &pair.answering;
    let plan = lab.plan().host(host).unwrap();
    let own = plan.ports.iter().find(|port| address == &port.address).unwrap();
    (own.name.clone(), own.interfaces[0].clone())
}

/// Sends a fixed number of datagrams and returns the number received.
fn through(lab: &Lab, (from, to): (&UdpSocket, &UdpSocket)) -> u64 {
    let _ = lab;
    to.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    for _ in 0..FRAMES {
        // If the path is down the kernel may report that at once.
        let _ = from.send_to(&[7; 64], local(to));
    }
    let mut came = 0;
    loop {
        match to.recv(&mut [0; 128]) {
            Ok(_) => came += 1,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
            Err(_) => {}
        }
    }
    came
}

fn link(lab: &Lab, node: &str, interface: &str) -> Link {
    lab.netlink(node, |kernel| kernel.link(interface)).unwrap()
}

/// Lists every queue of every node, as the kernel reports it.
fn queues(lab: &Lab) -> Vec<(String, u32, String, QdiscHandle, bool)> {
    let of = |node: &str| {
        let queues = lab.netlink(node, netlink::Netlink::qdiscs).unwrap().into_iter();
        let one = |q: netlink::Qdisc| (node.to_owned(), q.index, q.kind, q.handle, q.root);
        queues.map(one).collect::<Vec<_>>()
    };
    lab.nodes().flat_map(of).collect()
}

#[test]
fn a_black_hole_swallows_what_leaves_and_a_pulled_link_what_crosses() {
    let Some(_machine) = machine() else { return };
    for device in LabDevice::ALL.into_iter().filter(|device| *device != LabDevice::Cable) {
        for spec in specs(&device) {
            let lab = Lab::build(&spec).unwrap();
            let subject = lab.plan().subjects[0].name.clone();
            if device == LabDevice::Routers {
                lab.apply(&subject, Some("one-path")).unwrap();
            }
            assert_eq!(lab.deeds(&subject), device.deeds(), "{device:?}");
            assert_eq!(device.deeds(), PortDeed::ALL);
            let across = |pair: &Pair| pair.subject.is_some() && pair.answering.1.is_ipv4();
            let pair = promised_pairs(&lab).into_iter().find(across).unwrap();
            let (name, interface) = port(&lab, &pair);
            let host = pair.answering.0.clone();
            let (asking, answering) = (
                socket(&lab, &pair.asking.0, pair.asking.1),
                socket(&lab, &host, pair.answering.1),
            );
            let there = || through(&lab, (&asking, &answering));
            let back = || through(&lab, (&answering, &asking));
            echo(&lab, &pair, 18);
            let before = queues(&lab);
            let carrier = link(&lab, &host, &interface).carrier_changes;

            for _ in 0..2 {
                lab.disturb(PortDeed::Blackhole, &host, &name).unwrap();
            }
            assert_eq!((there(), back()), (0, FRAMES), "{spec:?}");
            let now = link(&lab, &host, &interface);
            assert!(now.running && now.carrier_changes == carrier, "{spec:?}: {now:?}");
            for _ in 0..2 {
                lab.restore(PortDeed::Blackhole, &host, &name).unwrap();
            }
            assert_eq!((there(), back()), (FRAMES, FRAMES), "{spec:?}");
            assert_eq!(queues(&lab), before, "{spec:?}");
            let dropped = lab.plan().devices.iter().flat_map(|device| {
                let lab = &lab;
                device.ports.iter().map(|p| lab.dropped_before(&device.name, &p.interface))
            });
            assert_eq!(dropped.sum::<u64>(), FRAMES, "{spec:?}");

            lab.disturb(PortDeed::LinkDown, &host, &name).unwrap();
            assert!(!link(&lab, &host, &interface).running, "{spec:?}");
            assert_eq!((there(), back()), (0, 0), "{spec:?}");
            lab.restore(PortDeed::LinkDown, &host, &name).unwrap();
            assert!(link(&lab, &host, &interface).running, "{spec:?}");
            assert_eq!((there(), back()), (FRAMES, FRAMES), "{spec:?}");
            assert_eq!(queues(&lab), before, "{spec:?}");
        }
    }
}

#[test]
fn a_cable_has_no_port_to_disturb() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&LabSpec::new(LabDevice::Bridge)).unwrap();
    let error = lab.disturb(PortDeed::LinkDown, "h1", "direct").unwrap_err();
    assert_eq!(error.to_string(), "find a device's port at h1/direct: none is");
    assert!(lab.deeds("router").is_empty(), "there is none");
}
