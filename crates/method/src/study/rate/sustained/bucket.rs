//! A saturated path's token bucket, told from its rate by trials of two lengths.
//!
//! Owns which trials tell of it, and when they do not. Never runs a trial.

use super::Delivery;

/// Of two lengths of trial the longer is at least so many times the other.
const TWO_LENGTHS: f64 = 2.0;

/// Saturated trials up to this many times the lowest such load are compared with each other: far
/// beyond its limit a device may forward at another rate.
const NEAR: f64 = 1.6;

/// A trial that lost this share or more was saturated, and did not only lose frames by chance.
const SURELY_SATURATED: f64 = 0.01;

/// By this share of its frames and a few a saturated trial may fall short of the rate that the
/// others tell; surely saturated ones by what the bucket gives, too: it is not as full each time.
const UNEXPLAINED: f64 = 0.001;
const UNEXPLAINED_FRAMES: f64 = 3.0;

/// A bucket that gives more than this share of the shortest trial's frames is worth a word.
const NOTED_BUCKET: f64 = 0.01;

/// What a saturated path's token bucket is, of one sending port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    /// Frames a second without it.
    pub(super) rate: f64,
    /// Frames that it gives at first.
    pub(super) frames: f64,
    /// Whether that is more than trials differ by.
    pub(super) is_notable: bool,
}

impl Bucket {
    /// Of a path's trials: of those that are surely saturated where there are such of two lengths,
    /// else of those at loads near each other; or at any, where the highest was far beyond the
    /// limit: it lost much then, and not only by chance.
    pub(super) fn of(trials: &[Delivery]) -> Option<Self> {
        let saturated: Vec<&Delivery> = trials.iter().filter(|one| one.saturated()).collect();
        let lowest = saturated.iter().map(|one| one.offered).min_by(f64::total_cmp)?;
        let near = NEAR * lowest;
        let of = |is_sure: bool, most: f64| {
            let least = if is_sure { SURELY_SATURATED } else { 0.0 };
            let surely = |one: &Delivery| one.held_back || one.short_ratio() >= least;
            let these = |one: &&Delivery| one.offered <= most && surely(one);
            let these: Vec<&Delivery> = saturated.iter().copied().filter(these).collect();
            Self::that_explains(&these, is_sure, near)
        };
        let highest = saturated.iter().max_by(|a, b| a.offered.total_cmp(&b.offered))?;
        let is_far_beyond = highest.held_back || highest.short_ratio() >= SURELY_SATURATED;
        let far = is_far_beyond.then_some((false, f64::INFINITY));
        [(true, near), (true, f64::INFINITY), (false, near)]
            .into_iter()
            .chain(far)
            .find_map(|(is_sure, most)| of(is_sure, most).filter(|bucket| bucket.holds(trials)))
    }

    /// Rate and bucket that explain these trials; none where they are no saturated path's. A bucket
    /// that is worth a word is taken for as large as any trial near the limit found it: it is
    /// fuller after a lesser load, or a longer rest.
    fn that_explains(saturated: &[&Delivery], is_sure: bool, near: f64) -> Option<Self> {
        let (rate, frames) = two_lengths(saturated)?;
        let emptier = if is_sure { frames } else { 0.0 };
        // What brought less than the rate was not saturated: it lost by chance, at a load of its
        // own.
        let explained = |one: &&Delivery| {
            one.came >= rate * one.span * (1.0 - UNEXPLAINED) - emptier - UNEXPLAINED_FRAMES
        };
        if !saturated.iter().all(explained) {
            return None;
        }
        let given = |one: &&Delivery| one.came - rate * one.span;
        let near = saturated.iter().filter(|one| one.offered <= near);
        let most = near.map(given).fold(frames, f64::max);
        let shortest = saturated.iter().map(|one| one.came).fold(f64::INFINITY, f64::min);
        // When senders start sets it to a frame.
        let most = if most > frames + 1.0 { most } else { frames };
        let is_notable = frames > NOTED_BUCKET * shortest;
        Some(Self { rate, frames: if is_notable { most } else { frames }, is_notable })
    }

    /// Whether what any trial brought is within what the bucket gives, twice at most.
    fn holds(&self, trials: &[Delivery]) -> bool {
        let most = |one: &Delivery| {
            self.rate * one.span * (1.0 + NOTED_BUCKET) + 2.0 * self.frames + UNEXPLAINED_FRAMES
        };
        trials.iter().all(|one| one.came <= most(one))
    }
}

/// Rate and bucket from the means of the shorter and of the longer trials.
pub(super) fn two_lengths(saturated: &[&Delivery]) -> Option<(f64, f64)> {
    let spans = || saturated.iter().map(|one| one.span);
    let (least, most) = (spans().min_by(f64::total_cmp)?, spans().max_by(f64::total_cmp)?);
    if most < TWO_LENGTHS * least {
        return None;
    }
    let between = (least * most).sqrt();
    let mean = |longer: bool| {
        let group = || saturated.iter().filter(move |one| (one.span > between) == longer);
        let count = group().count() as f64;
        let sum = |of: fn(&Delivery) -> f64| group().map(|one| of(one)).sum::<f64>() / count;
        (sum(|one| one.came), sum(|one| one.span))
    };
    let ((few, short), (many, long)) = (mean(false), mean(true));
    let rate = (many - few) / (long - short);
    (rate > 0.0).then(|| (rate, (few - rate * short).max(0.0)))
}
