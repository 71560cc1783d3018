//! Bad flags, plans, testbeds and profiles, over all verbs and studies: exactly what the user is
//! told, and the exit code. Nothing is built and nothing is sent.

use std::fmt::Write as _;
use std::path::Path;

use crate::program::Scratch;
use switchmark::cli;

/// Commands as they are typed; `DIR` holds the files below.
const COMMANDS: &[&str] = &[
    "latncy",
    "latency",
    "latency --testbed lab:bridge --resume 20261121-140312-3f9a",
    "latency --testbed lab:bridge,rat=1Gbit",
    "latency --testbed lab:brigde",
    "latency --testbed nowhere.toml",
    "latency --testbed sim:nowhere.toml",
    "latency --testbed lab:bridge --sise 64",
    "latency --testbed lab:bridge --size 63",
    "latency --testbed lab:bridge --size small",
    "latency --testbed lab:bridge,mtu=1500 --size 9018",
    "latency --testbed lab:bridge --ip-length 9001",
    "latency --testbed lab:bridge -l 17",
    "latency --testbed lab:bridge --protocol tpc",
    "latency --testbed lab:bridge --load udp:50",
    "latency --testbed lab:bridge --load udp:50kpps@63",
    "latency --testbed lab:bridge,rate=100Mbit --load udp:300kpps",
    "latency --testbed lab:bridge --load sctp",
    "latency --testbed lab:bridge --load tcp -P 300",
    "latency --testbed lab:bridge --open-loop 50",
    "latency --testbed lab:bridge,rate=100Mbit --open-loop 300kpps",
    "latency --testbed lab:bridge -t 5parsecs",
    "latency --testbed lab:bridge -t 1us",
    "latency --testbed lab:bridge --blocks 0",
    "latency --testbed lab:bridge --profile strickt",
    "latency --testbed lab:bridge --device brigde",
    "latency --testbed lab:bridge --variant xdp",
    "latency --testbed DIR/hosts.toml --device sw2",
    "forwarding --testbed lab:bridge --search prd",
    "forwarding --testbed lab:bridge --method halving",
    "forwarding --testbed lab:bridge --backend xdp_live",
    "forwarding --testbed lab:bridge --receiver xdp-live",
    "forwarding --testbed sim:DIR/model.toml --backend packet",
    "forwarding --testbed sim:DIR/model.toml --receiver xdp",
    "forwarding --testbed DIR/hosts.toml --rfc2544 --backend udp-gso",
    "forwarding --testbed DIR/hosts.toml --ipv6",
    "forwarding --testbed DIR/hosts.toml --addresses 16",
    "forwarding --testbed lab:bridge --vlan 4095",
    "forwarding --testbed lab:bridge --flows 0",
    "forwarding --testbed lab:bridge --senders 65",
    "forwarding --testbed lab:bridge --precision 0.9",
    "forwarding --testbed lab:bridge --mix 64*300",
    "forwarding --testbed lab:bridge --size imax",
    "forwarding --testbed lab:bridge -l 9000 -6",
    "forwarding --testbed lab:bridge --ip-length 9001",
    "forwarding --testbed lab:bridge,mtu=1500 --size 64,9018",
    "forwarding --testbed lab:bridge --final-time 25h",
    "switching --testbed lab:bridge,hosts=4 --test mash",
    "switching --testbed lab:bridge,hosts=4 --ports 1",
    "switching --testbed lab:bridge,hosts=4 --stations 0",
    "switching --testbed lab:bridge,hosts=4,mtu=1500 --size 9018",
    "fabric --testbed lab:bridge --arrangement ofset=2",
    "fabric --testbed sim:DIR/model.toml --nodes 5",
    "fabric --testbed sim:DIR/model.toml --nodes two",
    "fabric --testbed sim:DIR/model.toml --message 32MiB",
    "fabric --testbed lab:bridge --message 16KB/s",
    "fabric --testbed lab:bridge --carrier datagrams:0",
    "fabric --testbed lab:bridge --margin 200%",
    "fabric --testbed lab:bridge --ports 8",
    "fabric --testbed sim:blocking-16 --hosts 8 --ports 16",
    "fabric --testbed lab:bridge --hosts 4",
    "buffer --testbed lab:bridge,hosts=4 --background fast",
    "buffer --testbed lab:bridge,hosts=4 --background 0%",
    "buffer --testbed lab:bridge,hosts=4,mtu=1500 --background-size 9018",
    "buffer --testbed lab:bridge,hosts=4 --mtu 100",
    "buffer --testbed lab:bridge,hosts=4 -P 0",
    "buffer --testbed lab:bridge,hosts=4 --link-rate 1Gb",
    "buffer --testbed lab:bridge,hosts=4 --most-variation=-1",
    "buffer --testbed lab:bridge,hosts=4 --omit 5parsecs",
    "buffer --testbed lab:bridge,hosts=4 --from h1",
    "buffer --testbed sim:DIR/model.toml --from h1/eth1 --to h9/eth1",
    "buffer --testbed lab:bridge,hosts=4 --rtt 50",
    "buffer --testbed lab:bridge,hosts=4 --rtt 50ms",
    "buffer --testbed lab:bridge,hosts=4 --output h2/eth1",
    "buffer --testbed lab:bridge,hosts=4 --estimate --congested 5000",
    "buffer --testbed lab:bridge,hosts=4,mtu=1500 --estimate --size 9018",
    "storage --testbed lab:bridge --rw trim",
    "storage --testbed lab:bridge --rw randrw --rwmixread 101",
    "storage --testbed lab:bridge --bs 4x",
    "storage --testbed lab:bridge --iodepth 0",
    "storage --testbed lab:bridge --numjobs 0",
    "storage --testbed lab:bridge --replica h3",
    "storage --testbed lab:bridge --ramdisk 20s",
    "storage --testbed lab:bridge --serve 1ms",
    "storage --testbed lab:bridge,hosts=3 --replica h3/eth1",
    "storage --testbed DIR/hosts.toml",
    "storage --testbed lab:bridge --fio DIR/nowhere.fio",
    "storage --testbed lab:bridge --fio DIR/job.fio",
    "storage --testbed lab:bridge --fio DIR/placed.fio --ramdisk 1ms",
];

