//! Tables of the suites RFC 2544, 2889 and 8239: tests, traffic patterns, frame sizes and trial
//! durations.
//!
//! Owns the tables. Never runs a test, and never judges a device.

use std::ops::RangeInclusive;

use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;

/// Requirements of an RFC for all its tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Name in figures and in requests: `rfc2544`.
    pub name: &'static str,
    /// `RFC 2544`
    pub title: &'static str,
    /// Frame sizes in octets with FCS, on an Ethernet with a 1,500-octet MTU.
    pub sizes: [u32; 7],
    /// `RFC 2544 §9.1`
    pub sizes_clause: &'static str,
    /// Allowed duration of a trial that counts, in seconds.
    pub seconds: RangeInclusive<u64>,
    /// Default duration in seconds.
    pub usual_seconds: u64,
    /// `RFC 2544 §24`
    pub seconds_clause: &'static str,
}

const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// Benchmarking of devices between two ports.
pub static RFC2544: Suite = Suite {
    name: "rfc2544",
    title: "RFC 2544",
    sizes: SIZES,
    sizes_clause: "RFC 2544 §9.1",
    seconds: 60..=u64::MAX,
    usual_seconds: 60,
    seconds_clause: "RFC 2544 §24",
};

/// Benchmarking of switches.
pub static RFC2889: Suite = Suite {
    name: "rfc2889",
    title: "RFC 2889",
    sizes: SIZES,
    sizes_clause: "RFC 2889 §4",
    seconds: 1..=300,
    usual_seconds: 30,
    seconds_clause: "RFC 2889 §5.1.2",
};

impl Suite {
    /// Frame sizes of the suite.
    pub fn frames(&self) -> Vec<FrameSize> {
        let legal = |octets| FrameSize::new(octets).expect("an RFC's sizes are legal");
        self.sizes.map(legal).to_vec()
    }

    /// Sizes of the suite that are missing from `frames`, as users write them.
    pub(crate) fn missing(&self, frames: &[FrameSize]) -> Vec<String> {
        let missing = |size: &FrameSize| !frames.contains(size);
        self.frames().into_iter().filter(missing).map(|size| size.octets().to_string()).collect()
    }

    /// True if a trial that counts may have this duration.
    pub(crate) fn allows(&self, duration: Nanos) -> bool {
        duration >= Nanos::from_secs(*self.seconds.start())
            && duration.as_secs_f64() <= *self.seconds.end() as f64
    }
}

/// Test of the study `forwarding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingTest {
    /// Forwarding rate at maximum offered load (RFC 2285 §3.6.2): the tester sends as fast as it
    /// can.
    Flood,
    /// Highest rate at which a goal holds (RFC 2544 §26.1).
    Throughput,
    /// One-way delay at that rate (RFC 2544 §26.2, RFC 8219 §7.2).
    Latency,
    /// Loss at 100 %, 90 %, 80 %… of the highest rate (RFC 2544 §26.3).
    LossCurve,
    /// Longest burst without loss (RFC 2544 §26.4, RFC 9004).
    BackToBack,
    /// Recovery time after an overload (RFC 2544 §26.5).
    Recovery,
    /// Interruption by a reset (RFC 2544 §26.6, RFC 6201).
    Reset,
}

impl ForwardingTest {
    /// Tests of RFC 2544 §26, in its order.
    pub const RFC2544: [Self; 6] = [
        Self::Throughput,
        Self::Latency,
        Self::LossCurve,
        Self::BackToBack,
        Self::Recovery,
        Self::Reset,
    ];

    /// Name in figures and in requests: `flood`, `throughput`, `latency`, `loss-curve`,
    /// `back-to-back`, `recovery`, `reset`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flood => "flood",
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::LossCurve => "loss-curve",
            Self::BackToBack => "back-to-back",
            Self::Recovery => "recovery",
            Self::Reset => "reset",
        }
    }

    /// True if the load follows from the throughput.
    pub const fn needs_throughput(self) -> bool {
        matches!(self, Self::Latency | Self::BackToBack | Self::Recovery | Self::Reset)
    }
}

