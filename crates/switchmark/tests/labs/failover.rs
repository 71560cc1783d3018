//! `failover` held against outages that no code of ours makes: nftables' timers and its counter of
//! frames dropped, frr's BFD, the kernel's choice of a path.
//!
//! Owns what each of these may come to. Never asserts a time beyond what they allow. Needs root,
//! iproute2 and nft; with routing daemons, frr.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use journal::Store;
use measure::sequence::Conversation;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use trial::record::{Ends, FlowRecord};
use trial::{FlowKind, Trial};

use super::harness::spaces::{ip, space};
use super::harness::{Scratch, alone, find, full, json, switchmark, wait_for};
use super::two_paths::bed::{Bed, Plan, Routing};
use super::two_paths::frr::{self, Ospf};

/// A tick of the kernel's clock, by which its timers go, in milliseconds.
const TICK: f64 = 4.0;

/// The file of a bed, with more in its device's table.
fn with(bed: &Bed, scratch: &Scratch, more: &str) -> PathBuf {
    let text = std::fs::read_to_string(&bed.file).expect("a testbed file");
    let file = scratch.path("testbed.toml");
    let text = text.replacen("kind = \"router\"\n", &format!("kind = \"router\"\n{more}"), 1);
    std::fs::write(&file, text).expect("writes");
    file
}

/// The figures of a run of the program.
fn figures(file: &Path, args: &[&str]) -> Vec<Value> {
    let mut command = Command::new(switchmark());
    command.arg("failover").args(args).args(["--json", "--quiet", "--testbed"]).arg(file);
    let folder = file.parent().expect("a folder");
    let output = command.current_dir(folder).output().expect("it starts");
    json(&output)["figures"].as_array().expect("figures").clone()
}

fn is(row: &Value, conditions: &[(&str, &str)]) -> bool {
    conditions.iter().all(|(key, value)| row["where"][*key] == *value)
}

#[track_caller]
fn one<'a>(rows: &'a [Value], metric: &str, conditions: &[(&str, &str)]) -> &'a Value {
    let own = |row: &&Value| row["metric"] == metric && is(row, conditions);
    rows.iter().find(own).unwrap_or_else(|| panic!("no {metric} of {conditions:?}: {rows:#?}"))
}

fn number(row: &Value, key: &str) -> Option<f64> {
    row[key].as_f64()
}

/// A deed that lasts as long as a timer of the kernel's, and leaves a counter of what it dropped.
fn timer(ms: u32) -> String {
    let (r1, name) = (space("r1"), format!("timer-{ms}"));
    let rules = format!(
        "table netdev gone; delete table netdev gone; table netdev gone {{ \
         counter dropped {{ }}; set away {{ type ipv4_addr; flags timeout; \
         elements = {{ 198.18.2.2 timeout {ms}ms }}; }}; \
         chain in {{ type filter hook ingress device lan priority 0; \
         ip daddr @away counter name dropped drop; }}; }}"
    );
    format!("[[device.deed]]\nname = \"{name}\"\nrun = '''ip netns exec {r1} nft '{rules}' '''\n")
}

/// Outages of 50, 200 and 1,000 ms, each a timer of nftables, of one flow of a thousand frames a
/// second.
#[test]
fn an_outage_is_as_long_as_the_timer_that_makes_it() {
    const TEST: &str = "an_outage_is_as_long_as_the_timer_that_makes_it";
    let Some(_alone) = alone(TEST, &["ip", "nft"]) else { return };
    let scratch = Scratch::new("failover-timers");
    let bed = Bed::new(&scratch, Plan { paths: 1, hash_policy: 0, routing: Routing::Fixed });
    let times = [50, 200, 1_000];
    let deeds: String = times.iter().map(|ms| timer(*ms)).collect();
    let file = scratch.path("timers.toml");
    let text = std::fs::read_to_string(&bed.file).expect("a testbed file");
    let hosts = text.find("[[host]]").expect("they are there");
    let device = "[[device]]\nname = \"core\"\nkind = \"router\"\n";
    std::fs::write(&file, [device, &deeds, &text[hosts..]].concat()).expect("writes");
    let (trials, mut right) = (if full() { 34 } else { 1 }, 0);
    for _ in 0..trials {
        for ms in times {
            let deed = format!("timer-{ms}");
            let args = ["--deed", &deed, "--flows", "1", "--blocks", "1", "--before", "200ms"];
            let rows =
                figures(&file, &[&args[..], &["--away", "900ms", "--after", "500ms"]].concat());
            let truth = counters()["dropped"] as f64;
            let of = [("deed", deed.as_str()), ("phase", "failure")];
            let outage = one(&rows, "outage", &of);
            let found = number(outage, "value").expect("it is shown") / 1e6;
            let lost = one(&rows, "lost_frames", &[("deed", &deed)]);
            println!("{deed}: {found} ms, {truth} frames dropped: {lost}");
            // The timer runs from before the rule is in force: frames are dropped for less.
            let by_timer = found > 0.0 && found <= f64::from(ms) + 1.0 + 1.0 + TICK;
            let by_frames = number(lost, "value") == Some(truth) && (found - truth).abs() < 1e-6;
            right += u32::from(by_timer && by_frames);
            assert!(by_frames || !full(), "frame for frame: {outage:#}");
        }
    }
    let all = trials * times.len() as u32;
    println!("{right} of {all} right");
    assert_eq!(right, all);
}

