//! Storage flows through modelled devices: what an operation takes, against sums reckoned by hand,
//! and Little's law.

use std::collections::BTreeMap;

use device::Profile;
use measure::{ByteCount, Nanos};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Verdict};
use sim::{DiskModel, HostModel, ServiceTime, VirtualTestbed};
use study::{Finding as _, StorageSpec};
use trial::ServedMemory;
use trial::record::{FlowRecord, Outcome, StorageLocation, StorageRecord};
use trial::{FlowKind, Pattern, Storage};
use trial::{Testbed, Topology, Trial, TrialRecord};

use crate::trials::{GIGABIT, flow, run, trial};

const SERVICE: Nanos = Nanos::from_micros(100);
const BLOCK: u64 = 4096;
/// TCP's payload of a full frame, and what a frame has beside it.
const MSS: u64 = 1448;
const OVERHEAD: u64 = 70;

fn storage(rwmixread: u8, (numjobs, iodepth): (u16, u16), replicas: &[&str]) -> FlowKind {
    FlowKind::Storage(Storage {
        ioengine: "nbd".into(),
        filename: "nbd://h2".into(),
        pattern: Pattern::Random,
        rwmixread: trial::ReadPercent::known(rwmixread),
        bs: ByteCount(BLOCK),
        numjobs: trial::Jobs::known(numjobs),
        iodepth: trial::QueueDepth::known(iodepth),
        replicas: replicas.iter().map(|place| place.parse().expect("a port's name")).collect(),
        options: BTreeMap::new(),
        server: None,
        disk: None,
        allow_destroy: false,
    })
}

/// Five hosts at a switch that takes no time of its own.
fn testbed(disk: DiskModel) -> VirtualTestbed {
    let hosts = HostModel { disk, ..HostModel::ideal(5) };
    VirtualTestbed::new("sim:storage", Profile::single(5, GIGABIT), hosts, 1)
}

fn of(record: &TrialRecord) -> &StorageRecord {
    match &record.flows[..] {
        [FlowRecord::Storage(storage)] => storage,
        other => panic!("not one storage flow: {other:?}"),
    }
}

/// From the first bit of a message to its last at the other end, through a switch that stores each
/// frame and forwards it: nanoseconds.
fn way(message: u64) -> u64 {
    let (mut begins, mut leaves, mut last) = (0, 0, 0);
    let mut left = message;
    while left > 0 {
        let frame = left.min(MSS) + OVERHEAD;
        left -= left.min(MSS);
        let there = begins + 8 + frame;
        begins += frame + 20;
        let egress = leaves.max(there);
        leaves = egress + frame + 20;
        last = egress + 8 + frame;
    }
    8 * last
}

fn fixed(read: Nanos, write: Nanos) -> DiskModel {
    let of = |fixed| ServiceTime { fixed, drawn: Nanos::ZERO };
    DiskModel { read: of(read), write: of(write), at_once: 64 }
}

fn check(seen: f64, expected: u64) {
    // The histogram's 0.1 %, and a few nanoseconds of a host's jitter.
    let off = (seen - expected as f64).abs();
    assert!(off <= 0.001 * expected as f64 + 20.0, "{seen} and not {expected}");
}

#[test]
fn one_operation_at_a_time_takes_its_round_trip_and_its_service() {
    let read = way(28) + SERVICE.0 + way(16 + BLOCK);
    let write = way(28 + BLOCK) + 2 * SERVICE.0 + way(16);
    for (rwmixread, expected) in [(100, read), (0, write)] {
        let mut testbed = testbed(fixed(SERVICE, SERVICE * 2));
        let flows = vec![flow(1, "h1/eth1", "h2/eth1", storage(rwmixread, (1, 1), &[]))];
        let record = run(&mut testbed, &trial(flows, Nanos::from_millis(200)));
        assert_eq!(record.outcome, Outcome::Valid);
        let seen = of(&record);
        let [used, unused] = match rwmixread {
            100 => [&seen.reads, &seen.writes],
            _ => [&seen.writes, &seen.reads],
        };
        check(used.latency.mean(), expected);
        assert_eq!(unused.count, 0);
        assert_eq!(used.octets.0, used.count * BLOCK);
        assert!((seen.iops() * expected as f64 / 1e9 - 1.0).abs() < 0.002, "{}", seen.iops());
    }
}

