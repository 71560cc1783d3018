//! Findings of a fabric study: the exchanges of every cell, groups of ports behind short uplinks,
//! and whether each device is non-blocking.
//!
//! Owns the structure and the order of its rows. The files below compute the values; never draws.

mod collectives;
mod even;
mod exchanges;
mod expected;
mod groups;
mod lossy;
mod nonblocking;
mod own;
mod reconcile;
mod slow;

use measure::ByteCount;
use std::collections::BTreeMap;

use page::{Figure, Key};
use trial::{Carrier, PortRef};

use super::FabricSpec;
use super::collective::Collectives;
use super::control::Controls;
use super::infer::Inferred;
use super::probe::Probes;
use super::quiet::Quiets;
use super::rounds::Data;
use super::scene::Scene;
use crate::view::Who;
use crate::view::streams::Firsts;
use crate::{Row, Ways};

#[cfg(test)]
pub(super) use exchanges::PairCase;
pub(super) use exchanges::{Exchange, Goodput, Met};
use own::OwnRates;

pub(super) use collectives::CollectiveFinding;
pub(super) use even::Evenness;

pub(super) use groups::PortGroups;
pub(super) use nonblocking::{Nonblocking, Share, ShareRange, doubted};
pub(super) use slow::{How, Sign, SlowPort, suspects};

/// Structures inferred from floods, by scene.
pub(super) type Structures = BTreeMap<usize, Inferred>;

/// All findings of a fabric study.
#[derive(Debug)]
pub struct FabricFinding {
    /// Message size of the table by nodes.
    pub(super) message: ByteCount,
    pub(super) scenes: Vec<SceneFinding>,
    pub(super) streams: Firsts,
}

/// Findings on one device in one of its variants, or on its direct cables.
#[derive(Debug)]
pub(super) struct SceneFinding {
    pub(super) who: Who,
    /// Names of the ports, in the device's order.
    pub(super) ports: Vec<String>,
    pub(super) exchanges: Vec<Exchange>,
    /// Pairs of the arrangements of several rounds.
    pub(super) met: Vec<Met>,
    pub(super) collectives: Vec<CollectiveFinding>,
    /// Ports that are slow with every partner.
    pub(super) slow: Vec<SlowPort>,
    /// Comparison of the ports with each other, where nothing says more.
    pub(super) evenness: Option<Evenness>,
    /// Groups of ports; `None` without a flood.
    pub(super) groups: Option<PortGroups>,
    /// Non-blocking answer; `None` for direct cables.
    pub(super) nonblocking: Option<Nonblocking>,
}

impl FabricFinding {
    /// Findings of the devices, in the order of the table.
    pub(super) fn devices(&self) -> Vec<&SceneFinding> {
        let mut devices: Vec<&SceneFinding> =
            self.scenes.iter().filter(|scene| !scene.who.is_cable()).collect();
        devices.sort_by(|a, b| a.who.cmp(&b.who));
        devices
    }

    /// Exchange over the direct cables that belongs to a device's.
    pub(super) fn over_cables(&self, exchange: &Exchange) -> Option<&Exchange> {
        let place = exchange.cables?;
        self.scenes.get(place.scene)?.exchanges.get(place.cell)
    }
}

impl FabricFinding {
    /// All values, in the order of the rows.
    pub(super) fn values_mut(&mut self) -> Vec<&mut Figure> {
        let (mut all, mut floods, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for scene in &mut self.scenes {
            all.extend(scene.exchanges.iter_mut().flat_map(Exchange::values));
            floods.extend(scene.groups.iter_mut().flat_map(PortGroups::values));
            all.extend(scene.collectives.iter_mut().flat_map(CollectiveFinding::values));
            let signs = scene.slow.iter_mut().flat_map(|port| &mut port.signs);
            answers.extend(signs.map(|sign| &mut sign.value));
            answers.extend(scene.nonblocking.iter_mut().map(|answer| &mut answer.value));
        }
        all.extend(floods);
        all.extend(answers);
        all
    }
}

/// Everything requested and kept, from which the findings are made.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    pub(super) spec: &'a FabricSpec,
    pub(super) scenes: &'a [Scene],
    pub(super) data: &'a Data,
    pub(super) collectives: &'a Collectives,
    pub(super) structures: &'a Structures,
    pub(super) probes: &'a Probes,
    pub(super) quiets: &'a Quiets,
    pub(super) controls: &'a Controls,
    pub(super) ways: &'a Ways,
    pub(super) seed: u64,
}

impl Measured<'_> {
    /// Computes the findings on each scene.
    pub(super) fn found(self) -> Vec<SceneFinding> {
        (0..self.scenes.len()).map(|at| self.scene(at)).collect()
    }

    fn scene(self, at: usize) -> SceneFinding {
        let scene = &self.scenes[at];
        let found = self.structures.get(&at);
        let mut groups = found.map(|found| PortGroups::new(self, scene, found));
        let own = OwnRates::new(self, at);
        let slow =
            if scene.is_asked(self.ways) { slow::slow_ports(self, at, &own) } else { Vec::new() };
        let is_slow = |port: &PortRef| slow.iter().any(|one| one.port == *port);
        let mut nonblocking = nonblocking::answer(self, at);
        let has_control = self.spec.controls;
        if let Some(answer) = nonblocking.as_mut().filter(|_| !has_control && !slow.is_empty()) {
            reconcile::excuse(answer);
        }
        if let (Some(groups), Some(answer)) = (&mut groups, &mut nonblocking) {
            let is_slow = |at: usize| is_slow(&scene.ports[at]);
            reconcile::reconcile(groups, answer, self.spec.margin, &is_slow);
        }
        let is_all = nonblocking.as_ref().is_some_and(Nonblocking::compares_nothing);
        let evenness = is_all.then(|| even::evenness(self, at, &own, &slow)).flatten();
        SceneFinding {
            who: self.ways.place(scene.way).who,
            ports: scene.ports.iter().map(PortRef::to_string).collect(),
            exchanges: exchanges::all(self, at),
            met: exchanges::met(self, at),
            collectives: collectives::all(self, at),
            slow,
            evenness,
            groups,
            nonblocking,
        }
    }

    /// Conditions and caveats that all rows of a scene share.
    fn row(self, scene: &Scene) -> Row {
        let mut row = Row::for_path(self.ways, scene.way, self.spec.profile);
        // A row covers many pairs.
        row.conditions.remove(&Key::From);
        row.conditions.remove(&Key::To);
        match self.spec.carrier {
            Carrier::Tcp => row.set(Key::Carrier, "tcp"),
            Carrier::Datagrams { credits } => {
                row.set(Key::Carrier, "datagrams");
                row.set(Key::Credits, u64::from(credits));
            }
        }
        row.set(Key::Ports, scene.ports.len() as u64);
        row.set(Key::RateConvention, "payload");
        row
    }
}
