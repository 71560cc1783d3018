//! Bad plans and testbeds: the exact text a user sees. Only words are tested here; nothing is
//! built.

use std::fmt::Write as _;
use std::path::Path;

use lab::{LabDevice, VmRole};
use measure::Nanos;
use proptest::prelude::*;
use study::{Profile, SearchKind, StudySpec};
use switchmark::config::hooks::{Ready, ReadyBy};
use switchmark::config::resolved::Source;
use switchmark::config::{ConfigError, SourceText, Testbed, lab_name, plan, testbed};
use trial::{Backend, Headers, IpVersion, Reception, Spread};

const TESTBED: &str = r#"
[[host]]
name = "h1"
reach = "local"
[[host.port]]
name = "eth1"
address = "198.18.0.1/24"
cable = "sw1/1"
rate = "1Gbit"

[[host]]
name = "h2"
reach = "netns:two"
[[host.port]]
name = "eth1"
address = "198.18.0.2/24"
cable = "sw1/2"

[[device]]
name = "sw1"
kind = "switch"
"#;

const VARIANT_AS_FOUND: &str = r#"kind = "switch"
[[device.variant]]
name = "as-found"
apply = "true"
"#;
const VARIANT_TWICE: &str = r#"kind = "switch"
variant = [{ name = "rt", apply = "true" }, { name = "rt", apply = "true" }]
"#;
const READY_TWO_WAYS: &str = r#"kind = "switch"
variant = [{ name = "rt", apply = "true", ready = { tcp = "sw1:22", command = "true" } }]
"#;
const READY_WITHOUT_PORT: &str = r#"kind = "switch"
variant = [{ name = "rt", apply = "true", ready = { tcp = "sw1" } }]
"#;
const READY_TOO_LONG: &str = r#"kind = "switch"
variant = [{ name = "rt", apply = "true", ready = { tcp = "sw1:22", timeout = "2000h" } }]
"#;

/// Every key of a forwarding study, on a device with variants.
const FORWARDING: &str = r#"
testbed = "lab:bridge+router,mtu=1500"
[[study]]
[study.forwarding]
profile = "strict"
tests = ["rfc2544", "flood"]
search = ["rfc2544", "ndr", "pdr", "tst009"]
method = "binary"
sizes = [128]
ip_lengths = [64]
payloads = [36]
mixes = ["imix", "64*3,1518"]
backend = "xdp-live"
receiver = "af-xdp"
ipv6 = true
vlan = 7
source_ports = 64
destination_ports = 2
addresses = 16
bidirectional = true
devices = ["bridge", "router:gro"]
variants = ["as-found", "rps"]
duration = "1s"
final_duration = "2s"
latency_duration = "3s"
latency_percents = [50, 100]
latency_repeats = 5
burst_duration = "400ms"
burst_repeats = 7
loss_verification = 0
overload_duration = "5s"
reset_duration = "6s"
blocks = 8
precision = 0.01
"#;

const PLAN: &str = r#"
testbed = "lab:bridge,mtu=1500"
[[study]]
[study.latency]
protocols = ["tcp"]
sizes = [64, 1518]
"#;

fn testbed_error(from: &str, to: &str) -> String {
    let text = TESTBED.replacen(from, to, 1);
    assert_ne!(text, TESTBED, "the case changes nothing");
    let source = SourceText::file("testbed.toml", text);
    let error = testbed::from_source("testbed.toml", &source).expect_err(to);
    shown(&error)
}

/// The error as it is printed, without `error: `.
fn shown(error: &ConfigError) -> String {
    error.render(&error.hint).trim_end().to_owned()
}

fn plan_error(from: &str, to: &str) -> String {
    let text = PLAN.replacen(from, to, 1);
    assert_ne!(text, PLAN, "the case changes nothing");
    let source = SourceText::file("plan.toml", text);
    let error = plan::resolve(&source, Path::new("")).expect_err(to);
    shown(&error)
}

#[test]
fn the_files_without_a_fault_are_accepted() {
    let source = SourceText::file("testbed.toml", TESTBED);
    testbed::from_source("testbed.toml", &source).expect("testbed");
    let source = SourceText::file("plan.toml", PLAN);
    plan::resolve(&source, Path::new("")).expect("plan");
}

