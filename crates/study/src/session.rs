//! Runner of a study's trials: repeats a trial that is unusable, and gives up in the end.
//!
//! Owns the repetition and the random order. Never interprets a record, and never repeats a trial
//! because of its figure: only one that is invalid or failed.

mod waits;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use measure::{FrameRate, Nanos};

use trial::counters::{TUNNEL_DROPS, sum};
use trial::other_traffic::other_traffic;
use trial::record::{DatagramsRecord, Defect, FlowRecord, HostUsage, Side};
use trial::{
    Event, Flow, FlowKind, Gate, Offloads, Outcome, Phases, Result, Role, Testbed, Topology, Trial,
    TrialRecord,
};

use super::ways::{Way, Ways};
use super::{Blocks, Profile, SpecProblem, Tries};
use waits::{fills, for_learning, mean_gap};

/// Shortfall of a tester above which it counts as unable, so that no repetition helps. It must
/// occur twice in a row by about the same amount, or once without other load on its processors. A
/// single one next to other load may be a stall.
const UNABLE_SHORTFALL: f64 = 0.02;

/// Share of a host's processors used by others, below which the host counts as idle otherwise.
const TO_ITSELF: f64 = 0.05;

/// Relative difference up to which two shortfalls count as about the same.
const ALIKE: f64 = 0.25;

/// Factor on the residual time for another attempt, if frames are still queued when the receivers
/// close. The time never exceeds [`LONGEST_RESIDUAL`].
const MORE_RESIDUAL: u64 = 4;

/// Maximum residual time; a device that holds frames longer is not waited for.
const LONGEST_RESIDUAL: Nanos = Nanos::from_secs(30);

/// Residual time of RFC 2544 §23.
const RFC_RESIDUAL: Nanos = Nanos::from_secs(2);

/// Silence after which a device counts as empty, together with two gaps. A short stall of the
/// device is shorter than that.
const SILENCE: Nanos = Nanos::from_millis(25);

/// Part of the residual time that this silence may be at most.
const SILENT_SHARE: u64 = 4;

/// Frames of a slow device that may be in flight when the sender stops.
const SLOW_FRAMES: f64 = 4.0;

/// Maximum number of repetitions of a trial because the device had not drained.
const MOST_WAITS: u32 = 7;

/// Maximum number of attempts after a trial that was given up after all its attempts, as the
/// tester's problem may persist.
const TRIES_AFTER: u32 = 3;

/// Number of consecutive failures after which a variant is given up.
const MOST_FAILURES: u32 = 2;

/// Running study.
pub(super) struct Session<'a> {
    pub(super) ways: Ways,
    testbed: &'a mut dyn Testbed,
    order: Pcg64,
    profile: Profile,
    tries: u32,
    /// True if the previous trial was given up after all its attempts.
    given_up: bool,
    /// True if records state the arrival of the last frame. Those of earlier versions do not, and
    /// their trials are requested as they were then.
    tells_quiet: bool,
    /// Time that receivers stay open, if the queue needs longer than the profile allows.
    pub(super) residual: Nanos,
    /// Time before a load, if the device needs longer than the profile's to forget the one before.
    pub(super) rest: Nanos,
    /// Drain time of a device if longer: after a flood or a burst (true), which fill its buffers,
    /// and after other loads, where the path itself is long.
    emptying: BTreeMap<(Way, bool), Nanos>,
    /// Paths over which nothing arrived however long receivers stayed open: their trials are
    /// neither repeated nor prolonged until something arrives.
    dead: BTreeSet<Way>,
    /// Measured forwarding rates of paths, in frames a second.
    found: BTreeMap<Way, FrameRate>,
    /// Number of consecutive trials on a path that failed with all their attempts.
    failures: BTreeMap<Way, u32>,
    /// Offloads of the hosts' kernels, which merge frames.
    pub(super) offloads: Offloads,
    /// True for a search: it accepts a load carried without loss instead of the requested one.
    pub(super) takes_carried: bool,
}

/// Request for a trial; the session adds the common parts.
pub(super) struct Ask {
    pub(super) label: String,
    pub(super) way: Way,
    pub(super) block: u32,
    pub(super) duration: Nanos,
    pub(super) gate: Gate,
    pub(super) flows: Vec<Flow>,
    pub(super) events: Vec<Event>,
}

/// Counted attempt of a trial: the valid one, otherwise the one closest to the request.
pub(super) struct Tried {
    pub(super) trial: Trial,
    pub(super) record: TrialRecord,
    /// Number of attempts.
    tries: u32,
}

impl Tried {
    /// Creates a result with a single attempt.
    #[cfg(test)]
    pub(super) const fn at_once(trial: Trial, record: TrialRecord) -> Self {
        Self { trial, record, tries: 1 }
    }

    /// Returns the record; `None` if figures must not use it.
    pub(super) fn valid(&self) -> Option<&TrialRecord> {
        self.record.outcome.is_valid().then_some(&self.record)
    }

    /// True if it took more than one attempt.
    pub(super) const fn repeated(&self) -> bool {
        self.tries > 1
    }

    /// True if the trial ran, and only the tester's own limits made it invalid.
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

