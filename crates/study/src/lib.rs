//! Methods: measurements, decisions and their wording.
//!
//! Owns figures, verdicts, caveats, the studies and the searches. Never does I/O, never reads a
//! clock, and knows no testbed: a study sees only `Testbed::run(&Trial) -> TrialRecord`.

pub mod acceptance;
pub mod comparison;
pub mod conformance;
pub mod explain;
pub mod prove;
pub mod request;
pub mod run;
pub mod search;
pub mod seconds;
pub mod study;
pub mod sweep;
pub mod verdict;
pub mod watch;

pub use conformance::{Clause, Conformance, conformance};
pub use explain::{explain_size, sizes_in_words};
pub use study::{
    Arrangement, Background, Between, Blocks, BufferPorts, BufferSpec, CampaignSpec, DepthSpec,
    Estimate, FabricSpec, FailoverSpec, ForwardingSpec, ForwardingTest, ImportedSpec, LatencySpec,
    Load, Nodes, Precision, Profile, SearchKind, SessionsSpec, SessionsTest, SpecProblem,
    StabilityLimits, StorageSpec, Streams, StudyPlace, StudySpec, SwitchTest, SwitchingSpec,
    TRIAL_OVERHEAD, TcpDirection, TcpSpec, Tries, numbered, trial_overhead,
};