const LABS_AT_FAULT: [&str; 6] = [
    "device = []",
    "device = [\"bridge\", \"rotuer\"]",
    "device = 7",
    "device = { vm = { kernel = \"x\" } }",
    "device = { vm = { kernel = \"x\", forwards = \"hub\" } }",
    "device = [{ vm = { kernel = \"x\", forwards = \"router\", nmae = \"y\" } }]",
];

#[test]
fn every_key_of_a_forwarding_study_arrives() {
    let source = SourceText::file("plan.toml", FORWARDING);
    let plan = plan::resolve(&source, Path::new("")).unwrap_or_else(|e| panic!("{e:?}"));
    let [StudySpec::Forwarding(spec)] = &plan.studies[..] else { panic!("{:?}", plan.studies) };
    let mixes: Vec<String> = spec.frames.iter().map(ToString::to_string).collect();
    // With a tag and IPv6: 64 + 22, and 36 + 70.
    assert_eq!(mixes, ["128", "86", "106", "imix", "64*3,1518"]);
    assert_eq!(spec.tests.len(), 7);
    let goals: Vec<&str> = spec.goals.iter().map(|goal| goal.as_str()).collect();
    assert_eq!(goals, ["rfc2544", "ndr", "pdr", "tst009"]);
    assert_eq!((spec.search, spec.profile), (SearchKind::Binary, Profile::Strict));
    assert_eq!((spec.backend, spec.receiver), (Backend::XdpLive, Reception::AfXdp));
    let spread = Spread { source_ports: 64, destination_ports: 2, addresses: 16 };
    let headers = Headers { version: IpVersion::V6, vlan: Some(trial::VlanId::known(7)), spread };
    assert_eq!(spec.headers, headers);
    assert!(spec.bidirectional);
    let subjects = spec.subjects.iter().map(|s| (&*s.device, s.variant.as_deref()));
    let expected = [("bridge", None), ("bridge", Some("rps")), ("router", Some("gro"))];
    assert_eq!(subjects.collect::<Vec<_>>(), expected);
    let durations = [
        spec.duration,
        spec.final_duration,
        spec.latency_duration,
        spec.overload_duration,
        spec.reset_duration,
    ];
    assert_eq!(durations, [1, 2, 3, 5, 6].map(Nanos::from_secs));
    assert_eq!(spec.burst_duration, Nanos::from_millis(400));
    assert_eq!(spec.latency_percents, [50, 100]);
    assert_eq!(
        (spec.latency_repeats.get(), spec.burst_repeats.get(), spec.blocks.get()),
        (5, 7, 8)
    );
    assert_eq!((spec.loss_verification.get(), spec.precision.get()), (0, 0.01));
}

const HOOKS: &str = r#"
reset = "ssh sw1 reboot"
[[device.variant]]
name = "plain"
apply = "true"
[[device.variant]]
name = "rt"
apply = "nixa --limit sw1 --action boot"
ready = { tcp = "sw1:22", timeout = "10m" }
probe = "ssh sw1 uname -r"
[[device.variant]]
name = "loud"
apply = "true"
ready = { command = "ping -c1 sw1" }
[[device.deed]]
name = "uplink-1-down"
run = "ssh sw1 ip link set swp1 down"
undo = "ssh sw1 ip link set swp1 up"
timeout = "5m"
[[device.deed]]
name = "kill-bgpd"
run = "ssh sw1 pkill bgpd"
"#;

