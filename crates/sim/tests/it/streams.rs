//! TCP streams through modelled devices: what an idle path gives, how a shared one is shared, and
//! what loss costs.

use device::Profile;
use measure::{ByteCount, FrameRate, Nanos, Rate};
use sim::{HostModel, VirtualTestbed};
use trial::record::{BulkRecord, FlowRecord, Side};
use trial::{Bulk, FlowKind, Schedule};
use trial::{Testbed as _, TestbedError, TrialRecord};

use crate::trials::{self, GIGABIT, datagrams, flow, load, run, sum, testbed, trial};

fn bulk(streams: u16, congestion_control: &str) -> FlowKind {
    let interval = Nanos::from_millis(100);
    FlowKind::Bulk(Bulk { streams, congestion_control: congestion_control.to_owned(), interval })
}

fn streams(record: &TrialRecord, at: usize) -> &BulkRecord {
    match &record.flows[at] {
        FlowRecord::Bulk(bulk) => bulk,
        other => panic!("no streams: {other:?}"),
    }
}

fn goodput(bulk: &BulkRecord) -> f64 {
    bulk.received.0 as f64 * 8.0 / bulk.elapsed.as_secs_f64()
}

/// With time stamps: payload of a full segment over its time on the wire.
fn ceiling(rate: Rate, mtu: u32) -> f64 {
    rate.bits_per_second() * f64::from(mtu - 52) / f64::from(mtu + 38)
}

#[test]
fn an_idle_path_gives_the_ethernets_ceiling() {
    for (mtu, congestion_control) in [(1500, "cubic"), (9000, "cubic"), (1500, "reno")] {
        let hosts = HostModel { mtu, ..HostModel::ideal(2) };
        let mut testbed = VirtualTestbed::new("sim:tcp", Profile::single(2, GIGABIT), hosts, 1);
        let flows = vec![flow(1, "h1/eth1", "h2/eth1", bulk(1, congestion_control))];
        let record = run(&mut testbed, &trial(flows, Nanos::from_secs(2)));
        let seen = streams(&record, 0);
        assert!(record.outcome.is_valid(), "{:?}", record.outcome);
        let share = goodput(seen) / ceiling(GIGABIT, mtu);
        assert!((0.99..=1.0).contains(&share), "{mtu} {congestion_control}: {share}");
        let stream = &seen.streams[0];
        assert_eq!((stream.points.len(), stream.received.len()), (20, 20));
        assert_eq!(stream.points[19].at, Nanos::from_secs(2));
        assert_eq!(stream.points[19].retransmits, 0);
        assert_eq!(sum(&record, Side::Device, "rx_dropped"), 0);
    }
}

#[test]
fn streams_that_share_a_port_share_it_fairly_and_use_it_up() {
    let flows =
        (1..=4).map(|id| flow(id, &format!("h{id}/eth1"), "h5/eth1", bulk(1, "cubic"))).collect();
    let record =
        run(&mut testbed(Profile::single(5, GIGABIT)), &trial(flows, Nanos::from_secs(20)));
    // The second half: the first is for finding each other.
    let half = |at: usize| {
        let received = &streams(&record, at).streams[0].received;
        received[received.len() / 2..].iter().map(|octets| octets.0).sum::<u64>() as f64
    };
    let shares: Vec<f64> = (0..4).map(half).collect();
    let total: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let jain = total * total / (4.0 * squares);
    assert!(jain > 0.9, "{shares:?}");
    let used = total * 8.0 / 10.0 / ceiling(GIGABIT, 1500);
    assert!((0.93..=1.001).contains(&used), "{used}");
}

#[test]
fn what_is_lost_is_sent_again() {
    let profile = trials::lossy();
    let flows = vec![flow(1, "h1/eth1", "h2/eth1", bulk(2, "cubic"))];
    let record = run(&mut testbed(profile), &trial(flows, Nanos::from_secs(2)));
    let seen = streams(&record, 0);
    let again: u64 =
        seen.streams.iter().filter_map(|s| s.points.last()).map(|point| point.retransmits).sum();
    assert!(again > 0);
    assert!(goodput(seen) > 0.1 * ceiling(GIGABIT, 1500), "{}", goodput(seen));
    let all: u64 = seen.streams.iter().flat_map(|s| &s.received).map(|octets| octets.0).sum();
    assert_eq!(seen.received, ByteCount(all));
}

#[test]
fn a_load_beside_a_stream_takes_what_it_asks_for() {
    let flows = vec![
        flow(1, "h1/eth1", "h3/eth1", bulk(1, "cubic")),
        flow(2, "h2/eth1", "h3/eth1", datagrams(1518, Schedule::Paced(FrameRate(16_254.0)))),
    ];
    let record = run(&mut testbed(Profile::single(3, GIGABIT)), &trial(flows, Nanos::from_secs(5)));
    // 200 Mbit/s of the wire are gone.
    let share = goodput(streams(&record, 0)) / (0.8 * ceiling(GIGABIT, 1500));
    // What the load loses to the stream, the stream has more.
    assert!((0.9..=1.03).contains(&share), "{share}");
    assert!(load(&record, 1).loss_ratio() < 0.05);
}

#[test]
fn flows_of_one_frame_size_share_what_is_lost_and_do_not_keep_in_step() {
    // TCP and a load of half the line, both in frames of 1518 octets at one rate, into one queue.
    let rate = FrameRate(0.5 * 1e9 / 8.0 / 1538.0);
    for buffer in ["64KiB", "256KiB"] {
        let (mut of_tcp, mut of_udp) = (0.0, 0.0);
        let profile = trials::profile(&format!(
            "name = \"one\"\nports = 3\nrate = \"1Gbit\"\nlink_delay = \"500us\"\n\
             buffer = {{ per_port = \"{buffer}\" }}"
        ));
        for seed in 1..=5 {
            let flows = vec![
                flow(1, "h1/eth1", "h3/eth1", bulk(1, "cubic")),
                flow(2, "h2/eth1", "h3/eth1", datagrams(1518, Schedule::Paced(rate))),
            ];
            let hosts = HostModel::ideal(3);
            let mut testbed = VirtualTestbed::new("sim:phase", profile.clone(), hosts, seed);
            let record = run(&mut testbed, &trial(flows, Nanos::from_secs(5)));
            let stream = &streams(&record, 0).streams[0];
            let last = stream.points.last().expect("a reading");
            let sent = last.acked.0 as f64 / 1448.0 + last.retransmits as f64;
            let tcp = last.retransmits as f64 / sent;
            let udp = load(&record, 1).loss_ratio();
            let told = format!("{buffer}, seed {seed}: TCP {tcp:.5}, UDP {udp:.5}");
            eprintln!("{told}");
            // A run of 5 s has some ten moments in which the queue is full.
            assert!((0.1..=10.0).contains(&(udp / tcp)), "{told}");
            of_tcp += tcp;
            of_udp += udp;
        }
        let share = of_udp / of_tcp;
        assert!((0.5..=2.0).contains(&share), "{buffer}: UDP loses {share:.2} times TCP's share");
    }
}

#[test]
fn an_unknown_congestion_control_can_not_be_had() {
    let flows = vec![flow(1, "h1/eth1", "h2/eth1", bulk(1, "bbr"))];
    let error = testbed(Profile::single(2, GIGABIT)).run(&trial(flows, Nanos::from_secs(1)));
    let Err(TestbedError::Unavailable { reason, .. }) = error else { panic!("{error:?}") };
    assert!(reason.contains("bbr"), "{reason}");
}
