//! Capacity of each group's uplink, from what limited the floods through it.
//!
//! Owns the rule: a rate if only that uplink was full in repeated rounds, otherwise a lower bound.
//! Never attributes to one uplink what its neighbour carried.

use measure::blocks::BlockEstimate;

use super::super::super::rows::CONFIDENCE;
use super::evidence::{Belief, DRIVEN, Round};
use super::{Inference, LEAST_LOSS, rounds};
use trial::Result;

/// Floods that must have filled an uplink alone: the smallest number whose range contains the
/// median with 95 % probability.
const REPEATS: usize = 6;

/// Maximum number of batches of missing floods.
const BATCHES: usize = 2;

/// Standard deviations by which the load of one round may be too high.
const DEVIATIONS: f64 = 3.0;

/// Capacity of an uplink in each direction, in the slowest port's rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Uplink {
    /// The uplink was the only full component on its flows' path.
    Rate(BlockEstimate),
    /// The uplink carried this load, and something else was full first.
    AtLeast(f64, Bound),
}

/// Component that was full when an uplink was not certainly full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Bound {
    /// Ports that sent through it, which sent at their maximum.
    Ports,
    /// The other groups' uplinks were full, or may have been.
    OtherUplinks,
    /// One of two groups' uplinks: the narrower one.
    OneOfTwo,
    /// The device, which sent PAUSE frames. It may pause senders for one queue and so leave another
    /// uplink underused, the same in every round.
    Pauses,
}

impl Inference<'_> {
    /// Floods each group with a short uplink alone, until its rate has an interval.
    pub(super) fn fill_uplinks(&mut self, belief: &mut Belief) -> Result<()> {
        let groups = belief.groups();
        let which = if groups.len() == 2 { 0..1 } else { 0..groups.len() };
        for group in which {
            for _ in 0..BATCHES {
                let have = belief.filled_alone(group, &self.rounds).len();
                if have >= REPEATS || !self.is_short(belief, group) {
                    break;
                }
                for _ in have..REPEATS {
                    let rooms = belief.rooms_of_groups();
                    let flows = rounds::alone(&groups, group, &rooms, &mut self.chance);
                    self.round("one group", &flows)?;
                }
                belief.fit(&self.rounds, self.noise);
            }
        }
        Ok(())
    }

    /// True if the group was certainly limited by its own uplink, whatever the others carry.
    pub(super) fn is_short(&self, belief: &Belief, group: usize) -> bool {
        let asked = belief.most_offered(group, &self.rounds);
        belief.uplinks[group] < (1.0 - LEAST_LOSS) * asked
            && belief.gain(group, &self.rounds, self.noise) > DRIVEN
    }

    /// Capacity between the groups if there are exactly two.
    pub(super) fn between_two(&self, belief: &Belief) -> Option<BlockEstimate> {
        let two = belief.uplinks.len() == 2 && self.is_short(belief, 0);
        two.then(|| self.rate(belief, 0)).flatten()
    }

    /// Capacity of each group's uplink, or its lower bound.
    pub(super) fn uplinks(&self, belief: &Belief) -> Vec<Uplink> {
        let of = |group: usize| {
            let low = self.carried_surely(belief, group);
            let short = self.is_short(belief, group);
            if belief.uplinks.len() == 2 {
                let bound = if short { Bound::OneOfTwo } else { Bound::Ports };
                return Uplink::AtLeast(low, bound);
            }
            let paused = self.floods.paused();
            let rate = self.rate(belief, group).filter(|_| short && !paused);
            let held_up = low < (1.0 - LEAST_LOSS) * belief.most_offered(group, &self.rounds);
            let bound = match held_up {
                true if paused => Bound::Pauses,
                true => Bound::OtherUplinks,
                false => Bound::Ports,
            };
            rate.map_or(Uplink::AtLeast(low, bound), Uplink::Rate)
        };
        (0..belief.uplinks.len()).map(of).collect()
    }

    /// Largest load that any round carried through a group's uplink in one direction, less the
    /// possible random error.
    fn carried_surely(&self, belief: &Belief, group: usize) -> f64 {
        let of = |round: &Round| {
            let ways = belief.passed_of(group, round, self.noise);
            ways.map(|(passed, noise)| passed - DEVIATIONS * noise)
        };
        self.rounds.iter().flat_map(of).fold(0.0, f64::max)
    }

    /// Rate of an uplink; `None` below 95 % confidence. The interval includes one frame of each
    /// flow, as its first and last frames bound the time.
    fn rate(&self, belief: &Belief, group: usize) -> Option<BlockEstimate> {
        let rates = belief.filled_alone(group, &self.rounds);
        let mut estimate = BlockEstimate::from_values(&rates, CONFIDENCE)
            .filter(|estimate| estimate.interval.confidence >= CONFIDENCE)?;
        let frames = belief.frames_of_flows(group, &self.rounds);
        estimate.interval.low *= 1.0 - 1.0 / frames;
        estimate.interval.high *= 1.0 + 1.0 / frames;
        Some(estimate)
    }
}
