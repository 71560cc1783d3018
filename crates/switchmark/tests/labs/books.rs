//! Where frames were lost: a switch that tells of itself, by commands and by Debian's snmpd,
//! between two hosts in namespaces, and losses that the kernel makes where the test wants them.
//!
//! Owns the switch (a bridge), a cable that loses frames (another bridge, whose rules drop them)
//! and the truth. Needs root, iproute2, nftables; the test of SNMP snmpd.

mod cables;
mod neighbours;
mod one_ended;
mod open_vswitch;
mod pauses;
mod router;
mod same;
mod slow_agent;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use agents::controller::{LiveTestbed, Stop};
use measure::Nanos;
use switchmark::config::testbed;
use trial::Testbed as _;
use trial::books::{self, Books, Place};
use trial::record::{ReadingDoubt, Side, TrialRecord};
use trial::{Backend, FlowKind, Gate, Schedule, Trial};

use super::harness::spaces::{Spaces, call, host_table, ip, space};
use super::harness::{Guest, Scratch, alone, datagrams, full, snmpd, switchmark, trial};

const BY_COMMANDS: &str = r#"
[[device.counters]]
command = ["ip", "-n", "SWITCH", "-s", "-j", "link"]
port = "$[*].ifname"
lag = "0s"
map = { rx_packets = "$[*].stats64.rx.packets", tx_packets = "$[*].stats64.tx.packets", rx_dropped = "$[*].stats64.rx.dropped", tx_dropped = "$[*].stats64.tx.dropped" }
[[device.counters]]
command = ["tc", "-n", "SWITCH", "-s", "-j", "qdisc"]
port = "$[?@.root==true].dev"
lag = "0s"
map = { qdisc_drops = "$[?@.root==true].drops" }
"#;

const BY_SNMP: &str = r#"
[[device.counters]]
snmp = "198.18.9.2"
credentials = { file = "community" }
lag = "4s"
"#;

/// Before counters: the file does not say what the switch calls its ports.
pub const UNNAMED: &str = "# unnamed\n";

/// h1 – cable – switch – h2: `cable` is what stands where a patch cable would.
pub struct Wires {
    pub file: PathBuf,
    _agents: Vec<Guest>,
    _spaces: Spaces,
}

/// The same, with its hosts' agents.
pub struct Bench {
    // Before the namespaces that they are in: fields are dropped in this order.
    pub testbed: LiveTestbed,
    _wires: Wires,
}

