//! Two routers with several paths between them, as beds for `failover`: that they fail over as they
//! are configured to, without any of our own senders.
//!
//! Owns a ping as the witness. Needs root and iproute2; with routing daemons, frr.

pub mod bed;
pub mod frr;

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bed::{Bed, Deed, Plan, Routing};
use frr::Ospf;

use super::harness::spaces::{ip, space};
use super::harness::{
    Scratch, alone, find, short_latency, switchmark, told_a_round_trip, wait_for,
};

/// Between two requests of the witness.
const EVERY: f64 = 0.005;

/// The longest time without an answer, in seconds, while something is done to the bed a second
/// after a ping has begun, and taken back after as long as it lasts.
fn outage(bed: &Bed, deed: &str, lasting: Duration) -> f64 {
    let deed = bed.deed(deed);
    let mut ping = Command::new(find("ip").expect("looked for before"));
    ping.args(["netns", "exec", &space("h1"), "ping", "-D", "-n", "-i", "0.005"]);
    // By a count: one that has a deadline ends at the first error that it is told of.
    let requests = (lasting.as_secs_f64() + 2.0) / EVERY;
    ping.args(["-W", "0.1", "-c", &requests.to_string(), "198.18.2.2"]);
    let ping = ping.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("starts");
    thread::sleep(Duration::from_secs(1));
    deed.run();
    thread::sleep(lasting);
    deed.undo();
    let output = ping.wait_with_output().expect("it ends");
    let ended = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // A router that knows no way says so, which is no answer.
    let answered = |line: &str| {
        let (at, said) = line.strip_prefix('[')?.split_once("] ")?;
        said.contains("bytes from").then(|| at.parse::<f64>().ok())?
    };
    let mut answers: Vec<f64> = text.lines().filter_map(answered).collect();
    assert!(answers.len() > 100, "{text}");
    answers.push(ended.as_secs_f64());
    answers.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
}

/// BFD takes a failure for one once three packets in a row are missed, and the way over the other
/// path is in the kernel shortly after.
#[test]
fn a_bed_with_frr_fails_over_when_bfd_says() {
    const TEST: &str = "a_bed_with_frr_fails_over_when_bfd_says";
    if !frr::installed(TEST) {
        return;
    }
    let Some(_alone) = alone(TEST, &["ip", "nft", "ping", "vtysh"]) else { return };
    let mut outages = Vec::new();
    for interval_ms in [50, 300] {
        let scratch = Scratch::new("two-paths-frr");
        let routing = Routing::Ospf(Ospf { interval_ms, equal_cost: false });
        let bed = Bed::new(&scratch, Plan { paths: 2, hash_policy: 0, routing });
        let seen = outage(&bed, "blackhole-1", Duration::from_secs(3));
        println!("BFD of 3 x {interval_ms} ms: {:.0} ms without an answer", seen * 1e3);
        // The last packet came within one interval before the failure; each is sent up to a quarter
        // earlier than its time (RFC 5880 §6.8.7).
        let least = 2.0 * f64::from(interval_ms) / 1e3;
        assert!(seen >= least - EVERY, "{seen}");
        wait_for("the first path to be taken again", || bed.ways("r1") == [1]);
        wait_for("the first path to be taken again", || bed.ways("r2") == [1]);
        let by_carrier = outage(&bed, "link-1-down", Duration::from_secs(2));
        println!("loss of carrier: {:.0} ms", by_carrier * 1e3);
        outages.push((seen, by_carrier));
    }
    let [(fast, _), (slow, by_carrier)] = outages[..] else { panic!("two of them") };
    assert!(fast < slow && by_carrier < slow, "{outages:?}");
}