/// Of the other verbs.
const OTHERS: &[&str] = &[
    "run",
    "run nowhere.toml",
    "run DIR/plan.toml --testbed lab:brigde",
    "sim DIR/model.toml",
    "sim DIR/misspelt.toml DIR/plan.toml",
    "sim DIR/model.toml DIR/plan.toml --sweep bufer=1MiB",
    "sim DIR/model.toml DIR/plan.toml --sweep buffer=8MiB..1MiB*2",
    "sim DIR/model.toml DIR/plan.toml -j 2",
    "xray --testbed lab:bridge,hosts=4 --verify",
    "doctor --testbed nowhere.toml",
    "doctor --markdown",
    "demo --budget 5s",
    "prove --only labs",
    "prove --budget 5parsecs",
    "compare --store DIR/journal.db a",
    "report --store DIR/journal.db 20261121-140312-3f9a",
    "runs --store /proc/none/journal.db",
    "completions tcsh",
];

const LAB: &str = "lab:bridge,hosts=4,mtu=1500,rate=100Mbit";

/// A testbed, a study and the keys that it has in a plan.
const PLANS: &[(&str, &str, &str)] = &[
    (LAB, "latncy", ""),
    (LAB, "latency", "sise = [64]"),
    (LAB, "latency", "size = [64]"),
    (LAB, "latency", "sizes = [63]"),
    (LAB, "latency", "sizes = [\"many\"]"),
    (LAB, "latency", "sizes = [-1]"),
    (LAB, "latency", "sizes = 64"),
    (LAB, "latency", "sizes = [64, 9018]"),
    (LAB, "latency", "ip_lengths = [9001]"),
    (LAB, "latency", "payloads = [17]"),
    (LAB, "latency", "protocols = [\"udp\", \"tpc\"]"),
    (LAB, "latency", "loads = [\"udp:50\"]"),
    (LAB, "latency", "loads = [\"sctp\"]"),
    (LAB, "latency", "loads = [\"udp:300kpps\"]"),
    (LAB, "latency", "open_loop = \"50\""),
    (LAB, "latency", "open_loop = \"300kpps\""),
    (LAB, "latency", "duration = 5"),
    (LAB, "latency", "duration = \"5\""),
    (LAB, "latency", "duration = \"1us\""),
    (LAB, "latency", "blocks = 0"),
    (LAB, "latency", "blocks = \"ten\""),
    (LAB, "latency", "profile = \"strickt\""),
    (LAB, "latency", "devices = [\"brigde\"]"),
    (LAB, "latency", "variants = [\"xdp\"]"),
    ("hosts.toml", "latency", "devices = [\"sw2\"]"),
    ("nowhere.toml", "latency", ""),
    ("sim:misspelt.toml", "latency", ""),
    (LAB, "forwarding", "tests = [\"rfc2455\"]"),
    (LAB, "forwarding", "search = [\"prd\"]"),
    (LAB, "forwarding", "method = \"halving\""),
    (LAB, "forwarding", "mixes = [\"64*300\"]"),
    (LAB, "forwarding", "backend = \"xdp_live\""),
    (LAB, "forwarding", "tests = [\"throughput\"]\nbackend = \"udp-gso\""),
    ("sim:model.toml", "forwarding", "backend = \"packet\""),
    ("sim:model.toml", "forwarding", "receiver = \"xdp\""),
    (LAB, "forwarding", "senders = 65"),
    (LAB, "forwarding", "vlan = 4095"),
    (LAB, "forwarding", "ipv6 = 1"),
    ("hosts.toml", "forwarding", "ipv6 = true"),
    ("hosts.toml", "forwarding", "addresses = 16"),
    (LAB, "forwarding", "source_ports = 0"),
    (LAB, "forwarding", "latency_percents = [50, 101]"),
    (LAB, "forwarding", "burst_repeats = 0"),
    (LAB, "forwarding", "precision = 0.9"),
    (LAB, "forwarding", "payloads = [9000]\nipv6 = true"),
    (LAB, "switching", "tests = [\"mash\"]"),
    (LAB, "switching", "ports = 1"),
    (LAB, "switching", "learn_rate = 0"),
    (LAB, "switching", "final_duration = \"25h\""),
    (LAB, "fabric", "arrangements = [\"ofset=2\"]"),
    (LAB, "fabric", "nodes = [2, 5]"),
    (LAB, "fabric", "message = \"32MiB\""),
    (LAB, "fabric", "messages = [\"1KiB\", \"16KB/s\"]"),
    (LAB, "fabric", "carrier = \"datagrams:0\""),
    (LAB, "fabric", "margin = \"200%\""),
    (LAB, "fabric", "hosts = 8\nports = 16"),
    (LAB, "fabric", "interval = \"0s\""),
    (LAB, "fabric", "interval = \"5s\"\nduration = \"1s\""),
    (LAB, "buffer", "backgrounds = [\"fast\"]"),
    (LAB, "buffer", "background_size = 9018"),
    (LAB, "buffer", "mtu = 100"),
    (LAB, "buffer", "streams = [2, 0]"),
    (LAB, "buffer", "congestion_controls = [\"\"]"),
    (LAB, "buffer", "variation = 11"),
    (LAB, "buffer", "omit = \"5\""),
    (LAB, "buffer", "from = \"h1\""),
    (LAB, "depth", "senders = 0"),
    (LAB, "depth", "frame_size = 9018"),
    (LAB, "depth", "duration = \"1s\""),
    (LAB, "storage", "rw = \"trim\""),
    (LAB, "storage", "rwmixread = 101"),
    (LAB, "storage", "bs = [4]"),
    (LAB, "storage", "ramdisk = \"20s\""),
    (LAB, "storage", "fio = \"job.fio\""),
    ("hosts.toml", "storage", "numjobs = 4"),
];

