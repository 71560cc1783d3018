//! Where frames were lost, where the device is a router: by Debian's snmpd inside its namespace,
//! frame for frame against what the kernel's own queue and rule have counted.
//!
//! Owns the router between two subnets, and the kernel's counters that are the truth. Never reads
//! them by the program under test.

use std::process::{Command, Output, Stdio};

use measure::Nanos;
use trial::books::Place;
use trial::record::TrialRecord;

use super::super::harness::spaces::{Spaces, cable, host_table, ip, space};
use super::super::harness::{Scratch, alone, find, full, json, snmpd, switchmark};
use super::{
    BY_SNMP, Bench, Wires, all_accounted_for, no_rules, quiet, rules, seen_to_the_end, tc,
};

/// A queue's drops, which net-snmp does not count, by a command beside it.
pub const WITH_QUEUES: &str = r#"
[[device.counters]]
command = ["tc", "-n", "ROUTER", "-s", "-j", "qdisc"]
port = "$[?@.root==true].dev"
lag = "0s"
map = { qdisc_drops = "$[?@.root==true].drops" }
"#;

/// Of the load's frames only, by the numbers in them: what hosts send beforehand to find each other
/// is in no book.
pub const LOSSY: &str = "table ip t { counter lost { }; chain c { type filter hook forward priority 0; \
                     ip length 46 ip protocol udp @th,112,32 < 0x80000000 \
                     numgen random mod 1000 < 20 counter name lost drop; }; }";

