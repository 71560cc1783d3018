//! What is called throughput: the highest load that a path sustains (RFC 1242 §3.17, RFC 2544
//! §26.1, RFC 9971), found by a search, whoever sends to whom. A load is a rate of each sending
//! port.
//!
//! Owns which loads are offered, what floods tell before the first of them, and whose limit the
//! result is. Never counts what the tester could not do as a loss: such a load only bounds the
//! search. A load passes only if as much comes out as goes in: what a buffer swallows is no rate
//! (`sustained`). Never builds a flow.

mod floods;

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos};
use serde::{Deserialize, Serialize};

use super::counts::{Count, lossless_load, paused, seen, slowest_sender};
use super::pacing::Pacing;
use super::rules::SearchRules;
use super::sustained::{Bracket, Deliveries, Delivery, PACING_MARGIN, lasting};
use crate::search::{
    self, Attempt, BinarySearch, FEW_FRAMES, FailedBy, Failure, Goal, GoalName, GoalResult,
    LoadRange, Search, Step, begin, carry_out,
};
use crate::study::{Noted, Profile, Row, Tried};
use crate::verdict::{self, Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::{Result, Schedule};

pub(super) use floods::Floods;

/// How far above a device's throughput its bypass is searched. The verdict asks only whether the
/// tester does clearly more without the device; what the tester can do at most is the flood's
/// figure.
pub(super) const BYPASS_HEADROOM: f64 = 2.0;

/// A search's trials at its highest load: MLRsearch throws the first away (RFC 9971's warm-up).
const WARM_UP_AND_FIRST: usize = 2;

/// Frames that a trial at a goal's loss ratio loses, so that one more or less decides nothing.
const LOST_AT_THE_GOAL: f64 = 10.0;

/// No trial is made longer than this for its number of frames.
const LONGEST_FOR_ITS_FRAMES: Nanos = Nanos::from_secs(5);

/// How a throughput is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchKind {
    /// MLRsearch (RFC 9971): all goals of one trial length at once. One that a single long trial
    /// decides, and that shares its length with no other, is halved all the same.
    Mlr,
    /// Halving the interval, one goal after another.
    Binary,
}

/// What is searched for, and how.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Terms {
    pub(super) names: Vec<GoalName>,
    pub(super) kind: SearchKind,
    pub(super) rules: SearchRules,
    pub(super) profile: Profile,
    /// Of the trials on the way, and at the end.
    pub(super) duration: Nanos,
    pub(super) final_duration: Nanos,
    pub(super) precision: f64,
    /// Threads of a sender that share its load.
    pub(super) threads: u16,
}

impl Terms {
    /// With the study's durations: those of goals with long trials are the study's, the short ones'
    /// no longer than its trials on the way.
    pub(super) fn goals(&self) -> Vec<Goal> {
        let of = |name: GoalName| {
            let named = match self.profile {
                Profile::Quick => Goal::quick(name),
                Profile::Strict => Goal::strict(name),
            };
            let trials = named.duration_sum.0 / named.final_duration.0.max(1);
            let (initial_duration, final_duration) = match name {
                GoalName::Rfc2544 | GoalName::Tst009 => (self.duration, self.final_duration),
                GoalName::Ndr | GoalName::Pdr => {
                    let short = named.final_duration.min(self.duration);
                    (short, short)
                }
            };
            Goal {
                width: self.precision,
                tester_width: self.rules.tester_width(self.precision),
                initial_duration,
                final_duration,
                duration_sum: final_duration * trials,
                ..named
            }
        };
        self.names.iter().copied().map(of).collect()
    }

    /// The goals that are searched together.
    pub(super) fn rounds(&self) -> Vec<Vec<Goal>> {
        match self.kind {
            SearchKind::Mlr => vec![self.goals()],
            SearchKind::Binary => self.goals().into_iter().map(|goal| vec![goal]).collect(),
        }
    }

    /// The search for goals that are searched together.
    pub(super) fn search(&self, goals: &[Goal], range: LoadRange) -> Box<dyn Search> {
        match (self.kind, goals) {
            (SearchKind::Binary, [goal]) => Box::new(BinarySearch::new(*goal, range)),
            _ => begin(goals, range),
        }
    }

