//! Token bucket of a saturated path, separated from its rate by trials of two lengths.
//!
//! Owns the choice of trials, and the conditions under which they show a bucket. Never runs a
//! trial.

use super::Delivery;

/// Minimum ratio of two lengths of trials.
const TWO_LENGTHS: f64 = 2.0;

/// Range of saturated loads to compare, as a multiple of the lowest: far beyond its limit a device
/// may forward at another rate.
const NEAR: f64 = 1.6;

/// Loss ratio above which a trial was certainly saturated.
const SURELY_SATURATED: f64 = 0.01;

/// Allowed shortfall of a saturated trial below the rate of the others, as a share of its frames
/// and as a number of frames. Certainly saturated trials may also lack the bucket's frames, as its
/// level varies.
const UNEXPLAINED: f64 = 0.001;
const UNEXPLAINED_FRAMES: f64 = 3.0;

/// Share of the shortest trial's frames above which a bucket is notable.
const NOTED_BUCKET: f64 = 0.01;

/// Token bucket of a saturated path, for one sending port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    /// Frames a second without the bucket.
    pub(super) rate: f64,
    /// Frames that the bucket passes at first.
    pub(super) frames: f64,
    /// True if the bucket exceeds the variation of trials.
    pub(super) is_notable: bool,
}

impl Bucket {
    /// Finds the bucket from a path's trials. First choice are certainly saturated trials, if these
    /// have two lengths; then all saturated trials at loads near each other. If the highest load
    /// was far beyond the limit, trials at any load are the last choice.
    pub(super) fn from_trials(trials: &[Delivery]) -> Option<Self> {
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

    /// Rate and bucket that explain these trials; `None` if they are not those of a saturated path.
    /// A notable bucket has the largest size that any trial near the limit shows. It is fuller
    /// after a smaller load or a longer pause.
    fn that_explains(saturated: &[&Delivery], is_sure: bool, near: f64) -> Option<Self> {
        let (rate, frames) = two_lengths(saturated)?;
        let emptier = if is_sure { frames } else { 0.0 };
        // A trial below the rate was not saturated: it lost frames by chance, at a load of its own.
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
        // The start of the senders shifts the count by up to a frame.
        let most = if most > frames + 1.0 { most } else { frames };
        let is_notable = frames > NOTED_BUCKET * shortest;
        Some(Self { rate, frames: if is_notable { most } else { frames }, is_notable })
    }

    /// True if every trial's frames are at most the rate's and twice the bucket's.
    fn holds(&self, trials: &[Delivery]) -> bool {
        let most = |one: &Delivery| {
            self.rate * one.span * (1.0 + NOTED_BUCKET) + 2.0 * self.frames + UNEXPLAINED_FRAMES
        };
        trials.iter().all(|one| one.came <= most(one))
    }
}

/// Computes rate and bucket from the means of the shorter and of the longer trials.
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
