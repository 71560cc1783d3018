//! Trials of the buffer study: every cell on every path, in random order, block by block.
//!
//! Owns the order of the trials. Never judges one.

use std::collections::BTreeMap;

use super::cell::{Beside, Case, Cell, CellData};
use super::ends::Ends;
use super::finding::BufferFinding;
use super::rows::Measured;
use super::{BufferSpec, fit};
use crate::view::streams::Firsts;
use crate::{Ask, Session, SpecProblem, Ways};
use trial::{Gate, Observed, Result, Testbed};

/// Maximum number of trials shown.
const MOST_TRIALS: usize = 12;

impl BufferSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<BufferFinding> {
        let mut firsts = Firsts::new(MOST_TRIALS);
        let mut observed = Observed::new(testbed, |trial, record| firsts.take(trial, record));
        let measured = self.measure(&mut observed, seed)?;
        Ok(BufferFinding::new(&measured, firsts))
    }

    fn measure(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Measured<'_>> {
        let topology = testbed.topology().clone();
        let lost = |problem: SpecProblem| problem.lost("buffer");
        let mut session =
            Session::new(testbed, "buffer", |t| self.ways(t), seed, self.profile, self.tries)?;
        let cases = self.cases(&session.ways);
        let none = |case: &Case| (*case, CellData::default());
        let mut data: BTreeMap<Case, CellData> = cases.iter().map(none).collect();
        let cells = self.cells();
        for block in 0..self.blocks.get() {
            let mut order = cases.clone();
            session.shuffle_block(&mut order, |case| case.way);
            for case in order {
                let ends = Ends::new(session.ways.pair(case.way), self, &topology).map_err(lost)?;
                let link = fit::link_rate(self, &topology, &ends.to);
                let cell = &cells[case.cell];
                let tried = session.run(Ask {
                    label: cell.label(self) + &session.ways.label(case.way),
                    way: case.way,
                    block,
                    duration: self.omit + self.duration,
                    gate: Gate::Uneven,
                    flows: cell.flows(&ends, self, link),
                    events: Vec::new(),
                })?;
                data.entry(case).or_default().take(&tried, self);
            }
        }
        Ok(Measured { spec: self, topology, ways: session.ways, cells, cases, data })
    }

    /// TCP alone first; then next to each load, and next to the same load in the other direction.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for control in &self.congestion_controls {
            for &streams in &self.streams {
                let mut loads = vec![Beside::Nothing];
                for &background in &self.backgrounds {
                    loads.extend([Beside::SameWay(background), Beside::OtherWay(background)]);
                }
                let cell =
                    |beside| Cell { control: control.clone(), streams: streams.get(), beside };
                cells.extend(loads.into_iter().map(cell));
            }
        }
        cells
    }

    /// Every cell on the subjects' paths, and TCP alone over the direct cables.
    pub(super) fn cases(&self, ways: &Ways) -> Vec<Case> {
        let cells = self.cells();
        let all = || (0..cells.len()).collect::<Vec<_>>();
        let alone = || all().into_iter().filter(|at| cells[*at].beside == Beside::Nothing);
        let mut cases = Vec::new();
        for way in ways.subjects() {
            cases.extend(all().into_iter().map(|cell| Case { way, cell }));
        }
        for way in ways.bypasses() {
            cases.extend(alone().map(|cell| Case { way, cell }));
        }
        cases
    }
}
