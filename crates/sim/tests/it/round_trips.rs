//! Echo flows through modelled devices, against truths that are reckoned by hand.

use device::Profile;
use measure::{FrameRate, Nanos, Picos};
use sim::{HostModel, VirtualTestbed};
use trial::record::Outcome;
use trial::{Protocol, Schedule};

use crate::trials::{self, GIGABIT, echo, flow, round_trips, run, testbed, trial};

const LOAD: Nanos = Nanos::from_millis(100);
const TURNAROUND: Nanos = Nanos::from_micros(7);

/// There and back: twice two cables, and two hosts that take their time.
fn expected(octets: u32, hops: u64) -> Nanos {
    let wire = Picos::to_send(u64::from(octets) + 8, GIGABIT);
    (Picos(2 * hops * wire.0) + (TURNAROUND * 2).into()).to_nanos()
}

fn hosts() -> HostModel {
    HostModel { turnaround: TURNAROUND, ..HostModel::ideal(2) }
}

#[test]
fn a_round_trip_is_four_cables_and_two_hosts() {
    for (port, hops) in [("eth1", 2), ("direct", 1)] {
        for protocol in [Protocol::Icmp, Protocol::Udp, Protocol::Tcp] {
            for schedule in [Schedule::Greedy, Schedule::Paced(FrameRate(1000.0))] {
                let profile = Profile::single(2, GIGABIT);
                let mut testbed = VirtualTestbed::new("sim:echo", profile, hosts(), 1);
                let (from, to) = (format!("h1/{port}"), format!("h2/{port}"));
                let flows = vec![flow(1, &from, &to, echo(protocol, 128, schedule))];
                let record = run(&mut testbed, &trial(flows, LOAD));
                let told = format!("{port} {protocol:?} {schedule:?}");
                assert_eq!(record.outcome, Outcome::Valid, "{told}");
                let seen = round_trips(&record, 0);
                let expected = expected(128, hops);
                let count = match schedule {
                    Schedule::Paced(_) => 100,
                    _ => LOAD.0.div_ceil(expected.0 + 1),
                };
                assert!(seen.sent.abs_diff(count) <= 1, "{told}: {} not {count}", seen.sent);
                assert_eq!(seen.answers.unique, seen.sent, "{told}");
                let near = seen.rtt.lowest_equivalent(expected);
                assert_eq!(seen.rtt.lowest_equivalent(seen.rtt.quantile(0.5)), near, "{told}");
                assert_eq!(seen.rtt.lowest_equivalent(seen.rtt.min()), near, "{told}");
            }
        }
    }
}

#[test]
fn an_open_loop_counts_from_the_time_that_was_asked_for() {
    // Twice as many requests as the host sends: each waits longer than the last.
    let hosts = HostModel { sends_at_most: Some(FrameRate(1000.0)), ..HostModel::ideal(2) };
    let profile = Profile::single(2, GIGABIT);
    let mut testbed = VirtualTestbed::new("sim:late", profile, hosts, 1);
    let kind = echo(Protocol::Udp, 64, Schedule::Paced(FrameRate(2000.0)));
    let record = run(&mut testbed, &trial(vec![flow(1, "h1/eth1", "h2/eth1", kind)], LOAD));
    let seen = round_trips(&record, 0);
    assert_eq!(seen.answers.unique, 200);
    assert!(seen.rtt.max() >= Nanos::from_millis(99), "{}", seen.rtt.max());
}

#[test]
fn a_lost_answer_is_given_up_after_its_time() {
    let profile = trials::profile(
        r#"
        name = "lossy"
        ports = 2
        rate = "1Gbit"
        buffer = { per_port = "1MiB" }
        loss = 0.1
    "#,
    );
    let kind = echo(Protocol::Udp, 64, Schedule::Greedy);
    let flows = vec![flow(1, "h1/eth1", "h2/eth1", kind)];
    let record = run(&mut testbed(profile), &trial(flows, Nanos::from_secs(5)));
    let seen = round_trips(&record, 0);
    let lost = seen.answers.lost(seen.sent);
    // Each lost one costs 20 ms, and a fifth of some thousand are lost.
    assert!((150..=250).contains(&lost), "{lost} of {}", seen.sent);
    assert_eq!(seen.answers.duplicated + seen.answers.reordered, 0);
}
