//! Predicted results of the measured rounds for given groups and uplinks, and how well they fit.
//!
//! Owns the model: a flow that leaves its group shares the group's uplink, then the other group's
//! downlink, each in proportion to the offered load. Pure. Never decides what is accepted.

use super::Flooded;

/// Maximum number of standard deviations that one flow contributes, as a model is never exact.
const MOST_DEVIATIONS: f64 = 6.0;

/// Gain in log-likelihood above which an uplink counts as driven to its limit.
pub(super) const DRIVEN: f64 = 12.0;

/// Group of a port without a group, such as a dead one.
pub(super) const NONE: usize = usize::MAX;

/// One-to-one round, with all its flows at once.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) flows: Vec<Flooded>,
}

/// Belief about the device: each port's group, and the capacity of each group's uplink per
/// direction in ports' rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Belief {
    pub(super) group_of: Vec<usize>,
    pub(super) uplinks: Vec<f64>,
}

impl Belief {
    /// Creates a belief without uplink limits.
    pub(super) fn from_groups(ports: usize, groups: &[Vec<usize>]) -> Self {
        let mut group_of = vec![NONE; ports];
        for (at, group) in groups.iter().enumerate() {
            for port in group {
                group_of[*port] = at;
            }
        }
        Self { group_of, uplinks: vec![f64::INFINITY; groups.len()] }
    }

