//! Caveats that trial records raise against the figures made of them, for any study.
//!
//! Owns the caveats that any trial can raise: other traffic, a flood that was too short, and a load
//! that contradicts a throughput. Never requests a trial, and never changes a record or a value.

use std::collections::BTreeMap;

use measure::Nanos;

use super::accounts::Accounts;
use super::consistency::Witness;
use crate::verdict;
use page::{Caveat, Figure, Key};
use trial::other_traffic::other_traffic;
use trial::record::{Defect, FlowRecord};
use trial::{Flow, FlowKind, Outcome, Path, Role, Schedule, Subject, Trial, TrialRecord};

/// Missing share of its time above which a flood counts as cut short, not merely delayed…
const SHORT_SHARE: f64 = 0.1;
/// …if that is also longer than a sender may wait for its processor.
const HELD_UP: Nanos = Nanos::from_millis(50);

/// Caveats from a study's records.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Caveat of each trial, from its last attempt, which is the one that counts.
    said: BTreeMap<Asked, Doubt>,
    witnesses: Vec<Witness>,
    /// Loss accounts by device and frame size.
    accounts: BTreeMap<(Option<Subject>, Option<u64>), Accounts>,
}

/// Identity of a trial, whichever attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    label: String,
    block: u32,
    path: Path,
    subject: Option<Subject>,
}

/// Caveat of one trial's record.
#[derive(Debug)]
struct Doubt {
    /// Number of the attempt in the run.
    place: u64,
    /// Size of the measured frames; `None` unless all have the same.
    frame_size: Option<u64>,
    /// Other traffic in frames a second, at the port that had most; `None` if there was none.
    others: Option<f64>,
    short_flood: bool,
    /// Frames counted by a device that may be other traffic.
    others_counted: u64,
}

impl Doubts {
    /// Marks every figure with the caveats of its trials and of the direct cable at its frame size.
    /// Both decide the figure's verdict.
    pub(super) fn mark<'a>(&self, figures: impl IntoIterator<Item = &'a mut Figure>) {
        for figure in figures {
            let said = self.said.iter().filter(|(asked, doubt)| concerns(asked, doubt, figure));
            let said: Vec<&Doubt> = said.map(|(_, doubt)| doubt).collect();
            let others = said.iter().filter_map(|doubt| doubt.others).max_by(f64::total_cmp);
            if let Some(rate) = others {
                figure.set(Key::OtherTraffic, rate);
                figure.verdict = verdict::in_doubt(figure.verdict);
                figure.doubt(Caveat::OtherTraffic);
            }
            if self.witnesses.iter().any(|witness| witness.contradicts(figure)) {
                figure.verdict = verdict::in_doubt(figure.verdict);
                figure.doubt(Caveat::Contradicted);
            }
            if said.iter().any(|doubt| doubt.short_flood) {
                figure.doubt(Caveat::ShortFlood);
            }
            let counted = said.iter().map(|doubt| doubt.others_counted).max();
            if let Some(counted) = counted.filter(|counted| *counted > 0) {
                figure.set(Key::OthersCounted, counted);
            }
            let accounts = self.accounts.iter().filter(|((subject, size), _)| {
                is_of(subject.as_ref(), *size, figure) && !figure.is_bypass()
            });
            if let Some(all) = accounts.map(|(_, accounts)| *accounts).reduce(Accounts::with) {
                all.mark(figure);
            }
        }
    }

    /// Takes in a trial's record.
    pub(super) fn observe(&mut self, trial: &Trial, record: &TrialRecord) {
        self.witnesses.extend(Witness::from_trial(trial, record));
        if let Some(own) = Accounts::from_trial(trial, record) {
            let all = self.accounts.entry((trial.subject.clone(), frame_size(trial))).or_default();
            *all = all.with(own);
        }
        let asked = Asked {
            label: trial.label.clone(),
            block: trial.block,
            path: trial.path,
            subject: trial.subject.clone(),
        };
        let doubt = Doubt {
            place: record.ordinal,
            frame_size: frame_size(trial),
            others: others(trial, record),
            short_flood: is_short_flood(trial, record),
            others_counted: others_counted(record),
        };
        if doubt.others.is_some() || doubt.short_flood || doubt.others_counted > 0 {
            self.said.insert(asked, doubt);
        } else {
            self.said.remove(&asked);
        }
    }
}

