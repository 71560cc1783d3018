//! A dynamic threshold fitted to what each of several overfilled outputs held.
//!
//! Owns the model and its three parameters' intervals. A queue has a reserve R and of what is
//! shared, S, up to alpha times what is free (Choudhury and Hahne, 1998), so each of n outputs
//! settles at Q(n) = R + alpha S / (1 + n alpha). For a given alpha that is a line over h = alpha /
//! (1 + n alpha) with the intercept R and the slope S, so alpha alone is searched
//! (docs/methods/buffer.md). Pure.

use measure::fisher;

/// Alphas that are looked at: wider than any that a switch is known to have.
const ALPHAS: (f64, f64) = (1.0 / 256.0, 256.0);
/// Points of that range, evenly apart in its logarithm.
const GRID: u32 = 512;
/// Of each interval.
pub(super) const CONFIDENCE: f64 = 0.95;
/// A lack of fit that chance alone has less often than this is one.
const BY_CHANCE: f64 = 0.01;
/// Halvings of a range, beyond what a double tells apart.
const HALVINGS: u32 = 60;
/// The model has so many parameters; with no more points than that nothing can contradict it.
const PARAMETERS: usize = 3;
/// An interval this wide to either side of its value, as a share of it, tells the parameter.
const TOLD: f64 = 0.1;

/// With `outputs` overfilled at once each held so many octets, with that standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) outputs: f64,
    pub(super) held: f64,
    pub(super) error: f64,
}

/// What is known of a buffer that outputs share.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) levels: Vec<Level>,
    /// What a frame takes: a threshold is compared before the frame is counted.
    pub(super) frame: f64,
    /// Degrees of freedom of the errors; infinitely many where they are known.
    pub(super) freedom: f64,
    /// All of `held` may be too large, or too small, by so much together.
    pub(super) doubt: f64,
    /// How many queues have a reserve.
    pub(super) queues: f64,
}

/// One of the three, in octets or, of alpha, a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parameter {
    pub(super) value: f64,
    pub(super) low: f64,
    /// `None`: nothing bounds it.
    pub(super) high: Option<f64>,
}

impl Parameter {
    /// Whether it is known well enough to be stated as the device's.
    pub(super) fn is_told(&self) -> bool {
        self.high.is_some_and(|high| high - self.low <= 2.0 * TOLD * self.value)
    }
}

/// What the threshold comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// What is shared, and every queue's reserve.
    pub(super) total: Parameter,
    pub(super) alpha: Parameter,
    /// Its value is 0 where no reserve at all is as likely: then the other two are without one.
    pub(super) reserve: Parameter,
    /// More outputs were overfilled than the model has parameters, so that it could have been
    /// contradicted.
    pub(super) checked: bool,
    /// It was: what the points leave over is more than the repeats explain.
    pub(super) contradicted: bool,
}

/// The parameters by least squares, and the intervals within which they fit as well as chance has
/// it; `None` where no threshold makes such points.
pub(super) fn fit(measured: &Measured) -> Option<Fit> {
    if measured.levels.len() < 2 {
        return None;
    }
    let middle = Model::new(measured, 0.0);
    let best = middle.best(At::chi)?;
    let without = middle.best(At::chi_without);
    let spare = measured.levels.len().saturating_sub(PARAMETERS) as f64;
    let over = if spare > 0.0 { best.chi() / spare } else { 0.0 };
    let checked = spare > 0.0;
    let contradicted =
        checked && 1.0 - fisher::share_below(over, spare, measured.freedom) < BY_CHANCE;
    // What a lack of fit adds is as wide as it is large.
    let reach = fisher::point_at_share(CONFIDENCE, 1.0, measured.freedom) * over.max(1.0);
    let mut found = Hull::default();
    for shift in [-1.0, 0.0, 1.0] {
        if shift == 0.0 || measured.doubt > 0.0 {
            let model = Model::new(measured, shift * measured.doubt);
            model.add_accepted(&mut found, reach);
        }
    }
    let none = found.reserve.0 <= 0.0;
    let chosen = without.filter(|_| none);
    let (at, reserve, shared) = match chosen {
        Some(at) => (at, 0.0, at.without.0),
        None => (best, best.reserve.max(0.0), best.shared()),
    };
    let bounded = |value: f64, (low, high): (f64, f64), open: bool| Parameter {
        value,
        low: low.min(value),
        high: (!open).then_some(high.max(value)),
    };
    let total = shared + measured.queues * reserve;
    Some(Fit {
        total: bounded(total, found.total, found.open_below),
        alpha: bounded(at.alpha, found.alpha, found.open_above),
        reserve: bounded(reserve, found.reserve, false),
        checked,
        contradicted,
    })
}

