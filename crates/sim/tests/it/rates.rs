//! One question, two verbs: what a pair of ports passes, asked of the study `forwarding` and, as a
//! pattern of two ports, of the study `switching`. Value, interval, verdict and caveats must be the
//! same, whatever the device.
//!
//! And requests as runs before had them: they ask for the same trials, so that their journals are
//! still answered.

use measure::{FrameMix, FrameRate, Nanos, Rate};
use page::{Caveat, Condition, Figure, Key, Metric, Unit, Verdict};
use scripted::Scripted;
use sim::{HostModel, VirtualTestbed};
use study::forwarding::{ForwardingSpec, ForwardingTest};
use study::switching::{SwitchTest, SwitchingSpec};
use study::{Finding as _, StudySpec};
use trial::record::FlowRecord;
use trial::{Gate, Observed, Path, Testbed, Trial};

use crate::trials::{self, profile, size};

const LINK: Rate = Rate(100_000_000);

/// What a throughput says.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
    caveats: Vec<Caveat>,
}

/// Chance sets when each sender starts, by the trial's own name, and so a rate to a share of a
/// frame of a trial for each, and to this share of itself.
const BY_CHANCE: f64 = 2e-3;
/// Of a frame of a trial, frames a second.
const OF_A_FRAME: f64 = 0.5;

impl Said {
    /// Whether the other says the same, of so many senders.
    fn agrees(&self, other: &Self, senders: f64) -> bool {
        let near = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => {
                (one - other).abs() <= BY_CHANCE * other + OF_A_FRAME * senders
            }
            (one, other) => one == other,
        };
        near(self.value, other.value)
            && near(self.low, other.low)
            && near(self.high, other.high)
            && (self.verdict, &self.caveats) == (other.verdict, &other.caveats)
    }
}

/// A pair that is asked about.
#[derive(Debug, Clone)]
struct Question {
    /// What the profile says beside its ports.
    device: &'static str,
    /// What the hosts send at most.
    hosts: Option<f64>,
    octets: u32,
    link: Option<Rate>,
    both_ways: bool,
    last: Nanos,
}

impl Question {
    fn testbed(&self) -> VirtualTestbed {
        let text = format!("name = \"sw\"\nports = 4\nrate = \"100Mbit\"\n{}", self.device);
        let profile = profile(&text);
        let sends_at_most = self.hosts.map(FrameRate);
        let hosts = HostModel { sends_at_most, ..HostModel::ideal(profile.edges()) };
        VirtualTestbed::new("sim:test", profile, hosts, 1)
    }

    fn forwarding(&self, testbed: &mut dyn Testbed) -> Said {
        let spec = ForwardingSpec {
            frames: vec![FrameMix::from_size(size(self.octets))],
            tests: vec![ForwardingTest::Throughput],
            bidirectional: self.both_ways,
            link_rate: self.link,
            duration: Nanos::from_millis(50),
            final_duration: self.last,
            ..ForwardingSpec::quick()
        };
        let figures = spec.run(testbed, 1).expect("every trial runs").rows();
        let direction = self.both_ways.then(|| Condition::from("total"));
        let wanted = |f: &&Figure| {
            f.text(Key::Path) == Some("device")
                && f.conditions.get(&Key::Direction) == direction.as_ref()
        };
        said(figures.iter().filter(wanted))
    }

    fn switching(&self, test: SwitchTest, testbed: &mut dyn Testbed) -> Said {
        let spec = SwitchingSpec {
            tests: vec![test],
            frames: vec![size(self.octets)],
            ports: study::switching::PortCount::known(2),
            link_rate: self.link,
            duration: Nanos::from_millis(50),
            final_duration: self.last,
            ..SwitchingSpec::quick()
        };
        let figures = spec.run(testbed, 1).expect("every trial runs").rows();
        said(figures.iter())
    }

    /// The patterns that are this pair, of two ports.
    const fn patterns(&self) -> [SwitchTest; 2] {
        if self.both_ways {
            [SwitchTest::HalfToHalf, SwitchTest::Mesh]
        } else {
            [SwitchTest::OneWay, SwitchTest::OneToMany]
        }
    }
}

fn said<'a>(figures: impl Iterator<Item = &'a Figure>) -> Said {
    let in_frames = |f: &&Figure| f.metric == Metric::Throughput && f.unit == Unit::FramesPerSecond;
    let found: Vec<&Figure> = figures.filter(in_frames).collect();
    let [figure] = found[..] else { panic!("one throughput: {found:#?}") };
    Said {
        value: figure.value,
        low: figure.low,
        high: figure.high,
        verdict: figure.verdict,
        caveats: figure.caveats.clone(),
    }
}

const AMPLE: &str = "buffer = { per_port = \"1MiB\" }";