    /// `binary` or `mlr`: a goal that one long trial decides, and that shares its trials with no
    /// other, is halved for whatever is asked, because shorter trials can't replace that one.
    pub(super) fn search_name(&self, goal: &Goal, together: &[Goal]) -> &'static str {
        let alike = together.iter().filter(|other| other.final_duration == goal.final_duration);
        let lone = goal.one_pass_decides() && alike.count() == 1;
        if self.kind == SearchKind::Binary || lone { "binary" } else { "mlr" }
    }

    const fn common(&self) -> bool {
        !matches!(self.rules, SearchRules::OfPatterns)
    }

    /// A loss ratio is seen only in trials of enough frames, and a rate in a few; within bounds,
    /// and never shorter than asked.
    fn long_enough(&self, Attempt { rate, duration }: Attempt, loss_ratio: f64) -> Nanos {
        if !self.common() {
            return duration;
        }
        let frames = if loss_ratio > 0.0 { LOST_AT_THE_GOAL / loss_ratio } else { FEW_FRAMES };
        let most = self.final_duration.max(LONGEST_FOR_ITS_FRAMES);
        duration.max(Nanos::from_secs_f64(frames / rate.0).min(most))
    }
}

/// A load to offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    pub(super) purpose: Purpose,
    /// Of each sending port.
    pub(super) schedule: Schedule,
    pub(super) duration: Nanos,
    /// How often it was offered before, for the same purpose.
    pub(super) before: u32,
}

/// What a load is offered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// What the tester offers in even gaps.
    Pacing,
    /// The search itself.
    Search,
    /// Another length of a saturated path's trial.
    Saturation,
}

/// Offers a load on the path that is searched: some ports that send to others, frames of one kind.
pub(super) type Offering<'a> = dyn FnMut(Load) -> Result<Tried> + 'a;

/// A path's searches, over.
#[derive(Debug, Clone, Default)]
pub(super) struct Searched {
    results: Vec<GoalResult>,
    /// Loads, as asked, at which PAUSE frames held a sender back.
    held_back: Vec<f64>,
    /// How often each load was offered for so long.
    asked: BTreeMap<(u64, Nanos), u32>,
    /// Every valid trial.
    pub(super) deliveries: Deliveries,
    /// Loads without loss: their rate as it was, the trial's length, and how even they were.
    paced: Vec<(f64, Nanos, Pacing)>,
    /// What came of the trial with the highest forwarding rate.
    pub(super) highest: Option<Count>,
    /// Its trials, and whether some were tried again.
    noted: Noted,
    /// A trial failed for no limit of the tester's, and no more was asked.
    pub(super) broken: bool,
}

impl Searched {
    /// Of a search that was carried out elsewhere.
    pub(super) fn of(results: Vec<GoalResult>, deliveries: Deliveries) -> Self {
        Self { results, deliveries, ..Self::default() }
    }

    /// Takes in a trial of the search that counts, asked for at `rate`.
    fn count(&mut self, tried: &Tried, delivery: Delivery, rate: FrameRate, terms: &Terms) {
        let count = Count::of(tried.measured());
        if self.highest.is_none_or(|highest| count.received > highest.received) {
            self.highest = Some(count);
        }
        if let (0, Some(flow)) = (delivery.lost, tried.measured().next()) {
            // Gaps are those of each thread.
            let each = FrameRate(rate.0 / f64::from(terms.threads));
            let pacing = Pacing::of(flow, each);
            self.paced.push((delivery.offered, tried.trial.phases.load, pacing));
        }
        self.deliveries.push(delivery);
    }

    /// The highest load that passed was offered for long. Where a bucket had let it pass, it is one
    /// that does not.
    fn did_not_last(&mut self, long: &Delivery, terms: &Terms) {
        let Some(rate) = self.deliveries.rate_of_bucket() else { return };
        if rate >= long.offered * (1.0 - PACING_MARGIN) {
            return;
        }
        let failure = Failure { rate: FrameRate(long.offered), by: FailedBy::Loss };
        for goal in terms.goals() {
            let fails = long.short_ratio() > goal.loss_ratio;
            let result = self.results.iter_mut().find(|result| result.goal == goal.name);
            if let Some(result) = result.filter(|_| fails) {
                result.relevant_upper = Some(failure);
            }
        }
    }

