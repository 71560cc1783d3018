//! Groups and uplinks told from floods of modelled switches, whose profiles are the truth.
//!
//! Checks random profiles, what faults leave of an answer, and that frames keep their step out of
//! it. Seeds are printed. Never touches the network.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::Nanos;
use page::Condition;
use page::{Caveat, Figure, Key, Metric};
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use study::{Arrangement, FabricSpec, Nodes, StudySpec};
use trial::Testbed;

use crate::trials::{profile, testbed};

fn spec() -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        nodes: Nodes::These(vec![2]),
        messages: Vec::new(),
        duration: Nanos::from_millis(10),
        interval: Nanos::from_millis(10),
        blocks: study::Blocks::known(1),
        tries: study::Tries::known(1),
        infer: true,
        ..FabricSpec::quick()
    }
}

fn figures(testbed: &mut dyn Testbed, seed: u64) -> Vec<Figure> {
    StudySpec::Fabric(spec()).run(testbed, seed).expect("every trial runs")
}

fn text(figure: &Figure, key: impl Borrow<Key>) -> Option<String> {
    figure.conditions.get(key.borrow()).map(Condition::to_string)
}

fn answer(figures: &[Figure]) -> &Figure {
    figures.iter().find(|f| f.metric == Metric::PortGroups).expect("an answer")
}

/// `h1/eth1 to h3/eth1, h7/eth1` as the device's ports, from 1.
fn ports(names: &str) -> Vec<usize> {
    let place = |name: &str| -> usize {
        name.split('/').next().unwrap_or_default()[1..].parse().expect("a host's number")
    };
    let part = |part: &str| match part.split_once(" to ") {
        Some((first, last)) => (place(first)..=place(last)).collect(),
        None => vec![place(part)],
    };
    names.split(", ").flat_map(part).collect()
}

fn told(figures: &[Figure]) -> Option<Vec<Vec<usize>>> {
    Some(text(answer(figures), Key::Groups)?.split("; ").map(ports).collect())
}

/// A random switch.
struct Switch {
    text: String,
    groups: Vec<Vec<usize>>,
    ratio: f64,
}

impl Switch {
    /// Of 8 to `largest` ports in 1 to 6 groups of neighbours or of scattered ports.
    fn random(seed: u64, largest: usize) -> Self {
        let mut chance = Pcg64::seed_from_u64(seed);
        let total: usize = chance.random_range(8..=largest);
        let count: usize = chance.random_range(1..=6).min(total / 3);
        let ratio = if count == 1 || chance.random_range(0..4) == 0 {
            1.0
        } else {
            chance.random_range(1.2..=4.0)
        };
        let mut order: Vec<usize> = (1..=total).collect();
        if chance.random() {
            order.shuffle(&mut chance);
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for at in 0..count {
            let mut group = order[at * total / count..(at + 1) * total / count].to_vec();
            group.sort_unstable();
            groups.push(group);
        }
        groups.sort();
        let named = |group: &Vec<usize>| {
            let ports: Vec<String> = group.iter().map(usize::to_string).collect();
            let uplink = (group.len() as f64 / ratio * 1000.0).round();
            format!(r#"{{ ports = "{}", uplink = "{uplink}Mbit" }}"#, ports.join(","))
        };
        let groups_text: Vec<String> = groups.iter().map(named).collect();
        let text = format!(
            r#"
            name = "random"
            ports = {total}
            rate = "1Gbit"
            groups = [{}]
            buffer = {{ total = "1MiB", reserved_per_port = "8KiB", alpha = 1.0 }}
        "#,
            groups_text.join(", ")
        );
        Self { text, groups, ratio }
    }

    fn blocks(&self) -> bool {
        self.ratio > 1.0
    }

    /// What one group's uplink carries, and what passes through it with all others' beside.
    fn uplink(&self, size: u64) -> (f64, f64) {
        let all: usize = self.groups.iter().map(Vec::len).sum();
        let rate = |ports: f64| ports / self.ratio * 1e9;
        (rate(size as f64), rate((size as f64).min(all as f64 - size as f64)))
    }
}

/// What was told of one.
struct Told {
    blocks: bool,
    right: bool,
    /// By how much an uplink is off, at most, where the groups are right.
    off: f64,
}

fn tell(seed: u64, largest: usize) -> Told {
    let switch = Switch::random(seed, largest);
    let figures = figures(&mut testbed(profile(&switch.text)), seed);
    let told = told(&figures);
    let expected = switch.blocks().then_some(&switch.groups);
    let right = told.as_ref() == expected;
    let (ports, groups) = (switch.groups.iter().map(Vec::len).sum::<usize>(), switch.groups.len());
    let verdict = if right { "right" } else { "WRONG" };
    println!("seed {seed}: {ports} ports, {groups} groups, ratio {:.2}: {verdict}", switch.ratio);
    if !right {
        println!("seed {seed}: {expected:?} but told {told:?}");
    }
    let uplinks = figures.iter().filter(|f| f.metric == Metric::UplinkRate && right);
    let off = uplinks.filter_map(|figure| {
        let Some(Condition::Integer(size)) = figure.conditions.get(&Key::GroupSize) else {
            panic!()
        };
        let (own, passes) = switch.uplink(*size);
        // Of two groups nothing tells whose uplink is the narrower, and one as wide as all others
        // together is never full alone: of those no more is said than what passed.
        let bound = figure.conditions.contains_key(&Key::Bound);
        assert!(bound || groups > 2, "seed {seed}: an uplink's rate of two groups");
        Some((figure.value? / if bound { passes } else { own } - 1.0).abs())
    });
    let off = off.fold(0.0, f64::max);
    if off > NEAR {
        println!(
            "seed {seed}: an uplink of {} groups is {:.1} % off",
            switch.groups.len(),
            off * 100.0
        );
    }
    Told { blocks: switch.blocks(), right, off }
}

/// The bar of an uplink's rate.
const NEAR: f64 = 0.05;

#[test]
fn random_switches_are_told_as_they_are() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|value| value == "full");
    let (count, largest) = if full { (200, 48) } else { (6, 24) };
    let next = AtomicU64::new(0);
    let one = || {
        let seeds = std::iter::from_fn(|| {
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < count)
        });
        seeds.map(|seed| tell(seed, largest)).collect::<Vec<_>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let all: Vec<Told> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
    });
    let blocking = all.iter().filter(|one| one.blocks).count();
    let right = all.iter().filter(|one| one.blocks && one.right).count();
    let alarms = all.iter().filter(|one| !one.blocks && !one.right).count();
    let far = all.iter().filter(|one| one.off > NEAR).count();
    println!(
        "{right} of {blocking} blocking switches right, {alarms} of {} others called blocking, {far} with an uplink more than \
         5 % off",
        all.len() - blocking
    );
    assert!(right as f64 >= 0.98 * blocking as f64);
    assert!(alarms as f64 <= 0.01 * (all.len() - blocking) as f64);
    assert_eq!(far, 0);
}

