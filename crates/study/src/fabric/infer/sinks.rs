//! Floods into one sink: every port sends to one, and the ports of a group get equal shares.
//!
//! Two ports of one group take the same path to any sink: the same uplinks and queues. Ports of two
//! groups do not if the sink is in one of them, as the flood overfills the uplinks between them.
//! Whether near senders get more or less depends on the device, and is not used. Owns the sums over
//! the floods into one sink. Pure.

use std::collections::BTreeMap;

use measure::cluster::{Classes, Reading, classes};

use super::Flooded;

/// Standard deviations between two classes above which they count as two.
pub(super) const SEEN: f64 = 3.5;

/// Standard deviations between two classes above which hardly a port of fifty is misclassified.
pub(super) const SURE: f64 = 7.0;

/// Maximum number of levels among one sink's senders.
const MOST_LEVELS: usize = 8;

/// Independent differences between repeats above which the scatter counts as known.
const KNOWN: f64 = 8.0;

/// Degrees of freedom by which one flood's deviations are judged; each repeat adds as many.
const FREEDOM_OF_A_FLOOD: f64 = 4.0;

/// Scatter of repeated floods relative to the sampling error of their frame counts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Scatter {
    /// Squared differences from each port's mean, in variances of the counts.
    squares: f64,
    /// Number of independent differences.
    freedom: f64,
}

impl Scatter {
    /// Combines the scatter of all sinks.
    pub(super) fn from_sinks<'s>(sinks: impl Iterator<Item = &'s Sink>) -> Self {
        sinks.map(Sink::scatter).fold(Self::default(), |all, one| Self {
            squares: all.squares + one.squares,
            freedom: all.freedom + one.freedom,
        })
    }

    /// True if there were enough repeats for the scatter to be known.
    pub(super) fn is_known(self) -> bool {
        self.freedom >= KNOWN
    }

    /// Factor by which variances exceed those of the counts; at least 1. It is the dispersion of
    /// McCullagh and Nelder, "Generalized linear models", 1989.
    fn factor(self) -> f64 {
        if self.freedom > 0.0 { (self.squares / self.freedom).max(1.0) } else { 1.0 }
    }
}

/// Weighted sums over the floods of one sink for one port. Values are logarithms of the received
/// share, less the flood's mean.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    floods: f64,
    weight: f64,
    value: f64,
    square: f64,
}

/// All floods into one sink.
#[derive(Debug, Clone)]
pub(super) struct Sink {
    /// Sums by port; without weight if the port sent nothing.
    of: Vec<Sums>,
    floods: f64,
}

