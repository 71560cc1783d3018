//! Loads of datagrams through modelled devices, against truths that are reckoned by hand.

use device::Profile;
use measure::{FrameMix, FrameRate, Nanos, Picos, Rate};
use sim::{HostModel, RESET_TIME, VirtualTestbed};
use trial::Testbed as _;
use trial::books;
use trial::record::{Outcome, Side};
use trial::{Deed, Event, Flow, Gate, Schedule};

use crate::trials::{self, GIGABIT, datagrams, flow, load, run, sum, testbed, trial};

const LOAD: Nanos = Nanos::from_millis(100);

fn line_rate(octets: u32) -> FrameRate {
    FrameMix::from_size(trials::size(octets)).line_rate(GIGABIT)
}

#[test]
fn a_switch_forwards_line_rate_and_every_frame_is_accounted_for() {
    for octets in [64, 1518] {
        let rate = line_rate(octets);
        for schedule in [Schedule::Greedy, Schedule::Paced(rate)] {
            let flows = vec![flow(1, "h1/eth1", "h2/eth1", datagrams(octets, schedule))];
            let trial = trial(flows, LOAD);
            let record = run(&mut testbed(Profile::single(4, GIGABIT)), &trial);
            assert_eq!(record.outcome, Outcome::Valid, "{octets} {schedule:?}");
            let seen = load(&record, 0);
            let expected = (rate.0 * LOAD.as_secs_f64()) as u64;
            assert!(seen.sent.abs_diff(expected) <= 1, "{} of {expected}", seen.sent);
            assert_eq!((seen.received.unique, seen.received.reordered), (seen.sent, 0));
            assert!((seen.receiving_rate().0 / rate.0 - 1.0).abs() < 1e-4);
            assert_eq!(seen.longest_burst.max(1), 1);
            for (side, name) in [
                (Side::Tester, "tx_packets"),
                (Side::Tester, "rx_packets"),
                (Side::Device, "rx_packets"),
                (Side::Device, "tx_packets"),
            ] {
                assert_eq!(sum(&record, side, name), seen.sent, "{side:?} {name}");
            }
            assert_eq!(books::balance(&trial, &record).map(|books| books.closed()), Some(true));
        }
    }
}

#[test]
fn a_frames_delay_is_serialisation_twice_and_latency_and_both_cables() {
    let text = r#"
        name = "truth"
        ports = 2
        rate = "1Gbit"
        buffer = { per_port = "1MiB" }
        forwarding = { mode = "store-and-forward", latency = "3us" }
        link_delay = "5us"
    "#;
    let device = trials::profile(text);
    for octets in [64, 512, 1518] {
        let paced = Schedule::Paced(FrameRate(1000.0));
        let flows = vec![flow(1, "h1/eth1", "h2/eth1", datagrams(octets, paced))];
        let record = run(&mut testbed(device.clone()), &trial(flows, LOAD));
        let delays = &load(&record, 0).delays.as_ref().expect("one clock").histogram;
        // Preamble and frame on each of two cables.
        let wire = Picos::to_send(u64::from(octets) + 8, GIGABIT);
        let expected = (wire + wire + Nanos::from_micros(3 + 2 * 5).into()).to_nanos();
        let near = delays.lowest_equivalent(expected);
        assert_eq!(delays.lowest_equivalent(delays.min()), near, "{octets}");
        assert_eq!(delays.lowest_equivalent(delays.max()), near, "{octets}");
        // The direct cable is the two cables joined, without the device.
        let flows = vec![flow(1, "h1/direct", "h2/direct", datagrams(octets, paced))];
        let record = run(&mut testbed(device.clone()), &trial(flows, LOAD));
        let delays = &load(&record, 0).delays.as_ref().expect("one clock").histogram;
        let expected = (wire + Nanos::from_micros(10).into()).to_nanos();
        assert_eq!(delays.lowest_equivalent(delays.max()), delays.lowest_equivalent(expected));
        assert!(record.ports.iter().all(|port| port.side == Side::Tester));
    }
}