#[test]
fn a_write_waits_for_the_slowest_copy_and_a_read_for_none() {
    let latency = |rwmixread, replicas: &[&str]| {
        let mut testbed = testbed(fixed(SERVICE, SERVICE));
        let flows = vec![flow(1, "h1/eth1", "h2/eth1", storage(rwmixread, (1, 1), replicas))];
        let record = run(&mut testbed, &trial(flows, Nanos::from_millis(200)));
        of(&record).mean_latency().expect("operations")
    };
    let (there, back) = (way(28 + BLOCK), way(16));
    // A replica has its round trip and its disk, beside the server's own disk. Twice the server
    // first acknowledges what came, before it speaks to somebody else by the same port.
    let acks = 2 * 8 * (OVERHEAD + 20);
    check(latency(0, &["h3/eth1"]), 2 * (there + back) + SERVICE.0 + acks);
    check(latency(100, &["h3/eth1"]), way(28) + SERVICE.0 + way(16 + BLOCK));
    // Two are written side by side; only the copies' way out of the server is shared.
    let two = latency(0, &["h3/eth1", "h4/eth1"]) - latency(0, &["h3/eth1"]);
    let message = 8 * (28 + BLOCK + 3 * (OVERHEAD + 20));
    assert!(two > 0.0 && two <= message as f64, "{two} of {message}");
}

#[test]
fn littles_law_holds_of_any_mix_and_a_disk_gives_what_it_can() {
    let exponential = |drawn| ServiceTime { fixed: Nanos::ZERO, drawn };
    let disk =
        DiskModel { read: exponential(SERVICE), write: exponential(SERVICE * 3), at_once: 4 };
    for (jobs, depth) in [(1, 1), (8, 1), (4, 8)] {
        let flows = vec![flow(1, "h1/eth1", "h2/eth1", storage(70, (jobs, depth), &["h3/eth1"]))];
        let record = run(&mut testbed(disk), &trial(flows, Nanos::from_secs(2)));
        let seen = of(&record);
        let asked = f64::from(jobs * depth);
        let under_way = seen.under_way().expect("operations");
        assert!((under_way / asked - 1.0).abs() < 0.02, "{under_way} of {asked}");
        let share = seen.reads.count as f64 / (seen.reads.count + seen.writes.count) as f64;
        assert!((share - 0.7).abs() < 0.02, "{share}");
        if asked >= 32.0 {
            // 0.7 of 100 us and 0.3 of 300 us, four at once: 25,000 a second.
            assert!((seen.iops() / 25_000.0 - 1.0).abs() < 0.05, "{}", seen.iops());
        }
    }
}

#[test]
fn what_can_not_be_run_says_why() {
    let table = [
        (storage(50, (1, 1), &["h9/eth1"]), "there is no port `h9/eth1`"),
        (storage(50, (1, 1), &["h2/eth1"]), "no way leads from `h2/eth1` to `h2/eth1`"),
    ];
    for (kind, why) in table {
        let trial = trial(vec![flow(1, "h1/eth1", "h2/eth1", kind)], Nanos::from_millis(1));
        let record = run(&mut testbed(DiskModel::IDEAL), &trial);
        let Outcome::Failed { reason } = &record.outcome else { panic!("{:?}", record.outcome) };
        assert!(reason.contains(why), "{reason}");
    }
}

fn said(figure: &Figure, name: &str) -> String {
    match figure.conditions.get(&Key::named(name)) {
        Some(Condition::Text(text)) => text.clone(),
        Some(Condition::Integer(number)) => number.to_string(),
        Some(Condition::Flag(flag)) => flag.to_string(),
        _ => String::new(),
    }
}

/// The study of the model's storage with so many operations under way, and how to find a figure of
/// it.
fn studied(depth: u16) -> impl Fn(Metric, &[(&str, &str)]) -> f64 {
    let server = ServedMemory { size: ByteCount(1 << 20), read: SERVICE, write: SERVICE * 2 };
    let FlowKind::Storage(job) = storage(50, (1, depth), &[]) else { unreachable!() };
    let job = Storage { filename: String::new(), server: Some(server), ..job };
    let spec = StorageSpec {
        duration: Nanos::from_secs(1),
        blocks: study::Blocks::known(2),
        ..StorageSpec::quick(job)
    };
    let mut testbed = testbed(DiskModel::IDEAL);
    let figures = spec.run(&mut testbed, 1).expect("the model runs").rows();
    move |metric, pairs| {
        let found = figures.iter().find(|f| {
            f.metric == metric
                && f.quantile.is_none()
                && pairs.iter().all(|(name, value)| said(f, name) == *value)
        });
        found.and_then(|f| f.value).unwrap_or_else(|| panic!("no {metric:?} of {pairs:?}"))
    }
}

