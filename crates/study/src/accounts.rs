//! Device counters behind a figure's losses: the strongest evidence of who lost the frames, or a
//! caveat.
//!
//! Owns the choice of figures that it applies to: rates and losses. Never attributes a frame
//! itself: the trial accounting does.

use page::{Caveat, Figure, Key, Metric};
use trial::record::{Side, TrialRecord};
use trial::{Outcome, Path, Trial};

use crate::verdict;
use trial::books::{self, Place};

/// Share of the lost frames that the accounting may leave open, for traffic that hosts send besides
/// the load.
const OPEN: f64 = 0.001;

/// Frames lost in all trials of one device and frame size, by place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Accounts {
    lost: u64,
    accounted: u64,
    in_device: u64,
    by_tester: u64,
    contradicted: u64,
}

impl Accounts {
    /// Accounts of one trial; `None` if the device reported nothing or the trial does not count.
    pub(super) fn from_trial(trial: &Trial, record: &TrialRecord) -> Option<Self> {
        let told = record.ports.iter().any(|port| port.side == Side::Reported);
        let counts = record.outcome == Outcome::Valid && trial.path == Path::Device;
        if !told || !counts {
            return None;
        }
        let books = books::balance(trial, record).filter(|books| !books.mixed)?;
        Some(Self {
            lost: books.lost,
            accounted: books.died(|_| true),
            in_device: books.died(Place::is_device),
            by_tester: books.tester(),
            contradicted: books.contradicted,
        })
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            accounted: self.accounted + other.accounted,
            in_device: self.in_device + other.in_device,
            by_tester: self.by_tester + other.by_tester,
            contradicted: self.contradicted + other.contradicted,
        }
    }

    /// Adds the accounts to a figure if it is a rate or a loss.
    pub(super) fn mark(self, figure: &mut Figure) {
        let speaks = matches!(
            figure.metric,
            Metric::Received | Metric::Lost | Metric::LossRatio | Metric::Throughput
        );
        if !speaks || self.lost == 0 {
            return;
        }
        figure.set(Key::FramesLost, self.lost);
        figure.set(Key::FramesAccounted, self.accounted);
        figure.set(Key::FramesLostInDevice, self.in_device);
        let open = self.lost.abs_diff(self.accounted).max(self.contradicted);
        if open as f64 > OPEN * self.lost as f64 {
            figure.doubt(Caveat::BooksOpen);
            return;
        }
        // Without a direct cable, only these counters show what the limit is.
        let died_there = self.lost.saturating_sub(self.in_device) as f64 <= OPEN * self.lost as f64;
        let cable_alone = figure.caveats.contains(&Caveat::NoBypass)
            && !figure.caveats.iter().any(|caveat| DOUBTS.contains(caveat));
        if figure.value.is_some() && died_there && self.by_tester == 0 && cable_alone {
            figure.verdict = verdict::accounted(figure.verdict);
        }
    }
}

/// Caveats that rule out a verdict from loss counters.
const DOUBTS: [Caveat; 7] = [
    Caveat::OtherTraffic,
    Caveat::Contradicted,
    Caveat::TesterDrops,
    Caveat::NotResolved,
    Caveat::WideBracket,
    Caveat::ShortFlood,
    Caveat::DeviceNotDriven,
];
