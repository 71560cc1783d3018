//! Trial of stations that send and are then sent to, and its result.
//!
//! Owns the trial's shape, the sending rate to stations, and the criterion for a flood. Never takes
//! a loss for a full table: a full table floods, and the monitoring port receives it.

use measure::{FrameRate, FrameSize, Nanos};

use super::super::super::counts::{Count, astray, tester_dropped};
use super::super::rig::{Offer, Rig};
use super::super::{SearchRules, SwitchTest};
use trial::{Destination, Gate, Result, Role, Schedule};

/// Indices of the learning, the test and the monitoring port.
const LEARNS: usize = 0;
const TESTS: usize = 1;
const MONITORS: usize = 2;

/// Frames to each station: two, so that a delayed sender still reaches every one.
pub(super) const FRAMES_TO_EACH: u64 = 2;

/// Frames a second to stations: far below any port's rate, so that no queue overflows.
pub(super) const TEST_RATE: f64 = 20_000.0;
/// Slowest rate to stations, for trials in which frames are lost; reduced by [`SLOWER`] at a time.
const SLOWEST_TEST_RATE: f64 = 300.0;
const SLOWER: f64 = 4.0;

/// Share of frames that may be lost at random. An unknown station goes unnoticed only if both
/// frames to it are lost: at this share one in 10,000.
const MOST_LOST: f64 = 0.01;

/// Minimum duration of a load.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// Number of silent stations in the check that floods are received.
pub(super) const SILENT: u32 = 64;

/// Half of IEEE 802.1Q's recommended ageing time (table 8-6). Stations that send for longer may age
/// out before their frames arrive.
const LONGEST_LEARNING: Nanos = Nanos::from_secs(150);

/// Sending of the stations, by which the device learns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Speech {
    /// Frames a second.
    pub(super) rate: u64,
    /// Frames that each station sends; with more than one, a single lost frame leaves no station
    /// unknown.
    pub(super) rounds: u32,
}

impl Speech {
    /// Slowest rate for this number of stations.
    pub(super) fn slowest(stations: u64, rounds: u32) -> Self {
        let frames = stations * u64::from(rounds);
        let rate = (frames as f64 / LONGEST_LEARNING.as_secs_f64()).ceil().max(1.0) as u64;
        Self { rate, rounds }
    }

    /// Maximum number of stations at a rate.
    pub(super) fn most_stations(rate: u64, rounds: u32) -> u64 {
        (rate as f64 * LONGEST_LEARNING.as_secs_f64()) as u64 / u64::from(rounds)
    }

    /// Raises the rate to the slowest allowed for this number of stations.
    pub(super) fn in_time(self, stations: u64) -> Self {
        Self { rate: self.rate.max(Self::slowest(stations, self.rounds).rate), ..self }
    }
}

/// Result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shown {
    /// Frames arrived and none was flooded: every station was known.
    Known,
    /// Frames to this number of stations were flooded.
    Flooded(Unknown),
    /// No trial was usable.
    Unusable,
    /// Too many frames were lost even at the slowest rate, and none was flooded.
    Lossy,
}

/// Number of stations that the device did not know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unknown {
    pub(super) stations: f64,
    /// Standard deviation, from the share of lost frames.
    pub(super) error: f64,
}

/// Trials of one test on one device.
pub(super) struct Trials<'r, 's, 't> {
    pub(super) rig: &'r mut Rig<'s, 't>,
    test: SwitchTest,
    /// Frames a second to stations.
    rate: FrameRate,
    /// Number of trials run.
    pub(super) made: u64,
}

impl<'r, 's, 't> Trials<'r, 's, 't> {
    pub(super) fn new(rig: &'r mut Rig<'s, 't>, test: SwitchTest) -> Self {
        let line = rig.highest(FrameSize::MIN).map_or(TEST_RATE, |line| line.0 / 2.0);
        Self { rig, test, rate: FrameRate(TEST_RATE.min(line)), made: 0 }
    }

    /// Frames a second that the learning port's link certainly carries.
    pub(super) fn link_rate(&self) -> u64 {
        let line = self.rig.highest(FrameSize::MIN);
        line.map_or(u64::MAX, |line| (line.0 / 2.0).max(1.0) as u64)
    }