/// BFD of 3 x 50 ms and of 3 x 300 ms: the last packet came within one interval before the failure,
/// and each is sent up to a quarter earlier than its time (RFC 5880 §6.8.7).
#[test]
fn a_black_hole_is_found_by_bfd_within_its_time() {
    const TEST: &str = "a_black_hole_is_found_by_bfd_within_its_time";
    if !frr::installed(TEST) {
        return;
    }
    let Some(_alone) = alone(TEST, &["ip", "nft", "vtysh"]) else { return };
    let intervals: &[u32] = if full() { &[50, 300] } else { &[50] };
    for &interval_ms in intervals {
        let scratch = Scratch::new("failover-bfd");
        let routing = Routing::Ospf(Ospf { interval_ms, equal_cost: true });
        let bed = Bed::new(&scratch, Plan { paths: 2, hash_policy: 1, routing });
        let blocks = if full() { "10" } else { "3" };
        let deeds = ["--deed", "blackhole-1,link-1-down", "--flows", "32", "--blocks", blocks];
        // A path that is back carries traffic before BFD watches it again: the next trial waits.
        let rows = figures(&bed.file, &[&deeds[..], &["--after", "4s"]].concat());
        let of = |metric, deed| one(&rows, metric, &[("deed", deed), ("phase", "failure")]);
        let hole = of("outage", "blackhole-1");
        println!("BFD of 3 x {interval_ms} ms: {hole:#}");
        let found = number(hole, "value").expect("it is shown") / 1e6;
        let interval = f64::from(interval_ms);
        // The other way is in the kernel within a few scheduling rounds of two busy processors.
        assert!((2.0 * interval..3.0 * interval + 200.0).contains(&found), "{found}");
        assert!(number(hole, "low") <= number(hole, "value"), "{hole:#}");
        let away = |deed| number(of("flows_affected", deed), "value").expect("a share");
        let half = 0.15..0.85;
        assert!(half.contains(&away("blackhole-1")), "flows of the other path stay");
        let text = hole["caveats"].to_string();
        assert!(!text.contains("until-undone") && !text.contains("not-recovered"), "{text}");
        // Carrier is seen at once, whatever BFD's time.
        let carrier = of("outage", "link-1-down");
        let longest = number(carrier, "high").expect("a bound at least") / 1e6;
        assert!(longest < 2.0 * 300.0, "{carrier:#}");
    }
}

/// What a testbed file says of the paths of a bed, and how r1 is asked.
fn counted(paths: u8) -> String {
    let names: Vec<String> = (1..=paths).map(|path| format!("\"p{path}\"")).collect();
    let mut text = format!("paths = [{}]\nports = {{ \"1\" = \"lan\" }}\n", names.join(", "));
    let _ = writeln!(
        text,
        "counters = {{ command = [\"ip\", \"-n\", \"{}\", \"-s\", \"-j\", \"link\"], \
         lag = \"200ms\", port = \"$[*].ifname\", map = {{ rx_packets = \"$[*].stats64.rx.packets\", \
         tx_packets = \"$[*].stats64.tx.packets\" }} }}",
        space("r1")
    );
    text
}