/// Test of RFC 2889 or RFC 8239.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchTest {
    /// Every port to every other.
    Mesh,
    /// One port to all others.
    OneToMany,
    /// All others to one port.
    ManyToOne,
    /// First half of the ports to the second half, and back.
    HalfToHalf,
    /// One half of the ports to the other.
    OneWay,
    /// Uncongested port next to a congested one.
    Congestion,
    /// Frames closer together than the standard's gap.
    ForwardPressure,
    /// Number of addresses that the device knows at once.
    AddressCaching,
    /// Number of new addresses a second that the device learns.
    AddressLearning,
    /// Treatment of errored frames.
    ErroredFrames,
    /// Broadcast frames to all ports.
    Broadcast,
    /// Pairs of ports and all ports at 99.98 % of line rate.
    LineRate,
    /// Longest burst without loss, from many ports into few.
    Microburst,
    /// Uncongested port next to a congested one, on every four neighbouring ports.
    HeadOfLine,
    /// TCP from many ports into one, together with datagrams.
    Incast,
}

/// Properties of a test.
struct Row {
    test: SwitchTest,
    name: &'static str,
    clause: &'static str,
    /// Traffic pattern; `None` if no throughput is searched.
    pattern: Option<Pattern>,
    /// Number of ports needed.
    ports: usize,
    /// Requirement of the clause, in our words.
    requirement: &'static str,
    /// Reason why hosts cannot run it; `None` if they can.
    impossible: Option<&'static str>,
}

/// All tests, RFC 2889's in its order, then RFC 8239's.
#[rustfmt::skip]
const TESTS: [Row; 15] = [
    of_pattern(SwitchTest::Mesh, Pattern::Mesh, "RFC 2889 §5.1",
        "throughput, forwarding rates and loss, every port sending to every other"),
    of_pattern(SwitchTest::OneToMany, Pattern::OneToMany, "RFC 2889 §5.2",
        "the same from one port to all others"),
    of_pattern(SwitchTest::ManyToOne, Pattern::ManyToOne, "RFC 2889 §5.2",
        "the same from all others to one port"),
    of_pattern(SwitchTest::HalfToHalf, Pattern::HalfToHalf, "RFC 2889 §5.3",
        "the same between the ports of two devices, or two halves of one"),
    of_pattern(SwitchTest::OneWay, Pattern::OneWay, "RFC 2889 §5.4",
        "the same from one half of the ports to the other"),
    row(SwitchTest::Congestion, "congestion", "RFC 2889 §5.5", 4,
        "head-of-line blocking and back pressure in groups of four ports"),
    // RFC 2889 §5.6 asks for gaps of 88 bits and less; RFC 2285 §3.5.1 calls that overload.
    impossible(SwitchTest::ForwardPressure, "forward-pressure", "RFC 2889 §5.6",
        "forwarding of frames that come closer than the gap allows",
        "gap-is-kept"),
    row(SwitchTest::AddressCaching, "address-caching", "RFC 2889 §5.7", 3,
        "the most addresses reached without flooding"),
    row(SwitchTest::AddressLearning, "address-learning", "RFC 2889 §5.8", 3,
        "the highest rate at which that many are all learned"),
    impossible(SwitchTest::ErroredFrames, "errored-frames", "RFC 2889 §5.9",
        "what becomes of frames too long, too short or damaged",
        "frames-are-mended"),
    row(SwitchTest::Broadcast, "broadcast", "RFC 2889 §5.10", 2,
        "throughput and latency of broadcast frames to every port"),
    row(SwitchTest::LineRate, "line-rate", "RFC 8239 §2", 2,
        "pairs of ports and all ports at 99.98 % of line rate, with latency"),
    row(SwitchTest::Microburst, "microburst", "RFC 8239 §4", 3,
        "the longest lossless burst, of all but one into one and so on"),
    row(SwitchTest::HeadOfLine, "head-of-line", "RFC 8239 §5", 4,
        "loss at an uncongested port beside a congested one, on every four"),
    row(SwitchTest::Incast, "incast", "RFC 8239 §6", 3,
        "goodput of TCP and latency of datagrams into one port"),
];

