//! Order of the study's tests: a test runs after those whose results it needs.
//!
//! Owns that order, and the use of every trial for the curves and loads of the page. Never offers a
//! load itself.

use super::finding::{Curves, ForwardingFinding, Loads};
use super::rig::{Cell, Rig};
use super::{
    ForwardingSpec, ForwardingTest, back_to_back, flood, latency, loss_curve, recovery, reset,
    throughput,
};
use crate::Session;
use trial::{Observed, Result, Testbed};

/// Test of one cell of a subject.
type OfCell<T> = fn(&mut Rig<'_, '_>, Cell) -> Result<T>;

impl ForwardingSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<ForwardingFinding> {
        let (mut curves, mut loads) = (Curves::default(), Loads::default());
        let mut observed = Observed::new(testbed, |trial, record| {
            curves.take(trial, record);
            loads.take(trial, record);
        });
        let found = self.measure(&mut observed, seed)?;
        Ok(ForwardingFinding { curves, loads, ..found })
    }

    fn measure(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<ForwardingFinding> {
        let link = self.link(testbed.topology());
        let session =
            Session::new(testbed, "forwarding", |t| self.ways(t), seed, self.profile, self.tries)?;
        let mut rig = Rig::new(self, session);
        let mut found = ForwardingFinding { link, ..ForwardingFinding::default() };
        if self.wants(ForwardingTest::Flood) {
            found.floods = flood::run(&mut rig)?;
        }
        if self.wants(ForwardingTest::Throughput) {
            found.throughput = throughput::run(&mut rig)?;
        }
        if self.wants(ForwardingTest::Latency) {
            found.latency = latency::run(&mut rig)?;
        }
        let loss = self.each_cell(&mut rig, ForwardingTest::LossCurve, loss_curve::run)?;
        found.loss = loss.into_iter().flatten().collect();
        found.bursts = self.each_cell(&mut rig, ForwardingTest::BackToBack, back_to_back::run)?;
        found.recovery = self.each_cell(&mut rig, ForwardingTest::Recovery, recovery::run)?;
        found.resets = self.each_cell(&mut rig, ForwardingTest::Reset, reset::run)?;
        Ok(found)
    }

    fn each_cell<T>(
        &self,
        rig: &mut Rig<'_, '_>,
        test: ForwardingTest,
        run: OfCell<T>,
    ) -> Result<Vec<T>> {
        if !self.wants(test) {
            return Ok(Vec::new());
        }
        rig.subject_cells().into_iter().map(|cell| run(rig, cell)).collect()
    }
}
