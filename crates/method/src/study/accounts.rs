//! What a device's own counters say of the losses behind a figure: the strongest evidence of whose
//! they are, or a doubt.
//!
//! Owns which figures it speaks of: rates and losses. Never places a frame itself: a trial's books
//! do.

use page::{Caveat, Figure, Key, Metric};
use trial::record::{Side, TrialRecord};
use trial::{Outcome, Path, Trial};

use crate::verdict;
use trial::books::{self, Place};

/// Books leave at most this share of the lost frames open, for what hosts say beside a load.
const OPEN: f64 = 0.001;

/// Where the frames died that all trials of a device and a frame size lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Accounts {
    lost: u64,
    accounted: u64,
    in_device: u64,
    by_tester: u64,
    contradicted: u64,
}

impl Accounts {
    /// None where the device told of nothing, or the trial does not count.
    pub(super) fn of(trial: &Trial, record: &TrialRecord) -> Option<Self> {
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

    /// Has a figure say it, where it is one of losses.
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
        // Without a cable nobody else could say whose the limit is.
        let died_there = self.lost.saturating_sub(self.in_device) as f64 <= OPEN * self.lost as f64;
        let cable_alone = figure.caveats.contains(&Caveat::NoBypass)
            && !figure.caveats.iter().any(|caveat| DOUBTS.contains(caveat));
        if figure.value.is_some() && died_there && self.by_tester == 0 && cable_alone {
            figure.verdict = verdict::accounted(figure.verdict);
        }
    }
}

/// With any of these a figure says too little for its losses to say whose it is.
const DOUBTS: [Caveat; 7] = [
    Caveat::OtherTraffic,
    Caveat::Contradicted,
    Caveat::TesterDrops,
    Caveat::NotResolved,
    Caveat::WideBracket,
    Caveat::ShortFlood,
    Caveat::DeviceNotDriven,
];
