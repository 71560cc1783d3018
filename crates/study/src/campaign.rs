//! Campaigns: studies carried out in every allowed combination of factors' levels, in blocks of
//! random order. Each has an A/A control and, where there is one, the direct cable.
//!
//! Owns the request, the blocks' order and when to stop. A cell is a study on a part of the
//! testbed, so studies know nothing of campaigns. Never stops because of a result: only on an
//! interval's width or on time (docs/methods/comparison.md).

mod cells;
mod figures;
mod findings;
pub mod names;
mod page;
mod place;
mod typical;
pub(crate) mod variance;
mod watch;

use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use super::{Blocks, Estimate, Known, Needs, SpecProblem, StudySpec, Varied, numbered};
use crate::comparison::{Comparable, Compared, Level as Of, MARGIN, Side, compare};
use ::page::Figure;
use trial::{Setting, Subject};
use trial::{Testbed, TestbedError, Topology};

pub use cells::{Limits, allowed, combinations};
pub use names::AS_FOUND;

pub(crate) use page::{cell_table, report};
pub(crate) use typical::name;

use figures::Ran;
use watch::Watch;

/// Smallest number of blocks that reaches 95 %; no width is looked at before.
pub const FEWEST_BLOCKS: u32 = 6;

measure::ranged! {
    /// Measurements of a cell in a block.
    Repetitions(u32 as i64, 1..=100, "repetitions", "usually 1");
}

/// Request for a campaign: factors to vary, and studies to run in each combination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CampaignSpec {
    /// Factors to vary.
    pub factors: Vec<Factor>,
    /// Allowed combinations: a level of each factor, by number. The first is measured twice in each
    /// block, as the A/A control.
    pub cells: Vec<Vec<usize>>,
    /// Maximum number of blocks.
    pub blocks: Blocks,
    /// Measurements of each cell in each block.
    pub repetitions: Repetitions,
    /// Rule for stopping before the last block.
    pub stop: StopRule,
    /// Studies carried out once in each cell of each block; their own blocks and subjects do not
    /// count.
    pub studies: Vec<StudySpec>,
}

/// Factor of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// `device`, `variant`, `size`, `nic`, `cable`…
    pub name: String,
    /// Levels, at least one.
    pub levels: Vec<Level>,
}

impl Factor {
    /// True if the factor varies the frame size: sizes are not compared with each other.
    pub fn is_size(&self) -> bool {
        self.levels.iter().any(|level| matches!(level.means, Means::Size(_)))
    }
}

/// Level of a factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Name as written in the plan: `sw1`, `64`, `x722`.
    pub name: String,
    /// Effect on the testbed.
    pub means: Means,
}

/// Effect of a level on the testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// This device is measured.
    Device(String),
    /// The device is in this variant; `None` means as found.
    Variant(Option<String>),
    /// Frames of this size are sent.
    Size(FrameSize),
    /// These ports are used, and no ports that only other levels of the factor name. A name is
    /// `h1/eth1`, `eth1` of every host, or `h1` for all ports of a host.
    Ports(Vec<String>),
    /// Changed by hand.
    Hands,
}

/// Rule for ending a campaign before its last block.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StopRule {
    /// Widest allowed interval of any cell's ratio to the first, as a share. Not checked before
    /// [`FEWEST_BLOCKS`].
    pub ci_width: Option<f64>,
    /// Time limit: no block begins that would end later than this after the start.
    pub budget: Option<Nanos>,
}

impl CampaignSpec {
    /// Estimates one block, without commands and changes by hand.
    pub fn block_estimate(&self, topology: &Topology) -> Estimate {
        let of = |cell: &Vec<usize>| {
            let there = place::topology(self, cell, topology);
            let studies = self.studies.iter();
            studies.map(|study| place::study(self, cell, study).estimate(&there)).sum::<Estimate>()
        };
        let first = self.cells.first().map_or(Estimate::NONE, of);
        self.cells.iter().map(of).sum::<Estimate>() * u64::from(self.repetitions.get()) + first
    }

