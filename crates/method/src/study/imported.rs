//! What other tools measured, in the place of a study: figures that no trial stands behind.
//!
//! Owns their verdicts, from the same tool's figures over a direct cable where there are any. Never
//! reads a tool's output.

use serde::{Deserialize, Serialize};

use crate::figure::{Condition, Figure, Unit, Verdict};
use crate::{Caveat, verdict};

/// Everything that was imported at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedSpec {
    /// The files, as they were named.
    pub files: Vec<String>,
    /// What they tell, in their order.
    pub figures: Vec<Figure>,
}

impl ImportedSpec {
    /// With each figure's verdict: a rate that the cable does not beat is a bound on the device; a delay
    /// has no interval, so nothing tells whose it is.
    pub fn new(files: Vec<String>, mut figures: Vec<Figure>) -> Self {
        let bypass: Vec<Figure> = figures.iter().filter(|f| is_bypass(f)).cloned().collect();
        for figure in &mut figures {
            if is_bypass(figure) {
                figure.verdict = Verdict::TesterLimited;
                continue;
            }
            let cable = bypass.iter().find(|other| is_beside(other, figure));
            if cable.is_none() {
                figure.caveats.push(Caveat::NoBypass);
                figure.caveats.sort();
            }
            figure.verdict = match (figure.unit, cable) {
                (
                    Unit::FramesPerSecond | Unit::BitsPerSecond | Unit::OperationsPerSecond,
                    Some(cable),
                ) => verdict::of_rate(figure.value, cable.value, true),
                _ => Verdict::Undetermined,
            };
        }
        Self { files, figures }
    }
}

fn is_bypass(figure: &Figure) -> bool {
    figure.conditions.get("path") == Some(&Condition::from("bypass"))
}

/// The same thing, wherever it was measured.
fn is_beside(cable: &Figure, figure: &Figure) -> bool {
    const PLACE: [&str; 4] = ["device", "path", "file", "tool"];
    let case = |figure: &Figure| {
        let kept = figure.conditions.iter().filter(|(name, value)| {
            !PLACE.contains(&name.as_str()) && !matches!(value, Condition::Number(_))
        });
        kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    (cable.metric, cable.unit, cable.quantile) == (figure.metric, figure.unit, figure.quantile)
        && case(cable) == case(figure)
}