/// Of a device in a testbed file.
const COUNTERS: &[&str] = &[
    "paths = [\"p1\", \"p2\"]",
    "paths = [\"p1\"]\ncounters = { command = [\"ip\"], map = { rx_packets = \"$[*].rx\" } }",
    "paths = [\"p1\", \"p1\"]\ncounters = { command = [\"ip\"], map = { rx_packets = \"$[*].rx\" } }",
    "counters = 1",
    "counters = {}",
    "counters = { command = [] }",
    "counters = { command = \"ip -j link\" }",
    "counters = { command = [\"ip\"] }",
    "counters = { command = [\"ip\"], map = { rx_packets = \"stats\" } }",
    "counters = { command = [\"ip\"], map = { rx_packets = \"$.stats\" } }",
    "counters = { command = [\"ip\"], map = { \"rx packets\" = \"$[*].rx\" } }",
    "counters = { command = [\"ip\"], map = { rx_packets = \"$[*].rx\" }, bits = 16 }",
    "counters = { command = [\"ip\"], map = { rx_packets = \"$[*].rx\" }, lag = \"1h\" }",
    "counters = { command = [\"ip\"], map = { rx_packets = \"$[*].rx\" }, user = \"me\" }",
    "counters = { command = [\"ip\"], map = { rx_packets = \"$[*].rx\" }, snmp = \"sw1\" }",
    "counters = { snmp = \"sw1\" }",
    "counters = { snmp = \"sw 1\", credentials = { env = \"X\" } }",
    "counters = { snmp = \"sw1\", credentials = { secret = \"public\" } }",
    "counters = { snmp = \"sw1\", credentials = {} }",
    "counters = { snmp = \"sw1\", credentials = { env = \"X\" }, version = \"1\" }",
    "counters = { snmp = \"sw1\", credentials = { env = \"X\" }, auth = \"sha\" }",
    "counters = { snmp = \"sw1\", version = \"3\" }",
    "counters = { snmp = \"sw1\", version = \"3\", user = \"me\", auth = \"sha\" }",
    "counters = { snmp = \"sw1\", version = \"3\", user = \"me\", auth = \"rot13\", credentials = { env = \"X\" } }",
    "counters = { snmp = \"sw1\", version = \"3\", user = \"me\", privacy = \"aes\", credentials = { env = \"X\" } }",
    "counters = { snmp = \"sw1\", credentials = { env = \"X\" }, oids = { tail_drops = \"1.3.six\" } }",
];

