//! The study `switching`: a switch with all its ports at work, by the tests of RFC 2889 and RFC
//! 8239.
//!
//! Owns its request and the order of its tests. Never calls a frame received that came by a wrong
//! port: it is counted as flooded. A test that can't be made where it runs has a figure that says
//! why.

mod addresses;
mod broadcast;
mod check;
mod congestion;
mod incast;
mod line_rate;
mod microburst;
mod rig;
mod throughput;

use measure::{FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::study::{Between, Profile, Session, Varied, pattern};
use page::{Figure, Metric, Unit};
use trial::{Backend, Result, Subject, Testbed};

use super::suite;

pub use super::rules::SearchRules;
pub use super::suite::{NoSuchTest, SwitchTest};
pub use crate::study::pattern::Pattern;

use rig::Rig;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwitchingSpec {
    /// Which tests, in this order.
    pub tests: Vec<SwitchTest>,
    /// Frame sizes, with FCS.
    pub frames: Vec<FrameSize>,
    /// At most so many of a device's ports take part, from the first on.
    pub ports: u32,
    /// What is measured: devices, in their variants. Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Between which of the devices' ports; open: all of them, in their order.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// What sends.
    pub backend: Backend,
    /// The links' speed where it is known: for the highest load and the theoretical column. Where
    /// the testbed states its ports' own, those of the ports that take part count instead.
    pub link_rate: Option<Rate>,
    /// The load phase of trials at a fixed load, and of a search's on the way.
    pub duration: Nanos,
    /// A throughput counts only after a trial this long.
    pub final_duration: Nanos,
    /// A search ends when its bracket is this narrow, relative to its upper end.
    pub precision: f64,
    /// No burst takes longer than this on a sender's wire.
    pub burst_duration: Nanos,
    /// The most stations that the address tests try.
    pub stations: u32,
    /// At how many frames a second stations speak while their number is searched: at first, and
    /// more slowly where that may be what floods are about.
    pub learn_rate: u64,
    /// The phases around each load.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: u32,
    /// What a pattern's search keeps to. Runs recorded without it kept to rules of their own.
    #[serde(default)]
    pub rules: SearchRules,
}

impl SwitchingSpec {
    /// A look at RFC 2889: eight ports, two sizes, short trials.
    pub fn quick() -> Self {
        Self {
            tests: SwitchTest::RFC2889.to_vec(),
            frames: vec![FrameSize::MIN, FrameSize::STANDARD_MAX],
            ports: 8,
            subjects: Vec::new(),
            between: Between::default(),
            backend: Backend::Auto,
            link_rate: None,
            duration: Nanos::from_millis(100),
            final_duration: Nanos::from_millis(500),
            precision: 0.005,
            burst_duration: Nanos::from_millis(100),
            stations: 65_536,
            learn_rate: 4_000,
            profile: Profile::Quick,
            tries: 3,
            rules: SearchRules::Buckets,
        }
    }

    /// RFC 2544's sizes, which RFC 2889 takes over, trials of 30 seconds, and all ports.
    pub fn strict() -> Self {
        let suite = &suite::RFC2889;
        Self {
            frames: suite.frames(),
            ports: pattern::MOST_PORTS as u32,
            duration: Nanos::from_secs(10),
            final_duration: Nanos::from_secs(suite.usual_seconds),
            burst_duration: Nanos::from_secs(2),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::study::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>> {
        let topology = testbed.topology().clone();
        let how = (self.profile, self.tries);
        let session = Session::new(testbed, "switching", |t| self.ways(t), seed, how)?;
        let mut rig = Rig::new(self, session, topology);
        let mut figures = Vec::new();
        for way in rig.subjects() {
            rig.turn_to(way);
            rig.learn_what_cables_carry()?;
            for test in &self.tests {
                figures.extend(one(&mut rig, *test)?);
            }
        }
        Ok(figures)
    }
}

/// One test on one device.
fn one(rig: &mut Rig<'_, '_>, test: SwitchTest) -> Result<Vec<Figure>> {
    use SwitchTest::{
        AddressCaching, AddressLearning, Broadcast, Congestion, HeadOfLine, Incast, LineRate,
        Microburst,
    };
    let (ports, needed) = (rig.ports.len(), test.ports());
    let too_few = || format!("it needs {needed} ports, and there are {ports}");
    let reason = (ports < needed).then(too_few).or_else(|| test.impossible().map(str::to_owned));
    if let Some(reason) = reason {
        return Ok(vec![rig.unsupported(test, Metric::LossRatio, Unit::Ratio, &reason)]);
    }
    if let Some(pattern) = test.pattern() {
        return throughput::run(rig, (test, pattern));
    }
    match test {
        Congestion | HeadOfLine => congestion::run(rig, test),
        AddressCaching => addresses::caching(rig),
        AddressLearning => addresses::learning(rig),
        Broadcast => broadcast::run(rig),
        LineRate => line_rate::run(rig),
        Microburst => microburst::run(rig),
        Incast => incast::run(rig),
        _ => Ok(Vec::new()),
    }
}

impl Varied for SwitchingSpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subjects.clone()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subjects = vec![subject];
    }

    fn set_size(&mut self, size: FrameSize) -> bool {
        self.frames = vec![size];
        true
    }
}
