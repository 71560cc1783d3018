//! Devices that nobody chose: groups of unequal sizes behind unequal uplinks, some of which nothing
//! can fill, with noise and random loss. Every claim is held against the truth, by the confidence
//! it states.
//!
//! Owns the draw, what may be called right, and the table. Never touches the network.

use std::fmt;

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::bed::Model;
use super::{Told, Uplink, full, told};

/// An uplink that is short by less than this share is as good as one that is not: two groups of
/// such may be told as one.
const RESOLVED: f64 = 0.10;

/// What is allowed beside an interval (a rate's) or a bound.
const NEAR: f64 = 0.01;

/// A device as drawn.
struct Blind {
    groups: Vec<Vec<usize>>,
    /// In ports' rates.
    uplinks: Vec<f64>,
    noise: f64,
    loss: f64,
}

impl Blind {
    /// 8…48 ports in 1…6 groups of two or more; an uplink carries a quarter to nearly all of what
    /// its ports send, or, in every fourth group, up to three times as much.
    fn random(seed: u64) -> Self {
        let mut chance = Pcg64::seed_from_u64(seed ^ 0xb11d);
        let ports: usize = chance.random_range(8..=48);
        let count: usize = chance.random_range(1..=6).min(ports / 2);
        let mut order: Vec<usize> = (0..ports).collect();
        if chance.random() {
            order.shuffle(&mut chance);
        }
        let mut sizes = vec![2; count];
        let weights: Vec<f64> = (0..count).map(|_| chance.random_range(0.2..1.0)).collect();
        for _ in 2 * count..ports {
            let mut at = chance.random_range(0.0..weights.iter().sum());
            let group = weights.iter().position(|weight| {
                at -= weight;
                at <= 0.0
            });
            sizes[group.unwrap_or(0)] += 1;
        }
        let mut rest = &order[..];
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for size in sizes {
            let mut group = rest[..size].to_vec();
            group.sort_unstable();
            groups.push(group);
            rest = &rest[size..];
        }
        groups.sort();
        let uplinks = groups.iter().map(|group| {
            let size = group.len() as f64;
            if chance.random_range(0..4) == 0 {
                size * chance.random_range(1.0..3.0)
            } else {
                size / (chance.random_range(0.05_f64..1.4)).exp()
            }
        });
        let uplinks = uplinks.collect();
        let noise = chance.random_range(0.002_f64.ln()..0.03_f64.ln()).exp();
        let loss = if chance.random() {
            chance.random_range(1e-5_f64.ln()..1e-2_f64.ln()).exp()
        } else {
            0.0
        };
        Self { groups, uplinks, noise, loss }
    }

    /// The 20 ports of which one draw of eight was once told as two groups, for certain.
    fn twenty() -> Self {
        let groups = vec![(0..5).collect(), (5..8).collect(), (8..20).collect()];
        Self { groups, uplinks: vec![4.0, 2.14, 2.67], noise: 0.02, loss: 0.0 }
    }

    fn ports(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    fn model(&self) -> Model {
        let group = |port| self.groups.iter().position(|group| group.contains(&port));
        let group_of = (0..self.ports()).filter_map(group).collect();
        let model = Model::new(group_of, self.uplinks.clone());
        Model { noise: self.noise, loss: self.loss, ..model }
    }

    /// By how much, at most, one-to-one traffic can overfill a group's uplink.
    fn excess(&self, group: usize) -> f64 {
        let size = self.groups[group].len();
        size.min(self.ports() - size) as f64 / self.uplinks[group] - 1.0
    }

    /// Whether a group's own ports cannot overfill its uplink by anything that matters.
    fn is_wide(&self, group: usize) -> bool {
        self.groups[group].len() as f64 / self.uplinks[group] - 1.0 <= RESOLVED
    }

    /// Each group that was told is one of the device's, or several whose uplinks are all wide.
    fn is_right(&self, told: &[Vec<usize>]) -> bool {
        told.iter().all(|ports| {
            let inside = |group: &Vec<usize>| group.iter().all(|port| ports.contains(port));
            let met = |group: &Vec<usize>| group.iter().any(|port| ports.contains(port));
            let of: Vec<usize> =
                (0..self.groups.len()).filter(|at| met(&self.groups[*at])).collect();
            let whole = of.iter().all(|at| inside(&self.groups[*at]));
            match of[..] {
                [_] if whole => true,
                // A part of one whose uplink never matters.
                [one] => self.is_wide(one),
                _ => of.iter().all(|at| self.is_wide(*at)),
            }
        })
    }

    /// The device's group that was told with this first port, where it is that one.
    fn truth_of(&self, ports: &[usize]) -> Option<usize> {
        self.groups.iter().position(|group| group == ports)
    }
}

impl fmt::Display for Blind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<usize> = self.groups.iter().map(Vec::len).collect();
        let uplinks: Vec<String> = self.uplinks.iter().map(|u| format!("{u:.2}")).collect();
        write!(f, "{sizes:?} uplinks {uplinks:?} noise {:.4} loss {:.5}", self.noise, self.loss)
    }
}

