//! Request for the study `forwarding`: the frames, the tests and the durations.
//!
//! Owns the two ready-made requests, and the settings for campaigns. Never holds an open choice
//! that only a trial could settle, and never runs one.

use measure::{FrameMix, FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::search::GoalName;
use crate::{
    Agents, BLOCKS, Between, Blocks, Bypass, Needs, Precision, Profile, TRIES, Tries, Varied,
};
use trial::{Backend, Headers, Reception, Subject};

use super::super::suite;
use super::{ForwardingTest, SearchKind, SearchRules};

measure::ranged! {
    /// Threads that share a load in each direction.
    Senders(u16 as i64, 1..=64, "senders", "each is a thread, with a queue of its own where the port has several");
    /// Load of the latency test, relative to the throughput.
    LoadPercent(u32 as i64, 1..=100, "percent of the throughput", "100 is the throughput itself (RFC 2544), 50 the half of it");
    /// Repetitions of a latency trial or of a back-to-back search; the sampling unit.
    Repeats(u32 as i64, 1..=1000, "repeats", "RFC 2544 repeats latency 20 times and bursts 50 times");
    /// Repeats of a burst that lost frames, before it counts as lost.
    Verifications(u32 as i64, 0..=1000, "repeats", "1 is usual");
}

/// Single thread: the default, and the value in journals older than the choice.
const fn one_sender() -> Senders {
    Senders::known(1)
}

/// Request for a forwarding study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForwardingSpec {
    /// Frame sizes, or patterns of them.
    pub frames: Vec<FrameMix>,
    /// Tests to run. Those whose load follows from the throughput include its search.
    pub tests: Vec<ForwardingTest>,
    /// Goals of the throughput search, each a quantity of its own.
    pub goals: Vec<GoalName>,
    /// Method of the throughput search.
    pub search: SearchKind,
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Rules of floods and searches.
    #[serde(default = "SearchRules::common")]
    pub rules: SearchRules,
    /// Pair of ports; if not named, those of the first hosts.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// True if the same load runs in the other direction at the same time.
    pub bidirectional: bool,
    /// Backend that sends the frames.
    pub backend: Backend,
    /// Receiver that counts the frames.
    pub receiver: Reception,
    /// Threads that share the load in each direction, with a queue of their own where possible.
    #[serde(default = "one_sender")]
    pub senders: Senders,
    /// Headers before the payload, and their fields that vary.
    pub headers: Headers,
    /// Rate of the links if known, for the theoretical column and the highest load. If the testbed
    /// states its ports' rates, those of a path's two ports count instead.
    pub link_rate: Option<Rate>,
    /// Load phase of flood and loss-curve trials, and of a search's intermediate trials.
    pub duration: Nanos,
    /// Length of the trial that confirms a throughput with a goal of long trials.
    pub final_duration: Nanos,
    /// Width of the bracket at which a search ends, relative to its upper end.
    pub precision: Precision,
    /// Repetitions of the flood, in random order; the sampling unit.
    pub blocks: Blocks,
    /// Loads of the latency test, in percent of the throughput; RFC 2544 asks for 100.
    pub latency_percents: Vec<LoadPercent>,
    /// Load phase of a latency trial.
    pub latency_duration: Nanos,
    /// Repetitions of the latency trial; the sampling unit.
    pub latency_repeats: Repeats,
    /// Longest duration of a burst of the back-to-back test on the wire.
    pub burst_duration: Nanos,
    /// Repetitions of the back-to-back search; the sampling unit.
    pub burst_repeats: Repeats,
    /// Number of times that a burst that lost frames is sent again before it counts as lost.
    pub loss_verification: Verifications,
    /// Overload of the recovery test; the load after it lasts for `duration`.
    pub overload_duration: Nanos,
    /// Load phase of the reset test, in which the device must recover.
    pub reset_duration: Nanos,
    /// Profile of the phases around each load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

impl ForwardingSpec {
    /// First look: two sizes, flood, throughput and loss curve, short trials.
    pub fn quick() -> Self {
        Self {
            frames: [FrameSize::MIN, FrameSize::STANDARD_MAX].map(FrameMix::from_size).to_vec(),
            tests: vec![
                ForwardingTest::Flood,
                ForwardingTest::Throughput,
                ForwardingTest::LossCurve,
            ],
            goals: vec![GoalName::Rfc2544],
            search: SearchKind::Mlr,
            rules: SearchRules::Buckets,
            subjects: Vec::new(),
            between: Between::default(),
            bidirectional: false,
            backend: Backend::Auto,
            receiver: Reception::Auto,
            senders: one_sender(),
            headers: Headers::default(),
            link_rate: None,
            duration: Nanos::from_millis(300),
            final_duration: Nanos::from_secs(2),
            precision: Precision::known(0.005),
            blocks: BLOCKS,
            latency_percents: vec![LoadPercent::known(100)],
            latency_duration: Nanos::from_secs(1),
            latency_repeats: Repeats::known(6),
            burst_duration: Nanos::from_millis(300),
            burst_repeats: Repeats::known(6),
            loss_verification: Verifications::known(1),
            overload_duration: Nanos::from_secs(1),
            reset_duration: Nanos::from_secs(10),
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Sizes, durations and repetitions of RFC 2544.
    pub fn strict() -> Self {
        let suite = &suite::RFC2544;
        Self {
            frames: suite.frames().into_iter().map(FrameMix::from_size).collect(),
            duration: Nanos::from_secs(10),
            final_duration: Nanos::from_secs(suite.usual_seconds),
            latency_duration: Nanos::from_secs(120),
            latency_repeats: Repeats::known(20),
            burst_duration: Nanos::from_secs(2),
            burst_repeats: Repeats::known(50),
            overload_duration: Nanos::from_secs(60),
            reset_duration: Nanos::from_secs(300),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        let paced = self.tests.iter().find(|test| **test != ForwardingTest::Flood);
        Needs {
            sizes: self.frames.iter().map(FrameMix::largest).collect(),
            headers: vec![self.headers],
            backend: self.backend,
            even_gaps: paced.map(|test| test.as_str()),
            receiver: self.receiver,
            senders: self.senders.get(),
            agents: Agents::NotWhereCounted,
            bypass: Bypass::Recorded,
            ..Needs::default()
        }
    }

    /// True if a test runs: those that need the throughput include its search.
    pub fn wants(&self, test: ForwardingTest) -> bool {
        let needed = || self.tests.iter().any(|test| test.needs_throughput());
        self.tests.contains(&test) || (test == ForwardingTest::Throughput && needed())
    }
}

impl Varied for ForwardingSpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subjects.clone()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subjects = vec![subject];
    }

    fn set_size(&mut self, size: FrameSize) -> bool {
        self.frames = vec![FrameMix::from_size(size)];
        true
    }

    fn blocks(&mut self) -> Option<&mut Blocks> {
        Some(&mut self.blocks)
    }

    /// Keeps the floods alone: other tests have their own repetitions.
    fn keep_repeated(&mut self) -> bool {
        let floods = self.wants(ForwardingTest::Flood);
        self.tests = vec![ForwardingTest::Flood];
        floods
    }
}
