//! Trials of a fabric study: every round of every cell in each block, in random order, then the
//! floods.
//!
//! Owns the order of trials, and the choice of those kept for the page. `finding` interprets the
//! records.

use measure::Nanos;
use rand::SeedableRng as _;
use rand_pcg::Pcg64;

use super::collective::{CollectiveData, Collectives};
use super::control::{self, Controls};
use super::finding::{FabricFinding, Measured, Structures, doubted, suspects};
use super::floods::Flooding;
use super::infer::infer;
use super::probe::{self, Probes};
use super::quiet::{self, Quiets};
use super::rounds::Data;
use super::scene::Scene;
use super::{FabricSpec, Place, gone};
use crate::view::streams::Firsts;
use crate::{Ask, Estimate, Session, Ways};
use trial::topology::Topology;
use trial::{Gate, Observed, Result, Testbed};

/// Typical number of floods of a scene: as many as a device with four groups needs.
const TYPICAL_FLOODS: u64 = 16;

/// Typical length of a flood.
const TYPICAL_LOAD: Nanos = Nanos::from_millis(150);

impl FabricSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<FabricFinding> {
        let topology = testbed.topology().clone();
        let mut streams = Firsts::default();
        let mut observed = Observed::new(testbed, |trial, record| streams.take(trial, record));
        let mut session = Session::new(
            &mut observed,
            "fabric",
            |t| self.ways(t),
            seed,
            self.profile,
            self.tries,
        )?;
        let scenes = Scene::all(self, &topology, &session.ways, seed);
        let (mut data, mut collectives) = (Data::new(), Collectives::new());
        for block in 0..self.blocks.get() {
            let mut order: Vec<Turn> =
                (0..scenes.len()).flat_map(|at| turns(&scenes[at], at)).collect();
            session.shuffle_block(&mut order, |turn| scenes[turn.scene()].way);
            for turn in order {
                match turn {
                    Turn::Exchange(place) => {
                        self.exchange(&mut session, &scenes, place, block, &mut data)?;
                    }
                    Turn::Collective { scene, at } => {
                        let kept = collectives.entry((scene, at)).or_default();
                        self.collective(&mut session, &scenes[scene], at, block, kept)?;
                    }
                }
            }
        }
        gone::forget(&mut data, &scenes);
        let probes = self.probe(&mut session, &scenes, &data, seed)?;
        let quiets = self.quiet(&mut session, &scenes, &topology)?;
        let controls = self.control(&mut session, &scenes, &data, seed)?;
        let structures = flood(&scenes, &topology, &mut session, seed)?;
        let Session { ways, .. } = session;
        let measured = Measured {
            spec: self,
            scenes: &scenes,
            data: &data,
            collectives: &collectives,
            structures: &structures,
            probes: &probes,
            quiets: &quiets,
            controls: &controls,
            ways: &ways,
            seed,
        };
        let scenes = measured.found();
        Ok(FabricFinding { message: self.message, scenes, streams })
    }

    /// Probes the slow ports of every scene.
    fn probe(
        &self,
        session: &mut Session<'_>,
        scenes: &[Scene],
        data: &Data,
        seed: u64,
    ) -> Result<Probes> {
        let mut found = Probes::new();
        for (at, scene) in scenes.iter().enumerate().filter(|_| self.controls) {
            let suspects = self.so_far(session, scenes, data, seed, |so_far| suspects(so_far, at));
            found.extend(probe::run(self, session, scene, suspects)?.map(|probed| (at, probed)));
        }
        Ok(found)
    }

    /// Counts the losses of every scene whose ports are compared.
    fn quiet(
        &self,
        session: &mut Session<'_>,
        scenes: &[Scene],
        topology: &Topology,
    ) -> Result<Quiets> {
        let mut found = Quiets::new();
        for (at, scene) in scenes.iter().enumerate().filter(|_| self.controls) {
            if scene.is_asked(&session.ways) {
                found.insert(at, quiet::run(self, session, scene, topology)?);
            }
        }
        Ok(found)
    }

    /// Measures pairs one at a time where the exchanges lean to a *no*.
    fn control(
        &self,
        session: &mut Session<'_>,
        scenes: &[Scene],
        data: &Data,
        seed: u64,
    ) -> Result<Controls> {
        let mut found = Controls::new();
        for at in 0..scenes.len() {
            let doubted = self.so_far(session, scenes, data, seed, |so_far| doubted(so_far, at));
            if let Some(place) = doubted {
                found.insert(at, control::run(self, session, scenes, data, place)?);
            }
        }
        Ok(found)
    }

    /// Applies `find` to the exchanges alone, before any trial that follows from them.
    fn so_far<T>(
        &self,
        session: &Session<'_>,
        scenes: &[Scene],
        data: &Data,
        seed: u64,
        find: impl Fn(Measured<'_>) -> T,
    ) -> T {
        find(Measured {
            spec: self,
            scenes,
            data,
            collectives: &Collectives::new(),
            structures: &Structures::new(),
            probes: &Probes::new(),
            quiets: &Quiets::new(),
            controls: &Controls::new(),
            ways: &session.ways,
            seed,
        })
    }

    /// Runs one trial of a round.
    fn exchange(
        &self,
        session: &mut Session<'_>,
        scenes: &[Scene],
        place: Place,
        block: u32,
        data: &mut Data,
    ) -> Result<()> {
        let scene = &scenes[place.0];
        let cell = &scene.cells[place.1];
        let round = &cell.rounds[place.2];
        let tried = session.run(Ask {
            label: cell.label(round) + &session.ways.label(scene.way),
            way: scene.way,
            block,
            duration: self.duration,
            // One-way TCP reaches the tester's own limit.
            gate: if round.one_way { Gate::Flood } else { Gate::Strict },
            flows: round.flows(cell.message, self),
            events: Vec::new(),
        })?;
        data.entry(place).or_default().take(block, round, &tried, self);
        Ok(())
    }

    /// Runs one trial of a collective.
    fn collective(
        &self,
        session: &mut Session<'_>,
        scene: &Scene,
        at: usize,
        block: u32,
        kept: &mut CollectiveData,
    ) -> Result<()> {
        let cell = &scene.collectives[at];
        let tried = session.run(Ask {
            label: cell.label() + &session.ways.label(scene.way),
            way: scene.way,
            block,
            duration: cell.duration,
            gate: Gate::Strict,
            flows: cell.flows(self),
            events: Vec::new(),
        })?;
        kept.take(cell, &tried);
        Ok(())
    }

    /// Estimates the trials that follow from the exchanges where a port may be slow, or the device
    /// block: all probes, and the control.
    pub(super) fn estimate_after(&self, scene: &Scene, ways: &Ways) -> Estimate {
        if !self.controls || !scene.is_asked(ways) {
            return Estimate::NONE;
        }
        let pairs = scene.most_pairs().min(scene.ports.len() / 2);
        let single = self.profile.trial(self.duration);
        let round = single.with_flows(pairs as u64);
        // Without direct cables nothing leans to a *no*.
        let control = match ways.bypass_of(scene.way) {
            Some(_) => round + single * control::singles(pairs),
            None => Estimate::NONE,
        };
        let probes = round * probe::rounds(scene.ports.len());
        let block = probes + quiet::estimate(self, scene) + control;
        (block * u64::from(self.blocks.get())).searching()
    }

    /// Estimates trials and time of a scene's floods; their actual number shows as they run.
    pub(super) fn estimate_floods(&self, scene: &Scene) -> Estimate {
        if scene.floods {
            (self.profile.trial(TYPICAL_LOAD) * TYPICAL_FLOODS).searching()
        } else {
            Estimate::NONE
        }
    }
}