    /// Ports of each group, without empty groups.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let members = |group: usize| {
            (0..self.group_of.len()).filter(|port| self.group_of[*port] == group).collect()
        };
        let groups: Vec<Vec<usize>> = (0..self.uplinks.len()).map(members).collect();
        groups.into_iter().filter(|group| !group.is_empty()).collect()
    }

    /// Source and destination group of a flow; `None` for a flow inside a group.
    fn across(&self, flow: &Flooded) -> Option<(usize, usize)> {
        let (from, to) = (self.group_of[flow.from], self.group_of[flow.to]);
        (from != to && from != NONE && to != NONE).then_some((from, to))
    }

    /// Predicts the share that each flow of a round receives.
    fn predict(&self, round: &Round) -> Vec<f64> {
        let (out, into) = self.rooms(round);
        let share = |flow: &Flooded| {
            self.across(flow).map_or(1.0, |(from, to)| out[from].min(1.0) * into[to].min(1.0))
        };
        round.flows.iter().map(share).collect()
    }

    /// Ratio of each uplink's capacity to its load in a round, for both directions.
    fn rooms(&self, round: &Round) -> (Vec<f64>, Vec<f64>) {
        let room = |load: &[f64]| -> Vec<f64> {
            load.iter().zip(&self.uplinks).map(|(load, uplink)| uplink / load).collect()
        };
        let count = self.uplinks.len();
        let (mut out, mut into) = (vec![0.0; count], vec![0.0; count]);
        for flow in &round.flows {
            if let Some((from, _)) = self.across(flow) {
                out[from] += flow.offered;
            }
        }
        let out = room(&out);
        for flow in &round.flows {
            if let Some((from, to)) = self.across(flow) {
                into[to] += flow.offered * out[from].min(1.0);
            }
        }
        (out, room(&into))
    }

    /// Negative log-likelihood of the rounds, up to a constant, with an error of `noise` in each
    /// share.
    pub(super) fn misfit(&self, rounds: &[Round], noise: f64) -> f64 {
        let of_round = |round: &Round| -> f64 {
            let flows = round.flows.iter().zip(self.predict(round));
            flows.map(|(flow, share)| flow.misfit(share, noise)).sum()
        };
        rounds.iter().map(of_round).sum()
    }

    /// Fits the capacity of each uplink. The search starts from the current belief and from the
    /// largest load that each uplink carried. From one of them alone it may end in a local optimum.
    pub(super) fn fit(&mut self, rounds: &[Round], noise: f64) {
        let mut seen = self.clone();
        for group in 0..seen.uplinks.len() {
            seen.uplinks[group] = self.carried(group, rounds).into_iter().fold(0.0, f64::max);
        }
        for belief in [&mut seen, self as &mut Self] {
            belief.climb(rounds, noise, None);
        }
        if seen.misfit(rounds, noise) <= self.misfit(rounds, noise) {
            *self = seen;
        }
    }

    /// Fits one uplink after another, except the held one.
    fn climb(&mut self, rounds: &[Round], noise: f64, held: Option<usize>) {
        for _ in 0..3 {
            for group in (0..self.uplinks.len()).filter(|group| Some(*group) != held) {
                self.fit_one(group, rounds, noise);
            }
        }
    }

    /// Fits one uplink's limit: tries every load that it carried, and no limit, then refines the
    /// best. A limit that fits no better than the current one is ignored, as either group's uplink
    /// can explain limited flows between two groups.
    pub(super) fn fit_one(&mut self, group: usize, rounds: &[Round], noise: f64) {
        const WORTH: f64 = 0.5;
        /// Candidates closer than the range of `beside` count as one.
        const APART: f64 = 1.05;
        let mut candidates = self.carried(group, rounds);
        candidates.sort_by(f64::total_cmp);
        candidates.dedup_by(|next, kept| *next < APART * *kept);
        candidates.push(f64::INFINITY);
        let cost = |uplink: f64| self.with(group, uplink).misfit(rounds, noise);
        let costs = candidates.into_iter().map(|uplink| (cost(uplink), uplink));
        let Some((least, best)) = costs.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        let better = least < cost(self.uplinks[group]) - WORTH;
        let best = if better { best } else { self.uplinks[group] };
        let best = if best.is_finite() { refine_minimum(best, cost) } else { best };
        *self = self.with(group, best);
    }

    /// Replaces a limit. Two groups share one limit, as one's uplink cannot be distinguished from
    /// the other's downlink.
    fn with(&self, group: usize, uplink: f64) -> Self {
        let mut other = self.clone();
        if other.uplinks.len() == 2 {
            other.uplinks.fill(uplink);
        } else {
            other.uplinks[group] = uplink;
        }
        other
    }

    /// Flows of a round through a group's uplink: those that leave and those that enter.
    fn ways<'r>(&self, group: usize, round: &'r Round) -> [Vec<&'r Flooded>; 2] {
        let mut ways = [Vec::new(), Vec::new()];
        for flow in &round.flows {
            match self.across(flow) {
                Some((from, _)) if from == group => ways[0].push(flow),
                Some((_, to)) if to == group => ways[1].push(flow),
                _ => {}
            }
        }
        ways
    }

    /// Load that passed a group's uplink in both directions, each with the error from its flows'
    /// noise.
    pub(super) fn passed_of(&self, group: usize, round: &Round, noise: f64) -> [(f64, f64); 2] {
        self.ways(group, round).map(|flows| {
            let squares: f64 = flows.iter().map(|flow| flow.carried().powi(2)).sum();
            (passed(&flows), noise * squares.sqrt())
        })
    }

    fn carried(&self, group: usize, rounds: &[Round]) -> Vec<f64> {
        let sum = |flows: Vec<&Flooded>| flows.into_iter().map(Flooded::carried).sum::<f64>();
        let of = |round: &Round| self.ways(group, round).map(sum);
        rounds.iter().flat_map(of).filter(|carried| *carried > 0.0).collect()
    }

    /// Largest load offered to a group's uplink in one direction by any round.
    pub(super) fn most_offered(&self, group: usize, rounds: &[Round]) -> f64 {
        let sum = |flows: Vec<&Flooded>| flows.into_iter().map(|flow| flow.offered).sum();
        let of = |round: &Round| self.ways(group, round).map(sum);
        rounds.iter().flat_map(of).fold(0.0, f64::max)
    }

    /// Total load of a group in each round that overfilled only its uplink, averaged over both
    /// directions. The fit uses single flows, which need not get equal shares of an uplink.
    pub(super) fn filled_alone(&self, group: usize, rounds: &[Round]) -> Vec<f64> {
        let of = |round: &Round| {
            let carried = self.carried_alone(group, round);
            (!carried.is_empty()).then(|| carried.iter().sum::<f64>() / carried.len() as f64)
        };
        rounds.iter().filter_map(of).collect()
    }

    /// Mean number of frames received by a flow through a group's uplink.
    pub(super) fn frames_of_flows(&self, group: usize, rounds: &[Round]) -> f64 {
        let flows = || rounds.iter().flat_map(|round| self.ways(group, round)).flatten();
        let came: u64 = flows().map(|flow| flow.came).sum();
        (came as f64 / flows().count().max(1) as f64).max(1.0)
    }

    /// Loads that a round carried out of a group and into it, each if only that direction was
    /// overfilled. With two groups, one's uplink is the other's downlink.
    fn carried_alone(&self, group: usize, round: &Round) -> Vec<f64> {
        const FULL: f64 = 0.95;
        const FREE: f64 = 1.05;
        let two = self.uplinks.len() == 2;
        let (out, into) = self.rooms(round);
        let [leaving, coming] = self.ways(group, round);
        let far = |flow: &Flooded, ends: fn((usize, usize)) -> usize| self.across(flow).map(ends);
        let alone = |flows: &[&Flooded], other: &[f64], end| {
            let free = |flow: &&Flooded| far(flow, end).is_some_and(|far| other[far] > FREE);
            two || flows.iter().all(free)
        };
        let out = (out[group] < FULL && alone(&leaving, &into, |ends| ends.1)).then_some(leaving);
        let (out_rooms, _) = self.rooms(round);
        let into =
            (into[group] < FULL && alone(&coming, &out_rooms, |ends| ends.0)).then_some(coming);
        let passed = |flows: Vec<&Flooded>| passed(&flows);
        [out, into].into_iter().flatten().map(passed).filter(|carried| *carried > 0.0).collect()
    }

    /// Gain in log-likelihood from a group's uplink limit, with the others refitted without it.
    /// Other groups' downlinks may explain what one group's uplink does.
    pub(super) fn gain(&self, group: usize, rounds: &[Round], noise: f64) -> f64 {
        let without = self.with(group, f64::INFINITY);
        let mut seen = without.clone();
        for other in (0..seen.uplinks.len()).filter(|other| without.uplinks[*other].is_finite()) {
            seen.uplinks[other] = self.carried(other, rounds).into_iter().fold(0.0, f64::max);
        }
        let refitted = [without, seen].into_iter().map(|mut belief| {
            if belief.uplinks.len() > 2 {
                belief.climb(rounds, noise, Some(group));
            }
            belief.misfit(rounds, noise)
        });
        refitted.fold(f64::INFINITY, f64::min) - self.misfit(rounds, noise)
    }

    /// Maximum load of each group with the others: its ports' rates or its uplink.
    pub(super) fn rooms_of_groups(&self) -> Vec<f64> {
        let sizes = self.groups().into_iter().map(|group| group.len() as f64);
        sizes.zip(&self.uplinks).map(|(size, uplink)| size.min(*uplink)).collect()
    }
}

