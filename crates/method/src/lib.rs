//! What is measured, how it is decided, and what the result may be called.
//!
//! Owns the vocabulary (topology, flow, trial, record, figure, verdict, caveat), the `Testbed` seam,
//! the studies and the searches. Never does I/O, never reads a clock, and knows no testbed: a study
//! sees only `Testbed::run(&Trial) -> TrialRecord`.

pub mod campaign;
pub mod comparison;
pub mod conformance;
mod counters;
pub mod explain;
pub mod figure;
pub mod other_traffic;
pub mod prove;
pub mod reconcile;
pub mod record;
pub mod search;
pub mod study;
pub mod testbed;
pub mod topology;
pub mod trial;
pub mod validity;
pub mod verdict;

pub use campaign::CampaignSpec;
pub use conformance::{Clause, conformance};
pub use explain::{explain_size, line_rate_in_words};
pub use figure::{Caveat, Figure, Metric, Unit, Verdict};
pub use other_traffic::{OtherTraffic, other_traffic};
pub use reconcile::{Reconciliation, reconcile};
pub use record::{FlowRecord, Outcome, TrialRecord};
pub use study::{
    Arrangement, Background, BufferPorts, BufferSpec, DepthSpec, FabricSpec, ForwardingSpec,
    ForwardingTest, ImportedSpec, LatencySpec, Load, Nodes, Profile, Recabling, SearchKind,
    SpecProblem, StabilityLimits, StorageSpec, StudySpec, SwitchTest, SwitchingSpec,
    TRIAL_OVERHEAD,
};
pub use testbed::{Testbed, TestbedError};
pub use topology::{PortRef, Topology};
pub use trial::{Flow, Trial};
pub use validity::judge;
