//! Round trips where the link is short of MTU or goes away, in a network namespace of the test's
//! own.
//!
//! Its loopback is the only link; it vanishes with the thread that made it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::thread;
use std::time::Duration;

use dataplane::echo::{EchoClient, EchoServer, Requests};
use dataplane::{End, FlowError, Halt, Identity, Side, Window, clock};
use measure::{FrameRate, FrameSize, Nanos};
use nix::sched::{CloneFlags, unshare};
use trial::record::EchoRecord;
use trial::{Echo, Protocol, Schedule};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const US: Identity = Identity { token: 0x5eed_0002, flow: 3 };

/// Runs `test` on a thread with a namespace of its own, whose loopback is up with an MTU of 1500.
fn alone(test: fn()) {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: a network namespace needs root");
        return;
    }
    let inside = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        loopback(&["mtu", "1500", "up"]);
        test();
    });
    inside.join().unwrap();
}

/// `ip` acts in the namespace of the thread that starts it.
fn loopback(change: &[&str]) {
    let outcome = Command::new("ip").args(["link", "set", "lo"]).args(change).status().unwrap();
    assert!(outcome.success(), "ip link set lo {change:?}");
}

fn connect(
    protocol: Protocol,
    octets: u32,
    schedule: Schedule,
) -> (Result<EchoClient, FlowError>, Option<EchoServer>) {
    let frame_size = FrameSize::new(octets).unwrap();
    let end = |port, schedule| {
        let asked = Echo { protocol, frame_size, schedule, messages: None };
        let flow = Requests { asked, least_gap_ns: 0.0 };
        End {
            local: HERE,
            remote: SocketAddr::new(HERE, port),
            opening: dataplane::opening::Opening::PLAIN,
            identity: US,
            flow,
        }
    };
    let reflector = (protocol != Protocol::Icmp)
        .then(|| EchoServer::open(&end(0, Schedule::Greedy), &Halt::new()).unwrap());
    let spec = end(reflector.as_ref().map_or(0, EchoServer::port), schedule);
    (EchoClient::open(&spec, &Halt::new()), reflector)
}

#[test]
fn a_frame_beyond_the_mtu_is_refused_and_not_cut() {
    alone(|| {
        for protocol in [Protocol::Icmp, Protocol::Udp, Protocol::Tcp] {
            let (fits, _reflector) = connect(protocol, 1518, Schedule::Greedy);
            assert!(fits.is_ok(), "{protocol:?}: {fits:?}");
            let (exceeds, _reflector) = connect(protocol, 1519, Schedule::Greedy);
            assert!(matches!(exceeds, Err(FlowError::Unsuitable(_))), "{protocol:?}: {exceeds:?}");
        }
    });
}

/// A flow of 400 ms whose link is away in the middle of it.
fn interrupted(protocol: Protocol, schedule: Schedule) -> EchoRecord {
    let (asker, reflector) = connect(protocol, 128, schedule);
    let asker = asker.unwrap();
    let start = clock::monotonic() + Nanos::from_millis(10);
    let stop = start + Nanos::from_millis(400);
    let window = Window { start, stop, closed: stop + Nanos::from_millis(50) };
    let reflecting = reflector.map(|r| thread::spawn(move || r.run(window, &Halt::new())));
    let asking = thread::spawn(move || asker.run(window, &Halt::new()));
    thread::sleep(Duration::from_millis(100));
    loopback(&["down"]);
    thread::sleep(Duration::from_millis(50));
    loopback(&["up"]);
    let report = asking.join().unwrap().unwrap();
    if let Some(reflecting) = reflecting {
        reflecting.join().unwrap().unwrap();
    }
    report
}

#[test]
fn a_link_that_goes_away_costs_requests_and_not_the_flow() {
    alone(|| {
        for protocol in [Protocol::Icmp, Protocol::Udp, Protocol::Tcp] {
            for schedule in [Schedule::Greedy, Schedule::Paced(FrameRate(1e3))] {
                let report = interrupted(protocol, schedule);
                let what = format!(
                    "{protocol:?} {schedule:?}: {} of {}",
                    report.answers.unique, report.sent
                );
                assert!(report.answers.unique > 0, "{what}");
                assert_eq!(report.rtt.count(), report.answers.unique, "{what}");
                // Whether the kernel refuses a request or swallows it is its own affair.
                if let (Schedule::Paced(_), Protocol::Icmp | Protocol::Udp) = (schedule, protocol) {
                    assert!(report.answers.unique < 400, "{what}");
                }
            }
        }
    });
}
