//! Trial accounting: the number of trials that count, and the reasons against the others.
//!
//! Owns the reasons in words: with a single trial's numbers, and without, so that equal ones are
//! merged. Counts only: never judges a trial.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use trial::counters::RX_PAUSE;
use trial::record::{Defect, Outcome};
use trial::{Trial, TrialRecord};

use page::words;

/// Accounting of a run's trials.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TrialAccount {
    /// Trials that figures come from.
    pub valid: u64,
    /// Trials that completed, but with a broken gate.
    pub invalid: u64,
    /// Trials that did not complete.
    pub failed: u64,
    /// Reasons against trials, the most frequent first; one trial can have several.
    pub reasons: Vec<LeftOut>,
}

/// Reason against trials, with their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Outcome: `invalid` or `failed`.
    pub outcome: &'static str,
    /// Reason in words.
    pub reason: String,
    /// Number of trials.
    pub trials: u64,
    /// Label of the first of them.
    pub first: String,
    /// Remedy, a sentence; `None` where the reason itself says what to do.
    pub remedy: Option<&'static str>,
}

/// Accounting of trials, one at a time.
#[derive(Debug, Clone, Default)]
pub struct Accounting {
    valid: u64,
    invalid: u64,
    failed: u64,
    reasons: BTreeMap<(&'static str, String), LeftOut>,
}

impl Accounting {
    /// Counts a trial.
    pub fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        match &record.outcome {
            Outcome::Valid => self.valid += 1,
            Outcome::Invalid { reasons } => {
                self.invalid += 1;
                // The same reason in two flows counts once.
                let kinds: BTreeMap<String, Option<&'static str>> =
                    reasons.iter().map(|defect| (kind_of(defect), remedy_of(defect))).collect();
                for (reason, remedy) in kinds {
                    let first = trial.label.clone();
                    self.note(LeftOut { outcome: "invalid", reason, trials: 1, first, remedy });
                }
            }
            Outcome::Failed { reason } => {
                self.failed += 1;
                let (reason, first) = (reason.clone(), trial.label.clone());
                self.note(LeftOut { outcome: "failed", reason, trials: 1, first, remedy: None });
            }
        }
    }

    /// Adds the counts of another accounting.
    pub fn merge(&mut self, other: &Self) {
        self.valid += other.valid;
        self.invalid += other.invalid;
        self.failed += other.failed;
        for left in other.reasons.values() {
            self.note(left.clone());
        }
    }

    fn note(&mut self, more: LeftOut) {
        let left = self.reasons.entry((more.outcome, more.reason.clone()));
        left.and_modify(|left| left.trials += more.trials).or_insert(more);
    }

    /// Summary of the counts.
    pub fn account(&self) -> TrialAccount {
        let mut reasons: Vec<LeftOut> = self.reasons.values().cloned().collect();
        reasons.sort_by_key(|left| std::cmp::Reverse(left.trials));
        let Self { valid, invalid, failed, .. } = *self;
        TrialAccount { valid, invalid, failed, reasons }
    }
}

impl TrialAccount {
    /// Number of all trials.
    pub const fn trials(&self) -> u64 {
        self.valid + self.invalid + self.failed
    }

    /// Remedy against the most frequent reason that has one.
    pub fn remedy(&self) -> &'static str {
        self.reasons.iter().find_map(|left| left.remedy).unwrap_or(REMEDY)
    }

    /// Number of unusable trials and the reasons, one per line; `None` if all count.
    pub fn describe_unusable(&self) -> Option<String> {
        let unusable = self.invalid + self.failed;
        if unusable == 0 {
            return None;
        }
        let all = words::count(self.trials());
        let reason = |left: &LeftOut| {
            format!("\n  {} {}: {}", words::count(left.trials), left.outcome, left.reason)
        };
        let mut reasons: String = self.reasons.iter().take(MOST_REASONS).map(reason).collect();
        match self.reasons.len().saturating_sub(MOST_REASONS) {
            0 => {}
            1 => reasons.push_str("\n  and 1 more reason; the report has it"),
            more => {
                let _ = write!(reasons, "\n  and {more} more reasons; the report has them");
            }
        }
        // One trial can have several reasons.
        let several = self.reasons.iter().map(|left| left.trials).sum::<u64>() > unusable;
        let several = if several { ", some for several reasons" } else { "" };
        let unusable = words::count(unusable);
        Some(format!("{unusable} of {all} trials were not valid{several}:{reasons}"))
    }
}

/// Number of reasons shown at once; the report has all.
const MOST_REASONS: usize = 5;

/// Remedy against a slow or busy tester, and where nothing better is known.
const REMEDY: &str = "Longer trials (-t), or a machine with less other work, may give one.";

/// Remedy for a broken gate.
fn remedy_of(defect: &Defect) -> Option<&'static str> {
    match defect {
        Defect::TesterCounter { counter, .. } if counter == RX_PAUSE => Some(
            "Turn flow control off at the hosts' ports (ethtool -A PORT autoneg off rx off tx off): \
             the device then drops what it holds back now.",
        ),
        Defect::OfferedLoad { .. }
        | Defect::Burst { .. }
        | Defect::BurstLength { .. }
        | Defect::Late { .. }
        | Defect::Overrun { .. }
        | Defect::TesterCounter { .. }
        | Defect::ForeignLoad { .. } => Some(REMEDY),
        Defect::OtherTraffic { .. } => Some("Keep other traffic off these ports."),
        Defect::LinkFlap { .. } => Some("Check that cable and both its ports."),
        Defect::NothingReceived { .. } => Some("`switchmark doctor` says what passes, and where."),
        Defect::Uncounted { .. } | Defect::Overcounted { .. } | Defect::MappingChanged { .. } => {
            None
        }
    }
}

