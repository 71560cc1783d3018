//! A run: how it was asked for, where it ran, how it ended, and its page around its studies' parts.
//!
//! Owns what a journal keeps of a run beside its trials, and what all its trials come to. Never
//! holds a result: figures are computed from the trials again.

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
use crate::study::{StudyPage, StudySpec};
use crate::watch::WatchSpec;

pub use accounting::{Accounting, LeftOut, TrialAccount, all_exactly, exactly};
pub use page::{document, heading, loss_sentences};
pub use picture::picture;
pub use totals::TrialTotals;

/// Everything about a run that is known when it starts: enough to resume it and to state its
/// conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Short and sortable: `20261121-140312-3f9a`. The caller has the clock and the randomness.
    pub id: String,
    /// Nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// The verb: `latency`, `demo`…
    pub verb: String,
    /// As it was typed.
    pub command_line: String,
    /// Where it was typed: what a testbed's name says of files is relative to it.
    #[serde(default)]
    pub folder: PathBuf,
    /// Of the program.
    pub version: String,
    /// Of every random choice in the run.
    pub seed: u64,
    /// What was asked.
    pub studies: Vec<StudySpec>,
    /// Where it ran.
    pub topology: Topology,
    /// Per host: kernel, cpu, governor, offloads, clock source…
    pub facts: BTreeMap<String, BTreeMap<String, String>>,
    /// Anything a reader should know.
    pub notes: Vec<String>,
    /// Its place in a sweep, where it is one of several runs that differ in one or two parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPoint>,
    /// What is claimed of the device, where that was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<SheetClaim>,
    /// What is watched, where it is a watch: its visits stand in the place of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<WatchSpec>,
}

impl RunMeta {
    /// True if another tool measured it.
    pub fn is_import(&self) -> bool {
        self.verb == "import"
    }
}

/// What a run's page is made from.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The run.
    pub meta: &'a RunMeta,
    /// Its figures.
    pub figures: &'a [Figure],
    /// Claims of the device that the page decides by these figures.
    pub claims: &'a [SheetClaim],
    /// What its studies show of what they found, by their numbers.
    pub pages: &'a [(NonZeroU16, StudyPage)],
    /// What its trials come to.
    pub trials: &'a TrialTotals,
    /// Of a campaign: its figures block by block, where they can be told.
    pub comparable: Option<&'a Comparable>,
}

/// True if a text can be a run's id: letters, digits, dots, dashes and underscores.
pub fn is_run_id(text: &str) -> bool {
    let is_part = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(is_part) && !text.starts_with('.')
}

/// One point of a sweep. Each point is a run of its own, whose id begins with the sweep's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// The sweep: `20261121-140312-3f9a`.
    pub sweep: String,
    /// Which point, from 1.
    pub point: u32,
    /// Of how many.
    pub of: u32,
    /// The swept parameters, in the order asked for.
    pub values: Vec<SweptValue>,
}

impl SweepPoint {
    /// Whether a run of that id is a point of the sweep of that name.
    pub fn is_of(run: &str, sweep: &str) -> bool {
        run.strip_prefix(sweep).is_some_and(|rest| rest.starts_with('.'))
    }

    /// `20261121-140312-3f9a.07`: sorts as the points do.
    pub fn run_id(&self) -> String {
        let digits = self.of.to_string().len();
        format!("{}.{:0digits$}", self.sweep, self.point)
    }
}

/// A swept parameter at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptValue {
    /// As the user named it: `buffer`.
    pub parameter: String,
    /// The condition of that name in the figures, with its unit: `buffer_bytes`.
    pub condition: String,
    /// As it is written: `4MiB`.
    pub text: String,
    /// In the base unit that `condition` names.
    pub number: f64,
}

impl SweptValue {
    /// As a figure has it: a count where it is a whole number.
    pub fn as_condition(&self) -> Condition {
        let number = self.number;
        let whole = number >= 0.0 && number.fract() == 0.0 && number < 1e15;
        if whole { Condition::Integer(number as u64) } else { Condition::Number(number) }
    }
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Under way; or its controller was killed, which the journal alone does not tell.
    Running,
    /// It was under way, and whoever carried it out is gone. Never in the journal: nobody was left
    /// to write it.
    Died,
    /// Every study ended.
    Done,
    /// The same, and not one trial was valid. Never in the journal: the trials there tell.
    NoFigures,
    /// The user stopped it.
    Interrupted,
    /// It could not go on.
    Failed {
        /// Why.
        reason: String,
    },
}

impl RunStatus {
    /// `running`, `died`, `done`, `done, no figures`, `interrupted`, `failed`
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
