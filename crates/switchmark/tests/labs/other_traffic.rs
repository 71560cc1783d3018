//! A third host's frames on the way: they are told from the trial's own, and the trial's own from
//! them.
//!
//! Needs root, for a lab, and ping.

use agents::controller::{LiveTestbed, Stop};

use crate::harness::{
    self, Guest, alone, bulk, datagrams, echo, paced, switchmark, trial, wait_for,
};
use lab::{LabDevice, LabSpec};
use measure::{Nanos, Rate};
use page::Condition;
use page::{Caveat, Key};
use study::{LatencySpec, StudySpec};
use switchmark::config::resolved::{Source, Testbed};
use trial::record::Defect;
use trial::topology::Pair;
use trial::{Backend, Gate, Protocol, Schedule};
use trial::{Outcome, Testbed as _, TrialRecord, other_traffic};

/// Three hosts on a bridge, whose ports are slow enough for a small load to fill.
fn three_hosts() -> LiveTestbed {
    let spec =
        LabSpec { rate: Some(Rate(20_000_000)), hosts: 3, ..LabSpec::new(LabDevice::Bridge) };
    let testbed = Testbed::new("lab:bridge", Source::Lab(spec));
    LiveTestbed::open_with(&testbed, Stop::new(), switchmark()).expect("the lab comes up")
}

/// The third host sends the second some 500 frames a second of 1,018 octets, and gets answers; on a
/// busy machine each of the four sends fewer.
fn disturb(testbed: &LiveTestbed, pair: &Pair) -> Vec<Guest> {
    let target = testbed.topology().port(&pair.to).expect("it is a port").address.to_string();
    let args = ["-q", "-n", "-i", "0.008", "-s", "972", &target];
    (0..4).map(|_| Guest::start(testbed, "h3", "ping", &args)).collect()
}

fn measure_all(
    testbed: &mut LiveTestbed,
    pair: &Pair,
    mut each: impl FnMut(&str, bool, &TrialRecord),
) {
    let flood = datagrams(512, Schedule::Greedy, Backend::Udp);
    for (what, kind, gate) in [
        ("datagrams", datagrams(512, paced(2_000.0), Backend::Udp), Gate::Strict),
        ("datagrams by XDP", datagrams(512, paced(2_000.0), Backend::Auto), Gate::Strict),
        ("ICMP", echo(Protocol::Icmp, 64), Gate::Strict),
        ("UDP", echo(Protocol::Udp, 64), Gate::Strict),
        ("TCP", echo(Protocol::Tcp, 64), Gate::Strict),
        ("a stream", bulk(1), Gate::Uneven),
        ("a flood", flood, Gate::Flood),
    ] {
        let trial = trial(pair, kind, Nanos::from_millis(300), gate);
        let record = testbed.run(&trial).expect("it runs");
        let found = other_traffic(&trial, &record.flows, &record.ports, &record.hosts);
        let at_to = found.iter().any(|others| others.place == pair.to.to_string());
        eprintln!("{what}: {found:?}");
        each(what, at_to, &record);
        if !at_to {
            assert!(found.is_empty(), "{what}: {found:?}\n{:#?}", record.ports);
        }
    }
}

#[test]
fn a_third_hosts_frames_are_seen_and_the_trials_own_are_not() {
    let Some(_alone) = alone("a_third_hosts_frames_are_seen", &["ping"]) else { return };
    let mut testbed = three_hosts();
    let pair = testbed.topology().measured_pairs().remove(0);
    measure_all(&mut testbed, &pair, |what, seen, record| {
        assert!(!seen, "{what}: nobody else is there\n{:#?}", record.ports);
    });
    let guests = disturb(&testbed, &pair);
    let heard = |record: &TrialRecord| match &record.outcome {
        Outcome::Invalid { reasons } => reasons.iter().any(|reason| {
            matches!(reason, Defect::OtherTraffic { place, rate }
                if *place == pair.to.to_string() && *rate > 50.0)
        }),
        _ => false,
    };
    let asked = trial(&pair, echo(Protocol::Icmp, 64), Nanos::from_millis(300), Gate::Strict);
    wait_for("the third host", || heard(&testbed.run(&asked).expect("it runs")));
    measure_all(&mut testbed, &pair, |what, seen, record| {
        // What a saturated port drops of a stream hides as many of the others' frames.
        assert!(seen || what == "a stream", "{what}: {:#?}", record.ports);
    });
    drop(guests);
}

#[test]
fn figures_say_that_others_were_there() {
    let Some(_alone) = alone("figures_say_that_others_were_there", &["ping"]) else { return };
    let mut testbed = three_hosts();
    let pair = testbed.topology().measured_pairs().remove(0);
    let study = StudySpec::Latency(LatencySpec {
        protocols: vec![Protocol::Icmp],
        sizes: vec![harness::size(64)],
        blocks: study::Blocks::known(1),
        tries: study::Tries::known(1),
        ..LatencySpec::quick()
    });
    let told = |figure: &page::Figure| figure.caveats.contains(&Caveat::OtherTraffic);
    let quiet = study.run(&mut testbed, 1).expect("it runs");
    assert!(!quiet.iter().any(told), "{quiet:#?}");
    let guests = disturb(&testbed, &pair);
    wait_for("the third host", || {
        let figures = study.run(&mut testbed, 1).expect("it runs");
        let device = |f: &&page::Figure| f.text(Key::Path) == Some("device");
        let all_told = figures.iter().filter(device).all(told);
        if all_told {
            let figure = figures.iter().find(|f| told(f)).expect("there are figures");
            let rate = figure.conditions.get(&Key::OtherTraffic);
            assert!(matches!(rate, Some(Condition::Number(rate)) if *rate > 50.0), "{figure:#?}");
            let device: Vec<_> = figures.iter().filter(device).collect();
            assert!(device.iter().all(|f| f.value.is_none()), "a strict gate: {device:#?}");
            let missing = |f: &&&page::Figure| f.caveats.contains(&Caveat::NoValidTrial);
            assert_eq!(device.iter().filter(missing).count(), device.len());
        }
        all_told
    });
    drop(guests);
}
