//! Devices measured in virtual time, one to a thread.
//!
//! Owns when they end. The order in which devices finish means nothing: their numbers do.

use std::sync::mpsc::Sender;

use agents::controller::Stop;
use page::Figure;
use study::StudySpec;
use study::comparison::{Comparable, MARGIN, Side, compare, per_block};
use trial::{Observed, Testbed, Topology, Trial, TrialRecord};

use super::Proof;
use super::budget::Budget;
use super::case::{Case, World};
use super::draw::Draws;
use crate::cli::Failure;
use crate::cli::side_by_side::{processors, side_by_side};
use crate::config::resolved::Testbed as Place;
use crate::controller::Opened;

/// Result of a thread for one device.
struct Asked {
    number: u64,
    case: Case,
    /// Figures; `None` if no time was left.
    figures: Option<Result<Vec<Figure>, Failure>>,
}

/// Measures as many devices as the budget allows.
pub fn all(proof: &mut Proof, draws: &Draws, budget: &Budget, stop: &Stop) {
    let own = Stop::new();
    let device = |number: usize, tell: &Sender<Asked>| {
        let number = number as u64;
        let enough = budget.devices().is_some_and(|most| number >= most);
        if enough || own.is_requested() || budget.is_over() {
            return false;
        }
        let case = draws.case(World::Sim, number);
        let figures = ask(&case, &own);
        tell.send(Asked { number, case, figures }).is_ok()
    };
    side_by_side(processors(), device, |told| {
        if let Some(Asked { number, case, figures: Some(figures) }) = told {
            match figures {
                Ok(figures) => proof.take(number, &case, &figures, ""),
                Err(error) => proof.could_not(World::Sim, number, &error),
            }
        }
        // A device that was begun late is not waited for.
        if stop.is_requested() || budget.is_overdrawn() {
            own.ask();
        }
        proof.progress(World::Sim, budget);
    });
}

/// Runs one study on one simulated device, or compares two devices; `None` if it was stopped.
pub fn ask(case: &Case, stop: &Stop) -> Option<Result<Vec<Figure>, Failure>> {
    let asked = || {
        let own = Recorded::measure(&case.testbed()?, case, stop)?;
        Ok(match case.other_testbed()? {
            None => own.figures,
            Some(place) => compared(&Recorded::measure(&place, case, stop)?, &own)?,
        })
    };
    match asked() {
        Ok(figures) => Some(Ok(figures)),
        Err(_) if stop.is_requested() => None,
        Err(failure) => Some(Err(failure)),
    }
}

/// Compares two runs as `switchmark compare` does.
fn compared(subject: &Recorded, reference: &Recorded) -> Result<Vec<Figure>, Failure> {
    let (own, others) = (subject.comparable()?, reference.comparable()?);
    let [subject, reference] = [("subject", subject, &own), ("reference", reference, &others)].map(
        |(name, recorded, comparable)| Side {
            name,
            run: name,
            subject: None,
            level: None,
            figures: &recorded.figures,
            comparable,
        },
    );
    let compared = compare(&subject, &reference, MARGIN);
    Ok(compared.rows.iter().map(study::comparison::Row::figure).collect())
}

/// A study over its testbed, with what it recorded.
struct Recorded {
    study: StudySpec,
    topology: Topology,
    seed: u64,
    figures: Vec<Figure>,
    records: Vec<(Trial, TrialRecord)>,
}

impl Recorded {
    fn measure(place: &Place, case: &Case, stop: &Stop) -> Result<Self, Failure> {
        let (study, seed) = (case.spec(place)?, case.seed);
        let mut opened = Opened::open(place, stop.clone(), seed).map_err(Failure::unusable)?;
        let topology = opened.topology().clone();
        study.check(&topology)?;
        let mut records = Vec::new();
        let mut recording = Observed::new(&mut opened, |trial, record| {
            records.push((trial.clone(), record.clone()));
        });
        let figures = study.run(&mut recording, seed)?;
        Ok(Self { study, topology, seed, figures, records })
    }

    fn comparable(&self) -> Result<Comparable, Failure> {
        let studies = std::slice::from_ref(&self.study);
        Ok(per_block(studies, &self.topology, &self.records, &self.figures, self.seed)?)
    }
}
