//! Trials of the depth study: each output's estimators, then the buffer's unit and sharing, and the
//! direct cable as the control.
//!
//! Owns their order. Never interprets them.

use measure::FrameSize;

use super::finding::DepthFinding;
use super::rig::Rig;
use super::{DepthSpec, cells, filling, outlets, rows, sharing};
use crate::{SpecProblem, Ways};
use trial::{Result, Testbed};

impl DepthSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<DepthFinding> {
        let lost = |problem: SpecProblem| problem.lost("depth");
        let topology = testbed.topology().clone();
        let outlets = outlets::choose(self, &topology).map_err(lost)?;
        let ways = match &self.subject {
            Some(subject) => Ways::new(&topology, std::slice::from_ref(subject)).map_err(lost)?,
            None => Ways::over(&topology, outlets[0].pair()),
        };
        let mut rig = Rig::new(self, &topology, testbed, ways, seed);
        let mut found = Vec::new();
        // The place of a queue is known only below the device's packet limit.
        if self.tells_more() {
            rig.limit = rig.packet_limit(&outlets[0])?;
            if rig.limit.is_none() {
                rig.send_together(&outlets::ring(self, &topology, &outlets[0]))?;
            }
        }
        for (at, outlet) in outlets.iter().enumerate() {
            let whole = at == 0 || outlet.to == outlets[0].to;
            found.push(filling::measure_output(&mut rig, outlet, self.size, whole)?);
        }
        let filled = found.iter().find(|one| one.is_filled()).cloned();
        if let Some(one) = filled.as_ref().filter(|_| rig.limit.is_some()) {
            found.push(filling::measure_output(&mut rig, &one.outlet, FrameSize::MIN, true)?);
        }
        let first = filled.as_ref();
        let cells = match first {
            Some(one) if !self.sizes.is_empty() => Some(cells::measure_sizes(&mut rig, one)?),
            _ => None,
        };
        let groups = outlets::together(self, &topology, &outlets[0]);
        let queues = outlets::count_ports_on_device(self, &topology, &outlets[0]);
        let sharing = match first {
            Some(one) => sharing::overfill_outputs(&mut rig, one, cells.as_ref(), &groups, queues)?,
            None => None,
        };
        let burst = first.and_then(|one| Some((one.burst()?, one.outlet.senders.len())));
        let direct = match burst {
            Some((burst, senders)) => rig.direct(burst.frames, burst.seconds, senders)?,
            None => None,
        };
        Ok(rows::finding(&rig, &found, cells.as_ref(), sharing.as_ref(), direct))
    }
}
