//! Groups and uplinks told from floods, against random devices whose structure is known.
//!
//! Checks how often all groups are right, how near the uplinks' rates are, how often blocking is
//! seen where there is none, and what it costs. Seeds are printed. Never touches the network.

mod bed;
mod blind;
mod devices;

use std::collections::BTreeMap;

use measure::Nanos;
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Verdict};
use study::{Arrangement, FabricSpec, Nodes, StudySpec};
use trial::Testbed as _;

use rand::SeedableRng as _;
use rand_pcg::Pcg64;

use bed::{Bed, Floods, Model};
use devices::Case;

/// What a study told of a device.
#[derive(Debug)]
struct Told {
    /// Sorted; none where the device is called clean, empty where groups are not told.
    groups: Option<Vec<Vec<usize>>>,
    /// By the group's first port, in ports' rates.
    uplinks: BTreeMap<usize, Uplink>,
    confidence: f64,
    excess: Option<f64>,
    trials: u64,
    missing: Option<String>,
    local: Option<f64>,
}

/// What was told of an uplink.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Uplink {
    /// The device's, at 95 %.
    Rate {
        value: f64,
        low: f64,
        high: f64,
    },
    /// Nothing filled it, or nothing tells that it was this one that was full.
    AtLeast(f64),
    Unknown,
}

impl Uplink {
    fn of(figure: &Figure) -> Self {
        let gigabits = |rate: Option<f64>| rate.map(|rate| rate / 1e9);
        let (value, low, high) =
            (gigabits(figure.value), gigabits(figure.low), gigabits(figure.high));
        match (value, low, high) {
            (Some(value), low, high) if figure.verdict == Verdict::DeviceLimited => {
                Self::Rate { value, low: low.unwrap_or(value), high: high.unwrap_or(value) }
            }
            (_, Some(low), None) => Self::AtLeast(low),
            _ => Self::Unknown,
        }
    }
}

fn spec() -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        nodes: Nodes::These(vec![2]),
        messages: Vec::new(),
        blocks: study::Blocks::known(1),
        tries: study::Tries::known(1),
        infer: true,
        interval: Nanos::from_millis(100),
        ..FabricSpec::quick()
    }
}

fn told(model: &Model, seed: u64) -> Told {
    told_by(spec(), &mut Floods::bed(model.clone(), seed), seed)
}

fn told_by(spec: FabricSpec, bed: &mut Bed, seed: u64) -> Told {
    let study = StudySpec::Fabric(spec);
    study.check(bed.topology()).expect("a possible study");
    let figures = study.run(bed, seed).expect("the model never dies");
    let of = |metric| figures.iter().filter(move |figure: &&Figure| figure.metric == metric);
    let answer = of(Metric::PortGroups).next().expect("an answer either way");
    let number = |figure: &Figure, key: Key| match figure.conditions.get(&key) {
        Some(Condition::Number(number)) => Some(*number),
        _ => None,
    };
    let text = |figure: &Figure, key: Key| figure.conditions.get(&key).map(Condition::to_string);
    let clean = answer.caveats.contains(&Caveat::DeviceNotDriven);
    let groups = text(answer, Key::Groups).map(|names| names.split("; ").map(ports).collect());
    let uplinks = of(Metric::UplinkRate).filter_map(|figure| {
        let first = ports(&text(figure, Key::GroupPorts)?)[0];
        Some((first, Uplink::of(figure)))
    });
    assert_eq!(answer.n, bed.trials as u64, "every flood was counted");
    Told {
        groups: if clean { None } else { Some(groups.unwrap_or_default()) },
        uplinks: uplinks.collect(),
        confidence: number(answer, Key::GroupsConfidence).unwrap_or(0.0),
        excess: number(answer, Key::ExcessSeen),
        trials: answer.n,
        missing: text(answer, Key::PortsMissing)
            .map(|ports| format!("{ports} {}", text(answer, Key::PortsMissingFor).expect("why"))),
        local: number(answer, Key::LocalShare),
    }
}

