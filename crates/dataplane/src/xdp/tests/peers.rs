//! Rates beside other tools over the same cable: a table for people.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use lab::{LabDevice, LabSpec};
use measure::{Histogram, Nanos};

use super::{Asked, Cable, cable, every, lab_of, run};
use crate::clock;
use crate::xdp::{accept_frames, forward};

/// Packets a second received over one cable: ours with the receiver on either processor, iperf3,
/// trafgen; interleaved, medians. A benchmark: its table is read by people.
#[test]
#[ignore = "a benchmark that needs iperf3 and trafgen, and a quiet machine"]
fn beside_iperf3_and_trafgen() {
    let Some(cable) = cable() else { return };
    let mut rates: [Vec<f64>; 4] = Default::default();
    for _ in 0..5 {
        let load = Nanos::from_secs(1);
        for (place, relieves_sender) in [(0, false), (1, true)] {
            let ran = run(&cable, &Asked { load, relieves_sender, ..Asked::default() });
            assert_eq!(ran.sent.sent, ran.got.received.unique);
            rates[place].push(ran.got.received.unique as f64 / load.as_secs_f64());
        }
        rates[2].push(by_iperf3(&cable));
        rates[3].push(by_trafgen(&cable));
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let medians = rates.each_mut().map(median);
    for (name, rate) in
        ["live", "live, receiver elsewhere", "iperf3", "trafgen"].iter().zip(medians)
    {
        eprintln!("{name}: {rate:.0} packets/s, {:.1} of iperf3", rate / medians[2]);
    }
}

fn received(cable: &Cable, work: impl FnOnce()) -> f64 {
    let before = cable.counters("h2");
    let begun = clock::monotonic();
    work();
    let took = clock::monotonic().saturating_sub(begun);
    cable.counters("h2").since(&before).counters["rx_packets"] as f64 / took.as_secs_f64()
}

fn by_iperf3(cable: &Cable) -> f64 {
    let to = cable.address("h2", &Asked::default()).to_string();
    let quiet = |args: &[&str]| {
        let mut command = Command::new("iperf3");
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut server = cable.lab.spawn("h2", &mut quiet(&["-s", "-1"])).expect("start iperf3");
    thread::sleep(Duration::from_millis(300));
    let rate = received(cable, || {
        let args = ["-c", &to, "-u", "-l", "18", "-b", "0", "-t", "1"];
        let mut client = cable.lab.spawn("h1", &mut quiet(&args)).expect("start iperf3");
        client.wait().expect("wait for iperf3");
    });
    server.wait().expect("wait for iperf3");
    rate
}

fn by_trafgen(cable: &Cable) -> f64 {
    let interface = cable.interface("h1");
    let mut command = Command::new("trafgen");
    let frame = "{ eth(), ipv4(da=198.18.9.9), udp(dp=9), fill(0, 18) }";
    command.args(["-o", &interface, "-P", "1", "-n", "1000000", "-q", frame]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    received(cable, || {
        let mut sender = cable.lab.spawn("h1", &mut command).expect("start trafgen");
        sender.wait().expect("wait for trafgen");
    })
}

/// What it costs ordinary frames that a cable's end takes redirected ones: with no poller, with the
/// program that lets all through, and with GRO. A benchmark: its table is read by people.
#[test]
#[ignore = "a benchmark that needs trafgen, and a quiet machine"]
fn the_price_of_taking_frames() {
    let Some(cable) = cable() else { return };
    let far = cable.interface("h2");
    let gro = |on: bool| {
        let mut command = Command::new("ethtool");
        command.args(["-K", &far, "gro", if on { "on" } else { "off" }]);
        let mut ethtool = cable.lab.spawn("h2", &mut command).expect("start ethtool");
        ethtool.wait().expect("wait for ethtool");
    };
    let mut rates: [Vec<f64>; 3] = Default::default();
    for _ in 0..7 {
        rates[0].push(by_trafgen(&cable));
        let accepting = cable.inside("h2", || accept_frames(&far)).expect("accept");
        rates[1].push(by_trafgen(&cable));
        drop(accepting);
        gro(true);
        rates[2].push(by_trafgen(&cable));
        gro(false);
    }
    for (name, rates) in ["none", "program", "gro"].iter().zip(&mut rates) {
        rates.sort_by(f64::total_cmp);
        eprintln!("{name}: {:.0} packets/s through to the stack", rates[rates.len() / 2]);
    }
}

/// What a router forwards of a greedy load, by its stack and by its drivers. A benchmark: its table
/// is read by people.
#[test]
#[ignore = "a benchmark that needs a quiet machine"]
fn a_router_by_its_stack_and_by_its_drivers() {
    let Some(cable) = lab_of(&LabSpec::new(LabDevice::Router)) else { return };
    let router = cable.lab.plan().devices[0].clone();
    let ports: Vec<&str> = router.ports.iter().map(|port| port.interface.as_str()).collect();
    let near = cable.interface("h1");
    let _near = cable.inside("h1", || accept_frames(&near)).expect("accept");
    let asked = Asked { load: Nanos::from_millis(500), ..Asked::default() };
    let mut rates: [Vec<f64>; 2] = Default::default();
    let mut measure = |place: usize| {
        let ran = run(&cable, &asked);
        let received = ran.got.received.unique as f64;
        rates[place].push(received / asked.load.as_secs_f64());
    };
    for _ in 0..5 {
        let accepting = cable.inside(&router.name, || {
            ports.iter().map(|port| accept_frames(port)).collect::<Result<Vec<_>, _>>()
        });
        measure(0);
        drop(accepting);
        let forwarding = cable.inside(&router.name, || forward(&ports)).expect("forward");
        measure(1);
        drop(forwarding);
    }
    for (name, rates) in ["stack", "drivers"].iter().zip(&mut rates) {
        rates.sort_by(f64::total_cmp);
        eprintln!("router by its {name}: {:.0} packets/s received", rates[rates.len() / 2]);
    }
}

/// How near to their time paced frames leave and arrive. A benchmark: its table is read by people.
#[test]
#[ignore = "a benchmark that needs an idle core"]
fn gaps_of_paced_frames() {
    let Some(cable) = cable() else { return };
    for pps in [10_000_u64, 100_000, 500_000, 1_000_000] {
        let gap = 1e9 / pps as f64;
        // Short enough that a tester with real-time priority is not throttled meanwhile.
        let load = Nanos::from_millis(500);
        let ran = run(&cable, &Asked { schedule: every(gap), load, ..Asked::default() });
        let within = |histogram: &Histogram, ns: f64| {
            let above = histogram.share_at_or_below(Nanos((gap + ns) as u64));
            let below = histogram.share_at_or_below(Nanos((gap - ns).max(0.0) as u64));
            100.0 * (above - if gap > ns { below } else { 0.0 })
        };
        eprintln!(
            "{pps} pps: sent {} of {}; within 1, 5 and 20 us: {:.2} {:.2} {:.2} % left, {:.2} {:.2} {:.2} % arrived; burst {}",
            ran.sent.sent,
            ran.sent.offered,
            within(&ran.sent.departures, 1e3),
            within(&ran.sent.departures, 5e3),
            within(&ran.sent.departures, 20e3),
            within(&ran.got.arrivals, 1e3),
            within(&ran.got.arrivals, 5e3),
            within(&ran.got.arrivals, 20e3),
            ran.sent.longest_burst,
        );
    }
}
