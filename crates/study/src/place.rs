//! Where a study stands among those of its run, and the numbers of its trials.

use std::num::NonZeroU16;

use page::{Figure, Key};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::StudySpec;

/// Position of a study within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StudyPlace {
    /// Number among all studies, from 1, in the plan's order.
    pub number: NonZeroU16,
    /// Number among studies of the same kind, from 1.
    nth: u16,
}

impl StudyPlace {
    /// Writes the position into a figure. Only a second study of a kind is numbered, so figures of
    /// a single one do not depend on the rest of the plan.
    pub(crate) fn mark(self, figure: &mut Figure) {
        figure.case.study = self.number;
        if self.nth > 1 {
            figure.set(Key::Nth, u64::from(self.nth));
        }
    }
}

/// Pairs each study of a run with its position, in the plan's order.
pub fn numbered(studies: &[StudySpec]) -> impl Iterator<Item = (StudyPlace, &StudySpec)> {
    let places = (1..=u16::MAX).filter_map(NonZeroU16::new).enumerate();
    places.zip(studies).map(|((before, number), study)| {
        let kind = studies[..=before].iter().filter(|other| other.name() == study.name());
        (StudyPlace { number, nth: kind.count() as u16 }, study)
    })
}

/// Testbed as used by one study of a run: numbers its trials.
pub(crate) struct Numbered<'a> {
    pub(crate) testbed: &'a mut dyn Testbed,
    pub(crate) number: NonZeroU16,
    /// Trials of the run so far.
    pub(crate) asked: &'a mut u64,
}

impl Testbed for Numbered<'_> {
    fn topology(&self) -> &Topology {
        self.testbed.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let ordinal = std::mem::replace(self.asked, *self.asked + 1);
        let record = self.testbed.run(&Trial { study: Some(self.number), ..trial.clone() })?;
        Ok(TrialRecord { ordinal, ..record })
    }
}