#[test]
fn two_line_rates_into_one_port_lose_half() {
    let flows: Vec<Flow> = (1..=2)
        .map(|id| {
            let from = format!("h{id}/eth1");
            flow(id, &from, "h3/eth1", datagrams(1518, Schedule::Greedy))
        })
        .collect();
    let trial = trial::Trial { gate: Gate::Flood, ..trial(flows, Nanos::from_secs(2)) };
    let record = run(&mut testbed(Profile::single(4, GIGABIT)), &trial);
    assert_eq!(record.outcome, Outcome::Valid);
    let (one, other) = (load(&record, 0), load(&record, 1));
    let (sent, received) = (one.sent + other.sent, one.received.unique + other.received.unique);
    let loss = 1.0 - received as f64 / sent as f64;
    // What the buffer holds at the end passes too.
    assert!((loss - 0.5).abs() < 0.005, "{loss}");
    assert_eq!(sum(&record, Side::Device, "qdisc_drops"), sent - received);
    assert_eq!(sum(&record, Side::Device, "rx_dropped"), 0);
    assert_eq!(sum(&record, Side::Device, "tx_packets"), received);
    assert!((received as f64 - line_rate(1518).0 * 2.0).abs() < 0.01 * received as f64);
}

#[test]
fn mixes_bursts_and_falling_loads_come_as_asked() {
    let mut testbed = testbed(Profile::single(2, GIGABIT));
    let mut one = |kind| {
        let record = run(&mut testbed, &trial(vec![flow(1, "h1/eth1", "h2/eth1", kind)], LOAD));
        assert_eq!(record.outcome, Outcome::Valid);
        load(&record, 0).clone()
    };
    let burst = one(datagrams(64, Schedule::Burst(1000)));
    assert_eq!((burst.sent, burst.received.unique), (1000, 1000));
    assert_eq!(burst.sending, Nanos(999 * 672));
    let (from, to) = (FrameRate(10_000.0), FrameRate(1_000.0));
    let falling = one(datagrams(64, Schedule::Falling { from, to, after: LOAD / 2 }));
    assert_eq!((falling.offered, falling.sent), (550, 550));
    let mut mix = datagrams(64, Schedule::Greedy);
    if let trial::FlowKind::Datagrams(datagrams) = &mut mix {
        datagrams.frames = FrameMix::imix();
    }
    let mixed = one(mix);
    assert!((mixed.sending_rate().0 / FrameMix::imix().line_rate(GIGABIT).0 - 1.0).abs() < 1e-3);
}

#[test]
fn a_host_sends_no_more_packets_than_it_can() {
    let profile = Profile::single(2, GIGABIT);
    let hosts = HostModel { sends_at_most: Some(FrameRate(200_000.0)), ..HostModel::ideal(2) };
    let mut testbed = VirtualTestbed::new("sim:slow", profile, hosts, 1);
    let rates = [Schedule::Greedy, Schedule::Paced(FrameRate(300_000.0))].map(|schedule| {
        let flows = vec![flow(1, "h1/eth1", "h2/eth1", datagrams(64, schedule))];
        let record = run(&mut testbed, &trial(flows, LOAD));
        (load(&record, 0).sending_rate().0, record.outcome.is_valid())
    });
    assert!((rates[0].0 - 200_000.0).abs() < 1.0, "{rates:?}");
    assert!(rates[0].1);
    assert!((rates[1].0 - 200_000.0).abs() < 20.0, "{rates:?}");
    assert!(!rates[1].1, "asked for more than it can");
}

