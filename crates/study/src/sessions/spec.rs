//! Request for the sessions study: ports, tests, durations and the ranges of its searches.
//!
//! Owns its checks and its estimate. Never requests a trial.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::varied::Varied;
use crate::ways::Ways;
use crate::{
    BLOCKS, Between, Blocks, Estimate, Known, Needs, Precision, Profile, SpecProblem, TRIES, Tries,
    problem,
};
use trial::{Offloads, Subject, Topology, Transport};

measure::ranged! {
    /// Most connections at once that the search tries.
    MostConnections(u64 as i64, 1..=1_000_000, "connections", "100,000 are the usual ceiling; each takes a few KiB of memory at both hosts");
    /// New connections a second.
    OpeningRate(f64 as f64, 1.0..=1_000_000.0, "new connections a second", "half of what a device sustains leaves it room");
}

/// Trials of a search, usually.
const SEARCH_TRIALS: u64 = 14;

/// Rate at which the estimate expects connections to be opened.
const USUAL_RATE: f64 = 5_000.0;

/// Silence beyond the two minutes that RFC 4787 §4.3 asks of NATs for UDP.
const fn longest_idle() -> Nanos {
    Nanos::from_secs(150)
}

/// Longer than Linux remembers a UDP flow of one packet each way (`nf_conntrack_udp_timeout`).
const fn usual_rest() -> Nanos {
    Nanos::from_secs(31)
}

/// Request of the sessions study, fully resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionsSpec {
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Pair of ports; if not named, those of the first hosts.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Protocol of the connections.
    #[serde(default, skip_serializing_if = "Transport::is_tcp")]
    pub transport: Transport,
    /// Tests to carry out.
    pub tests: Vec<SessionsTest>,
    /// Most connections at once that the search tries.
    pub most: MostConnections,
    /// Rate at which the connections of that search are opened; `None` for half of the rate found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<OpeningRate>,
    /// Duration of the trials on the way of the search for a rate.
    pub duration: Nanos,
    /// Duration of the trials that decide a rate.
    pub final_duration: Nanos,
    /// Time for which all connections are held open at once.
    pub hold: Nanos,
    /// Longest silence that the test of idle connections tries.
    #[serde(default = "longest_idle")]
    pub idle: Nanos,
    /// Time for which each of these connections is active first; `None` for one message each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Nanos>,
    /// Time in which a device forgets UDP flows, if the test of idle ones does not find it.
    #[serde(default = "usual_rest")]
    pub rest: Nanos,
    /// Time after which a handshake or an answer counts as timed out.
    pub timeout: Nanos,
    /// Width of a search's last bracket, relative to its upper end.
    pub precision: Precision,
    /// Repetitions of the handshakes' trials; the searches run once.
    pub blocks: Blocks,
    /// Profile of the phases around the load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

/// Test of the sessions study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionsTest {
    /// New connections a second (RFC 9411 §7.2).
    Rate,
    /// Connections at once (RFC 9411 §7.5).
    Concurrent,
    /// Time of a handshake at a low rate.
    Handshake,
    /// Longest silence of a connection that the device still knows.
    Idle,
}

impl SessionsTest {
    /// Tests of TCP connections, if none are named, and of UDP flows: these begin with how long a
    /// device remembers them.
    pub const TCP: [Self; 3] = [Self::Rate, Self::Concurrent, Self::Handshake];
    /// See [`Self::TCP`].
    pub const UDP: [Self; 4] = [Self::Idle, Self::Rate, Self::Concurrent, Self::Handshake];

    /// Tests of a protocol's connections, if none are named.
    pub fn defaults(transport: Transport) -> Vec<Self> {
        match transport {
            Transport::Tcp => Self::TCP.to_vec(),
            Transport::Udp => Self::UDP.to_vec(),
        }
    }

    /// True for a search, whose number of trials is not known before.
    const fn is_search(self) -> bool {
        matches!(self, Self::Rate | Self::Concurrent)
    }

    /// Name in rows and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Concurrent => "concurrent",
            Self::Handshake => "handshake",
            Self::Idle => "idle",
        }
    }
}

impl SessionsSpec {
    /// Offloads of the hosts: connections run as in any program.
    pub const OFFLOADS: Offloads = Offloads::AsFound;

    /// Short request: every test, with trials of one and two seconds.
    pub fn quick() -> Self {
        Self {
            subjects: Vec::new(),
            between: Between::default(),
            transport: Transport::Tcp,
            tests: SessionsTest::defaults(Transport::Tcp),
            most: MostConnections::known(100_000),
            opening: None,
            duration: Nanos::from_secs(1),
            final_duration: Nanos::from_secs(2),
            hold: Nanos::from_millis(500),
            idle: longest_idle(),
            active: None,
            rest: usual_rest(),
            timeout: Nanos::from_millis(900),
            precision: Precision::known(0.02),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Request for publication: trials of ten and sixty seconds, and connections held for ten.
    pub fn strict() -> Self {
        Self {
            duration: Nanos::from_secs(10),
            final_duration: Nanos::from_secs(60),
            hold: Nanos::from_secs(10),
            precision: Precision::known(0.005),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let ways = self.ways(topology).map_or(0, |ways| ways.all().len() as u64);
        let trial = |load: Nanos| self.profile.trial(load + self.timeout);
        let opening = self.opening.map_or(USUAL_RATE, OpeningRate::get);
        let filling = Nanos::from_secs_f64(self.most.get() as f64 / 2.0 / opening);
        let of = |test: &SessionsTest| match test {
            SessionsTest::Rate => match self.transport {
                Transport::Tcp => trial(self.duration) * (SEARCH_TRIALS * ways),
                // Then the load that failed once more, and as many flows opened slowly.
                Transport::Udp => {
                    let confirmed = self.rest * 2 + self.final_duration * 11;
                    (trial(self.duration) * SEARCH_TRIALS + trial(confirmed)) * ways
                }
            },
            SessionsTest::Concurrent => trial(filling + self.hold) * (SEARCH_TRIALS * ways),
            SessionsTest::Handshake => trial(self.duration) * (u64::from(self.blocks.get()) * ways),
            SessionsTest::Idle => trial(self.idle + self.active.unwrap_or(Nanos::ZERO)) * ways,
        };
        let searching = self.tests.iter().any(|test| test.is_search());
        Estimate { searching, ..self.tests.iter().map(of).sum() }
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        problem::some("test", &self.tests)?;
        problem::lasts(self.duration)?;
        problem::lasts(self.final_duration)?;
        problem::lasts(self.timeout)?;
        problem::lasts(self.idle)?;
        let Some(topology) = known.topology else { return Ok(()) };
        self.ways(topology).map(drop)
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        let (offloads, protocols) = (Self::OFFLOADS, vec![self.transport.protocol()]);
        Needs { connections: true, offloads, protocols, ..Needs::default() }
    }

    /// Paths of the trials.
    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }

    pub(super) fn wants(&self, test: SessionsTest) -> bool {
        self.tests.contains(&test)
    }
}

impl Varied for SessionsSpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subjects.clone()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subjects = vec![subject];
    }

    fn blocks(&mut self) -> Option<&mut Blocks> {
        Some(&mut self.blocks)
    }

    /// Keeps the handshakes alone: the searches are not repeated.
    fn keep_repeated(&mut self) -> bool {
        let handshakes = self.wants(SessionsTest::Handshake);
        self.tests = vec![SessionsTest::Handshake];
        handshakes
    }
}