/// Of a device in a testbed file, too.
const DEEDS: &[&str] = &[
    "deed = [{ name = \"pull\", run = \"true\" }, { name = \"pull\", run = \"false\" }]",
    "deed = [{ name = \"reset\", run = \"true\" }]",
    "deed = [{ name = \"pull 1\", run = \"true\" }]",
    "deed = [{ name = \"pull\", undo = \"true\" }]",
    "deed = [{ name = \"pull\", run = \"true\", undo = \"\" }]",
    "deed = [{ name = \"pull\", run = \"true\", undone = \"true\" }]",
    "deed = [{ name = \"pull\", run = \"true\", timeout = 60 }]",
    "deed = [{ name = \"pull\", run = \"true\", timeout = \"10ms\" }]",
];

/// Of the testbed `far.toml`: what stands there, and what in its place.
const FAR: &[(&str, &str)] = &[
    ("counters = ", "# counters = "),
    ("tx_packets", "packets"),
    ("cable = \"sw1/2\"", "cable = \"h1/eth1\""),
    ("198.18.0.2/24", "auto"),
    ("cable = \"sw1/2\"", "mac = \"02:00\"\ncable = \"sw1/2\""),
    ("cable = \"sw1/2\"", "mac = \"01:00:5e:00:00:01\"\ncable = \"sw1/2\""),
    ("cable = \"sw1/1\"", "mac = \"02:00:5e:10:00:01\"\ncable = \"sw1/1\""),
    ("reach = \"netns:none\"", "reach = \"none\""),
];

/// Asked of the testbed `far.toml`, at whose far end nothing runs.
const TOWARDS_FAR: &[&str] = &[
    "latency",
    "tcp",
    "fabric",
    "forwarding --rfc2544",
    "forwarding --back-to-back",
    "forwarding --flood --bidir",
    "forwarding --flood --receiver xdp",
    "forwarding --flood --from far/eth1",
];

/// Behind a study of latency.
const CAMPAIGNS: &[&str] = &[
    "[campaign]\nblocks = 10\n",
    "[campaign]\nblocks = 0\nfactors = { size = [64] }\n",
    "[campaign]\nfactors = { size = [63] }\n",
    "[campaign]\nfactors = { device = [\"brigde\"] }\n",
    "[campaign]\nrepetitions = 101\nfactors = { size = [64] }\n",
    "[campaign]\nstop = { budget = \"0s\" }\nfactors = { size = [64] }\n",
];

