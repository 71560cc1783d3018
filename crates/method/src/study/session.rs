//! Running a study's trials: asks again when one can't be used, and gives up in the end.
//!
//! Owns the repetition and the order's randomness. Never decides what a record means, and never
//! repeats a trial because its figure displeases: only one that is invalid or failed.

mod waits;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use measure::{FrameRate, Nanos};

use trial::other_traffic::other_traffic;
use trial::record::{DatagramsRecord, Defect, FlowRecord, HostUsage};
use trial::{
    Event, Flow, FlowKind, Gate, Offloads, Outcome, Phases, Result, Role, Testbed, Topology, Trial,
    TrialRecord,
};

use super::ways::{Way, Ways};
use super::{Blocks, Profile, SpecProblem, Tries};
use waits::{fills, for_learning, mean_gap};

/// A tester that falls short by more than this, twice in a row and by about the same, or once with
/// its processors to itself, is not unlucky but unable: no use asking again. Once beside others may
/// be a stall, however long.
const UNABLE_SHORTFALL: f64 = 0.02;

/// A host has its processors to itself where others take less of them than this share.
const TO_ITSELF: f64 = 0.05;

/// How far apart two shortfalls may be to be about the same, relative to the larger.
const ALIKE: f64 = 0.25;

/// What still waits in a device when the receivers close is waited for in another try, with this
/// many times the residual time at most, and never for longer than [`LONGEST_RESIDUAL`].
const MORE_RESIDUAL: u64 = 4;

/// A device that holds more than this is not waited for.
const LONGEST_RESIDUAL: Nanos = Nanos::from_secs(30);

/// RFC 2544 §23.
const RFC_RESIDUAL: Nanos = Nanos::from_secs(2);

/// A device is empty only after a silence: of this and of two gaps. One that stands still for a
/// moment is silent for less.
const SILENCE: Nanos = Nanos::from_millis(25);

/// But no more than such a part of the residual time.
const SILENT_SHARE: u64 = 4;

/// So many frames of a slow device may be on their way when the sender stops.
const SLOW_FRAMES: f64 = 4.0;

/// So often a trial is run again because the device had not emptied.
const MOST_WAITS: u32 = 7;

/// Where the trial before was given up after all its tries, the next has so many at most: what
/// keeps the tester from it has not gone yet.
const TRIES_AFTER: u32 = 3;

/// So many times in a row a variant may fail before it is given up.
const MOST_FAILURES: u32 = 2;

/// A study under way.
pub(super) struct Session<'a> {
    pub(super) ways: Ways,
    testbed: &'a mut dyn Testbed,
    order: Pcg64,
    profile: Profile,
    tries: u32,
    /// The trial before was given up after all its tries.
    given_up: bool,
    /// Records tell when the last frame came. Those of earlier versions don't: their trials are
    /// asked for as they were then.
    tells_quiet: bool,
    /// For how long receivers stay open, where what waits takes longer to come out than the
    /// profile's.
    pub(super) residual: Nanos,
    /// How long a device takes to empty, where that is longer: after a flood or a burst (true),
    /// which fill it, and after other loads, where it is the way that is long.
    emptying: BTreeMap<(Way, bool), Nanos>,
    /// Frames a second that ways were found to forward.
    found: BTreeMap<Way, FrameRate>,
    /// How many times in a row nothing could be run on a way, with all its tries.
    failures: BTreeMap<Way, u32>,
    /// What the hosts' kernels may do with several frames at once.
    pub(super) offloads: Offloads,
    /// A search asks: it takes what was carried without a loss for the load that was to be offered.
    pub(super) takes_carried: bool,
}

/// What a study asks for; the session adds what is the same for all.
pub(super) struct Ask {
    pub(super) label: String,
    pub(super) way: Way,
    pub(super) block: u32,
    pub(super) duration: Nanos,
    pub(super) gate: Gate,
    pub(super) flows: Vec<Flow>,
    pub(super) events: Vec<Event>,
}

/// The try that counts: the valid one, else the one that came closest to what was asked.
pub(super) struct Tried {
    pub(super) trial: Trial,
    pub(super) record: TrialRecord,
    /// How many there were in all.
    tries: u32,
}

impl Tried {
    /// A trial and what came of it at once.
    #[cfg(test)]
    pub(super) const fn at_once(trial: Trial, record: TrialRecord) -> Self {
        Self { trial, record, tries: 1 }
    }

    /// The record, if figures may come from it.
    pub(super) fn valid(&self) -> Option<&TrialRecord> {
        self.record.outcome.is_valid().then_some(&self.record)
    }

    /// Whether it took more than one try.
    pub(super) const fn repeated(&self) -> bool {
        self.tries > 1
    }