/// Claims of one kind, and how many were right.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    claims: u32,
    right: u32,
}

impl Count {
    fn add(&mut self, right: bool) {
        self.claims += 1;
        self.right += u32::from(right);
    }

    const fn wrong(self) -> u32 {
        self.claims - self.right
    }
}

/// All claims, by kind.
#[derive(Debug, Default)]
struct Table {
    sure: Count,
    likely: Count,
    open: u32,
    nothing_short: Count,
    rates: Count,
    at_least: Count,
    floods: Vec<u64>,
}

impl Table {
    fn add(&mut self, seed: u64, device: &Blind, told: &Told) {
        self.floods.push(told.trials);
        let Some(groups) = &told.groups else {
            // None is oversubscribed by more than was promised.
            let excess = told.excess.unwrap_or(f64::INFINITY);
            let right = (0..device.groups.len()).all(|group| device.excess(group) <= excess);
            self.nothing_short.add(right);
            if !right {
                println!("seed {seed}: {device}: nothing short: {told:?}");
            }
            return;
        };
        if groups.is_empty() || told.confidence < 0.95 {
            self.open += 1;
            return;
        }
        let right = device.is_right(groups);
        if told.confidence >= 0.99 { &mut self.sure } else { &mut self.likely }.add(right);
        if !right {
            println!("seed {seed}: {device}: {told:?}");
            return;
        }
        for ports in groups {
            let Some(uplink) = told.uplinks.get(&ports[0]) else { continue };
            let Some(truth) = device.truth_of(ports).map(|at| device.uplinks[at]) else { continue };
            let right = match uplink {
                Uplink::Rate { low, high, .. } => {
                    let right = (low * (1.0 - NEAR)..=high * (1.0 + NEAR)).contains(&truth);
                    self.rates.add(right);
                    right
                }
                Uplink::AtLeast(low) => {
                    let right = *low <= truth * (1.0 + NEAR);
                    self.at_least.add(right);
                    right
                }
                Uplink::Unknown => true,
            };
            if !right {
                println!("seed {seed}: {device}: {uplink:?}, truth {truth:.3}");
            }
        }
    }

    fn print(&mut self) {
        self.floods.sort_unstable();
        let rows = [
            ("groups at 99 % and more", self.sure),
            ("groups at 95 to 99 %", self.likely),
            ("nothing short, at 99 %", self.nothing_short),
            ("an uplink's rate, at 95 %", self.rates),
            ("an uplink at least", self.at_least),
        ];
        println!("claim                      made  right");
        for (name, count) in rows {
            println!("{name:26} {:4}  {:5}", count.claims, count.right);
        }
        println!(
            "left open: {} of {}; floods: median {}, most {}",
            self.open,
            self.floods.len(),
            self.floods[self.floods.len() / 2],
            self.floods[self.floods.len() - 1]
        );
    }
}

/// So many devices.
fn count() -> u64 {
    std::env::var("SWITCHMARK_DEVICES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(if full() { 1000 } else { 30 })
}

#[test]
fn claims_are_as_right_as_they_say() {
    let mut table = Table::default();
    for seed in 0..count() {
        let device = Blind::random(seed);
        table.add(seed, &device, &told(&device.model(), seed));
    }
    table.print();
    let all = |count: Count| f64::from(count.claims);
    // One in so few may be wrong by chance.
    let allowed = |count: Count, share: f64| (share * all(count)).max(1.0);
    assert!(f64::from(table.sure.wrong()) <= allowed(table.sure, 0.01), "{table:?}");
    assert!(f64::from(table.likely.wrong()) <= allowed(table.likely, 0.05), "{table:?}");
    assert!(f64::from(table.nothing_short.wrong()) <= allowed(table.nothing_short, 0.01));
    assert!(f64::from(table.rates.wrong()) <= allowed(table.rates, 0.05), "{table:?}");
    assert!(f64::from(table.at_least.wrong()) <= allowed(table.at_least, 0.01), "{table:?}");
    assert!(f64::from(table.open) <= 0.1 * table.floods.len() as f64, "{table:?}");
}

#[test]
fn three_groups_are_not_taken_for_two() {
    let device = Blind::twenty();
    for seed in 0..if full() { 200 } else { 8 } {
        let told = told(&device.model(), seed);
        let right = told.groups.as_ref() == Some(&device.groups);
        assert!(right || told.confidence < 0.95, "seed {seed}: {told:?}");
    }
}