/// True if the trial is behind the figure. A figure without trials has all of its device and frame
/// size.
fn concerns(asked: &Asked, doubt: &Doubt, figure: &Figure) -> bool {
    let is_behind = figure.trials.is_empty()
        || asked.path == Path::Bypass
        || figure.trials.contains(doubt.place);
    is_behind && is_of(asked.subject.as_ref(), doubt.frame_size, figure)
}

fn is_of(subject: Option<&Subject>, frame_size: Option<u64>, figure: &Figure) -> bool {
    let same_subject = subject.is_none_or(|subject| {
        figure.text(Key::Device) == Some(&subject.device)
            && figure.text(Key::Variant) == subject.variant.as_deref()
    });
    let size = figure.integer(Key::FrameSizeSent).or_else(|| figure.integer(Key::FrameSize));
    let same_size = frame_size.zip(size).is_none_or(|(trials, figures)| trials == figures);
    same_subject && same_size
}

/// Size of all measured frames; `None` if they differ.
fn frame_size(trial: &Trial) -> Option<u64> {
    let measured = trial.flows.iter().filter(|flow| flow.role == Role::Measured);
    let sizes: Option<Vec<u64>> = measured
        .map(|flow| match &flow.kind {
            FlowKind::Echo(echo) => Some(u64::from(echo.frame_size.octets())),
            FlowKind::Datagrams(datagrams) => {
                datagrams.frames.single().map(|size| u64::from(size.octets()))
            }
            FlowKind::Bulk(_)
            | FlowKind::Exchange(_)
            | FlowKind::Storage(_)
            | FlowKind::Sessions(_) => None,
        })
        .collect();
    let sizes = sizes?;
    let first = *sizes.first()?;
    sizes.iter().all(|size| *size == first).then_some(first)
}

/// Rate of other traffic as the gate found it, or from the counters if the gate let the trial pass.
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

fn others_counted(record: &TrialRecord) -> u64 {
    let open = record.flows.iter().map(|flow| match flow {
        FlowRecord::Datagrams(seen) => seen.open(),
        _ => 0,
    });
    open.sum()
}

