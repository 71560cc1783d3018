//! One-ended tests: nothing runs at the far end, and the router before it counts what leaves
//! towards it, by a command and by Debian's snmpd; held against a rule in the far end's own kernel.
//!
//! Owns the far end and its rule. Never reads the truth by the program under test.

use std::process::{Command, Output, Stdio};

use agents::controller::{LiveTestbed, Stop};
use measure::Nanos;
use serde_json::Value;
use switchmark::config::testbed;
use trial::books::Place;
use trial::record::{DatagramsRecord, Defect, Outcome};
use trial::topology::Pair;
use trial::{Backend, Gate, Testbed as _};

use super::super::harness::spaces::{Spaces, cable, host_table, ip, space};
use super::super::harness::{
    Guest, Scratch, alone, datagrams, datagrams_of, find, full, json, paced, snmpd, switchmark,
    trial,
};
use super::router::{
    LOSSY, WITH_QUEUES, bucket, dropped_by_the_queue, dropped_by_the_rule, no_bucket,
};
use super::{
    BY_COMMANDS, BY_SNMP, Bench, Wires, bridge, by_script, join, no_rules, quiet, rules,
    seen_to_the_end,
};

/// Frames of a load that reached the far end, and no learning ones, whose numbers are the highest.
const COUNTED: &str = "table ip far { counter came { }; chain c { type filter hook prerouting priority -300; \
                       udp dport 9 @th,112,32 < 0xffff0000 counter name came drop; \
                       udp dport 9 drop; }; }";

/// Beside a load few frames are others': neighbours that ask for each other.
const FEW: u64 = 8;