/// Nothing is left over where client, server and disk are a model's: what the study says of the
/// network is all that they do not take. One operation waits for none of its own; several wait for
/// each other, and where a disk's times are all alike they come in bursts that messages at even
/// times do not meet, hence the wider bar.
#[test]
fn an_operation_waits_for_the_others_and_not_for_itself() {
    for depth in [1, 2, 4] {
        let of = studied(depth);
        for operation in ["read", "write"] {
            let part = |name| of(Metric::IoLatency, &[("operation", operation), ("part", name)]);
            let (network, rest) = (part("network"), part("rest"));
            eprintln!("{operation} x{depth}: network {network:.0} ns, rest {rest:.0} ns");
            let bar = if depth == 1 { 0.02 } else { 0.1 };
            assert!(rest.abs() <= bar * network, "{operation} x{depth}: {rest} of {network}");
        }
    }
}

/// The study on a modelled switch, whose truth is known: what it says of the network is what the
/// network takes.
#[test]
fn the_studys_budget_is_the_models() {
    let of = studied(1);
    for (operation, disk) in [("read", SERVICE), ("write", SERVICE * 2)] {
        let part = |name| of(Metric::IoLatency, &[("operation", operation), ("part", name)]);
        let whole = of(Metric::IoLatency, &[("operation", operation), ("part", "")]);
        let (network, rest) = (part("network"), part("rest"));
        assert!((part("disk") - disk.0 as f64).abs() < 1.0);
        assert!(rest.abs() <= 0.05 * network, "{operation}: {rest} of {network}");
        let share = of(Metric::NetworkShare, &[("operation", operation)]);
        assert!((share - network / whole).abs() < 0.01, "{share}");
        let (there, back) = match operation {
            "read" => (way(28), way(16 + BLOCK)),
            _ => (way(28 + BLOCK), way(16)),
        };
        let told = network / (there + back) as f64;
        assert!((0.95..1.05).contains(&told), "{network}");
    }
    let rate = of(Metric::Iops, &[("operation", "all"), ("estimate", "")]);
    let little = of(Metric::Iops, &[("estimate", "from-latency")]);
    assert!((rate / little - 1.0).abs() < 0.02, "{rate} {little}");
    let most = of(Metric::Iops, &[("estimate", "faster-link")]);
    let disks = 1.5 * SERVICE.0 as f64;
    assert!((most * disks / 1e9 - 1.0).abs() < 0.02, "{most} of {disks}");
    // The same link without latency: a block goes over it once, and no switch stores it.
    let wire = 8 * (28 + 16 + BLOCK + 4 * (OVERHEAD + 20));
    let most = of(Metric::Iops, &[("estimate", "link-without-latency")]);
    assert!((most * (disks + wire as f64) / 1e9 - 1.0).abs() < 0.02, "{most}");
    // No round trip at all leaves what the disks take, and a block beyond a small message.
    let zero = [("what_if_rtt_ns", "0"), ("what_if_iodepth", "1"), ("what_if_copied", "false")];
    let block = (way(16 + BLOCK) - way(16)) as f64;
    let then = of(Metric::Iops, &zero) * (disks + block) / 1e9;
    assert!((then - 1.0).abs() < 0.02, "{then}");
}

/// Of reads alone the page knows as well as of writes who takes their time.
#[test]
fn a_slow_disk_is_the_bottleneck_of_reads_and_of_writes() {
    for reads in [0, 100] {
        let FlowKind::Storage(job) = storage(reads, (1, 1), &[]) else { unreachable!() };
        let slow = Nanos::from_millis(20);
        let server = ServedMemory { size: ByteCount(1 << 20), read: slow, write: slow };
        let job = Storage { filename: String::new(), server: Some(server), ..job };
        let spec = StorageSpec { blocks: study::Blocks::known(2), ..StorageSpec::quick(job) };
        let found = spec.run(&mut testbed(DiskModel::IDEAL), 1).expect("the model runs");
        let answers = found.page().answers;
        let is_said =
            answers.iter().any(|(_, a)| a.text.contains("The storage is the bottleneck."));
        assert!(is_said, "{reads} % reads: {answers:?}");
    }
}

