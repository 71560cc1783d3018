//! A/A runs: every study on a device that does nothing to frames but pass them on, beside its own
//! cable.
//!
//! Owns the bars: no figure says `device`, but for those of what only a device has, and a
//! comparison of two such runs says *different* at most once in 20. Prints what it found.

use std::collections::BTreeMap;

use measure::{ByteCount, FrameMix, Nanos, Rate};
use page::{Figure, Key, Metric, Verdict};
use sim::{DiskModel, HostModel, ServiceTime, VirtualTestbed};
use study::comparison::{Comparable, MARGIN, Side, compare, per_block};
use study::forwarding::{ForwardingSpec, ForwardingTest};
use study::{
    BufferSpec, DepthSpec, FabricSpec, LatencySpec, Nodes, StorageSpec, StudySpec, SwitchTest,
    SwitchingSpec,
};
use trial::{Observed, Testbed as _, Trial, TrialRecord};
use trial::{Pattern, ServedMemory, Storage};

use crate::trials::{profile, size};

/// Of each study; the runs of pair `p` have the seeds 2p + 1 and 2p + 2.
fn pairs() -> u64 {
    if std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full") { 20 } else { 8 }
}

const LINK: Rate = Rate(100_000_000);

/// A switch of line rate that begins to send as soon as it may, with room for whatever comes.
const PLAIN: &str = "name = \"plain\"\nports = 4\nrate = \"100Mbit\"\n\
                     buffer = { per_port = \"4MiB\" }\nforwarding = { mode = \"cut-through\" }\n";

/// One run of a study: its figures, and those of each block.
struct Run {
    figures: Vec<Figure>,
    comparable: Comparable,
}

impl Run {
    fn side<'a>(&'a self, name: &'a str) -> Side<'a> {
        let Self { figures, comparable } = self;
        Side { name, run: name, subject: None, level: None, figures, comparable }
    }
}

fn run(study: &StudySpec, seed: u64) -> Run {
    let service = ServiceTime { fixed: Nanos::from_micros(80), drawn: Nanos::from_micros(20) };
    let disk = DiskModel { read: service, write: service, at_once: 16 };
    let hosts = HostModel { disk, ..HostModel::ideal(4) };
    let mut bed = VirtualTestbed::new("sim:plain", profile(PLAIN), hosts, seed);
    let topology = bed.topology().clone();
    study.check(&topology).unwrap_or_else(|problem| panic!("{}: {problem}", study.name()));
    let mut records = Vec::new();
    let keep = |trial: &Trial, record: &TrialRecord| records.push((trial.clone(), record.clone()));
    let figures = study
        .run(&mut Observed::new(&mut bed, keep), seed)
        .unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", study.name()));
    let comparable = per_block(std::slice::from_ref(study), &topology, &records, &figures, seed)
        .unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", study.name()));
    Run { figures, comparable }
}

fn storage() -> StorageSpec {
    let service = Nanos::from_micros(100);
    let server = ServedMemory { size: ByteCount(1 << 20), read: service, write: service };
    let job = Storage {
        ioengine: "nbd".into(),
        filename: String::new(),
        pattern: Pattern::Random,
        rwmixread: trial::ReadPercent::known(50),
        bs: ByteCount(4096),
        numjobs: trial::Jobs::known(1),
        iodepth: trial::QueueDepth::known(2),
        replicas: Vec::new(),
        options: BTreeMap::new(),
        server: Some(server),
        disk: None,
        allow_destroy: false,
    };
    StorageSpec { duration: Nanos::from_millis(100), ..StorageSpec::quick(job) }
}

