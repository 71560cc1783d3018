//! Plan of an acceptance: the fewest studies that the claims need, and those that fit a budget.
//!
//! Owns which claims share a study. A study's trials are its own matter.

use measure::{FrameMix, FrameRate, FrameSize, Nanos};

use super::claim::{About, Reading, SheetClaim};
use super::decision::{Decided, Decision, Why};
use super::measurable::{Part, measurable};
use crate::depth::Congested;
use crate::fabric::Arrangement;
use crate::forwarding::Repeats;
use crate::pattern::MOST_PORTS;
use crate::search::GoalName;
use crate::switching::{PortCount, Stations};
use crate::xray::{self, Bed};
use crate::{
    Blocks, DepthSpec, Estimate, FabricSpec, FailoverSpec, ForwardingSpec, ForwardingTest,
    LatencySpec, Nodes, Precision, StudySpec, SwitchTest, SwitchingSpec,
};
use page::{Caveat, Key, Metric};
use trial::{Carrier, Protocol, Topology};

/// Repetitions of the first round: the fewest that reach a 95 % interval.
const BLOCKS: Blocks = Blocks::known(6);
/// Largest number of repetitions of the second round.
const MOST_BLOCKS: f64 = 200.0;
/// Factor by which a trial with too few samples is extended.
const LONGER: f64 = 10.0;
/// Factor by which the second round narrows a search's bracket.
const NARROWER: f64 = 8.0;
/// Narrowest bracket, as a share of its upper end.
const NARROWEST: f64 = 0.000_2;
/// Shortest simulated trial of round trips; otherwise it lasts this part of one of frames.
const SHORTEST: Nanos = Nanos::from_millis(5);
const ROUND_TRIPS_IN: u64 = 100;
/// Least number of stations tested: enough to show that a table of half the size is full.
const STATIONS: u64 = 1_024;
const MOST_STATIONS: u64 = 1 << 20;
/// Frames that a flow should lose during the claimed outage, within the limits of `FLOW_RATES`.
const FRAMES_AWAY: f64 = 20.0;
const FLOW_RATES: (f64, f64) = (1_000.0, 5_000.0);
/// Time given to a device to find another path, as a multiple of its claim.
const TIMES_AWAY: u64 = 3;
const LONGEST_AWAY: Nanos = Nanos::from_secs(300);

/// Studies to run, and the claims that they do and do not cover.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Planned {
    /// Studies in the order of the claims that need them.
    pub studies: Vec<StudySpec>,
    /// Claims that the studies cover.
    pub claims: Vec<SheetClaim>,
    /// Claims that are not measured, with the reason.
    pub left_out: Vec<Decided>,
}

/// Returns the studies that these claims need, as few as possible. Claims that need more hosts than
/// available get none.
pub fn studies(claims: &[SheetClaim], bed: Bed) -> Vec<StudySpec> {
    let mut all = Vec::new();
    for study in claims.iter().filter_map(|claim| study_of(claim, bed).ok()) {
        add(&mut all, study);
    }
    all
}

/// Plans as many of these claims as fit a budget, in order; without one, all that the hosts permit.
pub fn within(
    claims: &[SheetClaim],
    bed: Bed,
    topology: &Topology,
    budget: Option<Nanos>,
) -> Planned {
    let mut planned = Planned::default();
    let time = |studies: &[StudySpec]| {
        studies.iter().map(|one| one.estimate(topology)).sum::<Estimate>().time
    };
    for claim in claims {
        let out = |why, needs| Decided::without(claim.clone(), why, needs);
        let study = match study_of(claim, bed) {
            Ok(study) => study,
            Err(why) => {
                planned.left_out.push(out(why, None));
                continue;
            }
        };
        let mut more = planned.studies.clone();
        let alone = study.estimate(topology).time;
        add(&mut more, study);
        if budget.is_some_and(|budget| time(&more) > budget) {
            planned.left_out.push(out(Why::NoTime, Some(alone)));
        } else {
            planned.studies = more;
            planned.claims.push(claim.clone());
        }
    }
    planned
}