/// `h1/eth1 to h3/eth1, h7/eth1` as places.
fn ports(names: &str) -> Vec<usize> {
    let place = |name: &str| -> usize {
        let host = name.split('/').next().unwrap_or_default();
        host.trim_start_matches('h').parse::<usize>().expect("a host's number") - 1
    };
    let part = |part: &str| match part.split_once(" to ") {
        Some((first, last)) => (place(first)..=place(last)).collect(),
        None => vec![place(part)],
    };
    names.split(", ").flat_map(part).collect()
}

fn full() -> bool {
    std::env::var("SWITCHMARK_TESTS").is_ok_and(|value| value == "full")
}

/// The bar: 200 random devices, of which a part in the quick profile.
#[test]
fn random_devices_are_told_as_they_are() {
    let count = if full() { 200 } else { 30 };
    let (mut right, mut wanted, mut blocked, mut open) = (0, 0, 0, 0);
    let mut wrong_rates = Vec::new();
    let mut trials: Vec<u64> = Vec::new();
    for seed in 0..count {
        let case = Case::random(seed);
        let told = told(&case.model(), seed);
        trials.push(told.trials);
        if case.ratio <= 1.0 || case.groups.len() < 2 {
            open += 1;
            if told.groups.is_some() {
                blocked += 1;
                println!("seed {seed}: {case}: blocking where there is none: {told:?}");
            }
        } else if case.ratio >= 1.2 {
            wanted += 1;
            if told.groups.as_ref() == Some(&case.groups) {
                right += 1;
                if case.wrong_rates(&told.uplinks).next().is_some() {
                    println!("seed {seed}: {case}: {told:?}");
                }
                wrong_rates.extend(case.wrong_rates(&told.uplinks).map(|wrong| (seed, wrong)));
            } else {
                println!("seed {seed}: {case}: {told:?}");
            }
        }
    }
    trials.sort_unstable();
    println!(
        "{right} of {wanted} oversubscribed devices right, {blocked} of {open} others called blocking, \
         {} rates off by over 5 %: {wrong_rates:?}; trials: median {}, most {}",
        wrong_rates.len(),
        trials[trials.len() / 2],
        trials[trials.len() - 1]
    );
    assert!(f64::from(right) >= 0.98 * f64::from(wanted), "{right} of {wanted}");
    assert!(f64::from(blocked) <= 0.01 * f64::from(open), "{blocked} of {open}");
    assert!(wrong_rates.is_empty(), "{wrong_rates:?}");
}

fn four_groups(ports: usize, ratio: f64, scattered: bool, seed: u64) -> Case {
    let mut chance = Pcg64::seed_from_u64(seed);
    Case::of(ports, 4, ratio, (scattered, true), &mut chance)
}

/// What certainty costs, against the tournament that meets every pair once.
#[test]
fn certainty_costs_less_than_meeting_every_pair() {
    let ratios = [1.2, 1.5, 2.0, 3.0, 4.0];
    println!("floods to certainty, four scattered groups (a tournament takes one less than ports)");
    println!("ports  ratio {ratios:?}");
    for ports in [8, 16, 24, 32, 48] {
        let cost = |ratio: &f64| {
            let case = four_groups(ports, *ratio, true, ports as u64);
            let told = told(&case.model(), 5);
            assert_eq!(told.groups, Some(case.groups), "{ports} ports, ratio {ratio}");
            assert!(told.confidence > 0.99, "{ports} ports, ratio {ratio}: {}", told.confidence);
            told.trials
        };
        let trials: Vec<u64> = ratios.iter().map(cost).collect();
        println!("{ports:5}  {trials:?}");
        assert!(ports < 48 || trials.iter().all(|trials| *trials < 47), "{trials:?}");
    }
}

