//! Throughput: the highest load that a path sustains (RFC 1242 §3.17, RFC 2544 §26.1, RFC 9971),
//! found by a search for any traffic pattern. A load is a rate of each sending port.
//!
//! Owns the offered loads, the use of floods before the first of them, and the limiting component
//! of the result. A load beyond the tester only bounds the search, and never counts as a loss. A
//! load passes only if the output rate equals the input rate: frames absorbed by a buffer are no
//! rate (`sustained`). Never builds a flow.

mod floods;

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos};
use serde::{Deserialize, Serialize};

use super::counts::{Count, lossless_load, paused, slowest_sender, valid_flows};
use super::pacing::Pacing;
use super::rules::SearchRules;
use super::sustained::{Bracket, Deliveries, Delivery, PACING_MARGIN, lasting};
use crate::search::{
    self, Attempt, BinarySearch, FEW_FRAMES, FailedBy, Failure, Goal, GoalName, GoalResult,
    LoadRange, Search, Step, begin, carry_out,
};
use crate::verdict::{self, Driven, Evidence, RateEvidence, Rates};
use crate::{Noted, Profile, Row, Tried};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::{Result, Schedule};

pub(super) use floods::Floods;

/// Factor above a device's throughput up to which its bypass is searched. The verdict only asks if
/// the tester is clearly faster without the device; its maximum is the flood's figure.
pub(super) const BYPASS_HEADROOM: f64 = 2.0;

/// Trials of a search at its highest load: MLRsearch discards the first (RFC 9971's warm-up).
const WARM_UP_AND_FIRST: usize = 2;

/// Frames lost in a trial at a goal's loss ratio, so that one more or less decides nothing.
const LOST_AT_THE_GOAL: f64 = 10.0;

/// Maximum length of a trial that is extended for its number of frames.
const LONGEST_FOR_ITS_FRAMES: Nanos = Nanos::from_secs(5);

/// Method of a throughput search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchKind {
    /// MLRsearch (RFC 9971): all goals of one trial length at once. A goal that one long trial
    /// decides, and that shares its length with no other, is bisected anyway.
    Mlr,
    /// Bisection, one goal after another.
    Binary,
}

/// Goals and method of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Terms {
    pub(super) names: Vec<GoalName>,
    pub(super) kind: SearchKind,
    pub(super) rules: SearchRules,
    pub(super) profile: Profile,
    /// Duration of the intermediate trials.
    pub(super) duration: Nanos,
    pub(super) final_duration: Nanos,
    pub(super) precision: f64,
    /// Threads of a sender that share its load.
    pub(super) threads: u16,
}

impl Terms {
    /// Goals with the study's durations. Goals with long trials take the study's; short trials are
    /// at most as long as its intermediate ones.
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

    /// Groups of goals that are searched together.
    pub(super) fn rounds(&self) -> Vec<Vec<Goal>> {
        match self.kind {
            SearchKind::Mlr => vec![self.goals()],
            SearchKind::Binary => self.goals().into_iter().map(|goal| vec![goal]).collect(),
        }
    }

    /// Creates the search for goals that are searched together.
    pub(super) fn search(&self, goals: &[Goal], range: LoadRange) -> Box<dyn Search> {
        match (self.kind, goals) {
            (SearchKind::Binary, [goal]) => Box::new(BinarySearch::new(*goal, range)),
            _ => begin(goals, range),
        }
    }

    /// Name of the search: `binary` or `mlr`. A goal that one long trial decides, and that shares
    /// its trials with no other, is always bisected, as shorter trials cannot replace that one.
    pub(super) fn search_name(&self, goal: &Goal, together: &[Goal]) -> &'static str {
        let alike = together.iter().filter(|other| other.final_duration == goal.final_duration);
        let lone = goal.one_pass_decides() && alike.count() == 1;
        if self.kind == SearchKind::Binary || lone { "binary" } else { "mlr" }
    }

    const fn common(&self) -> bool {
        !matches!(self.rules, SearchRules::OfPatterns)
    }

    /// Duration that yields enough frames for a rate or a loss ratio, within bounds; never shorter
    /// than requested.
    fn long_enough(&self, Attempt { rate, duration }: Attempt, loss_ratio: f64) -> Nanos {
        if !self.common() {
            return duration;
        }
        let frames = if loss_ratio > 0.0 { LOST_AT_THE_GOAL / loss_ratio } else { FEW_FRAMES };
        let most = self.final_duration.max(LONGEST_FOR_ITS_FRAMES);
        duration.max(Nanos::from_secs_f64(frames / rate.0).min(most))
    }
}