impl Sink {
    /// Creates a sink without floods, for the given number of ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { of: vec![Sums::default(); ports], floods: 0.0 }
    }

    /// Adds one flood. A share has an error of `noise` in addition to the sampling error of its
    /// count.
    pub(super) fn take(&mut self, flows: &[Flooded], noise: f64) {
        let reading = |flow: &Flooded| {
            let came = (flow.came as f64).max(0.5);
            let weight = 1.0 / (noise * noise + 1.0 / came.max(1.0));
            (flow.from, (came / flow.sent.max(1) as f64).ln(), weight)
        };
        let all: Vec<(usize, f64, f64)> = flows.iter().map(reading).collect();
        let mean = all.iter().map(|(_, value, _)| value).sum::<f64>() / all.len().max(1) as f64;
        for (from, value, weight) in all {
            let known = &mut self.of[from];
            let off = value - mean;
            known.floods += 1.0;
            known.weight += weight;
            known.value += weight * off;
            known.square += weight * off * off;
        }
        self.floods += f64::from(u8::from(!flows.is_empty()));
    }

    /// Number of floods.
    pub(super) const fn count(&self) -> usize {
        self.floods as usize
    }

    /// Splits ports at the best cut into those with smaller and those with larger shares, at least
    /// two each; `None` for fewer than four ports.
    pub(super) fn cut(&self, ports: &[usize], of_all: Scatter) -> Option<[Vec<usize>; 2]> {
        let factor = self.factor(of_all);
        let mut by: Vec<(f64, usize)> = ports
            .iter()
            .filter_map(|port| Some((self.reading(*port, factor)?.value, *port)))
            .collect();
        by.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = |some: &[(f64, usize)]| {
            some.iter().map(|(value, _)| value).sum::<f64>() / some.len() as f64
        };
        let between = |at: &usize| {
            let (low, high) = by.split_at(*at);
            let off = mean(high) - mean(low);
            off * off * (low.len() * high.len()) as f64
        };
        let last = by.len().checked_sub(2)?;
        let best = (2..=last).max_by(|a, b| between(a).total_cmp(&between(b)))?;
        let ports = |some: &[(f64, usize)]| some.iter().map(|(_, port)| *port).collect();
        Some([ports(&by[..best]), ports(&by[best..])])
    }

    /// True if the port sent into the sink.
    pub(super) fn is_sender(&self, port: usize) -> bool {
        self.of[port].weight > 0.0
    }

    /// Scatter of this sink's floods, with each flood's mean removed.
    fn scatter(&self) -> Scatter {
        let known = || self.of.iter().filter(|sums| sums.floods > 1.0);
        let squares = known().map(|s| (s.square - s.value * s.value / s.weight).max(0.0)).sum();
        let again: f64 = known().map(|sums| sums.floods - 1.0).sum();
        Scatter { squares, freedom: (again - (self.floods - 1.0).max(0.0)).max(0.0) }
    }

    /// Factor on the variances: that of all sinks, or of this one if larger and known.
    fn factor(&self, of_all: Scatter) -> f64 {
        let own = self.scatter();
        let own = if own.is_known() { own.factor() } else { 1.0 };
        own.max(of_all.factor())
    }

    /// Mean value of a port among the senders, with its variance.
    fn reading(&self, port: usize, factor: f64) -> Option<Reading> {
        let Sums { weight, value, .. } = self.of[port];
        (weight > 0.0).then(|| Reading { value: value / weight, variance: factor / weight })
    }

    /// Typical standard deviation of one port's mean value.
    pub(super) fn deviation(&self, of_all: Scatter) -> f64 {
        let factor = self.factor(of_all);
        let known = self.of.iter().filter(|sums| sums.weight > 0.0);
        let count = known.clone().count().max(1) as f64;
        (known.map(|sums| factor / sums.weight).sum::<f64>() / count).sqrt()
    }

    /// Classes of the senders by share, lowest first, and the separation of the classes; `None` if
    /// all are alike.
    pub(super) fn levels(&self, of_all: Scatter) -> Option<(Vec<Option<usize>>, f64)> {
        let factor = self.factor(of_all);
        let ports: Vec<usize> = (0..self.of.len()).filter(|port| self.is_sender(*port)).collect();
        let readings: Vec<Reading> =
            ports.iter().filter_map(|p| self.reading(*p, factor)).collect();
        let Classes { of, separation } = classes(&readings, MOST_LEVELS, SEEN)?;
        let mut levels = vec![None; self.of.len()];
        for (port, level) in ports.into_iter().zip(of) {
            levels[port] = Some(level);
        }
        Some((levels, separation))
    }

    /// Evidence against these groups: each port's distance from the rest of its group. Its weight
    /// grows with the number of floods, as a single flood may be disturbed.
    pub(super) fn misfit_of(&self, groups: &[Vec<usize>], of_all: Scatter) -> f64 {
        let factor = self.factor(of_all);
        let of = |group: &Vec<usize>| {
            let readings: Vec<Reading> =
                group.iter().filter_map(|p| self.reading(*p, factor)).collect();
            distances(&readings, FREEDOM_OF_A_FLOOD * self.floods)
        };
        groups.iter().map(of).sum()
    }
}

/// Levels of the ports that sent into each sink, by sink.
pub(super) type SinkLevels = BTreeMap<usize, Vec<Option<usize>>>;

