//! Groups of ports told on real frames: of the kernel's bridges joined by limited links, and of an
//! emulated switch, against its simulation. Beside them what a sender sees of the same links.
//!
//! Needs root, and a machine that has nothing else to do: where floods are held up by other
//! programs, it cannot be told who shares what. More than six hosts take minutes, and belong to the
//! long profile.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use agents::controller::{LiveTestbed, Stop};
use lab::{BridgesSpec, EmulatedSpec, Lab, LabDevice, LabSpec};
use measure::{ByteCount, Nanos, Rate};
use page::{Caveat, Figure, Key, Metric};
use study::{Arrangement, FabricSpec, Finding as _, Nodes, StudySpec};
use switchmark::config::resolved::{Source, Testbed as Resolved};
use trial::Testbed;

use super::harness;

/// As few exchanges as there may be, and the floods.
fn spec() -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        nodes: Nodes::These(vec![2]),
        messages: Vec::new(),
        duration: Nanos::from_millis(100),
        interval: Nanos::from_millis(100),
        blocks: study::Blocks::known(1),
        tries: study::Tries::known(1),
        infer: true,
        ..FabricSpec::quick()
    }
}

pub fn open(name: &str, spec: LabSpec) -> LiveTestbed {
    let resolved = Resolved::new(name, Source::Lab(spec));
    LiveTestbed::open_with(&resolved, Stop::new(), harness::switchmark()).expect("the lab comes up")
}

fn told_by(testbed: &mut dyn Testbed) -> Vec<Figure> {
    let study = StudySpec::Fabric(spec());
    study.check(testbed.topology()).expect("a possible study");
    study.run(testbed, 1).expect("the testbed lives")
}

fn answer(figures: &[Figure]) -> &Figure {
    figures.iter().find(|f| f.metric == Metric::PortGroups).expect("an answer")
}

/// `1 1 2 2`: the group of each port; none where it says itself that it cannot be told.
fn groups(figures: &[Figure]) -> Option<String> {
    let answer = answer(figures);
    println!("{:?} groups: {:?} {:?}", answer.value, answer.conditions, answer.caveats);
    let groups = answer.conditions.get(&Key::GroupOfPorts)?;
    let doubts = [Caveat::NotResolved, Caveat::SilentPairs];
    let doubted = doubts.iter().any(|doubt| answer.caveats.contains(doubt));
    (!doubted).then(|| groups.to_string())
}

/// What each uplink carries, in bits a second.
fn uplinks(figures: &[Figure]) -> Vec<Option<f64>> {
    figures.iter().filter(|f| f.metric == Metric::UplinkRate).map(|f| f.value).collect()
}

fn bridges(hosts: u16, groups: u16, rate: u64, uplink: u64) -> LabSpec {
    let uplink = Some(Rate(uplink * 1_000_000));
    let device = LabDevice::Bridges(BridgesSpec { groups, uplink });
    LabSpec { hosts, rate: Some(Rate(rate * 1_000_000)), mtu: 1500, ..LabSpec::new(device) }
}

/// Bridges whose groups and uplinks must be told as they are.
fn check(spec: &LabSpec, truth: &str, uplink: f64) {
    let figures = told_by(&mut open("lab:bridges", spec.clone()));
    let found = groups(&figures);
    let rates = uplinks(&figures);
    println!("uplinks of {uplink}: {rates:?}");
    let open = answer(&figures).caveats.contains(&Caveat::NotResolved);
    if !harness::full() && found.is_none() && open {
        eprintln!("skipped: the groups, because the machine was too busy to tell");
        return;
    }
    assert_eq!(found.as_deref(), Some(truth), "the groups of {spec:?}");
    let off = |rate: &Option<f64>| rate.map_or(1.0, |rate| (rate / uplink - 1.0).abs());
    assert!(!rates.is_empty() && rates.iter().all(|rate| off(rate) < 0.05), "{rates:?}");
}

#[test]
fn two_bridges_joined_by_a_limited_link_are_told() {
    let Some(_alone) = harness::alone("two_bridges_joined_by_a_limited_link", &[]) else { return };
    // Every further port takes further floods.
    if harness::full() {
        check(&bridges(6, 2, 100, 150), "1 1 1 2 2 2", 150e6);
    } else {
        check(&bridges(4, 2, 100, 100), "1 1 2 2", 100e6);
    }
}

#[test]
fn three_bridges_joined_by_limited_links_are_told() {
    let Some(_alone) = harness::alone("three_bridges_joined_by_limited_links", &[]) else { return };
    if !harness::full() {
        eprintln!("skipped: SWITCHMARK_TESTS=full tells the groups of three bridges");
        return;
    }
    check(&bridges(6, 3, 100, 100), "1 1 2 2 3 3", 100e6);
}

