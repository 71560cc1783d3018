//! Known values of a drawn device: arithmetic on its profile, study by study.
//!
//! Owns the arithmetic, in the conventions of the device model. Never asks a study.

use page::Condition;
use page::{Key, Metric, Unit};
use study::ForwardingTest;
use study::prove::{Known, Truth};
use study::search::GoalName;

/// Share of the line's rate below which a tester can determine a limit.
const REACH: f64 = 0.9;
/// Fewest frames in a trial for that.
const FEWEST: f64 = 200.0;

/// Largest bucket for that, as a share of what the limit passes in such a trial.
const BUCKET_REACH: f64 = 0.25;
/// Limits of a loss curve: its longest load, the fewest frames in it, and the largest bucket.
const CURVE_S: f64 = 10.0;
const CURVE_FRAMES: f64 = 600.0;
const CURVE_BUCKET_S: f64 = 0.03;
/// A queue may hold a frame more or less as a burst ends than arithmetic says, by which frame was
/// just leaving.
const QUEUE_EDGE: f64 = 1.0;

/// Path between two ports, for frames of one size.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Octets, with FCS.
    pub size: u32,
    /// Frames a second that the slower of the two links carries.
    pub line: f64,
    /// Frames a second that the sender's link carries.
    pub sends: f64,
    /// Frames a second that the device forwards.
    pub limit: f64,
    /// Lowest rate at which it may begin to lose: below `limit` if it stalls.
    pub surely: f64,
    /// Share lost at random.
    pub random: f64,
    /// Length of the trial that decides a search, in seconds.
    pub trial_s: f64,
    /// Frames that wait before its limit, the one that is served included; `None` if arithmetic
    /// cannot tell.
    pub queue: Option<f64>,
    /// Frames that a token bucket lets pass at once.
    pub bucket: f64,
}

/// The loss that a goal allows.
pub const fn allowed(goal: GoalName) -> f64 {
    match goal {
        GoalName::Rfc2544 | GoalName::Tst009 | GoalName::Ndr => 0.0,
        GoalName::Pdr => 0.005,
    }
}

impl Path {
    /// True if a tester could determine the limit.
    fn reachable(&self) -> bool {
        self.limit < REACH * self.line
            && self.limit * self.trial_s >= FEWEST
            && self.surely >= self.limit
            && self.bucket <= self.limit * self.trial_s * BUCKET_REACH
    }

    fn at(&self, truth: Truth) -> Truth {
        truth.at(Key::FrameSize, u64::from(self.size)).at(Key::Path, "device")
    }

    fn number(&self, low: f64, high: f64) -> Known {
        if low >= self.line {
            Known::Unlimited { reach: self.line }
        } else {
            Known::Number { low, high: high.min(self.line) }
        }
    }

    /// Returns the highest rate at which a goal holds.
    pub fn throughput(&self, goal: GoalName) -> Truth {
        let allowed = allowed(goal);
        // Up to the limit the goal fails by chance or not at all: no other load is the device's
        // limit.
        let by_load = self.random <= allowed / 2.0;
        let (low, high) = if by_load {
            (self.surely, self.limit / (1.0 - allowed))
        } else {
            (self.limit, self.limit / (1.0 - self.random))
        };
        let known = match self.number(low, high) {
            // All of a permitted loss may be used: that much more goes in than comes out.
            Known::Number { low, high } if self.surely >= self.limit && by_load => {
                Known::Number { low: low.max(high), high }
            }
            known => known,
        };
        let reachable = self.reachable() && by_load;
        self.at(Truth::new(Metric::Throughput, Unit::FramesPerSecond, known))
            .at(Key::Goal, goal.as_str())
            .reachable(reachable)
    }

    /// Returns the rate that passes a flood, and the loss of a flood.
    pub fn flood(&self) -> Vec<Truth> {
        let test = |truth: Truth| self.at(truth).at(Key::Test, ForwardingTest::Flood.as_str());
        let through = self.limit.min(self.line * (1.0 - self.random));
        if self.surely < self.limit {
            return Vec::new();
        }
        let rate =
            Truth::new(Metric::Received, Unit::FramesPerSecond, self.number(through, through));
        let lost = 1.0 - through / self.sends;
        let lost =
            Truth::new(Metric::LossRatio, Unit::Ratio, Known::Number { low: lost, high: lost });
        [rate, lost].map(|truth| test(truth).reachable(self.reachable())).to_vec()
    }

    /// Returns the longest burst at the line's rate that the queue takes, and the time that it
    /// stands for. `longest_s` is the longest that the study sends.
    pub fn back_to_back(&self, longest_s: f64) -> Vec<Truth> {
        let Some(queue) = self.queue.filter(|_| self.limit < self.line && self.random == 0.0)
        else {
            return Vec::new();
        };
        let burst = |queue: f64| queue / (1.0 - self.limit / self.line);
        let frames = burst(queue);
        let reachable = self.reachable() && frames < REACH * longest_s * self.line;
        let of = |metric, unit, each: f64| {
            let low = (burst(queue - QUEUE_EDGE) - QUEUE_EDGE) * each;
            let high = (burst(queue + QUEUE_EDGE) + QUEUE_EDGE) * each;
            let truth = Truth::new(metric, unit, Known::Number { low, high });
            let test = ForwardingTest::BackToBack.as_str();
            self.at(truth).at(Key::Test, test).reachable(reachable)
        };
        let implied = of(Metric::BufferTime, Unit::Nanoseconds, 1e9 / self.line);
        let implied = implied.at(Key::Estimate, Condition::from("implied"));
        vec![of(Metric::BackToBack, Unit::Count, 1.0), implied]
    }

    /// Returns the loss at each load of the loss curve.
    pub fn loss_curve(&self) -> Vec<Truth> {
        if self.surely < self.limit {
            return Vec::new();
        }
        let known = Known::Loss { limit: self.limit, random: self.random };
        let truth = self.at(Truth::new(Metric::LossRatio, Unit::Ratio, known));
        let told =
            self.limit * CURVE_S >= CURVE_FRAMES && self.bucket <= self.limit * CURVE_BUCKET_S;
        let truth = truth.at(Key::Test, ForwardingTest::LossCurve.as_str());
        vec![truth.reachable(self.reachable() && told)]
    }

    /// Returns the duration of an interruption by a reset; frames on the cables are lost besides.
    pub fn reset(&self, took_ns: f64, on_cables_ns: f64) -> Vec<Truth> {
        let one = |estimate: &str| {
            let known = Known::Number { low: took_ns, high: took_ns + on_cables_ns };
            self.at(Truth::new(Metric::ResetTime, Unit::Nanoseconds, known))
                .at(Key::Estimate, Condition::from(estimate))
                .reachable(self.limit * took_ns / 1e9 > FEWEST && self.random == 0.0)
        };
        vec![one("loss"), one("gap")]
    }
}
