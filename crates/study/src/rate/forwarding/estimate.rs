//! Expected trials and time of a forwarding study.
//!
//! Owns the usual case: a device that forwards slightly over a third of the tester's rate, and a
//! cable that carries all. In a lab, the device has the ports' limit; without limits, the tester is
//! the limit. Never a limit itself.

use measure::{FrameRate, Nanos, Rate};

use super::super::sustained::{PACING_MARGIN, lasting, longer};
use super::super::throughput::Terms;
use super::frames::Frames;
use super::{ForwardingSpec, ForwardingTest, back_to_back, loss_curve, reset};
use crate::Estimate;
use crate::search::{Attempt, Goal, LoadRange, Seen, Step};
use trial::topology::Topology;

/// Share of the tester's rate that the usual device forwards.
const FORWARDED: f64 = 0.37;

/// Maximum rate of the tester in frames a second, about that of a lab's floods. Only ratios to it
/// matter.
const MOST: f64 = 1e6;

/// Shares of its flood rate that a lab's tester can pace, from one trial to the next. The tester
/// shares the processors with the device, so nothing is lost and its limit varies.
const RAGGED: [f64; 7] = [0.33, 0.38, 0.31, 0.40, 0.36, 0.41, 0.34];

/// Share above which a highest load is disproved by the next trial, and so is unusual.
const LUCKY: f64 = 0.39;

/// Minimum duration of a load in a lab with limits. A token bucket holds some 7 ms, which is then a
/// negligible share.
const LONG_ENOUGH: Nanos = Nanos::from_millis(1_440);

/// Usual case that a search meets.
#[derive(Debug, Clone, Copy)]
enum Usual {
    /// Path that forwards this share of the tester's rate, and loses the rest.
    Forwards(f64),
    /// Tester that is slower than the path.
    Ragged,
}

impl Usual {
    /// Result of a search's trial, by its number.
    fn answer(self, attempt: Attempt, number: usize) -> Seen {
        let (offered, seconds) = (attempt.rate, attempt.duration.as_secs_f64());
        let paced = MOST * RAGGED[number % RAGGED.len()];
        let passed = match self {
            Self::Ragged if offered.0 > paced => {
                return Seen::BeyondTester { lossless: Some(FrameRate(paced)) };
            }
            Self::Ragged => offered.0,
            Self::Forwards(share) => offered.0.min(share * MOST),
        };
        let [sent, passed] = [offered.0, passed].map(|rate| (rate * seconds) as u64);
        Seen::Counted { offered, sent, lost: sent - passed }
    }
}

/// Numbers of a study's paths.
#[derive(Debug, Clone, Copy)]
struct Counts {
    subjects: u64,
    /// Subjects with a direct cable.
    paired: u64,
    all: u64,
    resettable: u64,
    /// True if hosts and devices belong to a lab.
    lab: bool,
    /// Limit of the slowest port of a lab's devices; `None` without one.
    limit: Option<Rate>,
}

impl Counts {
    fn from_spec(spec: &ForwardingSpec, topology: &Topology) -> Option<Self> {
        let ways = spec.ways(topology).ok()?;
        let subjects = ways.subjects();
        let paired = subjects.iter().filter(|way| ways.bypass_of(**way).is_some()).count();
        let resettable = subjects.iter().filter(|way| ways.resettable(**way, topology)).count();
        let rates = topology.devices.iter().filter_map(|device| device.port_rate);
        Some(Self {
            subjects: subjects.len() as u64,
            paired: paired as u64,
            all: ways.all().len() as u64,
            resettable: resettable as u64,
            lab: topology.is_lab(),
            limit: rates.min().filter(|_| topology.is_lab()),
        })
    }
}