/// Returns the second round's study for an undecided claim, if longer measuring would decide;
/// otherwise `None`.
pub fn again(decided: &Decided, bed: Bed) -> Option<StudySpec> {
    if decided.decision != Decision::Inconclusive {
        return None;
    }
    let times = match decided.why {
        Why::Within { times } => times?,
        Why::FewRepetitions => 2.0,
        Why::Doubted(Caveat::FewSamples) => LONGER,
        _ => return None,
    };
    let mut study = study_of(&decided.claim, bed).ok()?;
    if let (Why::Doubted(_), StudySpec::Latency(spec)) = (decided.why, &mut study) {
        spec.duration = spec.duration * times as u64;
        return Some(study);
    }
    if let (Why::Doubted(_), StudySpec::Forwarding(spec)) = (decided.why, &mut study) {
        spec.latency_duration = spec.latency_duration * times as u64;
        return Some(study);
    }
    let more = |count: u32| (f64::from(count) * times).ceil().clamp(1.0, MOST_BLOCKS) as u32;
    let blocks = |blocks: Blocks| Blocks::known(more(blocks.get()));
    let repeats = |repeats: Repeats| Repeats::known(more(repeats.get()));
    let narrower =
        |precision: Precision| Precision::known((precision.get() / NARROWER).max(NARROWEST));
    match &mut study {
        StudySpec::Latency(spec) => spec.blocks = blocks(spec.blocks),
        StudySpec::Depth(spec) => spec.blocks = blocks(spec.blocks),
        StudySpec::Fabric(spec) if !spec.infer => spec.blocks = blocks(spec.blocks),
        StudySpec::Fabric(spec) => spec.duration = spec.duration * times.ceil() as u64,
        StudySpec::Forwarding(spec) => {
            spec.precision = narrower(spec.precision);
            spec.blocks = blocks(spec.blocks);
            spec.latency_repeats = repeats(spec.latency_repeats);
            spec.burst_repeats = repeats(spec.burst_repeats);
        }
        StudySpec::Switching(spec) => spec.precision = narrower(spec.precision),
        StudySpec::Failover(spec) => spec.blocks = blocks(spec.blocks),
        _ => return None,
    }
    Some(study)
}

/// Merges a study into an existing one, or adds it.
pub fn add(all: &mut Vec<StudySpec>, study: StudySpec) {
    if !all.iter_mut().any(|known| joined(known, &study)) {
        all.push(study);
    }
}

/// Extends `known` to cover `more`; false if they cannot be joined.
fn joined(known: &mut StudySpec, more: &StudySpec) -> bool {
    match (known, more) {
        (StudySpec::Forwarding(known), StudySpec::Forwarding(more))
            if known.frames == more.frames && known.precision == more.precision =>
        {
            unite(&mut known.tests, &more.tests);
            unite(&mut known.goals, &more.goals);
            true
        }
        (StudySpec::Latency(known), StudySpec::Latency(more)) if known.blocks == more.blocks => {
            unite(&mut known.sizes, &more.sizes);
            unite(&mut known.protocols, &more.protocols);
            true
        }
        (StudySpec::Switching(known), StudySpec::Switching(more))
            if known.frames == more.frames && known.precision == more.precision =>
        {
            unite(&mut known.tests, &more.tests);
            if known.stations < more.stations {
                known.stations = more.stations;
            }
            true
        }
        (StudySpec::Depth(known), StudySpec::Depth(more)) if known.blocks == more.blocks => {
            unite(&mut known.sizes, &more.sizes);
            if known.congested < more.congested {
                known.congested = more.congested;
            }
            true
        }
        (StudySpec::Fabric(known), StudySpec::Fabric(more)) if known.infer == more.infer => {
            *known == *more
        }
        (StudySpec::Failover(known), StudySpec::Failover(more))
            if *more == FailoverSpec { deeds: more.deeds.clone(), ..known.clone() } =>
        {
            // An empty list means all of them.
            if more.deeds.is_empty() || known.deeds.is_empty() {
                known.deeds.clear();
            } else {
                unite(&mut known.deeds, &more.deeds);
            }
            true
        }
        _ => false,
    }
}

fn unite<T: Clone + PartialEq>(known: &mut Vec<T>, more: &[T]) {
    for one in more {
        if !known.contains(one) {
            known.push(one.clone());
        }
    }
}

/// Returns the study that a claim needs, or the reason why there is none.
pub fn study_of(claim: &SheetClaim, bed: Bed) -> Result<StudySpec, Why> {
    let about = &claim.about;
    let part = measurable(about.metric).ok_or(Why::NotMeasured)?.part;
    let needed = hosts(part, about);
    if bed.hosts < needed {
        return Err(Why::FewHosts { needed });
    }
    Ok(match part {
        Part::Forwarding(test) => StudySpec::Forwarding(forwarding(about, test, bed)),
        Part::Throughput => match pattern(about) {
            Some(test) => StudySpec::Switching(switching(claim, test, bed)),
            None => StudySpec::Forwarding(forwarding(about, ForwardingTest::Throughput, bed)),
        },
        Part::Switching(test) => StudySpec::Switching(switching(claim, test, bed)),
        Part::Latency => StudySpec::Latency(latency(about, bed)),
        Part::Depth => StudySpec::Depth(depth(about)),
        Part::Failover if !bed.deeds => return Err(Why::NoDeed),
        Part::Failover => StudySpec::Failover(failover(claim)),
        Part::Nonblocking => StudySpec::Fabric(nonblocking(bed)),
        Part::Groups => StudySpec::Fabric(xray::groups(
            bed.hosts,
            bed.virtual_time(FrameSize::STANDARD_MAX).map(|all| all / 10),
        )),
    })
}

/// Fewest hosts that the test needs.
fn hosts(part: Part, about: &About) -> usize {
    match part {
        Part::Forwarding(_) | Part::Latency | Part::Failover => 2,
        Part::Throughput => {
            if pattern(about).is_some() {
                3
            } else {
                2
            }
        }
        Part::Depth | Part::Switching(_) => 3,
        Part::Nonblocking | Part::Groups => 4,
    }
}