#[test]
fn a_reset_takes_the_links_away_for_its_time() {
    let rate = FrameRate(10_000.0);
    let flows = vec![flow(1, "h1/eth1", "h2/eth1", datagrams(64, Schedule::Paced(rate)))];
    let at = Nanos::from_millis(500);
    let events = vec![Event { at, deed: Deed::Reset }];
    let trial = trial::Trial { events, gate: Gate::Flood, ..trial(flows, Nanos::from_secs(3)) };
    let record = run(&mut testbed(Profile::single(2, GIGABIT)), &trial);
    assert_eq!(record.outcome, Outcome::Valid);
    let seen = load(&record, 0);
    assert_eq!(seen.offered, 30_000);
    assert!(seen.offered - seen.received.unique - 10_000 < 3, "{}", seen.received.unique);
    assert!(seen.arrivals.max() >= RESET_TIME);
    assert_eq!(record.device.deeds.len(), 1);
    assert_eq!(sum(&record, Side::Tester, "carrier_changes"), 4);
}

#[test]
fn a_deed_loses_the_frames_of_its_time_and_no_other() {
    let rate = FrameRate(10_000.0);
    let name = |deed: &str| deed.to_owned();
    for (deed, carrier_changes) in [("link-down", 2), ("blackhole", 0)] {
        for outage in [1, 50, 200, 1000].map(Nanos::from_millis) {
            let kind = datagrams(64, Schedule::Paced(rate));
            let flows = vec![flow(1, "h1/eth1", "h2/eth1", kind)];
            let at = Nanos::from_millis(500);
            let events = vec![
                Event { at, deed: Deed::Do { name: name(deed) } },
                Event { at: at + outage, deed: Deed::Undo { name: name(deed) } },
            ];
            let trial =
                trial::Trial { events, gate: Gate::Flood, ..trial(flows, Nanos::from_secs(2)) };
            for ports in [2, 4] {
                let record = run(&mut testbed(Profile::single(ports, GIGABIT)), &trial);
                assert_eq!(record.outcome, Outcome::Valid, "{deed}");
                let seen = load(&record, 0);
                let (lost, due) = (seen.received.lost(seen.sent), outage.0 / 100_000);
                assert_eq!(seen.sent, 20_000);
                assert!(lost.abs_diff(due) <= 1, "{deed} of {outage}, {ports} ports: {lost}");
                let starts: Vec<Nanos> = record.device.deeds.iter().map(|deed| deed.at).collect();
                assert_eq!(starts, [at, at + outage]);
                assert_eq!(sum(&record, Side::Tester, "carrier_changes"), carrier_changes);
                // What the device lost it says, copies that went astray beside them.
                let copies = sum(&record, Side::Device, "flooded_copies");
                let dropped = ["rx_dropped", "qdisc_drops"];
                let dropped: u64 =
                    dropped.map(|name| sum(&record, Side::Device, name)).iter().sum();
                assert!((lost..=lost + copies).contains(&dropped), "{deed}: {dropped} of {lost}");
                let books = books::balance(&trial, &record).expect("datagrams");
                assert!(books.closed(), "{deed}, {ports} ports: {books:?}");
            }
        }
    }
}

#[test]
fn a_deed_that_no_model_knows_fails_its_trial() {
    let kind = datagrams(64, Schedule::Paced(FrameRate(1000.0)));
    let unknown = |from: &str, to: &str, name: &str| {
        let deed = Deed::Do { name: name.to_owned() };
        let events = vec![Event { at: Nanos::from_millis(1), deed }];
        let trial = trial::Trial { events, ..trial(vec![flow(1, from, to, kind.clone())], LOAD) };
        match run(&mut testbed(Profile::single(2, GIGABIT)), &trial).outcome {
            Outcome::Failed { reason } => reason,
            other => panic!("{other:?}"),
        }
    };
    let reason = unknown("h1/eth1", "h2/eth1", "power-off");
    assert_eq!(reason, "deed `power-off`: a model offers `link-down` and `blackhole`");
    let reason = unknown("h1/direct", "h2/direct", "blackhole");
    assert_eq!(reason, "deed `blackhole`: the measured flow does not cross the device");
}