/// Rules of nftables that count frames of the trials' size where they leave r1 for each path.
struct Truth(u8);

impl Truth {
    fn install(paths: u8) -> Self {
        let chain = |path: u8| {
            format!(
                "counter c{path} {{ }}; chain e{path} {{ type filter hook egress device p{path} \
                 priority 0; ip length 46 ip protocol udp counter name c{path}; }};"
            )
        };
        let chains: String = (1..=paths).map(chain).collect();
        let rules = format!("table netdev truth {{ {chains} }}");
        ip(&["netns", "exec", &space("r1"), "nft", &rules]);
        Self(paths)
    }

    fn counted(&self) -> Vec<u64> {
        let told = counters();
        let of = |path: u8| told.get(&format!("c{path}")).copied().expect("a counter");
        (1..=self.0).map(of).collect()
    }
}

/// Of r1's rules that have names, by name.
fn counters() -> BTreeMap<String, u64> {
    let mut command = Command::new(find("ip").expect("looked for before"));
    command.args(["netns", "exec", &space("r1"), "nft", "-j", "list", "counters"]);
    let output = command.stdin(Stdio::null()).output().expect("starts");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let counters = told["nftables"].as_array().expect("a list").iter();
    let named = counters.filter_map(|one| {
        let counter = &one["counter"];
        Some((counter["name"].as_str()?.to_owned(), counter["packets"].as_u64()?))
    });
    named.collect()
}

/// By ports where the kernel's policy looks at them; else all flows take one path.
#[test]
fn shares_are_those_of_the_kernels_hash() {
    const TEST: &str = "shares_are_those_of_the_kernels_hash";
    let Some(_alone) = alone(TEST, &["ip", "nft"]) else { return };
    for hash_policy in [0, 1] {
        let scratch = Scratch::new("failover-hash");
        let plan = Plan { paths: 8, hash_policy, routing: Routing::Fixed };
        let bed = Bed::new(&scratch, plan);
        // A device's file has one end of its paths: hosts at the other are not its own.
        let file = with(&bed, &scratch, &counted(8));
        let truth = Truth::install(8);
        let mut args =
            vec!["--deed", "nothing", "--flows", "192", "--rate", "50pps", "--blocks", "1"];
        args.extend(["--away", "500ms", "--after", "500ms"]);
        let rows = figures(&file, &args);
        let sent = truth.counted();
        let all: u64 = sent.iter().sum();
        println!("policy {hash_policy}: {sent:?}");
        for (path, frames) in (1..).zip(&sent) {
            let share = one(&rows, "path_share", &[("member", &format!("core/p{path}"))]);
            let (found, truth) = (number(share, "value"), *frames as f64 / all as f64);
            assert!(found.is_some_and(|found| (found - truth).abs() < 0.01), "{share:#} {truth}");
        }
        let idle = number(one(&rows, "idle_paths", &[]), "value");
        assert_eq!(idle, Some(if hash_policy == 0 { 7.0 } else { 0.0 }), "{rows:#?}");
        if hash_policy == 1 {
            // One of eight is dead: it keeps its carrier, and nothing comes through.
            bed.deed("blackhole-3").run();
            let rows = figures(&file, &args);
            bed.deed("blackhole-3").undo();
            let silent = number(one(&rows, "flows_silent", &[]), "value").expect("counted");
            println!("{silent} of 192 flows are silent");
            assert!((8.0..48.0).contains(&silent), "an eighth, but for chance: {silent}");
        }
    }
}

/// Whether the kernel of r1 sends a flow over a path.
fn takes(path: &str, ends: Ends) -> bool {
    let Ends { from, to } = ends;
    let [source, destination, sport, dport] = [
        from.ip().to_string(),
        to.ip().to_string(),
        from.port().to_string(),
        to.port().to_string(),
    ];
    let mut command = Command::new(find("ip").expect("looked for before"));
    command.args(["-n", &space("r1"), "-j", "route", "get", &destination, "from", &source]);
    command.args(["iif", "lan", "ipproto", "udp", "sport", &sport, "dport", &dport]);
    let output = command.stdin(Stdio::null()).output().expect("starts");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    told[0]["dev"] == path
}

