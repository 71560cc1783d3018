//! Random devices: their groups, how far their uplinks are oversubscribed, and what may be told of
//! them.
//!
//! Owns the draw. Never measures.

use std::collections::BTreeMap;
use std::fmt;

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::Uplink;
use super::bed::Model;

/// A device as drawn.
pub struct Case {
    /// Each ascending, in the order of their first ports.
    pub groups: Vec<Vec<usize>>,
    /// Of a group's ports to its uplink.
    pub ratio: f64,
    pub kind: String,
}

impl Case {
    /// 8…48 ports in 1…6 groups of two or more, neighbouring or scattered, equal or not; a third of
    /// the devices are not oversubscribed.
    pub fn random(seed: u64) -> Self {
        let mut chance = Pcg64::seed_from_u64(seed);
        let ports = chance.random_range(8..=48);
        let count = chance.random_range(1..=6).min(ports / 2);
        let (scattered, equal): (bool, bool) = (chance.random(), chance.random());
        let ratio = match chance.random_range(0..3) {
            0 => 1.0,
            _ => chance.random_range(1.0..=4.0),
        };
        Self::of(ports, count, ratio, (scattered, equal), &mut chance)
    }

    pub fn of(
        ports: usize,
        count: usize,
        ratio: f64,
        (scattered, equal): (bool, bool),
        chance: &mut Pcg64,
    ) -> Self {
        let mut sizes = vec![2; count];
        for port in 2 * count..ports {
            let group = if equal { port % count } else { chance.random_range(0..count) };
            sizes[group] += 1;
        }
        let mut order: Vec<usize> = (0..ports).collect();
        if scattered {
            order.shuffle(chance);
        }
        let mut groups = Vec::new();
        let mut rest = &order[..];
        for size in &sizes {
            let mut group = rest[..*size].to_vec();
            group.sort_unstable();
            groups.push(group);
            rest = &rest[*size..];
        }
        groups.sort();
        let kind = if scattered { "scattered" } else { "neighbouring" };
        Self { groups, ratio, kind: format!("{kind} {sizes:?}") }
    }

    pub fn model(&self) -> Model {
        let ports: usize = self.groups.iter().map(Vec::len).sum();
        let group = |port| self.groups.iter().position(|group| group.contains(&port));
        let group_of = (0..ports).filter_map(group).collect();
        Model::new(group_of, self.groups.iter().map(|group| self.uplink(group)).collect())
    }

    fn uplink(&self, group: &[usize]) -> f64 {
        group.len() as f64 / self.ratio
    }

    /// Rates that are off by more than 5 %, or missing where floods could fill that uplink alone.
    /// Of two groups nothing tells whose uplink is the narrower, and one that carries as much as
    /// all others' together is never full alone: what each carries at least is told of those.
    pub fn wrong_rates<'a>(
        &'a self,
        told: &'a BTreeMap<usize, Uplink>,
    ) -> impl Iterator<Item = (usize, Uplink)> + 'a {
        let all: f64 = self.groups.iter().map(|group| self.uplink(group)).sum();
        self.groups.iter().filter_map(move |group| {
            let found = told.get(&group[0]).copied().unwrap_or(Uplink::Unknown);
            let own = self.uplink(group);
            let alone = self.groups.len() > 2 && 1.2 * own < all - own;
            let bound = own.min(all - own);
            let near = match found {
                Uplink::Rate { value, .. } => (value / own - 1.0).abs() <= 0.05,
                Uplink::AtLeast(low) => !alone && (0.9..=1.02).contains(&(low / bound)),
                Uplink::Unknown => false,
            };
            (!near).then_some((group[0], found))
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ratio {:.2}", self.kind, self.ratio)
    }
}