    /// Control: true if the monitoring port receives frames to stations that never sent. Otherwise
    /// a full table would look like one with room.
    pub(super) fn floods_are_seen(&mut self) -> Result<bool> {
        let silent = Speech { rate: u64::from(SILENT), rounds: 0 };
        let mut shown = self.ask(SILENT, silent)?;
        if shown == Shown::Unusable {
            shown = self.ask(SILENT, silent)?;
        }
        let most = f64::from(SILENT) / 2.0;
        Ok(matches!(shown, Shown::Flooded(unknown) if unknown.stations > most))
    }

    /// Lets stations send and sends to each; repeats more slowly while frames are lost.
    pub(super) fn ask(&mut self, stations: u32, speech: Speech) -> Result<Shown> {
        loop {
            let shown = self.once(stations, speech)?;
            let slower = self.rate.0 / SLOWER;
            if shown != Shown::Lossy || slower < SLOWEST_TEST_RATE {
                return Ok(shown);
            }
            self.rate = FrameRate(slower);
        }
    }

    /// True if the request's version uses [`Self::short_of_known`].
    pub(super) fn has_control(&self) -> bool {
        self.rig.spec.rules == SearchRules::Buckets
    }

    /// Frames lost or queued, out of `frames` at a rate from one known address; `None` if no trial
    /// was usable.
    pub(super) fn short_of_known(&mut self, frames: u64, rate: u64) -> Result<Option<f64>> {
        let schedule = Schedule::Paced(FrameRate(rate as f64));
        let flow = self.rig.stream((LEARNS, TESTS), FrameSize::MIN, schedule);
        self.made += 1;
        let tried = self.rig.offer(Offer {
            label: format!("{} {frames} known frames at {rate}/s", self.test.as_str()),
            flows: vec![flow],
            duration: Nanos::from_secs_f64(frames as f64 / rate as f64),
            gate: Gate::Strict,
        })?;
        let count = Count::from_flows(tried.measured());
        Ok(tried.valid().map(|_| count.lost as f64 + count.queued))
    }

    fn once(&mut self, stations: u32, speech: Speech) -> Result<Shown> {
        let Speech { rate, rounds } = speech;
        let (size, to_send) = (FrameSize::MIN, FRAMES_TO_EACH * u64::from(stations));
        let destination = Destination::Stations { count: stations, learn_rate: rate, rounds };
        // A load of a few milliseconds would end before a delayed sender has begun.
        let unhurried = FrameRate(self.rate.0.min(to_send as f64 / SHORTEST.as_secs_f64()));
        let kind = self.rig.frames(size, Schedule::Paced(unhurried), destination);
        // A frame from the monitoring port makes it part of the trial, so its counters are read. A
        // frame of its own makes the learning port's address known, besides its stations'.
        let alive = self.rig.frames(size, Schedule::Burst(1), Destination::Receiver);
        let own = |from| self.rig.flow(from, TESTS, Role::Load, alive.clone());
        let flows =
            vec![self.rig.flow(TESTS, LEARNS, Role::Measured, kind), own(MONITORS), own(LEARNS)];
        let of = if rounds == 0 { "silent" } else { "stations" };
        let offer = Offer {
            label: format!("{} {stations} {of} at {rate}/s", self.test.as_str()),
            flows,
            duration: Nanos::from_secs_f64(to_send as f64 / unhurried.0),
            gate: Gate::Strict,
        };
        self.made += 1;
        let tried = self.rig.offer(offer)?;
        let floods = astray(&tried.record, &self.rig.ports[MONITORS]);
        let Some(flow) = tried.measured().next() else { return Ok(Shown::Unusable) };
        // The pacing of the frames does not matter to a table.
        let all = flow.sent >= u64::from(stations) && !tester_dropped(&tried);
        let usable = tried.valid().is_some() || (tried.beyond_tester() && all);
        let lost = flow.loss_ratio();
        Ok(match (floods, usable) {
            (1.., _) => Shown::Flooded(Unknown::from_floods(floods, lost)),
            (0, false) => Shown::Unusable,
            (0, true) if lost > MOST_LOST => Shown::Lossy,
            (0, true) => Shown::Known,
        })
    }
}

impl Unknown {
    /// Estimates the number of unknown stations: frames to one are flooded unless lost first.
    fn from_floods(floods: u64, lost: f64) -> Self {
        let came = (1.0 - lost).max(0.5);
        let frames = floods as f64 / came;
        let each = FRAMES_TO_EACH as f64;
        let error = (frames * came * (1.0 - came)).sqrt() / each;
        Self { stations: frames / each, error }
    }
}
