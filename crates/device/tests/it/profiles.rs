//! Profile files: what they may say, what they may not, and those that come with the program.
//!
//! Owns the table of bad files: each is refused at its place, with words that name the object.

use std::path::Path;

use device::profile::Kind;
use device::{Edge, Profile, ProfileError};
use measure::{ByteCount, Nanos, Rate};

fn nothing(name: &str) -> Result<String, String> {
    Err(format!("there is no `{name}`"))
}

fn parse(text: &str) -> Result<Profile, ProfileError> {
    Profile::parse(text, &nothing)
}

const GOOD: &str = r#"
name = "s"
ports = 48
rate = "1Gbit"
forwarding = { mode = "store-and-forward", latency = "3us" }
groups = [{ ports = "1-12", uplink = "10Gbit" }, { ports = "13-24", uplink = "10Gbit" }]
buffer = { total = "2MiB", reserved_per_port = "16KiB", alpha = 1.0, cell = 256 }
mac_table = { entries = 8192, learn_rate = 100000 }
link_delay = "0us"
pps_limit = 0
"#;

#[test]
fn a_file_says_what_the_device_is() {
    let profile = parse(GOOD).expect("the file of the reference");
    assert_eq!((profile.edges(), profile.rate), (48, Rate(1_000_000_000)));
    let device = &profile.devices()[0];
    assert_eq!(device.latency, Nanos(3000));
    // Ports that no group lists are one more group, without a limit.
    assert_eq!(device.groups.len(), 3);
    assert_eq!(device.groups[2].ports, (24..48).collect::<Vec<u16>>());
    assert_eq!(device.groups[2].uplink, None);
    assert_eq!(device.buffer.reserved, ByteCount(16_384));
    assert!(!profile.is_router());
}

/// `old` in the good file becomes `new`; the error must be about `shown` and say `words`.
#[track_caller]
fn check(old: &str, new: &str, shown: &str, words: &str) {
    assert!(GOOD.contains(old), "{old}");
    let text = GOOD.replacen(old, new, 1);
    let error = parse(&text).expect_err(new);
    let place = &text[error.span.clone()];
    assert!(place.contains(shown), "{new}: shows `{place}`, not `{shown}`: {error}");
    assert!(error.message.contains(words), "{new}: {error}");
    assert!(!error.hint.is_empty(), "{new}: no hint");
}

