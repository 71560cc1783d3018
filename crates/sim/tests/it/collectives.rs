//! Collectives among simulated hosts: bus bandwidth in fabrics that do not block and in one that
//! does, the rank that holds the others up, and what is refused.
//!
//! The truth is the profile and arithmetic; never a record of another run.

use measure::{ByteCount, Nanos};
use page::{Caveat, Condition, Figure, Key, Metric};
use sim::{Death, HostModel, VirtualTestbed};
use study::{Arrangement, FabricSpec, Finding as _, Nodes, StudySpec};
use trial::collective::Schedule;
use trial::{Carrier, Collective, Testbed as _};

use crate::trials::{profile, testbed};

/// Payload of TCP with time stamps that a bit a second of a link carries, in full frames.
const PAYLOAD: f64 = 1448.0 / 1538.0;

const LINK: f64 = 1e9;

/// A switch whose ports are alike and do not hinder each other.
fn switch(ports: u32, more: &str) -> device::Profile {
    let text = "rate = \"1Gbit\"\nbuffer = { per_port = \"1MiB\" }";
    profile(&format!("name = \"sw\"\nports = {ports}\n{text}\n{more}\n"))
}

/// True if ranks send to one that still receives from another: beside a power of two some have
/// nothing to wait for. Their parts share a port, and TCP loses some.
fn sends_early(collective: Collective, ranks: u32) -> bool {
    collective == Collective::AllReduceHalvingDoubling && !ranks.is_power_of_two()
}

fn spec(collectives: &[Collective], sizes: &[u64]) -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        nodes: Nodes::Doubling,
        message: ByteCount(1024),
        messages: Vec::new(),
        collectives: collectives.to_vec(),
        collective_sizes: sizes.iter().copied().map(ByteCount).collect(),
        interval: Nanos(200_000),
        duration: Nanos::from_millis(2),
        blocks: study::Blocks::known(1),
        tries: study::Tries::known(1),
        ..FabricSpec::quick()
    }
}

fn run(spec: &FabricSpec, testbed: &mut VirtualTestbed) -> Vec<Figure> {
    StudySpec::Fabric(spec.clone()).check(testbed.topology()).expect("a possible study");
    spec.run(testbed, 7).expect("every trial has a record").rows()
}

fn one(figures: &[Figure], metric: Metric, collective: Collective) -> &Figure {
    let own =
        |f: &&Figure| f.metric == metric && f.text(Key::Collective) == Some(collective.as_str());
    figures.iter().find(own).expect("a row")
}

/// Cost of acknowledgements where a port sends to one rank and receives from another: one of 90
/// octets on the wire for every two full frames. Between two ranks payload carries them along.
const ACKS: f64 = (2.0 * 1538.0 + 90.0) / (2.0 * 1538.0);

/// Bus bandwidth that links of one rate allow, from the textbook's time of each algorithm.
fn theory(collective: Collective, ranks: u32) -> f64 {
    let n = f64::from(ranks);
    let levels = f64::from(ranks.next_power_of_two().ilog2());
    // Time in vectors of the whole size.
    let time = match collective {
        Collective::AllReduceTree => 2.0 * levels,
        _ if ranks == 2 => collective.bus_factor(2),
        Collective::AllReduceRing => ACKS * 2.0 * (n - 1.0) / n,
        Collective::AllReduceHalvingDoubling => {
            let core = f64::from(1_u32 << ranks.ilog2());
            2.0 * (core - 1.0) / core + if ranks.is_power_of_two() { 0.0 } else { 2.0 }
        }
        Collective::AllGather | Collective::ReduceScatter => ACKS * (n - 1.0) / n,
        Collective::AllToAll => {
            // Opposite ranks exchange both ways at once.
            let opposite = if ranks.is_multiple_of(2) { 1.0 } else { 0.0 };
            (ACKS * (n - 1.0 - opposite) + opposite) / n
        }
        Collective::Broadcast => levels,
    };
    collective.bus_factor(ranks) * LINK * PAYLOAD / time
}