/// What is accepted of each so far.
#[derive(Debug, Clone, Copy)]
struct Hull {
    total: (f64, f64),
    alpha: (f64, f64),
    reserve: (f64, f64),
    /// The smallest alpha that was looked at is as good: what is shared may be any size.
    open_below: bool,
    /// So is the largest.
    open_above: bool,
}

impl Default for Hull {
    fn default() -> Self {
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        Self { total: none, alpha: none, reserve: none, open_below: false, open_above: false }
    }
}

fn widen(range: &mut (f64, f64), value: f64) {
    *range = (range.0.min(value), range.1.max(value));
}

/// The points, all of them shifted by the same.
#[derive(Debug, Clone, Copy)]
struct Model<'a> {
    measured: &'a Measured,
    shift: f64,
}

/// The line of one alpha.
#[derive(Debug, Clone, Copy)]
struct At {
    alpha: f64,
    /// As the line has it, also where it is negative.
    reserve: f64,
    slope: f64,
    squares: f64,
    /// The slope of the line without a reserve, and its squares.
    without: (f64, f64),
    /// Sums of the weights, times h, times h².
    weights: (f64, f64, f64),
}

impl At {
    /// Weighted squares left over, of the best line with no negative reserve.
    fn chi(&self) -> f64 {
        let allowed = self.reserve >= 0.0 && self.slope > 0.0;
        if allowed { self.squares } else { self.chi_without() }
    }

    fn chi_without(&self) -> f64 {
        if self.without.0 > 0.0 { self.without.1 } else { f64::INFINITY }
    }

    fn shared(&self) -> f64 {
        if self.reserve >= 0.0 { self.slope } else { self.without.0 }
    }

    /// Reserve and slope where some line with at most so many squares has the most, and the least,
    /// of a linear `part` of the two.
    fn extremes(&self, most: f64, part: (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
        let (w, wh, whh) = self.weights;
        let det = w * whh - wh * wh;
        let toward = ((whh * part.0 - wh * part.1) / det, (w * part.1 - wh * part.0) / det);
        let steep = toward.0 * part.0 + toward.1 * part.1;
        let step = ((most - self.squares) / steep).sqrt();
        let alone = ((most - self.without.1) / whh).sqrt();
        let ends = [1.0, -1.0].into_iter();
        let (reserve, slope, without) = (self.reserve, self.slope, self.without.0);
        let free = ends
            .clone()
            .map(move |sign| (reserve + sign * step * toward.0, slope + sign * step * toward.1));
        let bound = ends.map(move |sign| (0.0, without + sign * alone));
        // Where too many squares are left over, the roots are not numbers.
        free.chain(bound).filter(|(reserve, slope)| *reserve >= 0.0 && *slope > 0.0)
    }
}

impl<'a> Model<'a> {
    fn new(measured: &'a Measured, shift: f64) -> Self {
        Self { measured, shift }
    }

