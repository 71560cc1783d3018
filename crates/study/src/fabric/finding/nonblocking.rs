//! Non-blocking answer of a device: each arrangement at the most nodes is compared with the same at
//! the fewest, and with what the ports of its pairs reach in their best rounds.
//!
//! Owns the rule. A *no* also needs a control: pairs of the worst round one at a time, by the same
//! ports, cables and hosts, so that only the other traffic differs. Direct cables show the limit of
//! as many hosts at once; without them the answer stays open. A port in several pairs waits for
//! itself, which says nothing of the device, so only matchings count. Never says yes if no
//! arrangement could have shown a no, nor if a requested one has no valid trial.

use std::collections::BTreeMap;

use measure::blocks::{BlockEstimate, paired_ratio};
use measure::quantile::median;

use super::super::Place;
use super::super::control::Control;
use super::super::rounds::{CellPlace, Rounds, cables, most};
use super::super::scene::{Cell, Scene};
use super::Measured;
use super::expected::{self, Expected};
use crate::rows::CONFIDENCE;
use crate::verdict::Evidence;
use page::{Caveat, Condition, Figure, Key, Metric, Unit, phrase};

/// Answer to whether a device is non-blocking.
#[derive(Debug)]
pub(in super::super) struct Nonblocking {
    pub(in super::super) value: Figure,
    /// Code words of the rounds with fewer valid trials than 95 % confidence needs.
    pub(in super::super) missing: Vec<String>,
    /// Share of the worst arrangement; `None` if none can be compared with one pair alone.
    pub(in super::super) worst: Option<Share>,
    /// Number of ports that talked at once.
    pub(in super::super) nodes: usize,
    /// Share of its rate that a port keeps in floods; `None` if those show no limit.
    pub(in super::super) flooded: Option<f64>,
}

/// Arrangement's share of the goodput of one pair alone.
#[derive(Debug)]
pub(in super::super) struct Share {
    pub(in super::super) name: String,
    ratio: BlockEstimate,
    /// Relative error of the ratio, because pairs wait for whole messages.
    error: f64,
    /// Share over the direct cables, which is the tester's; `None` if not measured.
    pub(in super::super) tester: Option<f64>,
    /// Number of its pairs that were measured one at a time, which it is then a share of.
    pub(in super::super) pairs_alone: Option<usize>,
    place: Place,
}

/// Shares of the arrangements at the most nodes.
#[derive(Default)]
struct Shares {
    /// Shares of what one pair alone gets.
    shown: Vec<Share>,
    /// Shares that remain once each port is held against its own best round; `None` if those are
    /// unknown.
    by_port: Option<Vec<Share>>,
    missing: Vec<String>,
}

/// Answers by the two references, before a control.
#[derive(Debug, Clone, Copy)]
struct Leaning {
    /// Against one pair alone.
    alone: Option<bool>,
    /// With each port held against its own best round.
    by_port: Option<bool>,
    /// False if the worst round is below the margin in its median by the ports' best rounds.
    is_even: bool,
}

/// Answers for a subject; `None` where it is not asked.
pub(super) fn answer(measured: Measured<'_>, at: usize) -> Option<Nonblocking> {
    if !measured.scenes[at].is_asked(measured.ways) {
        return None;
    }
    let mut answer = Nonblocking::new(measured, at, shares(measured, at));
    let caveats = &mut answer.value.caveats;
    if is_missing_pairs(measured, at) && !caveats.contains(&Caveat::SilentPairs) {
        caveats.push(Caveat::SilentPairs);
    }
    Some(answer)
}

fn is_missing_pairs(measured: Measured<'_>, scene: usize) -> bool {
    let rounds = measured.data.iter().filter(|((at, ..), _)| *at == scene);
    rounds.map(|(_, round)| round).any(|round| round.noted.caveats.contains(&Caveat::SilentPairs))
}

/// Round whose control decides, if the exchanges lean to a *no*.
pub(in super::super) fn doubted(measured: Measured<'_>, at: usize) -> Option<Place> {
    if !measured.spec.controls || !measured.scenes[at].is_asked(measured.ways) {
        return None;
    }
    let shares = shares(measured, at);
    let leaning = shares.leaning(measured);
    let by_port = shares.by_port.as_deref().filter(|_| leaning.by_port == Some(false));
    let alone = (leaning.alone == Some(false)).then_some(&shares.shown[..]);
    Some(lowest(by_port.or(alone)?)?.place)
}

fn lowest(shares: &[Share]) -> Option<&Share> {
    shares.iter().min_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))
}