#[test]
fn a_device_that_pauses_its_hosts_loses_nothing_and_says_so() {
    let text = r#"
        name = "pausing"
        ports = 3
        rate = "1Gbit"
        buffer = { per_port = "128KiB" }
        pause = true
    "#;
    let flows = (1..=2)
        .map(|id| flow(id, &format!("h{id}/eth1"), "h3/eth1", datagrams(1518, Schedule::Greedy)))
        .collect();
    let trial = trial::Trial { gate: Gate::Flood, ..trial(flows, LOAD) };
    let record = run(&mut testbed(trials::profile(text)), &trial);
    let (one, other) = (load(&record, 0), load(&record, 1));
    assert_eq!(one.received.lost(one.sent) + other.received.lost(other.sent), 0);
    let pauses = sum(&record, Side::Device, "tx_pause");
    assert_eq!(sum(&record, Side::Tester, "rx_pause"), pauses);
    let held = books::pause_counts(&record);
    let ports: Vec<[&str; 2]> =
        held.iter().filter(|h| h.frames > 0).map(|h| [&*h.port, &*h.by]).collect();
    assert_eq!(ports, [["h1/eth1", "pausing/1"], ["h2/eth1", "pausing/2"]], "{held:?}");
    for held in &held[..2] {
        // While the one sends the other waits, once the buffer is full: for half of the load.
        let share = held.time.expect("counted").as_secs_f64() / LOAD.as_secs_f64();
        assert!((share - 0.5).abs() < 0.02, "{held:?}: {share}");
    }
    assert_eq!((held[2].frames, held[2].time), (0, Some(Nanos::ZERO)));
    let rate = (one.sent + other.sent) as f64 / LOAD.as_secs_f64();
    assert!((rate / line_rate(1518).0 - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn a_frame_through_a_router_arrives_like_any_other() {
    let text = r#"
        name = "routing"
        forwarding = { kind = "router", mode = "store-and-forward", latency = "40us" }
        ports = 4
        rate = "1Gbit"
        buffer = { per_port = "128KiB" }
    "#;
    let profile = trials::profile(text);
    let flows = vec![flow(1, "h1/eth1", "h4/eth1", datagrams(256, Schedule::Greedy))];
    let record = run(&mut testbed(profile), &trial(flows, LOAD));
    assert_eq!(record.outcome, Outcome::Valid);
    assert_eq!(load(&record, 0).received.lost(load(&record, 0).sent), 0);
}

#[test]
fn who_is_asked_to_stop_stops() {
    let flows = vec![flow(1, "h1/eth1", "h2/eth1", datagrams(64, Schedule::Greedy))];
    let trial = trial(flows, Nanos::from_secs(3600));
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut testbed = testbed(Profile::single(2, GIGABIT)).with_stop(stop);
    let ended = testbed.run(&trial);
    assert!(matches!(ended, Err(trial::TestbedError::Interrupted)), "{ended:?}");
}

#[test]
fn what_can_not_be_run_says_why() {
    let mut testbed = testbed(Profile::single(4, Rate(1_000_000_000)));
    let paced = datagrams(64, Schedule::Paced(FrameRate(1000.0)));
    let table = [
        (flow(1, "h1/eth1", "h9/eth1", paced.clone()), "there is no port `h9/eth1`"),
        (flow(1, "h1/eth1", "h2/direct", paced.clone()), "no way leads"),
        (flow(1, "h1/direct", "h3/direct", paced), "no way leads"),
        (flow(1, "h1/eth1", "h2/eth1", datagrams(9018, Schedule::Greedy)), "an MTU of 9000"),
        (
            flow(1, "h1/eth1", "h2/eth1", datagrams(64, Schedule::Paced(FrameRate(0.0)))),
            "is not a rate",
        ),
    ];
    for (flow, why) in table {
        let record = testbed.run(&trial(vec![flow], LOAD)).expect("a record");
        let Outcome::Failed { reason } = &record.outcome else { panic!("{:?}", record.outcome) };
        assert!(reason.contains(why), "{reason}");
    }
}