#[test]
fn commands_of_a_device_reach_the_controller_as_they_stand() {
    let text = TESTBED.replace("kind = \"switch\"", &format!("kind = \"switch\"{HOOKS}"));
    let text = text.replace(
        "address = \"198.18.0.2/24\"",
        "address = \"198.18.0.2/24\"\naddress6 = \"2001:2::2/64\"\n\
         block = \"198.18.64.0/20\"\nblock6 = \"2001:2:0:1::/112\"",
    );
    let source = SourceText::file("testbed.toml", text);
    let made = testbed::from_source("testbed.toml", &source).unwrap_or_else(|e| panic!("{e:?}"));
    let topology = match &made.source {
        Source::Hosts(hosts) => hosts.topology("testbed.toml"),
        Source::Lab(_) | Source::Virtual(_) => panic!("hosts"),
    };
    let Source::Hosts(hosts) = made.source else { panic!("hosts") };
    let device = &topology.devices[0];
    assert_eq!(device.variants, ["plain", "rt", "loud"], "in the file's order");
    assert!(device.resettable);
    let hooks = &hosts.hooks["sw1"];
    assert_eq!(hooks.reset.as_deref(), Some("ssh sw1 reboot"));
    let ready = |name: &str| hooks.variants[name].ready.clone();
    let by_tcp = ReadyBy::Tcp("sw1:22".to_owned());
    assert_eq!(ready("plain"), None);
    assert_eq!(ready("rt"), Some(Ready { by: by_tcp, timeout: Nanos::from_secs(600) }));
    let by_command = ReadyBy::Command("ping -c1 sw1".to_owned());
    assert_eq!(ready("loud"), Some(Ready { by: by_command, timeout: Nanos::from_secs(300) }));
    assert_eq!(hooks.variants["rt"].probe.as_deref(), Some("ssh sw1 uname -r"));
    let known: Vec<(&str, bool)> =
        device.deeds.iter().map(|deed| (deed.name.as_str(), deed.undo)).collect();
    assert_eq!(known, [("uplink-1-down", true), ("kill-bgpd", false)]);
    let deed = &hooks.deeds["uplink-1-down"];
    assert_eq!(deed.run, "ssh sw1 ip link set swp1 down");
    assert_eq!(deed.undo.as_deref(), Some("ssh sw1 ip link set swp1 up"));
    assert_eq!(deed.timeout, Nanos::from_secs(300));
    assert_eq!(hooks.deeds["kill-bgpd"].timeout, Nanos::from_secs(60));
    let port = &topology.hosts[1].ports[0];
    assert_eq!(port.address6, "2001:2::2".parse().ok());
    let counts: Vec<(String, u16)> =
        port.blocks.iter().map(|b| (b.first.to_string(), b.count)).collect();
    let expected = [("198.18.64.0".to_owned(), 4096), ("2001:2:0:1::".to_owned(), u16::MAX)];
    assert_eq!(counts, expected);
}

#[test]
fn machines_are_made_from_the_file_that_names_them() {
    let text = "[lab]\ndevice = [\"bridge\", { vm = { name = \"rt\", forwards = \"router\", \
                kernel = \"k/vmlinuz\", modules = \"/m\", acceleration = \"tcg\" } }]\n";
    let source = SourceText::file("some/where/lab.toml", text);
    let made = testbed::from_source("lab.toml", &source).unwrap_or_else(|e| panic!("{e:?}"));
    let Source::Lab(lab) = made.source else { panic!("a lab") };
    let [LabDevice::Bridge, LabDevice::Vm(vm)] = &lab.devices[..] else { panic!("{lab:?}") };
    assert_eq!(vm.kernel, Path::new("some/where/k/vmlinuz"));
    assert_eq!(vm.modules.as_deref(), Some(Path::new("/m")));
    assert_eq!((vm.name.as_deref(), vm.role), (Some("rt"), VmRole::Router));
}

#[test]
fn a_table_says_of_ports_what_a_labs_name_says() {
    let text = "[lab]\ndevice = \"bridge\"\nrate = \"1Gbit\"\nqueue = \"64KiB\"\nshaper = \"htb\"\n\
                loss = 0.001\npolice = \"10kpps\"\n";
    let lab = |made: Testbed| match made.source {
        Source::Lab(lab) => lab,
        other => panic!("{other:?}"),
    };
    let file = testbed::from_source("lab.toml", &SourceText::file("lab.toml", text));
    let name = "lab:bridge,rate=1Gbit,queue=64KiB,shaper=htb,loss=0.001,police=10kpps";
    let name = testbed::from_argument("--testbed", name);
    assert_eq!(lab(file.expect("a lab")), lab(name.expect("a lab")));
    let misspelt = text.replace("htb", "hbt");
    let fault = testbed::from_source("lab.toml", &SourceText::file("lab.toml", &misspelt));
    let fault = format!("{:?}", fault.expect_err("no such shaper"));
    assert!(fault.contains("did you mean `htb`?"), "{fault}");
}