fn bridge(name: &str, ports: [&str; 2]) {
    let space = space(name);
    ip(&["-n", &space, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0"]);
    for port in ports {
        ip(&["-n", &space, "link", "set", port, "master", "br0", "up"]);
    }
    ip(&["-n", &space, "link", "set", "br0", "up"]);
}

fn quiet(name: &str) {
    for scope in ["all", "default"] {
        let key = format!("net.ipv6.conf.{scope}.disable_ipv6=1");
        ip(&["netns", "exec", &space(name), "sysctl", "-qw", &key]);
    }
}

fn join(from: (&str, &str), to: (&str, &str)) {
    let (left, right) = (space(from.0), space(to.0));
    let peer = ["type", "veth", "peer", "name", to.1, "netns", &right];
    ip(&[&["link", "add", from.1, "netns", &left][..], &peer].concat());
    ip(&["-n", &left, "link", "set", from.1, "up"]);
    ip(&["-n", &right, "link", "set", to.1, "up"]);
}

impl Wires {
    /// What is asked of the switch, or done to it, is further tables of the device.
    pub fn new(scratch: &Scratch, counters: &str, by_snmp: bool) -> Self {
        let names = ["h1", "cable", "switch", "h2"];
        let spaces = Spaces::new(&names);
        for name in names {
            quiet(name);
        }
        join(("h1", "eth1"), ("cable", "left"));
        join(("cable", "right"), ("switch", "swp1"));
        join(("switch", "swp2"), ("h2", "eth1"));
        bridge("cable", ["left", "right"]);
        bridge("switch", ["swp1", "swp2"]);
        let mut text = "[[device]]\nname = \"sw1\"\nkind = \"switch\"\n".to_owned();
        if !counters.starts_with(UNNAMED) {
            text += "ports = { \"1\" = \"swp1\", \"2\" = \"swp2\" }\n";
        }
        text += &counters.replace("SWITCH", &space("switch"));
        for (number, host) in [(1, "h1"), (2, "h2")] {
            let address = format!("198.18.5.{number}/24");
            ip(&["-n", &space(host), "address", "add", &address, "dev", "eth1"]);
            text += &host_table(host, &address, &format!("sw1/{number}"));
        }
        let agents = by_snmp.then(|| snmpd::start(scratch, "switch", ""));
        let file = scratch.path("bench.toml");
        std::fs::write(&file, text).expect("a testbed file");
        Self { file, _agents: agents.into_iter().collect(), _spaces: spaces }
    }
}

impl Bench {
    pub fn new(scratch: &Scratch, counters: &str, by_snmp: bool) -> Self {
        Self::over(Wires::new(scratch, counters, by_snmp))
    }

    fn over(wires: Wires) -> Self {
        let file = wires.file.to_str().expect("text");
        let resolved = testbed::from_argument("--testbed", file).expect("a testbed");
        let testbed = LiveTestbed::open_with(&resolved, Stop::new(), switchmark());
        Self { testbed: testbed.expect("it comes up"), _wires: wires }
    }

    /// A trial of 64-octet frames from h1 to h2, and its books.
    fn run(&mut self, load: Nanos) -> (TrialRecord, Books) {
        let pair = self.testbed.topology().measured_pairs().remove(0);
        let kind: FlowKind =
            datagrams(64, Schedule::Paced(measure::FrameRate(20_000.0)), Backend::Udp);
        let asked: Trial = trial(&pair, kind, load, Gate::Flood);
        let record = self.testbed.run(&asked).expect("runs");
        let books = books::balance(&asked, &record).expect("datagrams");
        (record, books)
    }
}

/// What is done to the path, and where frames die of it.
struct Deed {
    name: &'static str,
    begin: fn(),
    end: fn(),
    place: Option<Place>,
}

fn tc(at: &str, args: &[&str]) {
    call("tc", &[&["-n", &space(at)][..], args].concat());
}

fn rules(at: &str, text: &str) {
    ip(&["netns", "exec", &space(at), "nft", text]);
}

fn no_rules(at: &str) {
    rules(at, "flush ruleset");
}

fn deeds() -> Vec<Deed> {
    const LOSSY: &str = "table bridge t { chain c { type filter hook forward priority 0; \
                         numgen random mod 1000 < 20 drop; }; }";
    vec![
        Deed { name: "nothing", begin: || {}, end: || {}, place: None },
        Deed {
            name: "a token bucket at egress",
            begin: || {
                let bucket = ["tbf", "rate", "2mbit", "burst", "4k", "limit", "8k"];
                tc("switch", &[&["qdisc", "add", "dev", "swp2", "root"][..], &bucket].concat());
            },
            end: || tc("switch", &["qdisc", "del", "dev", "swp2", "root"]),
            place: Some(Place::Egress("sw1/2".to_owned())),
        },
        Deed {
            name: "a lossy cable",
            begin: || rules("cable", LOSSY),
            end: || no_rules("cable"),
            place: Some(Place::CableIn { from: "h1/eth1".to_owned(), to: "sw1/1".to_owned() }),
        },
        Deed {
            name: "a switch that loses frames between its ports",
            begin: || rules("switch", LOSSY),
            end: || no_rules("switch"),
            place: Some(Place::Inside("sw1".to_owned())),
        },
    ]
}

/// On a crowded machine a sender may be held up, and hand frames over as the receiver closes.
fn seen_to_the_end(record: &TrialRecord) -> bool {
    let seen = super::harness::datagrams_of(record);
    let whole = seen.overran < Nanos::from_millis(50);
    if !whole {
        eprintln!("the machine is too busy: a sender overran by {:?}", seen.overran);
    }
    whole
}

/// Frames of others that a trial's books may be open by: a question for an address, and its answer.
const OTHERS: u64 = 2;

/// Of trials in turn under each deed: how many there were, and how many books did not close at the
/// right place.
fn put_right(bench: &mut Bench, deeds: &[Deed], rounds: usize) -> (usize, Vec<String>) {
    let (mut trials, mut wrong) = (0, Vec::new());
    for _ in 0..rounds {
        for deed in deeds {
            (deed.begin)();
            let (record, books) = bench.run(Nanos::from_millis(300));
            (deed.end)();
            if !seen_to_the_end(&record) {
                continue;
            }
            trials += 1;
            let elsewhere = books.died(|place| Some(place) != deed.place.as_ref());
            // What hosts say to find each other while an agent's answers are seconds old is no
            // trial's: the books are open by as many frames, and say whose they are.
            let told = books.unexplained.unsigned_abs() <= books.contradicted.min(OTHERS);
            let lost = (books.lost > 0) == deed.place.is_some();
            if elsewhere > 0 || !told || !lost {
                let ports = record.ports.iter().filter(|port| port.side == Side::Reported);
                let ports: Vec<_> = ports.collect();
                wrong.push(format!("{}: {books:?} {ports:?} {:?}", deed.name, record.device));
            }
        }
    }
    (trials, wrong)
}

#[test]
fn each_lost_frame_is_put_where_it_died() {
    let Some(_alone) = alone("each_lost_frame_is_put_where_it_died", &["ip", "tc", "nft"]) else {
        return;
    };
    let scratch = Scratch::new("books");
    let mut bench = Bench::new(&scratch, BY_COMMANDS, false);
    let rounds = if full() { 50 } else { 4 };
    let (trials, wrong) = put_right(&mut bench, &deeds(), rounds);
    println!("{} of {trials} books are right", trials - wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Where nobody says what the switch calls its ports, the frames of a trial do.
#[test]
fn frames_tell_which_port_is_whose() {
    let programs = ["ip", "tc"];
    let Some(_alone) = alone("frames_tell_which_port_is_whose", &programs) else { return };
    let scratch = Scratch::new("books-ports");
    let by_link = &BY_COMMANDS[..BY_COMMANDS.rfind("[[device").expect("two of them")];
    let mut bench = Bench::new(&scratch, &format!("{UNNAMED}{by_link}"), false);
    let (record, books) = bench.run(Nanos::from_millis(300));
    assert_eq!(books.lost, 0, "{books:?}");
    let counted = |place: &str, name: &str| {
        let port = record.ports.iter().find(|p| p.side == Side::Reported && p.place == place);
        port.and_then(|port| port.counters.get(name)).copied().unwrap_or(0)
    };
    assert!(counted("sw1/1", "rx_packets") >= 5_000, "{:?}", record.device);
    assert!(counted("sw1/2", "tx_packets") >= 5_000, "{:?}", record.device);
    assert!(record.device.readings[0].doubts.is_empty(), "{:?}", record.device);
}

/// The agent's own counters are of links alone: it does not see a queue's drops, but that more came
/// in than went on.
#[test]
fn an_agents_counters_tell_the_same() {
    let programs = ["ip", "tc", "nft", "snmpd"];
    let Some(_alone) = alone("an_agents_counters_tell_the_same", &programs) else { return };
    let scratch = Scratch::new("books-snmp");
    let mut bench = Bench::new(&scratch, BY_SNMP, true);
    let mut deeds = deeds();
    deeds[1].place = Some(Place::Inside("sw1".to_owned()));
    if !full() {
        deeds.truncate(3);
        deeds.remove(0);
    }
    let rounds = if full() { 10 } else { 1 };
    let (trials, wrong) = put_right(&mut bench, &deeds, rounds);
    println!("{} of {trials} books are right", trials - wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// As its user runs it, without a direct cable: the switch's own counters say whose the limit is,
/// and what it is asked with is told to nobody.
/// Whether the books say where every lost frame died. In floods of a second and more the hosts'
/// kernels send a few frames of their own, which are told apart.
fn all_accounted_for(said: &str) -> bool {
    const MOST: u64 = 8;
    let others = said.split("; counters moved by ").nth(1).and_then(|rest| {
        let (count, rest) = rest.split_once(' ')?;
        rest.starts_with("for frames of others").then(|| count.parse::<u64>().ok())?
    });
    said.contains("were lost, and each is accounted for")
        || others.is_some_and(|count| count <= MOST)
}

#[test]
fn the_program_says_where_frames_died_and_keeps_its_secret() {
    const TEST: &str = "the_program_says_where_frames_died_and_keeps_its_secret";
    let Some(_alone) = alone(TEST, &["ip", "tc", "snmpd"]) else { return };
    let scratch = Scratch::new("books-program");
    let by_tc = &BY_COMMANDS[BY_COMMANDS.rfind("[[device").expect("two of them")..];
    let counters =
        BY_SNMP.replace("{ file = \"community\" }", "{ env = \"SMT_COMMUNITY\" }") + by_tc;
    let wires = Wires::new(&scratch, &counters, true);
    let bucket = ["tbf", "rate", "20mbit", "burst", "20k", "limit", "30k"];
    tc("switch", &[&["qdisc", "add", "dev", "swp2", "root"][..], &bucket].concat());
    let args =
        ["--flood", "--size", "512", "-t", "0.3", "--blocks", "2", "--full", "--journal", "j.db"];
    let run = |more: &[&str], community: &str| {
        let mut command = Command::new(switchmark());
        command.arg("forwarding").args(args).args(more).arg("--testbed").arg(&wires.file);
        command.env("SMT_COMMUNITY", community).current_dir(scratch.folder());
        command.stdin(Stdio::null()).output().expect("it starts")
    };
    let told = run(&["--report", "page.html"], "sesame");
    let [said, errors] = [&told.stdout, &told.stderr].map(|out| String::from_utf8_lossy(out));
    assert!(told.status.success(), "{said}{errors}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all_accounted_for(&said) && said.contains("at sw1/2, egress"), "{said}");
    assert!(said.contains("device Forwarding rate under flood"), "{said}");
    let page = std::fs::read_to_string(scratch.path("page.html")).expect("a page");
    assert!(page.contains("Where frames were lost") && page.contains("sysDescr"));
    let journal = std::fs::read(scratch.path("j.db")).expect("a journal");
    let journal = String::from_utf8_lossy(&journal);
    for text in [said.as_str(), &errors, &page, &journal] {
        assert!(!text.contains("sesame"));
    }
    let refused = run(&[], "wrong-word");
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("community"), "{errors}");
    assert!(!errors.contains("wrong-word"), "{errors}");
}

/// A device that tells of itself as its script says: what it printed for each reading in turn, the
/// last for ever. Frames cross the switch as they should, whatever it says.
fn by_script(scratch: &Scratch, printed: &[&str]) -> String {
    for (number, text) in printed.iter().enumerate() {
        std::fs::write(scratch.path(&format!("said-{number}")), text).expect("writes");
    }
    let script = "n=$(cat at 2>/dev/null || echo 0); echo $((n + 1)) > at; \
                  test -e said-$n || n=LAST; cat said-$n";
    let script = script.replace("LAST", &(printed.len() - 1).to_string());
    let folder = scratch.folder().display();
    format!(
        "[[device.counters]]\ncommand = [\"sh\", \"-c\", \"cd {folder}; {script}\"]\nport = \"$[*].p\"\n\
         timeout = \"1s\"\nlag = \"200ms\"\nmap = {{ rx_packets = \"$[*].rx\", tx_packets = \"$[*].tx\" }}\n"
    )
}

/// What a device says wrong is a doubt, and no frame is put down to it.
#[test]
fn a_device_that_tells_nonsense_is_doubted() {
    let programs = ["ip", "sh"];
    let Some(_alone) = alone("a_device_that_tells_nonsense_is_doubted", &programs) else { return };
    let rest = r#"[{"p":"swp1","rx":100,"tx":7},{"p":"swp2","rx":7,"tx":100}]"#;
    let full_64 = r#"[{"p":"swp1","rx":90000,"tx":7},{"p":"swp2","rx":7,"tx":90000}]"#;
    let gone = r#"[{"p":"swp1","rx":90000,"tx":7}]"#;
    let unread = |why: &str| ReadingDoubt::Unread { why: why.to_owned() };
    let back = |port: &str, counter: &str| ReadingDoubt::WentBack {
        port: port.to_owned(),
        counter: counter.to_owned(),
    };
    // The readings are: at the start, before the load, and after it.
    for (name, printed, doubts) in [
        (
            "counters that begin anew",
            [rest, full_64, rest],
            vec![back("1", "rx_packets"), back("2", "tx_packets")],
        ),
        (
            "a port that is gone",
            [rest, rest, gone],
            vec![ReadingDoubt::Gone { port: "2".to_owned() }],
        ),
        ("a constant", [rest, rest, rest], vec![]),
        ("no JSON after the load", [rest, rest, "overloaded"], vec![unread("no JSON")]),
        ("no JSON before it", [rest, "overloaded", rest], vec![unread("no JSON")]),
    ] {
        let scratch = Scratch::new("books-nonsense");
        let mut bench = Bench::new(&scratch, &by_script(&scratch, &printed), false);
        let (record, books) = bench.run(Nanos::from_millis(200));
        assert_eq!((books.lost, books.deaths.len()), (0, 0), "{name}: {books:?}");
        let said = &record.device.readings[0].doubts;
        let alike = |(said, told): (&ReadingDoubt, &ReadingDoubt)| match (said, told) {
            (ReadingDoubt::Unread { why }, ReadingDoubt::Unread { why: part }) => {
                why.contains(part)
            }
            (said, told) => said == told,
        };
        assert_eq!(said.len(), doubts.len(), "{name}: {said:?}");
        assert!(said.iter().zip(&doubts).all(alike), "{name}: {said:?}");
    }
}

/// A switch that is slow to answer, or never does, is waited for before and after the load, and
/// makes the load itself no longer.
#[test]
fn a_slow_device_does_not_stretch_the_load() {
    let programs = ["ip", "sh"];
    let Some(_alone) = alone("a_slow_device_does_not_stretch_the_load", &programs) else { return };
    let scratch = Scratch::new("books-slow");
    let rest = r#"[{"p":"swp1","rx":100,"tx":7},{"p":"swp2","rx":7,"tx":100}]"#;
    let slow = by_script(&scratch, &[rest]).replace("cd ", "sleep 0.3; cd ");
    let mut bench = Bench::new(&scratch, &slow, false);
    for _ in 0..if full() { 30 } else { 3 } {
        let (record, _) = bench.run(Nanos::from_millis(200));
        let seen = super::harness::datagrams_of(&record);
        assert!(seen.sent <= 4_001, "4,000 frames at 20,000 a second: {seen:?}");
        let longest = Nanos::from_millis(250);
        assert!(seen.sending < longest || !seen_to_the_end(&record), "{:?}", seen.sending);
        assert!(record.device.readings[0].waited >= Nanos::from_millis(300));
    }
}