/// Faults take their port out of the answer and nothing else.
#[test]
fn a_fault_leaves_the_rest_of_the_map() {
    type Hurt = fn(&mut Model);
    // Port 3 is h3, an odd number of ports stays: 23 of 24.
    let table: [(&str, Hurt); 5] = [
        ("h3/eth1 silent", |model| {
            model.mute.push((2, 0));
            model.deaf.push((2, 0));
        }),
        ("h3/eth1 sends-nothing", |model| model.mute.push((2, 0))),
        ("h3/eth1 receives-nothing", |model| model.deaf.push((2, 0))),
        ("h3/eth1 silent", |model| {
            // In the middle: after the look and the first sinks.
            model.mute.push((2, 6));
            model.deaf.push((2, 6));
        }),
        ("h3/eth1 silent", |model| {
            // Once the groups are known.
            model.mute.push((2, 9));
            model.deaf.push((2, 9));
        }),
    ];
    for (at, (expected, hurt)) in table.into_iter().enumerate() {
        let case = four_groups(24, 2.0, true, 11);
        let mut model = case.model();
        hurt(&mut model);
        let told = told(&model, 3);
        assert_eq!(told.missing.as_deref(), Some(expected), "fault {at}");
        let without = |group: &Vec<usize>| group.iter().copied().filter(|p| *p != 2).collect();
        let mut groups: Vec<Vec<usize>> = case.groups.iter().map(without).collect();
        groups.sort();
        assert_eq!(told.groups, Some(groups), "fault {at}");
        assert!(told.local.is_some_and(|share| share > 0.97), "fault {at}: {:?}", told.local);
    }
}

/// Two speeds in every group: the uplink is told in the slower port's rate.
#[test]
fn ports_of_mixed_speed_share_uplinks_too() {
    let case = four_groups(24, 2.0, false, 1);
    let mut model = case.model();
    for port in (0..24).step_by(2) {
        model.rates[port] = 2.5;
    }
    // Of three fast and three slow ports: 10.5 Gbit/s to 5.25.
    model.uplinks = vec![5.25; 4];
    let told = told(&model, 2);
    assert_eq!(told.groups, Some(case.groups));
    for (group, rate) in &told.uplinks {
        let near = |rate: f64| (rate / 5.25 - 1.0).abs() < 0.05;
        assert!(matches!(rate, Uplink::Rate { value, .. } if near(*value)), "{group}: {rate:?}");
    }
}

/// A switch that sends everything everywhere holds everybody up alike: that is said, and no group.
#[test]
fn a_switch_that_floods_has_no_groups() {
    let mut model = Model::new(vec![0; 12], vec![f64::INFINITY]);
    model.flooded = 0.5;
    let told = told(&model, 4);
    assert_eq!(told.groups, Some(Vec::new()), "{told:?}");
}

/// What is promised of a clean device holds for one that is oversubscribed by so much.
#[test]
fn what_would_have_been_seen_is_seen() {
    let count = if full() { 100 } else { 8 };
    let mut seen = 0;
    for seed in 0..count {
        let mut chance = Pcg64::seed_from_u64(seed);
        let case = Case::of(24, 2, 1.0, (true, true), &mut chance);
        let clean = told(&case.model(), seed);
        assert_eq!(clean.groups, None, "seed {seed}");
        let excess = clean.excess.expect("a promise");
        assert!(excess < 0.35, "seed {seed}: {excess}");
        let blocking = Case { ratio: 1.0 + excess, ..case };
        let told = told(&blocking.model(), seed + 1000);
        seen += u32::from(told.groups.is_some());
        if told.groups.is_none() {
            println!("seed {seed}: {excess:.3} was not seen");
        }
    }
    println!("{seen} of {count} seen");
    assert!(f64::from(seen) >= 0.95 * count as f64, "{seen} of {count}");
}

/// Something else held up one round inside the groups, and fresh rounds are clean: it was not the
/// groups.
#[test]
fn a_disturbed_round_splits_no_group() {
    for (groups, seed) in [2, 3, 4].into_iter().flat_map(|g| [(g, 0), (g, 1), (g, 2)]) {
        let mut chance = Pcg64::seed_from_u64(seed);
        let case = Case::of(24, groups, 2.0, (seed == 2, true), &mut chance);
        let told = told(&Model { disturbed: 0.15, ..case.model() }, seed);
        assert_eq!(told.groups.as_ref(), Some(&case.groups), "seed {seed}: {case}: {told:?}");
    }
}