fn shares(measured: Measured<'_>, at: usize) -> Shares {
    let Measured { spec, scenes, data, .. } = measured;
    let scene = &scenes[at];
    let fewest = scene.cells.iter().map(|cell| cell.nodes).min();
    let in_table = |cell: &(usize, &Cell)| cell.1.message == spec.message && cell.1.is_matching();
    let cells: Vec<(usize, &Cell)> = scene.cells.iter().enumerate().filter(in_table).collect();
    let alone = |cell: &Cell| {
        let few = || cells.iter().filter(|(_, c)| Some(c.nodes) == fewest);
        let own = few().find(|(_, c)| c.arrangement == cell.arrangement);
        own.or_else(|| few().next()).filter(|(_, c)| c.nodes < cell.nodes).copied()
    };
    let rounds_of = |cell| Rounds::from_cell(data, CellPlace { scene: at, cell });
    let expected = Expected::new(measured, at).filter(|_| spec.controls);
    let mut shares = Shares { by_port: expected.as_ref().map(|_| Vec::new()), ..Shares::default() };
    for (index, cell) in cells.iter().filter(|(_, c)| Some(c.nodes) == most(scene)) {
        let Some((few_index, few)) = alone(cell) else { continue };
        let over_cables = |cell| share_over_cables(measured, scene, cell);
        let tester = match (over_cables(cell), over_cables(few)) {
            (Some(all), Some(one)) if one > 0.0 => Some((all / one).min(1.0)),
            _ => None,
        };
        let (rounds, one) = (rounds_of(*index), rounds_of(few_index));
        let compared = Compared { measured, at, index: *index, cell, few, rounds, one, tester };
        shares.missing.extend(compared.missing());
        shares.shown.extend(compared.worst(None));
        if let (Some(shares), Some(expected)) = (&mut shares.by_port, &expected) {
            shares.extend(compared.worst(Some(expected)));
        }
    }
    shares
}

/// Cell at the most nodes, and the one that it is compared with.
struct Compared<'a> {
    measured: Measured<'a>,
    at: usize,
    index: usize,
    cell: &'a Cell,
    few: &'a Cell,
    rounds: Rounds<'a>,
    one: Rounds<'a>,
    tester: Option<f64>,
}

impl Compared<'_> {
    /// Names of the rounds with fewer valid trials than the answer needs.
    fn missing(&self) -> Vec<String> {
        let needed = CERTAIN_BLOCKS.min(self.measured.spec.blocks.get() as usize);
        let alone = self.one.shares();
        let valid = |round: usize| both(&self.rounds.shares_of(round), &alone).len();
        let rounds = self.cell.rounds.iter().enumerate();
        rounds.filter(|(at, _)| valid(*at) < needed).map(|(_, round)| round.name.clone()).collect()
    }

    /// Share of the worst round, by the median over its blocks. Of rounds that differ by less than
    /// a millionth, the first.
    fn worst(&self, expected: Option<&Expected>) -> Option<Share> {
        const ALIKE: f64 = 1e6;
        let shares_of = |cell: &Cell, rounds: &Rounds<'_>, round: usize| {
            expected::shares(expected, &cell.rounds[round], rounds.rounds()[round])
        };
        let known = 0..self.rounds.rounds().len();
        let middle = |round: usize| {
            let shares = shares_of(self.cell, &self.rounds, round).into_values();
            Some((round, (ALIKE * median(&shares.collect::<Vec<_>>())?).round()))
        };
        let (worst, _) = known.filter_map(middle).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let all = shares_of(self.cell, &self.rounds, worst);
        self.one.rounds().first()?;
        let alone = shares_of(self.few, &self.one, 0);
        let ratio = paired_ratio(&both(&all, &alone), CONFIDENCE, self.measured.seed)?;
        // One of the two is up to a message short.
        let error = self.rounds.error_of(worst).max(self.one.error_of(0));
        let name = self.cell.rounds[worst].name.clone();
        let place = (self.at, self.index, worst);
        Some(Share { name, ratio, error, tester: self.tester, pairs_alone: None, place })
    }
}

impl Shares {
    /// Answers by the two references.
    fn leaning(&self, measured: Measured<'_>) -> Leaning {
        let answer = |worst: &Share| worst.answer(measured);
        let alone = lowest(&self.shown).and_then(answer);
        let Some(worst) = self.by_port.as_deref().and_then(lowest) else {
            return Leaning { alone, by_port: alone, is_even: true };
        };
        let is_even = worst.ratio.value >= 1.0 - measured.spec.margin;
        Leaning { alone, by_port: answer(worst), is_even }
    }
}