fn is_short_flood(trial: &Trial, record: &TrialRecord) -> bool {
    let load = trial.phases.load;
    let most = (SHORT_SHARE * load.as_secs_f64()).max(HELD_UP.as_secs_f64());
    let short = |(flow, seen): (&Flow, &FlowRecord)| match (&flow.kind, seen) {
        (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) => {
            let missing = load.saturating_sub(seen.sending).as_secs_f64();
            asked.schedule == Schedule::Greedy && seen.sent > 1 && missing > most
        }
        _ => false,
    };
    trial.flows.iter().zip(&record.flows).any(short)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measure::FrameSize;

    use super::*;
    use page::{Condition, Metric, Trials, Unit, Verdict};
    use scripted::{judged, one_way};
    use trial::record::{PortCounters, Side};
    use trial::{Backend, Datagrams, Gate};

    /// Of 1,000 frames all came in half the time, and `others` more at the receiver's port.
    fn flooded(trial: &Trial, others: u64) -> TrialRecord {
        let seen = one_way(trial.phases.load / 2, 1_000, 1_000);
        let mut record = judged(trial, vec![FlowRecord::Datagrams(seen)]);
        let port = |place: &str, rx: u64, tx: u64| {
            let counters = [("rx_packets", rx), ("tx_packets", tx)];
            let counters = counters.map(|(name, by)| (name.to_owned(), by)).into();
            PortCounters { place: place.to_owned(), side: Side::Tester, cable: None, counters }
        };
        record.ports = vec![port("h1/eth1", 0, 1_000), port("h2/eth1", 1_000 + others, 0)];
        record
    }

    fn trial(subject: Option<&str>) -> Trial {
        let size = FrameSize::MIN;
        let flow = Flow {
            id: 1,
            from: "h1/eth1".parse().expect("a port"),
            to: "h2/eth1".parse().expect("a port"),
            role: Role::Measured,
            kind: FlowKind::Datagrams(Datagrams::plain(size, Schedule::Greedy, Backend::Auto, 0)),
        };
        let subject = subject.map(|device| Subject { device: device.to_owned(), variant: None });
        let load = Nanos::from_secs(1);
        Trial { subject, ..Trial::quick("flood", vec![flow], load, Gate::Flood) }
    }

    fn figure(device: &str, size: u64) -> Figure {
        let conditions =
            BTreeMap::from([(Key::Device, device.into()), (Key::FrameSize, size.into())]);
        Figure {
            n: 1,
            blocks: 1,
            conditions,
            verdict: Verdict::DeviceLimited,
            ..Figure::new(Metric::Received, Unit::FramesPerSecond, Some(1.0))
        }
    }

    #[test]
    fn figures_say_what_their_own_trials_and_those_of_the_cable_say() {
        let both = vec![Caveat::OtherTraffic, Caveat::ShortFlood];
        for (subject, others, expected) in [
            (Some("sw1"), 500, [both.clone(), vec![], vec![]]),
            (None, 500, [both.clone(), both.clone(), vec![]]),
            (Some("sw1"), 0, [vec![Caveat::ShortFlood], vec![], vec![]]),
        ] {
            let (mut seen, trial) = (Doubts::default(), trial(subject));
            seen.observe(&trial, &flooded(&trial, others));
            let mut figures = vec![figure("sw1", 64), figure("sw2", 64), figure("sw1", 512)];
            seen.mark(&mut figures);
            let told = figures.iter().map(|figure| figure.caveats.clone()).collect::<Vec<_>>();
            assert_eq!(told, expected, "{subject:?}, {others}");
            let alone = |f: &Figure| !f.caveats.contains(&Caveat::OtherTraffic);
            let confident = |f: &Figure| f.verdict == Verdict::DeviceLimited;
            assert!(figures.iter().all(|figure| alone(figure) == confident(figure)));
            let rate = figures[0].conditions.get(&Key::OtherTraffic);
            let wanted = (others > 0).then_some(Condition::Number(500.0 / 1.1));
            assert_eq!(rate, wanted.as_ref());
        }
    }

    /// What one trial raises is said of no value that rests on others.
    #[test]
    fn a_doubt_reaches_the_values_of_its_trial() {
        let (mut seen, trial) = (Doubts::default(), trial(Some("sw1")));
        seen.observe(&trial, &TrialRecord { ordinal: 3, ..flooded(&trial, 500) });
        let resting = |places: [u64; 2]| {
            let trials = Trials::between(places[0], places[1]);
            Figure { trials, ..figure("sw1", 64) }
        };
        let mut figures = vec![resting([2, 4]), resting([4, 6])];
        seen.mark(&mut figures);
        let doubted = |figure: &Figure| figure.caveats.contains(&Caveat::OtherTraffic);
        assert!(doubted(&figures[0]) && !doubted(&figures[1]), "{figures:?}");
    }

    /// A later try of the same trial stands for it.
    #[test]
    fn only_the_last_try_counts() {
        let mut seen = Doubts::default();
        seen.observe(&trial(None), &flooded(&trial(None), 500));
        assert_eq!(seen.said.len(), 1);
        let again = Trial { attempt: 1, ..trial(None) };
        let record = TrialRecord::failed(0, "it did not run".to_owned());
        seen.observe(&again, &record);
        assert!(seen.said.is_empty());
    }
}