/// Load to offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    pub(super) purpose: Purpose,
    /// Schedule of each sending port.
    pub(super) schedule: Schedule,
    pub(super) duration: Nanos,
    /// Number of earlier offers of the same load for the same purpose.
    pub(super) before: u32,
}

/// Purpose of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Measures the load that the tester offers at even gaps.
    Pacing,
    /// Runs the search itself.
    Search,
    /// Measures a saturated path with another trial length.
    Saturation,
}

/// Callback that offers a load on the searched path, with fixed ports and frames.
pub(super) type Offering<'a> = dyn FnMut(Load) -> Result<Tried> + 'a;

/// Completed searches of a path.
#[derive(Debug, Clone, Default)]
pub(super) struct Searched {
    results: Vec<GoalResult>,
    /// Requested loads at which PAUSE frames held a sender back.
    held_back: Vec<f64>,
    /// Number of offers by load and duration.
    asked: BTreeMap<(u64, Nanos), u32>,
    /// Valid trials.
    pub(super) deliveries: Deliveries,
    /// Loads without loss: actual rate, trial length and pacing.
    paced: Vec<(f64, Nanos, Pacing)>,
    /// Counts of the trial with the highest forwarding rate.
    pub(super) highest: Option<Count>,
    /// Trials of the search, and those repeated.
    noted: Noted,
    /// True if a trial failed for another reason than the tester's limits, which ended the search.
    pub(super) broken: bool,
}

impl Searched {
    /// Creates the result of a search that ran elsewhere.
    pub(super) fn from_results(results: Vec<GoalResult>, deliveries: Deliveries) -> Self {
        Self { results, deliveries, ..Self::default() }
    }

    /// Takes in a counted trial of the search at the requested `rate`.
    fn count(&mut self, tried: &Tried, delivery: Delivery, rate: FrameRate, terms: &Terms) {
        let count = Count::from_flows(tried.measured());
        if self.highest.is_none_or(|highest| count.received > highest.received) {
            self.highest = Some(count);
        }
        if let (0, Some(flow)) = (delivery.lost, tried.measured().next()) {
            // Gaps are measured per thread.
            let each = FrameRate(rate.0 / f64::from(terms.threads));
            let pacing = Pacing::from_flow(flow, each);
            self.paced.push((delivery.offered, tried.trial.phases.load, pacing));
        }
        self.deliveries.push(delivery);
    }

    /// Takes in a long trial of the highest load that passed. If a bucket had let it pass, the load
    /// becomes a failed one.
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

    /// Pacing of the longest trial at the load nearest to `rate`.
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

    /// Bracket for publication.
    pub(super) fn bracket(&self, goal: &Goal) -> Bracket {
        let of = |result| self.deliveries.bracket(result, goal);
        self.result(goal.name).map(of).unwrap_or_default()
    }

    /// Frames a second that each sending port gets through; `None` if no load passed, or the loss
    /// does not grow with the load.
    pub(super) fn value(&self, goal: &Goal) -> Option<f64> {
        let bracket = self.bracket(goal);
        bracket.low.filter(|_| bracket.loss.is_none())
    }

    /// Writes a goal's conditions and caveats into a row, without its verdict. `octets` is the
    /// frame size.
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

    /// Figure of a goal: the actual load at the lower bound, for `senders` together. The interval
    /// is the search's bracket, which has no confidence. A load beyond the tester is no upper
    /// bound. If no load passed, there is an upper bound and no value.
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

    /// Component at its limit at the load above the value. A search that ended at its ceiling or at
    /// the tester's limit never drove the path to its own.
    pub(super) fn driven(&self, goal: GoalName) -> Driven {
        let failed = self.result(goal).and_then(|result| result.relevant_upper);
        match failed {
            Some(failure) if failure.by == FailedBy::Loss => Driven::Lost,
            Some(failure) if self.held_back.contains(&failure.rate.0) => Driven::HeldBack,
            _ => Driven::No,
        }
    }

