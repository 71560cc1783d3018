//! What groups and uplinks would make of the rounds that were measured, and how well that fits.
//!
//! Owns the model: a flow that leaves its group shares that group's way out, and then the other
//! group's way in, each in proportion to what comes. Pure. Never decides what is believed.

use super::Flooded;

/// How many standard deviations one flow may speak with: a model is never exact.
const MOST_DEVIATIONS: f64 = 6.0;

/// What an uplink must improve the fit by, in log-likelihood, to be one that was driven to its
/// limit.
pub(super) const DRIVEN: f64 = 12.0;

/// A port that belongs to no group, as one that is dead.
pub(super) const NONE: usize = usize::MAX;

/// A one-to-one round: all its flows ran at once.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) flows: Vec<Flooded>,
}

/// What is believed: the group of each port, and what each group's uplink carries each way, in
/// ports' rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Belief {
    pub(super) group_of: Vec<usize>,
    pub(super) uplinks: Vec<f64>,
}

impl Belief {
    /// Of groups whose uplinks are not known to be short.
    pub(super) fn of(ports: usize, groups: &[Vec<usize>]) -> Self {
        let mut group_of = vec![NONE; ports];
        for (at, group) in groups.iter().enumerate() {
            for port in group {
                group_of[*port] = at;
            }
        }
        Self { group_of, uplinks: vec![f64::INFINITY; groups.len()] }
    }

    /// The ports of each group, without groups that have none.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let members = |group: usize| {
            (0..self.group_of.len()).filter(|port| self.group_of[*port] == group).collect()
        };
        let groups: Vec<Vec<usize>> = (0..self.uplinks.len()).map(members).collect();
        groups.into_iter().filter(|group| !group.is_empty()).collect()
    }

    /// The two groups of a flow that leaves its own.
    fn across(&self, flow: &Flooded) -> Option<(usize, usize)> {
        let (from, to) = (self.group_of[flow.from], self.group_of[flow.to]);
        (from != to && from != NONE && to != NONE).then_some((from, to))
    }

    /// What each flow of a round would get of what it sent.
    fn predict(&self, round: &Round) -> Vec<f64> {
        let (out, into) = self.rooms(round);
        let share = |flow: &Flooded| {
            self.across(flow).map_or(1.0, |(from, to)| out[from].min(1.0) * into[to].min(1.0))
        };
        round.flows.iter().map(share).collect()
    }

    /// Of each group's way out and way in, what its uplink carries by what would come to it in a
    /// round.
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

    /// Minus the log-likelihood of the rounds, up to a constant, where a share is off by `noise`.
    pub(super) fn misfit(&self, rounds: &[Round], noise: f64) -> f64 {
        let of_round = |round: &Round| -> f64 {
            let flows = round.flows.iter().zip(self.predict(round));
            flows.map(|(flow, share)| flow.misfit(share, noise)).sum()
        };
        rounds.iter().map(of_round).sum()
    }

    /// Finds what each uplink carries, from what was believed and from the most that any round saw
    /// it carry: from one of them alone the search may end where no single uplink's change is
    /// better.
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

    /// One uplink after another, but the one that is held.
    fn climb(&mut self, rounds: &[Round], noise: f64, held: Option<usize>) {
        for _ in 0..3 {
            for group in (0..self.uplinks.len()).filter(|group| Some(*group) != held) {
                self.fit_one(group, rounds, noise);
            }
        }
    }

    /// Of all that any round saw an uplink carry, and no limit at all, takes what fits best, and
    /// then a little beside it. A limit that fits no better than what was believed is left alone:
    /// where all flows between two groups are held up, either's uplink explains it.
    pub(super) fn fit_one(&mut self, group: usize, rounds: &[Round], noise: f64) {
        const WORTH: f64 = 0.5;
        /// Nearer than `beside` looks they are as good as one.
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
        let best = if best.is_finite() { beside(best, cost) } else { best };
        *self = self.with(group, best);
    }

    /// The same with another limit. Two groups have one between them: nothing tells whether it is
    /// one's way out or the other's way in.
    fn with(&self, group: usize, uplink: f64) -> Self {
        let mut other = self.clone();
        if other.uplinks.len() == 2 {
            other.uplinks.fill(uplink);
        } else {
            other.uplinks[group] = uplink;
        }
        other
    }

    /// What a round asked of a group's uplink, flow by flow, and what of it came: the way out, and
    /// the way in.
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

    /// What passed a group's uplink, one way and the other, and by how much noise of a flow's own
    /// may have added.
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

    /// The most that any round asked a group's uplink to carry, one way.
    pub(super) fn asked(&self, group: usize, rounds: &[Round]) -> f64 {
        let sum = |flows: Vec<&Flooded>| flows.into_iter().map(|flow| flow.offered).sum();
        let of = |round: &Round| self.ways(group, round).map(sum);
        rounds.iter().flat_map(of).fold(0.0, f64::max)
    }

    /// What all flows of a group got together in each round that overfilled its uplink and no other
    /// on their way; of both ways the mean. The fit asks what each got, and flows that share an
    /// uplink need not get the same.
    pub(super) fn filled_alone(&self, group: usize, rounds: &[Round]) -> Vec<f64> {
        let of = |round: &Round| {
            let carried = self.carried_alone(group, round);
            (!carried.is_empty()).then(|| carried.iter().sum::<f64>() / carried.len() as f64)
        };
        rounds.iter().filter_map(of).collect()
    }

    /// How many frames came of a flow through a group's uplink, in the mean.
    pub(super) fn frames_of_flows(&self, group: usize, rounds: &[Round]) -> f64 {
        let flows = || rounds.iter().flat_map(|round| self.ways(group, round)).flatten();
        let came: u64 = flows().map(|flow| flow.came).sum();
        (came as f64 / flows().count().max(1) as f64).max(1.0)
    }

    /// What a round carried out of a group and into it, each where that way alone was overfilled.
    /// Of two groups the one's way out and the other's way in are one.
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

    /// By how much the rounds fit better with a group's uplink than without its limit, where all
    /// others may then carry what fits best: what one group's way out explains, others' ways in may
    /// too.
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

    /// What each group takes from the others at most: what its ports send, or its uplink carries.
    pub(super) fn rooms_of_groups(&self) -> Vec<f64> {
        let sizes = self.groups().into_iter().map(|group| group.len() as f64);
        sizes.zip(&self.uplinks).map(|(size, uplink)| size.min(*uplink)).collect()
    }
}

