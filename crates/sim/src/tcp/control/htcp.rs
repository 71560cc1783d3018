//! H-TCP (Leith and Shorten, draft-leith-tcp-htcp-06), with the bounds that Linux gives it.
//!
//! Owns the time since the last loss, the round trips' extremes and the throughput between losses.
//! Never touches the window itself.

use measure::Picos;

use super::Progress;

/// Seconds after a loss in which the growth is Reno's (draft §2: Delta_L).
const LOW_SPEED: f64 = 1.0;
/// Round trip for which growth is defined, in seconds (draft §5: RTT scaling).
const REFERENCE: f64 = 0.1;
/// Bounds of the adaptive backoff.
const BETA: (f64, f64) = (0.5, 0.8);
/// Minimum round trip below which Linux backs off by a half, in seconds.
const SHORT: f64 = 0.01;
/// Largest accepted increase over the longest round trip so far, in seconds; more is treated as an
/// error.
const LONGER: f64 = 0.02;

/// State between two losses.
#[derive(Debug, Clone)]
pub(super) struct Htcp {
    last_loss: Option<Picos>,
    beta: f64,
    shortest: f64,
    longest: f64,
    /// True if adaptive backoff is in force: the throughput was steady over the last two losses.
    steady: bool,
    losses: u32,
    /// Octets per second: smoothed, maximum since the last loss, maximum before it.
    throughput: f64,
    most: f64,
    most_before: f64,
    counted: u64,
    since: Picos,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            last_loss: None,
            beta: BETA.0,
            shortest: 0.0,
            longest: 0.0,
            steady: false,
            losses: 0,
            throughput: 0.0,
            most: 0.0,
            most_before: 0.0,
            counted: 0,
            since: Picos::ZERO,
        }
    }
}

impl Htcp {
    /// Updates the round trips' extremes and, once per window, the throughput.
    pub(super) fn measure(&mut self, progress: &Progress, window: f64) {
        self.shortest = progress.least.as_secs_f64();
        let smoothed = progress.smoothed.as_secs_f64();
        self.longest = self.longest.max(self.shortest);
        if smoothed > self.longest && smoothed <= self.longest + LONGER {
            self.longest = smoothed;
        }
        self.counted += progress.delivered;
        let span = progress.now.saturating_sub(self.since).as_secs_f64();
        if self.counted as f64 >= window && span >= self.shortest && self.shortest > 0.0 {
            let throughput = self.counted as f64 / span;
            // The first losses end slow start; the throughput before them is not meaningful.
            self.throughput = if self.losses <= 3 {
                self.most = throughput;
                throughput
            } else {
                (3.0 * self.throughput + throughput) / 4.0
            };
            self.most = self.most.max(self.throughput);
            self.counted = 0;
            self.since = progress.now;
        }
    }

    /// Segments by which the window grows per round trip.
    pub(super) fn increase(&mut self, progress: &Progress) -> f64 {
        let last_loss = *self.last_loss.get_or_insert(progress.now);
        let over = progress.now.saturating_sub(last_loss).as_secs_f64() - LOW_SPEED;
        let mut alpha = 1.0;
        if over > 0.0 {
            alpha += 10.0 * over + over * over / 4.0;
            if self.shortest > 0.0 {
                // Round trips below 10 ms or above 200 ms scale no further.
                alpha *= (self.shortest / REFERENCE).clamp(0.1, 2.0);
            }
        }
        (2.0 * (1.0 - self.beta) * alpha.max(1.0)).max(1.0)
    }

    /// Handles a loss now; returns the remaining part of the window.
    pub(super) fn lost(&mut self, now: Picos) -> f64 {
        self.last_loss = Some(now);
        self.losses += 1;
        self.adapt();
        // The longest round trip decays slowly, because routes change.
        if self.longest > self.shortest {
            self.longest = self.shortest + (self.longest - self.shortest) * 0.95;
        }
        (self.counted, self.since) = (0, now);
        self.beta
    }

    /// Backs off by the amount that empties the queue, unless the throughput has changed by a fifth
    /// since the last loss (draft §3).
    fn adapt(&mut self) {
        let (most, before) = (self.most, self.most_before);
        self.most_before = most;
        if 5.0 * most < 4.0 * before || 5.0 * most > 6.0 * before {
            (self.beta, self.steady) = (BETA.0, false);
        } else if self.steady && self.shortest > SHORT {
            self.beta = (self.shortest / self.longest).clamp(BETA.0, BETA.1);
        } else {
            (self.beta, self.steady) = (BETA.0, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, rtt_ms: u64) -> Progress {
        let rtt = Picos(rtt_ms * 1_000_000_000);
        Progress {
            now: Picos(seconds * 1_000_000_000_000),
            delivered: 1,
            una: 0,
            next: 0,
            rtt: None,
            smoothed: rtt,
            least: rtt,
            limited: true,
        }
    }

    #[test]
    fn growth_is_the_drafts_function_of_the_time_since_the_loss() {
        for (seconds, rtt_ms, expected) in
            [(0, 100, 1.0), (1, 100, 1.0), (2, 100, 11.25), (11, 100, 126.0), (11, 50, 63.0)]
        {
            let mut htcp = Htcp::default();
            htcp.measure(&at(0, rtt_ms), 1e9);
            htcp.lost(Picos::ZERO);
            let grown = htcp.increase(&at(seconds, rtt_ms));
            assert!((grown - expected).abs() < 1e-9, "{seconds} s, {rtt_ms} ms: {grown}");
        }
    }

    #[test]
    fn backoff_adapts_once_the_throughput_is_steady() {
        let mut htcp = Htcp::default();
        htcp.measure(&at(0, 80), 1e9);
        for now in 1..=6 {
            htcp.most = 1000.0;
            htcp.longest = 0.1;
            let kept = htcp.lost(Picos(now));
            let expected = if now <= 2 { 0.5 } else { 0.8 };
            assert!((kept - expected).abs() < 1e-9, "loss {now}: {kept}");
        }
        htcp.most = 1300.0;
        assert!((htcp.lost(Picos(9)) - 0.5).abs() < 1e-9);
    }
}