/// All broken gates, with the trial's numbers.
pub fn all_exactly(defects: &[Defect]) -> String {
    defects.iter().map(exactly).collect::<Vec<_>>().join("; ")
}

/// Broken gate, with the trial's numbers.
pub fn exactly(defect: &Defect) -> String {
    match defect {
        Defect::OfferedLoad { flow, asked, sent } => {
            format!("flow {flow}: {asked:.0} frames/s asked for, {sent:.0} sent")
        }
        Defect::BurstLength { flow, asked, sent } => {
            format!("flow {flow}: {sent} frames sent of a burst of {asked}")
        }
        Defect::Burst { flow, longest, limit } => {
            format!("flow {flow}: {longest} frames back to back, {limit} allowed")
        }
        Defect::Late { flow, late, lost } => format!("flow {flow}: {late} sent late, {lost} lost"),
        Defect::Overrun { flow, by, lost } => {
            format!("flow {flow}: last frames handed over {by} after the load's end, {lost} lost")
        }
        Defect::TesterCounter { place, counter, by } => format!("{place}: {counter} moved by {by}"),
        Defect::ForeignLoad { host, share } => {
            format!("{host}: other programs took {:.0} % of its processors", share * 100.0)
        }
        Defect::OtherTraffic { place, rate } => {
            format!("{place}: {rate:.0} frames/s that were not the trial's")
        }
        Defect::LinkFlap { place } => format!("{place}: the link went down or up"),
        Defect::Uncounted { flow, place } => {
            format!("flow {flow}: {place} did not tell what left there")
        }
        Defect::Overcounted { flow, place, counted, sent } => {
            format!("flow {flow}: {counted} frames left {place}, and {sent} were sent")
        }
        Defect::MappingChanged { flow, frames } => {
            format!("flow {flow}: {frames} requests came by another mapping of a NAT")
        }
        Defect::NothingReceived { flow } => format!("flow {flow}: nothing received"),
    }
}

/// Broken gate, without the numbers of the single trial.
fn kind_of(defect: &Defect) -> String {
    match defect {
        Defect::OfferedLoad { .. } => {
            "what was sent differs from what was asked for by more than 0.1 %".to_owned()
        }
        Defect::BurstLength { .. } => "not the whole burst left, or more than it".to_owned(),
        Defect::Burst { limit, .. } => format!("more than {limit} frames back to back to catch up"),
        Defect::Late { .. } => {
            "frames were lost, no more than the sender sent late and at once, or very many were late"
                .to_owned()
        }
        Defect::Overrun { .. } => {
            "frames were lost whose sender was held up until receivers were about to close".to_owned()
        }
        Defect::TesterCounter { place, counter, .. } => {
            format!("the tester's counter {counter} moved on {place}")
        }
        Defect::ForeignLoad { host, .. } => {
            format!("frames were lost while other programs kept the processors of {host} busy")
        }
        Defect::OtherTraffic { place, .. } => {
            format!("frames that were not the trial's crossed {place}")
        }
        Defect::LinkFlap { place } => format!("the link of {place} went down or up"),
        Defect::Uncounted { place, .. } => {
            format!("the device did not tell what left {place}: its readings say why")
        }
        Defect::Overcounted { place, .. } => {
            format!("more frames left {place} than were sent and others send at rest")
        }
        Defect::MappingChanged { .. } => {
            "a NAT changed the flow's mapping during the load, or let it expire".to_owned()
        }
        Defect::NothingReceived { .. } => "the peer saw nothing at all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_add_up_to_more_than_the_trials_say_so() {
        let of = |trials: &[u64]| {
            let reason = |(at, trials): (usize, &u64)| LeftOut {
                outcome: "invalid",
                reason: format!("reason {at}"),
                trials: *trials,
                first: String::new(),
                remedy: None,
            };
            let reasons = trials.iter().enumerate().map(reason).collect();
            let account = TrialAccount { valid: 36, invalid: 22, failed: 0, reasons };
            account.describe_unusable().expect("words")
        };
        let first = |told: &str| told.lines().next().unwrap_or_default().to_owned();
        assert_eq!(first(&of(&[20, 2])), "22 of 58 trials were not valid:");
        let several = of(&[20, 20, 13]);
        assert_eq!(first(&several), "22 of 58 trials were not valid, some for several reasons:");
        assert!(of(&[9; 7]).ends_with("and 2 more reasons; the report has them"));
    }

    #[test]
    fn the_remedy_is_that_of_the_most_frequent_reason() {
        let counter = |counter: &str| Defect::TesterCounter {
            place: "h1/eth1".to_owned(),
            counter: counter.to_owned(),
            by: 7,
        };
        let left = |defect: &Defect, trials| LeftOut {
            outcome: "invalid",
            reason: kind_of(defect),
            trials,
            first: String::new(),
            remedy: remedy_of(defect),
        };
        let [paused, dropped] = ["rx_pause", "rx_dropped"].map(counter);
        let uncounted = Defect::Uncounted { flow: 0, place: "sw1/2".to_owned() };
        let reasons = vec![left(&uncounted, 9), left(&paused, 8), left(&dropped, 7)];
        let account = TrialAccount { reasons, ..TrialAccount::default() };
        assert!(account.remedy().contains("ethtool -A"), "{}", account.remedy());
        assert!(TrialAccount::default().remedy().starts_with("Longer trials"));
    }
}
