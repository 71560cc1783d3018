//! Trials of the tcp study: each direction on each path once per block, in random order.
//!
//! Owns the number of trials kept to be shown over time. Never reads a record.

use super::TcpSpec;
use super::cell;
use super::finding::TcpFinding;
use super::rows::Data;
use crate::session::{Ask, Session};
use trial::{Gate, Result, Testbed};

/// Maximum number of cases whose first valid trial is kept.
const MOST_SHOWN: usize = 12;

impl TcpSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<TcpFinding> {
        let topology = testbed.topology().clone();
        let mut session =
            Session::new(testbed, "tcp", |t| self.ways(t), seed, self.profile, self.tries)?;
        session.offloads = Self::OFFLOADS;
        let mut data = Data::new();
        let mut shown = 0;
        let ways = session.ways.all();
        session.in_blocks(
            self.blocks,
            self.directions.len(),
            &ways,
            |session, block, (at, way)| {
                let direction = self.directions[at];
                let tried = session.run(Ask {
                    label: cell::label(self, direction) + &session.ways.label(way),
                    way,
                    block,
                    duration: self.omit + self.duration,
                    gate: Gate::Uneven,
                    flows: cell::flows(self, direction, session.ways.pair(way)),
                    events: Vec::new(),
                })?;
                let cell = data.entry((at, way)).or_default();
                cell.take(&tried, self);
                if shown < MOST_SHOWN && cell.take_first(&tried) {
                    shown += 1;
                }
                Ok(())
            },
        )?;
        Ok(TcpFinding::new(self, &data, &session.ways, &topology))
    }
}