fn faults_of_testbeds() -> String {
    let mut text = String::new();
    let testbed = [
        ("reach = \"local\"", "raech = \"local\""),
        ("\"1Gbit\"", "\"1Gb\""),
        ("sw1/2", "sw2/2"),
        ("sw1/2", "sw1/1"),
        ("sw1/2", "h1/eth7"),
        ("sw1/2", "h1/eth1"),
        ("198.18.0.2/24", "198.18.0.1/24"),
        ("name = \"h2\"", "name = \"h1\""),
        ("local", "ssh://-oProxyCommand=x"),
        ("local", "iperf3:h1"),
        ("local", "iperf3://elsewhere.example"),
        ("local", "iperf3://198.18.0.2:5202"),
        ("rate = \"1Gbit\"", "rate = 1000"),
        ("kind = \"switch\"\n", "kind = \"switch\"\n[[device.variant]]\nname = \"rt\"\n"),
        ("kind = \"switch\"\n", VARIANT_AS_FOUND),
        ("kind = \"switch\"\n", VARIANT_TWICE),
        ("kind = \"switch\"\n", READY_TWO_WAYS),
        ("kind = \"switch\"\n", READY_WITHOUT_PORT),
        ("kind = \"switch\"\n", READY_TOO_LONG),
        ("kind = \"switch\"\n", "kind = \"switch\"\nreset = \" \"\n"),
        ("198.18.0.2/24\"", "2001:2::2/64\""),
        ("198.18.0.2/24\"", "fe80::2/64\""),
        ("198.18.0.2/24\"", "198.18.0.2/24\"\naddress6 = \"2001:2::2\""),
        ("198.18.0.2/24\"", "198.18.0.2/24\"\naddress6 = \"198.18.9.2/24\""),
        ("198.18.0.2/24\"", "198.18.0.2/24\"\nblock = \"198.18.64.1/20\""),
        ("198.18.0.2/24\"", "198.18.0.2/24\"\nblock6 = \"2001:2::1/112\""),
    ];
    for (from, to) in testbed {
        let _ = writeln!(text, "{}\n", testbed_error(from, to));
    }
    text
}

fn faults_of_plans() -> String {
    let mut text = String::new();
    let plan = [
        ("[64, 1518]", "[63]"),
        ("[64, 1518]", "[9018]"),
        ("lab:bridge,mtu=1500", "nowhere.toml"),
        ("lab:bridge,mtu=1500", "lab:bridge,rate=1Gb"),
        ("study.latency", "study.latncy"),
        ("sizes", "sise"),
        ("lab:bridge,mtu=1500\"\n", "lab:bridge,rate=100Mbit\"\n[campaign]\nblocks = 10\n"),
        (
            "lab:bridge,mtu=1500\"\n",
            "lab:bridge,mtu=1500\"\n[campaign]\nfactors = { device = [\"brigde\"] }\n",
        ),
        (
            "lab:bridge,mtu=1500\"\n",
            "lab:bridge,mtu=1500\"\n[campaign]\nfactors = { nic = [\"a\", \"b\"] }\nexcept = [{ nic = \"c\" }]\n",
        ),
        (
            "lab:bridge,mtu=1500\"\n",
            "lab:bridge,mtu=1500\"\n[campaign]\nfactors = { nic = [\"a\"] }\nstop = { ci_width = 2.0 }\n",
        ),
    ];
    for (from, to) in plan {
        let _ = writeln!(text, "{}\n", plan_error(from, to));
    }
    let loaded = PLAN
        .replace("mtu=1500", "rate=100Mbit")
        .replace("sizes = [64, 1518]", "loads = [\"udp:300kpps\"]");
    let error =
        plan::resolve(&SourceText::file("plan.toml", loaded), Path::new("")).expect_err("x");
    let _ = writeln!(text, "{}", shown(&error));
    text
}