/// Of frames of many sizes a full queue drops the large ones: their count then says 0.1 % too much.
#[test]
fn intervals_of_uplinks_hold_their_rates_on_gigabit_ports() {
    let uplinks = [1_353_371_607.0, 2_170_004_397.0, 1_570_888_674.0];
    let (mut held, mut all) = (0, 0);
    for (seed, pause) in [(1, false), (2, false), (3, true)] {
        let text = format!(
            r#"
            name = "gigabit"
            ports = 12
            rate = "1Gbit"
            groups = [
                {{ ports = "1-4", uplink = "{}bit" }},
                {{ ports = "5-8", uplink = "{}bit" }},
                {{ ports = "9-12", uplink = "{}bit" }},
            ]
            buffer = {{ total = "1MiB", alpha = 1.0 }}
            pause = {pause}
        "#,
            uplinks[0], uplinks[1], uplinks[2]
        );
        let figures = figures(&mut testbed(profile(&text)), seed);
        let is_rate = |figure: &&Figure| {
            figure.metric == Metric::UplinkRate && !figure.conditions.contains_key(&Key::Bound)
        };
        for figure in figures.iter().filter(is_rate) {
            let first = ports(&text_of_ports(figure))[0];
            let truth = uplinks[(first - 1) / 4];
            let (low, high) = (figure.low.expect("an interval"), figure.high.expect("an interval"));
            let off = (figure.value.expect("a rate") / truth - 1.0).abs();
            assert!(off < 0.0005, "seed {seed}: {figure:?}");
            held += u32::from(low <= truth && truth <= high);
            all += 1;
        }
    }
    assert!(all >= 6 && held + 1 >= all, "{held} of {all}");
}

fn text_of_ports(figure: &Figure) -> String {
    text(figure, Key::GroupPorts).expect("a group's ports")
}

/// Of this one a sink in the group of eight hears near and far ports alike.
#[test]
fn groups_that_sinks_take_for_one_are_told_from_pairs() {
    assert!(tell(60, 48).right);
}

#[test]
fn the_demos_switch_is_seen_through() {
    let text = include_str!("../../../../profiles/blocking-16.toml");
    let figures = figures(&mut testbed(profile(text)), 1);
    let expected = [vec![1, 2, 3, 9, 12, 16], vec![4, 5, 10, 13, 14], vec![6, 7, 8, 11, 15]];
    assert_eq!(told(&figures).expect("groups"), expected);
    let rates: Vec<f64> = figures
        .iter()
        .filter(|f| f.metric == Metric::UplinkRate)
        .map(|f| f.value.expect("driven"))
        .collect();
    for (rate, truth) in rates.iter().zip([3.5e9, 3e9, 2.5e9]) {
        assert!((rate / truth - 1.0).abs() < 0.05, "{rates:?}");
    }
    assert!(!answer(&figures).caveats.contains(&Caveat::NotResolved));
}