/// A testbed whose client's host tells that the storage is elsewhere than it is.
struct Told(VirtualTestbed, StorageLocation);

impl Testbed for Told {
    fn topology(&self) -> &Topology {
        self.0.topology()
    }

    fn run(&mut self, trial: &Trial) -> trial::Result<TrialRecord> {
        let mut record = self.0.run(trial)?;
        for flow in &mut record.flows {
            if let FlowRecord::Storage(storage) = flow {
                storage.location = Some(self.1);
            }
        }
        Ok(record)
    }
}

/// Operations that cross no network, or of which nobody knows, have no share of it, nothing that
/// another network would change, and nothing that a device added.
#[test]
fn a_local_storage_has_no_figure_of_the_network() {
    let FlowKind::Storage(job) = storage(50, (1, 1), &[]) else { unreachable!() };
    let spec = StorageSpec { blocks: study::Blocks::known(6), ..StorageSpec::quick(job) };
    for (location, caveat) in [
        (StorageLocation::Remote, None),
        (StorageLocation::Local, Some(Caveat::LocalStorage)),
        (StorageLocation::Unknown, Some(Caveat::StorageLocationUnknown)),
    ] {
        let disk = fixed(SERVICE, SERVICE);
        let figures =
            spec.run(&mut Told(testbed(disk), location), 1).expect("the model runs").rows();
        let is_networks = |f: &&Figure| {
            let estimate = said(f, "estimate");
            matches!(f.metric, Metric::NetworkShare | Metric::IoLatencyAdded | Metric::Rtt)
                || said(f, "part") == "network"
                || ["what-if", "link-without-latency", "faster-link"].contains(&&*estimate)
        };
        let networks = figures.iter().filter(is_networks).count();
        assert_eq!(networks > 0, caveat.is_none(), "{location:?}: {networks}");
        let both = [Caveat::LocalStorage, Caveat::StorageLocationUnknown];
        for figure in &figures {
            let told: Vec<_> = figure.caveats.iter().filter(|c| both.contains(c)).collect();
            assert_eq!(told, caveat.iter().collect::<Vec<_>>(), "{figure:?}");
        }
        assert!(figures.iter().any(|f| f.metric == Metric::Iops && f.value.is_some()));
    }
}

/// A job that fills the link is the link's, whatever its operations' size; the messages beside it
/// take a fiftieth of the link at most, and no estimate exceeds what the link carries.
#[test]
fn a_full_link_is_the_links() {
    let full = [(4 << 10, 64), (64 << 10, 32), (1 << 20, 8), (4 << 20, 4)];
    for (block, depth, expected) in
        full.map(|(block, depth)| (block, depth, true)).into_iter().chain([(4 << 10, 1, false)])
    {
        let FlowKind::Storage(job) = storage(100, (1, depth), &[]) else { unreachable!() };
        let server = ServedMemory { size: ByteCount(1 << 30), read: SERVICE, write: SERVICE };
        let job =
            Storage { filename: String::new(), bs: ByteCount(block), server: Some(server), ..job };
        let spec = StorageSpec { blocks: study::Blocks::known(6), ..StorageSpec::quick(job) };
        let figures = spec.run(&mut testbed(DiskModel::IDEAL), 1).expect("the model runs").rows();
        let all = |estimate: &str| {
            let own = |f: &&Figure| {
                f.metric == Metric::Iops
                    && said(f, "operation") == "all"
                    && said(f, "estimate") == estimate
            };
            figures.iter().find(own).unwrap_or_else(|| panic!("no figure of `{estimate}`"))
        };
        let plain = all("");
        let message = 16 + block;
        let on_wire = message + message.div_ceil(MSS) * (OVERHEAD + 20);
        let carried = GIGABIT.bits_per_second() / 8.0 / on_wire as f64;
        let share = plain.value.expect("operations") / carried;
        eprintln!("{block} x{depth}: {share:.4} of the link, {:?}", plain.verdict);
        let name = format!("{block} x{depth}, {share} of the link");
        assert_eq!(plain.verdict == Verdict::LinkLimited, expected, "{name}");
        assert_eq!(plain.caveats.contains(&Caveat::PathFull), expected, "{name}");
        assert!(!expected || share > 0.93, "{name}");
        let of_link = |f: &&Figure| said(f, "estimate") != "faster-link";
        let estimates = figures.iter().filter(|f| f.metric == Metric::Iops).filter(of_link);
        let most = estimates.filter_map(|f| f.value).fold(0.0, f64::max);
        assert!(most <= 1.02 * carried, "{name}: an estimate of {most}, {carried} are carried");
        let adds = figures.iter().any(|f| f.metric == Metric::IoLatencyAdded);
        assert!(adds != expected, "{name}");
    }
}