    /// True if the only defect is a sender that could not offer the load.
    pub(super) fn only_short_of_load(&self) -> bool {
        let short = |defect: &Defect| matches!(defect, Defect::OfferedLoad { .. });
        matches!(&self.record.outcome, Outcome::Invalid { reasons } if reasons.iter().all(short))
    }

    /// Records of the measured datagram flows, in the trial's order; fewer if the trial failed.
    pub(super) fn measured(&self) -> impl Iterator<Item = &DatagramsRecord> {
        let flows = self.trial.flows.iter().zip(&self.record.flows);
        flows.filter_map(|(flow, record)| match record {
            FlowRecord::Datagrams(seen) if flow.role == Role::Measured => Some(seen),
            _ => None,
        })
    }

    /// Load per direction that passed without loss in an attempt that only the tester's own limits
    /// made invalid. It is taken over the whole load phase, including stalls. All frames arrived,
    /// so at most rate * time + buffer did: the same bound as from a valid trial.
    pub(super) fn lossless_load(&self) -> Option<FrameRate> {
        if !self.beyond_tester() {
            return None;
        }
        let rate = |flow: &DatagramsRecord| {
            if flow.received.lost(flow.sent) > 0 || flow.sent < 2 {
                return None;
            }
            // Frames arrived over this span; a queue in between adds nothing to a rate.
            let span = flow.sending.max(flow.receiving).max(self.trial.phases.load);
            Some((flow.sent - 1) as f64 / span.as_secs_f64())
        };
        let rates: Option<Vec<f64>> = self.measured().map(rate).collect();
        rates?.into_iter().min_by(f64::total_cmp).map(FrameRate)
    }