/// The lowest cost within a tenth of a value, by golden sections.
fn beside(value: f64, cost: impl Fn(f64) -> f64) -> f64 {
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

/// What came of flows that share a queue, each second until the last of it had come: what waited
/// there when the flood ended came too, but nothing carried it meanwhile.
fn passed(flows: &[&Flooded]) -> f64 {
    let slowest = flows.iter().map(|flow| flow.in_step).fold(1.0, f64::min);
    slowest * flows.iter().map(|flow| flow.offered * flow.kept_up / flow.in_step).sum::<f64>()
}

impl Flooded {
    /// The part of what was sent that came.
    pub(super) fn share(&self) -> f64 {
        self.came as f64 / self.sent.max(1) as f64
    }

    /// What came of it, in the unit of what it sent.
    pub(super) fn carried(&self) -> f64 {
        self.offered * self.share()
    }

    /// Half the squared deviations from a share, clipped.
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
        let mut belief = Belief::of(8, &groups);
        belief.fit(&rounds, 0.02);
        for group in 0..2 {
            assert!(belief.gain(group, &rounds, 0.02) > DRIVEN, "{belief:?}");
            assert!((belief.uplinks[group] - 3.0).abs() < 0.05, "{belief:?}");
        }
        assert_eq!(belief.groups(), groups);
        assert!((belief.asked(0, &rounds) - 4.0).abs() < 1e-9);
        let clean = [Round { flows: crossing(1.0) }];
        let mut belief = Belief::of(8, &groups);
        belief.fit(&clean, 0.02);
        assert!((0..2).all(|g| belief.gain(g, &clean, 0.02) < DRIVEN), "{belief:?}");
    }
}
