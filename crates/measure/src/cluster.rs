//! Clustering of readings: classes along a line, and average-link clustering with a permutation
//! test for the number of classes.
//!
//! Owns the arithmetic only. The caller decides which distance is enough for a verdict.

/// Value with its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Value of the reading.
    pub value: f64,
    /// Variance of the reading; above zero.
    pub variance: f64,
}

/// Classes along a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// Class of each reading, from 0 for the lowest.
    pub of: Vec<usize>,
    /// Distance between the means of the nearest two neighbouring classes, in standard deviations
    /// of one reading. The deviation is the larger of the stated one and the spread within the two
    /// classes.
    pub separation: f64,
}

/// Returns the largest number of classes, up to `most`, of which any two neighbours are at least
/// `least` standard deviations apart. `None` if not even two are. For each number of classes, the
/// cut has the least weighted sum of squares within (Fisher, "On grouping for maximum homogeneity",
/// 1958). Readings of one normal class are cut too, into two at a separation below 2.7.
pub fn classes(readings: &[Reading], most: usize, least: f64) -> Option<Classes> {
    let mut order: Vec<usize> = (0..readings.len()).collect();
    order.sort_by(|a, b| readings[*a].value.total_cmp(&readings[*b].value));
    let sorted: Vec<Reading> = order.iter().map(|place| readings[*place]).collect();
    let best = best_cuts(&sorted, most.min(sorted.len()));
    let found = best.into_iter().rev().find_map(|cuts| {
        let separation = separation(&sorted, &cuts)?;
        (separation >= least).then_some((cuts, separation))
    });
    let (cuts, separation) = found?;
    let mut of = vec![0; readings.len()];
    for (rank, place) in order.into_iter().enumerate() {
        of[place] = cuts.iter().filter(|cut| **cut <= rank).count();
    }
    Some(Classes { of, separation })
}

/// Weighted mean and weighted sum of squares around it.
fn moments(readings: &[Reading]) -> (f64, f64) {
    let weight: f64 = readings.iter().map(|r| 1.0 / r.variance).sum();
    let mean = readings.iter().map(|r| r.value / r.variance).sum::<f64>() / weight;
    (mean, readings.iter().map(|r| (r.value - mean).powi(2) / r.variance).sum())
}

/// First indices of all classes but the lowest, for two classes, three, and so on.
fn best_cuts(sorted: &[Reading], most: usize) -> Vec<Vec<usize>> {
    let count = sorted.len();
    let within = |from: usize, to: usize| moments(&sorted[from..to]).1;
    // Least cost of the first `to` readings in this number of classes, and their cuts.
    let mut row: Vec<(f64, Vec<usize>)> =
        (0..=count).map(|to| (within(0, to), Vec::new())).collect();
    let mut all = Vec::new();
    for classes in 2..=most {
        let next = |to: usize| {
            let cuts = (classes - 1..to).map(|cut| (row[cut].0 + within(cut, to), cut));
            let best = cuts.min_by(|a, b| a.0.total_cmp(&b.0));
            best.map_or((f64::INFINITY, Vec::new()), |(cost, cut)| {
                let mut cuts = row[cut].1.clone();
                cuts.push(cut);
                (cost, cuts)
            })
        };
        row = (0..=count).map(next).collect();
        all.push(row[count].1.clone());
    }
    all
}

/// Separation of the nearest two neighbouring classes.
fn separation(sorted: &[Reading], cuts: &[usize]) -> Option<f64> {
    let starts: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).collect();
    let ends = cuts.iter().copied().chain([sorted.len()]);
    let classes: Vec<&[Reading]> =
        starts.iter().zip(ends).map(|(from, to)| &sorted[*from..to]).collect();
    let apart = |two: &[&[Reading]]| {
        let ((low, below), (high, above)) = (moments(two[0]), moments(two[1]));
        let count = (two[0].len() + two[1].len()) as f64;
        let stated = two.concat().iter().map(|r| r.variance).sum::<f64>() / count;
        // In units of the stated variances: a spread as large as stated is 1.
        let seen = if count > 2.0 { stated * (below + above) / (count - 2.0) } else { 0.0 };
        (high - low) / stated.max(seen).sqrt()
    };
    classes.windows(2).map(apart).min_by(f64::total_cmp)
}

