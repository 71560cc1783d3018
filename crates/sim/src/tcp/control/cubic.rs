//! CUBIC (RFC 9438), windows in segments.
//!
//! Owns the cubic curve and the Reno-friendly estimate. Never touches the window itself.

use measure::Picos;

use super::Progress;

/// Segments per second cubed (RFC 9438 §5.1).
const C: f64 = 0.4;
/// Remaining part of the window after a loss (§4.6).
const BETA: f64 = 0.7;
/// 3 (1 - beta) / (1 + beta): Reno's growth with that factor (§4.3).
const ALPHA: f64 = 9.0 / 17.0;

/// State between two losses.
#[derive(Debug, Clone, Default)]
pub(super) struct Cubic {
    /// Plateau; 0 before the first loss and after a time-out.
    top: f64,
    /// Window just before the last loss.
    prior: f64,
    /// Start of the curve; `None` until congestion avoidance grows.
    epoch: Option<Picos>,
    /// Seconds from the curve's beginning to its plateau.
    k: f64,
    /// Window that Reno would have.
    estimate: f64,
    /// Time of the last acknowledgement.
    last: Picos,
}

impl Cubic {
    /// Returns the window after `delivered` segments arrived.
    pub(super) fn grown(&mut self, progress: &Progress, window: f64, delivered: f64) -> f64 {
        self.last = progress.now;
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(progress.now, window),
        };
        let time = progress.now.saturating_sub(epoch).as_secs_f64();
        let alpha = if self.estimate < self.prior { ALPHA } else { 1.0 };
        self.estimate += alpha * delivered / window;
        // §4.3: in the Reno-friendly region the estimate is the window.
        if self.curve(time) < self.estimate {
            return window.max(self.estimate);
        }
        // §4.4 and §4.5; §4.2 bounds the target.
        let target = self.curve(time + progress.smoothed.as_secs_f64()).clamp(window, 1.5 * window);
        window + (target - window) / window * delivered
    }

    fn begin(&mut self, now: Picos, window: f64) -> Picos {
        self.epoch = Some(now);
        self.estimate = window;
        if window < self.top {
            self.k = cube_root((self.top - window) / C);
        } else {
            // §4.8 and §4.10: without a loss before, the curve begins at its plateau.
            self.k = 0.0;
            self.top = window;
        }
        now
    }

    fn curve(&self, time: f64) -> f64 {
        let distance = time - self.k;
        C * distance * distance * distance + self.top
    }

    /// Handles a loss at this window; returns the remaining window.
    pub(super) fn lost(&mut self, window: f64) -> f64 {
        self.epoch = None;
        self.prior = window;
        // §4.7, fast convergence: a flow that lost before its old plateau makes room for newcomers.
        self.top = if window < self.top { window * (1.0 + BETA) / 2.0 } else { window };
        BETA
    }

    /// Handles a time-out. §4.8: the next curve begins at its plateau.
    pub(super) fn timed_out(&mut self) {
        self.top = 0.0;
    }

    /// Pauses the curve because the window was not used (§5.8).
    pub(super) fn pause(&mut self, now: Picos) {
        if let Some(epoch) = &mut self.epoch {
            *epoch += now.saturating_sub(self.last);
            self.last = now;
        }
    }
}

/// Computes a cube root by Newton's method, from above; the same on every machine.
fn cube_root(of: f64) -> f64 {
    let mut root = of.max(1.0);
    // Each step removes a third or doubles the digits; a billionth of a segment is negligible.
    for _ in 0..100 {
        let next = (2.0 * root + of / (root * root)) / 3.0;
        if next >= root || next < 1e-9 {
            break;
        }
        root = next;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_one() {
        for root in [0.001, 0.5, 1.0, 1.5, 3.0, 42.0, 1000.0] {
            let found = cube_root(root * root * root);
            assert!((found - root).abs() <= 1e-12 * root.max(1.0), "{root}: {found}");
        }
        assert!(cube_root(0.0) < 1e-6);
    }

    #[test]
    fn the_curve_comes_back_to_its_plateau_after_k() {
        let mut cubic = Cubic::default();
        cubic.lost(1000.0);
        cubic.begin(Picos::ZERO, 700.0);
        // K is the cube root of 1000 x 0.3 / 0.4.
        assert!((cubic.k - 9.085_602_964).abs() < 1e-6);
        assert!((cubic.curve(0.0) - 700.0).abs() < 1e-6);
        assert!((cubic.curve(cubic.k) - 1000.0).abs() < 1e-6);
        assert!((cubic.lost(900.0), cubic.top) == (0.7, 765.0));
    }
}