impl Leaning {
    /// Answer with the control's own, and whether that covers all pairs of its round.
    fn with_control(self, control: Option<bool>, is_whole: bool) -> Option<bool> {
        let is_no = self.alone == Some(false) || self.by_port == Some(false);
        match control {
            Some(false) if is_no => Some(false),
            // The ports themselves explain what is below one pair alone.
            Some(true) if is_whole && self.by_port == Some(true) => Some(true),
            _ => (self.alone == Some(true) && self.by_port != Some(false) && self.is_even)
                .then_some(true),
        }
    }
}

/// Share of their links that as many direct cables carry at once.
fn share_over_cables(measured: Measured<'_>, scene: &Scene, cell: &Cell) -> Option<f64> {
    let Measured { scenes, data, ways, .. } = measured;
    let place = cables(scenes, scene, cell, ways)?;
    // If all hosts are one machine, fewer pairs are less work for it.
    let pairs = |cell: &Cell| cell.rounds.iter().map(|round| round.pairs.len()).max();
    if ways.share_machine() && pairs(&scenes[place.scene].cells[place.cell]) < pairs(cell) {
        return None;
    }
    median(&Rounds::from_cell(data, place).shares().into_values().collect::<Vec<_>>())
}

/// Blocks needed for a 95 % interval of the median.
const CERTAIN_BLOCKS: usize = 6;

/// Pairs both shares by block; a round without any goodput has a share of almost zero.
fn both(all: &BTreeMap<u32, f64>, one: &BTreeMap<u32, f64>) -> Vec<(f64, f64)> {
    const NOTHING: f64 = 1e-9;
    let both = |(block, value): (&u32, &f64)| Some((value.max(NOTHING), *one.get(block)?));
    all.iter().filter_map(both).collect()
}

impl Nonblocking {
    fn new(measured: Measured<'_>, at: usize, shares: Shares) -> Self {
        let Measured { spec, ways, .. } = measured;
        let scene = &measured.scenes[at];
        let leaning = shares.leaning(measured);
        let Shares { shown, missing, .. } = shares;
        let nodes = most(scene).unwrap_or(0);
        let mut row = measured.row(scene);
        row.conditions.remove(&Key::RateConvention);
        row.set(Key::Margin, spec.margin);
        row.set(Key::Message, spec.message.0);
        row.set(Key::Nodes, nodes as u64);
        row.set(Key::Arrangements, shown.len() as u64);
        if !missing.is_empty() {
            row.caveats.insert(Caveat::NoValidTrial);
            row.set(Key::ArrangementsMissing, Condition::List(missing.clone()));
        }
        let worst = shown.into_iter().min_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
        let Some(worst) = worst else {
            row.caveats.insert(Caveat::NotResolved);
            let mut value = row.single(Metric::Nonblocking, Unit::Flag, None);
            value.blocks = 0;
            return Self { value, missing, worst: None, nodes, flooded: None };
        };
        let control = measured.controls.get(&at);
        let controlled = control.and_then(|control| worst.controlled(control, measured));
        // An arrangement that was not measured may be the one that blocks.
        let unseen = |answer: &bool| !*answer || missing.is_empty();
        let answer = if spec.controls {
            let own = controlled.as_ref().and_then(|share| share.answer(measured));
            leaning.with_control(own, control.is_some_and(Control::is_whole))
        } else {
            leaning.alone
        };
        let answer = answer.filter(unseen);
        let worst = controlled.unwrap_or(worst);
        let share = worst.range();
        row.n = worst.ratio.blocks as u64;
        row.conditions.extend([
            (Key::WorstArrangement, worst.name.clone().into()),
            (Key::ShareOfOnePair, share.value.into()),
            (Key::ShareLow, share.low.into()),
            (Key::ShareHigh, share.high.into()),
            (Key::MessageError, worst.error.into()),
        ]);
        if let Some(tester) = worst.tester {
            row.set(Key::TesterShare, tester);
        }
        if let Some(pairs) = worst.pairs_alone {
            row.set(Key::PairsAlone, pairs as u64);
        }
        // One pair alone through the same ports is the control.
        let evidence = match answer {
            Some(false) => Evidence::Sight { seen: true, in_control: Some(false) },
            Some(true) => Evidence::Bound,
            None => Evidence::Nothing,
        };
        row.verdict = ways.judge(scene.way, &evidence);
        if answer.is_none() {
            row.caveats.insert(Caveat::NotResolved);
        }
        let flag = answer.map(|yes| if yes { 1.0 } else { 0.0 });
        let mut value = row.single(Metric::Nonblocking, Unit::Flag, flag);
        value.blocks = worst.ratio.blocks as u32;
        Self { value, missing, worst: Some(worst), nodes, flooded: None }
    }
}

impl Nonblocking {
    /// True if no arrangement was measured at a second number of nodes: nothing is compared.
    pub(in super::super) const fn compares_nothing(&self) -> bool {
        self.worst.is_none() && self.missing.is_empty()
    }