fn faults_of_forwarding_and_labs() -> String {
    let mut text = String::new();
    let forwarding = [
        ("\"rfc2544\", \"flood\"", "\"rfc2455\""),
        ("\"pdr\"", "\"prd\""),
        ("\"binary\"", "\"halving\""),
        ("64*3,1518", "64*300"),
        ("\"xdp-live\"", "\"udp-gso\""),
        ("\"af-xdp\"", "\"xdp-live\""),
        ("vlan = 7", "vlan = 4095"),
        ("source_ports = 64", "source_ports = 0"),
        ("[\"bridge\",", "[\"brigde\","),
        ("router:gro", "router:gor"),
        ("\"rps\"", "\"xdp\""),
        ("[50, 100]", "[0]"),
        ("burst_repeats = 7", "burst_repeats = 0"),
        ("bridge+router", "bridge+vm-router"),
        ("bridge+router,mtu=1500", "vm-ruoter,kernel=x"),
        ("bridge+router", "bridge+router,kernel=x"),
    ];
    for (from, to) in forwarding {
        let changed = FORWARDING.replacen(from, to, 1);
        assert_ne!(changed, FORWARDING, "the case changes nothing: {from}");
        let source = SourceText::file("plan.toml", changed);
        let error = plan::resolve(&source, Path::new("")).expect_err(to);
        let _ = writeln!(text, "{}\n", shown(&error));
    }
    for table in LABS_AT_FAULT {
        let source = SourceText::file("lab.toml", format!("[lab]\n{table}\n"));
        let error = testbed::from_source("lab.toml", &source).expect_err(table);
        let _ = writeln!(text, "{}\n", shown(&error));
    }
    text
}

/// Set `UPDATE_SNAPSHOTS=1` to write the file again, and read what changed.
#[test]
fn every_fault_reads_as_recorded() {
    let text = [faults_of_testbeds(), faults_of_plans(), faults_of_forwarding_and_labs()].concat();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/config_errors.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &text).expect("write the snapshot");
    }
    let recorded = std::fs::read_to_string(&path).expect("read the snapshot");
    for (at, (now, then)) in text.lines().zip(recorded.lines()).enumerate() {
        assert_eq!(now, then, "line {} of config_errors.txt", at + 1);
    }
    assert_eq!(text.len(), recorded.len(), "config_errors.txt has another length");
}

fn file(relative: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(relative);
    std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

#[test]
fn every_example_is_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut kinds = [0, 0];
    for entry in std::fs::read_dir(&folder).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let is_plan = file(&format!("examples/{}", path.file_name().unwrap().display()))
            .contains("[[study]]");
        kinds[usize::from(is_plan)] += 1;
        if is_plan {
            let plan = plan::read(&path).unwrap_or_else(|e| panic!("{e:?}"));
            assert!(!plan.studies.is_empty());
        } else {
            let name = path.display().to_string();
            testbed::from_argument("TESTBED", &name).unwrap_or_else(|e| panic!("{e:?}"));
        }
    }
    assert!(kinds[0] >= 2 && kinds[1] >= 1, "testbeds and plans: {kinds:?}");
}

