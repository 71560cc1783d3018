//! A host that runs no agent of ours but `iperf3 -s`: TCP streams to and from it, counted as its
//! own output counts them, and what it cannot do refused before the first trial.
//!
//! Needs root, iproute2 and iperf3: the hosts are namespaces, and the server is the real one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use agents::controller::{LiveTestbed, Stop};
use serde_json::Value;
use switchmark::config::testbed;
use trial::record::{BulkRecord, FlowRecord};
use trial::{Flow, FlowKind, Gate, Offloads, Outcome, Protocol, Testbed as _, TestbedError, Trial};

use crate::harness::spaces::{self, Spaces, cable, space};
use crate::harness::{self, Scratch, alone, bulk, find, json, switchmark};
use measure::Nanos;

const LOAD: Nanos = Nanos::from_millis(300);
const PORT: &str = "5202";

/// A server in the far namespace, ended by its id.
struct Server(Child);

impl Server {
    fn start(log: &Path) -> Self {
        let log = std::fs::File::create(log).expect("a file");
        let mut command = Command::new(find("ip").expect("looked for before"));
        command.args(["netns", "exec", &space("far"), "iperf3", "-s", "-J", "-p", PORT]);
        let child = command.stdin(Stdio::null()).stdout(log).stderr(Stdio::null()).spawn();
        Self(child.expect("it starts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Its tests so far, by its own output.
fn tests(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("its output");
    let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    documents.map_while(Result::ok).collect()
}

fn cabled() -> Spaces {
    let spaces = Spaces::new(&["near", "far"]);
    cable(("near", "eth1", "198.18.9.1/24"), ("far", "eth1", "198.18.9.2/24"));
    spaces
}

fn file(scratch: &Scratch) -> PathBuf {
    let text = format!(
        "[[host]]\nname = \"h1\"\nreach = \"netns:{}\"\n[[host.port]]\nname = \"eth1\"\n\
         address = \"198.18.9.1/24\"\ncable = \"nas/eth1\"\n\
         [[host]]\nname = \"nas\"\nreach = \"iperf3://nas:{PORT}\"\n[[host.port]]\nname = \"eth1\"\n\
         address = \"198.18.9.2/24\"\ncable = \"h1/eth1\"\n",
        space("near")
    );
    let file = scratch.path("testbed.toml");
    std::fs::write(&file, text).expect("writes");
    file
}

fn open(file: &Path) -> LiveTestbed {
    let place = testbed::from_argument("--testbed", file.to_str().expect("text")).expect("a file");
    LiveTestbed::open_with(&place, Stop::new(), switchmark()).expect("it comes up")
}

/// One flow a way, of so many streams each.
fn trial(testbed: &LiveTestbed, ways: &[bool], kind: &FlowKind) -> Trial {
    let pair = testbed.topology().measured_pairs().remove(0);
    let flow = |(id, reverse): (u16, &bool)| {
        let pair = if *reverse { pair.back() } else { pair.clone() };
        Flow { id, ..Flow::measured(&pair, kind.clone()) }
    };
    let flows = (1..).zip(ways).map(flow).collect();
    Trial { offloads: Offloads::AsFound, ..Trial::quick("test", flows, LOAD, Gate::Flood) }
}

fn bulk_of(record: &FlowRecord) -> &BulkRecord {
    match record {
        FlowRecord::Bulk(bulk) => bulk,
        other => panic!("{other:?}"),
    }
}

/// The octets of each stream of its one side, and how long its test took.
fn theirs(test: &Value, reverse: bool) -> (Vec<u64>, f64) {
    let streams = test["end"]["streams"].as_array().expect("streams").iter();
    let side = if reverse { "sender" } else { "receiver" };
    let own: Vec<&Value> =
        streams.map(|it| &it[side]).filter(|it| it["sender"] == reverse).collect();
    let octets = own.iter().map(|it| it["bytes"].as_u64().expect("octets")).collect();
    (octets, own[0]["seconds"].as_f64().expect("seconds"))
}

fn datagrams_and_what_is_refused(testbed: &mut LiveTestbed) {
    let paced = harness::datagrams(1000, harness::paced(2000.0), trial::Backend::Auto);
    for reverse in [false, true] {
        let record = testbed.run(&trial(testbed, &[reverse], &paced)).expect("the testbed lives");
        let flow = harness::datagrams_of(&record);
        println!("udp, reverse {reverse}: {} sent, {:?}", flow.sent, flow.received);
        assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
        assert!(flow.received.unique * 10 > flow.sent * 9, "{flow:?}");
    }
    let flood = harness::datagrams(1000, trial::Schedule::Greedy, trial::Backend::Auto);
    let Err(TestbedError::Unavailable { reason, .. }) =
        testbed.run(&trial(testbed, &[false], &flood))
    else {
        panic!("it has no flood");
    };
    assert!(reason.contains("iperf3 sends frames of one size, at one rate"), "{reason}");
    let kind = harness::echo(Protocol::Udp, 128);
    let refused = trial(testbed, &[false], &kind);
    let Err(TestbedError::Unavailable { reason, .. }) = testbed.run(&refused) else {
        panic!("no echo answers there");
    };
    assert!(reason.contains("host `nas` runs an iperf3 server only"), "{reason}");
    let twice = trial(testbed, &[false, false], &bulk(1));
    let Err(TestbedError::Unavailable { reason, .. }) = testbed.run(&twice) else {
        panic!("a server runs one test at a time");
    };
    assert!(reason.contains("host `nas` runs one test at a time"), "{reason}");
}

#[test]
fn a_server_is_the_far_end_of_streams_both_ways() {
    let needed = ["ip", "iperf3"];
    let Some(_alone) = alone("a_server_is_the_far_end_of_streams_both_ways", &needed) else {
        return;
    };
    let (_spaces, scratch) = (cabled(), Scratch::new("iperf3"));
    let log = scratch.path("server.json");
    let server = Server::start(&log);
    let mut testbed = open(&file(&scratch));
    let cases: [(u16, &[bool]); 4] =
        [(1, &[false]), (4, &[false]), (3, &[true]), (2, &[true, false])];
    for (number, (streams, ways)) in cases.into_iter().enumerate() {
        let trial = trial(&testbed, ways, &bulk(streams));
        let record = testbed.run(&trial).expect("the testbed lives");
        assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
        let told = tests(&log);
        assert_eq!(told.len(), number + 1, "one test a trial");
        for (flow, reverse) in record.flows.iter().zip(ways) {
            let (octets, seconds) = theirs(&told[number], *reverse);
            let flow = bulk_of(flow);
            let far = flow.far_end.as_ref().expect("the server's word");
            let said: Vec<u64> = far.streams.iter().map(|octets| octets.0).collect();
            assert_eq!(said, octets, "{streams} streams, reverse {reverse}");
            assert_eq!(flow.streams.len(), usize::from(streams));
            let theirs = octets.iter().sum::<u64>();
            let rate = |octets: u64, seconds: f64| octets as f64 / seconds;
            let ours = rate(flow.received.0, flow.elapsed.as_secs_f64());
            let ratio = ours / rate(theirs, seconds);
            println!(
                "{streams} streams, reverse {reverse}: {ours:.0} octets/s, {ratio:.5} of its own"
            );
            if *reverse {
                // What it sent last was still under way, for as long as a busy machine says.
                assert!(flow.received.0 <= theirs && flow.received.0 * 10 > theirs * 8, "{flow:?}");
            } else {
                assert!((0.9999..1.0001).contains(&ratio), "{ratio}");
            }
        }
        let near = record.ports.iter().find(|port| port.place == "h1/eth1").expect("counters");
        assert!(near.counters["tx_packets"] > 0);
        assert_eq!(record.ports.len(), 1, "nobody reads the other's: {:?}", record.ports);
    }
    datagrams_and_what_is_refused(&mut testbed);
    // It dies, and the next trial finds nobody.
    let long = Trial {
        phases: trial::Phases::quick(Nanos::from_secs(30)),
        ..trial(&testbed, &[true], &bulk(1))
    };
    let death = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(700));
        drop(server);
    });
    for says in ["it closed the connection", "Connection refused"] {
        let record = testbed.run(&long).expect("the testbed lives");
        let Outcome::Failed { reason } = &record.outcome else { panic!("{record:#?}") };
        assert!(reason.contains("the iperf3 server at 198.18.9.2:5202"), "{reason}");
        assert!(reason.contains(says), "{reason}");
    }
    death.join().expect("it died");
}

fn run(study: &[&str], file: &Path, scratch: &Scratch) -> Output {
    let mut command = Command::new(switchmark());
    command.args(study).args(["-t", "0.1", "--blocks", "2", "--json", "--quiet", "--testbed"]);
    command.arg(file).arg("--store").arg(scratch.path("journal.db")).output().expect("it starts")
}

#[test]
fn what_a_server_can_not_do_is_refused_before_the_first_trial() {
    let needed = ["ip", "iperf3"];
    let name = "what_a_server_can_not_do_is_refused_before_the_first_trial";
    let Some(_alone) = alone(name, &needed) else { return };
    let (_spaces, scratch) = (cabled(), Scratch::new("iperf3-refused"));
    let file = file(&scratch);
    let refused = |study: &[&str], says: &[&str]| {
        let output = run(study, &file, &scratch);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{study:?}: {told}");
        for words in says {
            assert!(told.contains(words), "{study:?}: {words}: {told}");
        }
    };
    let only = ["`nas` runs an iperf3 server only", "hint: `tcp` works with an iperf3 server"];
    refused(&["latency", "--protocol", "udp"], &only);
    refused(&["forwarding"], &only);
    let pings = ["latency", "--protocol", "icmp", "--size", "128"];
    let absent =
        ["testbed.toml:10", "Connection refused", "iperf3 -s -p 5202 on nas, port 5202 open"];
    refused(&pings, &absent);
    let server = Server::start(&scratch.path("server.json"));
    let output = run(&pings, &file, &scratch);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    harness::told_a_round_trip(&output);
    let document = json(&output);
    let figures = document["figures"].as_array().expect("figures");
    let doubted = |figure: &Value| {
        let caveats = figure["caveats"].as_array().expect("caveats");
        caveats.iter().any(|caveat| caveat == "iperf3-far-end")
    };
    assert!(figures.iter().filter(|f| f["metric"] == "rtt").all(doubted), "{document:#}");
    drop(server);
}

/// Payload bits a second at iperf3's own receiver, asked by its own client.
fn iperf3(reverse: bool) -> f64 {
    let mut command = Command::new(find("ip").expect("looked for before"));
    command.args(["netns", "exec", &space("near"), "iperf3", "-c", "198.18.9.2", "-p", PORT]);
    command.args(["-t", "1", "-C", "cubic", "-J"]).args(reverse.then_some("-R"));
    let output = command.output().expect("it starts");
    let told = json(&output);
    let bits = told["end"]["sum_received"]["bits_per_second"].as_f64();
    bits.unwrap_or_else(|| panic!("{told:#}"))
}

/// Both ends' ports are limited by tbf, so that what is held against each other is how both count.
#[test]
fn tcp_tells_what_iperf3_tells_of_itself() {
    let needed = ["ip", "tc", "iperf3"];
    let Some(_alone) = alone("tcp_tells_what_iperf3_tells_of_itself", &needed) else { return };
    let (_spaces, scratch) = (cabled(), Scratch::new("iperf3-tcp"));
    for name in ["near", "far"] {
        let place = ["-n", &space(name), "qdisc", "add", "dev", "eth1", "root", "tbf"];
        let limit = ["rate", "50mbit", "burst", "16kb", "limit", "250kb"];
        spaces::call("tc", &[&place[..], &limit].concat());
    }
    let file = file(&scratch);
    let _server = Server::start(&scratch.path("server.json"));
    for reverse in [false, true] {
        let mut command = Command::new(switchmark());
        let flags = ["tcp", "-R", "-t", "1", "-O", "0", "--blocks", "2", "--json", "--quiet"];
        let mut ends = ["nas/eth1", "h1/eth1"];
        if reverse {
            ends.reverse();
        }
        command.args(flags).args(["--from", ends[0], "--to", ends[1]]);
        command.arg("--testbed").arg(&file);
        let output = command.arg("--store").arg(scratch.path("j.db")).output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        let document = json(&output);
        let figures = document["figures"].as_array().expect("figures");
        let goodput = figures.iter().find(|f| f["metric"] == "goodput");
        let goodput = goodput.unwrap_or_else(|| panic!("{document:#}"));
        let ours = goodput["value"].as_f64().expect("a goodput");
        let theirs = iperf3(reverse);
        let ratio = ours / theirs;
        println!("reverse {reverse}: {ours:.0}, iperf3 {theirs:.0}, {ratio:.4}");
        assert!((ratio - 1.0).abs() <= 0.01, "{ratio:.4}: {ours} beside {theirs}");
        let caveats = goodput["caveats"].as_array().expect("caveats");
        assert!(caveats.iter().any(|caveat| caveat == "iperf3-far-end"), "{goodput}");
    }
}
