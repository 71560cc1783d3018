//! Groups and uplinks told from floods of modelled switches, whose profiles are the truth.
//!
//! Checks random profiles, what faults leave of an answer, and that frames keep their step out of it.
//! Seeds are printed. Never touches the network.

mod trials;

use measure::Nanos;
use method::figure::Condition;
use method::{Arrangement, Caveat, FabricSpec, Figure, Metric, Nodes, StudySpec, Testbed};
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use trials::{profile, testbed};

fn spec() -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        nodes: Nodes::These(vec![2]),
        messages: Vec::new(),
        duration: Nanos::from_millis(10),
        interval: Nanos::from_millis(10),
        blocks: 1,
        tries: 1,
        infer: true,
        ..FabricSpec::quick()
    }
}

fn figures(testbed: &mut dyn Testbed, seed: u64) -> Vec<Figure> {
    StudySpec::Fabric(spec()).run(testbed, seed).expect("every trial runs")
}

fn text(figure: &Figure, key: &str) -> Option<String> {
    match figure.conditions.get(key) {
        Some(Condition::Text(text)) => Some(text.clone()),
        _ => None,
    }
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
    Some(text(answer(figures), "groups")?.split("; ").map(ports).collect())
}

/// A random switch: its text, its groups, and how far they are oversubscribed.
fn random(seed: u64) -> (String, Vec<Vec<usize>>, f64) {
    let mut chance = Pcg64::seed_from_u64(seed);
    let count: usize = chance.random_range(2..=4);
    let total: usize = chance.random_range(8..=24).max(3 * count);
    let ratio = if chance.random_range(0..4) == 0 { 1.0 } else { chance.random_range(1.2..=4.0) };
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
    (text, groups, ratio)
}

#[test]
fn random_switches_are_told_as_they_are() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|value| value == "full");
    let count = if full { 40 } else { 6 };
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..count {
        let (text, groups, ratio) = random(seed);
        let figures = figures(&mut testbed(profile(&text)), seed);
        let told = told(&figures);
        let expected = (ratio > 1.0).then_some(groups);
        if told == expected {
            right += 1;
        } else {
            wrong += 1;
            println!("seed {seed}: ratio {ratio:.2}, {expected:?} but told {told:?}");
            println!("{:#?}", answer(&figures).conditions);
        }
        for uplink in figures.iter().filter(|f| f.metric == Metric::UplinkRate) {
            let Some(Condition::Integer(size)) = uplink.conditions.get("group_size") else {
                panic!()
            };
            let Some(rate) = uplink.value else { continue };
            let truth = *size as f64 / ratio * 1e9;
            let two = expected.as_ref().is_some_and(|groups| groups.len() == 2);
            let near = if two { 1.0..1.34 } else { 0.95..1.05 };
            let off = truth / rate;
            assert!(
                near.contains(&off) || (off - 1.0).abs() < 0.05,
                "seed {seed}: {rate} of {truth}"
            );
        }
    }
    println!("{right} right, {wrong} wrong");
    assert_eq!(wrong, 0, "of {count}");
}

#[test]
fn the_demos_switch_is_seen_through() {
    let text = include_str!("../../../profiles/blocking-16.toml");
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
