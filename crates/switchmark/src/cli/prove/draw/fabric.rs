//! Switches whose ports share uplinks: short ones, unlike ones that the others cannot fill, and
//! none; of all of them some that have hosts pause where others drop.

use std::fmt::Write as _;

use measure::Rate;
use page::{Condition, Key, Metric, Unit};
use study::Profile;
use study::prove::{Known, Truth};

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;

/// Kinds, taken in turn.
pub const KINDS: [Kind; 3] = [Kind::ShortUplinks, Kind::UnfillableUplinks, Kind::LineRate];

/// Draws a device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let rate = match rigor {
        Profile::Quick => chance.one(&[1e8, 1e8, 1e9, 1e9, 1e9, 1e10]),
        Profile::Strict => chance.one(&[1e6, 1e7]),
    };
    let total = 2 * chance.whole(4, 7);
    let mut profile = format!(
        "name = \"{}\"\nports = {total}\nrate = \"{}\"\nbuffer = {}\n",
        kind.as_str().replace(' ', "-"),
        Rate(rate as u64),
        buffer(chance, total),
    );
    let pauses = chance.yes(PAUSING);
    if pauses {
        profile.push_str("pause = true\n");
    }
    let truths = match kind {
        Kind::LineRate => vec![nonblocking(true)],
        _ => uplinks(chance, kind, rate, total, &mut profile),
    };
    let question = Question::Fabric {};
    Case { world, kind, seed: chance.seed(), rigor, mtu: 1500, profile, question, truths }
}

/// The share of devices that have hosts pause (802.3x) where others drop.
const PAUSING: f64 = 0.4;

/// A queue holds 60 to 1,000 of a flood's frames, where no other does.
fn buffer(chance: &mut Chance, ports: u64) -> String {
    let total = chance.by_decades(2e5, 3e6).round();
    let alpha = chance.one(&[0.5, 1.0, 4.0, 8.0]);
    let reserve =
        if chance.yes(0.5) { chance.between(0.0, total / (2.0 * ports as f64)) } else { 0.0 };
    format!(
        "{{ total = \"{total}B\", reserved_per_port = \"{}B\", alpha = {alpha:?} }}",
        reserve.round()
    )
}

fn nonblocking(yes: bool) -> Truth {
    Truth::new(Metric::Nonblocking, Unit::Flag, Known::Flag(yes))
}

fn uplinks(
    chance: &mut Chance,
    kind: Kind,
    rate: f64,
    total: u64,
    profile: &mut String,
) -> Vec<Truth> {
    let groups = groups(chance, total);
    let alike = chance.between(1.3, 4.0);
    let rates: Vec<f64> = groups
        .iter()
        .enumerate()
        .map(|(at, group)| {
            // The first of the unlike uplinks could take more than all others have.
            let ratio = match kind {
                Kind::UnfillableUplinks if at == 0 => chance.between(0.3, 0.9),
                Kind::UnfillableUplinks => chance.between(1.5, 4.0),
                _ => alike,
            };
            (group.len() as f64 * rate / ratio).round()
        })
        .collect();
    let named = groups.iter().zip(&rates).map(|(group, uplink)| {
        let ports: Vec<String> = group.iter().map(u32::to_string).collect();
        let uplink = Rate(*uplink as u64);
        format!("{{ ports = \"{}\", uplink = \"{uplink}\" }}", ports.join(","))
    });
    let _ = writeln!(profile, "groups = [{}]", named.collect::<Vec<_>>().join(", "));
    let mut truths = Vec::new();
    truths.push(nonblocking(false));
    if kind == Kind::ShortUplinks {
        let mut known = groups.clone();
        known.sort();
        truths.push(Truth::new(Metric::PortGroups, Unit::Count, Known::Groups(known)));
    }
    for (at, (group, uplink)) in groups.iter().zip(&rates).enumerate() {
        // Nothing beyond what the others bring or take crosses it; with two groups it is unknown
        // whose uplink is full.
        let others: f64 = rates.iter().enumerate().filter(|(o, _)| *o != at).map(|(_, r)| r).sum();
        let fillable = groups.len() > 2
            && *uplink <= others * 0.95
            && *uplink < 0.95 * group.len() as f64 * rate;
        let known = Known::Number { low: *uplink, high: *uplink };
        let truth = Truth::new(Metric::UplinkRate, Unit::BitsPerSecond, known);
        truths.push(truth.at(Key::GroupPorts, named_ports(group)).reachable(fillable));
    }
    truths
}

/// Draws groups of neighbouring or of scattered ports, at least three each.
fn groups(chance: &mut Chance, total: u64) -> Vec<Vec<u32>> {
    let count = chance.whole(2, (total / 3).min(4)) as usize;
    let mut order: Vec<u32> = (1..=total as u32).collect();
    if chance.yes(0.5) {
        chance.shuffle(&mut order);
    }
    let total = total as usize;
    (0..count)
        .map(|at| {
            let mut group = order[at * total / count..(at + 1) * total / count].to_vec();
            group.sort_unstable();
            group
        })
        .collect()
}

fn named_ports(group: &[u32]) -> Condition {
    Condition::List(group.iter().map(|port| format!("h{port}/eth1")).collect())
}