/// Symmetric similarity matrix of several items.
#[derive(Debug, Clone, PartialEq)]
pub struct Likeness {
    count: usize,
    values: Vec<f64>,
}

impl Likeness {
    /// Builds the matrix from the similarity of each two items, by index.
    pub fn from_similarity(count: usize, like: impl Fn(usize, usize) -> f64) -> Self {
        let values = (0..count * count).map(|at| like(at / count, at % count)).collect();
        Self { count, values }
    }

    fn between(&self, one: &[usize], other: &[usize]) -> f64 {
        let like =
            |a: &usize| -> f64 { other.iter().map(|b| self.values[a * self.count + b]).sum() };
        one.iter().map(like).sum::<f64>() / (one.len() * other.len()) as f64
    }

    /// Joins the two most similar groups, by the mean over their pairs, until no similarity exceeds
    /// `least` (Sokal and Michener, 1958: UPGMA). Each group is ascending; groups are ordered by
    /// first member.
    pub fn groups(&self, least: f64) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = (0..self.count).map(|at| vec![at]).collect();
        loop {
            let pairs = (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| (a, b)));
            let like = |(a, b): (usize, usize)| (self.between(&groups[a], &groups[b]), a, b);
            let Some((best, a, b)) = pairs.map(like).max_by(|x, y| x.0.total_cmp(&y.0)) else {
                return groups;
            };
            if best <= least {
                return groups;
            }
            let joined = groups.remove(b);
            groups[a].extend(joined);
            groups[a].sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(values: &[f64], deviation: f64) -> Vec<Reading> {
        let reading = |value: &f64| Reading { value: *value, variance: deviation * deviation };
        values.iter().map(reading).collect()
    }

    #[test]
    fn classes_are_cut_where_they_part() {
        let found =
            classes(&readings(&[0.1, 5.0, 0.0, 9.9, 5.2, -0.1], 0.1), 5, 3.5).expect("cuts");
        assert_eq!(found.of, [0, 1, 0, 2, 1, 0]);
        assert!(found.separation > 30.0, "{}", found.separation);
        // Three even levels: no two classes of them are far apart, three are.
        let levels: Vec<f64> = (0..30).map(|i| f64::from(i % 3) + 0.01 * f64::from(i)).collect();
        let found = classes(&readings(&levels, 0.05), 5, 3.5).expect("cuts");
        assert!(found.of.iter().enumerate().all(|(i, class)| *class == i % 3), "{found:?}");
    }

    #[test]
    fn one_far_reading_is_a_class() {
        let values = [0.0, 0.1, 0.05, -0.1, 1.0, 0.02];
        let found = classes(&readings(&values, 0.05), 5, 3.5).expect("a cut");
        assert_eq!(found.of, [0, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn what_spreads_as_stated_is_one_class() {
        let values: Vec<f64> =
            (1..48).map(|i| crate::normal::point_at_share(f64::from(i) / 48.0)).collect();
        for stated in [1.0, 0.5] {
            assert_eq!(classes(&readings(&values, stated), 6, 3.5), None, "{stated}");
        }
        assert_eq!(classes(&readings(&[1.0], 1.0), 6, 3.5), None);
        assert_eq!(classes(&[], 6, 3.5), None);
    }

    #[test]
    fn those_alike_are_joined_and_no_more() {
        let like = Likeness::from_similarity(9, |a, b| if a % 3 == b % 3 { 0.9 } else { 0.1 });
        assert_eq!(like.groups(0.5), [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5, 8]]);
        assert_eq!(like.groups(0.0).len(), 1);
        assert_eq!(like.groups(1.0).len(), 9);
    }
}
