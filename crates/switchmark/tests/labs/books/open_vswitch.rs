//! Where frames were lost in Open vSwitch, which tells of its ports by a command: frame for frame
//! against what its own meter has dropped.
//!
//! Owns its two daemons, in a folder of the test's and in the switch's namespace; its packets it
//! forwards itself, in user space. Never touches an Open vSwitch of the machine's own.

use std::process::{Command, Output, Stdio};

use measure::Nanos;
use trial::books::Place;

use super::super::harness::spaces::{Spaces, host_table, ip, space};
use super::super::harness::{Guest, Scratch, alone, find, full, wait_for};
use super::{Bench, OTHERS, Wires, join, quiet, seen_to_the_end};

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// It keeps its counters for five seconds, the shortest that it can be told.
const COUNTERS: &str = r#"
[[device.counters]]
command = ["ovs-vsctl", "--db=unix:FOLDER/db.sock", "-t", "5", "-f", "json", "--columns=name,statistics", "list", "interface"]
port = "$.data[*][0]"
lag = "6s"
map = { rx_packets = "$.data[*][1][1][?@[0]=='rx_packets'][1]", tx_packets = "$.data[*][1][1][?@[0]=='tx_packets'][1]", rx_dropped = "$.data[*][1][1][?@[0]=='rx_dropped'][1]", tx_dropped = "$.data[*][1][1][?@[0]=='tx_dropped'][1]" }
"#;

/// The switch, by where it listens.
struct Vswitch {
    folder: String,
}

fn daemon(folder: &str, program: &str, args: &[&str]) -> Guest {
    let mut command = Command::new(find("ip").expect("looked for before"));
    command.args(["netns", "exec", &space("switch")]).arg(find(program).expect("looked for"));
    command.args(args).args(["--no-chdir", "-vconsole:off"]).env("OVS_RUNDIR", folder);
    command.arg(format!("--unixctl={folder}/{program}.ctl"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Guest(command.spawn().expect("it starts"))
}

fn called(program: &str, args: &[&str]) -> Output {
    let mut command = Command::new(find(program).expect("looked for before"));
    command.args(args).stdin(Stdio::null()).output().expect("it starts")
}

impl Vswitch {
    /// With its daemons.
    fn start(scratch: &Scratch) -> (Self, Vec<Guest>) {
        let folder = scratch.folder().to_str().expect("text").to_owned();
        let base = format!("{folder}/conf.db");
        let made = called("ovsdb-tool", &["create", &base, SCHEMA]);
        assert!(made.status.success(), "{made:?}");
        let socket = format!("unix:{folder}/db.sock");
        let remote = format!("--remote=p{socket}");
        let store = daemon(&folder, "ovsdb-server", &[&base, &remote]);
        let db = format!("--db={socket}");
        let set = |args: &[&str]| {
            called("ovs-vsctl", &[&[db.as_str(), "-t", "5"][..], args].concat()).status.success()
        };
        wait_for("its store to listen", || set(&["--no-wait", "init"]));
        let forwards = daemon(&folder, "ovs-vswitchd", &[&socket]);
        let made = ["add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"];
        let ports = ["--", "add-port", "br0", "swp1", "--", "add-port", "br0", "swp2"];
        assert!(set(&[&made[..], &ports].concat()), "Open vSwitch does not start here");
        (Self { folder }, vec![forwards, store])
    }

    /// Half of what comes, whatever the bridge would do with it.
    fn limit(&self) {
        let band = "meter=1,pktps,burst,band=type=drop,rate=10000,burst_size=100";
        self.flows(&["add-meter", band]);
        self.flows(&["add-flow", "priority=9,udp,actions=meter:1,normal"]);
    }

    /// What its meter has dropped so far.
    fn dropped(&self) -> u64 {
        let told = self.flows(&["meter-stats"]);
        let band = told.split("0: packet_count:").nth(1).expect("a band");
        band.split(' ').next().and_then(|count| count.parse().ok()).expect("a count")
    }

    fn flows(&self, args: &[&str]) -> String {
        let [verb, rest @ ..] = args else { panic!("a verb") };
        let socket = format!("unix:{}/br0.mgmt", self.folder);
        let whole = [&["-O", "OpenFlow13", verb, socket.as_str()][..], rest].concat();
        let output = called("ovs-ofctl", &whole);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn wires(scratch: &Scratch) -> (Vswitch, Wires) {
    let names = ["h1", "switch", "h2"];
    let spaces = Spaces::new(&names);
    names.into_iter().for_each(quiet);
    let mut text =
        "[[device]]\nname = \"sw1\"\nkind = \"switch\"\nports = { \"1\" = \"swp1\", \"2\" = \"swp2\" }\n"
            .to_owned();
    text += &COUNTERS.replace("FOLDER", scratch.folder().to_str().expect("text"));
    for (number, host) in [(1, "h1"), (2, "h2")] {
        join((host, "eth1"), ("switch", &format!("swp{number}")));
        let own = format!("198.18.5.{number}/24");
        ip(&["-n", &space(host), "address", "add", &own, "dev", "eth1"]);
        text += &host_table(host, &own, &format!("sw1/{number}"));
    }
    let file = scratch.path("bench.toml");
    std::fs::write(&file, text).expect("a testbed file");
    let (switch, agents) = Vswitch::start(scratch);
    (switch, Wires { file, _agents: agents, _spaces: spaces })
}

#[test]
fn a_meters_drops_are_put_inside_open_vswitch() {
    const TEST: &str = "a_meters_drops_are_put_inside_open_vswitch";
    let programs = ["ip", "ovs-vsctl", "ovs-ofctl", "ovs-vswitchd", "ovsdb-server", "ovsdb-tool"];
    let Some(_alone) = alone(TEST, &programs) else { return };
    let scratch = Scratch::new("books-ovs");
    let (switch, wires) = wires(&scratch);
    let mut bench = Bench::over(wires);
    let whole = full();
    if whole {
        let (_, books) = bench.run(Nanos::from_millis(300));
        assert_eq!((books.lost, books.deaths.len()), (0, 0), "{books:?}");
    }
    switch.limit();
    for _ in 0..if whole { 10 } else { 1 } {
        let before = switch.dropped();
        let (record, books) = bench.run(Nanos::from_millis(300));
        let truth = switch.dropped() - before;
        if !seen_to_the_end(&record) {
            continue;
        }
        println!("Open vSwitch's meter dropped {truth}: {books:?}");
        let told = books.died(|place| *place == Place::Inside("sw1".to_owned()));
        assert!(truth > 1_000 && books.lost == truth, "{truth} {books:?}");
        let open = books.unexplained.unsigned_abs();
        assert!(told + open == truth && open <= books.contradicted.min(OTHERS), "{books:?}");
    }
}