    /// Whether it ran, and what broke were only the tester's own limits.
    pub(super) fn beyond_tester(&self) -> bool {
        let own = |defect: &Defect| {
            matches!(
                defect,
                Defect::OfferedLoad { .. }
                    | Defect::Burst { .. }
                    | Defect::BurstLength { .. }
                    | Defect::Late { .. }
                    | Defect::Overrun { .. }
                    | Defect::TesterCounter { .. }
                    | Defect::ForeignLoad { .. }
            )
        };
        match &self.record.outcome {
            Outcome::Invalid { reasons } => reasons.iter().all(own),
            _ => false,
        }
    }

    /// Whether all that broke was that the sender could not offer so much.
    pub(super) fn only_short_of_load(&self) -> bool {
        let short = |defect: &Defect| matches!(defect, Defect::OfferedLoad { .. });
        matches!(&self.record.outcome, Outcome::Invalid { reasons } if reasons.iter().all(short))
    }

    /// The records of the measured flows of datagrams, in the trial's order; fewer where it failed.
    pub(super) fn measured(&self) -> impl Iterator<Item = &DatagramsRecord> {
        let flows = self.trial.flows.iter().zip(&self.record.flows);
        flows.filter_map(|(flow, record)| match record {
            FlowRecord::Datagrams(seen) if flow.role == Role::Measured => Some(seen),
            _ => None,
        })
    }

    /// The offered load, in each direction, that passed without a loss in a try that was invalid
    /// only by the tester's own limits. It is taken over the whole load phase, stalls included: all
    /// frames arrived, so no more than rate * time + buffer did, the same bound as a valid trial
    /// gives.
    pub(super) fn lossless_load(&self) -> Option<FrameRate> {
        if !self.beyond_tester() {
            return None;
        }
        let rate = |flow: &DatagramsRecord| {
            if flow.received.lost(flow.sent) > 0 || flow.sent < 2 {
                return None;
            }
            // All arrived, but over so long: what queued in between is no rate.
            let span = flow.sending.max(flow.receiving).max(self.trial.phases.load);
            Some((flow.sent - 1) as f64 / span.as_secs_f64())
        };
        let rates: Option<Vec<f64>> = self.measured().map(rate).collect();
        rates?.into_iter().min_by(f64::total_cmp).map(FrameRate)
    }

    /// The residual time that this trial should have had, where its device had not emptied when the
    /// receivers closed: frames were missing, and came until then. What comes later spoils the next
    /// trial: where an earlier one left frames behind (`holding`) they may be all that comes.
    fn emptied_after(&self, holding: bool) -> Option<Nanos> {
        let residual = self.trial.phases.residual;
        // Nothing at all within a shortened residual time: it gets the RFC's two seconds.
        let nothing = self.measured().any(|flow| flow.sent > 0 && flow.received.unique == 0);
        if nothing && residual < RFC_RESIDUAL {
            return Some(RFC_RESIDUAL);
        }
        if holding && (nothing || self.came_beside_others()) && residual < LONGEST_RESIDUAL {
            return Some((residual * MORE_RESIDUAL).min(LONGEST_RESIDUAL));
        }
        let longest = self.still_held()?;
        let more = longest.clamp(residual * 3 / 2, residual * MORE_RESIDUAL);
        (residual < LONGEST_RESIDUAL).then(|| more.min(LONGEST_RESIDUAL))
    }

    /// About how long what is missing still takes to come, where frames came until the receivers
    /// closed: the device was not empty.
    pub(super) fn still_held(&self) -> Option<Nanos> {
        let Phases { load, residual, .. } = self.trial.phases;
        let waited = |flow: &DatagramsRecord| {
            let missing = flow.received.lost(flow.sent);
            let gap = mean_gap(flow).filter(|_| missing > 0)?;
            // Where nobody stamped the last arrival, the first counts as one at the load's start.
            let quiet = flow.quiet.unwrap_or((load + residual).saturating_sub(flow.receiving));
            let until_closed = quiet.as_secs_f64() <= 2.0 * gap
                || flow.quiet.is_some_and(|quiet| quiet < SILENCE.min(residual / SILENT_SHARE));
            // A device whose frames are further apart than the receivers wait may still have had
            // the last.
            let no_last = flow.received.highest.is_none_or(|highest| highest + 1 < flow.sent);
            let slow = residual.as_secs_f64() < SLOW_FRAMES * gap;
            (until_closed || (no_last && slow))
                .then(|| Nanos::from_secs_f64(1.25 * missing as f64 * gap))
        };
        self.measured().filter_map(waited).max()
    }

    /// Whether frames were missing while others than the trial's own came.
    fn came_beside_others(&self) -> bool {
        let record = &self.record;
        let others = || other_traffic(&self.trial, &record.flows, &record.ports, &record.hosts);
        self.measured().any(|flow| flow.received.lost(flow.sent) > 0) && !others().is_empty()
    }