const HOSTS: &str = "[[host]]\nname = \"h1\"\nreach = \"netns:none\"\n[[host.port]]\nname = \"eth1\"\n\
                     address = \"198.18.0.1/24\"\ncable = \"sw1/1\"\n\
                     [[host]]\nname = \"h2\"\nreach = \"netns:none\"\n[[host.port]]\nname = \"eth1\"\n\
                     address = \"198.18.0.2/24\"\ncable = \"sw1/2\"\n\
                     [[device]]\nname = \"sw1\"\nkind = \"switch\"\n";

const MODEL: &str = "name = \"model\"\nports = 4\nrate = \"1Gbit\"\n\
                     forwarding = { mode = \"store-and-forward\", latency = \"3us\" }\n\
                     buffer = { per_port = \"1MB\" }\n";

/// [`HOSTS`] with a second one on which nothing runs.
fn far() -> String {
    let far =
        HOSTS.replace("name = \"h2\"\nreach = \"netns:none\"", "name = \"far\"\nreach = \"none\"");
    let map = "counters = { command = [\"ip\"], map = { tx_packets = \"$[*].tx\" } }\n";
    format!("{far}{map}")
}

struct Files(Scratch);

impl Files {
    fn new() -> Self {
        let made = Self(Scratch::new("bad"));
        made.write("hosts.toml", HOSTS);
        made.write("model.toml", MODEL);
        made.write("misspelt.toml", &MODEL.replace("1Gbit", "1Gb"));
        made.write("plan.toml", "testbed = \"lab:bridge\"\n[[study]]\n[study.latency]\n");
        made.write("job.fio", "[mine]\nrw=randread\nexec_prerun=true\n");
        made.write("placed.fio", "[mine]\nrw=randread\nfilename=/dev/sdx\n");
        made
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path(name), text).expect("write a file");
    }

    /// What the user is told of a command that is refused.
    fn told(&self, command: &str) -> String {
        let folder = self.0.folder().display().to_string();
        let words = format!("switchmark {command}").replace("DIR", &folder);
        let refused = cli::carry_out(words.split(' ')).expect_err(command);
        let told = refused.text.replace(&folder, "DIR");
        let told: Vec<&str> = told.lines().map(str::trim_end).collect();
        assert!(told.len() <= 3, "more than three lines:\n{}", told.join("\n"));
        format!("{}\n(exit code {})\n", told.join("\n").trim_end(), refused.code)
    }
}

/// Set `UPDATE_SNAPSHOTS=1` to write the file again, and read what changed.
#[test]
fn bad_input_is_answered_as_recorded() {
    let files = Files::new();
    let mut text = String::new();
    for command in COMMANDS.iter().chain(OTHERS) {
        let _ = writeln!(text, "$ switchmark {command}\n{}", files.told(command));
    }
    let plan = |place: &str, study: &str, rest: &str| {
        format!("testbed = \"{place}\"\n[[study]]\n[study.{study}]\n{rest}\n")
    };
    let plans = PLANS.iter().map(|(place, study, keys)| plan(place, study, keys));
    for written in plans.chain(CAMPAIGNS.iter().map(|rest| plan(LAB, "latency", rest))) {
        files.write("bad.toml", &written);
        let _ = writeln!(text, "{written}\n{}", files.told("run DIR/bad.toml"));
    }
    for keys in COUNTERS.iter().chain(DEEDS) {
        files.write("bad.toml", &format!("{HOSTS}{keys}\n"));
        let told = files.told("latency --testbed DIR/bad.toml");
        let _ = writeln!(text, "{keys}\n{told}");
    }
    for (then, now) in FAR {
        files.write("far.toml", &far().replacen(then, now, 1));
        let _ = writeln!(text, "{now}\n{}", files.told("forwarding --testbed DIR/far.toml"));
    }
    files.write("far.toml", &far());
    for command in TOWARDS_FAR {
        let told = files.told(&format!("{command} --testbed DIR/far.toml"));
        let _ = writeln!(text, "$ switchmark {command}\n{told}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/bad_inputs.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &text).expect("write the snapshot");
    }
    let recorded = std::fs::read_to_string(&path).expect("read the snapshot");
    for (at, (now, then)) in text.lines().zip(recorded.lines()).enumerate() {
        assert_eq!(now, then, "line {} of bad_inputs.txt", at + 1);
    }
    assert_eq!(text.len(), recorded.len(), "bad_inputs.txt has another length");
}