#[test]
fn an_emulated_switch_is_told_as_its_simulation_is() {
    let Some(_alone) = harness::alone("an_emulated_switch_is_told", &[]) else { return };
    check_both_worlds(&profile("blocking-16").scaled(0.05), 16);
}

#[test]
fn an_emulated_switch_of_48_ports_is_told_as_its_simulation_is() {
    let Some(_alone) = harness::alone("an_emulated_switch_of_48_ports", &[]) else { return };
    // A buffer as slow as its ports would hold a dozen frames for all 48, and every flow would be
    // held up by that.
    let slow = profile("s400-48t").scaled(0.015).with_buffer(ByteCount(1 << 20));
    check_both_worlds(&slow, 48);
}

fn profile(name: &str) -> device::Profile {
    let path = format!("{}/../../profiles/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the profile");
    let none = |name: &str| Err(format!("there is no `{name}` here"));
    device::Profile::parse(&text, &none).expect("a profile")
}

/// Both worlds are given the same profile, so slow that two processors carry it.
fn check_both_worlds(profile: &device::Profile, hosts: u16) {
    if !harness::full() {
        eprintln!("skipped: SWITCHMARK_TESTS=full compares an emulated switch of {hosts} ports");
        return;
    }
    let ideal = sim::HostModel::ideal(hosts);
    let mut simulated = sim::VirtualTestbed::new("sim", profile.clone(), ideal, 1);
    let expected = told_by(&mut simulated);
    let model = LabDevice::Emulated(EmulatedSpec::new(profile.clone()));
    let spec = LabSpec { hosts, mtu: 1500, ..LabSpec::new(model) };
    let found = told_by(&mut open("lab:emulated", spec));
    let (expected_rates, rates) = (uplinks(&expected), uplinks(&found));
    println!("{hosts} ports: uplinks {rates:?}, simulated {expected_rates:?}");
    let expected = groups(&expected).expect("the simulation tells");
    assert_eq!(groups(&found), Some(expected), "{hosts} ports");
    for (found, expected) in rates.iter().zip(&expected_rates) {
        let both = found.zip(*expected);
        let off = both.map_or(1.0, |(found, expected)| (found / expected - 1.0).abs());
        assert!(off < 0.05, "{hosts} ports: {found:?}, simulated {expected:?}");
    }
}

/// What a short run says.
#[derive(Debug)]
pub struct Said {
    /// Ports that it names as slow.
    pub named: BTreeSet<String>,
    /// Sentences of its page, each with the verdict.
    pub sentences: Vec<String>,
    /// Answer to whether the device is non-blocking.
    pub nonblocking: Option<f64>,
}

/// Runs few rounds among all hosts, in trials of the given length.
pub fn said(testbed: &mut dyn Testbed, load: Nanos) -> Said {
    let hosts = testbed.topology().hosts.len() as u32;
    let spec = FabricSpec {
        arrangements: vec![Arrangement::Neighbours, Arrangement::Halves],
        nodes: Nodes::These(vec![2, hosts / 2 * 2]),
        messages: Vec::new(),
        duration: load,
        interval: load / 10,
        blocks: study::Blocks::known(6),
        ..FabricSpec::quick()
    };
    StudySpec::Fabric(spec.clone()).check(testbed.topology()).expect("a possible study");
    let mut found = spec.run(testbed, 1).expect("the testbed lives");
    let figures = found.rows();
    let named = figures.iter().filter_map(|f| Some(f.text(Key::SlowPort)?.to_owned())).collect();
    let sentences = found.page().answers.into_iter();
    let sentences = sentences.map(|(_, answer)| format!("{:?}: {}", answer.verdict, answer.text));
    let nonblocking = figures.iter().find(|f| f.metric == Metric::Nonblocking);
    Said { named, sentences: sentences.collect(), nonblocking: nonblocking.and_then(|f| f.value) }
}

