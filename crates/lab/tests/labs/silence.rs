//! An idle lab carries no frame: no link sends requests, announcements or reports.
//!
//! Needs root or a user namespace and says so otherwise.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use lab::{Lab, LabSpec};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, socket as nix_socket,
};

use crate::ends::{echo, machine, promised_pairs, side_by_side, some_specs};

/// Captures every frame that arrives at or leaves any link of a node from now on.
fn capture(lab: &Lab, node: &str) -> OwnedFd {
    let (raw, all) = (SockType::Raw, SockProtocol::EthAll);
    lab.inside(node, || nix_socket(AddressFamily::Packet, raw, SockFlag::SOCK_NONBLOCK, all))
        .unwrap()
        .unwrap()
}

/// Returns the frames captured since the last call: the first octets of each.
fn captured(capture: &OwnedFd) -> Vec<Vec<u8>> {
    let mut frame = [0; 64];
    std::iter::from_fn(|| {
        let length = recv(capture.as_raw_fd(), &mut frame, MsgFlags::empty()).ok()?;
        Some(frame[..length].to_vec())
    })
    .collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "silence is listened to")]
fn an_idle_lab_is_silent() {
    let Some(_machine) = machine() else { return };
    let mut labs = Vec::new();
    for spec in some_specs() {
        let lab = Lab::build(&LabSpec { hosts: 4, ..spec }).unwrap();
        let captures: Vec<OwnedFd> = lab.nodes().map(|node| capture(&lab, node)).collect();
        labs.push((lab, captures));
    }
    std::thread::sleep(Duration::from_secs(3));
    for (lab, captures) in &labs {
        for (node, capture) in lab.nodes().zip(captures) {
            let frames = captured(capture);
            assert_eq!(frames, Vec::<Vec<u8>>::new(), "{node}");
            // None was sent before the capture started either.
            let links = lab.netlink(node, netlink::Netlink::links).unwrap();
            let sent: u64 = links.iter().map(|link| link.stats.tx_packets).sum();
            assert_eq!(sent, 0, "{node}: {links:?}");
        }
        // The capture works: it sees each of two frames at its sender, at two ports of the device,
        // and at its receiver.
        let pair = promised_pairs(lab).remove(0);
        echo(lab, &pair, 100);
        // A switch flooded the first of them.
        captures.iter().map(captured).for_each(drop);
        echo(lab, &pair, 100);
        let seen = captures.iter().map(|capture| captured(capture).len()).sum::<usize>();
        assert_eq!(seen, if lab.plan().devices.is_empty() { 4 } else { 8 });
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "silence is listened to")]
fn silence_returns_after_a_pulled_cable_and_a_reset() {
    let Some(_machine) = machine() else { return };
    let lab = Lab::build(&side_by_side()).unwrap();
    let captures: Vec<OwnedFd> = lab.nodes().map(|node| capture(&lab, node)).collect();
    for subject in &lab.plan().subjects {
        lab.reset(&subject.name, Duration::from_millis(50)).unwrap();
    }
    for port in &lab.plan().hosts[0].ports {
        lab.set_link("h1", &port.interfaces[0], false).unwrap();
        lab.set_link("h1", &port.interfaces[0], true).unwrap();
    }
    std::thread::sleep(Duration::from_secs(1));
    for (node, capture) in lab.nodes().zip(&captures) {
        assert_eq!(captured(capture).len(), 0, "{node}");
    }
    for pair in promised_pairs(&lab) {
        echo(&lab, &pair, 100);
    }
}
