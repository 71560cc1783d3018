//! Combinations of levels to measure, and their order within each block.
//!
//! Owns the allowed combinations and the blocks' seeded order. Changes by hand are as rare as whole
//! blocks allow, and no variant is applied twice in a block. Never runs anything.

use std::collections::BTreeMap;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use super::{CampaignSpec, Factor, Means};

/// Levels by factor, naming a combination; a factor left out may have any level.
pub type Named = BTreeMap<String, String>;

/// Limits on the combinations to measure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Combinations to keep; if empty, all.
    pub only: Vec<Named>,
    /// Combinations to leave out.
    pub except: Vec<Named>,
}

/// Returns all combinations with one item of each list; the last list's item changes first.
pub fn combinations<T: Clone>(lists: impl IntoIterator<Item = Vec<T>>) -> Vec<Vec<T>> {
    lists.into_iter().fold(vec![Vec::new()], |shorter, list| {
        let longer = |one: Vec<T>| {
            list.iter().map(move |last| [&one[..], std::slice::from_ref(last)].concat())
        };
        shorter.into_iter().flat_map(longer).collect()
    })
}

/// Returns every allowed combination; the last factor's level changes first.
pub fn allowed(factors: &[Factor], limits: &Limits) -> Vec<Vec<usize>> {
    let levels = factors.iter().map(|factor| (0..factor.levels.len()).collect());
    let mut cells: Vec<Vec<usize>> = combinations(levels);
    let fits = |named: &Named, cell: &[usize]| {
        factors.iter().zip(cell).all(|(factor, level)| {
            named.get(&factor.name).is_none_or(|name| *name == factor.levels[*level].name)
        })
    };
    cells.retain(|cell| {
        let wanted = limits.only.is_empty() || limits.only.iter().any(|named| fits(named, cell));
        wanted && !limits.except.iter().any(|named| fits(named, cell))
    });
    cells
}

/// Turn of one cell in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) cell: usize,
    /// True for the control, which is the first cell under another name.
    pub(super) control: bool,
    /// Seed of the studies' random choices. Within a block it is the same for all cells, so that
    /// all get the same requests.
    pub(super) seed: u64,
    repetition: u32,
}

impl Turn {
    /// Suffix of the cell's name.
    pub(super) fn suffix(&self) -> &'static str {
        match (self.control, self.repetition) {
            (true, _) => " (control)",
            (false, 0) => "",
            (false, _) => " (again)",
        }
    }
}

/// Number of different settings that are made by hand.
pub(super) fn settings(spec: &CampaignSpec) -> usize {
    let mut all: Vec<Vec<usize>> = spec.cells.iter().map(|cell| setting(spec, cell)).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// Levels that are set by hand.
fn setting(spec: &CampaignSpec, cell: &[usize]) -> Vec<usize> {
    of_kind(spec, cell, |means| *means == Means::Hands)
}

/// Levels that are set by commands; empty if no variant is varied.
fn state(spec: &CampaignSpec, cell: &[usize]) -> Vec<usize> {
    let mut levels = spec.factors.iter().flat_map(|factor| &factor.levels);
    if !levels.any(|level| matches!(level.means, Means::Variant(Some(_)))) {
        return Vec::new();
    }
    of_kind(spec, cell, |means| matches!(means, Means::Device(_) | Means::Variant(_)))
}

fn of_kind(spec: &CampaignSpec, cell: &[usize], is: impl Fn(&Means) -> bool) -> Vec<usize> {
    let own =
        spec.factors.iter().zip(cell).filter(|(factor, level)| {
            factor.levels.get(**level).is_some_and(|level| is(&level.means))
        });
    own.map(|(_, level)| *level).collect()
}

/// Generator of the blocks' order, one block after the other.
pub(super) struct Order<'a> {
    spec: &'a CampaignSpec,
    chance: Pcg64,
    seed: u64,
    block: u64,
    /// Setting in which the last block ended, and in which the next begins.
    last: Option<Vec<usize>>,
}

impl<'a> Order<'a> {
    pub(super) fn new(spec: &'a CampaignSpec, seed: u64) -> Self {
        Self { spec, chance: Pcg64::seed_from_u64(seed), seed, block: 0, last: None }
    }

    /// Returns the next block's turns: every cell as often as requested, and the control.
    pub(super) fn next_block(&mut self) -> Vec<Turn> {
        let mut turns = Vec::new();
        for repetition in 0..self.spec.repetitions.get() {
            let seed = self.seed_of(repetition);
            let turn = |cell| Turn { cell, control: false, seed, repetition };
            turns.extend((0..self.spec.cells.len()).map(turn));
        }
        let seed = self.seed_of(self.spec.repetitions.get());
        turns.push(Turn { cell: 0, control: true, seed, repetition: 0 });
        self.block += 1;
        turns.shuffle(&mut self.chance);
        let spec = self.spec;
        let cell = |turn: &Turn| &spec.cells[turn.cell];
        // The order of first appearance is random, so groups can use it too.
        let states: Vec<_> = turns.iter().map(|turn| state(spec, cell(turn))).collect();
        let mut settings: Vec<_> = turns.iter().map(|turn| setting(spec, cell(turn))).collect();
        if let Some(last) = self.last.take() {
            settings.insert(0, last);
        }
        let first =
            |all: &[Vec<usize>], one: &Vec<usize>| all.iter().position(|other| other == one);
        turns.sort_by_cached_key(|turn| {
            let (setting, state) = (setting(spec, cell(turn)), state(spec, cell(turn)));
            (first(&settings, &setting), first(&states, &state))
        });
        self.last = turns.last().map(|turn| setting(spec, cell(turn)));
        turns
    }

    /// Splitmix's finaliser, so that the seeds of neighbours are unrelated.
    fn seed_of(&self, repetition: u32) -> u64 {
        let place = self.block << 16 | u64::from(repetition);
        let mut mixed = self.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}
