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

use super::session::Session;
use super::{Profile, pattern};
use page::{Figure, Metric, Unit};
use trial::{Backend, Subject};
use trial::{Testbed, TestbedError};

pub use super::pattern::Pattern;

use rig::{PortSet, Rig};

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
    /// What sends.
    pub backend: Backend,
    /// The links' speed where it is known: for the highest load and the theoretical column.
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
}

/// A test of one of the two RFCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchTest {
    /// Every port to every other (RFC 2889 §5.1).
    Mesh,
    /// One port to all others (RFC 2889 §5.2).
    OneToMany,
    /// All others to one port (RFC 2889 §5.2).
    ManyToOne,
    /// Each half of the ports to the other (RFC 2889 §5.3).
    HalfToHalf,
    /// One half of the ports to the other (RFC 2889 §5.4).
    OneWay,
    /// An uncongested port beside a congested one (RFC 2889 §5.5).
    Congestion,
    /// Frames closer together than the standard's gap (RFC 2889 §5.6).
    ForwardPressure,
    /// How many addresses it knows at once (RFC 2889 §5.7).
    AddressCaching,
    /// How many new addresses a second it learns (RFC 2889 §5.8).
    AddressLearning,
    /// What it does with frames that are no frames (RFC 2889 §5.9).
    ErroredFrames,
    /// Frames to everybody (RFC 2889 §5.10).
    Broadcast,
    /// Pairs of ports and all ports at 99.98 % of the line's rate (RFC 8239 §2).
    LineRate,
    /// The longest burst without loss, of many ports into few (RFC 8239 §4).
    Microburst,
    /// An uncongested port beside a congested one, on every four neighbouring ports (RFC 8239 §5).
    HeadOfLine,
    /// TCP from many ports into one, beside datagrams (RFC 8239 §6).
    Incast,
}

impl SwitchTest {
    /// RFC 2889's, in its order.
    pub const RFC2889: [Self; 11] = [
        Self::Mesh,
        Self::OneToMany,
        Self::ManyToOne,
        Self::HalfToHalf,
        Self::OneWay,
        Self::Congestion,
        Self::ForwardPressure,
        Self::AddressCaching,
        Self::AddressLearning,
        Self::ErroredFrames,
        Self::Broadcast,
    ];

    /// RFC 8239's but for its §3: what a buffer holds is another study's.
    pub const RFC8239: [Self; 4] =
        [Self::LineRate, Self::Microburst, Self::HeadOfLine, Self::Incast];

    /// As figures and users write it: `mesh`, `one-to-many`…
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::OneToMany => "one-to-many",
            Self::ManyToOne => "many-to-one",
            Self::HalfToHalf => "half-to-half",
            Self::OneWay => "one-way",
            Self::Congestion => "congestion",
            Self::ForwardPressure => "forward-pressure",
            Self::AddressCaching => "address-caching",
            Self::AddressLearning => "address-learning",
            Self::ErroredFrames => "errored-frames",
            Self::Broadcast => "broadcast",
            Self::LineRate => "line-rate",
            Self::Microburst => "microburst",
            Self::HeadOfLine => "head-of-line",
            Self::Incast => "incast",
        }
    }

    /// Where it is written: `RFC 2889 §5.1`.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::Mesh => "RFC 2889 §5.1",
            Self::OneToMany | Self::ManyToOne => "RFC 2889 §5.2",
            Self::HalfToHalf => "RFC 2889 §5.3",
            Self::OneWay => "RFC 2889 §5.4",
            Self::Congestion => "RFC 2889 §5.5",
            Self::ForwardPressure => "RFC 2889 §5.6",
            Self::AddressCaching => "RFC 2889 §5.7",
            Self::AddressLearning => "RFC 2889 §5.8",
            Self::ErroredFrames => "RFC 2889 §5.9",
            Self::Broadcast => "RFC 2889 §5.10",
            Self::LineRate => "RFC 8239 §2",
            Self::Microburst => "RFC 8239 §4",
            Self::HeadOfLine => "RFC 8239 §5",
            Self::Incast => "RFC 8239 §6",
        }
    }

    /// `rfc2889` or `rfc8239`
    pub fn suite(self) -> &'static str {
        if Self::RFC2889.contains(&self) { "rfc2889" } else { "rfc8239" }
    }

    /// Who sends to whom, where its throughput is searched.
    pub const fn pattern(self) -> Option<Pattern> {
        match self {
            Self::Mesh => Some(Pattern::Mesh),
            Self::OneToMany => Some(Pattern::OneToMany),
            Self::ManyToOne => Some(Pattern::ManyToOne),
            Self::HalfToHalf => Some(Pattern::HalfToHalf),
            Self::OneWay => Some(Pattern::OneWay),
            _ => None,
        }
    }

    /// How many ports it needs.
    const fn ports(self) -> usize {
        match self {
            Self::Congestion | Self::HeadOfLine => 4,
            Self::AddressCaching | Self::AddressLearning | Self::Microburst | Self::Incast => 3,
            _ => 2,
        }
    }
}