#[test]
fn what_can_not_be_is_refused_at_its_place() {
    let first = "\"1-12\"";
    check("\"13-24\"", "\"12-24\"", "12-24", "port 12 is in groups 1 and 2");
    check("\"13-24\"", "\"13-49\"", "13-49", "port 49 does not exist");
    check(first, "\"0-12\"", "0-12", "port 0 does not exist");
    check(first, "\"1-\"", "1-", "neither a port nor a range");
    check("uplink = \"10Gbit\"", "uplink = \"0Gbit\"", "0Gbit", "uplink of 0");
    check("\"16KiB\"", "\"64KiB\"", "64KiB", "52 queues with 64KiB each reserve");
    check("pps_limit = 0", "pps_limits = 0", "pps_limits", "unknown key `pps_limits`");
    check("cell = 256", "cells = 256", "cells", "unknown key `cells`");
    check("\"1Gbit\"", "\"1Gbaud\"", "1Gbaud", "unit");
    check("\"3us\"", "\"3\"", "\"3\"", "unit");
    check("\"2MiB\"", "2", "2", "invalid type");
    check("store-and-forward", "fast", "fast", "unknown value `fast`");
    check("\"1Gbit\"", "\"0bit\"", "0bit", "rate of 0");
    check("ports = 48\n", "", "", "`ports` is missing");
    check("ports = 48", "ports = 0", "0", "outside 1…16384");
    check("ports = 48", "ports = 70000", "70000", "invalid value");
    check("alpha = 1.0", "alpha = \"1\"", "1", "invalid type");
    check("alpha = 1.0", "alpha = 0.0", "0.0", "alpha is 0");
    check(", alpha = 1.0", "", "16KiB", "nothing is shared");
    check("\"2MiB\"", "\"1KiB\"", "1KiB", "longest frame");
    check("total", "per_port", "1.0", "share nothing");
    check("total = \"2MiB\", ", "", "reserved", "buffer without a size");
    check("entries = 8192", "entries = 0", "0", "MAC table's size");
    check("link_delay = \"0us\"", "link_delay = \"1h\"", "1h", "more than 10s");
    check("pps_limit = 0", "loss = 1.5", "1.5", "outside 0…1");
    check("pps_limit = 0", "stalls = { per_second = 1.0 }", "per_second", "`length` is missing");
    check("pps_limit = 0", "scale = 2.0", "2.0", "at most 1");
    let cables = |list: &str, shown: &str, words: &str| {
        check("pps_limit = 0", &format!("cables = [{list}]"), shown, words);
    };
    cables("{ ports = \"3\" }", "\"3\"", "nothing is said");
    cables("{ ports = \"49\", rate = \"1Gbit\" }", "49", "port 49 does not exist");
    cables("{ ports = \"3\", rate = \"0bit\" }", "0bit", "carries nothing");
    cables("{ ports = \"3\", broken = \"up\" }", "up", "unknown value `up`");
    cables("{ ports = \"3\", damaged = {} }", "\"3\"", "nothing is said");
    cables("{ ports = \"3\", damaged = { in = 1.5 } }", "1.5", "outside 0…1");
    cables(
        "{ ports = \"3\", damaged = { out = -0.1 } }",
        "-0.1",
        "share of damaged frames is -0.1",
    );
    cables("{ ports = \"3\", damaged = { in = nan } }", "nan", "outside 0…1");
    cables("{ ports = \"3\", damaged = { up = 0.1 } }", "up", "unknown key `up`");
    cables("{ ports = \"3\", damaged = 0.1 }", "0.1", "expected a share of each way");
    let twice = "{ ports = \"3\", broken = \"in\" }, { ports = \"1-4\", rate = \"1Gbit\" }";
    cables(twice, "1-4", "the cable of port 3 is listed twice");
    check("pps_limit = 0", "link = [{ a = \"s/1\", b = \"s/2\" }]", "a =", "without devices");
    check("pps_limit = 0", "profile = \"x.toml\"", "x.toml", "another one");
    check("name = \"s\"", "name = ", "", "");
}

/// The sum is more than a number holds, and so is not compared with a total that is nearly as
/// large.
#[test]
fn reserves_that_no_memory_holds_are_refused() {
    let all = "total = \"18446744073709551615B\", reserved_per_port = \"10000000000000000000B\"";
    let text = GOOD.replacen("total = \"2MiB\", reserved_per_port = \"16KiB\"", all, 1);
    let error = parse(&text).expect_err("48 reserves of half a memory");
    assert!(text[error.span.clone()].contains("10000000000000000000B"), "{error}");
    assert!(error.message.contains("more than any memory"), "{error}");
}

const TWO: &str = r#"
name = "two"
[[device]]
name = "sw1"
profile = "one.toml"
[[device]]
name = "sw2"
ports = 8
rate = "10Gbit"
buffer = { per_port = "64MB" }
[[link]]
a = "sw1/48"
b = "sw2/8"
delay = "5us"
"#;

#[test]
fn several_devices_make_a_network() {
    let load = |name: &str| if name == "one.toml" { Ok(GOOD.to_owned()) } else { nothing(name) };
    let profile = Profile::parse(TWO, &load).expect("two switches");
    assert_eq!((profile.edges(), profile.devices().len()), (47 + 7, 2));
    assert_eq!(profile.edge_name(Edge(46)), "sw1/47");
    assert_eq!(profile.edge_name(Edge(47)), "sw2/1");
    assert_eq!(profile.edge_rate(Edge(47)), Rate(10_000_000_000));
    // A cable without a rate has the slower device's.
    assert_eq!(profile.links()[0].rate, Rate(1_000_000_000));
}

