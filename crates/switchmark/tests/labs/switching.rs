//! The tests of RFC 2889 on the kernel's bridge: what it knows of addresses is what it was limited
//! to, and a broadcast reaches every port. Beside them, in `fabric`, who shares an uplink. Needs
//! root. Asserts no rate but those that its devices are given.

use agents::controller::{LiveTestbed, Stop};

use crate::harness;
use lab::{LabDevice, LabSpec};
use measure::{FrameSize, Nanos};
use netlink::Netlink;
use page::{Caveat, Figure, Key, Metric};
use study::{Finding as _, SwitchTest, SwitchingSpec};
use switchmark::config::resolved::{Source, Testbed as Resolved};

fn bridge(hosts: u16) -> LiveTestbed {
    let config = LabSpec { hosts, ..LabSpec::new(LabDevice::Bridge) };
    let resolved = Resolved::new("lab:bridge", Source::Lab(config));
    LiveTestbed::open_with(&resolved, Stop::new(), harness::switchmark()).expect("the lab comes up")
}

fn spec(tests: &[SwitchTest]) -> SwitchingSpec {
    SwitchingSpec {
        tests: tests.to_vec(),
        frames: vec![FrameSize::MIN],
        duration: Nanos::from_millis(50),
        final_duration: Nanos::from_millis(100),
        precision: study::Precision::known(0.1),
        ..SwitchingSpec::quick()
    }
}

/// The same with fewer steps, where no rate is asserted.
fn rough(tests: &[SwitchTest]) -> SwitchingSpec {
    SwitchingSpec {
        tries: study::Tries::known(1),
        precision: study::Precision::known(0.3),
        ..spec(tests)
    }
}

fn of(figures: &[Figure], metric: Metric) -> Vec<&Figure> {
    figures.iter().filter(|figure| figure.metric == metric).collect()
}

#[test]
fn the_kernels_bridge_knows_as_many_addresses_as_it_is_limited_to() {
    const LIMIT: u32 = 200;
    let Some(_alone) = harness::alone("the bridge's address table", &[]) else { return };
    let mut testbed = bridge(4);
    let limit = || {
        let mut netlink = Netlink::open()?;
        let links = netlink.links()?;
        let bridge = links.iter().find(|link| link.kind.as_deref() == Some("bridge"));
        netlink.limit_learned(bridge.expect("a bridge").index, LIMIT)
    };
    let lab = testbed.lab().expect("a lab");
    lab.inside("bridge", limit).expect("enter the bridge").expect("limit it");
    let asked = SwitchingSpec {
        stations: study::switching::Stations::known(1_000),
        ..spec(&[SwitchTest::AddressCaching])
    };
    let figures = asked.run(&mut testbed, 1).expect("the testbed lives").rows();
    let [found] = of(&figures, Metric::AddressCapacity)[..] else { panic!("{figures:#?}") };
    if found.caveats.contains(&Caveat::SearchCeiling) {
        eprintln!("skipped: this kernel's bridge has no limit of what it learns");
        return;
    }
    eprintln!("{:?} addresses, {} trials", found.value, found.n);
    assert_eq!(found.value, Some(f64::from(LIMIT)), "{found:#?}");
}

#[test]
fn every_port_of_a_bridge_hears_a_broadcast_and_nothing_goes_astray() {
    let Some(_alone) = harness::alone("broadcasts through the bridge", &[]) else { return };
    let mut testbed = bridge(4);
    let tests = [SwitchTest::Mesh, SwitchTest::Broadcast, SwitchTest::ForwardPressure];
    let figures = rough(&tests).run(&mut testbed, 1).expect("the testbed lives").rows();
    for figure in of(&figures, Metric::Flooded) {
        assert_eq!(figure.value, Some(0.0), "{figure:#?}");
    }
    let test = |f: &Figure, name: &str| f.text(Key::Test) == Some(name);
    let broadcast = of(&figures, Metric::Throughput);
    let broadcast = broadcast.iter().find(|f| test(f, "broadcast")).expect("a figure");
    eprintln!("broadcast: {:?} frames/s", broadcast.value);
    // On a crowded machine no paced trial may be valid; then the figure says so.
    let told = broadcast.value.is_some_and(|value| value > 0.0)
        || broadcast.caveats.contains(&Caveat::NoValidTrial);
    assert!(told, "{broadcast:#?}");
    let received = of(&figures, Metric::Received);
    let most = received.iter().find(|f| test(f, "mesh")).expect("a forwarding rate");
    eprintln!("mesh of four at the most: {:?} frames/s", most.value);
    let unsupported: Vec<_> =
        figures.iter().filter(|f| f.caveats.contains(&Caveat::Unsupported)).collect();
    assert_eq!(unsupported.len(), 1, "{unsupported:#?}");
}

#[test]
fn a_dead_port_has_no_figure_and_the_others_keep_theirs() {
    let Some(_alone) = harness::alone("a dead port", &[]) else { return };
    let mut testbed = bridge(3);
    let lab = testbed.lab().expect("a lab");
    lab.set_link("h3", "eth1", false).expect("take down");
    let tests = [SwitchTest::OneToMany];
    let dead = rough(&tests).run(&mut testbed, 1).expect("it lives").rows();
    let found = of(&dead, Metric::Throughput);
    assert_eq!(found[0].value, None, "{found:#?}");
    assert!(found[0].caveats.contains(&Caveat::NoValidTrial));
    // The two ports that live are enough for the same test.
    let two = SwitchingSpec { ports: study::switching::PortCount::known(2), ..rough(&tests) };
    let alive = two.run(&mut testbed, 1).expect("it lives").rows();
    let most = of(&alive, Metric::Received);
    assert!(most[0].value.is_some_and(|rate| rate > 0.0), "{most:#?}");
}

/// Both suites in the simulator, as a user asks for them: tables, the list of deviations, a report,
/// and the same figures again from the journal alone.
#[test]
fn both_suites_as_their_user_runs_them() {
    let scratch = harness::Scratch::new("switching");
    let profile = "name = \"sw\"\nports = 4\nrate = \"100Mbit\"\n\
                   buffer = { per_port = \"64KiB\" }\nmac_table = { entries = 1024 }\n";
    std::fs::write(scratch.path("sw.toml"), profile).expect("a profile");
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(harness::switchmark());
        command.args(args).args(["--full", "--store", "j.db"]).current_dir(scratch.folder());
        let output = command.output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {told}");
        String::from_utf8(output.stdout).expect("text")
    };
    let out = run(&[
        "switching",
        "--testbed",
        "sim:sw.toml",
        "--rfc2889",
        "--rfc8239",
        "--size",
        "512",
        "-t",
        "0.05",
        "--final-time",
        "0.1",
        "--seed",
        "3",
        "--report",
        "r.html",
    ]);
    for part in ["mesh", "address-caching", "1,024", "head-of-line", "Conformance: ", "§5.6"] {
        assert!(out.contains(part), "{part} is missing in:\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let page = std::fs::read_to_string(scratch.path("r.html")).expect("a report");
    for part in ["All ports at work", "Conformance to RFC 2889", "MAC table, entries"] {
        assert!(page.contains(part), "{part}");
    }
    // Figures of many ports at once are no answers of the forwarding study's.
    assert!(!page.contains("Conformance to RFC 2544"));
    let id = run(&["runs", "--json", "--quiet"]);
    assert!(id.contains("switching"), "{id}");
}
