//! Runs: command, testbed, status, and the page around the studies' parts.
//!
//! Owns what a journal keeps of a run beside its trials, and the totals of all its trials. Never
//! holds a result: figures are computed from the trials.

mod accounting;
mod books;
pub(crate) mod caveats;
pub(crate) mod conditions;
mod conformance;
mod devices;
mod page;
mod picture;
mod studies;
mod totals;
mod trials;

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::path::PathBuf;

use ::page::{Condition, Figure};
use serde::{Deserialize, Serialize};
use trial::Topology;

use crate::acceptance::SheetClaim;
use crate::comparison::Comparable;
use crate::watch::WatchSpec;
use crate::{StudyPage, StudySpec};

pub use accounting::{Accounting, LeftOut, TrialAccount, all_exactly, exactly};
pub use page::{document, heading, loss_sentences};
pub use picture::picture;
pub use totals::TrialTotals;

/// Everything known about a run at its start: enough to resume it and to state its conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Identifier, short and sortable: `20261121-140312-3f9a`. The caller has the clock and the
    /// randomness.
    pub id: String,
    /// Time of creation, in nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// Verb: `latency`, `demo`…
    pub verb: String,
    /// Command line as typed.
    pub command_line: String,
    /// Working directory of the command: file names of the testbed are relative to it.
    #[serde(default)]
    pub folder: PathBuf,
    /// Version of the program.
    pub version: String,
    /// Seed of every random choice in the run.
    pub seed: u64,
    /// Requested studies.
    pub studies: Vec<StudySpec>,
    /// Testbed of the run.
    pub topology: Topology,
    /// Facts per host: kernel, cpu, governor, offloads, clock source…
    pub facts: BTreeMap<String, BTreeMap<String, String>>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Point of a sweep, for one of several runs that differ in one or two parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPoint>,
    /// Claims about the device to be tested; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<SheetClaim>,
    /// Specification of the watch, if it is one: its visits replace trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<WatchSpec>,
}

impl RunMeta {
    /// True if another tool made the measurement.
    pub fn is_import(&self) -> bool {
        self.verb == "import"
    }

    /// Names of its studies, `latency, fabric`; empty without one.
    pub fn study_names(&self) -> String {
        let mut names: Vec<&str> = self.studies.iter().map(StudySpec::name).collect();
        names.dedup();
        names.join(", ")
    }
}

/// Input of a run's page.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The run.
    pub meta: &'a RunMeta,
    /// Figures of the run.
    pub figures: &'a [Figure],
    /// Claims about the device that the page decides by these figures.
    pub claims: &'a [SheetClaim],
    /// Pages of the studies, by their numbers.
    pub pages: &'a [(NonZeroU16, StudyPage)],
    /// Totals of the trials.
    pub trials: &'a TrialTotals,
    /// Figures of a campaign by block, if they can be split.
    pub comparable: Option<&'a Comparable>,
}

/// True if a text can be a run's id: letters, digits, dots, dashes and underscores.
pub fn is_run_id(text: &str) -> bool {
    let is_part = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(is_part) && !text.starts_with('.')
}

/// Point of a sweep. Each point is a run of its own, whose id begins with the sweep's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Id of the sweep: `20261121-140312-3f9a`.
    pub sweep: String,
    /// Number of the point, from 1.
    pub point: u32,
    /// Number of points.
    pub of: u32,
    /// Swept parameters, in the requested order.
    pub values: Vec<SweptValue>,
}

impl SweepPoint {
    /// True if the run is a point of this sweep, by its id.
    pub fn is_of(run: &str, sweep: &str) -> bool {
        run.strip_prefix(sweep).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Id of the point's run: `20261121-140312-3f9a.07`; sorts like the points.
    pub fn run_id(&self) -> String {
        let digits = self.of.to_string().len();
        format!("{}.{:0digits$}", self.sweep, self.point)
    }
}

/// Swept parameter at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptValue {
    /// Name as the user gave it: `buffer`.
    pub parameter: String,
    /// Condition of that name in the figures, with its unit: `buffer_bytes`.
    pub condition: String,
    /// Value as written: `4MiB`.
    pub text: String,
    /// Value in the base unit that `condition` names.
    pub number: f64,
}

impl SweptValue {
    /// Value as a figure's condition: an integer if it is whole.
    pub fn as_condition(&self) -> Condition {
        let number = self.number;
        let whole = number >= 0.0 && number.fract() == 0.0 && number < 1e15;
        if whole { Condition::Integer(number as u64) } else { Condition::Number(number) }
    }
}

/// Status of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Running; or its controller was killed, which the journal alone cannot show.
    Running,
    /// The controller is gone while the run was in progress. Never in the journal: nobody was left
    /// to write it.
    Died,
    /// Every study ended.
    Done,
    /// Every study ended, and no trial was valid. Never in the journal: it follows from the trials.
    NoFigures,
    /// The user stopped it.
    Interrupted,
    /// The run could not continue.
    Failed {
        /// Reason.
        reason: String,
    },
}

impl RunStatus {
    /// Name of the status: `running`, `died`, `done`, `done, no figures`, `interrupted`, `failed`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Died => "died",
            Self::Done => "done",
            Self::NoFigures => "done, no figures",
            Self::Interrupted => "interrupted",
            Self::Failed { .. } => "failed",
        }
    }
}