    /// The largest share by which the tester fell short, sending or receiving; zero where only a
    /// burst was wrong, `None` where it is not the tester's doing alone.
    fn shortfall(&self) -> Option<f64> {
        let Outcome::Invalid { reasons } = &self.record.outcome else { return None };
        let frames: u64 = self.measured().map(|flow| flow.sent).sum();
        let short = |defect: &Defect| match defect {
            Defect::OfferedLoad { flow, asked, sent } if is_datagrams(&self.trial, *flow) => {
                1.0 - sent / asked
            }
            Defect::BurstLength { asked, sent, .. } => 1.0 - *sent as f64 / *asked as f64,
            Defect::TesterCounter { by, .. } if self.measured().next().is_some() => {
                *by as f64 / frames.max(1) as f64
            }
            _ => 0.0,
        };
        self.beyond_tester().then(|| reasons.iter().map(short).fold(0.0, f64::max))
    }

    /// Whether this try was short of its load, and nobody else can have kept its hosts from it, as
    /// their kernels tell: far short, or by so little that what it carried will do.
    fn unable_alone(&self, takes_carried: bool) -> bool {
        let to_itself = |host: &HostUsage| host.usage.by_others() < TO_ITSELF;
        self.only_short_of_load()
            && (self.shortfall().is_some_and(|short| short > UNABLE_SHORTFALL)
                || (takes_carried && self.lossless_load().is_some()))
            && !self.record.hosts.is_empty()
            && self.record.hosts.iter().all(to_itself)
    }

    /// Whether this try and the one before failed far short and alike.
    fn unable(&self, before: Option<&Self>) -> bool {
        let before = before.and_then(Self::shortfall);
        let (Some(now), Some(before)) = (self.shortfall(), before) else { return false };
        now.min(before) > UNABLE_SHORTFALL && (now - before).abs() <= ALIKE * now.max(before)
    }

    /// How useful it is beside others that are not valid either: what passed most, then what came
    /// closest to the load, then what ran at all.
    fn rank(&self) -> (f64, f64) {
        let passed = self.lossless_load().map_or(0.0, |rate| rate.0);
        (passed, self.shortfall().map_or(f64::NEG_INFINITY, |short| -short))
    }
}

fn is_datagrams(trial: &Trial, id: u16) -> bool {
    trial.flows.iter().any(|f| f.id == id && matches!(f.kind, FlowKind::Datagrams(_)))
}

impl<'a> Session<'a> {
    pub(super) fn new(
        testbed: &'a mut dyn Testbed,
        study: &str,
        ways: impl FnOnce(&Topology) -> Result<Ways, SpecProblem>,
        seed: u64,
        (profile, tries): (Profile, Tries),
    ) -> Result<Self> {
        let ways = ways(testbed.topology()).map_err(|problem| problem.lost(study))?;
        Ok(Self::over(testbed, ways, seed, (profile, tries)))
    }

    /// Of a study that chose its ways itself.
    pub(super) fn over(
        testbed: &'a mut dyn Testbed,
        ways: Ways,
        seed: u64,
        (profile, tries): (Profile, Tries),
    ) -> Self {
        let (order, failures) = (Pcg64::seed_from_u64(seed), BTreeMap::new());
        let (emptying, found) = (BTreeMap::new(), BTreeMap::new());
        let (residual, offloads) = (Nanos::ZERO, Offloads::Off);
        Self {
            ways,
            testbed,
            order,
            profile,
            tries: tries.get(),
            given_up: false,
            tells_quiet: false,
            residual,
            emptying,
            found,
            failures,
            offloads,
            takes_carried: false,
        }
    }

    /// A way forwards so many frames a second: a burst waits until it is through with what taught
    /// it addresses.
    pub(super) fn remember_rate(&mut self, way: Way, rate: FrameRate) {
        let slowest = self.found.entry(way).or_insert(rate);
        slowest.0 = slowest.0.min(rate.0);
    }

    /// Whether a trial fills whatever buffers there are; none where it is not remembered how long
    /// they take to empty.
    fn filled(&self, trial: &Trial) -> Option<bool> {
        if self.tells_quiet {
            Some(fills(trial))
        } else {
            (trial.gate == Gate::Flood).then_some(true)
        }
    }

    /// For how long a way was seen to hold frames, as far as the RFC's two seconds.
    pub(super) fn holds_for(&self, way: Way) -> Nanos {
        if !self.tells_quiet {
            return Nanos::ZERO;
        }
        let of = |full| self.emptying.get(&(way, full)).copied().unwrap_or(Nanos::ZERO);
        of(false).max(of(true)).min(RFC_RESIDUAL)
    }

    /// Whether the testbed can reset the way's device.
    pub(super) fn resettable(&self, way: Way) -> bool {
        self.ways.resettable(way, self.testbed.topology())
    }