/// What came of each flow of the first trial of a run, with its addresses and ports.
fn flows(scratch: &Scratch, is_wanted: impl Fn(&Trial) -> bool) -> Vec<(Ends, Conversation)> {
    let store = Store::open(&scratch.path("j.db")).expect("a journal");
    let run = store.runs().expect("runs").remove(0);
    let records = store.records(&run.id).expect("records");
    let (trial, record) = records.iter().find(|(trial, _)| is_wanted(trial)).expect("a trial");
    let (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) =
        (&trial.flows[0].kind, &record.flows[0])
    else {
        panic!("datagrams: {record:?}")
    };
    let first = seen.ends.as_deref().expect("addresses and ports");
    let ends = |place: u64| first.of_frame(asked.headers.spread, place);
    (0..).map(ends).zip(seen.conversations.iter().cloned()).collect()
}

/// The kernel itself is asked for each flow's path.
#[test]
fn flows_that_lose_frames_together_are_those_of_one_path() {
    const TEST: &str = "flows_that_lose_frames_together_are_those_of_one_path";
    let Some(_alone) = alone(TEST, &["ip", "nft", "tc"]) else { return };
    let scratch = Scratch::new("failover-together");
    let bed = Bed::new(&scratch, Plan { paths: 2, hash_policy: 1, routing: Routing::Fixed });
    let mut args = vec!["--flows", "64", "--rate", "200pps", "--blocks", "1", "--journal", "j.db"];
    args.extend(["--away", "300ms", "--after", "300ms", "--report", "p.html", "--deed"]);
    figures(&bed.file, &[&args[..], &["blackhole-1"]].concat());
    let all = flows(&scratch, |trial| !trial.events.is_empty());
    let mut over_first = 0;
    for (ends, own) in &all {
        let interrupted = own.gaps.iter().any(|gap| gap.frames > 1);
        assert_eq!(interrupted, takes("p1", *ends), "{ends:?}: {own:?}");
        over_first += u32::from(interrupted);
    }
    assert!(all.len() == 64 && (8..56).contains(&over_first), "half, but for chance: {over_first}");
    // Frames of 60 octets, of which the second path takes half of what its share of flows sends.
    let bucket = ["tbf", "rate", "1500kbit", "burst", "2000", "limit", "3000"];
    let space = space("r1");
    let tc = find("tc").expect("looked for before");
    let limit = [&["-n", &space, "qdisc", "add", "dev", "p2", "root"][..], &bucket].concat();
    assert!(Command::new(tc).args(limit).status().expect("starts").success());
    std::fs::remove_file(scratch.path("j.db")).expect("it was written");
    figures(&bed.file, &[&args[..], &["nothing"]].concat());
    let page = std::fs::read_to_string(scratch.path("p.html")).expect("a page");
    let losing: Vec<(Ends, Conversation)> =
        flows(&scratch, |_| true).into_iter().filter(|(_, own)| !own.gaps.is_empty()).collect();
    assert!(!losing.is_empty(), "p2 is limited");
    for (ends, own) in &losing {
        assert!(takes("p2", *ends), "{ends:?}: {own:?}");
    }
    // Of ports one after the other the first and the last are listed.
    let lowest = losing.iter().map(|(ends, _)| ends.from.port()).min().expect("some");
    assert!(page.contains("Which flows share a path") && page.contains(&lowest.to_string()));
}

/// Whatever ends a run while something is done to a device: it is undone.
#[test]
fn what_was_done_is_undone_when_the_run_is_stopped() {
    const TEST: &str = "what_was_done_is_undone_when_the_run_is_stopped";
    let Some(_alone) = alone(TEST, &["ip", "nft"]) else { return };
    let scratch = Scratch::new("failover-stopped");
    let bed = Bed::new(&scratch, Plan { paths: 2, hash_policy: 1, routing: Routing::Fixed });
    let mut command = Command::new(switchmark());
    command.args(["failover", "--deed", "link-1-down", "--blocks", "6", "--away", "20s"]);
    command.arg("--testbed").arg(&bed.file).current_dir(scratch.folder());
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("starts");
    wait_for("the link to be taken down", || bed.ways("r1") == [2]);
    thread::sleep(Duration::from_millis(200));
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).expect("it runs");
    run.wait().expect("it ends");
    assert_eq!(bed.ways("r1"), [1, 2], "the link is up again");
}
