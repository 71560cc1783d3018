//! Dynamic threshold, fitted to the queues of several overfilled outputs.
//!
//! Owns the model and the intervals of its three parameters. A queue has a reserve R, and of the
//! shared buffer S up to alpha times the free part (Choudhury and Hahne, 1998). So each of n
//! outputs settles at Q(n) = R + alpha S / (1 + n alpha). For a given alpha that is a line over h =
//! alpha / (1 + n alpha) with the intercept R and the slope S. Thus only alpha is searched for
//! (docs/methods/buffer.md). Pure.

use measure::fisher;

/// Range of alphas to search: wider than that of any known switch.
const ALPHAS: (f64, f64) = (1.0 / 256.0, 256.0);
/// Points of that range, evenly spaced in its logarithm.
const GRID: u32 = 512;
/// Confidence of each interval.
pub(super) const CONFIDENCE: f64 = 0.95;
/// Probability below which a lack of fit counts as real.
const BY_CHANCE: f64 = 0.01;
/// Bisections of a range, beyond the resolution of a double.
const HALVINGS: u32 = 60;
/// Parameters of the model; no more points than this cannot contradict it.
const PARAMETERS: usize = 3;
/// Relative half-width of an interval up to which a parameter counts as known.
const TOLD: f64 = 0.1;

/// Octets queued at each of `outputs` outputs overfilled at once, with their standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) outputs: f64,
    pub(super) held: f64,
    pub(super) error: f64,
}

/// Measurements of a shared buffer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) levels: Vec<Level>,
    /// Octets that a frame takes: a threshold is compared before the frame is counted.
    pub(super) frame: f64,
    /// Degrees of freedom of the errors; infinite if the errors are known.
    pub(super) freedom: f64,
    /// Systematic error of all `held` values, in either direction.
    pub(super) doubt: f64,
    /// Number of queues with a reserve.
    pub(super) queues: f64,
}

/// Parameter of the model, in octets; for alpha, a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parameter {
    pub(super) value: f64,
    pub(super) low: f64,
    /// Upper bound; `None` if unbounded.
    pub(super) high: Option<f64>,
}

impl Parameter {
    /// True if the value is known well enough to be stated as the device's.
    pub(super) fn is_told(&self) -> bool {
        self.high.is_some_and(|high| high - self.low <= 2.0 * TOLD * self.value)
    }
}

/// Result of the fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// Shared buffer and every queue's reserve together.
    pub(super) total: Parameter,
    pub(super) alpha: Parameter,
    /// Reserve; its value is 0 if no reserve is as likely. The other two then assume none.
    pub(super) reserve: Parameter,
    /// True if more outputs were overfilled than the model has parameters, so that it could be
    /// contradicted.
    pub(super) checked: bool,
    /// True if the residuals exceed what the variation between repetitions explains.
    pub(super) contradicted: bool,
}

/// Fits the parameters by least squares, with the intervals that chance allows; `None` if no
/// threshold fits the points.
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
    // A lack of fit widens the intervals in proportion.
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
    let bounded = |value: f64, low: f64, high: f64, open: bool| Parameter {
        value,
        low: low.min(value),
        high: (!open).then_some(high.max(value)),
    };
    let total = shared + measured.queues * reserve;
    Some(Fit {
        total: bounded(total, found.total.0, found.total.1, found.open_below),
        alpha: bounded(at.alpha, found.alpha.0, found.alpha.1, found.open_above),
        reserve: bounded(reserve, found.reserve.0, found.reserve.1, false),
        checked,
        contradicted,
    })
}

/// Accepted range of each parameter so far.
#[derive(Debug, Clone, Copy)]
struct Hull {
    total: (f64, f64),
    alpha: (f64, f64),
    reserve: (f64, f64),
    /// True if the smallest alpha is accepted: the shared buffer may have any size.
    open_below: bool,
    /// True if the largest alpha is accepted.
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

/// Model of the points, all shifted by the same amount.
#[derive(Debug, Clone, Copy)]
struct Model<'a> {
    measured: &'a Measured,
    shift: f64,
}

/// Fitted line of one alpha.
#[derive(Debug, Clone, Copy)]
struct At {
    alpha: f64,
    /// Intercept of the line, possibly negative.
    reserve: f64,
    slope: f64,
    squares: f64,
    /// Slope of the line without a reserve, and its squares.
    without: (f64, f64),
    /// Sums of the weights, times h, times h².
    weights: (f64, f64, f64),
}

impl At {
    /// Weighted residual squares of the best line without a negative reserve.
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

    /// Reserves and slopes at which a linear `part` of the two is extreme, among the lines with at
    /// most `most` squares.
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
        // With too many squares left over, the roots are NaN.
        free.chain(bound).filter(|(reserve, slope)| *reserve >= 0.0 && *slope > 0.0)
    }
}

impl<'a> Model<'a> {
    fn new(measured: &'a Measured, shift: f64) -> Self {
        Self { measured, shift }
    }

    /// Fits a line over h by least squares. A threshold is compared before the frame is counted.
    /// When a frame arrives, its own queue has just sent one and half of the others have: so much
    /// more is free.
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

    /// Finds the alpha with the fewest squares, on the grid and then by thirds around the best.
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

    /// Adds all parameters whose squares exceed the best by at most `reach`.
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

/// Bisects between a value that may not fit and one that does, for the last that does.
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