    /// Puts a block's trials into random order, so that a drift is nobody's advantage.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(&mut self.order);
    }

    /// The same, but where subjects have variants with each way's trials together, so that no
    /// variant is applied twice in a block. `way` tells an item's.
    pub(super) fn shuffle_block<T>(&mut self, items: &mut [T], way: impl Fn(&T) -> Way) {
        self.shuffle(items);
        let varied = |way: &Way| self.ways.subject(*way).is_some_and(|s| s.variant.is_some());
        if !self.ways.all().iter().any(varied) {
            return;
        }
        let mut order = self.ways.all();
        self.shuffle(&mut order);
        items.sort_by_key(|item| order.iter().position(|other| *other == way(item)));
    }

    /// In each block every cell, by its number, on each of these ways, in random order.
    pub(super) fn in_blocks(
        &mut self,
        blocks: Blocks,
        (cells, ways): (usize, &[Way]),
        mut measure: impl FnMut(&mut Self, u32, (usize, Way)) -> Result<()>,
    ) -> Result<()> {
        for block in 0..blocks.get() {
            let of = |cell| ways.iter().map(move |way| (cell, *way));
            let mut order: Vec<(usize, Way)> = (0..cells).flat_map(of).collect();
            self.shuffle_block(&mut order, |(_, way)| *way);
            for turn in order {
                measure(self, block, turn)?;
            }
        }
        Ok(())
    }

    /// Runs a trial, again while it is invalid or failed, as often as allowed. A variant that
    /// failed to come up for two trials with all their tries is not waited for any more.
    pub(super) fn run(&mut self, ask: Ask) -> Result<Tried> {
        let way = ask.way;
        let mut phases = self.profile.phases(ask.duration);
        phases.residual = phases.residual.max(self.residual);
        let found = self.found.get(&way).copied().filter(|_| self.tells_quiet);
        phases.learned = phases.learned.max(for_learning(&ask.flows, found));
        let mut trial = Trial {
            label: ask.label,
            path: self.ways.path(way),
            subject: self.ways.subject(way).cloned(),
            block: ask.block,
            attempt: 0,
            flows: ask.flows,
            phases,
            offloads: self.offloads,
            gate: ask.gate,
            events: ask.events,
            by_hand: Vec::new(),
            study: None,
        };
        if let Some(filled) = self.filled(&trial) {
            let emptying = self.emptying.get(&(way, filled)).copied().unwrap_or(Nanos::ZERO);
            trial.phases.residual = trial.phases.residual.max(emptying);
        }
        let varied = trial.subject.as_ref().is_some_and(|subject| subject.variant.is_some());
        let failures = self.failures.get(&way).copied().unwrap_or(0);
        if varied && failures >= MOST_FAILURES {
            let reason = "not run: the variant failed before".to_owned();
            return Ok(Tried { trial, record: TrialRecord::failed(0, reason), tries: 1 });
        }
        let tried = self.try_often(way, trial)?;
        let failed = matches!(tried.record.outcome, Outcome::Failed { .. });
        self.failures.insert(way, if failed { failures + 1 } else { 0 });
        Ok(tried)
    }

    fn try_often(&mut self, way: Way, mut trial: Trial) -> Result<Tried> {
        let mut failed: Vec<Tried> = Vec::new();
        let mut waits = 0;
        let fewer = self.given_up && self.tells_quiet;
        let most = if fewer { self.tries.min(TRIES_AFTER) } else { self.tries };
        loop {
            let record = self.testbed.run(&trial)?;
            let tries = trial.attempt + 1 - waits;
            let tried = Tried { trial: trial.clone(), record, tries };
            self.tells_quiet |= tried.measured().any(|flow| flow.quiet.is_some());
            if waits < MOST_WAITS
                && let Some(longer) =
                    tried.emptied_after(waits > 0 || self.emptying.contains_key(&(way, true)))
            {
                trial.phases.residual = longer;
                if let Some(full) = self.filled(&trial) {
                    let next = if full { longer } else { longer.min(RFC_RESIDUAL) };
                    self.emptying.insert((way, full), next);
                }
                waits += 1;
                trial.attempt += 1;
                continue;
            }
            if tried.valid().is_some() {
                self.given_up = false;
                return Ok(tried);
            }
            self.given_up = tries >= most;
            let unable = self.tells_quiet && tried.unable_alone(self.takes_carried);
            let over = self.given_up || unable || tried.unable(failed.last());
            failed.push(tried);
            if over {
                let best = failed
                    .into_iter()
                    .max_by(|a, b| a.rank().partial_cmp(&b.rank()).unwrap_or(Ordering::Equal));
                let mut best = best.expect("one was just put in");
                best.tries = tries;
                return Ok(best);
            }
            trial.attempt += 1;
        }
    }
}
