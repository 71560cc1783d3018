//! How a device shares flows out over paths of which each flow takes one: members of a bundle, next
//! hops of one route.
//!
//! Owns what even means. Never says which flow took which path.

use super::cell::Impact;
use crate::study::rows::Row;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};

/// A path that carries less than this of its even share carries none of the flows: what routers
/// say to each other crosses it too.
const NOTHING: f64 = 0.1;

/// That a path gets no flow may be chance, where that is likelier than this.
const CHANCE: f64 = 0.01;

/// Each path's share, how even they are, and how many carry nothing; nothing of fewer than two
/// paths.
pub(super) fn figures(row: &Row, trials: &[&Impact], flows: u64) -> Vec<Figure> {
    let Some(first) = trials.first().filter(|first| first.paths.len() > 1) else {
        return Vec::new();
    };
    let names: Vec<&String> = first.paths.iter().map(|(name, _)| name).collect();
    let shares: Vec<Vec<f64>> = trials.iter().filter_map(|one| shares(one, &names)).collect();
    let mut row = row.clone();
    row.verdict = Verdict::Undetermined;
    row.set(Key::Paths, names.len() as u64);
    row.n = shares.len() as u64;
    let over = |value: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        shares.iter().map(|shares| value(shares)).collect()
    };
    let mut figures: Vec<Figure> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let own = over(&|shares| shares[at]);
        let mut figure = row.over_blocks(Metric::PathShare, Unit::Ratio, &own);
        figure.set(Key::Member, name.as_str());
        figures.push(figure);
    }
    let mut jain = row.over_blocks(Metric::JainIndex, Unit::Ratio, &over(&jain));
    jain.set(Key::AtRandom, at_random(names.len(), flows));
    figures.push(jain);
    figures.push(row.over_blocks(Metric::MaxMean, Unit::Ratio, &over(&max_mean)));
    figures.push(idle(&row, &shares, flows));
    figures
}

/// Of all frames that crossed a path, each path's; `None` where one of them was not counted or none
/// crossed any.
fn shares(one: &Impact, names: &[&String]) -> Option<Vec<f64>> {
    let count = |name: &&String| {
        one.paths.iter().find(|(known, _)| known == *name).map(|(_, frames)| *frames as f64)
    };
    let frames: Vec<f64> = names.iter().map(count).collect::<Option<_>>()?;
    let all: f64 = frames.iter().sum();
    (all > 0.0).then(|| frames.iter().map(|frames| frames / all).collect())
}

/// Jain's index of shares that sum to one: 1 where all are alike, 1/n where one has all.
fn jain(shares: &[f64]) -> f64 {
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    1.0 / (shares.len() as f64 * squares)
}

/// How many times its even share the fullest path carries.
fn max_mean(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max) * shares.len() as f64
}

/// Jain's index where each of so many flows takes any of the paths by chance: the mean of the
/// squares' sum is (1 + (paths - 1) / flows) / paths.
fn at_random(paths: usize, flows: u64) -> f64 {
    1.0 / (1.0 + (paths as f64 - 1.0) / flows.max(1) as f64)
}

/// Paths that carried nothing in any trial. Flows have other ports in each trial: that all of them
/// miss one of the paths by chance has at most the probability paths * (1 - 1 / paths)^flows.
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
        figure.caveats.push(Caveat::FewSamples);
        figure.caveats.sort();
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
