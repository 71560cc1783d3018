//! A testbed around a testbed: what records say against the figures that are made of them, whatever the
//! study.
//!
//! Owns the doubts that any trial can raise: other people's traffic, and a flood that was too short. Never
//! asks for a trial, and never changes a record or a value.

use std::collections::BTreeMap;

use crate::figure::Condition;
use crate::other_traffic::other_traffic;
use crate::record::{Defect, FlowRecord};
use crate::trial::{FlowKind, Path, Role, Schedule, Subject};
use crate::{Caveat, Figure, Outcome, Testbed, TestbedError, Topology, Trial, TrialRecord};

/// A flood that lasted less than this share of its time was cut short, not merely held up.
const WHOLE_FLOOD: f64 = 0.9;

/// The condition that says how many of others' frames a second there were at most.
const RATE: &str = "other_traffic_frames_per_s";

/// The testbed as a study sees it, with an eye on the records.
pub(super) struct Doubting<'a> {
    testbed: &'a mut dyn Testbed,
    /// Of each trial the last try's, which is the one that counts.
    doubts: BTreeMap<Asked, Doubt>,
}

/// One trial, whichever try.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    label: String,
    block: u32,
    path: Path,
    subject: Option<Subject>,
}

/// What one trial's record says against figures.
#[derive(Debug)]
struct Doubt {
    /// Of the measured frames, where all have one.
    frame_size: Option<u64>,
    /// Others' frames a second, at the port that had most.
    others: Option<f64>,
    short_flood: bool,
}

impl<'a> Doubting<'a> {
    pub(super) fn new(testbed: &'a mut dyn Testbed) -> Self {
        Self { testbed, doubts: BTreeMap::new() }
    }

    /// Has every figure say what its trials' records say: those of its device and, since they decide whose
    /// the figure is, those of the direct cable; of its frame size where it has one.
    pub(super) fn mark(&self, figures: &mut [Figure]) {
        for figure in figures {
            let said = self.doubts.iter().filter(|(asked, doubt)| concerns(asked, doubt, figure));
            let said: Vec<&Doubt> = said.map(|(_, doubt)| doubt).collect();
            let others = said.iter().filter_map(|doubt| doubt.others).max_by(f64::total_cmp);
            if let Some(rate) = others {
                figure.conditions.insert(RATE.to_owned(), rate.into());
                add(figure, Caveat::OtherTraffic);
            }
            if said.iter().any(|doubt| doubt.short_flood) {
                add(figure, Caveat::ShortFlood);
            }
        }
    }

    fn hear(&mut self, trial: &Trial, record: &TrialRecord) {
        let asked = Asked {
            label: trial.label.clone(),
            block: trial.block,
            path: trial.path,
            subject: trial.subject.clone(),
        };
        let doubt = Doubt {
            frame_size: frame_size(trial),
            others: others(trial, record),
            short_flood: is_short_flood(trial, record),
        };
        if doubt.others.is_some() || doubt.short_flood {
            self.doubts.insert(asked, doubt);
        } else {
            self.doubts.remove(&asked);
        }
    }
}

impl Testbed for Doubting<'_> {
    fn topology(&self) -> &Topology {
        self.testbed.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let record = self.testbed.run(trial)?;
        self.hear(trial, &record);
        Ok(record)
    }
}

fn concerns(asked: &Asked, doubt: &Doubt, figure: &Figure) -> bool {
    let text = |name: &str| match figure.conditions.get(name) {
        Some(Condition::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let number = |name: &str| match figure.conditions.get(name) {
        Some(Condition::Integer(number)) => Some(*number),
        _ => None,
    };
    let same_subject = asked.subject.as_ref().is_none_or(|subject| {
        text("device") == Some(&subject.device) && text("variant") == subject.variant.as_deref()
    });
    let size = number("frame_size_sent").or_else(|| number("frame_size"));
    let same_size = doubt.frame_size.zip(size).is_none_or(|(trials, figures)| trials == figures);
    same_subject && same_size
}

fn add(figure: &mut Figure, caveat: Caveat) {
    if !figure.caveats.contains(&caveat) {
        figure.caveats.push(caveat);
        figure.caveats.sort();
    }
}

/// The size that all measured frames have.
fn frame_size(trial: &Trial) -> Option<u64> {
    let measured = trial.flows.iter().filter(|flow| flow.role == Role::Measured);
    let sizes: Option<Vec<u64>> = measured
        .map(|flow| match &flow.kind {
            FlowKind::Echo(echo) => Some(u64::from(echo.frame_size.octets())),
            FlowKind::Datagrams(datagrams) => {
                datagrams.frames.single().map(|size| u64::from(size.octets()))
            }
            FlowKind::Bulk(_) | FlowKind::Exchange(_) | FlowKind::Storage(_) => None,
        })
        .collect();
    let sizes = sizes?;
    let first = *sizes.first()?;
    sizes.iter().all(|size| *size == first).then_some(first)
}

/// As the gate found it, or, where the gate lets it pass, as the counters tell.
fn others(trial: &Trial, record: &TrialRecord) -> Option<f64> {
    let rates: Vec<f64> = match &record.outcome {
        Outcome::Failed { .. } => return None,
        Outcome::Invalid { reasons } => {
            let of = |defect: &Defect| match defect {
                Defect::OtherTraffic { rate, .. } => Some(*rate),
                _ => None,
            };
            reasons.iter().filter_map(of).collect()
        }
        Outcome::Valid => {
            let found = other_traffic(trial, &record.flows, &record.ports, &record.hosts);
            found.into_iter().map(|others| others.rate.0).collect()
        }
    };
    rates.into_iter().max_by(f64::total_cmp)
}

fn is_short_flood(trial: &Trial, record: &TrialRecord) -> bool {
    let whole = WHOLE_FLOOD * trial.phases.load.as_secs_f64();
    let short = |(flow, seen): (&crate::Flow, &FlowRecord)| match (&flow.kind, seen) {
        (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) => {
            asked.schedule == Schedule::Greedy
                && seen.sent > 1
                && seen.sending.as_secs_f64() < whole
        }
        _ => false,
    };
    trial.flows.iter().zip(&record.flows).any(short)
}
