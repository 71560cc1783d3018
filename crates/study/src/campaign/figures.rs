//! Figures of a campaign over all blocks, one per cell, from the figures of each block.
//!
//! Owns the intervals over blocks and their effect on verdicts. Never merges two cells.

use std::collections::BTreeMap;

use measure::BlockEstimate;
use measure::quantile::median;

use super::{CampaignSpec, Means};
use crate::comparison::cells::{Better, Case, better, case, shared};
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates, Setting, Standing};
use page::Unit;
use page::{Caveat, Condition, Figure, Key, Metric, Role, Verdict};
use trial::Topology;

const CONFIDENCE: f64 = 0.95;

/// Figures found in one turn.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    pub(super) cell: usize,
    pub(super) control: bool,
    pub(super) block: u32,
    pub(super) figures: Vec<Figure>,
}

/// Values of one figure in all blocks.
struct Group<'a> {
    figures: Vec<(u32, &'a Figure)>,
    case: Case,
}

/// Returns every cell's figures over all blocks, or over a single one.
pub(super) fn of_cells(
    spec: &CampaignSpec,
    ran: &[Ran],
    only: Option<u32>,
    topology: &Topology,
) -> Vec<Figure> {
    let mut all = Vec::new();
    for cell in 0..spec.cells.len() {
        let own = ran.iter().filter(|one| one.cell == cell && !one.control);
        let own: Vec<&Ran> =
            own.filter(|one| only.is_none_or(|block| one.block == block)).collect();
        let groups = groups(&own);
        for group in &groups {
            let mut figure = over_blocks(group, topology.is_simulated());
            judge(&mut figure, group, &groups, topology.shares_processors());
            name(&mut figure, spec, cell);
            for (_, one) in &group.figures {
                figure.trials.extend(&one.trials);
            }
            stand_beside(&mut figure, &groups);
            all.push(figure);
        }
    }
    all
}

fn groups<'a>(own: &[&'a Ran]) -> Vec<Group<'a>> {
    let mut places: BTreeMap<(Case, String), usize> = BTreeMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for ran in own {
        for figure in &ran.figures {
            let case = case(figure, &shared(figure));
            // Device and variant belong to the figure, not to the case.
            let who = figure.conditions.iter().filter(|(key, _)| key.role() == Role::Place);
            let who = format!("{:?}", who.collect::<Vec<_>>());
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
    /// Returns one value per block, the median of its repetitions.
    fn by_block(&self) -> BTreeMap<u32, f64> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (block, figure) in &self.figures {
            blocks.entry(*block).or_default().extend(figure.value);
        }
        blocks.into_iter().filter_map(|(block, values)| Some((block, median(&values)?))).collect()
    }

    fn values(&self) -> Vec<f64> {
        self.by_block().into_values().collect()
    }

    fn is_bypass(&self) -> bool {
        self.figures[0].1.is_bypass()
    }

    /// Limiting component by the blocks' own verdicts. A single block never attributes a repeated
    /// rate to the device, but one that is not a mere bound was driven.
    fn driven(&self) -> Driven {
        let count =
            |is: fn(Verdict) -> bool| self.figures.iter().filter(|one| is(one.1.verdict)).count();
        let lost = count(|verdict| verdict == Verdict::DeviceLimited);
        let open = count(|verdict| verdict == Verdict::Undetermined);
        match self.figures.len() {
            all if 2 * lost > all => Driven::Lost,
            all if 2 * (lost + open) > all => Driven::HeldBack,
            _ => Driven::No,
        }
    }

    /// Returns the same case over the direct cable.
    fn find_bypass<'g>(case: &Case, groups: &'g [Self]) -> Option<&'g Self> {
        groups.iter().find(|other| other.case == *case && other.is_bypass())
    }
}

fn over_blocks(group: &Group<'_>, simulated: bool) -> Figure {
    let first = group.figures[0].1;
    let estimate = BlockEstimate::from_values(&group.values(), CONFIDENCE);
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

/// Judges a figure over all blocks: one block cannot tell a device's rate or delay from its
/// bypass's.
fn judge(figure: &mut Figure, group: &Group<'_>, groups: &[Group<'_>], shared_processors: bool) {
    if group.is_bypass() {
        return;
    }
    let setting = Setting { standing: Standing::Beside, shared_processors };
    let own = group.by_block();
    if figure.metric == Metric::RttAdded {
        let rtt = Figure { metric: Metric::Rtt, ..group.figures[0].1.clone() };
        let Some(cable) = Group::find_bypass(&case(&rtt, &shared(&rtt)), groups) else { return };
        let cable = BlockEstimate::from_values(&cable.values(), CONFIDENCE);
        let floor = cable.map_or(0.0, |cable| (cable.interval.high - cable.interval.low) / 2.0);
        figure.set(Key::BypassRepeatability, floor);
        // The added latency of a block is already a difference.
        let pairs: Vec<(f64, f64)> = own.into_values().map(|added| (added, 0.0)).collect();
        figure.verdict = Evidence::Delay(Delays::Paired { pairs: &pairs, floor }).verdict(setting);
        if figure.verdict != Verdict::DeviceLimited {
            figure.caveats.push(Caveat::NotResolved);
            figure.caveats.sort_unstable();
        }
        return;
    }
    let Some(cable) = Group::find_bypass(&group.case, groups) else { return };
    let cable = cable.by_block();
    let beside = |block: &u32| cable.get(block).copied();
    match figure.unit {
        Unit::Nanoseconds => {
            let both = own.iter().filter_map(|(block, value)| Some((*value, beside(block)?)));
            let pairs: Vec<(f64, f64)> = both.collect();
            figure.verdict = Evidence::Delay(Delays::paired(&pairs)).verdict(setting);
        }
        _ if better(figure.metric) == Some(Better::More) => {
            let pairs: Vec<(f64, Option<f64>)> =
                own.iter().map(|(block, value)| (*value, beside(block))).collect();
            if figure.verdict == Verdict::LinkLimited {
                return;
            }
            let rate = RateEvidence::new(Rates::Paired(&pairs), group.driven());
            figure.verdict = Evidence::Rate(rate).verdict(setting);
        }
        _ => {}
    }
}

/// Marks a cable's figure with the device and the variant that it is compared with.
fn stand_beside(figure: &mut Figure, groups: &[Group<'_>]) {
    if !figure.is_bypass() {
        return;
    }
    let device = groups.iter().map(|group| group.figures[0].1).find(|other| !other.is_bypass());
    for (own, beside) in [(Key::Device, Key::BesideDevice), (Key::Variant, Key::BesideVariant)] {
        if let Some(name) = device.and_then(|other| other.conditions.get(&own)) {
            figure.set(beside, name.clone());
        }
    }
}

/// Writes the cell into a figure, under every key that readers may use.
fn name(figure: &mut Figure, spec: &CampaignSpec, cell: usize) {
    let levels = &spec.cells[cell];
    let mut say = |key: Key, value: Condition| figure.conditions.insert(key, value);
    say(Key::Cell, spec.cell_name(levels).into());
    let own = |level: &super::Level| matches!(level.means, Means::Ports(_) | Means::Hands);
    let named = spec.levels(levels).filter(|(_, level)| own(level));
    let named: Vec<String> = named.map(|(factor, _)| factor.name.clone()).collect();
    if !named.is_empty() {
        say(Key::Factors, Condition::List(named));
    }
    for (factor, level) in spec.levels(levels) {
        // Device, variant and size are among a study's own conditions.
        if own(level) {
            say(Key::named(&factor.name), level.name.clone().into());
        }
    }
}
