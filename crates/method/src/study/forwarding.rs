//! The study `forwarding`: how many frames a second pass, without loss and under flood.
//!
//! Owns its request and the order of its trials. Never calls a tester's limit a device's: each
//! figure is paired with the same procedure over the direct cable.

mod flood;
mod loss_curve;
mod rig;
mod throughput;

use measure::{FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::session::{Session, TRIAL_OVERHEAD};
use super::{Paths, Profile, SpecProblem, problem};
use crate::search::{Goal, estimate};
use crate::trial::Backend;
use crate::{Figure, Testbed, TestbedError, Topology};

use rig::Rig;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForwardingSpec {
    /// Frame sizes.
    pub sizes: Vec<FrameSize>,
    /// Which procedures.
    pub tests: Vec<ForwardingTest>,
    /// The load phase of search, flood and loss-curve trials.
    pub duration: Nanos,
    /// A throughput counts only after a lossless trial this long.
    pub final_duration: Nanos,
    /// Repeats of the flood, in random order; the sampling unit.
    pub blocks: u32,
    /// What sends.
    pub backend: Backend,
    /// A search ends when its bracket is this narrow, relative to its upper end.
    pub precision: f64,
    /// The links' speed where it is known: for the theoretical column and the search's upper end.
    pub link_rate: Option<Rate>,
    /// The phases around each load.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: u32,
}

/// A procedure of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingTest {
    /// As fast as the tester can: forwarding rate at maximum offered load.
    Flood,
    /// The highest rate without loss (RFC 2544 §26.1).
    Throughput,
    /// Loss at 100 %, 90 %, 80 %… of the highest rate (RFC 2544 §26.3).
    LossCurve,
}

impl ForwardingSpec {
    /// A look: two sizes, all procedures, short trials.
    pub fn quick() -> Self {
        Self {
            sizes: vec![FrameSize::MIN, FrameSize::STANDARD_MAX],
            tests: vec![
                ForwardingTest::Flood,
                ForwardingTest::Throughput,
                ForwardingTest::LossCurve,
            ],
            duration: Nanos::from_millis(300),
            final_duration: Nanos::from_secs(2),
            blocks: 6,
            backend: Backend::Auto,
            precision: 0.005,
            link_rate: None,
            profile: Profile::Quick,
            tries: 3,
        }
    }

    /// RFC 2544's sizes and durations.
    pub fn strict() -> Self {
        Self {
            sizes: super::rfc2544_sizes(),
            duration: Nanos::from_secs(10),
            final_duration: Nanos::from_secs(60),
            blocks: 10,
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`super::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Nanos {
        let paths = Paths::of(topology).map_or(0, |paths| paths.all().len()) as u64;
        let short = self.profile.phases(self.duration).total() + TRIAL_OVERHEAD;
        let long = self.profile.phases(self.final_duration).total() + TRIAL_OVERHEAD;
        let mut each = Nanos::ZERO;
        if self.wants(ForwardingTest::Flood) {
            each += short * u64::from(self.blocks);
        } else if self.wants(ForwardingTest::Throughput) || self.wants(ForwardingTest::LossCurve) {
            each += short;
        }
        let mut all = each * paths;
        if self.wants(ForwardingTest::Throughput) {
            // The device's search, and for the bypass one trial at its ceiling and the final one.
            let goal = Goal { width: self.precision, ..Goal::rfc2544() };
            all += short * (estimate(&[goal]).trials - 1) + long;
            all += (short + long) * paths.saturating_sub(1);
        }
        if self.wants(ForwardingTest::LossCurve) && paths > 0 {
            let cable = (paths - 1) * loss_curve::USUAL_BYPASS_STEPS;
            all += short * (loss_curve::USUAL_STEPS + cable);
        }
        all * self.sizes.len() as u64
    }

    /// See [`super::StudySpec::check`].
    pub fn check(&self, topology: &Topology) -> Result<(), SpecProblem> {
        problem::some("frame size", &self.sizes)?;
        problem::some("test", &self.tests)?;
        problem::counts(self.blocks, self.tries, self.duration)?;
        if self.final_duration < self.duration {
            return Err(SpecProblem::OutOfRange {
                what: "the final trial's duration",
                value: self.final_duration.to_string(),
                range: "at least the other trials' duration",
            });
        }
        if !(self.precision > 0.0 && self.precision <= 0.5) {
            return Err(SpecProblem::OutOfRange {
                what: "the precision",
                value: self.precision.to_string(),
                range: "above 0 and at most 0.5",
            });
        }
        if self.link_rate == Some(Rate(0)) {
            return Err(SpecProblem::OutOfRange {
                what: "the link's rate",
                value: "0bit".to_owned(),
                range: "more than 0",
            });
        }
        match Paths::of(topology) {
            Some(_) => Ok(()),
            None => Err(SpecProblem::NoPair { testbed: topology.name.clone() }),
        }
    }

    /// See [`super::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>, TestbedError> {
        let session = Session::new(testbed, "forwarding", seed, self.profile, self.tries)?;
        let mut rig = Rig::new(self, session);
        let mut figures = Vec::new();
        if self.wants(ForwardingTest::Flood) {
            figures.extend(flood::run(&mut rig)?);
        }
        // Before the loss curve, whose highest load may follow from what is found here.
        if self.wants(ForwardingTest::Throughput) {
            for &size in &self.sizes {
                figures.extend(throughput::run(&mut rig, size)?);
            }
        }
        if self.wants(ForwardingTest::LossCurve) {
            for &size in &self.sizes {
                figures.extend(loss_curve::run(&mut rig, size)?);
            }
        }
        Ok(figures)
    }

    fn wants(&self, test: ForwardingTest) -> bool {
        self.tests.contains(&test)
    }
}