const fn row(
    test: SwitchTest,
    name: &'static str,
    clause: &'static str,
    ports: usize,
    requirement: &'static str,
) -> Row {
    Row { test, name, clause, pattern: None, ports, requirement, impossible: None }
}

/// Creates a test with a search for its throughput.
const fn of_pattern(
    test: SwitchTest,
    pattern: Pattern,
    clause: &'static str,
    requirement: &'static str,
) -> Row {
    Row { pattern: Some(pattern), ..row(test, pattern.as_str(), clause, 2, requirement) }
}

const fn impossible(
    test: SwitchTest,
    name: &'static str,
    clause: &'static str,
    requirement: &'static str,
    why: &'static str,
) -> Row {
    Row { impossible: Some(why), ..row(test, name, clause, 2, requirement) }
}

impl SwitchTest {
    /// Tests of RFC 2889, in its order.
    pub const RFC2889: [Self; 11] = {
        let mut tests = [Self::Mesh; 11];
        let mut at = 0;
        while at < tests.len() {
            tests[at] = TESTS[at].test;
            at += 1;
        }
        tests
    };

    /// Tests of RFC 8239 except its §3: another study measures buffers.
    pub const RFC8239: [Self; 4] =
        [Self::LineRate, Self::Microburst, Self::HeadOfLine, Self::Incast];

    const fn row(self) -> &'static Row {
        &TESTS[self as usize]
    }

    /// Name in figures and in requests: `mesh`, `one-to-many`…
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Clause that defines it: `RFC 2889 §5.1`.
    pub const fn clause(self) -> &'static str {
        self.row().clause
    }

    /// Requirement of the clause, in our words.
    pub(crate) const fn requirement(self) -> &'static str {
        self.row().requirement
    }

    /// `rfc2889` or `rfc8239`
    pub fn suite(self) -> &'static str {
        if Self::RFC2889.contains(&self) { RFC2889.name } else { "rfc8239" }
    }

    /// Traffic pattern; `None` if no throughput is searched.
    pub const fn pattern(self) -> Option<Pattern> {
        self.row().pattern
    }

    /// Number of ports needed.
    pub(super) const fn ports(self) -> usize {
        self.row().ports
    }

    /// Reason why hosts cannot run it; `None` if they can.
    pub(super) const fn impossible(self) -> Option<&'static str> {
        self.row().impossible
    }
}

/// Error: the test does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a test of RFC 2889 or RFC 8239")]
pub struct NoSuchTest(pub String);

impl std::str::FromStr for SwitchTest {
    type Err = NoSuchTest;

    fn from_str(text: &str) -> Result<Self, NoSuchTest> {
        let row = TESTS.iter().find(|row| row.name == text);
        row.map(|row| row.test).ok_or_else(|| NoSuchTest(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_its_own_row() {
        let all = SwitchTest::RFC2889.into_iter().chain(SwitchTest::RFC8239);
        assert_eq!(all.clone().count(), TESTS.len());
        for test in all {
            assert_eq!(test.row().test, test, "{}", test.as_str());
            assert_eq!(test.as_str().parse(), Ok(test));
            assert_eq!(serde_json::to_value(test).expect("a name"), test.as_str());
            let title = test.suite().replace("rfc", "RFC ");
            assert!(test.clause().starts_with(&title), "{}", test.clause());
        }
    }

    #[test]
    fn durations_that_a_suite_allows() {
        for (suite, least, longer) in [(&RFC2544, 60, true), (&RFC2889, 1, false)] {
            let at = |seconds| suite.allows(Nanos::from_secs(seconds));
            assert!(!at(least - 1) && at(least) && at(300), "{}", suite.title);
            assert_eq!(at(301), longer, "{}", suite.title);
            assert!(at(suite.usual_seconds));
        }
    }
}