    /// Estimates the campaign as [`StudySpec::estimate`] does; at most the budget.
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let all = self.block_estimate(topology) * u64::from(self.blocks.get());
        let searching = all.searching || self.stop.ci_width.is_some();
        match self.stop.budget.filter(|budget| *budget < all.time) {
            Some(budget) => {
                let share = budget.as_secs_f64() / all.time.as_secs_f64();
                Estimate {
                    trials: (all.trials as f64 * share) as u64,
                    time: budget,
                    searching,
                    ..all
                }
            }
            None => Estimate { searching, ..all },
        }
    }

    /// Number of changes by hand if the campaign runs to its last block.
    pub fn changes_by_hand(&self) -> u64 {
        if !self.has_hands() {
            return 0;
        }
        1 + (cells::settings(self) as u64 - 1) * u64::from(self.blocks.get())
    }

    fn has_hands(&self) -> bool {
        let mut levels = self.factors.iter().flat_map(|factor| &factor.levels);
        levels.any(|level| level.means == Means::Hands)
    }

    /// See [`StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        if self.cells.is_empty() {
            return Err(SpecProblem::Nothing { what: "allowed combination of levels" });
        }
        if self.studies.is_empty() {
            return Err(SpecProblem::Nothing { what: "study" });
        }
        known.topology.map_or(Ok(()), |whole| place::check_ports(self, whole))?;
        for cell in &self.cells {
            let there = known.topology.map(|whole| place::topology(self, cell, whole));
            let known = Known { topology: there.as_ref(), ..known };
            self.studies
                .iter()
                .try_for_each(|study| place::study(self, cell, study).check(known))?;
        }
        Ok(())
    }

    /// Needs of the campaign itself: empty, as its studies state theirs.
    pub fn needs(&self) -> Needs {
        Needs::default()
    }

    /// See [`StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>, TestbedError> {
        let topology = testbed.topology().clone();
        let ran = self.carry_out(testbed, seed)?;
        let mut figures = figures::of_cells(self, &ran, None, &topology);
        figures.extend(findings::control(self, &ran));
        figures.extend(findings::shares(self, &ran));
        Ok(figures)
    }

    /// Calls `hear` with each block and the figures of that block alone. The testbed must answer as
    /// it did in the run.
    pub fn per_block(
        &self,
        testbed: &mut dyn Testbed,
        seed: u64,
        hear: &mut dyn FnMut(usize, &[Figure]),
    ) -> Result<(), TestbedError> {
        let topology = testbed.topology().clone();
        let ran = self.carry_out(testbed, seed)?;
        let last = ran.iter().map(|one| one.block + 1).max().unwrap_or(0);
        for block in 0..last {
            hear(block as usize, &figures::of_cells(self, &ran, Some(block), &topology));
        }
        Ok(())
    }

    /// Compares every level with the first of its factor. Sizes are excepted, as they are cases of
    /// their own.
    pub fn comparisons(
        &self,
        run: &str,
        figures: &[Figure],
        comparable: &Comparable,
    ) -> Vec<Compared> {
        let mut all = Vec::new();
        for factor in self.factors.iter().filter(|factor| !factor.is_size()) {
            let Some((first, others)) = factor.levels.split_first() else { continue };
            // A device's name needs no word before it.
            let names = |level: &Level| match level.means {
                Means::Device(_) => level.name.clone(),
                _ => format!("{} {}", factor.name, level.name),
            };
            let of = |level| Some(Of { factor: &factor.name, level });
            let reference = names(first);
            for level in others {
                let subject = names(level);
                let own = Side {
                    name: &subject,
                    run,
                    subject: None,
                    level: of(&level.name),
                    figures,
                    comparable,
                };
                let other = Side { name: &reference, level: of(&first.name), ..own };
                all.push(compare(&own, &other, MARGIN));
            }
        }
        all
    }

    fn carry_out(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Ran>, TestbedError> {
        let topology = testbed.topology().clone();
        let mut order = cells::Order::new(self, seed);
        let mut watch = Watch::new(testbed);
        let (mut ran, mut asked) = (Vec::new(), 0);
        for block in 0..self.blocks.get() {
            watch.begin_block();
            for turn in order.next_block() {
                let cell = &self.cells[turn.cell];
                let name = self.cell_name(cell) + turn.suffix();
                let there = place::topology(self, cell, &topology);
                let mut figures = Vec::new();
                for (at, (own, study)) in numbered(&self.studies).enumerate() {
                    let study = place::study(self, cell, study);
                    let mut seat = watch.seat(&there, block, &name, self.settings(cell));
                    let seed = turn.seed.wrapping_add(at as u64);
                    figures.extend(study.run_as(own, &mut seat, &mut asked, seed)?);
                }
                ran.push(Ran { cell: turn.cell, control: turn.control, block, figures });
            }
            if self.is_enough(block + 1, &ran, &watch) {
                break;
            }
        }
        Ok(ran)
    }

    fn is_enough(&self, blocks: u32, ran: &[Ran], watch: &Watch<'_>) -> bool {
        let spent = watch.spent();
        let next = spent + Nanos(spent.0 / u64::from(blocks));
        let over = self.stop.budget.is_some_and(|budget| next > budget);
        let narrow = self.stop.ci_width.is_some_and(|width| {
            blocks >= FEWEST_BLOCKS && findings::widest(self, ran).is_some_and(|w| w <= width)
        });
        over || narrow
    }

    /// `sw1 x722`
    fn cell_name(&self, cell: &[usize]) -> String {
        let levels = self.levels(cell).map(|(_, level)| level.name.as_str());
        levels.collect::<Vec<_>>().join(" ")
    }

    fn levels<'a>(&'a self, cell: &'a [usize]) -> impl Iterator<Item = (&'a Factor, &'a Level)> {
        let known = |(factor, at): (&'a Factor, &usize)| Some((factor, factor.levels.get(*at)?));
        self.factors.iter().zip(cell).filter_map(known)
    }

    fn settings(&self, cell: &[usize]) -> Vec<Setting> {
        let hands = self.levels(cell).filter(|(_, level)| level.means == Means::Hands);
        let step = |(factor, level): (&Factor, &Level)| Setting {
            factor: factor.name.clone(),
            level: level.name.clone(),
        };
        hands.map(step).collect()
    }
}

impl Varied for CampaignSpec {
    fn subjects(&self) -> Vec<Subject> {
        let of = |cell: &Vec<usize>| {
            let studies = self.studies.iter();
            studies.flat_map(|study| place::study(self, cell, study).subjects()).collect::<Vec<_>>()
        };
        self.cells.iter().flat_map(of).collect()
    }

    /// Does nothing: the factors decide the subject.
    fn set_subject(&mut self, _subject: Subject) {}
}
