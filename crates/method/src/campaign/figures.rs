//! From what each cell gave in each block to the campaign's figures: one of each cell over all blocks.
//!
//! Owns the intervals over blocks and what they do to verdicts. Never merges two cells.

use std::collections::BTreeMap;

use measure::quantile::median;
use measure::{BlockEstimate, Interval};

use super::{CampaignSpec, Means};
use crate::comparison::cells::{Case, case, shared};
use crate::figure::{Condition, Unit};
use crate::{Caveat, Figure, Metric, Verdict, verdict};

/// The condition that names a campaign's cell, in all its figures.
pub const CELL: &str = "cell";

/// The condition that names the factors that have conditions of their own, beside device and variant.
pub const FACTORS: &str = "factors";

const CONFIDENCE: f64 = 0.95;

/// Conditions that tell who is measured: not of the case, but of the figure.
const WHO: [&str; 7] =
    ["from", "to", "device", "variant", "path", "beside_device", "beside_variant"];

/// What the studies found in one turn.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    pub(super) cell: usize,
    pub(super) control: bool,
    pub(super) block: u32,
    pub(super) figures: Vec<Figure>,
}

/// A figure's values in all blocks.
struct Group<'a> {
    figures: Vec<(u32, &'a Figure)>,
    case: Case,
}

/// Every cell's figures over all blocks, or in one of them alone.
pub(super) fn of_cells(
    spec: &CampaignSpec,
    ran: &[Ran],
    only: Option<u32>,
    simulated: bool,
) -> Vec<Figure> {
    let mut all = Vec::new();
    for cell in 0..spec.cells.len() {
        let own = ran.iter().filter(|one| one.cell == cell && !one.control);
        let own: Vec<&Ran> =
            own.filter(|one| only.is_none_or(|block| one.block == block)).collect();
        let groups = groups(&own);
        for group in &groups {
            let mut figure = over_blocks(group, simulated);
            judge(&mut figure, group, &groups);
            name(&mut figure, spec, cell);
            stand_beside(&mut figure, &groups);
            all.push(figure);
        }
    }
    all
}

fn is_bypass(figure: &Figure) -> bool {
    figure.conditions.get("path") == Some(&Condition::from("bypass"))
}

fn groups<'a>(own: &[&'a Ran]) -> Vec<Group<'a>> {
    let mut places: BTreeMap<(Case, String), usize> = BTreeMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for ran in own {
        for figure in &ran.figures {
            let case = case(figure, &shared(figure));
            let who = format!("{:?}", WHO.map(|name| figure.conditions.get(name)));
            let place = *places.entry((case.clone(), who)).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Group { figures: Vec::new(), case });
            }
            groups[place].figures.push((ran.block, figure));
        }
    }
    groups
}

impl Group<'_> {
    /// One value a block, the median of its repetitions.
    fn values(&self) -> Vec<f64> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (block, figure) in &self.figures {
            blocks.entry(*block).or_default().extend(figure.value);
        }
        blocks.values().filter_map(|values| median(values)).collect()
    }

    fn interval(&self) -> Option<Interval> {
        let estimate = BlockEstimate::of(&self.values(), CONFIDENCE)?;
        (estimate.blocks >= 2).then_some(estimate.interval)
    }
}

fn over_blocks(group: &Group<'_>, simulated: bool) -> Figure {
    let first = group.figures[0].1;
    let estimate = BlockEstimate::of(&group.values(), CONFIDENCE);
    let all = || group.figures.iter().map(|(_, figure)| *figure);
    let mut conditions = first.conditions.clone();
    conditions.retain(|name, value| all().all(|other| other.conditions.get(name) == Some(value)));
    let mut caveats: Vec<Caveat> =
        all().flat_map(|figure| figure.caveats.iter().copied()).collect();
    caveats.retain(|caveat| !matches!(caveat, Caveat::FewBlocks | Caveat::NotResolved));
    if estimate.is_some_and(|estimate| estimate.interval.confidence < CONFIDENCE) {
        caveats.push(Caveat::FewBlocks);
    }
    if simulated {
        caveats.push(Caveat::Simulated);
    }
    caveats.sort_unstable();
    caveats.dedup();
    let agreed = all().all(|figure| figure.verdict == first.verdict);
    let mut figure = Figure {
        value: estimate.map(|estimate| estimate.value),
        n: all().map(|figure| figure.n).sum(),
        blocks: estimate.map_or(0, |estimate| estimate.blocks as u32),
        conditions,
        verdict: if agreed { first.verdict } else { Verdict::Undetermined },
        caveats,
        ..first.clone()
    };
    figure.set_interval(estimate.map(|estimate| estimate.interval));
    figure
}

/// One block can't tell a delay from its bypass's; all of them may.
fn judge(figure: &mut Figure, group: &Group<'_>, groups: &[Group<'_>]) {
    if figure.unit != Unit::Nanoseconds || is_bypass(figure) {
        return;
    }
    let beside = |case: &Case| {
        let bypass = |other: &&Group<'_>| other.case == *case && is_bypass(other.figures[0].1);
        groups.iter().find(bypass).and_then(Group::interval)
    };
    if figure.metric == Metric::RttAdded {
        let rtt = Figure { metric: Metric::Rtt, ..group.figures[0].1.clone() };
        let Some(cable) = beside(&case(&rtt, &shared(&rtt))) else { return };
        let floor = (cable.high - cable.low) / 2.0;
        let resolved = figure.low.is_some_and(|low| low > 0.0)
            && figure.value.is_some_and(|value| value > floor)
            && figure.blocks >= 2;
        figure.conditions.insert("bypass_repeatability_ns".to_owned(), floor.into());
        figure.verdict = if resolved { Verdict::DeviceLimited } else { Verdict::TesterLimited };
        if !resolved {
            figure.caveats.push(Caveat::NotResolved);
            figure.caveats.sort_unstable();
        }
    } else if let Some(cable) = beside(&group.case) {
        figure.verdict = verdict::of_delay(group.interval(), Some(cable));
    }
}

/// A cable's figure names the device and the variant that it stands beside.
fn stand_beside(figure: &mut Figure, groups: &[Group<'_>]) {
    if !is_bypass(figure) {
        return;
    }
    let device = groups.iter().map(|group| group.figures[0].1).find(|other| !is_bypass(other));
    for (own, beside) in [("device", "beside_device"), ("variant", "beside_variant")] {
        if let Some(name) = device.and_then(|other| other.conditions.get(own)) {
            figure.conditions.insert(beside.to_owned(), name.clone());
        }
    }
}

/// Which cell it is of, whatever a reader asks by.
fn name(figure: &mut Figure, spec: &CampaignSpec, cell: usize) {
    let levels = &spec.cells[cell];
    let mut say = |name: &str, value: &str| {
        figure.conditions.insert(name.to_owned(), value.into());
    };
    say(CELL, &spec.cell_name(levels));
    let own = |level: &super::Level| matches!(level.means, Means::Ports(_) | Means::Hands);
    let named = spec.levels(levels).filter(|(_, level)| own(level));
    let named: Vec<&str> = named.map(|(factor, _)| factor.name.as_str()).collect();
    if !named.is_empty() {
        say(FACTORS, &named.join(" "));
    }
    for (factor, level) in spec.levels(levels) {
        // Device, variant and size are among a study's own conditions.
        if own(level) {
            say(&factor.name, &level.name);
        }
    }
}