/// A daemon that is killed tells nobody: the other router finds out by itself, and the bed is as it
/// was once the daemon is back.
#[test]
fn a_bed_survives_its_daemons() {
    const TEST: &str = "a_bed_survives_its_daemons";
    if !frr::installed(TEST) {
        return;
    }
    let Some(_alone) = alone(TEST, &["ip", "nft", "ping", "vtysh"]) else { return };
    let scratch = Scratch::new("two-paths-killed");
    let routing = Routing::Ospf(Ospf { interval_ms: 50, equal_cost: true });
    let bed = Bed::new(&scratch, Plan { paths: 2, hash_policy: 1, routing });
    assert_eq!((bed.ways("r1"), bed.ways("r2")), (vec![1, 2], vec![1, 2]));
    // What is undone without having been done leaves the bed as it is.
    bed.deeds().iter().for_each(Deed::undo);
    assert_eq!((bed.ways("r1"), bed.ways("r2")), (vec![1, 2], vec![1, 2]));
    for deed in ["kill-bfdd", "kill-router"] {
        let seen = outage(&bed, deed, Duration::from_secs(2));
        println!("{deed}: {:.0} ms without an answer", seen * 1e3);
        assert!(seen >= 0.1 - EVERY, "BFD of 3 x 50 ms saw it before it could: {seen}");
        wait_for("both paths again", || [bed.ways("r1"), bed.ways("r2")] == [[1, 2], [1, 2]]);
    }
}

/// Without daemons: a route that lost its carrier is withdrawn by the kernel, one that leads into a
/// black hole is kept.
#[test]
fn a_bed_with_fixed_routes_follows_the_carrier_alone() {
    const TEST: &str = "a_bed_with_fixed_routes_follows_the_carrier_alone";
    let Some(_alone) = alone(TEST, &["ip", "nft", "ping"]) else { return };
    let scratch = Scratch::new("two-paths-fixed");
    let plan = Plan { paths: 2, hash_policy: 0, routing: Routing::Fixed };
    let bed = Bed::new(&scratch, plan);
    measured_across(&scratch, &bed);
    // By addresses alone the ping is on one path, whichever that is.
    ip(&["netns", "exec", &space("h1"), "ping", "-q", "-c", "100", "-i", "0.002", "198.18.2.2"]);
    let sent = bed.sent();
    let path = if sent[0] > sent[1] { 1 } else { 2 };
    let lasting = Duration::from_secs(2);
    let by_carrier = outage(&bed, &format!("link-{path}-down"), lasting);
    wait_for("both paths again", || [bed.ways("r1"), bed.ways("r2")] == [[1, 2], [1, 2]]);
    let by_hole = outage(&bed, &format!("blackhole-{path}"), lasting);
    println!("carrier lost: {:.0} ms, black hole: {:.0} ms", by_carrier * 1e3, by_hole * 1e3);
    assert!(by_carrier < lasting.as_secs_f64(), "{by_carrier}");
    assert!(by_hole >= lasting.as_secs_f64(), "{by_hole}");
}

/// The program finds its way over it.
fn measured_across(scratch: &Scratch, bed: &Bed) {
    let text = std::fs::read_to_string(&bed.file).expect("a testbed file");
    let deeds = text.find("[[device.deed]]").expect("they are there");
    let hosts = text.find("[[host]]").expect("they are there");
    let plain = scratch.path("plain.toml");
    std::fs::write(&plain, [&text[..deeds], &text[hosts..]].concat()).expect("writes");
    let mut command = Command::new(switchmark());
    let output = short_latency(&mut command, &plain, &scratch.path("j.db"));
    told_a_round_trip(&output);
}

/// Datagrams to many ports, by the shell: which paths they take is the kernel's choice.
#[test]
fn flows_spread_as_the_hash_policy_says() {
    const TEST: &str = "flows_spread_as_the_hash_policy_says";
    let Some(_alone) = alone(TEST, &["ip", "bash"]) else { return };
    for hash_policy in [0, 1] {
        let scratch = Scratch::new("two-paths-hash");
        let bed = Bed::new(&scratch, Plan { paths: 8, hash_policy, routing: Routing::Fixed });
        let before = bed.sent();
        let send = "for port in $(seq 9001 9256); do echo x > /dev/udp/198.18.2.2/$port; done";
        ip(&["netns", "exec", &space("h1"), "bash", "-c", &format!("{{ {send}; }} 2>/dev/null")]);
        let sent = bed.sent();
        let shares: Vec<u64> = sent.iter().zip(&before).map(|(now, then)| now - then).collect();
        println!("policy {hash_policy}: {shares:?}");
        // Beside them routers look for their neighbours.
        let used = shares.iter().filter(|share| **share > 10).count();
        assert_eq!(used, if hash_policy == 0 { 1 } else { 8 }, "{shares:?}");
    }
}
