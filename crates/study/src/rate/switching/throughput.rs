//! Results of a traffic pattern: throughput without loss, the forwarding rate at the maximum
//! offered load, and the highest forwarding rate of all loads (RFC 2889 §5.1 to §5.4).
//!
//! Owns a pattern's flows, through the device and over its hosts' cables, and the figures. All
//! ports send alike: a load is a rate of each sending port. The search itself and the definition of
//! throughput are the same for every pattern (`rate::throughput`).

use measure::{FrameRate, FrameSize};

use super::super::counts::{Count, flooded};
use super::super::throughput::{
    BYPASS_HEADROOM, Floods, Load, Purpose, Reach, SearchKind, Searched, Terms, search,
};
use super::finding::{PatternCase, Rates};
use super::rig::{Offer, Rig};
use super::{Pattern, SearchRules, SwitchTest, SwitchingSpec};
use crate::rate::ask_as_search;
use crate::search::{Goal, GoalName};
use crate::verdict::{self, Driven};
use crate::{Row, Tried};
use page::{Caveat, Key, Metric, Unit};
use trial::topology::Pair;
use trial::{Flow, Gate, Result, Schedule};

impl From<&SwitchingSpec> for Terms {
    /// Terms of RFC 2544's throughput.
    fn from(spec: &SwitchingSpec) -> Self {
        Self {
            names: vec![GoalName::Rfc2544],
            kind: SearchKind::Binary,
            rules: spec.rules,
            profile: spec.profile,
            duration: spec.duration,
            final_duration: spec.final_duration,
            precision: spec.precision.get(),
            threads: 1,
        }
    }
}

/// Pattern among a device's ports, with frames of one size.
#[derive(Debug, Clone, Copy)]
struct Case {
    test: SwitchTest,
    pattern: Pattern,
    size: FrameSize,
    /// Number of sending ports.
    senders: usize,
    /// Load of a receiving port while every sender sends at its port's rate, in ports' rates; at
    /// least 1.
    overload: f64,
}

/// Completed search of a case.
struct Found {
    searched: Searched,
    /// Counts at the maximum offered load, and the frames flooded to other hosts there.
    mol: Option<(Count, u64)>,
    /// Counts of the trial with the highest forwarding rate.
    highest: Option<Count>,
}

/// Runs the test for every size.
pub(super) fn run(
    rig: &mut Rig<'_, '_>,
    test: SwitchTest,
    pattern: Pattern,
) -> Result<Vec<PatternCase>> {
    let terms = Terms::from(rig.spec);
    let [goal] = terms.goals()[..] else { return Ok(Vec::new()) };
    let (senders, _) = pattern.senders(rig.ports.len());
    let overload = pattern.overload(rig.ports.len()).max(1.0);
    let mut cases = Vec::new();
    for size in rig.spec.frames.clone() {
        let case = Case { test, pattern, size, senders, overload };
        // A load above the receiving port's line rate needs no trial.
        let line = rig.slowest_line(size).map_or(f64::INFINITY, |line| line.0 / overload);
        let own = search_case(rig, case, &terms, line, None)?;
        let bypass = bypass(rig, case, &terms, &goal, &own.searched)?;
        cases.push(found_case(rig, case, &goal, &own, bypass));
    }
    Ok(cases)
}

/// Load of each of a pattern's flows, with each sender's `rate` divided evenly.
pub(super) fn share(rig: &Rig<'_, '_>, pattern: Pattern, rate: FrameRate) -> Schedule {
    let (_, each) = pattern.senders(rig.ports.len());
    Schedule::Paced(FrameRate(rate.0 / each as f64))
}

/// Searches through the device, or with each sender over its own cable.
fn search_case(
    rig: &mut Rig<'_, '_>,
    case: Case,
    terms: &Terms,
    ceiling: f64,
    cables: Option<&[Pair]>,
) -> Result<Found> {
    let mut offer = |load: Load| {
        let is_search = load.purpose == Purpose::Search;
        ask_as_search(rig, is_search, |rig| send(rig, case, cables, load))
    };
    let schedule = Schedule::Greedy;
    let (purpose, duration) = (Purpose::Saturation, terms.duration);
    let tried = offer(Load { purpose, schedule, duration, before: 0 })?;
    let (mut floods, mut mol) = (Floods::default(), None);
    if tried.valid().is_some() {
        let count = Count::from_flows(tried.measured());
        mol = Some((count, flooded(&tried.record)));
        floods.take(&tried, terms.precision);
        if terms.rules == SearchRules::OfPatterns {
            floods = floods.of_patterns(count.offered / case.senders as f64);
        }
    }
    let reach = Reach { ceiling, device: cables.is_none() };
    let searched = search(&mut offer, floods, terms, reach)?;
    let counts = mol.map(|(count, _)| count).into_iter().chain(searched.highest);
    let highest = counts.reduce(|a, b| if b.received > a.received { b } else { a });
    Ok(Found { searched, mol, highest })
}

