//! Every sender against every receiver, over IPv4 and IPv6, with tags, mixes and spreads: sent is
//! what the kernel counts, frame for frame, and what was received and lost. What a backend cannot
//! do it refuses by name. Each sender meets each receiver, and each load both; all three together
//! in every way only with `SWITCHMARK_TESTS=full`, else in every second.

use std::net::IpAddr;

use crate::datagram_ends::{self, Flow, check_conserved, lab, size, try_run};
use dataplane::FlowError;
use dataplane::datagram::Spread;
use lab::{Lab, LabDevice, LabSpec, twin};
use measure::{FrameMix, Nanos};
use trial::topology::AddressBlock;
use trial::{Backend, Reception};

const SENDERS: [Backend; 5] =
    [Backend::XdpLive, Backend::AfXdp, Backend::Packet, Backend::Udp, Backend::UdpGso];

const RECEIVERS: [Reception; 4] =
    [Reception::Xdp, Reception::AfXdp, Reception::Packet, Reception::Udp];

/// What a load asks of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Asks {
    /// One size, one pair of ports and addresses, no tag.
    Nothing,
    /// Several sizes.
    Mix,
    /// Several source ports and addresses.
    Sources,
    /// A tag, or several destinations.
    WholeFrames,
}

fn loads(lab: &Lab) -> Vec<(Asks, Flow)> {
    let block = |host: &str, ipv6: bool, count: u16| {
        let first = lab.plan().host(host).expect("a host").ports[0].block;
        let first: IpAddr = if ipv6 { twin(first).into() } else { first.into() };
        Some(AddressBlock { first, count })
    };
    let sources = |ipv6| Spread { source_ports: 4, sources: block("h1", ipv6, 5), ..Spread::NONE };
    let all =
        |ipv6| Spread { destination_ports: 3, destinations: block("h2", ipv6, 7), ..sources(ipv6) };
    let of = |octets| Flow {
        load: Nanos::from_millis(30),
        ..Flow::of(octets, Backend::Auto, Reception::Auto)
    };
    let mix = FrameMix::new(vec![size(88), size(1_518), size(300)]).expect("a mix");
    vec![
        (Asks::Nothing, of(64)),
        (Asks::Nothing, of(1_518)),
        (Asks::Nothing, Flow { ipv6: true, ..of(84) }),
        (Asks::Mix, Flow { frames: FrameMix::imix(), ..of(64) }),
        (Asks::Mix, Flow { frames: mix.clone(), ipv6: true, ..of(84) }),
        (Asks::Sources, Flow { spread: sources(false), ..of(64) }),
        (Asks::Sources, Flow { spread: sources(true), ipv6: true, ..of(84) }),
        (Asks::WholeFrames, Flow { vlan: Some(100), ..of(68) }),
        (Asks::WholeFrames, Flow { vlan: Some(4_094), ipv6: true, ..of(88) }),
        (Asks::WholeFrames, Flow { spread: all(false), ..of(64) }),
        (
            Asks::WholeFrames,
            Flow { vlan: Some(1), spread: all(true), frames: mix, ipv6: true, ..of(88) },
        ),
    ]
}

fn full() -> bool {
    std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full")
}

/// Whether it is the turn of what stands at these places of their lists.
fn has_its_turn(places: &[usize]) -> bool {
    full() || places.iter().sum::<usize>() % 2 == 0
}

fn can_send(sender: Backend, asks: Asks) -> bool {
    match sender {
        Backend::Udp => matches!(asks, Asks::Nothing | Asks::Mix),
        Backend::UdpGso => asks == Asks::Nothing,
        _ => true,
    }
}

fn check_receiver(receiver: Reception) {
    let known = RECEIVERS.iter().position(|known| *known == receiver).expect("it is listed");
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for (number, (asks, load)) in loads(&lab).into_iter().enumerate() {
        let sees = receiver != Reception::Udp || asks != Asks::WholeFrames;
        // Only while its peer has an XDP program does a veth take redirected frames, and cut
        // super-frames before it hands them on.
        let program = matches!(receiver, Reception::Xdp | Reception::AfXdp);
        let needs_program = [Backend::XdpLive, Backend::UdpGso];
        for (at, sender) in SENDERS.into_iter().enumerate() {
            if !has_its_turn(&[known, number, at]) {
                continue;
            }
            let flow = Flow { sender, receiver, ..load.clone() };
            let possible = can_send(sender, asks) && (program || !needs_program.contains(&sender));
            match try_run(&lab, &flow, |_, _| {}) {
                Ok(ran) => {
                    check_conserved(&ran, &flow);
                    assert!(sees && possible, "{flow:?}");
                    assert_eq!(ran.sent.backend, sender.as_str());
                    assert_eq!(ran.got.receiver, receiver.as_str());
                }
                Err(FlowError::Unavailable { asked, why }) => {
                    assert!(!sees || !possible, "{flow:?}: {asked}: {why}");
                    let refused = if sees { sender.as_str() } else { receiver.as_str() };
                    assert!(asked.contains(refused), "{asked}");
                }
                Err(other) => panic!("{flow:?}: {other}"),
            }
        }
    }
}

#[test]
fn the_kernels_counter_counts_what_every_sender_sent() {
    check_receiver(Reception::Xdp);
}

#[test]
fn af_xdp_counts_what_every_sender_sent() {
    check_receiver(Reception::AfXdp);
}

#[test]
fn a_packet_ring_counts_what_every_sender_sent() {
    check_receiver(Reception::Packet);
}

#[test]
fn a_udp_socket_counts_what_every_sender_sent_that_it_can_see() {
    check_receiver(Reception::Udp);
}

#[test]
fn automatic_choices_work_whatever_is_between() {
    let devices = [LabDevice::Cable, LabDevice::Bridge, LabDevice::Router, LabDevice::Routers];
    for (at, device) in devices.into_iter().enumerate() {
        let Some((_alone, lab)) = lab(&LabSpec::new(device.clone())) else { return };
        for (number, (_, flow)) in loads(&lab).into_iter().enumerate() {
            if !has_its_turn(&[at, number]) {
                continue;
            }
            // A bridge that no VLAN was made known to passes every tag; a router has no such
            // network.
            if flow.vlan.is_some() && matches!(device, LabDevice::Router | LabDevice::Routers) {
                continue;
            }
            let ran = match try_run(&lab, &flow, |_, _| {}) {
                Ok(ran) => ran,
                Err(error) => panic!("{device:?} {flow:?}: {error}"),
            };
            datagram_ends::report(&ran, &flow);
            assert!(ran.got.received.unique > 0, "{device:?}: nothing arrived of {flow:?}");
            assert!(ran.got.received.unique <= ran.sent.sent);
            assert_eq!(ran.got.rejected.malformed + ran.got.rejected.foreign, 0);
            assert!(!ran.sent.backend_reason.is_empty() && !ran.got.receiver_reason.is_empty());
        }
    }
}