impl ForwardingSpec {
    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let Some(ways) = Counts::from_spec(self, topology) else { return Estimate::NONE };
        Frames::all(self).iter().map(|frames| self.estimate_of(frames, ways)).sum()
    }

    /// Estimates the tests of one frame size.
    fn estimate_of(&self, frames: &Frames, ways: Counts) -> Estimate {
        let tests = [
            (ForwardingTest::Throughput, self.searches(frames, ways)),
            (ForwardingTest::Latency, self.latency_trials(ways)),
            (ForwardingTest::LossCurve, self.curves(ways)),
            (ForwardingTest::BackToBack, self.bursts(ways)),
            (ForwardingTest::Recovery, self.recoveries(ways)),
            (ForwardingTest::Reset, self.resets(ways)),
        ];
        let wanted = tests.into_iter().filter(|(test, _)| self.wants(*test));
        let mut each = wanted.map(|(_, estimate)| estimate).sum::<Estimate>();
        let searches = self.wants(ForwardingTest::Throughput);
        // In a lab, rates that pass are also tested for long.
        let passes = if ways.lab && ways.limit.is_none() { ways.subjects } else { 0 };
        let outlasting = self.profile.trial(lasting(self.duration)) * passes;
        if self.wants(ForwardingTest::Flood) {
            each += self.profile.trial(self.duration) * (u64::from(self.blocks.get()) * ways.all);
            // Trial that looks for a token bucket.
            each += self.profile.trial(longer(self.duration)) * ways.subjects;
            if longer(self.duration) < lasting(self.duration) {
                each += outlasting;
            }
        } else if searches {
            each += self.profile.trial(self.duration) * ways.all;
            if self.final_duration < lasting(self.duration) {
                each += outlasting;
            }
        } else if self.wants(ForwardingTest::LossCurve) && self.link_rate.is_none() {
            each += self.profile.trial(self.duration) * ways.subjects;
        }
        each
    }

    fn searches(&self, frames: &Frames, ways: Counts) -> Estimate {
        let of = |usual| {
            let round = |goals: &Vec<Goal>| self.search(goals, usual);
            Terms::from(self).rounds().iter().map(round).sum::<Estimate>().searching()
        };
        let cables = ways.all - ways.subjects;
        if ways.lab && ways.limit.is_none() {
            return of(Usual::Ragged) * ways.all;
        }
        let limited = frames.line_rate(ways.limit).map_or(FORWARDED, |rate| rate.0 / MOST);
        of(Usual::Forwards(limited.min(FORWARDED))) * ways.subjects
            + of(Usual::Forwards(1.0)) * cables
    }

    /// Estimates the search itself, without repeats of trials. The flood rules out loads far above
    /// the path's capacity. Otherwise a paced trial finds the highest load, which varies with a
    /// ragged tester.
    fn search(&self, goals: &[Goal], usual: Usual) -> Estimate {
        match usual {
            Usual::Forwards(share) if share < 1.0 => self.search_up_to(MOST, goals, usual),
            Usual::Forwards(_) => {
                self.profile.trial(self.duration) + self.search_up_to(MOST, goals, usual)
            }
            Usual::Ragged => {
                let likely = || RAGGED.into_iter().filter(|share| *share < LUCKY);
                let each = likely().map(|share| {
                    self.search_up_to(share * (1.0 - PACING_MARGIN) * MOST, goals, usual)
                });
                let all = each.sum::<Estimate>();
                self.profile.trial(self.duration) + all / likely().count() as u64
            }
        }
    }

    fn search_up_to(&self, most: f64, goals: &[Goal], usual: Usual) -> Estimate {
        let range = LoadRange::below(FrameRate(most), self.final_duration);
        let mut search = Terms::from(self).search(goals, range);
        let (mut all, mut number) = (Estimate::NONE, 0);
        while let Step::Try(attempt) = search.next() {
            all += self.profile.trial(attempt.duration);
            search.learn(usual.answer(attempt, number));
            number += 1;
        }
        all
    }

    fn latency_trials(&self, ways: Counts) -> Estimate {
        let trials = u64::from(self.latency_repeats.get()) * self.latency_percents.len() as u64;
        self.profile.trial(self.latency_duration) * (trials * (ways.subjects + ways.paired))
    }

    fn curves(&self, ways: Counts) -> Estimate {
        let cables = ways.paired * loss_curve::USUAL_BYPASS_STEPS;
        let steps = loss_curve::USUAL_STEPS * ways.subjects + cables;
        let bucket = if ways.limit.is_some() { LONG_ENOUGH } else { Nanos::ZERO };
        (self.profile.trial(self.duration.max(bucket)) * steps).searching()
    }

    /// Half of a bisection's bursts fail, and are verified.
    fn bursts(&self, ways: Counts) -> Estimate {
        let usual = back_to_back::USUAL_TRIALS * (2 + u64::from(self.loss_verification.get())) / 2;
        let trials = usual * u64::from(self.burst_repeats.get()) * ways.subjects + ways.paired;
        (self.profile.trial(self.burst_duration * 5 / 4) * trials).searching()
    }

    fn recoveries(&self, ways: Counts) -> Estimate {
        let trials = u64::from(self.blocks.get()) * ways.subjects + ways.paired;
        self.profile.trial(self.overload_duration + self.duration) * trials
    }

    fn resets(&self, ways: Counts) -> Estimate {
        let resets = self.blocks.get().min(reset::REPEATS);
        let repeats = u64::from(resets + reset::controls(resets));
        self.profile.trial(self.reset_duration) * (repeats * ways.resettable)
    }
}
