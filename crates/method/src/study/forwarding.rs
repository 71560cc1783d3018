//! The study `forwarding`: how many frames a second pass, without loss and under flood.
//!
//! Owns its request and the order of its trials. Never calls a tester's limit a device's: each
//! figure is paired with the same procedure over the direct cable.

use measure::{FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::{Profile, SpecProblem};
use crate::trial::Backend;
use crate::{Figure, Testbed, TestbedError, Topology};

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
    pub fn estimate(&self, _topology: &Topology) -> Nanos {
        Nanos::ZERO
    }

    /// See [`super::StudySpec::check`].
    pub fn check(&self, _topology: &Topology) -> Result<(), SpecProblem> {
        Ok(())
    }

    /// See [`super::StudySpec::run`].
    pub fn run(&self, _testbed: &mut dyn Testbed, _seed: u64) -> Result<Vec<Figure>, TestbedError> {
        Ok(Vec::new())
    }
}
