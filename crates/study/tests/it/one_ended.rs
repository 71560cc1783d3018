//! Frames towards a host on which nothing runs: what `forwarding` makes of a device's own count,
//! and what it refuses to make of one.

use measure::{FrameMix, FrameSize, Nanos};
use page::{Caveat, Figure, Key, Metric, Unit};
use scripted::{Scripted, judged, one_way};
use study::{ForwardingSpec, ForwardingTest, StudySpec};
use trial::record::{DeviceCount, FlowRecord};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort};
use trial::{Reception, Topology, Trial};

/// The far end stands first: nobody sends from there all the same.
fn topology() -> Topology {
    let host = |name: &str, reach: &str, port: &str, address: [u8; 4]| Host {
        name: name.into(),
        reach: reach.into(),
        ports: vec![HostPort::plain("eth1", address.into(), CableEnd::device("core", port))],
    };
    let core = Device::plain("core", DeviceKind::Router);
    let hosts =
        vec![host("far", "none", "2", [198, 18, 6, 1]), host("h1", "local", "1", [198, 18, 5, 1])];
    Topology::new("bed", hosts, vec![core])
}

fn flood() -> ForwardingSpec {
    ForwardingSpec {
        frames: vec![FrameMix::from_size(FrameSize::MIN)],
        tests: vec![ForwardingTest::Flood],
        duration: Nanos::from_secs(1),
        ..ForwardingSpec::quick()
    }
}

/// Floods of 10,000 frames a second, of which so many leave the device.
fn figures(frames: Option<u64>, others: u64) -> Vec<Figure> {
    let answer = move |_: usize, trial: &Trial| {
        let mut seen = one_way(trial.phases.load, 10_000, 0);
        let count = DeviceCount { port: "core/2".to_owned(), frames, others };
        seen.received.unique = count.max_departed(seen.sent);
        (seen.receiving, seen.at_device) = (Nanos::ZERO, Some(Box::new(count)));
        Ok(judged(trial, vec![FlowRecord::Datagrams(seen)]))
    };
    let mut testbed = Scripted::new(topology(), answer);
    let figures = StudySpec::Forwarding(flood()).run(&mut testbed, 1).expect("it runs");
    let ends = |trial: &Trial| trial.flows[0].from.host == "h1" && trial.flows[0].to.host == "far";
    assert!(testbed.asked.iter().all(ends), "{:?}", testbed.asked);
    figures
}

fn one(figures: &[Figure], metric: Metric) -> Option<&Figure> {
    figures.iter().find(|f| f.metric == metric && f.unit != Unit::BitsPerSecond)
}

#[test]
fn a_device_s_count_is_a_rate_over_the_time_of_sending() {
    let told = figures(Some(7_501), 0);
    let received = one(&told, Metric::Received).expect("a rate");
    assert_eq!(received.value, Some(7_500.0));
    assert_eq!(received.text(Key::ObservationPoint), Some("device"));
    assert_eq!(received.text(Key::Bound), Some(page::AT_MOST), "a queue may have held some");
    assert!(received.caveats.contains(&Caveat::DeviceCounter), "{received:?}");
    assert!(!received.conditions.contains_key(&Key::OthersCounted));
    assert_eq!(one(&told, Metric::LossRatio).and_then(|f| f.value), Some(0.2499));
    // Absent, and not zero.
    assert!(one(&told, Metric::Duplicated).is_none() && one(&told, Metric::Reordered).is_none());
}

#[test]
fn others_frames_widen_it_and_never_make_less_than_no_loss() {
    let told = figures(Some(7_501), 100);
    let received = one(&told, Metric::Received).expect("a rate");
    // By one frame at either end, and by what may be others'.
    assert_eq!((received.low, received.high), (Some(7_399.0), Some(7_501.0)));
    assert_eq!(received.number(Key::OthersCounted), Some(100.0));
    let lost = one(&told, Metric::LossRatio).expect("a share");
    assert_eq!((lost.low, lost.high.map(|high| high > 0.2598)), (Some(0.2499), Some(true)));
    let told = figures(Some(10_005), 0);
    assert_eq!(one(&told, Metric::LossRatio).and_then(|f| f.value), Some(0.0));
    let received = one(&told, Metric::Received).expect("a rate");
    assert_eq!(received.number(Key::OthersCounted), Some(5.0));
    assert!(!received.conditions.contains_key(&Key::Bound), "none was lost");
}

#[test]
fn what_is_no_count_is_no_figure() {
    for frames in [None, Some(10_009)] {
        let told = figures(frames, 0);
        assert!(told.iter().all(|figure| figure.value.is_none()), "{frames:?}: {told:?}");
        assert!(told.iter().all(|figure| figure.caveats.contains(&Caveat::NoValidTrial)));
    }
}

#[test]
fn what_takes_a_receiver_is_refused() {
    use ForwardingTest::{Flood, LossCurve, Throughput};
    let with = |tests: Vec<ForwardingTest>| ForwardingSpec { tests, ..flood() };
    let from_far = study::Between::one_pair("far/eth1".parse().ok(), None);
    for (spec, words) in [
        (with(ForwardingTest::RFC2544.to_vec()), "make the test `latency` towards `far/eth1`"),
        (with(vec![ForwardingTest::BackToBack]), "make the test `back-to-back`"),
        (ForwardingSpec { bidirectional: true, ..flood() }, "both ways at once"),
        (ForwardingSpec { receiver: Reception::Xdp, ..flood() }, "the receiver `xdp`"),
        (ForwardingSpec { between: from_far, ..flood() }, "send from `far/eth1`"),
    ] {
        let refused = StudySpec::Forwarding(spec).check(&topology()).expect_err(words).to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let counted = StudySpec::Forwarding(with(vec![Flood, Throughput, LossCurve]));
    counted.check(&topology()).expect("they can be counted");
}