fn within(value: Option<f64>, expected: f64, tolerance: f64, what: &str) {
    let value = value.unwrap_or_else(|| panic!("{what}: no value"));
    let off = value / expected - 1.0;
    println!("{what}: {value:.0}, expected {expected:.0}, {:+.2} %", 100.0 * off);
    assert!(off.abs() <= tolerance, "{what}: {value} instead of {expected}");
}

#[test]
fn bus_bandwidth_is_the_theorys_where_nothing_blocks() {
    for ranks in [2, 4, 5, 8] {
        let mut testbed = testbed(switch(ranks, ""));
        let figures = run(&spec(&Collective::ALL, &[4 << 20]), &mut testbed);
        for collective in Collective::ALL {
            let bus = one(&figures, Metric::BusBandwidth, collective);
            let (expected, what) = (theory(collective, ranks), format!("{collective} of {ranks}"));
            if sends_early(collective, ranks) {
                let share = bus.value.expect("a value") / expected;
                println!("{what}: {share:.3} of the theory");
                assert!((0.5..1.01).contains(&share), "{what}: {share}");
                continue;
            }
            within(bus.value, expected, 0.01, &what);
            let time = one(&figures, Metric::CollectiveTime, collective).value.expect("a time");
            let algorithm = one(&figures, Metric::AlgorithmBandwidth, collective);
            within(algorithm.value, 8e9 * f64::from(4 << 20) / time, 1e-6, "size over time");
            let share = one(&figures, Metric::LinkShare, collective).value.expect("a share");
            assert!((0.95..=1.0).contains(&share), "{collective} of {ranks}: {share}");
        }
    }
}

/// Eight hosts in two groups, whose uplinks carry half of what their ports send.
fn halves(buffer: &str) -> VirtualTestbed {
    let group = |ports: &str| format!("{{ ports = \"{ports}\", uplink = \"2Gbit\" }}");
    testbed(profile(&format!(
        "name = \"sw\"\nports = 8\nrate = \"1Gbit\"\ngroups = [{}, {}]\nbuffer = {{ per_port = \"{buffer}\" }}\n",
        group("1-4"),
        group("5-8")
    )))
}

/// Where queues hold what waits, the uplinks are used up. Where they do not, TCP loses frames, and
/// the slowest part of each step holds the others up.
#[test]
fn an_uplink_that_blocks_is_used_up() {
    let of = |first: &[u16], buffer| {
        let from = first.iter().map(|host| format!("h{host}/eth1").parse().expect("a port"));
        let between = study::Between { from: from.collect(), ..study::Between::default() };
        let ring = spec(&[Collective::AllReduceRing], &[16 << 20]);
        let figures = run(&FabricSpec { between, ..ring }, &mut halves(buffer));
        one(&figures, Metric::BusBandwidth, Collective::AllReduceRing).value
    };
    let open = theory(Collective::AllReduceRing, 8);
    within(of(&[], "1MiB"), open, 0.01, "each group's ring leaves it once");
    let across = [1, 5, 2, 6, 3, 7, 4, 8];
    within(of(&across, "16MiB"), open / 2.0, 0.02, "every part leaves its group");
    let shallow = of(&across, "1MiB").expect("a value") / (open / 2.0);
    println!("with a buffer of 1 MiB: {shallow:.3} of what the uplinks allow");
    assert!((0.75..1.0).contains(&shallow), "{shallow}");
}

/// The cable of h4 is slower than the others: each port is held against its own rate.
#[test]
fn the_slowest_port_sets_the_pace_of_a_ring() {
    let mut testbed = testbed(switch(6, "cables = [{ ports = \"4\", rate = \"500Mbit\" }]"));
    let figures = run(&spec(&[Collective::AllReduceRing], &[4 << 20]), &mut testbed);
    let bus = one(&figures, Metric::BusBandwidth, Collective::AllReduceRing);
    within(bus.value, theory(Collective::AllReduceRing, 6) / 2.0, 0.01, "half as fast");
    let last = bus.text(Key::LastRank).expect("a port");
    assert!(["h4/eth1", "h5/eth1"].contains(&last), "{last} received over the slow cable");
    let share = one(&figures, Metric::LinkShare, Collective::AllReduceRing).value;
    within(share, 1448.0 / 1460.0 / ACKS, 0.01, "share of what the links allow");
    let jain = one(&figures, Metric::JainIndex, Collective::AllReduceRing).value.expect("an index");
    let spread =
        one(&figures, Metric::StepSpread, Collective::AllReduceRing).value.expect("a ratio");
    assert!(jain > 0.9 && jain <= 1.0 && (1.0..1.5).contains(&spread), "{jain}, {spread}");
}