/// Pattern of all ports; `None` if the claim names none.
fn pattern(about: &About) -> Option<SwitchTest> {
    let test: SwitchTest = about.text(&Key::Test)?.parse().ok()?;
    test.pattern().map(|_| test)
}

fn size(about: &About) -> FrameSize {
    let octets = about.integer(&Key::FrameSize).and_then(|octets| u32::try_from(octets).ok());
    octets.and_then(|octets| FrameSize::new(octets).ok()).unwrap_or(FrameSize::MIN)
}

fn forwarding(about: &About, test: ForwardingTest, bed: Bed) -> ForwardingSpec {
    let (quick, size) = (ForwardingSpec::quick(), size(about));
    let goal = about.text(&Key::Goal);
    let goal = goal.and_then(|goal| GoalName::ALL.into_iter().find(|one| one.as_str() == goal));
    ForwardingSpec {
        frames: vec![FrameMix::from_size(size)],
        tests: vec![test],
        goals: vec![goal.unwrap_or(GoalName::Rfc2544)],
        duration: bed.virtual_time(size).unwrap_or(quick.duration),
        final_duration: bed.virtual_time(size).unwrap_or(quick.final_duration),
        blocks: BLOCKS,
        link_rate: bed.link,
        ..quick
    }
}

fn switching(claim: &SheetClaim, test: SwitchTest, bed: Bed) -> SwitchingSpec {
    let quick = SwitchingSpec::quick();
    let size = size(&claim.about);
    let duration = bed.virtual_time(size).unwrap_or(quick.duration);
    let claimed = if claim.about.metric == Metric::AddressCapacity {
        (claim.keeps.value().max(1.0) * 2.0) as u64
    } else {
        u64::from(quick.stations.get())
    };
    SwitchingSpec {
        tests: vec![test],
        frames: vec![size],
        // A claim about all ports is tested on every port that has a host.
        ports: PortCount::known(bed.hosts.clamp(2, MOST_PORTS) as u32),
        stations: Stations::known(claimed.clamp(STATIONS, MOST_STATIONS) as u32),
        link_rate: bed.link,
        duration,
        final_duration: bed.virtual_time(size).unwrap_or(quick.final_duration),
        ..quick
    }
}

fn latency(about: &About, bed: Bed) -> LatencySpec {
    let quick = LatencySpec::quick();
    let named = about.text(&Key::Protocol);
    let protocol = quick.protocols.iter().copied().find(|one| Some(one.as_str()) == named);
    LatencySpec {
        protocols: vec![protocol.unwrap_or(Protocol::Udp)],
        sizes: vec![size(about)],
        // Long enough for some hundred round trips on slow links too.
        duration: bed
            .virtual_time(size(about))
            .map_or(if bed.simulated { SHORTEST } else { quick.duration }, |time| {
                (time / ROUND_TRIPS_IN).max(SHORTEST)
            }),
        blocks: BLOCKS,
        ..quick
    }
}

fn depth(about: &About) -> DepthSpec {
    let quick = DepthSpec::quick();
    let shared = about.reading == Reading::WholeBuffer
        || matches!(about.metric, Metric::BufferShared | Metric::Alpha | Metric::BufferReserve);
    DepthSpec {
        // The memory per frame is needed only to infer shared buffers.
        sizes: if shared || about.metric == Metric::Cell {
            quick.sizes.clone()
        } else {
            Vec::new()
        },
        congested: if shared { quick.congested } else { Congested::known(1) },
        blocks: BLOCKS,
        ..quick
    }
}

/// Plans the deed that the claim names, or all deeds of the device.
fn failover(claim: &SheetClaim) -> FailoverSpec {
    let quick = FailoverSpec::quick();
    let claimed = claim.keeps.value().max(1.0);
    let (slow, fast) = FLOW_RATES;
    let late = Nanos((claimed as u64).saturating_mul(TIMES_AWAY)).min(LONGEST_AWAY);
    FailoverSpec {
        deeds: claim.about.text(&Key::Deed).map(str::to_owned).into_iter().collect(),
        rate: FrameRate((FRAMES_AWAY * 1e9 / claimed).clamp(slow, fast)),
        away: quick.away.max(late),
        after: quick.after.max(late),
        blocks: BLOCKS,
        ..quick
    }
}

/// Plans every offset once, and one pair alone as the reference.
fn nonblocking(bed: Bed) -> FabricSpec {
    let quick = FabricSpec::quick();
    let time = bed.virtual_time(FrameSize::STANDARD_MAX).map(|all| all / 10);
    let duration = time.unwrap_or(quick.duration);
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours, Arrangement::Sweep],
        nodes: Nodes::These(vec![2, (bed.hosts - bed.hosts % 2) as u32]),
        messages: Vec::new(),
        carrier: Carrier::Datagrams { credits: 64 },
        interval: duration.min(quick.interval),
        duration,
        blocks: BLOCKS,
        ..quick
    }
}
