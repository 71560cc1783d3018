//! One trial of stations that speak and are then spoken to, and what it shows.
//!
//! Owns the trial's shape, how fast stations are spoken to, and what counts as a flood. Never takes
//! a loss for a full table: a table that has no room floods, and the monitoring port hears it.

use measure::{FrameRate, FrameSize, Nanos};

use super::super::super::counts::{Count, astray, tester_dropped};
use super::super::rig::{Offer, Rig};
use super::super::{SearchRules, SwitchTest};
use trial::{Destination, Gate, Result, Role, Schedule};

/// The learning, the test and the monitoring port, by their places.
const LEARNS: usize = 0;
const TESTS: usize = 1;
const MONITORS: usize = 2;

/// Two frames to each, so that a sender that was held up still has one for everybody.
pub(super) const FRAMES_TO_EACH: u64 = 2;

/// Frames a second to stations: far below what any port carries, so that none is lost for want of
/// room.
pub(super) const TEST_RATE: f64 = 20_000.0;
/// Where frames are lost at that, slower; no slower than this.
const SLOWEST_TEST_RATE: f64 = 300.0;
const SLOWER: f64 = 4.0;

/// The share of frames that may be lost at random. A station that is not known stays unseen only
/// where both frames to it are lost: at this share one in 10,000.
const MOST_LOST: f64 = 0.01;

/// No load is shorter.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// So many silent stations show whether floods can be seen.
pub(super) const SILENT: u32 = 64;

/// Half of IEEE 802.1Q's recommended ageing time (table 8-6): stations that speak for longer may be
/// forgotten before their frames come.
const LONGEST_LEARNING: Nanos = Nanos::from_secs(150);

/// How stations make themselves known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Speech {
    /// Frames a second.
    pub(super) rate: u64,
    /// How often each station speaks: a lost frame leaves nobody unknown where it is more than
    /// once.
    pub(super) rounds: u32,
}

impl Speech {
    /// The slowest that there is time for with so many stations.
    pub(super) fn slowest(stations: u64, rounds: u32) -> Self {
        let frames = stations * u64::from(rounds);
        let rate = (frames as f64 / LONGEST_LEARNING.as_secs_f64()).ceil().max(1.0) as u64;
        Self { rate, rounds }
    }

    /// For how many stations there is time at a rate.
    pub(super) fn most_stations(rate: u64, rounds: u32) -> u64 {
        (rate as f64 * LONGEST_LEARNING.as_secs_f64()) as u64 / u64::from(rounds)
    }

    /// The same, but no slower than there is time for.
    pub(super) fn in_time(self, stations: u64) -> Self {
        Self { rate: self.rate.max(Self::slowest(stations, self.rounds).rate), ..self }
    }
}

/// What a trial showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shown {
    /// Frames came, and none was flooded: every station was known.
    Known,
    /// Frames to so many stations were flooded, give or take the standard deviation.
    Flooded(Unknown),
    /// No trial could be used.
    Unusable,
    /// Too much was lost, however slowly stations were spoken to, and nothing flooded.
    Lossy,
}

/// Stations that the device did not know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unknown {
    pub(super) stations: f64,
    /// Standard deviation, from the share of frames that were lost.
    pub(super) error: f64,
}

/// Trials of one test on one device.
pub(super) struct Trials<'r, 's, 't> {
    pub(super) rig: &'r mut Rig<'s, 't>,
    test: SwitchTest,
    /// Frames a second to stations.
    rate: FrameRate,
    /// How many were made.
    pub(super) made: u64,
}

impl<'r, 's, 't> Trials<'r, 's, 't> {
    pub(super) fn new(rig: &'r mut Rig<'s, 't>, test: SwitchTest) -> Self {
        let line = rig.highest(FrameSize::MIN).map_or(TEST_RATE, |line| line.0 / 2.0);
        Self { rig, test, rate: FrameRate(TEST_RATE.min(line)), made: 0 }
    }

    /// Frames a second that the learning port's link carries with ease.
    pub(super) fn link_rate(&self) -> u64 {
        let line = self.rig.highest(FrameSize::MIN);
        line.map_or(u64::MAX, |line| (line.0 / 2.0).max(1.0) as u64)
    }

    /// The control: whether frames to stations that never spoke are heard at the monitoring port.
    /// Where they are not, a full table looks like one with room.
    pub(super) fn floods_are_seen(&mut self) -> Result<bool> {
        let silent = Speech { rate: u64::from(SILENT), rounds: 0 };
        let mut shown = self.ask(SILENT, silent)?;
        if shown == Shown::Unusable {
            shown = self.ask(SILENT, silent)?;
        }
        let most = f64::from(SILENT) / 2.0;
        Ok(matches!(shown, Shown::Flooded(unknown) if unknown.stations > most))
    }

    /// Lets so many stations speak and sends to each; again and more slowly while frames are lost.
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

    /// Whether the request is of a version that asks for [`Self::short_of_known`].
    pub(super) fn has_control(&self) -> bool {
        self.rig.spec.rules == SearchRules::Buckets
    }

    /// Frames that were not brought through in time, lost or queued, of so many at a rate from one
    /// known address; none where no trial could be used.
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
        let count = Count::of(tried.measured());
        Ok(tried.valid().map(|_| count.lost as f64 + count.queued))
    }

    fn once(&mut self, stations: u32, speech: Speech) -> Result<Shown> {
        let Speech { rate, rounds } = speech;
        let (size, to_send) = (FrameSize::MIN, FRAMES_TO_EACH * u64::from(stations));
        let destination = Destination::Stations { count: stations, learn_rate: rate, rounds };
        // A load of a few milliseconds is over before a sender that was held up has begun.
        let unhurried = FrameRate(self.rate.0.min(to_send as f64 / SHORTEST.as_secs_f64()));
        let kind = self.rig.frames(size, Schedule::Paced(unhurried), destination);
        // A frame from the monitoring port makes it part of the trial, so that its counters are
        // read; and only with one of its own is the learning port's address known beside its
        // stations'.
        let alive = self.rig.frames(size, Schedule::Burst(1), Destination::Receiver);
        let own = |from| self.rig.flow((from, TESTS), Role::Load, alive.clone());
        let flows =
            vec![self.rig.flow((TESTS, LEARNS), Role::Measured, kind), own(MONITORS), own(LEARNS)];
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
        // How evenly the frames left is nothing to a table.
        let all = flow.sent >= u64::from(stations) && !tester_dropped(&tried);
        let usable = tried.valid().is_some() || (tried.beyond_tester() && all);
        let lost = flow.loss_ratio();
        Ok(match (floods, usable) {
            (1.., _) => Shown::Flooded(Unknown::of(floods, lost)),
            (0, false) => Shown::Unusable,
            (0, true) if lost > MOST_LOST => Shown::Lossy,
            (0, true) => Shown::Known,
        })
    }
}

impl Unknown {
    /// Each frame to one of them is flooded, but for those that are lost first.
    fn of(floods: u64, lost: f64) -> Self {
        let came = (1.0 - lost).max(0.5);
        let frames = floods as f64 / came;
        let each = FRAMES_TO_EACH as f64;
        let error = (frames * came * (1.0 - came)).sqrt() / each;
        Self { stations: frames / each, error }
    }
}
