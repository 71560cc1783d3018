//! Studies: measurements, decisions and their wording.
//!
//! A study asks a testbed for trials and turns their records into figures. Owns the studies, a
//! folder each, what they share, verdicts and searches. Never does I/O, never reads a clock, and
//! knows no testbed: a study sees only `Testbed::run(&Trial) -> TrialRecord`.

pub mod acceptance;
mod accounts;
mod between;
pub mod buffer;
mod burst;
pub mod campaign;
mod capacity;
pub mod comparison;
pub mod conformance;
mod consistency;
pub mod depth;
mod doubts;
mod estimate;
pub mod explain;
pub mod fabric;
pub mod failover;
pub mod imported;
pub mod latency;
mod line_share;
mod needs;
mod noted;
mod outage;
mod outline;
pub mod pattern;
mod place;
mod problem;
mod profile;
pub mod prove;
mod ranges;
pub mod rate;
pub mod request;
mod responsiveness;
mod rows;
pub mod run;
pub mod search;
pub mod seconds;
mod series;
mod session;
pub mod sessions;
mod shortened;
mod spec;
pub mod storage;
pub mod sweep;
pub mod tcp;
mod varied;
pub mod verdict;
mod view;
pub mod watch;
mod ways;
pub mod xray;

use noted::Noted;
use rows::Row;
use session::{Ask, Session, Tried};
use ways::{Link, Way, Ways};

pub use between::{Between, Directions};
pub use buffer::{Background, BufferPorts, BufferSpec, StabilityLimits};
pub use campaign::CampaignSpec;
pub use conformance::{Clause, Conformance, conformance};
pub use depth::DepthSpec;
pub use estimate::{Estimate, TRIAL_OVERHEAD, trial_overhead};
pub use explain::sizes_in_words;
pub use fabric::{Arrangement, FabricSpec, Nodes};
pub use failover::FailoverSpec;
pub use imported::ImportedSpec;
pub use latency::{LatencySpec, Load};
pub use needs::{Agents, Bypass, Needs, PacedFrames};
pub use outline::{Known, KnownDevice, LinkMtu, Outline};
pub use pattern::Pattern;
pub use place::{StudyPlace, numbered};
pub use problem::SpecProblem;
pub use profile::Profile;
pub use ranges::{BLOCKS, Blocks, Precision, Streams, TRIES, Tries};
pub use rate::forwarding::{self, ForwardingSpec, ForwardingTest, SearchKind};
pub use rate::switching::{self, SwitchTest, SwitchingSpec};
pub use sessions::{SessionsSpec, SessionsTest};
pub use spec::StudySpec;
pub use storage::StorageSpec;
pub use tcp::{TcpDirection, TcpSpec};
pub use varied::Varied;
pub use view::{Finding, StudyPage, Topic, Values, Who};
