//! Trials of a search by load, and the bounds that follow from them.
//!
//! Owns how a failure of the tester affects the bounds. Never decides a load.

use std::collections::BTreeMap;

use super::super::FailedBy;
use super::ladder::Rung;
use super::load::{Class, Load, Target, Trial};

/// Number of failures at a load that show the tester to be unable; a single one is a disturbance.
const REFUSALS: u32 = 2;

/// Number of failures at a load if the tester has offered as much or more, and so was able.
const REFUSALS_WHERE_ABLE: u32 = 4;

/// Relevant bounds (RFC 9971 §4.8): the smallest upper bound, and the largest lower bound below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    pub(super) lower: Option<Rung>,
    pub(super) upper: Option<(Rung, FailedBy)>,
}

/// Trials by load.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ledger {
    loads: BTreeMap<Rung, Load>,
    /// Highest load of a valid trial: the tester can offer this much.
    able: Option<Rung>,
}

impl Ledger {
    /// Adds a valid trial.
    pub(super) fn count(&mut self, rung: Rung, trial: Trial) {
        self.able = self.able.max(Some(rung));
        self.carry(rung, trial);
    }

    /// Adds a load that passed although the tester meant to offer more: no proof of its ability.
    pub(super) fn carry(&mut self, rung: Rung, trial: Trial) {
        self.loads.entry(rung).or_default().trials.push(trial);
    }

    /// Adds a failure of the tester.
    pub(super) fn refuse(&mut self, rung: Rung) {
        self.loads.entry(rung).or_default().refusals += 1;
    }

    /// True if the tester has failed at this load too often for another attempt.
    pub(super) fn beyond_tester(&self, rung: Rung) -> bool {
        let able = self.able.is_some_and(|able| able >= rung);
        let most = if able { REFUSALS_WHERE_ABLE } else { REFUSALS };
        self.loads.get(&rung).is_some_and(|load| load.refusals >= most)
    }

    /// True if this load or a higher one was ever offered.
    pub(super) fn offered_from(&self, rung: Rung) -> bool {
        self.loads.range(rung..).any(|(_, load)| !load.trials.is_empty())
    }

    /// Trials at a load.
    pub(super) fn load(&self, rung: Rung) -> Option<&Load> {
        self.loads.get(&rung)
    }

    /// Bounds of a target from the trials so far. A load that passed disproves any failure of the
    /// tester below it.
    pub(super) fn bounds(&self, target: &Target) -> Bounds {
        let classes: Vec<(Rung, Class)> =
            self.loads.iter().map(|(rung, load)| (*rung, load.class(target))).collect();
        let passed = classes.iter().rev().find(|(_, class)| *class == Class::Lower);
        let proven = passed.map(|(rung, _)| *rung);
        let mut bounds = Bounds::default();
        for (rung, class) in classes {
            match class {
                Class::Lower => bounds.lower = Some(rung),
                Class::Upper => {
                    bounds.upper = Some((rung, FailedBy::Loss));
                    break;
                }
                Class::Undecided if proven < Some(rung) && self.beyond_tester(rung) => {
                    bounds.upper = Some((rung, FailedBy::Tester));
                    break;
                }
                Class::Undecided => {}
            }
        }
        bounds
    }
}