/// h1 – router – far, each cable a subnet of its own; `runs` is what is at far: nothing, or an
/// agent.
fn wires(scratch: &Scratch, counters: &str, agent: bool) -> Wires {
    let names = ["h1", "router", "far"];
    let spaces = Spaces::new(&names);
    names.into_iter().for_each(quiet);
    let mut text = format!(
        "[[device]]\nname = \"core\"\nkind = \"router\"\nports = {{ \"1\" = \"lan1\", \"2\" = \"lan2\" }}\n{}",
        counters.replace("ROUTER", &space("router")).replace("SWITCH", &space("router"))
    );
    // The far end stands first: that nobody sends from there is not a matter of order.
    for (host, net, port) in [("far", "198.18.6", "2"), ("h1", "198.18.5", "1")] {
        let (own, gateway) = (format!("{net}.1/24"), format!("{net}.254"));
        let lan = format!("lan{port}");
        cable((host, "eth1", &own), ("router", &lan, &format!("{gateway}/24")));
        ip(&["-n", &space(host), "route", "add", "default", "via", &gateway]);
        let table = host_table(host, &own, &format!("core/{port}"));
        text += &if host == "far" && !agent {
            table.replace(&format!("netns:{}", space(host)), "none")
        } else {
            table
        };
    }
    ip(&["netns", "exec", &space("router"), "sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    let snmp = counters.contains("snmp").then(|| snmpd::start(scratch, "router", ""));
    let file = scratch.path(if agent { "two-ended.toml" } else { "one-ended.toml" });
    std::fs::write(&file, text).expect("a testbed file");
    Wires { file, _agents: snmp.into_iter().collect(), _spaces: spaces }
}

fn by_link() -> &'static str {
    &BY_COMMANDS[..BY_COMMANDS.rfind("[[device").expect("two of them")]
}

/// Frames of the load that reached the far end since it was asked last.
fn came() -> u64 {
    let list = ["nft", "-j", "reset", "counter", "ip", "far", "came"];
    let mut command = Command::new(find("ip").expect("looked for before"));
    command.args(["netns", "exec", &space("far")]).args(list).stdin(Stdio::null());
    let told = json(&command.output().expect("starts"));
    let counters = told["nftables"].as_array().expect("a list").iter();
    counters.filter_map(|row| row["counter"]["packets"].as_u64()).sum()
}

/// A loss that the kernel makes in the router, counts, and unmakes.
struct Loss {
    name: &'static str,
    begin: fn(),
    counted: fn() -> u64,
    end: fn(),
}

const LOSSES: [Loss; 3] = [
    Loss { name: "nothing", begin: || {}, counted: || 0, end: || {} },
    Loss {
        name: "a token bucket at egress",
        begin: || bucket("5mbit"),
        counted: dropped_by_the_queue,
        end: no_bucket,
    },
    Loss {
        name: "a rule that drops what is forwarded",
        begin: || rules("router", LOSSY),
        counted: dropped_by_the_rule,
        end: || no_rules("router"),
    },
];

fn count(seen: &DatagramsRecord) -> u64 {
    let count = seen.at_device.as_ref().expect("a device counted");
    assert_eq!(count.port, "core/2");
    count.frames.expect("it told")
}

/// Rounds of trials under each loss: each whose count was not the far end's own, frame for frame.
fn wrong(bench: &mut Bench, rounds: usize) -> (usize, usize, Vec<String>) {
    let (mut trials, mut exactly, mut wrong) = (0, 0, Vec::new());
    for _ in 0..rounds {
        for loss in &LOSSES {
            (loss.begin)();
            came();
            let (record, books) = bench.run(Nanos::from_millis(300));
            let (truth, dropped) = (came(), (loss.counted)());
            (loss.end)();
            if !seen_to_the_end(&record) {
                continue;
            }
            trials += 1;
            let seen = datagrams_of(&record);
            let others = count(seen).checked_sub(truth);
            exactly += usize::from(others == Some(0));
            let received = seen.received.unique;
            let right = others.is_some_and(|others| others <= FEW)
                && received.checked_sub(truth).is_some_and(|others| others <= FEW)
                && seen.received.lost(seen.sent).abs_diff(dropped) <= FEW
                && seen.receiving == Nanos::ZERO
                && seen.receiver == "device counter core/2"
                && books.died(|place| matches!(place, Place::CableOut { .. })) == 0;
            if !right {
                let said = &record.device.readings;
                wrong.push(format!(
                    "{}: {truth} came, {dropped} dropped: {received} of {} {books:?} {said:?}",
                    loss.name, seen.sent
                ));
            }
        }
    }
    (trials, exactly, wrong)
}

#[test]
fn what_leaves_towards_a_silent_end_is_what_reaches_it() {
    const TEST: &str = "what_leaves_towards_a_silent_end_is_what_reaches_it";
    let Some(_alone) = alone(TEST, &["ip", "tc", "nft", "snmpd"]) else { return };
    for (by, counters, rounds) in
        [("a command", by_link(), if full() { 30 } else { 3 }), ("SNMP", BY_SNMP, 1)]
    {
        let scratch = Scratch::new("one-ended");
        let wires = wires(&scratch, counters, false);
        rules("far", COUNTED);
        let mut bench = Bench::over(wires);
        let (trials, exactly, wrong) = wrong(&mut bench, rounds);
        println!("by {by}: {exactly} of {trials} counts are the far end's own, frame for frame");
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// Of one load, through one bucket, as many frames are received whoever counts them.
#[test]
fn as_many_are_received_as_an_agent_there_receives() {
    const TEST: &str = "as_many_are_received_as_an_agent_there_receives";
    let Some(_alone) = alone(TEST, &["ip", "tc"]) else { return };
    let port = |text: &str| text.parse().expect("a port");
    let pair = Pair { from: port("h1/eth1"), to: port("far/eth1") };
    let received = [true, false].map(|agent| {
        let scratch = Scratch::new("one-ended-agent");
        let mut bench = Bench::over(wires(&scratch, by_link(), agent));
        bucket("5mbit");
        let kind = datagrams(64, paced(20_000.0), Backend::Udp);
        let asked = trial(&pair, kind, Nanos::from_secs(1), Gate::Flood);
        let record = bench.testbed.run(&asked).expect("runs");
        let seen = datagrams_of(&record);
        assert_eq!(seen.at_device.is_some(), !agent, "{}", seen.receiver);
        seen_to_the_end(&record).then_some(seen.received.unique as f64)
    });
    let [Some(by_host), Some(by_device)] = received else { return };
    println!("{by_host} frames by the host, {by_device} by the device");
    assert!((by_device / by_host - 1.0).abs() < 0.01, "{by_host} and {by_device}");
}

fn run(scratch: &Scratch, wires: &Wires, args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.args(["forwarding", "--seed", "1", "--journal", "j.db"]).args(args);
    command.arg("--testbed").arg(&wires.file).current_dir(scratch.folder());
    command.stdin(Stdio::null()).output().expect("it starts")
}

fn told(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    json(output)
}

fn figure<'a>(told: &'a Value, metric: &str) -> Option<&'a Value> {
    let mut all = told["figures"].as_array().expect("figures").iter();
    all.find(|f| f["metric"] == metric && f["unit"] != "bits/s")
}

/// The same bed with an agent at the far end, and with none: one rate, of two observation points,
/// which no comparison takes for each other.
#[test]
fn a_device_s_rate_is_never_taken_for_a_host_s() {
    const TEST: &str = "a_device_s_rate_is_never_taken_for_a_host_s";
    let Some(_alone) = alone(TEST, &["ip", "tc"]) else { return };
    let scratch = Scratch::new("one-ended-same");
    let ends = ["--from", "h1/eth1", "--to", "far/eth1"];
    let args = ["--flood", "--size", "512", "-t", "2", "--blocks", "2", "--json", "-q"];
    let args = [&ends[..], &args].concat();
    let [one, other] = [true, false].map(|agent| {
        let wires = wires(&scratch, by_link(), agent);
        bucket("50mbit");
        told(&run(&scratch, &wires, &args))
    });
    let [host, device] = [&one, &other].map(|told| figure(told, "received").expect("a rate"));
    let [by_host, by_device] = [host, device].map(|f| f["value"].as_f64().expect("a value"));
    println!("received: {by_host:.0} frames/s by the host, {by_device:.0} by the device");
    // Octets without the FCS, as the bucket counts them.
    let truth = 50e6 / 8.0 / 508.0;
    if by_host.min(by_device) > 0.98 * truth {
        assert!((by_device / by_host - 1.0).abs() < 0.01, "{by_device} and {by_host}");
    } else {
        eprintln!("the machine is too busy: the bucket lets {truth:.0} frames/s pass");
    }
    assert_eq!(device["where"]["observation_point"], "device", "{device}");
    assert_eq!(device["where"]["receiver"], "device counter core/2", "{device}");
    assert!(host["where"].get("observation_point").is_none(), "{host}");
    assert!(figure(&one, "duplicated").is_some() && figure(&one, "reordered").is_some());
    assert!(figure(&other, "duplicated").is_none() && figure(&other, "reordered").is_none());
    let caveats = device["caveats"].as_array().expect("caveats");
    assert!(caveats.iter().any(|caveat| caveat == "device-counter"), "{device}");
    let [one, other] = [&one, &other].map(|told| told["run"].as_str().expect("an id"));
    let mut compare = Command::new(switchmark());
    compare.args(["compare", one, other, "--journal", "j.db", "--json"]);
    let compared = compare.current_dir(scratch.folder()).output().expect("it starts");
    let (said, errors) =
        (String::from_utf8_lossy(&compared.stdout), String::from_utf8_lossy(&compared.stderr));
    println!("{errors}");
    assert!(
        !said.contains("\"of\":\"received\"") && !said.contains("\"of\": \"received\""),
        "{said}"
    );
}

/// As its user runs it: a flood, a search and a curve, with the device's own counters as witness of
/// whose the limit is.
#[test]
fn the_program_measures_towards_a_silent_end() {
    const TEST: &str = "the_program_measures_towards_a_silent_end";
    let Some(_alone) = alone(TEST, &["ip", "tc"]) else { return };
    let scratch = Scratch::new("one-ended-program");
    let counters = format!("{}{WITH_QUEUES}", by_link());
    let wires = wires(&scratch, &counters, false);
    bucket("20mbit");
    // Octets without the FCS, as the bucket counts them.
    let truth = 20e6 / 8.0 / 508.0;
    let args = [
        "--flood",
        "--size",
        "512",
        "-t",
        "0.5",
        "--blocks",
        "2",
        "--full",
        "--report",
        "page.html",
    ];
    let output = run(&scratch, &wires, &args);
    let [said, errors] = [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
    println!("{said}{errors}");
    assert!(output.status.success(), "{said}{errors}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("counted by the device"), "{said}");
    assert!(
        said.contains("device Forwarding rate under flood"),
        "its counters say whose it is: {said}"
    );
    let page = std::fs::read_to_string(scratch.path("page.html")).expect("a page");
    assert!(page.contains("counted by the device") && page.contains("No host counted what came"));
    let search = ["--search", "rfc2544", "--size", "512", "-t", "0.3", "--final-time", "2"];
    let told = told(&run(&scratch, &wires, &[&search[..], &["--json", "-q"]].concat()));
    let rate = figure(&told, "throughput").expect("a rate");
    let value = rate["value"].as_f64().expect("a value");
    println!("throughput {value:.0} frames/s, the bucket lets {truth:.0} pass");
    assert!(value < 1.02 * truth, "{rate}");
    assert!(value > 0.9 * truth || rate["verdict"] == "tester", "{rate}");
    assert_eq!(rate["where"]["observation_point"], "device", "{rate}");
    let doctor = Command::new(switchmark())
        .args(["doctor", "--full", "--testbed"])
        .arg(&wires.file)
        .output();
    let found = String::from_utf8_lossy(&doctor.expect("it starts").stdout).into_owned();
    assert!(found.contains("core/2 counts what leaves towards it"), "{found}");
}

/// What a device says wrong is no figure, and others' frames are never the load's.
#[test]
fn a_count_that_is_none_makes_its_trial_invalid() {
    const TEST: &str = "a_count_that_is_none_makes_its_trial_invalid";
    let Some(_alone) = alone(TEST, &["ip", "sh"]) else { return };
    let told = |rx: u64, tx: u64| {
        format!("[{{\"p\":\"lan1\",\"rx\":{rx},\"tx\":7}},{{\"p\":\"lan2\",\"rx\":7,\"tx\":{tx}}}]")
    };
    // At the start, twice at rest, before the load, and after it.
    let rest = told(100, 100);
    for (name, last, uncounted) in [
        ("begins anew", told(0, 0), true),
        ("is silent", "overloaded".to_owned(), true),
        ("counts more than was sent", told(90_000, 90_000), false),
    ] {
        let scratch = Scratch::new("one-ended-nonsense");
        let said = [&rest, &rest, &rest, &rest, &last].map(String::as_str);
        let mut bench = Bench::over(wires(&scratch, &by_script(&scratch, &said), false));
        let (record, _) = bench.run(Nanos::from_millis(200));
        let Outcome::Invalid { reasons } = &record.outcome else { panic!("{name}: {record:?}") };
        let right = reasons.iter().any(|reason| match reason {
            Defect::Uncounted { place, .. } => uncounted && place == "core/2",
            Defect::Overcounted { place, .. } => !uncounted && place == "core/2",
            _ => false,
        });
        assert!(right, "{name}: {reasons:?}");
    }
}

/// Others' frames at rest leave so much open, and not less than they were.
#[test]
fn others_at_the_port_are_bounded() {
    const TEST: &str = "others_at_the_port_are_bounded";
    let Some(_alone) = alone(TEST, &["ip", "nft", "ping"]) else { return };
    let scratch = Scratch::new("one-ended-others");
    let wires = wires(&scratch, by_link(), false);
    rules("far", COUNTED);
    let mut ping = Command::new(find("ip").expect("looked for before"));
    ping.args(["netns", "exec", &space("router"), "ping", "-q", "-i", "0.01", "198.18.6.1"]);
    ping.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ping = Guest(ping.spawn().expect("it starts"));
    let mut bench = Bench::over(wires);
    for _ in 0..3 {
        came();
        let (record, _) = bench.run(Nanos::from_millis(300));
        let (truth, seen): (u64, &DatagramsRecord) = (came(), datagrams_of(&record));
        let others = count(seen) - truth;
        println!("{others} frames of others, at most {} by what was seen at rest", seen.open());
        assert!(others > 0 && others <= seen.open(), "{:?}", seen.at_device);
        assert!(seen.received.unique <= seen.sent && seen.open() < 500, "{:?}", seen.at_device);
        assert!(record.device.readings[0].doubts.is_empty(), "{:?}", record.device);
        assert!(record.outcome.is_valid(), "{:?}", record.outcome);
    }
    drop(ping);
}

/// The far end's address, where it tells nobody.
const MAC: &str = "02:00:5e:10:00:01";

/// Behind a switch, a far end that answers nobody who asks for its Ethernet address.
#[test]
fn an_end_that_tells_no_address_is_reached_by_a_stated_one() {
    const TEST: &str = "an_end_that_tells_no_address_is_reached_by_a_stated_one";
    let Some(_alone) = alone(TEST, &["ip", "nft"]) else { return };
    let scratch = Scratch::new("one-ended-mac");
    let names = ["h1", "switch", "far"];
    let spaces = Spaces::new(&names);
    names.into_iter().for_each(quiet);
    join(("h1", "eth1"), ("switch", "swp1"));
    join(("switch", "swp2"), ("far", "eth1"));
    bridge("switch", ["swp1", "swp2"]);
    ip(&["-n", &space("far"), "link", "set", "eth1", "arp", "off", "address", MAC]);
    rules("far", COUNTED);
    let mut text = "[[device]]\nname = \"core\"\nkind = \"switch\"\n\
                    ports = { \"1\" = \"swp1\", \"2\" = \"swp2\" }\n"
        .to_owned();
    text += &by_link().replace("SWITCH", &space("switch"));
    for (number, host) in [(1, "h1"), (2, "far")] {
        let address = format!("198.18.5.{number}/24");
        ip(&["-n", &space(host), "address", "add", &address, "dev", "eth1"]);
        text += &host_table(host, &address, &format!("core/{number}"));
    }
    let far = format!("reach = \"netns:{}\"\n[[host.port]]\n", space("far"));
    let text = text.replace(&far, &format!("reach = \"none\"\n[[host.port]]\nmac = \"{MAC}\"\n"));
    let file = scratch.path("stated.toml");
    std::fs::write(&file, text).expect("a testbed file");
    let mut bench = Bench::over(Wires { file, _agents: Vec::new(), _spaces: spaces });
    let pair = bench.testbed.topology().measured_pairs().remove(0);
    for backend in [Backend::Auto, Backend::Packet, Backend::XdpLive] {
        came();
        let kind = datagrams(64, paced(20_000.0), backend);
        let asked = trial(&pair, kind, Nanos::from_millis(200), Gate::Flood);
        let record = match bench.testbed.run(&asked) {
            Ok(record) => record,
            Err(error) if backend != Backend::Auto => {
                eprintln!("skipped: {backend:?}: {error}");
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let (truth, seen) = (came(), datagrams_of(&record));
        println!("{}: {truth} of {} frames came", seen.backend, seen.sent);
        assert!(truth >= 3_900 && count(seen) - truth <= FEW, "{:?}", seen.at_device);
    }
}

/// What cannot be counted is refused before anything is sent.
#[test]
fn a_port_that_nobody_knows_is_refused() {
    const TEST: &str = "a_port_that_nobody_knows_is_refused";
    let Some(_alone) = alone(TEST, &["ip"]) else { return };
    let scratch = Scratch::new("one-ended-refused");
    let wires = wires(&scratch, by_link(), false);
    let text = std::fs::read_to_string(&wires.file).expect("a testbed file");
    let ports = "ports = { \"1\" = \"lan1\", \"2\" = \"lan2\" }\n";
    std::fs::write(&wires.file, text.replace(ports, "")).expect("writes");
    let place = testbed::from_argument("--testbed", wires.file.to_str().expect("text"));
    let opened = LiveTestbed::open_with(&place.expect("a testbed"), Stop::new(), switchmark());
    let refused = opened.expect_err("nothing tells the port").to_string();
    println!("{refused}");
    assert!(refused.contains("count what reaches far/eth1 by device `core`"), "{refused}");
    assert!(refused.contains("nothing tells which of its ports is 2"), "{refused}");
}