    /// Residual time that this trial should have had, if its device had not drained when the
    /// receivers closed. In that case frames were missing, and others arrived until the end. Late
    /// frames spoil the next trial; after an earlier one with frames left (`holding`), they may be
    /// all that arrives.
    fn emptied_after(&self, holding: bool) -> Option<Nanos> {
        let residual = self.trial.phases.residual;
        // Nothing arrived within a shortened residual time: use the RFC's two seconds.
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

    /// Estimated time until the missing frames arrive; `None` unless frames arrived until the
    /// receivers closed, so that the device had not drained.
    pub(super) fn still_held(&self) -> Option<Nanos> {
        let Phases { load, residual, .. } = self.trial.phases;
        // What a sender's own tunnel dropped never arrives.
        let mut dead = sum(&self.record.ports, Side::Tester, TUNNEL_DROPS);
        let waited = |flow: &DatagramsRecord| {
            let lost = flow.received.lost(flow.sent);
            let missing = lost.saturating_sub(dead);
            dead = dead.saturating_sub(lost);
            let gap = mean_gap(flow).filter(|_| missing > 0)?;
            // Without a stamp of the last arrival, the first counts as one at the start of the
            // load.
            let quiet = flow.quiet.unwrap_or((load + residual).saturating_sub(flow.receiving));
            let until_closed = quiet.as_secs_f64() <= 2.0 * gap
                || flow.quiet.is_some_and(|quiet| quiet < SILENCE.min(residual / SILENT_SHARE));
            // A device with gaps longer than the receivers wait may still have had the last frame.
            let no_last = flow.received.highest.is_none_or(|highest| highest + 1 < flow.sent);
            let slow = residual.as_secs_f64() < SLOW_FRAMES * gap;
            (until_closed || (no_last && slow))
                .then(|| Nanos::from_secs_f64(1.25 * missing as f64 * gap))
        };
        self.measured().filter_map(waited).max()
    }

    /// True if the trial waited as long as any does, and not one frame arrived.
    fn is_dead(&self) -> bool {
        let waited = self.trial.phases.residual >= LONGEST_RESIDUAL;
        let mut flows = self.measured().peekable();
        waited && flows.peek().is_some() && flows.all(|flow| flow.received.unique == 0)
    }

    /// True if frames were missing while other traffic arrived.
    fn came_beside_others(&self) -> bool {
        let record = &self.record;
        let others = || other_traffic(&self.trial, &record.flows, &record.ports, &record.hosts);
        self.measured().any(|flow| flow.received.lost(flow.sent) > 0) && !others().is_empty()
    }

    /// Largest shortfall of the tester, in sending or receiving. Zero if only a burst was wrong;
    /// `None` if the tester is not the only cause.
    fn shortfall(&self) -> Option<f64> {
        let Outcome::Invalid { reasons } = &self.record.outcome else { return None };
        let frames: u64 = self.measured().map(|flow| flow.sent).sum();
        let short = |defect: &Defect| match defect {
            Defect::OfferedLoad { flow, asked, sent } if has_rate(&self.trial, *flow) => {
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

    /// True if the tester alone, by its kernels' accounts, missed the load: by far, or so slightly
    /// that the carried load suffices.
    fn unable_alone(&self, takes_carried: bool) -> bool {
        let to_itself = |host: &HostUsage| host.usage.by_others() < TO_ITSELF;
        self.only_short_of_load()
            && (self.shortfall().is_some_and(|short| short > UNABLE_SHORTFALL)
                || (takes_carried && self.lossless_load().is_some()))
            && !self.record.hosts.is_empty()
            && self.record.hosts.iter().all(to_itself)
    }

    /// True if this attempt and the previous one fell far short by about the same amount.
    fn unable(&self, before: Option<&Self>) -> bool {
        let before = before.and_then(Self::shortfall);
        let (Some(now), Some(before)) = (self.shortfall(), before) else { return false };
        now.min(before) > UNABLE_SHORTFALL && (now - before).abs() <= ALIKE * now.max(before)
    }

    /// Rank among invalid attempts: by the load without loss, then by the smallest shortfall, then
    /// those that ran at all.
    fn rank(&self) -> (f64, f64) {
        let passed = self.lossless_load().map_or(0.0, |rate| rate.0);
        (passed, self.shortfall().map_or(f64::NEG_INFINITY, |short| -short))
    }
}

/// True for a flow whose load is a rate of its own.
fn has_rate(trial: &Trial, id: u16) -> bool {
    let is_paced =
        |flow: &Flow| matches!(flow.kind, FlowKind::Datagrams(_) | FlowKind::Sessions(_));
    trial.flows.iter().any(|flow| flow.id == id && is_paced(flow))
}

impl<'a> Session<'a> {
    pub(super) fn new(
        testbed: &'a mut dyn Testbed,
        study: &str,
        ways: impl FnOnce(&Topology) -> Result<Ways, SpecProblem>,
        seed: u64,
        profile: Profile,
        tries: Tries,
    ) -> Result<Self> {
        let ways = ways(testbed.topology()).map_err(|problem| problem.lost(study))?;
        Ok(Self::over(testbed, ways, seed, profile, tries))
    }

    /// Creates the session of a study that chose its paths itself.
    pub(super) fn over(
        testbed: &'a mut dyn Testbed,
        ways: Ways,
        seed: u64,
        profile: Profile,
        tries: Tries,
    ) -> Self {
        let (order, failures) = (Pcg64::seed_from_u64(seed), BTreeMap::new());
        let (emptying, found) = (BTreeMap::new(), BTreeMap::new());
        let (residual, rest, offloads) = (Nanos::ZERO, Nanos::ZERO, Offloads::Off);
        Self {
            ways,
            testbed,
            order,
            profile,
            tries: tries.get(),
            given_up: false,
            tells_quiet: false,
            residual,
            rest,
            emptying,
            dead: BTreeSet::new(),
            found,
            failures,
            offloads,
            takes_carried: false,
        }
    }

    /// Stores the forwarding rate of a path: a burst waits until the path has forwarded the
    /// learning frames.
    pub(super) fn remember_rate(&mut self, way: Way, rate: FrameRate) {
        let slowest = self.found.entry(way).or_insert(rate);
        slowest.0 = slowest.0.min(rate.0);
    }

    /// True if a trial fills all buffers; `None` if its drain time is not stored.
    fn filled(&self, trial: &Trial) -> Option<bool> {
        if self.tells_quiet {
            Some(fills(trial))
        } else {
            (trial.gate == Gate::Flood).then_some(true)
        }
    }

    /// Known drain time of a path, at most the RFC's two seconds.
    pub(super) fn holds_for(&self, way: Way) -> Nanos {
        if !self.tells_quiet {
            return Nanos::ZERO;
        }
        let of = |full| self.emptying.get(&(way, full)).copied().unwrap_or(Nanos::ZERO);
        of(false).max(of(true)).min(RFC_RESIDUAL)
    }

    /// True if the testbed can reset the path's device.
    pub(super) fn resettable(&self, way: Way) -> bool {
        self.ways.resettable(way, self.testbed.topology())
    }

    /// Puts the trials of a block into random order, so that drift favours none.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(&mut self.order);
    }

    /// Shuffles a block. If subjects have variants, the trials of a path stay together, so that no
    /// variant is applied twice in a block. `way` returns an item's path.
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

    /// Measures every cell, by number, on each of these paths in every block, in random order.
    pub(super) fn in_blocks(
        &mut self,
        blocks: Blocks,
        cells: usize,
        ways: &[Way],
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

    /// Runs a trial, and repeats it while it is invalid or failed, as often as allowed. After two
    /// failed trials with all attempts, a variant's further trials are skipped.
    pub(super) fn run(&mut self, ask: Ask) -> Result<Tried> {
        let way = ask.way;
        let mut phases = self.profile.phases(ask.duration);
        phases.residual = phases.residual.max(self.residual);
        let found = self.found.get(&way).copied().filter(|_| self.tells_quiet);
        phases.learned = phases.learned.max(for_learning(&ask.flows, found)).max(self.rest);
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
        }
        .adapted_to(self.testbed.topology());
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
            if tried.is_dead() {
                self.dead.insert(way);
                self.emptying.retain(|(of, _), _| *of != way);
            } else if tried.measured().any(|flow| flow.received.unique > 0) {
                self.dead.remove(&way);
            }
            let dead = self.dead.contains(&way);
            if waits < MOST_WAITS
                && !dead
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
            let over = self.given_up || dead || unable || tried.unable(failed.last());
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
