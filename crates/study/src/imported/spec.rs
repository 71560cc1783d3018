//! Request with imported figures: the files, their figures, and each figure's verdict from the same
//! tool's figures over a direct cable, if any.
//!
//! Never reads a tool's output.

use super::finding::ImportedFinding;
use crate::{Agents, Estimate, Known, Needs, SpecProblem, Varied};
use serde::{Deserialize, Serialize};
use trial::{Subject, Testbed, TestbedError, Topology};

use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates, Setting, Standing};
use page::Caveat;
use page::{Condition, Figure, Key, Unit, UnreadLine};

/// All figures of one import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedSpec {
    /// Names of the files, as given.
    pub files: Vec<String>,
    /// Figures of the files, in their order.
    pub figures: Vec<Figure>,
    /// Lines of the files that were not understood.
    #[serde(default)]
    pub unread: Vec<UnreadLine>,
}

impl ImportedSpec {
    /// Estimates no trials.
    pub const fn estimate(&self, _topology: &Topology) -> Estimate {
        Estimate::NONE
    }

    /// See [`crate::StudySpec::check`].
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "what every study has")]
    pub(crate) const fn check(&self, _known: Known<'_>) -> Result<(), SpecProblem> {
        Ok(())
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        Needs { agents: Agents::Nowhere, ..Needs::default() }
    }

    /// See [`crate::StudySpec::run`].
    pub fn run(&self, _: &mut dyn Testbed, _seed: u64) -> Result<ImportedFinding, TestbedError> {
        Ok(ImportedFinding::new(&self.figures, &self.unread))
    }

    /// Creates the request and sets each figure's verdict. Repeated outputs count as repetitions.
    /// As with one block of a study, a single output cannot separate device and tester.
    pub fn new(files: Vec<String>, mut figures: Vec<Figure>, unread: Vec<UnreadLine>) -> Self {
        let all = figures.clone();
        let bypass: Vec<&Figure> = all.iter().filter(|f| f.is_bypass()).collect();
        for figure in &mut figures {
            let cables: Vec<&Figure> =
                bypass.iter().copied().filter(|other| is_beside(other, figure)).collect();
            let standing = match (figure.is_bypass(), cables.is_empty()) {
                (true, _) => Standing::Cable,
                (false, true) => Standing::Alone,
                (false, false) => Standing::Beside,
            };
            if standing == Standing::Alone {
                figure.doubt(Caveat::NoBypass);
            }
            let again = |other: &&Figure| !other.is_bypass() && is_beside(other, figure);
            let device: Vec<f64> = all.iter().filter(again).filter_map(|f| f.value).collect();
            let bypass: Vec<f64> = cables.iter().filter_map(|cable| cable.value).collect();
            let (device, bypass) = (&device[..], &bypass[..]);
            let setting = Setting { standing, shared_processors: false };
            figure.verdict = match figure.unit {
                Unit::FramesPerSecond | Unit::BitsPerSecond | Unit::OperationsPerSecond => {
                    // It is unknown whether frames were lost.
                    let rates = Rates::Apart { device, bypass };
                    Evidence::Rate(RateEvidence::new(rates, Driven::HeldBack)).verdict(setting)
                }
                Unit::Nanoseconds => {
                    Evidence::Delay(Delays::Apart { device, bypass, floor: 0.0 }).verdict(setting)
                }
                _ => Evidence::Nothing.verdict(setting),
            };
        }
        Self { files, figures, unread }
    }
}

/// True if both figures have the same metric and case, wherever they were measured.
fn is_beside(cable: &Figure, figure: &Figure) -> bool {
    const PLACE: [Key; 5] = [Key::Device, Key::Path, Key::File, Key::Position, Key::Tool];
    let is_place = |name: &Key| PLACE.contains(name) || Key::OF_ONE_OUTPUT.contains(name);
    let case = |figure: &Figure| {
        let kept = figure.conditions.iter().filter(|(name, value)| {
            let is_number = matches!(value, Condition::Number(_));
            !is_place(name) && (name.role().identifies() || !is_number)
        });
        kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    (cable.metric, cable.unit, cable.quantile) == (figure.metric, figure.unit, figure.quantile)
        && case(cable) == case(figure)
}

impl Varied for ImportedSpec {
    fn subjects(&self) -> Vec<Subject> {
        Vec::new()
    }

    fn set_subject(&mut self, _subject: Subject) {}
}
