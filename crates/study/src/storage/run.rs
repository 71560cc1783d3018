//! Order of the storage study's trials: messages of the operations' own sizes alone, then next to
//! the fio job, for each size, depth and path, in blocks of random order.
//!
//! Never judges a record: the finding interprets the blocks.

use measure::{FrameRate, Nanos};

use super::StorageSpec;
use super::finding::StorageFinding;
use super::measured::Data;
use super::spec::{AROUND_FIO, LONGEST_REST};
use crate::{Ask, Session};
use trial::{Gate, Result, Testbed};

impl StorageSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<StorageFinding> {
        let topology = testbed.topology().clone();
        let mut session =
            Session::new(testbed, "storage", |t| self.ways(t), seed, self.profile, self.tries)?;
        let cells = self.cells();
        let mut data = Data::new();
        let ways = self.measured(&session.ways);
        let beside: Vec<FrameRate> =
            cells.iter().map(|cell| self.probe_rate(*cell, &topology, &session.ways)).collect();
        session.in_blocks(self.blocks, cells.len(), &ways, |session, block, (cell, way)| {
            let (at, pair) = (cells[cell], session.ways.pair(way));
            let label = at.label(self) + &session.ways.label(way);
            let ask = |label, duration, flows| Ask {
                label,
                way,
                block,
                duration,
                // Each RTT's record states what was sent; a late probe counts from its due time.
                gate: Gate::Uneven,
                flows,
                events: Vec::new(),
            };
            let rest = self.duration.min(LONGEST_REST);
            let alone = ask(
                format!("{label}, round trips alone"),
                rest,
                at.alone(pair, self, beside[cell]),
            );
            let job = ask(label, self.duration, at.flows(pair, self, beside[cell]));
            session.residual = Nanos::ZERO;
            let at_rest = session.run(alone)?;
            session.residual = AROUND_FIO;
            let tried = session.run(job)?;
            data.entry((cell, way)).or_default().take(block, &tried, &at_rest);
            Ok(())
        })?;
        Ok(StorageFinding::new(self, &data, &session.ways, &topology, seed))
    }
}