#[test]
fn a_network_that_can_not_be_is_refused() {
    let check = |old: &str, new: &str, shown: &str, words: &str| {
        let text = TWO.replacen(old, new, 1);
        assert_ne!(text, TWO, "{old}");
        let load = |_: &str| Ok(GOOD.to_owned());
        let error = Profile::parse(&text, &load).expect_err(new);
        let place = &text[error.span.clone()];
        assert!(place.contains(shown), "{new}: shows `{place}`: {error}");
        assert!(error.message.contains(words), "{new}: {error}");
    };
    check("name = \"sw2\"", "name = \"sw1\"", "sw1", "two devices are called `sw1`");
    check("sw1/48", "sw3/48", "sw3/48", "no device is called `sw3`");
    check("sw1/48", "sw1/49", "sw1/49", "port 49 does not exist");
    check("sw1/48", "sw1", "sw1", "names no port");
    check("b = \"sw2/8\"", "b = \"sw1/47\"", "sw1/47", "joined to itself");
    check("[[link]]", "[[link]]\na = \"sw1/48\"\nb = \"sw2/1\"\n[[link]]", "sw1/48", "two cables");
    check("[[link]]\na = \"sw1/48\"\nb = \"sw2/8\"\ndelay = \"5us\"", "", "sw2", "no cable leads");
    check("name = \"two\"", "name = \"two\"\nrate = \"1Gbit\"", "1Gbit", "`rate` of no device");
    check("profile = \"one.toml\"", "profile = \"one.toml\"\nports = 3", "3", "comes from a file");
    let cables = "ports = 8\ncables = [{ ports = \"8\", rate = \"1Gbit\" }]";
    check("ports = 8", cables, "sw2/8", "has a host's cable");
    check("ports = 8", "ports = 8\nscale = 0.5", "0.5", "scale of one device");
    let router = "ports = 8\nforwarding = { kind = \"router\" }";
    check("ports = 8", router, "sw2", "`sw2` is a router among other devices");
    // What is wrong in another file is said of that file and line.
    let broken = |_: &str| Ok(GOOD.replace("1-12", "1-99"));
    let error = Profile::parse(TWO, &broken).expect_err("a broken file");
    assert_eq!(&TWO[error.span.clone()], "\"one.toml\"");
    assert!(error.message.starts_with("one.toml: line 6: port 99"), "{error}");
    let error = Profile::parse(TWO, &nothing).expect_err("no such file");
    assert!(error.message.contains("one.toml: there is no `one.toml`"), "{error}");
}

#[test]
fn a_scale_keeps_the_ratios() {
    let full = parse(GOOD).expect("good");
    let small = parse(&format!("scale = 0.1\n{GOOD}")).expect("scaled");
    assert_eq!(small, full.scaled(0.1));
    let (full, small) = (&full.devices()[0], &small.devices()[0]);
    assert_eq!(
        (small.rate, small.groups[0].uplink),
        (Rate(100_000_000), Some(Rate(1_000_000_000)))
    );
    let drain = |size: ByteCount, rate: Rate| size.0 as f64 / rate.0 as f64;
    let (before, after) =
        (drain(full.buffer.size, full.rate), drain(small.buffer.size, small.rate));
    assert!((after / before - 1.0).abs() < 1e-4);
    assert_eq!(small.latency, full.latency);
    assert_eq!(small.mac_table.learn_rate, 10_000);
}

#[test]
fn every_profile_that_comes_with_the_program_is_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    let load =
        |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("list profiles")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "toml"))
        .collect();
    names.sort();
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        let text = load(&name).expect("read");
        let profile = Profile::parse(&text, &load).unwrap_or_else(|error| {
            panic!("{name}, at {:?}: {error}; {}", text.get(error.span.clone()), error.hint)
        });
        assert_eq!(format!("{}.toml", profile.name), name, "a file is called as what it describes");
        assert!(profile.edges() >= 2, "{name}");
        let routers = profile.devices().iter().filter(|device| device.kind == Kind::Router).count();
        assert_eq!(routers > 0, profile.is_router(), "{name}");
    }
}