/// There is no such test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a test of RFC 2889 or RFC 8239")]
pub struct NoSuchTest(pub String);

impl std::str::FromStr for SwitchTest {
    type Err = NoSuchTest;

    fn from_str(text: &str) -> Result<Self, NoSuchTest> {
        let mut all = Self::RFC2889.into_iter().chain(Self::RFC8239);
        all.find(|test| test.as_str() == text).ok_or_else(|| NoSuchTest(text.to_owned()))
    }
}

impl SwitchingSpec {
    /// A look at RFC 2889: eight ports, two sizes, short trials.
    pub fn quick() -> Self {
        Self {
            tests: SwitchTest::RFC2889.to_vec(),
            frames: vec![FrameSize::MIN, FrameSize::STANDARD_MAX],
            ports: 8,
            subjects: Vec::new(),
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
        }
    }

    /// RFC 2544's sizes, which RFC 2889 takes over, trials of 30 seconds, and all ports.
    pub fn strict() -> Self {
        Self {
            frames: super::rfc2544_sizes(),
            ports: pattern::MOST_PORTS as u32,
            duration: Nanos::from_secs(10),
            // RFC 2889 §5.1.2: from 1 to 300 seconds, 30 where nothing speaks against it.
            final_duration: Nanos::from_secs(30),
            burst_duration: Nanos::from_secs(2),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`super::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>, TestbedError> {
        let topology = testbed.topology().clone();
        let how = (self.profile, self.tries);
        let session = Session::new(testbed, "switching", &self.subjects, seed, how)?;
        let mut rig = Rig::new(self, session, topology);
        let mut figures = Vec::new();
        for board in rig.boards() {
            rig.learn_what_cables_carry(&board)?;
            for test in &self.tests {
                figures.extend(one(&mut rig, &board, *test)?);
            }
        }
        Ok(figures)
    }
}

/// One test on one device.
fn one(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    test: SwitchTest,
) -> Result<Vec<Figure>, TestbedError> {
    use SwitchTest::{
        AddressCaching, AddressLearning, Broadcast, Congestion, ErroredFrames, ForwardPressure,
        HalfToHalf, HeadOfLine, Incast, LineRate, ManyToOne, Mesh, Microburst, OneToMany, OneWay,
    };
    if board.ports.len() < test.ports() {
        let reason =
            format!("it needs {} ports, and there are {}", test.ports(), board.ports.len());
        return Ok(vec![rig.unsupported(board, test, Metric::LossRatio, Unit::Ratio, &reason)]);
    }
    match test {
        Mesh | OneToMany | ManyToOne | HalfToHalf | OneWay => throughput::run(rig, board, test),
        Congestion => congestion::groups_of_four(rig, board),
        HeadOfLine => congestion::every_four(rig, board),
        // RFC 2889 §5.6 asks for gaps of 88 bits and less; RFC 2285 §3.5.1 calls that overload.
        ForwardPressure => Ok(vec![rig.unsupported(
            board,
            test,
            Metric::LossRatio,
            Unit::Ratio,
            "a host's port keeps the standard's gap of 96 bits between frames",
        )]),
        ErroredFrames => Ok(vec![rig.unsupported(
            board,
            test,
            Metric::LossRatio,
            Unit::Ratio,
            "a host's port pads short frames and ends each with a right check sequence",
        )]),
        AddressCaching => addresses::caching(rig, board),
        AddressLearning => addresses::learning(rig, board),
        Broadcast => broadcast::run(rig, board),
        LineRate => line_rate::run(rig, board),
        Microburst => microburst::run(rig, board),
        Incast => incast::run(rig, board),
    }
}
