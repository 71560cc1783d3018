//! What a pattern of traffic passes: throughput without loss, the forwarding rate at the maximum
//! offered load, and the highest forwarding rate of all loads (RFC 2889 §5.1 to §5.4).
//!
//! Owns a pattern's flows, through the device and over its hosts' cables, and the figures. All
//! ports send alike: a load is a rate of each sending port. What is searched, and what is called a
//! throughput, is the same for every pattern (`rate::throughput`).

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::{Count, flooded};
use super::super::sustained::Delivery;
use super::super::throughput::{
    BYPASS_HEADROOM, Floods, Load, Path, SearchKind, SearchRules, Searched, Terms, search,
};
use super::rig::{Offer, PortSet, Rig, Stream};
use super::{Pattern, SwitchTest, SwitchingSpec};
use crate::search::{Goal, GoalName};
use crate::study::rows::Row;
use crate::study::session::Tried;
use crate::verdict::{self, Driven};
use page::{Caveat, Figure, Metric, Unit};
use trial::TestbedError;
use trial::topology::Pair;
use trial::{Destination, Gate, Schedule};

impl From<&SwitchingSpec> for Terms {
    /// RFC 2544's throughput.
    fn from(spec: &SwitchingSpec) -> Self {
        Self {
            names: vec![GoalName::Rfc2544],
            kind: SearchKind::Binary,
            rules: spec.rules,
            profile: spec.profile,
            duration: spec.duration,
            final_duration: spec.final_duration,
            precision: spec.precision,
        }
    }
}

/// A pattern among a device's ports, with frames of one size.
#[derive(Debug, Clone, Copy)]
struct Case<'b> {
    board: &'b PortSet,
    test: SwitchTest,
    pattern: Pattern,
    size: FrameSize,
}

impl Case<'_> {
    /// How many ports send, and to how many each.
    fn senders(&self) -> (usize, usize) {
        self.pattern.senders(self.board.ports.len())
    }

    /// What a receiver's port gets where every sender sends at its port's rate, at least 1.
    fn overload(&self) -> f64 {
        self.pattern.overload(self.board.ports.len()).max(1.0)
    }

    /// What the media carry of the pattern, frames a second of all senders.
    fn media(&self, rig: &Rig<'_, '_>) -> Option<f64> {
        let (senders, _) = self.senders();
        rig.line_rate(self.size).map(|line| line.0 * senders as f64 / self.overload())
    }
}

/// What floods of a case told, and the trial with the highest forwarding rate.
#[derive(Debug, Clone, Default)]
struct Flooded {
    floods: Floods,
    /// At the maximum offered load, and the frames that went astray there.
    mol: Option<(Count, u64)>,
    highest: Option<Count>,
}

/// A case under search: through the device, or each sender over its own cable.
struct CasePath<'r, 's, 't, 'b> {
    rig: &'r mut Rig<'s, 't>,
    case: Case<'b>,
    /// None through the device.
    cables: Option<Vec<Pair>>,
    flooded: Option<Flooded>,
}

impl CasePath<'_, '_, '_, '_> {
    fn send(&mut self, load: Option<FrameRate>, duration: Nanos) -> Result<Tried, TestbedError> {
        let Case { board, test, pattern, size } = self.case;
        let load_name = match load {
            Some(rate) => format!("{:.0}/s a port", rate.0),
            None => "flood".to_owned(),
        };
        let label = format!("{} {size} {load_name}", test.as_str());
        let gate = if load.is_some() { Gate::Strict } else { Gate::Flood };
        if let Some(ends) = &self.cables {
            let schedule = load.map_or(Schedule::Greedy, Schedule::Paced);
            let kind = self.rig.frames(size, schedule, Destination::Receiver);
            let label = format!("cables {label}");
            return self.rig.offer_on_cables(board, label, (ends, &kind), (duration, gate));
        }
        let streams = streams(self.rig, (pattern, board.ports.len()), size, load);
        self.rig.offer(board, Offer { label, streams, duration, gate })
    }
}

impl Path for CasePath<'_, '_, '_, '_> {
    fn floods(&mut self) -> Result<Floods, TestbedError> {
        if let Some(flooded) = &self.flooded {
            return Ok(flooded.floods.clone());
        }
        let tried = self.send(None, self.rig.spec.duration)?;
        let mut found = Flooded::default();
        if tried.valid().is_some() {
            let count = Count::of(tried.measured());
            found.mol = Some((count, flooded(&tried.record)));
            found.highest = Some(count);
            found.floods.take(&tried, self.rig.spec.precision);
            if self.rig.spec.rules == SearchRules::OfPatterns {
                let (senders, _) = self.case.senders();
                found.floods = found.floods.of_patterns(count.offered / senders as f64);
            }
        }
        Ok(self.flooded.insert(found).floods.clone())
    }

    fn offer(&mut self, load: Load) -> Result<Tried, TestbedError> {
        let rate = if let Schedule::Paced(rate) = load.schedule { Some(rate) } else { None };
        self.send(rate, load.duration)
    }

    fn counted(&mut self, _: &Load, tried: &Tried, _: &Delivery) {
        let count = Count::of(tried.measured());
        let highest = &mut self.flooded.get_or_insert_default().highest;
        if highest.is_none_or(|highest| count.received > highest.received) {
            *highest = Some(count);
        }
    }
}