/// The words in backticks in the first cells of a document's tables, and between `(` and `)` the
/// quoted ones.
fn documented_keys(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Whether a key is one of any table: misspelt, it would be refused as unknown.
fn is_known(key: &str) -> bool {
    let testbeds = [
        "[lab]\ndevice = \"cable\"\n",
        "[lab.device]\n",
        "[[device]]\n",
        "[[device]]\n[[device.variant]]\n",
        "[[device]]\n[[device.deed]]\n",
        "[[host]]\n",
        "[[host]]\n[[host.port]]\n",
        "[sim]\nprofile = \"x.toml\"\n",
        "[limits]\n",
    ];
    let plans = [
        ("", "[[study]]\n[study.latency]\n"),
        ("testbed = \"lab:bridge\"\n[[study]]\n[study.latency]\n[[accept]]\n", ""),
        ("testbed = \"lab:bridge\"\n[[study]]\n[study.latency]\n", ""),
        ("testbed = \"lab:bridge\"\n[[study]]\n[study.forwarding]\n", ""),
        ("testbed = \"lab:bridge\"\n[[study]]\n[study.fabric]\n", ""),
        ("testbed = \"lab:bridge\"\n[[study]]\n[study.buffer]\n", ""),
        ("testbed = \"lab:bridge\"\n[[study]]\n[study.latency]\n[campaign]\n", ""),
        ("testbed = \"lab:bridge\"\n[[study]]\n[study.latency]\n[campaign]\nstop = { ", " }\n"),
    ];
    let refused = |message: &str| message.contains("unknown");
    testbeds.iter().any(|table| {
        let source = SourceText::file("t.toml", format!("{table}{key} = 0\n"));
        testbed::from_source("t.toml", &source).err().is_none_or(|e| !refused(&e.message))
    }) || plans.iter().any(|(before, after)| {
        let source = SourceText::file("p.toml", format!("{before}{key} = 0\n{after}"));
        plan::resolve(&source, Path::new("")).err().is_none_or(|e| !refused(&e.message))
    })
}

/// A key that the reference names is one that the reader knows, and what it says of values holds.
#[test]
fn the_reference_tells_of_the_formats_there_are() {
    let text = file("docs/reference/plan-and-testbed-files.md");
    let keys = documented_keys(&text);
    for key in ["reach", "address", "cable", "device", "queue", "bypass", "seed", "testbed"] {
        assert!(keys.iter().any(|k| k == key), "{key} is not in the reference: {keys:?}");
    }
    let lab = "[lab]\ndevice = \"routers\"\nhosts = 2\nrate = \"100Mbit\"\nqueue = \"64KiB\"\n\
               mtu = 576\nbypass = true\n";
    testbed::from_source("t.toml", &SourceText::file("t.toml", lab)).expect("[lab]'s keys");
    for key in keys.iter().filter(|k| k.as_str() != "[lab]" && !k.starts_with("[[")) {
        assert!(is_known(key), "the reference names a key `{key}` that nothing knows");
    }
    let plan = "testbed = \"lab:bridge\"\nseed = 1\n[[study]]\n[study.latency]\nprofile = \"strict\"\n\
                sizes = [64]\nip_lengths = [64]\npayloads = [36]\nduration = \"10ms\"\nblocks = 2\n\
                protocols = [\"icmp\", \"udp\", \"tcp\"]\n\
                loads = [\"idle\", \"udp:50kpps\", \"udp:50kpps@512\", \"tcp\", \"tcp:4\"]\n\
                open_loop = \"1kpps\"\n[[study]]\n[study.forwarding]\nprofile = \"quick\"\n\
                tests = [\"flood\", \"throughput\", \"loss-curve\"]\nbackend = \"packet\"\n\
                final_duration = \"2s\"\nprecision = 0.0001\n";
    let plan =
        plan::resolve(&SourceText::file("plan.toml", plan), Path::new("")).expect("all keys");
    assert_eq!(plan.studies.len(), 2);
}

proptest! {
    #[test]
    fn any_text_is_refused_or_accepted_but_never_a_panic(text in ".{0,200}") {
        let source = SourceText::file("any.toml", text.clone());
        let _ = testbed::from_source("any.toml", &source);
        let _ = plan::resolve(&source, Path::new(""));
        let _ = lab_name::resolve(&text, Path::new(""));
        let _ = lab_name::resolve(&format!("lab:{text}"), Path::new(""));
        let loads = PLAN.replace("sizes = [64, 1518]", &format!("loads = [\"{text}\"]"));
        let _ = plan::resolve(&SourceText::file("any.toml", loads), Path::new(""));
    }

    #[test]
    fn a_damaged_file_is_never_a_panic(
        at in 0_usize..600,
        length in 0_usize..12,
        put in "[\\[\\]\"=a-z0-9\u{e9}\n,{}./-]{0,12}",
        which in 0_usize..3,
    ) {
        let mut text = [TESTBED, PLAN, FORWARDING][which].to_owned();
        let at = at % text.len();
        let end = (at + length).min(text.len());
        text.replace_range(at..end, &put);
        let source = SourceText::file("damaged.toml", text);
        let _ = testbed::from_source("damaged.toml", &source);
        let _ = plan::resolve(&source, Path::new(""));
    }
}
