//! At every instant, whatever the device and the load: entered + copies = delivered + dropped +
//! standing, and the events say the same as the counters.
//!
//! Owns the random profiles. Nothing here knows what ought to happen to a frame.

use crate::rig::{mac, total};
use device::profile::{
    Broken, Buffer, Damaged, Device, Group, HostCable, Kind, MacTable, Mode, Policer, Stalls,
};
use device::{Cause, Edge, Event, Frame, Mac, Network, Profile};
use measure::{ByteCount, Nanos, Picos, Rate};
use proptest::prelude::*;

fn buffer() -> impl Strategy<Value = Buffer> {
    let alpha = prop::option::of(prop::sample::select(vec![0.0625, 0.5, 1.0, 8.0]));
    let cell = prop::sample::select(vec![1_u32, 80, 208, 256]);
    (20_000_u64..300_000, 0_u64..2000, alpha, cell).prop_map(|(size, reserved, alpha, cell)| {
        let reserved = ByteCount(if alpha.is_some() { reserved } else { 0 });
        Buffer { size: ByteCount(size), reserved, alpha, cell }
    })
}

fn stalls() -> impl Strategy<Value = Option<Stalls>> {
    prop::option::weighted(
        0.3,
        (10.0..10_000.0_f64, 1_000_u64..200_000)
            .prop_map(|(per_second, length)| Stalls { per_second, length: Nanos(length) }),
    )
}

prop_compose! {
    fn device()(
        buffer in buffer(),
        stalls in stalls(),
        rate in prop::sample::select(vec![1_000_000_000_u64, 10_000_000_000, 333_333_333]),
        uplinks in prop::collection::vec(prop::option::of(100_000_000_u64..20_000_000_000), 1..4),
        (delay, latency) in (0_u64..200_000, 0_u64..20_000),
        (cut_through, router, pause) in (any::<bool>(), prop::bool::weighted(0.2), any::<bool>()),
        pps_limit in prop::option::weighted(0.2, 10_000_u64..2_000_000),
        policer in prop::option::weighted(0.2, (1_000_u64..2_000_000, 1_u32..100, any::<bool>())),
        loss in prop::option::weighted(0.3, 0.0..0.5_f64),
        cable in prop::option::weighted(0.3, (
            prop::option::of(prop::sample::select(vec![100_000_000_u64, 10_000_000_000])),
            prop::option::of(prop::sample::select(vec![Broken::In, Broken::Out, Broken::Both])),
            (0.0..0.5_f64, 0.0..0.5_f64),
        )),
        (entries, learn_rate, age) in (1_u32..10, 0_u64..100_000, 1_000_u64..1_000_000),
    ) -> Device {
        let mut device = Device::plain("d", 9, Rate(rate));
        device.link_delay = Nanos(delay);
        device.latency = Nanos(latency);
        device.mode = if cut_through { Mode::CutThrough } else { Mode::StoreAndForward };
        device.kind = if router { Kind::Router } else { Kind::Switch };
        let each = 9 / uplinks.len() as u16;
        device.groups = uplinks.iter().enumerate().map(|(nth, uplink)| {
            let first = each * nth as u16;
            let end = if nth + 1 == uplinks.len() { 9 } else { first + each };
            Group { ports: (first..end).collect(), uplink: uplink.map(Rate) }
        }).collect();
        device.buffer = buffer;
        device.mac_table = MacTable { entries, learn_rate, age: Nanos(age) };
        device.pps_limit = pps_limit.unwrap_or(0);
        device.pps_queue = 8;
        let bucket = |(pps, burst, only_groups)| Policer { pps, burst, only_groups };
        device.policer = policer.map(bucket);
        device.pause = pause;
        device.max_frame = 9100;
        device.loss = loss.unwrap_or(0.0);
        device.stalls = stalls;
        let cable = cable.map(|(rate, broken, (inward, outward))| {
            HostCable {
                rate: rate.map(Rate),
                shaped: None,
                broken,
                damaged: Damaged { inward, outward },
            }
        });
        device.cables = cable.map(|cable| (2, cable)).into_iter().collect();
        device
    }
}

