//! Floods into one sink: every port sends to one, and those of a group get the same of it.
//!
//! Two ports of one group take the same way to any sink: the same uplinks, the same queues. Ports of two
//! groups do not where the sink is in one of them, and there the flood overfills the uplinks between
//! them. Whether who is near gets more or less is the device's affair, and not used. Owns what the floods
//! into one sink add up to. Pure.

use measure::cluster::{Classes, Reading, classes};

use super::Flooded;

/// Two classes at least so many standard deviations apart are two.
pub(super) const SEEN: f64 = 3.5;

/// At so many, hardly a port of fifty is put into the wrong one.
pub(super) const SURE: f64 = 7.0;

/// The most levels that one sink's senders may have.
const MOST_LEVELS: usize = 8;

/// All floods into one sink.
#[derive(Debug, Clone)]
pub(super) struct Sink {
    /// Of each port: the logarithms of what came of what it sent, less their mean, summed over floods
    /// with their weights, and the weights; no weight where it sent nothing.
    readings: Vec<(f64, f64)>,
}

impl Sink {
    /// Among so many ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { readings: vec![(0.0, 0.0); ports] }
    }

    /// Adds one flood. A share is off by `noise` beside the chance of which frames came.
    pub(super) fn take(&mut self, flows: &[Flooded], noise: f64) {
        let reading = |flow: &Flooded| {
            let came = (flow.came as f64).max(0.5);
            let weight = 1.0 / (noise * noise + 1.0 / came.max(1.0));
            (flow.from, (came / flow.sent.max(1) as f64).ln(), weight)
        };
        let all: Vec<(usize, f64, f64)> = flows.iter().map(reading).collect();
        let mean = all.iter().map(|(_, value, _)| value).sum::<f64>() / all.len().max(1) as f64;
        for (from, value, weight) in all {
            let known = &mut self.readings[from];
            *known = (known.0 + weight * (value - mean), known.1 + weight);
        }
    }

    /// A port's place among the senders, and how well it is known.
    pub(super) fn reading(&self, port: usize) -> Option<Reading> {
        let (sum, weight) = self.readings[port];
        (weight > 0.0).then(|| Reading { value: sum / weight, variance: 1.0 / weight })
    }

    /// The standard deviation of one port's place, typically.
    pub(super) fn deviation(&self) -> f64 {
        let known = self.readings.iter().filter(|(_, weight)| *weight > 0.0);
        let count = known.clone().count().max(1) as f64;
        (known.map(|(_, weight)| 1.0 / weight).sum::<f64>() / count).sqrt()
    }

    /// The senders by how much they get, lowest first: who is in which class, and how far apart those
    /// are. None where all get alike.
    pub(super) fn levels(&self) -> Option<(Vec<Option<usize>>, f64)> {
        let ports: Vec<usize> =
            (0..self.readings.len()).filter(|port| self.reading(*port).is_some()).collect();
        let readings: Vec<Reading> = ports.iter().filter_map(|p| self.reading(*p)).collect();
        let Classes { of, separation } = classes(&readings, MOST_LEVELS, SEEN)?;
        let mut levels = vec![None; self.readings.len()];
        for (port, level) in ports.into_iter().zip(of) {
            levels[port] = Some(level);
        }
        Some((levels, separation))
    }

    /// What speaks against these groups: each port's distance from the rest of its group.
    pub(super) fn misfit_of(&self, groups: &[Vec<usize>]) -> f64 {
        let of = |group: &Vec<usize>| {
            let readings: Vec<Reading> = group.iter().filter_map(|p| self.reading(*p)).collect();
            distances(&readings)
        };
        groups.iter().map(of).sum()
    }
}

/// Ports whose levels agree in every flood in which both sent. A sink sent nothing into itself: where it
/// agrees with several groups it waits for a flood that tells.
pub(super) fn alike(told: &[(usize, Vec<Option<usize>>)], ports: &[usize]) -> Vec<Vec<usize>> {
    let levels = || told.iter().map(|(_, levels)| levels);
    let known = |port: &usize| levels().filter(|flood| flood[*port].is_some()).count();
    let mut order = ports.to_vec();
    order.sort_by_key(|port| std::cmp::Reverse(known(port)));
    let agree = |a: usize, b: usize| {
        levels().all(|flood| flood[a].is_none() || flood[b].is_none() || flood[a] == flood[b])
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for port in order {
        match groups.iter_mut().find(|group| group.iter().all(|other| agree(*other, port))) {
            Some(group) => group.push(port),
            None => groups.push(vec![port]),
        }
    }
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort();
    groups
}

/// Half the squared deviations of each from the mean of the others, each clipped at what one may say.
fn distances(readings: &[Reading]) -> f64 {
    const MOST: f64 = 18.0;
    let others = readings.len() as f64 - 1.0;
    if others < 1.0 {
        return 0.0;
    }
    let sum: f64 = readings.iter().map(|r| r.value).sum();
    let variances: f64 = readings.iter().map(|r| r.variance).sum();
    let of = |own: &Reading| {
        let off = own.value - (sum - own.value) / others;
        let of_mean = (variances - own.variance) / (others * others);
        (off * off / (own.variance + of_mean) / 2.0).min(MOST)
    };
    readings.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flood(levels: &[f64]) -> Vec<Flooded> {
        let flow = |(from, level): (usize, &f64)| Flooded {
            from: from + 1,
            to: 0,
            offered: 1.0,
            sent: 20_000,
            came: (level * (1.0 + 0.01 * (from % 3) as f64)) as u64,
        };
        levels.iter().enumerate().map(flow).collect()
    }

    #[test]
    fn senders_are_told_by_their_levels() {
        let mut sink = Sink::new(21);
        sink.take(&flood(&[900.0, 300.0, 900.0, 500.0, 500.0, 300.0, 900.0]), 0.02);
        let (levels, separation) = sink.levels().expect("plain levels");
        let expected = [None, Some(2), Some(0), Some(2), Some(1), Some(1), Some(0), Some(2), None];
        assert_eq!(levels[..9], expected);
        assert!(separation > SURE, "{separation}");
        let groups = |parts: [&[usize]; 3]| parts.map(<[usize]>::to_vec);
        let (right, wrong) =
            ([&[0, 1, 3, 7][..], &[2, 6], &[4, 5]], [&[0, 1, 3][..], &[2, 6, 7], &[4, 5]]);
        assert!(sink.misfit_of(&groups(right)) < 3.0 && sink.misfit_of(&groups(wrong)) > 10.0);
    }

    #[test]
    fn alike_is_nobody() {
        let mut sink = Sink::new(21);
        sink.take(&flood(&[900.0; 20]), 0.02);
        assert_eq!(sink.levels(), None);
        let once = sink.deviation();
        sink.take(&flood(&[900.0; 20]), 0.02);
        assert!(sink.deviation() < 0.8 * once, "repeats tell more");
    }
}