fn send(rig: &mut Rig<'_, '_>, case: Case, cables: Option<&[Pair]>, load: Load) -> Result<Tried> {
    let Case { test, pattern, size, .. } = case;
    let (rate, name, gate) = match load.schedule {
        Schedule::Paced(rate) => (Some(rate), format!("{:.0}/s a port", rate.0), Gate::Strict),
        _ => (None, "flood".to_owned(), Gate::Flood),
    };
    let label = format!("{} {size} {name}", test.as_str());
    let duration = load.duration;
    if let Some(ends) = cables {
        let kind = rig.counted_frames(size, load.schedule);
        let (label, flows) = (format!("cables {label}"), Flow::each_measured(ends, &kind));
        return rig.offer_on_cables(Offer { label, flows, duration, gate });
    }
    let schedule = rate.map_or(Schedule::Greedy, |rate| share(rig, pattern, rate));
    let flows = Flow::each_measured(&rig.pairs(pattern), &rig.counted_frames(size, schedule));
    rig.offer(Offer { label, flows, duration, gate })
}

/// Measures the senders without the device, over their cables, by the same search. `None` unless
/// the device's limit was reached.
fn bypass(
    rig: &mut Rig<'_, '_>,
    case: Case,
    terms: &Terms,
    goal: &Goal,
    own: &Searched,
) -> Result<Option<verdict::Bracket>> {
    if terms.rules == SearchRules::OfPatterns {
        return Ok(rig.flood_of_cables(case.size));
    }
    let Some(driven) = own.highest_driven(&[*goal]) else { return Ok(None) };
    let ends = rig.cables_of_senders(case.pattern);
    if ends.is_empty() {
        return Ok(None);
    }
    let line = rig.slowest_line(case.size).map_or(f64::INFINITY, |line| line.0);
    let enough = line.min(driven * BYPASS_HEADROOM);
    let cables = search_case(rig, case, terms, enough, Some(&ends))?;
    Ok(cables.searched.bypass_bracket(goal))
}

/// Values of a case.
fn found_case(
    rig: &Rig<'_, '_>,
    case: Case,
    goal: &Goal,
    Found { searched: own, mol, highest }: &Found,
    bypass: Option<verdict::Bracket>,
) -> PatternCase {
    let Case { test, size, senders, overload, .. } = case;
    let all = senders as f64;
    let media = rig.line_rate(size).map(|line| line.0 * all / overload);
    let mut row = rig.row(test, Some(size));
    row.set(Key::Senders, senders as u64);
    if let Some(media) = media {
        row.set(Key::PatternRate, media);
    }
    if own.broken {
        row.caveats.insert(Caveat::NoValidTrial);
    }
    let mut found = row.clone();
    own.describe(goal, f64::from(size.octets()), &mut found);
    let of_each = media.map(|media| FrameRate(media / all));
    found.verdict = rig.judge(&own.evidence(goal, bypass, of_each));
    let bucket = own.deliveries.notable_bucket();
    row.caveats.extend(bucket.map(|_| Caveat::Buffered));
    let steady = |count: Count| count.without_bucket(bucket.unwrap_or(0.0) * all);
    let at_max_load = rates(rig, case, &row, "frmol", mol.map(|(count, _)| steady(count)));
    let highest = rates(rig, case, &row, "mfr", highest.map(steady));
    let astray = mol.map(|(_, frames)| frames as f64);
    row.verdict = rig.verdict(size, None, Driven::No);
    PatternCase {
        size,
        throughput: own.figure(goal, all, &found),
        at_max_load,
        highest,
        flooded: row.single(Metric::Flooded, Unit::Count, astray),
    }
}

/// Rates of one trial, under their name in rows.
fn rates(rig: &Rig<'_, '_>, case: Case, row: &Row, name: &str, count: Option<Count>) -> Rates {
    let mut row = row.clone();
    row.set(Key::RateName, name);
    row.n = count.map_or(0, |count| count.sent);
    let driven = Driven::if_lost(count.is_some_and(|count| count.lost > 0));
    let each = count.map(|count| count.received / case.senders as f64);
    row.verdict = rig.verdict(case.size, each, driven);
    Rates::new(count, &row)
}