/// Groups ports whose levels agree in every flood in which both sent. A sink does not send into
/// itself; if it agrees with several groups, a further flood must decide.
pub(super) fn alike(told: &SinkLevels, ports: &[usize]) -> Vec<Vec<usize>> {
    let known = |port: &usize| told.values().filter(|flood| flood[*port].is_some()).count();
    let mut order = ports.to_vec();
    order.sort_by_key(|port| std::cmp::Reverse(known(port)));
    let agree = |a: usize, b: usize| {
        told.values().all(|flood| flood[a].is_none() || flood[b].is_none() || flood[a] == flood[b])
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

/// Negative log-likelihood of each reading's deviation from the mean of the others, clipped. Uses
/// Student's distribution (Lange, Little and Taylor, "Robust statistical modeling using the t
/// distribution", 1989).
fn distances(readings: &[Reading], freedom: f64) -> f64 {
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
        let squared = off * off / (own.variance + of_mean);
        (0.5 * (freedom + 1.0) * (squared / freedom).ln_1p()).min(MOST)
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
            kept_up: 1.0,
            in_step: 1.0,
        };
        levels.iter().enumerate().map(flow).collect()
    }

    #[test]
    fn senders_are_told_by_their_levels() {
        let mut sink = Sink::new(21);
        sink.take(&flood(&[900.0, 300.0, 900.0, 500.0, 500.0, 300.0, 900.0]), 0.02);
        let (levels, separation) = sink.levels(Scatter::default()).expect("plain levels");
        let expected = [None, Some(2), Some(0), Some(2), Some(1), Some(1), Some(0), Some(2), None];
        assert_eq!(levels[..9], expected);
        assert!(separation > SURE, "{separation}");
        let groups = |parts: [&[usize]; 3]| parts.map(<[usize]>::to_vec);
        let (right, wrong) =
            ([&[0, 1, 3, 7][..], &[2, 6], &[4, 5]], [&[0, 1, 3][..], &[2, 6, 7], &[4, 5]]);
        let all = Scatter::default();
        assert!(
            sink.misfit_of(&groups(right), all) < 3.0 && sink.misfit_of(&groups(wrong), all) > 10.0
        );
    }

    #[test]
    fn alike_is_nobody() {
        let mut sink = Sink::new(21);
        sink.take(&flood(&[900.0; 20]), 0.02);
        assert_eq!(sink.levels(Scatter::default()), None);
        let once = sink.deviation(Scatter::default());
        sink.take(&flood(&[900.0; 20]), 0.02);
        assert!(sink.deviation(Scatter::default()) < 0.8 * once, "repeats tell more");
    }

    #[test]
    fn what_repeats_contradict_is_not_told() {
        // One port of three stands out in the first flood as far as a group would, and not again.
        let floods = [[400.0, 260.0, 390.0, 900.0, 880.0], [330.0, 410.0, 270.0, 910.0, 900.0]];
        let mut sink = Sink::new(6);
        sink.take(&flood(&floods[0]), 0.02);
        let counts_alone = Scatter::from_sinks([&sink].into_iter());
        assert!(!counts_alone.is_known(), "one flood does not tell how far floods scatter");
        let (levels, _) = sink.levels(counts_alone).expect("levels");
        assert_ne!(levels[1], levels[2], "by its counts alone it stands out");
        for turn in 1..4 {
            sink.take(&flood(&floods[turn % 2]), 0.02);
        }
        let all = Scatter::from_sinks([&sink].into_iter());
        assert!(all.is_known() && all.factor() > 4.0, "{all:?}");
        let (levels, _) = sink.levels(all).expect("two levels");
        assert_eq!(levels, [None, Some(0), Some(0), Some(0), Some(1), Some(1)]);
        let together = sink.misfit_of(&[vec![1, 2, 3], vec![4, 5]], all);
        assert!(together < 6.0, "{together}");
    }

    /// Groups of two in place of one cost about 12 (`price`): one flood that parts them at four
    /// standard deviations is not worth it, six that agree are.
    #[test]
    fn one_flood_alone_parts_nobody() {
        let groups =
            |parts: &[&[usize]]| parts.iter().map(|part| part.to_vec()).collect::<Vec<_>>();
        let (one, two) = (groups(&[&[1, 2, 3, 4]]), groups(&[&[1, 3], &[2, 4]]));
        let gain = |floods: usize| {
            let mut sink = Sink::new(5);
            for _ in 0..floods {
                sink.take(&flood(&[900.0, 1080.0, 890.0, 1070.0]), 0.02);
            }
            let all = Scatter::default();
            sink.misfit_of(&one, all) - sink.misfit_of(&two, all)
        };
        assert!(gain(1) < 12.0, "{}", gain(1));
        assert!(gain(6) > 40.0, "{}", gain(6));
    }

    #[test]
    fn repeats_that_agree_leave_what_counts_say() {
        let mut sink = Sink::new(21);
        for _ in 0..3 {
            sink.take(&flood(&[900.0; 20]), 0.02);
        }
        let all = Scatter::from_sinks([&sink].into_iter());
        assert!(all.is_known() && (all.factor() - 1.0).abs() < 1e-12, "{all:?}");
        assert!((all.freedom - 38.0).abs() < 1e-12, "{all:?}");
        let before = sink.deviation(Scatter::default());
        assert!((sink.deviation(all) - before).abs() < 1e-12);
    }
}