/// Two copies of every write leave by the storage host's one link: that is full at half of what a
/// client alone could write.
#[test]
fn copies_fill_the_storage_hosts_link() {
    let block = 64 << 10;
    let FlowKind::Storage(job) = storage(0, (1, 32), &["h3/eth1", "h4/eth1"]) else {
        unreachable!()
    };
    let server = ServedMemory { size: ByteCount(1 << 30), read: SERVICE, write: SERVICE };
    let job =
        Storage { filename: String::new(), bs: ByteCount(block), server: Some(server), ..job };
    let spec = StorageSpec { blocks: study::Blocks::known(6), ..StorageSpec::quick(job) };
    let figures = spec.run(&mut testbed(DiskModel::IDEAL), 1).expect("the model runs").rows();
    let plain = figures
        .iter()
        .find(|f| {
            f.metric == Metric::Iops
                && said(f, "operation") == "all"
                && said(f, "estimate").is_empty()
        })
        .expect("a figure");
    let message = 28 + block;
    let on_wire = 2 * (message + message.div_ceil(MSS) * (OVERHEAD + 20));
    let share = plain.value.expect("operations") * on_wire as f64 * 8.0 / GIGABIT.bits_per_second();
    assert!((0.97..1.0).contains(&share), "{share}");
    assert_eq!(plain.verdict, Verdict::LinkLimited);
    assert!(plain.caveats.contains(&Caveat::PathFull));
}

/// Short blocks, too, where acknowledgements take a part of the link that nobody counts exactly;
/// and what operations wait for each other's copies is the network's time.
#[test]
fn copies_of_short_blocks_fill_it_as_well() {
    for replicas in [&["h3/eth1"][..], &["h3/eth1", "h4/eth1"]] {
        let FlowKind::Storage(job) = storage(0, (4, 16), replicas) else { unreachable!() };
        let server = ServedMemory { size: ByteCount(1 << 30), read: SERVICE, write: SERVICE };
        let job = Storage { filename: String::new(), server: Some(server), ..job };
        let duration = Nanos::from_millis(500);
        let spec =
            StorageSpec { blocks: study::Blocks::known(6), duration, ..StorageSpec::quick(job) };
        let figures = spec.run(&mut testbed(DiskModel::IDEAL), 1).expect("the model runs").rows();
        let of = |metric, part: &str| {
            let own = |f: &&Figure| {
                f.metric == metric
                    && f.quantile.is_none()
                    && said(f, "operation") == "write"
                    && said(f, "part") == part
            };
            figures.iter().find(own).unwrap_or_else(|| panic!("no {metric:?} of `{part}`"))
        };
        let plain = of(Metric::Iops, "");
        assert_eq!(plain.verdict, Verdict::LinkLimited, "{replicas:?}");
        assert!(plain.caveats.contains(&Caveat::PathFull));
        assert!(plain.caveats.contains(&Caveat::BypassWithoutReplicas));
        assert!(!plain.caveats.contains(&Caveat::NoBypass));
        let time = |part| of(Metric::IoLatency, part).value.expect("a time");
        assert!(time("rest") < 0.01 * time(""), "{replicas:?}: {}", time("rest"));
        // Without copies there is the client's link, and no more.
        let uncopied = figures.iter().filter(|f| said(f, "what_if_copied") == "false");
        let most = uncopied.filter_map(|f| f.value).fold(0.0, f64::max);
        let on_wire = 28 + BLOCK + 3 * (OVERHEAD + 20);
        let carried = GIGABIT.bits_per_second() / 8.0 / on_wire as f64;
        assert!(most <= 1.02 * carried, "{most}, {carried} are carried");
    }
}
