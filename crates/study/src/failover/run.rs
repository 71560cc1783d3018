//! Trials of the failover study: in each block one without a deed for each kind of flows, and one
//! for each deed.
//!
//! Owns their order, their flows and their events, and keeps the few trials that the page shows.
//! Never reads the flows of a record.

use std::collections::BTreeMap;

use super::FailoverSpec;
use super::finding::FailoverFinding;
use super::rows;
use super::treatment::Treatment;
use crate::burst;
use crate::session::{Ask, Session};
use crate::view::FirstOfEach;
use crate::ways::{Way, Ways};
use trial::topology::KnownDeed;
use trial::{
    Backend, Datagrams, Deed, Event, Flow, FlowKind, Gate, Headers, Observed, Result, Schedule,
    Spread, Testbed, Topology,
};

/// Maximum number of trials that are shown flow by flow.
const MOST_SHOWN: usize = 16;

impl FailoverSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<FailoverFinding> {
        let topology = testbed.topology().clone();
        let mut firsts = FirstOfEach::new(MOST_SHOWN);
        let mut observed = Observed::new(testbed, |trial, record| firsts.take(trial, record));
        let mut session = Session::new(
            &mut observed,
            "failover",
            |t| self.ways(t),
            seed,
            self.profile,
            self.tries,
        )?;
        let ways = session.ways.subjects();
        let treatments = |way| (way, self.treatments(&topology, &session.ways, way));
        let mut treatments: BTreeMap<Way, Vec<Treatment>> =
            ways.iter().copied().map(treatments).collect();
        let most = treatments.values().map(Vec::len).max().unwrap_or(0);
        session.in_blocks(self.blocks, most, &ways, |session, block, (at, way)| {
            let all = treatments.get_mut(&way);
            let Some(treatment) = all.and_then(|all| all.get_mut(at)) else { return Ok(()) };
            let tried = session.run(Ask {
                label: self.label(treatment) + &session.ways.label(way),
                way,
                block,
                duration: self.load(),
                // A deed may take the tester's links down. Losses in the tester's own queues show
                // in the trials without a deed.
                gate: Gate::Flood,
                flows: self.trial_flows(treatment.spread, &session.ways, way),
                events: treatment.deed.as_ref().map_or_else(Vec::new, |deed| self.events(deed)),
            })?;
            treatment.trials.take(&tried, self, treatment.spread);
            Ok(())
        })?;
        let ways = session.ways;
        Ok(FailoverFinding { cases: rows::cases(self, &treatments, &ways), firsts })
    }

    /// Treatments: all kinds of flows without a deed, then all deeds with the first kind.
    fn treatments(&self, topology: &Topology, ways: &Ways, way: Way) -> Vec<Treatment> {
        let controls = self.spreads.iter().map(|spread| Treatment::new(*spread, None));
        let deeds = self.deeds(topology, ways, way).into_iter();
        controls.chain(deeds.map(|deed| Treatment::new(self.spreads[0], Some(deed)))).collect()
    }

    /// `failover link-down`, `failover nothing, by addresses`
    fn label(&self, treatment: &Treatment) -> String {
        let label = format!("failover {}", treatment.name());
        match &self.spreads[..] {
            [_, _, ..] => format!("{label}, by {}", rows::told_apart(treatment.spread)),
            _ => label,
        }
    }

    /// Flows whose frames take turns, so that each has a conversation of its own.
    fn trial_flows(&self, spread: Spread, ways: &Ways, way: Way) -> Vec<Flow> {
        let schedule = Schedule::Paced(self.load_rate(spread));
        let limit = burst::limit(schedule);
        let kind = FlowKind::Datagrams(Datagrams {
            headers: Headers { spread, ..Headers::default() },
            conversations: true,
            ..Datagrams::plain(self.frame_size, schedule, Backend::Auto, limit)
        });
        let pair = ways.pair(way);
        let back = self.bidirectional.then(|| pair.back());
        Flow::each_measured(std::iter::once(pair).chain(&back), &kind)
    }

    /// Events of a deed. One that cannot be undone has the whole trial to end by itself.
    fn events(&self, deed: &KnownDeed) -> Vec<Event> {
        let name = deed.name.clone();
        let undone = self.before + self.away;
        let back = Event { at: undone, deed: Deed::Undo { name: name.clone() } };
        let begun = Event { at: self.before, deed: Deed::Do { name } };
        std::iter::once(begun).chain(deed.undo.then_some(back)).collect()
    }
}