/// Short ones: virtual trials are as good after milliseconds as real ones after seconds.
pub fn studies() -> Vec<StudySpec> {
    let frames = vec![size(256)];
    let latency = LatencySpec {
        duration: Nanos::from_millis(10),
        sizes: frames.clone(),
        ..LatencySpec::quick()
    };
    let forwarding = ForwardingSpec {
        frames: vec![FrameMix::from_size(size(256))],
        tests: vec![ForwardingTest::Flood, ForwardingTest::Throughput, ForwardingTest::LossCurve],
        duration: Nanos::from_millis(20),
        final_duration: Nanos::from_millis(60),
        link_rate: Some(LINK),
        ..ForwardingSpec::quick()
    };
    let switching = SwitchingSpec {
        tests: [&SwitchTest::RFC2889[..], &SwitchTest::RFC8239[..]].concat(),
        frames,
        duration: Nanos::from_millis(20),
        final_duration: Nanos::from_millis(60),
        burst_duration: Nanos::from_millis(50),
        stations: study::switching::Stations::known(256),
        learn_rate: study::switching::LearnRate::known(10_000),
        link_rate: Some(LINK),
        ..SwitchingSpec::quick()
    };
    let fabric = FabricSpec {
        nodes: Nodes::These(vec![2, 4]),
        messages: Vec::new(),
        message: ByteCount(4096),
        duration: Nanos::from_millis(40),
        interval: Nanos::from_millis(4),
        ..FabricSpec::quick()
    };
    let buffer = BufferSpec {
        omit: Nanos::from_millis(100),
        duration: Nanos::from_millis(600),
        interval: Nanos::from_millis(20),
        ..BufferSpec::quick()
    };
    let depth = DepthSpec {
        sizes: Vec::new(),
        longest: Nanos::from_millis(50),
        blocks: study::Blocks::known(6),
        ..DepthSpec::quick()
    };
    vec![
        StudySpec::Latency(latency),
        StudySpec::Forwarding(forwarding),
        StudySpec::Switching(switching),
        StudySpec::Fabric(fabric),
        StudySpec::Buffer(buffer),
        StudySpec::Depth(depth),
        StudySpec::Storage(Box::new(storage())),
    ]
}

/// What a direct cable has none of: a delay of a device's own, a table of addresses, and an output
/// that more is sent into than it can send on.
fn only_a_device_has(figure: &Figure) -> bool {
    let delays = [
        Metric::Rtt,
        Metric::RttAdded,
        Metric::Pdv,
        Metric::Ipdv,
        Metric::IoLatency,
        Metric::IoLatencyAdded,
        Metric::AddressCapacity,
        Metric::AddressLearningRate,
        Metric::Flooded,
        Metric::Microburst,
    ];
    let overfilled = ["congestion", "head-of-line", "incast", "microburst", "depth", "esnet"];
    delays.contains(&figure.metric)
        || overfilled.contains(&figure.text(Key::Test).unwrap_or_default())
}

#[test]
fn nothing_is_the_device_s_where_it_does_nothing() {
    let mut wrong = Vec::new();
    let (mut compared_all, mut different_all) = (0, 0);
    for study in studies() {
        let (mut claims, mut figures, mut different) = (0, 0, Vec::new());
        for pair in 0..pairs() {
            let (own, other) = (run(&study, 2 * pair + 1), run(&study, 2 * pair + 2));
            for figure in own.figures.iter().chain(&other.figures) {
                figures += 1;
                if figure.verdict == Verdict::DeviceLimited && !only_a_device_has(figure) {
                    claims += 1;
                    wrong.push(format!("{}, pair {pair}: {figure:?}", study.name()));
                }
            }
            let compared = compare(&own.side("one"), &other.side("other"), MARGIN);
            compared_all += 1;
            let differ = compared.rows.iter().filter(|row| row.is_better().is_some());
            let differ: Vec<String> = differ.map(study::comparison::Row::label).collect();
            if !differ.is_empty() {
                different.push(differ.join("; "));
            }
        }
        println!(
            "{:<12} {:>2} pairs, {figures:>5} figures: device {claims}, different {} {different:?}",
            study.name(),
            pairs(),
            different.len()
        );
        different_all += different.len();
    }
    assert!(wrong.is_empty(), "{} figures say device: {wrong:#?}", wrong.len());
    assert!(20 * different_all <= compared_all, "{different_all} of {compared_all} differ");
}