fn network() -> impl Strategy<Value = Profile> {
    prop_oneof![
        3 => device().prop_map(Profile::of_device),
        1 => (1_u16..4, 1_u16..4).prop_map(|(leaves, spines)| {
            let (rate, up) = (Rate(1_000_000_000), Rate(2_500_000_000));
            Profile::leaf_spine(leaves, spines, 4, rate, up)
        }),
        1 => (device(), device()).prop_map(|(mut a, mut b)| {
            (a.kind, b.kind) = (Kind::Switch, Kind::Switch);
            Profile::in_a_row(vec![a, b], Rate(1_000_000_000), Nanos(10_000))
        }),
    ]
}

/// From, to, octets, how long after the sender's last one.
fn load() -> impl Strategy<Value = Vec<(u16, u16, u32, u64)>> {
    prop::collection::vec((0_u16..12, 0_u16..14, 64_u32..9200, 0_u64..40_000), 1..400)
}

/// What the events have said so far.
#[derive(Default)]
struct Said {
    copied: u64,
    delivered: u64,
    dropped: u64,
    damaged: u64,
    stops: u64,
}

fn note(said: &mut Said, event: Event) {
    match event {
        Event::Delivered { .. } => said.delivered += 1,
        Event::Dropped { cause, .. } => {
            said.dropped += 1;
            said.damaged += u64::from(cause == Cause::Damaged);
        }
        Event::Copied { copies, .. } => said.copied += u64::from(copies),
        Event::Pause { stop, .. } => said.stops += u64::from(stop),
    }
}

fn agree(network: &Network, said: &Said, entered: u64) -> Result<(), TestCaseError> {
    let (sum, standing) = (total(network), network.standing());
    prop_assert_eq!(sum.entered, entered);
    prop_assert_eq!(sum.entered + sum.copies, sum.delivered + sum.dropped + standing.frames);
    prop_assert_eq!(sum.copies, said.copied);
    prop_assert_eq!(sum.delivered, said.delivered);
    prop_assert_eq!(sum.dropped, said.dropped);
    prop_assert_eq!(sum.damaged_in + sum.damaged_out, said.damaged);
    // The last may still be on their way.
    prop_assert!(sum.pauses >= said.stops);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_appears_and_nothing_vanishes(
        profile in network(),
        load in load(),
        seed in any::<u64>(),
        reset_after in prop::option::weighted(0.2, 0_usize..400),
        changes in prop::collection::btree_map(0_usize..400, (0_u16..12, 0_u8..4), 0..6),
    ) {
        let mut network = Network::new(&profile, seed);
        let edges = network.edges();
        let mut said = Said::default();
        let mut free = vec![Picos::ZERO; usize::from(edges)];
        let mut now = Picos::ZERO;
        let mut entered = 0;
        for (nth, (from, to, octets, after)) in load.into_iter().enumerate() {
            let from = Edge(from % edges);
            let begin = free[usize::from(from.0)] + Picos(after * 1000);
            let begin = begin.max(now);
            while let Some(at) = network.next().filter(|at| *at <= begin) {
                network.advance(at, &mut |event| note(&mut said, event));
                agree(&network, &said, entered)?;
            }
            now = begin;
            let plan = profile.port_address(from);
            let frame = Frame {
                octets,
                source: mac(from.0),
                destination: plan.map_or(if to == 13 { Mac::BROADCAST } else { mac(to) }, |p| p.own),
                target: profile.port_address(Edge(to)).map(|p| p.address),
                tag: nth as u64,
            };
            network.submit(now, from, frame);
            entered += 1;
            free[usize::from(from.0)] =
                now + Picos::to_send(u64::from(octets) + 20, profile.edge_rate(from));
            if reset_after == Some(nth) {
                network.reset(now, &mut |event| note(&mut said, event));
                prop_assert_eq!(network.standing().frames, 0);
                free.fill(now);
            }
            if let Some((edge, change)) = changes.get(&nth) {
                let edge = Edge(edge % edges);
                match change {
                    0 | 1 => network.set_link(edge, *change == 1, &mut |event| note(&mut said, event)),
                    _ => network.set_blackhole(edge, *change == 2),
                }
            }
            agree(&network, &said, entered)?;
        }
        while let Some(at) = network.next() {
            network.advance(at, &mut |event| note(&mut said, event));
            agree(&network, &said, entered)?;
        }
        prop_assert_eq!(network.standing().frames, 0);
        prop_assert_eq!(network.standing().octets, 0);
    }
}