/// The smallest size takes a few latencies, and more octets never take less time.
#[test]
fn small_sizes_take_latencies() {
    let device = "forwarding = { mode = \"store-and-forward\", latency = \"10us\" }";
    let sizes = [8, 1024, 1 << 16];
    let spec = spec(&[Collective::AllReduceRing, Collective::AllReduceTree], &sizes);
    let figures = run(&spec, &mut testbed(switch(8, device)));
    for (collective, hops) in [(Collective::AllReduceRing, 14.0), (Collective::AllReduceTree, 6.0)]
    {
        let times: Vec<f64> = figures
            .iter()
            .filter(|f| f.metric == Metric::CollectiveTime)
            .filter(|f| f.text(Key::Collective) == Some(collective.as_str()))
            .map(|f| f.value.expect("a time"))
            .collect();
        assert_eq!(times.len(), sizes.len());
        let hop = times[0] / hops;
        assert!((10_000.0..13_000.0).contains(&hop), "{collective}: {hop} ns a hop");
        assert!(times.is_sorted(), "{times:?}");
    }
}

#[test]
fn a_host_that_dies_leaves_no_value() {
    let death = Death { host: 3, after: Nanos::from_millis(1) };
    let hosts = HostModel { dies: Some(death), ..HostModel::ideal(8) };
    let mut testbed = VirtualTestbed::new("sim:dies", switch(8, ""), hosts, 1);
    let figures = run(&spec(&[Collective::AllReduceRing], &[1 << 20]), &mut testbed);
    let bus = one(&figures, Metric::BusBandwidth, Collective::AllReduceRing);
    assert_eq!(bus.value, None);
    let known = [Caveat::NoValidTrial, Caveat::NoneCompleted];
    assert!(bus.caveats.iter().any(|caveat| known.contains(caveat)), "{:?}", bus.caveats);
}

#[test]
fn what_no_collective_can_be_is_refused() {
    let refused = |spec: FabricSpec, ports: u32, expected: &str| {
        let testbed = testbed(switch(ports, ""));
        let problem = StudySpec::Fabric(spec).check(testbed.topology()).expect_err(expected);
        assert!(problem.to_string().contains(expected), "{problem}");
    };
    let ring = |sizes: &[u64]| spec(&[Collective::AllReduceRing], sizes);
    let nodes = Nodes::These(vec![1000]);
    refused(FabricSpec { nodes, ..ring(&[8]) }, 8, "a number of nodes is 1000, but must be");
    refused(ring(&[(1 << 30) + 1]), 8, "a collective's size is");
    refused(ring(&[0]), 8, "a collective's size is 0B");
    refused(ring(&[]), 8, "no collective size");
    let carrier = Carrier::Datagrams { credits: 8 };
    refused(FabricSpec { carrier, ..ring(&[8]) }, 8, "the carrier of a collective is datagrams");
    let all = spec(&[Collective::AllToAll], &[8]);
    refused(all, 300, "the number of ranks is 300, but must be at most 256");
    let ranks = Condition::Integer(2);
    let figures = run(&ring(&[8]), &mut testbed(switch(2, "")));
    let bus = one(&figures, Metric::BusBandwidth, Collective::AllReduceRing);
    assert_eq!(bus.conditions.get(&Key::Nodes), Some(&ranks), "two hosts are enough");
    assert!(Schedule::new(Collective::AllReduceRing, 1, 8).is_err());
}