    /// Least squares over h. A threshold is compared before the frame is counted, and when one
    /// comes its own queue has just sent one and half of the others have: so much more is free.
    fn at(&self, alpha: f64) -> At {
        let points = self.measured.levels.iter().map(|level| {
            let h = alpha / (1.0 + level.outputs * alpha);
            let sent = f64::midpoint(level.outputs, 1.0) * self.measured.frame;
            let held = level.held + self.shift - sent * h;
            (h, held, level.error.powi(-2))
        });
        let sum = |pick: fn((f64, f64, f64)) -> f64| points.clone().map(pick).sum::<f64>();
        let weights = (sum(|p| p.2), sum(|p| p.2 * p.0), sum(|p| p.2 * p.0 * p.0));
        let (w, wh, whh) = weights;
        let (wy, why) = (sum(|p| p.2 * p.1), sum(|p| p.2 * p.0 * p.1));
        let det = w * whh - wh * wh;
        let (reserve, slope) = ((whh * wy - wh * why) / det, (w * why - wh * wy) / det);
        let squares = |reserve: f64, slope: f64| -> f64 {
            points.clone().map(|(h, y, weight)| weight * (y - reserve - slope * h).powi(2)).sum()
        };
        let alone = why / whh;
        let without = (alone, squares(0.0, alone));
        At { alpha, reserve, slope, squares: squares(reserve, slope), without, weights }
    }

    fn grid() -> impl Iterator<Item = f64> {
        let (low, high) = (ALPHAS.0.ln(), ALPHAS.1.ln());
        (0..=GRID).map(move |at| low + (high - low) * f64::from(at) / f64::from(GRID))
    }

    /// The alpha with the fewest squares, by the grid and then by thirds around its best.
    fn best(&self, squares: fn(&At) -> f64) -> Option<At> {
        let of = |log: f64| squares(&self.at(log.exp()));
        let around = Self::grid().min_by(|a, b| of(*a).total_cmp(&of(*b)))?;
        let step = (ALPHAS.1.ln() - ALPHAS.0.ln()) / f64::from(GRID);
        let (mut low, mut high) =
            ((around - step).max(ALPHAS.0.ln()), (around + step).min(ALPHAS.1.ln()));
        for _ in 0..2 * HALVINGS {
            let third = (high - low) / 3.0;
            if of(low + third) <= of(high - third) {
                high -= third;
            } else {
                low += third;
            }
        }
        let found = self.at(f64::midpoint(low, high).exp());
        squares(&found).is_finite().then_some(found)
    }

    /// Everything that leaves over no more squares than the best and `reach`.
    fn add_accepted(&self, found: &mut Hull, reach: f64) {
        let Some(best) = self.best(At::chi) else { return };
        let most = best.chi() + reach;
        let fits = |log: &f64| self.at(log.exp()).chi() <= most;
        let middle = best.alpha.ln();
        let (lowest, highest) = (ALPHAS.0.ln(), ALPHAS.1.ln());
        let accepted = || Self::grid().filter(fits);
        let least = accepted().fold(middle, f64::min);
        let greatest = accepted().fold(middle, f64::max);
        let step = (highest - lowest) / f64::from(GRID);
        let low = edge((least - step).max(lowest), least, fits);
        let high = edge((greatest + step).min(highest), greatest, fits);
        found.open_below |= low <= lowest;
        found.open_above |= high >= highest;
        widen(&mut found.alpha, low.exp());
        widen(&mut found.alpha, high.exp());
        for at in 0..=GRID {
            let log = low + (high - low) * f64::from(at) / f64::from(GRID);
            let line = self.at(log.exp());
            for (reserve, slope) in line.extremes(most, (self.measured.queues, 1.0)) {
                widen(&mut found.total, slope + self.measured.queues * reserve);
            }
            for (reserve, _) in line.extremes(most, (1.0, 0.0)) {
                widen(&mut found.reserve, reserve);
            }
        }
    }
}

/// Between one that may not fit and one that does: the last that does.
fn edge(beyond: f64, within: f64, fits: impl Fn(&f64) -> bool) -> f64 {
    if fits(&beyond) {
        return beyond;
    }
    let (mut out, mut inside) = (beyond, within);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(out, inside);
        if fits(&middle) {
            inside = middle;
        } else {
            out = middle;
        }
    }
    inside
}

#[cfg(test)]
#[path = "threshold/tests.rs"]
mod tests;