    /// How even the longest of the loads nearest to `rate` was.
    pub(super) fn pacing_at(&self, rate: f64) -> Option<&Pacing> {
        let best = self.paced.iter().min_by(|a, b| {
            let off = |x: f64| (x / rate - 1.0).abs();
            off(a.0).total_cmp(&off(b.0)).then(b.1.cmp(&a.1))
        });
        best.map(|(_, _, pacing)| pacing)
    }

    pub(super) fn result(&self, goal: GoalName) -> Option<&GoalResult> {
        self.results.iter().find(|result| result.goal == goal)
    }

    /// What may be published of it.
    pub(super) fn bracket(&self, goal: &Goal) -> Bracket {
        let of = |result| self.deliveries.bracket(result, goal);
        self.result(goal.name).map(of).unwrap_or_default()
    }

    /// Frames a second that each sending port gets through; `None` where no load passed, or none is
    /// the limit.
    pub(super) fn value(&self, goal: &Goal) -> Option<f64> {
        let bracket = self.bracket(goal);
        bracket.low.filter(|_| bracket.loss.is_none())
    }

    /// What a goal's row says beside its verdict; frames are of so many octets.
    pub(super) fn describe(&self, goal: &Goal, octets: f64, row: &mut Row) {
        let bracket = self.bracket(goal);
        let result = self.result(goal.name);
        row.n = result.map_or(0, |result| result.trials.into());
        row.caveats.extend(match result {
            Some(result) => bracket.doubts(result),
            None => vec![Caveat::NoValidTrial],
        });
        row.note(&self.noted);
        let mut add = |key: Key, value| row.conditions.insert(key, value);
        if let Some(frames) = bracket.buffered {
            add(Key::BufferedBytes, (frames * octets).into());
        }
        add(Key::Goal, goal.name.as_str().into());
        add(Key::Interval, page::BRACKET.into());
        add(Key::FinalDuration, goal.final_duration.0.into());
    }

    /// The load at the lower bound as it really was, of so many senders together; the interval is
    /// the search's bracket, which has no confidence. A load that only the tester could not offer
    /// bounds nobody from above; without a load that passed there is an upper end, and no value:
    /// nothing was tried below.
    pub(super) fn figure(&self, goal: &Goal, senders: f64, row: &Row) -> Figure {
        let bracket = self.bracket(goal);
        let value = self.value(goal);
        let bounded = bracket.loss.is_none() && self.driven(goal.name) != Driven::No;
        let of_all = |rate: Option<f64>| rate.map(|rate| rate * senders);
        let mut figure = row.single(Metric::Throughput, Unit::FramesPerSecond, of_all(value));
        figure.low = of_all(bracket.surely().filter(|_| value.is_some()));
        figure.high = of_all(bracket.high.filter(|_| bounded));
        figure
    }

    /// What gave way at the load above the value. A search that ended at its ceiling or at what the
    /// tester can do never drove the path to its limit.
    pub(super) fn driven(&self, goal: GoalName) -> Driven {
        let failed = self.result(goal).and_then(|result| result.relevant_upper);
        match failed {
            Some(failure) if failure.by == FailedBy::Loss => Driven::Lost,
            Some(failure) if self.held_back.contains(&failure.rate.0) => Driven::HeldBack,
            _ => Driven::No,
        }
    }