/// Trial of a block.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// Round of a cell.
    Exchange(Place),
    /// Collective of a scene, by its place there.
    Collective { scene: usize, at: usize },
}

impl Turn {
    const fn scene(&self) -> usize {
        match self {
            Self::Exchange((scene, ..)) | Self::Collective { scene, .. } => *scene,
        }
    }
}

/// Trials of a scene in one block.
fn turns(scene: &Scene, number: usize) -> impl Iterator<Item = Turn> {
    let exchanges = scene.places().map(move |(c, r)| Turn::Exchange((number, c, r)));
    let collectives =
        (0..scene.collectives.len()).map(move |at| Turn::Collective { scene: number, at });
    exchanges.chain(collectives)
}

/// Floods every scene that requests it.
fn flood(
    scenes: &[Scene],
    topology: &Topology,
    session: &mut Session<'_>,
    seed: u64,
) -> Result<Structures> {
    let mut found = Structures::new();
    for (at, scene) in scenes.iter().enumerate().filter(|(_, scene)| scene.floods) {
        let chance = Pcg64::seed_from_u64(seed);
        let mut flooding = Flooding {
            session,
            scene,
            rates: scene.ports.iter().map(|port| topology.rate(port)).collect(),
            chance: chance.clone(),
            outruns: !topology.is_simulated(),
            stretch: 1,
            paused: false,
        };
        found.insert(at, infer(scene.ports.len(), &mut flooding, &chance)?);
    }
    Ok(found)
}