/// h1 – router – h2, each cable a subnet of its own.
fn wires(scratch: &Scratch, counters: &str) -> Wires {
    let names = ["h1", "router", "h2"];
    let spaces = Spaces::new(&names);
    names.into_iter().for_each(quiet);
    let mut text = format!(
        "[[device]]\nname = \"core\"\nkind = \"router\"\nports = {{ \"1\" = \"lan1\", \"2\" = \"lan2\" }}\n{}",
        counters.replace("ROUTER", &space("router"))
    );
    for (host, net, port) in [("h1", "198.18.5", "1"), ("h2", "198.18.6", "2")] {
        let (own, gateway) = (format!("{net}.1/24"), format!("{net}.254"));
        let lan = format!("lan{port}");
        cable((host, "eth1", &own), ("router", &lan, &format!("{gateway}/24")));
        ip(&["-n", &space(host), "route", "add", "default", "via", &gateway]);
        text += &host_table(host, &own, &format!("core/{port}"));
    }
    ip(&["netns", "exec", &space("router"), "sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    let agent = snmpd::start(scratch, "router", "");
    let file = scratch.path("router-snmp.toml");
    std::fs::write(&file, text).expect("a testbed file");
    Wires { file, _agents: vec![agent], _spaces: spaces }
}

fn printed(program: &str, args: &[&str]) -> serde_json::Value {
    let mut command = Command::new(find(program).expect("looked for before"));
    json(&command.args(args).stdin(Stdio::null()).output().expect("starts"))
}

/// What the token bucket at the egress towards h2 has dropped so far.
pub fn dropped_by_the_queue() -> u64 {
    let told = printed("tc", &["-n", &space("router"), "-s", "-j", "qdisc", "show", "dev", "lan2"]);
    told[0]["drops"].as_u64().expect("a counter")
}

/// What the rule in the router's forwarding has dropped so far.
pub fn dropped_by_the_rule() -> u64 {
    let list = ["nft", "-j", "list", "counter", "ip", "t", "lost"];
    let told = printed("ip", &[&["netns", "exec", &space("router")][..], &list].concat());
    let counters = told["nftables"].as_array().expect("a list").iter();
    counters.filter_map(|row| row["counter"]["packets"].as_u64()).sum()
}

pub fn bucket(rate: &str) {
    let bucket = ["tbf", "rate", rate, "burst", "20k", "limit", "30k"];
    tc("router", &[&["qdisc", "add", "dev", "lan2", "root"][..], &bucket].concat());
}

pub fn no_bucket() {
    tc("router", &["qdisc", "del", "dev", "lan2", "root"]);
}

/// A loss that the kernel makes, counts, and unmakes.
struct Loss {
    name: &'static str,
    begin: fn(),
    counted: fn() -> u64,
    end: fn(),
    place: Place,
}

fn losses(queues: bool) -> Vec<Loss> {
    let inside = || Place::Inside("core".to_owned());
    let at_the_queue = if queues { Place::Egress("core/2".to_owned()) } else { inside() };
    vec![
        Loss { name: "nothing", begin: || {}, counted: || 0, end: || {}, place: inside() },
        Loss {
            name: "a token bucket at egress",
            begin: || bucket("5mbit"),
            counted: dropped_by_the_queue,
            end: no_bucket,
            place: at_the_queue,
        },
        Loss {
            name: "a rule that drops what is forwarded",
            begin: || rules("router", LOSSY),
            counted: dropped_by_the_rule,
            end: || no_rules("router"),
            place: inside(),
        },
    ]
}

/// Of so many rounds of trials, each that was not put where the kernel says, frame for frame.
fn wrong(bench: &mut Bench, losses: &[Loss], rounds: usize) -> (usize, Vec<String>) {
    let (mut trials, mut wrong) = (0, Vec::new());
    for _ in 0..rounds {
        for loss in losses {
            (loss.begin)();
            let (record, books) = bench.run(Nanos::from_millis(300));
            let truth = (loss.counted)();
            (loss.end)();
            if !seen_to_the_end(&record) {
                continue;
            }
            trials += 1;
            let told = books.died(|place| *place == loss.place);
            // What hosts say to find each other, between the load and the reading, is in no trial.
            let others = books.contradicted <= 8;
            if told != truth || books.lost != truth || !others || doubted(&record) {
                wrong
                    .push(format!("{}: {truth} dropped, {books:?} {:?}", loss.name, record.device));
            }
        }
    }
    (trials, wrong)
}

fn doubted(record: &TrialRecord) -> bool {
    record.device.readings.iter().any(|reading| !reading.doubts.is_empty())
}

#[test]
fn a_routers_losses_are_put_where_the_kernel_counted_them() {
    const TEST: &str = "a_routers_losses_are_put_where_the_kernel_counted_them";
    let Some(_alone) = alone(TEST, &["ip", "tc", "nft", "snmpd"]) else { return };
    let rounds = if full() { 20 } else { 1 };
    for queues in [true, false] {
        let scratch = Scratch::new("books-router");
        let more = if queues { WITH_QUEUES } else { "" };
        let mut bench = Bench::over(wires(&scratch, &format!("{BY_SNMP}{more}")));
        let (trials, wrong) = wrong(&mut bench, &losses(queues), rounds);
        println!("{} of {trials} books are right, queues are told: {queues}", trials - wrong.len());
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

fn forwarding(scratch: &Scratch, wires: &Wires, more: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    let args = ["forwarding", "--flood", "--size", "512", "-t", "0.3", "--blocks", "2"];
    command.args(args).args(["--seed", "1", "--full", "--journal", "j.db"]).args(more);
    command.arg("--testbed").arg(&wires.file).current_dir(scratch.folder());
    command.stdin(Stdio::null()).output().expect("it starts")
}

/// As its user runs it: what it says was lost at the router's egress is what the queue there
/// dropped, and where only SNMP tells, the frames went between the router's ports.
#[test]
fn the_program_says_where_a_router_dropped_frames() {
    const TEST: &str = "the_program_says_where_a_router_dropped_frames";
    let Some(_alone) = alone(TEST, &["ip", "tc", "snmpd"]) else { return };
    let told = [(WITH_QUEUES, "at core/2, egress"), ("", "core, between its ports")];
    // Trials of the second kind are in the test above.
    for (more, place) in told.into_iter().take(if full() { 2 } else { 1 }) {
        let scratch = Scratch::new("books-router-program");
        let wires = wires(&scratch, &format!("{BY_SNMP}{more}"));
        bucket("20mbit");
        let output = forwarding(&scratch, &wires, &[]);
        let truth = dropped_by_the_queue();
        let [said, errors] =
            [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
        println!("{said}{errors}");
        assert!(output.status.success(), "{said}{errors}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let lost = with_commas(truth);
        assert!(said.contains(&format!("{lost} of ")), "the queue dropped {lost}: {said}");
        assert!(all_accounted_for(&said), "{said}");
        assert!(said.contains(place), "{said}");
    }
}

/// `690553` as `690,553`.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}