    /// Evidence for a verdict, with the known capacity of the bypass. It is empty if the loss does
    /// not grow with the load. `link` is the medium's rate for a sending port's load.
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
        Evidence::Rate(RateEvidence { link, ..RateEvidence::new(rates, driven) })
    }

    /// Bracket of a bypass next to a device. The upper bound may be the tester's, as both belong to
    /// the tester here.
    pub(super) fn bypass_bracket(&self, goal: &Goal) -> Option<verdict::Bracket> {
        let own = self.bracket(goal);
        let bracket = verdict::Bracket { low: own.low, high: own.high };
        (own.loss.is_none() && self.result(goal.name).is_some()).then_some(bracket)
    }

    /// Highest value to which the path was driven.
    pub(super) fn highest_driven(&self, goals: &[Goal]) -> Option<f64> {
        let driven = goals.iter().filter(|goal| self.driven(goal.name) != Driven::No);
        driven.filter_map(|goal| self.value(goal)).max_by(f64::total_cmp)
    }
}

/// Extent of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Upper bound in frames a second: line rate, or enough for a verdict.
    pub(super) ceiling: f64,
    /// True if the path has a device. The highest load that passes must then pass a long trial too,
    /// because of token buckets, which a cable lacks. The tester's limit is searched with less
    /// precision, as it is only a bound; over a cable, devices are compared with it.
    pub(super) device: bool,
}

/// Searches a path for the terms' goals, up to the maximum that the tester offers at even gaps.
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
    // A paced trial there would show nothing that the flood has not.
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
        let attempt = |attempt| attempt_load(offer, terms, attempt, strictest, &mut searched);
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

/// Maximum load that the senders offer at even gaps, up to `wanted`. A flood does not measure that
/// (RFC 9971 §4.6.2 requires a load that the tester can offer).
fn most_paced(offer: &mut Offering<'_>, terms: &Terms, wanted: FrameRate) -> Result<FrameRate> {
    let schedule = Schedule::Paced(wanted);
    let load = Load { purpose: Purpose::Pacing, schedule, duration: terms.duration, before: 0 };
    let tried = offer(load)?;
    let most = FrameRate(slowest_sender(&tried).0 * (1.0 - PACING_MARGIN));
    let short = tried.only_short_of_load() && most.0 > 0.0 && most.0 < wanted.0;
    Ok(if short { most } else { wanted })
}

/// Offers a trial of another length, if all trials that saturated the path have one length. If a
/// busy tester spoils it, a flood follows, which is valid with late frames too.
fn tell_rate_from_bucket(
    offer: &mut Offering<'_>,
    mut floods: Floods,
    terms: &Terms,
    searched: &mut Searched,
) -> Result<()> {
    let Some((rate, duration)) = searched.deliveries.another_length() else { return Ok(()) };
    let rate = FrameRate(rate.min(floods.most().map_or(rate, |most| most.0)));
    if !terms.common() {
        return attempt_load(offer, terms, Attempt { rate, duration }, 0.0, searched).map(drop);
    }
    // A paced load is hardest to keep at the tester's highest rate.
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

/// Runs one trial, or two if only a backlog speaks against the load. `None` if it failed for
/// another reason than the tester's limits.
fn attempt_load(
    offer: &mut Offering<'_>,
    terms: &Terms,
    attempt: Attempt,
    loss_ratio: f64,
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
        searched.noted.observe(&tried);
        if let Some(delivery) = delivery(&tried, duration, terms) {
            if delivery.only_queued() && !queued {
                queued = true;
                continue;
            }
            searched.count(&tried, delivery, rate, terms);
            return Ok(Some(delivery.search_result()));
        }
        if !tried.beyond_tester() {
            return Ok(None);
        }
        if paused(&tried) {
            searched.held_back.push(rate.0);
        }
        let lossless = lossless_load(&tried);
        // A search uses the load as it was, or capped at the requested rate.
        for load in lossless.into_iter().flat_map(|load| [load, FrameRate(load.0.min(rate.0))]) {
            searched.deliveries.push_carried(load, duration);
        }
        return Ok(Some(search::Seen::BeyondTester { lossless }));
    }
}

fn delivery(tried: &Tried, duration: Nanos, terms: &Terms) -> Option<Delivery> {
    let flows = valid_flows(tried)?;
    Some(Delivery::from_flows(&flows, slowest_sender(tried), duration, terms.precision))
}