/// Devices without chance, their hosts' limit, and whose limit a pair of ports shows.
const CERTAIN: [(&str, Option<f64>, Verdict); 9] = [
    (AMPLE, None, Verdict::LinkLimited),
    (AMPLE, Some(9_000.0), Verdict::TesterLimited),
    (
        "buffer = { per_port = \"1MiB\" }\npps_limit = 9000\npps_queue = 64",
        None,
        Verdict::DeviceLimited,
    ),
    // Within 5 % of what the hosts send at most.
    (
        "buffer = { per_port = \"1MiB\" }\npps_limit = 9700\npps_queue = 64",
        Some(10_000.0),
        Verdict::TesterLimited,
    ),
    (
        "buffer = { per_port = \"1MiB\" }\npps_limit = 8000\npps_queue = 2000",
        None,
        Verdict::DeviceLimited,
    ),
    // Fewer frames in a trial than tell a rate.
    (
        "buffer = { per_port = \"1MiB\" }\npps_limit = 25\npps_queue = 16",
        None,
        Verdict::DeviceLimited,
    ),
    // Behind a way of their own that is slower than their ports.
    (
        "buffer = { per_port = \"16KiB\" }\n\
         groups = [{ ports = \"1,3\", uplink = \"40Mbit\" }, { ports = \"2,4\", uplink = \"40Mbit\" }]",
        None,
        Verdict::DeviceLimited,
    ),
    // The same with room for half a second, and told to wait instead of losing.
    (
        "buffer = { per_port = \"2500KiB\" }\n\
         groups = [{ ports = \"1,3\", uplink = \"40Mbit\" }, { ports = \"2,4\", uplink = \"40Mbit\" }]",
        None,
        Verdict::DeviceLimited,
    ),
    (
        "buffer = { per_port = \"64KiB\" }\npause = true\n\
         groups = [{ ports = \"1,3\", uplink = \"40Mbit\" }, { ports = \"2,4\", uplink = \"40Mbit\" }]",
        None,
        Verdict::DeviceLimited,
    ),
];