/// Six namespaces at 100 Mbit/s: one sends at 80, or another at another share, or none; it is
/// named, no other is, and no sentence blames the device.
#[test]
fn a_host_that_sends_slowly_is_named_and_no_device() {
    let test = "a_host_that_sends_slowly_is_named_and_no_device";
    let Some(_alone) = harness::alone(test, &["tc"]) else { return };
    let all = [Some((4, 80)), None, Some((1, 70)), Some((6, 90)), Some((2, 60))];
    for slow in &all[..if harness::full() { all.len() } else { 1 }] {
        let rate = Some(Rate(100_000_000));
        let lab =
            LabSpec { hosts: 6, rate, mtu: 1500, bypass: false, ..LabSpec::new(LabDevice::Bridge) };
        let mut testbed = open("lab:bridge", lab);
        if let Some((host, rate)) = slow {
            let rate = format!("{rate}mbit");
            let bucket = ["tbf", "rate", rate.as_str(), "burst", "16k", "limit", "256k"];
            let place = ["qdisc", "add", "dev", "eth1", "root"];
            let host = format!("h{host}");
            harness::Guest::run(&testbed, &host, "tc", &[&place[..], &bucket].concat());
        }
        let Said { named, sentences: said, nonblocking } =
            said(&mut testbed, Nanos::from_millis(400));
        println!("{slow:?}: {named:?}\n{}", said.join("\n"));
        let guilty = slow.iter().map(|(host, _)| format!("h{host}/eth1")).collect();
        assert_eq!(named, guilty, "{said:?}");
        assert_ne!(nonblocking, Some(0.0), "no device here blocks: {said:?}");
        assert!(said.iter().all(|text| !text.contains("DeviceLimited")), "{said:?}");
        assert!(
            said.iter().any(|text| text.contains("h4/eth1 sends at")) || slow != &Some((4, 80))
        );
    }
}

const MESSAGE: usize = 64 << 10;
const MESSAGES: u32 = 8;

/// What a pair of hosts got of one arrangement, in octets a second.
struct Timed {
    by_sender: f64,
    by_receiver: f64,
}

/// Each pair sends messages one way over TCP, with the kernel's own buffers. The sender's clock
/// stops when its last call returns, the receiver's when it has the last octet; both start
/// together.
fn timed(lab: &Lab, pairs: &[(usize, usize)]) -> Vec<Timed> {
    let address = |host: usize| lab.plan().hosts[host].ports[0].address;
    let one = |&(from, to): &(usize, usize)| -> Timed {
        let listener = lab.inside(&format!("h{}", to + 1), || {
            TcpListener::bind((address(to), 0)).expect("a port")
        });
        let listener = listener.expect("a host");
        let there = (address(to), listener.local_addr().expect("bound").port());
        let socket = lab.inside(&format!("h{}", from + 1), || connect(there)).expect("a host");
        let (mut received, _) = listener.accept().expect("a connection");
        let mut sent = socket;
        let total = MESSAGE * MESSAGES as usize;
        let begun = Instant::now();
        let receiver = thread::spawn(move || {
            let mut left = total;
            let mut room = vec![0; MESSAGE];
            while left > 0 {
                let some = received.read(&mut room).expect("octets");
                assert!(some > 0, "it ended {left} octets early");
                left -= some;
            }
            begun.elapsed()
        });
        let message = vec![0; MESSAGE];
        for _ in 0..MESSAGES {
            sent.write_all(&message).expect("a send");
        }
        let done = begun.elapsed();
        let whole = receiver.join().expect("it ends");
        let over = |time: Duration| total as f64 / time.as_secs_f64();
        Timed { by_sender: over(done), by_receiver: over(whole) }
    };
    thread::scope(|scope| {
        let all: Vec<_> = pairs.iter().map(|pair| scope.spawn(move || one(pair))).collect();
        all.into_iter().map(|pair| pair.join().expect("no panic")).collect()
    })
}

fn connect(there: (Ipv4Addr, u16)) -> TcpStream {
    TcpStream::connect(there).expect("a connection")
}

/// The same arrangement, timed at both ends: the sender's calls return once its kernel has the
/// octets.
#[test]
fn a_sender_does_not_see_what_holds_its_messages_up() {
    let Some(_alone) = harness::alone("a_sender_does_not_see", &[]) else { return };
    let lab = Lab::build(&bridges(12, 3, 20, 20)).expect("the lab comes up");
    let neighbours: Vec<(usize, usize)> = (0..6).map(|pair| (2 * pair, 2 * pair + 1)).collect();
    let crossing: Vec<(usize, usize)> = (0..12).map(|from| (from, (from + 4) % 12)).collect();
    println!("arrangement   MB/s by the senders' clocks   by the receivers'");
    for (name, pairs) in [("neighbours", neighbours), ("offset 4", crossing)] {
        let timed = timed(&lab, &pairs);
        let mean =
            |of: fn(&Timed) -> f64| timed.iter().map(of).sum::<f64>() / timed.len() as f64 / 1e6;
        let (sent, received) = (mean(|t| t.by_sender), mean(|t| t.by_receiver));
        println!("{name:12}  {sent:>27.2}   {received:>17.2}");
        assert!(timed.iter().all(|t| t.by_sender >= t.by_receiver), "received before it was sent");
    }
}