    /// Names of the missing rounds: `sweep 3`.
    pub(in super::super) fn missing_in_words(&self) -> Vec<String> {
        self.missing.iter().map(|name| phrase::code(&Key::Round, name)).collect()
    }
}

impl Share {
    /// Answer of this share by itself.
    fn answer(&self, measured: Measured<'_>) -> Option<bool> {
        let Measured { spec, ways, .. } = measured;
        self.range().answer(spec.margin, self.tester?, ways.share_machine())
    }

    /// Share by a control, of what its pairs get one at a time; `None` without a valid trial of it.
    fn controlled(&self, control: &Control, measured: Measured<'_>) -> Option<Self> {
        let (scene, cell, round) = control.place;
        let cell = &measured.scenes[scene].cells[cell];
        Some(Self {
            name: cell.rounds[round].name.clone(),
            ratio: control.ratio(measured.seed)?,
            error: control.error(),
            tester: self.tester,
            pairs_alone: Some(control.pairs()),
            place: control.place,
        })
    }

    /// `tournament 3`
    pub(in super::super) fn name_in_words(&self) -> String {
        phrase::code(&Key::Round, &self.name)
    }

    pub(in super::super) fn range(&self) -> ShareRange {
        let BlockEstimate { value, interval, .. } = self.ratio;
        ShareRange {
            low: interval.low * (1.0 - self.error),
            value,
            high: interval.high * (1.0 + self.error),
            certain: interval.confidence >= CONFIDENCE,
        }
    }
}

/// Share with its lower and upper bound.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ShareRange {
    pub(in super::super) low: f64,
    pub(in super::super) value: f64,
    pub(in super::super) high: f64,
    /// True if there were enough blocks for these bounds.
    certain: bool,
}

impl ShareRange {
    /// Decides the answer. Yes: the whole range is within the margin. No: the whole range is below
    /// it, and below the tester's own share with as many pairs.
    ///
    /// Undecided with too few blocks, and if all pairs get more than one pair alone, which is not
    /// the device's doing. Also undecided if the hosts' `shared` machine is limited over direct
    /// cables alone: hosts that run the device too are slower with it.
    fn answer(self, margin: f64, tester: f64, shared: bool) -> Option<bool> {
        let floor = 1.0 - margin;
        if !self.certain || self.value > 1.0 + margin {
            None
        } else if self.low >= floor {
            Some(true)
        } else if shared && tester < floor {
            None
        } else if self.high < floor * tester {
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No *no* without a control that says so, and no *yes* where the ports' best rounds deny it.
    #[test]
    fn a_control_decides() {
        let (yes, no) = (Some(true), Some(false));
        // Against one pair alone, by port, the control and whether it has all pairs; the answer.
        let table = [
            (no, no, no, false, no),
            (no, no, None, false, None),
            (no, no, yes, true, None),
            (no, yes, no, true, no),
            (no, yes, yes, true, yes),
            (no, yes, yes, false, None),
            (yes, yes, None, false, yes),
            (yes, None, None, false, yes),
            (yes, no, None, false, None),
            (yes, no, no, true, no),
            (None, yes, None, false, None),
        ];
        for (alone, by_port, control, is_whole, expected) in table {
            let leaning = Leaning { alone, by_port, is_even: true };
            let found = leaning.with_control(control, is_whole);
            assert_eq!(found, expected, "{leaning:?}, control {control:?} of all {is_whole}");
        }
        let uneven = Leaning { alone: yes, by_port: None, is_even: false };
        assert_eq!(uneven.with_control(None, false), None);
    }

    #[test]
    fn answers() {
        // The range, what the tester keeps, whether there were blocks enough; the answer. Where the
        // hosts share the device's machine, no `no` beside a tester that gives way by itself.
        let table = [
            ((0.97, 1.01), 1.0, true, Some(true)),
            ((0.30, 0.40), 1.0, true, Some(false)),
            ((0.93, 0.97), 1.0, true, None),
            ((0.30, 0.40), 0.35, true, None),
            ((0.20, 0.25), 0.35, true, Some(false)),
            ((0.30, 0.40), 1.0, false, None),
            ((0.97, 1.01), 1.0, false, None),
            ((1.09, 1.14), 1.0, true, None),
        ];
        for ((low, high), tester, certain, expected) in table {
            let range = ShareRange { low, value: f64::midpoint(low, high), high, certain };
            let what = format!("{range:?} {tester}");
            assert_eq!(range.answer(0.05, tester, false), expected, "{what}");
            let shared = expected.filter(|yes| *yes || tester >= 0.95);
            assert_eq!(range.answer(0.05, tester, true), shared, "{what}");
        }
    }
}