#[test]
fn a_pair_has_one_throughput_whichever_verb_is_asked() {
    let last = Nanos::from_millis(500);
    let mut wrong = Vec::new();
    for (device, hosts, verdict) in CERTAIN {
        for (link, both_ways) in [(Some(LINK), false), (None, false), (Some(LINK), true)] {
            let octets = 512;
            let question = Question { device, hosts, octets, link, both_ways, last };
            let forwarding = question.forwarding(&mut question.testbed());
            eprintln!("{device} {hosts:?} {link:?} {both_ways}: {forwarding:?}");
            for test in question.patterns() {
                let switching = question.switching(test, &mut question.testbed());
                if !switching.agrees(&forwarding, if both_ways { 2.0 } else { 1.0 }) {
                    wrong.push((test, question.clone(), switching, forwarding.clone()));
                }
            }
            // A link whose rate nobody knows is anybody's, and a device's limit is for both ways.
            let known = link.is_some() || verdict != Verdict::LinkLimited;
            assert!(
                !known || both_ways || forwarding.verdict == verdict,
                "{question:?}: {forwarding:?}"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A tester whose cables carry a fifth more of a flood than it can send in even gaps.
fn floods_faster(mut bed: VirtualTestbed) -> impl Testbed {
    Scripted::new(bed.topology().clone(), move |_: usize, trial: &Trial| {
        let mut record = bed.run(trial)?;
        if trial.path == Path::Bypass && trial.gate == Gate::Flood {
            for flow in &mut record.flows {
                let FlowRecord::Datagrams(seen) = flow else { continue };
                let received = &mut seen.received;
                for count in [&mut seen.offered, &mut seen.sent, &mut received.unique] {
                    *count += *count / 5;
                }
                received.highest = received.highest.map(|_| seen.sent - 1);
            }
        }
        Ok(record)
    })
}

/// What a flood of the cables brings is no throughput of theirs: a device that passes 97 % of what
/// its tester can send without loss is not the limit.
#[test]
fn a_device_is_held_against_its_cables_throughput_and_not_their_flood() {
    let question = Question {
        device: "buffer = { per_port = \"1MiB\" }\npps_limit = 9700\npps_queue = 64",
        hosts: Some(10_000.0),
        octets: 512,
        link: Some(LINK),
        both_ways: false,
        last: Nanos::from_millis(500),
    };
    let testbed = || floods_faster(question.testbed());
    let forwarding = question.forwarding(&mut testbed());
    let switching = question.switching(SwitchTest::OneWay, &mut testbed());
    assert_eq!(forwarding.verdict, Verdict::TesterLimited, "{forwarding:?}");
    assert!(switching.agrees(&forwarding, 1.0), "{switching:?} {forwarding:?}");
}

/// Chance is drawn by the trial's own name, so that no two verbs see the same frames lost: the
/// figures agree within their intervals, and nobody's device is called the limit by one of them
/// alone.
#[test]
fn where_chance_has_its_part_the_answers_agree() {
    for device in [
        "loss = 1e-2",
        "loss = 1e-5",
        "stalls = { per_second = 2.0, length = \"5ms\" }",
        "pps_limit = 9000\npps_queue = 64\nloss = 1e-6",
    ] {
        let text = format!("{AMPLE}\n{device}");
        let question = Question {
            device: text.leak(),
            hosts: None,
            octets: 512,
            link: Some(LINK),
            both_ways: false,
            last: Nanos::from_secs(1),
        };
        let one = question.forwarding(&mut question.testbed());
        let other = question.switching(SwitchTest::OneWay, &mut question.testbed());
        eprintln!("{device}: {one:?} {other:?}");
        let bounds = |said: &Said| (said.low.unwrap_or(0.0), said.high.unwrap_or(f64::INFINITY));
        let ((low, high), (least, most)) = (bounds(&one), bounds(&other));
        assert!(low.max(least) <= high.min(most) * 1.01, "{device}: {one:?} {other:?}");
    }
}

/// What a trial asks for, as text. Requests of before this version name one congestion control, and
/// are answers to those that also name a stand-in.
fn asked(trial: &Trial) -> String {
    let flows = serde_json::to_string(&trial.flows).expect("flows' JSON");
    let flows = flows.replace(trial::BY_LOSS, "cubic");
    let Trial { label, block, phases, .. } = trial;
    format!("{label}\n{block} {} {} {flows}", phases.load, phases.residual)
}

const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a.
fn fnv(from: u64, text: &str) -> u64 {
    let mix = |hash: u64, octet: u8| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(from, mix)
}

/// What figures say, whatever else stands beside it.
fn told(figures: &[Figure]) -> u64 {
    let one = |f: &Figure| {
        let (metric, verdict) = (f.metric.as_str(), f.verdict.as_str());
        format!("{metric} {:?} {:?} {:?} {} {verdict}\n", f.value, f.low, f.high, f.n)
    };
    fnv(EMPTY, &figures.iter().map(one).collect::<String>())
}

/// Requests as journals of before this version hold them, and what they asked for of a switch that
/// loses, of one that does not, of one that pauses and of one that hardly forwards: how many
/// trials, and the digests of these and of the figures.
const RECORDED: [(&str, &str); 2] = [
    ("switching", include_str!("recorded/switching.json")),
    ("forwarding", include_str!("recorded/forwarding.json")),
];

const DEVICES: [&str; 4] = [
    "buffer = { per_port = \"16KiB\" }\nmac_table = { entries = 600 }\n\
     groups = [{ ports = \"1,3\", uplink = \"60Mbit\" }, { ports = \"2,4\", uplink = \"60Mbit\" }]",
    AMPLE,
    "buffer = { per_port = \"64KiB\" }\npause = true\n\
     groups = [{ ports = \"1,3\", uplink = \"60Mbit\" }, { ports = \"2,4\", uplink = \"60Mbit\" }]",
    "buffer = { per_port = \"64KiB\" }\nloss = 0.2",
];

const ASKED: [[(u64, u64, u64); 4]; 2] = [
    [
        (178, 0xbe43_0972_0db8_1600, 0x50a2_2737_ca45_0acc),
        (85, 0x3670_6ae7_f6d8_5c40, 0x32ee_cf43_4562_a016),
        (263, 0x04eb_e378_c8b4_9001, 0x4603_e487_c2a9_40ab),
        (211, 0x9720_adcf_b7a4_4d07, 0x331b_7b50_d31c_6d8c),
    ],
    [
        (107, 0x7d89_85bf_7317_0bc9, 0x2fc3_78ea_5076_fe5e),
        (44, 0xc449_a051_3c44_9298, 0xcbd4_e26f_4464_7840),
        (144, 0x2c58_c4c3_adbe_2017, 0x3c48_73aa_47e6_b48f),
        (62, 0xdfae_2566_6ac2_73d5, 0x3b34_d9cc_09a5_b981),
    ],
];

/// A testbed whose records say no more than those of before this version: not when the last frame
/// came.
fn as_recorded_before(mut bed: VirtualTestbed) -> impl Testbed {
    Scripted::new(bed.topology().clone(), move |_: usize, trial: &Trial| {
        let mut record = bed.run(trial)?;
        for flow in &mut record.flows {
            if let FlowRecord::Datagrams(seen) = flow {
                seen.quiet = None;
            }
        }
        Ok(record)
    })
}

#[test]
fn what_a_journal_holds_is_asked_for_again() {
    let mut failed = Vec::new();
    for ((name, json), expected) in RECORDED.iter().zip(ASKED) {
        let study: StudySpec = serde_json::from_str(json).expect("a recorded request");
        for (device, expected) in DEVICES.iter().zip(expected) {
            let text = format!("name = \"sw\"\nports = 4\nrate = \"100Mbit\"\n{device}");
            let testbed = trials::testbed(profile(&text));
            study.check(testbed.topology()).expect("it can be asked for");
            let (mut trials, mut digest) = (0, EMPTY);
            let mut testbed = as_recorded_before(testbed);
            let mut noting = Observed::new(&mut testbed, |trial, _| {
                (trials, digest) = (trials + 1, fnv(digest, &asked(trial)));
            });
            let figures = study.run(&mut noting, 7).expect("every trial runs");
            let now = (trials, digest, told(&figures));
            println!("{name} {device:?}: ({}, {:#018x}, {:#018x}),", now.0, now.1, now.2);
            if now != expected {
                failed.push((name, device, now));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