/// Searches for the lowest cost within a tenth of a value, by golden section.
fn refine_minimum(value: f64, cost: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let (mut low, mut high) = (0.9 * value, 1.1 * value);
    for _ in 0..14 {
        let (a, b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if cost(a) <= cost(b) {
            high = b;
        } else {
            low = a;
        }
    }
    let found = f64::midpoint(low, high);
    if cost(found) < cost(value) { found } else { value }
}

/// Rate of flows that share a queue, up to the last received frame. Frames queued at the end of the
/// flood also arrive, but were not carried during it.
fn passed(flows: &[&Flooded]) -> f64 {
    let slowest = flows.iter().map(|flow| flow.in_step).fold(1.0, f64::min);
    slowest * flows.iter().map(|flow| flow.offered * flow.kept_up / flow.in_step).sum::<f64>()
}

impl Flooded {
    /// Share of the sent frames that arrived.
    pub(super) fn share(&self) -> f64 {
        self.came as f64 / self.sent.max(1) as f64
    }

    /// Received rate, in the unit of the offered rate.
    pub(super) fn carried(&self) -> f64 {
        self.offered * self.share()
    }

    /// Half the squared deviation from a share, clipped.
    pub(super) fn misfit(&self, share: f64, noise: f64) -> f64 {
        let expected = (share * self.sent as f64).max(1.0);
        let variance = noise * noise + 1.0 / expected;
        let off = (self.came as f64 / expected - 1.0) / variance.sqrt();
        off.abs().min(MOST_DEVIATIONS).powi(2) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(from: usize, to: usize, share: f64) -> Flooded {
        let came = (share * 10_000.0) as u64;
        Flooded { from, to, offered: 1.0, sent: 10_000, came, kept_up: share, in_step: 1.0 }
    }

    #[test]
    fn an_uplink_is_found_from_what_it_carried() {
        // Four ports each: all cross, and an uplink of three carries three quarters.
        let crossing = |share| (0..8).map(|p| flow(p, (p + 4) % 8, share)).collect();
        let rounds = [Round { flows: crossing(0.75) }];
        let groups = [vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
        let mut belief = Belief::from_groups(8, &groups);
        belief.fit(&rounds, 0.02);
        for group in 0..2 {
            assert!(belief.gain(group, &rounds, 0.02) > DRIVEN, "{belief:?}");
            assert!((belief.uplinks[group] - 3.0).abs() < 0.05, "{belief:?}");
        }
        assert_eq!(belief.groups(), groups);
        assert!((belief.most_offered(0, &rounds) - 4.0).abs() < 1e-9);
        let clean = [Round { flows: crossing(1.0) }];
        let mut belief = Belief::from_groups(8, &groups);
        belief.fit(&clean, 0.02);
        assert!((0..2).all(|g| belief.gain(g, &clean, 0.02) < DRIVEN), "{belief:?}");
    }
}