    /// What a verdict rests on, beside what the bypass is known to carry; a limit that is none
    /// leaves nothing. `link` is what the media carry of a sending port's load.
    pub(super) fn evidence(
        &self,
        goal: &Goal,
        bypass: Option<verdict::Bracket>,
        link: Option<FrameRate>,
    ) -> Evidence<'static> {
        let own = self.bracket(goal);
        if own.loss.is_some() {
            return Evidence::Nothing;
        }
        let driven = self.driven(goal.name);
        let high = own.high.filter(|_| driven != Driven::No);
        let device = verdict::Bracket { low: own.low, high };
        let rates = Rates::Brackets { device, bypass };
        let link = link.map(|link| link.0);
        Evidence::Rate(RateEvidence { link, ..RateEvidence::of(rates, driven) })
    }

    /// As the bypass beside a device: its `high` may be the tester's, for here both are its own.
    pub(super) fn beside(&self, goal: &Goal) -> Option<verdict::Bracket> {
        let own = self.bracket(goal);
        let bracket = verdict::Bracket { low: own.low, high: own.high };
        (own.loss.is_none() && self.result(goal.name).is_some()).then_some(bracket)
    }

    /// The highest value that the path was driven to.
    pub(super) fn highest_driven(&self, goals: &[Goal]) -> Option<f64> {
        let driven = goals.iter().filter(|goal| self.driven(goal.name) != Driven::No);
        driven.filter_map(|goal| self.value(goal)).max_by(f64::total_cmp)
    }
}

/// How far a path is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// What the link carries, or enough for a verdict, frames a second.
    pub(super) ceiling: f64,
    /// Whether a device is in it. Then the highest load that passes has to pass for long, too: it
    /// may be a token bucket's doing, and a cable has none. And the tester's limit is looked for no
    /// closer than it bounds: over a cable it is what devices are held against.
    pub(super) device: bool,
}

/// Searches a path for the terms' goals, up to the most that the tester offers in even gaps.
pub(super) fn search(
    offer: &mut Offering<'_>,
    mut floods: Floods,
    terms: &Terms,
    reach: Reach,
) -> Result<Searched> {
    let mut searched = Searched::default();
    let Some(most) = floods.most() else {
        searched.broken = true;
        return Ok(searched);
    };
    let mut max = FrameRate(most.0.min(reach.ceiling));
    // Nothing is learnt from a paced trial there that the flood has not told.
    let overload = floods.overload.filter(|_| max.0 >= most.0);
    let overloaded = floods.overload.is_some();
    searched.deliveries.extend(std::mem::take(&mut floods.limited));
    let buckets = terms.rules == SearchRules::Buckets;
    if buckets {
        searched.deliveries.extend(std::mem::take(&mut floods.others));
    }
    if terms.common()
        && let Some(duration) = searched.deliveries.another_flood()
    {
        floods.take(&offer(saturation(Schedule::Greedy, duration))?, terms.precision);
        searched.deliveries.extend(std::mem::take(&mut floods.limited));
    }
    if overload.is_none() && (terms.common() || !overloaded) {
        max = most_paced(offer, terms, max)?;
    }
    let range = LoadRange::below(max, terms.final_duration);
    for mut goals in terms.rounds() {
        for goal in goals.iter_mut().filter(|_| !reach.device) {
            goal.tester_width = goal.width;
        }
        let mut search = terms.search(&goals, range);
        for seen in overload.into_iter().cycle().take(WARM_UP_AND_FIRST) {
            match search.next() {
                Step::Try(attempt) if attempt.rate.0 >= range.max.0 => search.learn(seen),
                Step::Try(_) | Step::Done(_) => break,
            }
        }
        let strictest = goals.iter().map(|goal| goal.loss_ratio).fold(1.0, f64::min);
        let attempt = |attempt| attempt_load(offer, terms, (attempt, strictest), &mut searched);
        let Some(results) = carry_out(search.as_mut(), attempt)? else {
            searched.broken = true;
            return Ok(searched);
        };
        searched.results.extend(results);
    }
    let duration = lasting(terms.duration);
    let brief = searched.deliveries.passed_briefly(duration).filter(|_| buckets && reach.device);
    let lasting = match brief {
        Some(rate) => {
            let tried = offer(saturation(Schedule::Paced(FrameRate(rate)), duration))?;
            delivery(&tried, duration, terms)
        }
        None => None,
    };
    searched.deliveries.extend(lasting.into_iter().collect());
    tell_rate_from_bucket(offer, floods, terms, &mut searched)?;
    if let Some(lasting) = lasting {
        searched.did_not_last(&lasting, terms);
    }
    Ok(searched)
}

