//! All trials of a search, load by load, and the bounds that follow from them.
//!
//! Owns what a load that the tester could not do means to the bounds. Never decides a load.

use std::collections::BTreeMap;

use super::super::FailedBy;
use super::ladder::Rung;
use super::load::{Class, Load, Target, Trial};

/// How often the tester must fail at a load to be taken for unable: one failure is a disturbance.
const REFUSALS: u32 = 2;

/// How often where it has offered as much or more, and so was able.
const REFUSALS_WHERE_ABLE: u32 = 4;

/// The relevant bounds (RFC 9971 §4.8): the smallest upper bound, and the largest lower below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    pub(super) lower: Option<Rung>,
    pub(super) upper: Option<(Rung, FailedBy)>,
}

/// Trials by load.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ledger {
    loads: BTreeMap<Rung, Load>,
    /// The highest load of a valid trial: so much the tester can do.
    able: Option<Rung>,
}

impl Ledger {
    /// A valid trial.
    pub(super) fn count(&mut self, rung: Rung, trial: Trial) {
        self.able = self.able.max(Some(rung));
        self.carry(rung, trial);
    }

    /// A load that passed though the tester meant to offer more: no proof of what it is able to do.
    pub(super) fn carry(&mut self, rung: Rung, trial: Trial) {
        self.loads.entry(rung).or_default().trials.push(trial);
    }

    /// A trial that the tester could not do.
    pub(super) fn refuse(&mut self, rung: Rung) {
        self.loads.entry(rung).or_default().refusals += 1;
    }

    /// Whether the tester has failed there too often to be asked again.
    pub(super) fn beyond_tester(&self, rung: Rung) -> bool {
        let able = self.able.is_some_and(|able| able >= rung);
        let most = if able { REFUSALS_WHERE_ABLE } else { REFUSALS };
        self.loads.get(&rung).is_some_and(|load| load.refusals >= most)
    }

    /// Whether so much, or more, was ever offered.
    pub(super) fn offered_from(&self, rung: Rung) -> bool {
        self.loads.range(rung..).any(|(_, load)| !load.trials.is_empty())
    }

    /// A load's trials.
    pub(super) fn load(&self, rung: Rung) -> Option<&Load> {
        self.loads.get(&rung)
    }

    /// What the trials so far bound a target to. A load that passed disproves that the tester could
    /// not do less.
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
