//! What may be said of each group's uplink, from what bounded the floods that went through it.
//!
//! Owns the rule: a rate where that uplink alone was full, again and again; at least what it
//! carried where something else was. Never gives one uplink what its neighbour carried.

use measure::blocks::BlockEstimate;

use super::super::super::rows::CONFIDENCE;
use super::evidence::{Belief, DRIVEN, Round};
use super::{Inference, LEAST_LOSS, rounds};
use trial::Result;

/// Floods that must have filled an uplink alone: the least whose range holds the median with 95 in
/// 100.
const REPEATS: usize = 6;

/// How often the floods that were wanting are run.
const BATCHES: usize = 2;

/// Standard deviations by which what one round carried may be too high.
const DEVIATIONS: f64 = 3.0;

/// What an uplink carries each way, in the slowest port's rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Uplink {
    /// It was the one thing that was full on its flows' way.
    Rate(BlockEstimate),
    /// So much came through, and something else was full first.
    AtLeast(f64, Bound),
}

/// What was full where an uplink was not surely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Bound {
    /// The ports that sent through it sent no more.
    Ports,
    /// The other groups' uplinks took no more, or might have.
    OtherUplinks,
    /// Of two groups either's uplink, the narrower one.
    OneOfTwo,
    /// The device, which had its senders pause: it may pause them for one queue and leave another
    /// short of what its uplink carries, alike each time.
    Pauses,
}

impl Inference<'_> {
    /// Floods each group whose uplink is short, alone with the others, until its rate has an
    /// interval.
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

    /// Whether a group was surely held up by its own uplink, whatever all others carry.
    pub(super) fn is_short(&self, belief: &Belief, group: usize) -> bool {
        let asked = belief.asked(group, &self.rounds);
        belief.uplinks[group] < (1.0 - LEAST_LOSS) * asked
            && belief.gain(group, &self.rounds, self.noise) > DRIVEN
    }

    /// What flows between the groups got of one another's uplinks, where there are two.
    pub(super) fn between_two(&self, belief: &Belief) -> Option<BlockEstimate> {
        let two = belief.uplinks.len() == 2 && self.is_short(belief, 0);
        two.then(|| self.rate(belief, 0)).flatten()
    }

    /// What each group's uplink carries, or carries at least.
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
            let held_up = low < (1.0 - LEAST_LOSS) * belief.asked(group, &self.rounds);
            let bound = match held_up {
                true if paused => Bound::Pauses,
                true => Bound::OtherUplinks,
                false => Bound::Ports,
            };
            rate.map_or(Uplink::AtLeast(low, bound), Uplink::Rate)
        };
        (0..belief.uplinks.len()).map(of).collect()
    }

    /// The most that any round carried through a group's uplink one way, less what chance may have
    /// added.
    fn carried_surely(&self, belief: &Belief, group: usize) -> f64 {
        let of = |round: &Round| {
            let ways = belief.passed_of(group, round, self.noise);
            ways.map(|(passed, noise)| passed - DEVIATIONS * noise)
        };
        self.rounds.iter().flat_map(of).fold(0.0, f64::max)
    }

    /// At 95 % or not at all, and give or take the frame that each flow's first and last are
    /// counted by.
    fn rate(&self, belief: &Belief, group: usize) -> Option<BlockEstimate> {
        let rates = belief.filled_alone(group, &self.rounds);
        let mut estimate = BlockEstimate::of(&rates, CONFIDENCE)
            .filter(|estimate| estimate.interval.confidence >= CONFIDENCE)?;
        let frames = belief.frames_of_flows(group, &self.rounds);
        estimate.interval.low *= 1.0 - 1.0 / frames;
        estimate.interval.high *= 1.0 + 1.0 / frames;
        Some(estimate)
    }
}