const fn saturation(schedule: Schedule, duration: Nanos) -> Load {
    Load { purpose: Purpose::Saturation, schedule, duration, before: 0 }
}

/// The most that the senders offer in even gaps, up to `wanted`: a flood is no measure of that (RFC
/// 9971 §4.6.2 asks for a load that the tester can offer).
fn most_paced(offer: &mut Offering<'_>, terms: &Terms, wanted: FrameRate) -> Result<FrameRate> {
    let schedule = Schedule::Paced(wanted);
    let load = Load { purpose: Purpose::Pacing, schedule, duration: terms.duration, before: 0 };
    let tried = offer(load)?;
    let most = FrameRate(slowest_sender(&tried).0 * (1.0 - PACING_MARGIN));
    let short = tried.only_short_of_load() && most.0 > 0.0 && most.0 < wanted.0;
    Ok(if short { most } else { wanted })
}

/// Where trials of one length alone saturated the path, one of another length. Where a busy tester
/// spoils that one, a flood, which is valid however late its frames are.
fn tell_rate_from_bucket(
    offer: &mut Offering<'_>,
    mut floods: Floods,
    terms: &Terms,
    searched: &mut Searched,
) -> Result<()> {
    let Some((rate, duration)) = searched.deliveries.another_length() else { return Ok(()) };
    let rate = FrameRate(rate.min(floods.most().map_or(rate, |most| most.0)));
    if !terms.common() {
        return attempt_load(offer, terms, (Attempt { rate, duration }, 0.0), searched).map(drop);
    }
    // At the tester's highest rate a paced load is hardest to keep.
    let most =
        terms.rules == SearchRules::Buckets && floods.most().is_some_and(|most| rate.0 >= most.0);
    let schedule = if most { Schedule::Greedy } else { Schedule::Paced(rate) };
    let tried = offer(saturation(schedule, duration))?;
    let told = delivery(&tried, duration, terms);
    if told.is_none() && terms.rules == SearchRules::Buckets && schedule != Schedule::Greedy {
        floods.take(&offer(saturation(Schedule::Greedy, duration))?, terms.precision);
        searched.deliveries.extend(std::mem::take(&mut floods.limited));
    }
    searched.deliveries.extend(told.into_iter().collect());
    Ok(())
}

/// One trial, or two where only a backlog speaks against the load; `None` where it failed for no
/// limit of the tester's.
fn attempt_load(
    offer: &mut Offering<'_>,
    terms: &Terms,
    (attempt, loss_ratio): (Attempt, f64),
    searched: &mut Searched,
) -> Result<Option<search::Seen>> {
    let rate = attempt.rate;
    let duration = terms.long_enough(attempt, loss_ratio);
    let mut queued = false;
    loop {
        let times = searched.asked.entry((rate.0.to_bits(), duration)).or_default();
        let (schedule, before) = (Schedule::Paced(rate), *times);
        *times += 1;
        let tried = offer(Load { purpose: Purpose::Search, schedule, duration, before })?;
        searched.noted.hear(&tried);
        if let Some(delivery) = delivery(&tried, duration, terms) {
            if delivery.only_queued() && !queued {
                queued = true;
                continue;
            }
            searched.count(&tried, delivery, rate, terms);
            return Ok(Some(delivery.seen()));
        }
        if !tried.beyond_tester() {
            return Ok(None);
        }
        if paused(&tried) {
            searched.held_back.push(rate.0);
        }
        let lossless = lossless_load(&tried);
        // A search takes it as it was, or as no more than was asked.
        for load in lossless.into_iter().flat_map(|load| [load, FrameRate(load.0.min(rate.0))]) {
            searched.deliveries.push_carried(load, duration);
        }
        return Ok(Some(search::Seen::BeyondTester { lossless }));
    }
}

fn delivery(tried: &Tried, duration: Nanos, terms: &Terms) -> Option<Delivery> {
    let flows = seen(tried)?;
    Some(Delivery::of(&flows, (slowest_sender(tried), duration), terms.precision))
}
