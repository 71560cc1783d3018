//! Flows that a device's counter can count, and flows that it cannot.

use measure::{FrameRate, FrameSize, Nanos};
use scripted::one_way;
use trial::topology::{Device, DeviceKind, Host, HostPort};
use trial::{Backend, Echo, Protocol, Role, Schedule};

use super::*;

fn topology() -> Topology {
    let host = |name: &str, reach: &str, port: &str, address: &str| Host {
        name: name.into(),
        reach: reach.into(),
        ports: vec![HostPort::plain(
            "eth1",
            address.parse().unwrap(),
            CableEnd::device("core", port),
        )],
    };
    let core = Device::plain("core", DeviceKind::Router);
    let hosts = vec![
        host("far", "none", "2", "198.18.6.1"),
        host("h1", "local", "1", "198.18.5.1"),
        host("h2", "local", "3", "198.18.7.1"),
    ];
    Topology::new("bed", hosts, vec![core])
}

fn flow(id: u16, from: &str, to: &str) -> Flow {
    let schedule = Schedule::Paced(FrameRate(1_000.0));
    let kind = FlowKind::Datagrams(Datagrams::plain(FrameSize::MIN, schedule, Backend::Auto, 4));
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    Flow { id, from, to, role: Role::Measured, kind }
}

fn port(frames: u64) -> PortCounters {
    let counters = BTreeMap::from([(TX_PACKETS.to_owned(), frames)]);
    PortCounters { place: "core/2".into(), side: Side::Reported, cable: None, counters }
}

fn reading(doubts: Vec<ReadingDoubt>) -> ReadingRecord {
    let others = BTreeMap::from([("core/2".to_owned(), 4)]);
    ReadingRecord { device: "core".into(), waited: Nanos::ZERO, doubts, others }
}

fn doubted(doubt: ReadingDoubt) -> Option<u64> {
    let (flows, topology) = ([flow(1, "h1/eth1", "far/eth1")], topology());
    let mut records = [FlowRecord::Datagrams(one_way(Nanos::from_secs(1), 1_000, 0))];
    fill_in(&flows, &mut records, &topology, &[port(900)], &[reading(vec![doubt])]);
    let FlowRecord::Datagrams(seen) = &records[0] else { panic!("datagrams") };
    let count = seen.at_device.as_ref().expect("a device's");
    assert_eq!(seen.received.unique, count.frames.unwrap_or(0));
    count.frames
}

#[test]
fn a_count_is_the_flow_s_unless_the_device_is_doubted_about_it() {
    let (went_back, untold, gone) = (
        |port: &str, counter: &str| ReadingDoubt::WentBack {
            port: port.into(),
            counter: counter.into(),
        },
        |port: &str| ReadingDoubt::Untold { port: port.into() },
        |port: &str| ReadingDoubt::Gone { port: port.into() },
    );
    for (doubt, told) in [
        (ReadingDoubt::Restarted, None),
        (ReadingDoubt::Moving, None),
        (ReadingDoubt::Unread { why: "silence".into() }, None),
        (went_back("2", TX_PACKETS), None),
        (went_back("2", "rx_packets"), Some(900)),
        (went_back("1", TX_PACKETS), Some(900)),
        (untold("2"), None),
        (untold("1"), Some(900)),
        (gone("2"), None),
    ] {
        assert_eq!(doubted(doubt.clone()), told, "{doubt:?}");
    }
}

#[test]
fn nothing_is_known_but_how_many_left() {
    let (flows, topology) = ([flow(1, "h1/eth1", "far/eth1")], topology());
    let mut sides = Sides::default();
    stand_in(&flows, &topology, &mut sides);
    let Some(FlowRecord::Datagrams(report)) = sides.waited.get(&1) else { panic!("{sides:?}") };
    assert_eq!(report.receiver, "device counter core/2");
    assert_eq!((report.receiving, report.arrivals.count()), (Nanos::ZERO, 0));
    let mut records = vec![FlowRecord::Datagrams(one_way(Nanos::from_secs(1), 1_000, 0))];
    assert_eq!(sent(&flows, &records, &topology), [("far/eth1".parse().unwrap(), 1_000)].into());
    // Three frames of other traffic.
    fill_in(&flows, &mut records, &topology, &[port(1_003)], &[reading(Vec::new())]);
    let FlowRecord::Datagrams(seen) = &records[0] else { panic!("datagrams") };
    assert_eq!((seen.received.unique, seen.received.lost(1_000), seen.open()), (1_000, 0, 4));
    let count = DeviceCount { port: "core/2".into(), frames: Some(1_003), others: 4 };
    assert_eq!(seen.at_device, Some(Box::new(count)));
}

#[test]
fn what_a_device_can_not_count_is_refused() {
    let topology = topology();
    let of = |flow: &Flow, trial: &[Flow]| counts(flow, trial, &topology);
    let towards = flow(1, "h1/eth1", "far/eth1");
    assert_eq!(of(&towards, std::slice::from_ref(&towards)), Ok(true));
    let between = flow(2, "h1/eth1", "h2/eth1");
    assert_eq!(of(&between, &[towards.clone(), between.clone()]), Ok(false));
    let both = [towards.clone(), flow(3, "h2/eth1", "far/eth1")];
    assert!(of(&towards, &both).unwrap_err().contains("flow 3 goes there too"));
    let back = flow(4, "far/eth1", "h1/eth1");
    assert!(of(&back, std::slice::from_ref(&back)).unwrap_err().contains("nobody sends"));
    let echo = Echo {
        protocol: Protocol::Icmp,
        frame_size: FrameSize::MIN,
        schedule: Schedule::Greedy,
        messages: None,
    };
    let asked = Flow { kind: FlowKind::Echo(echo), ..towards };
    assert!(of(&asked, std::slice::from_ref(&asked)).unwrap_err().contains("one way only"));
}
