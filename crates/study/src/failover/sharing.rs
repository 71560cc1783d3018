//! Distribution of flows over paths of which each flow takes one: members of a bundle, or next hops
//! of one route.
//!
//! Owns the definition of even. Never says which flow took which path.

use super::cell::Impact;
use crate::rows::Row;
use crate::view::values;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};

/// Share of an even share below which a path carries none of the flows: routers' own traffic
/// crosses it too.
const NOTHING: f64 = 0.1;

/// Probability above which a path may get no flow by chance.
const CHANCE: f64 = 0.01;

/// Shares of the flows on several paths.
#[derive(Debug)]
pub(super) struct Sharing {
    pub(super) paths: Vec<PathShare>,
    pub(super) jain: Figure,
    /// Jain's index if each flow takes any of the paths at random.
    pub(super) at_random: f64,
    pub(super) max_mean: Figure,
    /// Paths without traffic.
    pub(super) idle: Figure,
}

/// Share of one path in all frames that crossed any.
#[derive(Debug)]
pub(super) struct PathShare {
    /// Port of the device.
    pub(super) port: String,
    pub(super) share: Figure,
}

impl Sharing {
    /// Computes each path's share from the trials, and their evenness; `None` for fewer than two
    /// paths.
    pub(super) fn new(row: &Row, trials: &[&Impact], flows: u64) -> Option<Self> {
        let first = trials.first().filter(|first| first.paths.len() > 1)?;
        let names: Vec<&String> = first.paths.iter().map(|(name, _)| name).collect();
        let shares: Vec<Vec<f64>> = trials.iter().filter_map(|one| shares(one, &names)).collect();
        let mut row = row.clone();
        row.verdict = Verdict::Undetermined;
        row.set(Key::Paths, names.len() as u64);
        row.n = shares.len() as u64;
        let over = |metric, value: &dyn Fn(&[f64]) -> f64| {
            let values: Vec<f64> = shares.iter().map(|shares| value(shares)).collect();
            row.over_blocks(metric, Unit::Ratio, &values)
        };
        let path = |(at, name): (usize, &&String)| {
            let mut share = over(Metric::PathShare, &|shares| shares[at]);
            share.set(Key::Member, name.as_str());
            // The device is named with it.
            let port = name.split_once('/').map_or(name.as_str(), |(_, port)| port);
            PathShare { port: port.to_owned(), share }
        };
        let at_random = at_random(names.len(), flows);
        let mut jain = over(Metric::JainIndex, &jain);
        jain.set(Key::AtRandom, at_random);
        Some(Self {
            paths: names.iter().enumerate().map(path).collect(),
            jain,
            at_random,
            max_mean: over(Metric::MaxMean, &max_mean),
            idle: idle(&row, &shares, flows),
        })
    }
}

values! {
    Sharing: paths, jain, max_mean, idle;
    PathShare: share;
}

/// Shares of the paths in all frames that crossed any; `None` if one of them was not counted or no
/// frame crossed any.
fn shares(one: &Impact, names: &[&String]) -> Option<Vec<f64>> {
    let count = |name: &&String| {
        one.paths.iter().find(|(known, _)| known == *name).map(|(_, frames)| *frames as f64)
    };
    let frames: Vec<f64> = names.iter().map(count).collect::<Option<_>>()?;
    let all: f64 = frames.iter().sum();
    (all > 0.0).then(|| frames.iter().map(|frames| frames / all).collect())
}

/// Jain's index of shares that sum to one: 1 if all are equal, 1/n if one has all.
fn jain(shares: &[f64]) -> f64 {
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    1.0 / (shares.len() as f64 * squares)
}

/// Share of the busiest path in multiples of an even share.
fn max_mean(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max) * shares.len() as f64
}

/// Jain's index if each flow takes any of the paths at random: the mean of the squares' sum is (1 +
/// (paths - 1) / flows) / paths.
fn at_random(paths: usize, flows: u64) -> f64 {
    1.0 / (1.0 + (paths as f64 - 1.0) / flows.max(1) as f64)
}

/// Paths without traffic in any trial. Flows have other ports in each trial. The probability that
/// all of them miss a path by chance is at most paths * (1 - 1 / paths)^flows.
fn idle(row: &Row, shares: &[Vec<f64>], flows: u64) -> Figure {
    let paths = shares.first().map_or(0, Vec::len);
    let even = 1.0 / paths.max(1) as f64;
    let nothing = |at: &usize| shares.iter().all(|trial| trial[*at] < NOTHING * even);
    let idle = (0..paths).filter(nothing).count();
    let flows = flows as f64 * shares.len() as f64;
    let chance = (paths as f64 * (1.0 - even).powf(flows)).min(1.0);
    let known = paths > 0 && (idle == 0 || chance <= CHANCE);
    let mut figure = row.single(Metric::IdlePaths, Unit::Count, known.then_some(idle as f64));
    figure.set(Key::ByChance, chance);
    if !known {
        figure.doubt(Caveat::FewSamples);
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_is_one_and_one_for_all_is_its_share() {
        for (shares, index, most) in
            [(&[0.25; 4][..], 1.0, 1.0), (&[1.0, 0.0], 0.5, 2.0), (&[0.5, 0.5, 0.0, 0.0], 0.5, 2.0)]
        {
            assert!((jain(shares) - index).abs() < 1e-12, "{shares:?}");
            assert!((max_mean(shares) - most).abs() < 1e-12, "{shares:?}");
        }
        assert!((at_random(2, 1) - 0.5).abs() < 1e-12, "one flow takes one path");
        assert!(at_random(8, 100_000) > 0.9999);
    }
}
