//! What is true of a drawn device: arithmetic on its profile, study by study.
//!
//! Owns the arithmetic, in the conventions of the device model. Never asks a study.

use method::ForwardingTest;
use method::prove::{Known, Truth};
use method::search::GoalName;
use page::Condition;
use page::{Key, Metric, Unit};

/// A tester is within reach of a limit that is below this share of what links carry.
const REACH: f64 = 0.9;
/// And of which a trial sees so many frames.
const FEWEST: f64 = 200.0;

/// And whose bucket holds no more than this share of what the limit passes in such a trial.
const BUCKET_REACH: f64 = 0.25;
/// A loss curve's load lasts for so long at most, which has to be so many frames, and a bucket so
/// little of it.
const CURVE_S: f64 = 10.0;
const CURVE_FRAMES: f64 = 600.0;
const CURVE_BUCKET_S: f64 = 0.03;
/// A queue may hold a frame more or less as a burst ends than arithmetic says, by which frame was
/// just leaving.
const QUEUE_EDGE: f64 = 1.0;

/// What a path between two ports does with frames of one size.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Octets, with FCS.
    pub size: u32,
    /// Frames a second that the slower of the two links carries.
    pub line: f64,
    /// And the sender's.
    pub sends: f64,
    /// Frames a second that the device forwards.
    pub limit: f64,
    /// The lowest rate at which it may begin to lose: below `limit` where it stands still at times.
    pub surely: f64,
    /// The share lost at random.
    pub random: f64,
    /// How long the trial is that decides a search.
    pub trial_s: f64,
    /// Frames that wait before its limit, the one that is served among them; none where that is
    /// not arithmetic.
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
    /// Whether a tester could tell the limit.
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

    /// The highest rate at which a goal holds.
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
            // All of a loss that is allowed may be used: so much more goes in than comes out.
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

    /// What comes through a flood, and what a flood loses.
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

    /// The longest burst at the line's rate that the queue takes, and the time that it stands for.
    /// `longest_s` is the longest that the study sends.
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

    /// What each load of the loss curve loses.
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

    /// How long a reset interrupts it: what is on the cables is lost besides.
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