/// Every size.
pub(super) fn run(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    (test, pattern): (SwitchTest, Pattern),
) -> Result<Vec<Figure>, TestbedError> {
    let terms = Terms::from(rig.spec);
    let [goal] = terms.goals()[..] else { return Ok(Vec::new()) };
    let mut figures = Vec::new();
    for size in rig.spec.frames.clone() {
        let case = Case { board, test, pattern, size };
        // More than a receiver's port carries is not worth a trial.
        let line = rig.line_rate(size).map_or(f64::INFINITY, |line| line.0 / case.overload());
        let (own, flooded) = search_case(rig, case, (&terms, line), None)?;
        let bypass = bypass(rig, case, (&terms, &goal), &own)?;
        figures.extend(tell(rig, case, (&goal, &own), (bypass, &flooded)));
    }
    Ok(figures)
}

/// The pattern's flows, each sender at `rate` shared out evenly; greedy without one.
pub(super) fn streams(
    rig: &Rig<'_, '_>,
    (pattern, ports): (Pattern, usize),
    size: FrameSize,
    rate: Option<FrameRate>,
) -> Vec<Stream> {
    let (_, each) = pattern.senders(ports);
    let schedule =
        rate.map_or(Schedule::Greedy, |rate| Schedule::Paced(FrameRate(rate.0 / each as f64)));
    pattern.streams(ports).into_iter().map(|ends| rig.stream(ends, size, schedule)).collect()
}

fn search_case(
    rig: &mut Rig<'_, '_>,
    case: Case<'_>,
    (terms, ceiling): (&Terms, f64),
    cables: Option<Vec<Pair>>,
) -> Result<(Searched, Flooded), TestbedError> {
    let mut path = CasePath { rig, case, cables, flooded: None };
    let searched = search(&mut path, terms, ceiling)?;
    Ok((searched, path.flooded.unwrap_or_default()))
}

/// What the senders get through without the device, each over its cable: by the same search, where
/// the device's limit was reached and asks for it.
fn bypass(
    rig: &mut Rig<'_, '_>,
    case: Case<'_>,
    (terms, goal): (&Terms, &Goal),
    own: &Searched,
) -> Result<Option<verdict::Bracket>, TestbedError> {
    if terms.rules == SearchRules::OfPatterns {
        return Ok(rig.flood_of_cables(case.board, case.size));
    }
    let Some(driven) = own.highest_driven(&[*goal]) else { return Ok(None) };
    let ends = rig.cables_of_senders(case.board, case.pattern);
    if ends.is_empty() {
        return Ok(None);
    }
    let line = rig.line_rate(case.size).map_or(f64::INFINITY, |line| line.0);
    let enough = line.min(driven * BYPASS_HEADROOM);
    let (cables, _) = search_case(rig, case, (terms, enough), Some(ends))?;
    Ok(cables.beside(goal))
}

fn tell(
    rig: &Rig<'_, '_>,
    case: Case<'_>,
    (goal, own): (&Goal, &Searched),
    (bypass, flooded): (Option<verdict::Bracket>, &Flooded),
) -> Vec<Figure> {
    let Case { board, test, size, .. } = case;
    let (senders, _) = case.senders();
    let (all, media) = (senders as f64, case.media(rig));
    let mut row = rig.row(board, test, Some(size));
    row.conditions.insert("senders".to_owned(), (senders as u64).into());
    if let Some(media) = media {
        row.conditions.insert("pattern_frames_per_s".to_owned(), media.into());
    }
    if own.broken {
        row.caveats.insert(Caveat::NoValidTrial);
    }
    let mut found = row.clone();
    own.describe(goal, f64::from(size.octets()), &mut found);
    let of_each = media.map(|media| FrameRate(media / all));
    found.verdict = rig.judge(board, &own.evidence(goal, bypass, of_each));
    let mut figures = vec![own.figure(goal, all, &found)];
    let mol = flooded.mol.map(|(count, _)| count);
    figures.extend(rates(rig, case, &row, ("frmol", mol)));
    figures.extend(rates(rig, case, &row, ("mfr", flooded.highest)));
    let astray = flooded.mol.map(|(_, frames)| frames as f64);
    row.verdict = rig.verdict(board, size, (verdict::Bracket::exactly(None), Driven::No), None);
    figures.push(row.single(Metric::Flooded, Unit::Count, astray));
    figures
}

/// Offered load, forwarding rate and loss of one trial.
fn rates(
    rig: &Rig<'_, '_>,
    case: Case<'_>,
    row: &Row,
    (name, count): (&str, Option<Count>),
) -> Vec<Figure> {
    let (senders, _) = case.senders();
    let mut row = row.clone();
    row.conditions.insert("rate".to_owned(), name.into());
    row.n = count.map_or(0, |count| count.sent);
    let driven = Driven::if_lost(count.is_some_and(|count| count.lost > 0));
    let each = verdict::Bracket::exactly(count.map(|count| count.received / senders as f64));
    row.verdict = rig.verdict(case.board, case.size, (each, driven), None);
    let of = |value: fn(&Count) -> f64| count.as_ref().map(value);
    vec![
        row.single(Metric::Offered, Unit::FramesPerSecond, of(|count| count.offered)),
        row.single(Metric::Received, Unit::FramesPerSecond, of(|count| count.received)),
        row.single(Metric::LossRatio, Unit::Ratio, of(Count::loss_ratio)),
    ]
}
