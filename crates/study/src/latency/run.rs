//! Order of the latency study's trials: every cell on every path in each block.
//!
//! Never interprets a record.

use super::cell::Cell;
use super::finding::{LatencyFinding, Surroundings};
use super::spec::LatencySpec;
use crate::session::{Ask, Session};
use crate::view::streams::Firsts;
use crate::ways::Way;
use trial::{Gate, Testbed, TestbedError};

impl LatencySpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(
        &self,
        testbed: &mut dyn Testbed,
        seed: u64,
    ) -> Result<LatencyFinding, TestbedError> {
        let topology = testbed.topology().clone();
        let mut session =
            Session::new(testbed, "latency", |t| self.ways(t), seed, self.profile, self.tries)?;
        let ways = session.ways.all();
        let mut cells = self.cells(&ways);
        let mut streams = Firsts::default();
        session.in_blocks(self.blocks, cells.len(), &ways, |session, block, (at, way)| {
            let cell = &mut cells[at];
            let tried = session.run(Ask {
                label: cell.label() + &session.ways.label(way),
                way,
                block,
                duration: self.duration,
                gate: Gate::Strict,
                flows: cell.flows(session.ways.pair(way), self),
                events: Vec::new(),
            })?;
            streams.take(&tried.trial, &tried.record);
            cell.data.entry(way).or_default().take(block, &tried);
            Ok(())
        })?;
        let testbed = Surroundings { ways: &session.ways, topology: &topology };
        Ok(LatencyFinding::new(self, &cells, testbed, seed, streams))
    }

    /// Cells of every combination of load, protocol and size.
    fn cells(&self, paths: &[Way]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for load in &self.directed_loads() {
            for &protocol in &self.protocols {
                cells.extend(self.sizes.iter().map(|&size| Cell::new(load, protocol, size, paths)));
            }
        }
        cells
    }
}
