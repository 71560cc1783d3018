//! Testbed whose trials take no real time: hosts around a modelled device, and direct cables beside
//! it.
//!
//! Owns the conversion of a trial to its record, in the phases of RFC 2544 §23. Each trial begins
//! with an idle device that then learns its hosts' addresses. Keeps only the virtual clock from one
//! trial to the next: chance is seeded by the testbed's seed and the trial's own name.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use device::Profile;
use measure::Nanos;
use trial::record::DeviceRecord;
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord, judge};

use crate::build::{Scene, Unfit};
use crate::deeds;
use crate::mishap::Mishap;
use crate::record::{Baseline, flow_records};
use crate::shared_state::{Lane, Window};
use crate::world::{Interrupted, World};
use crate::{Cabling, Death, HostModel, learning, topology};

/// Start of a new testbed's virtual clock: the beginning of 2026, in nanoseconds since 1970.
const EPOCH: u64 = 1_767_225_600_000_000_000;

/// Testbed that runs trials in virtual time.
#[derive(Debug)]
pub struct VirtualTestbed {
    topology: Topology,
    profile: Profile,
    hosts: HostModel,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
    clock: Nanos,
}

impl VirtualTestbed {
    /// Creates hosts `h1`… at the edges of `profile` from the first on, with the topology of a lab.
    /// Each has a port `eth1` to the device and, in pairs, a port `direct` on a cable of the same
    /// rate to the other. `seed` drives all random parts of the profile.
    pub fn new(name: &str, profile: Profile, hosts: HostModel, seed: u64) -> Self {
        let topology = topology::build(name, &profile, &hosts);
        Self { topology, profile, hosts, seed, stop: None, clock: Nanos(EPOCH) }
    }

    /// Changes the cabling of the same hosts.
    #[must_use]
    pub fn with_cabling(mut self, cabling: Cabling) -> Self {
        let both = topology::build(&self.topology.name, &self.profile, &self.hosts);
        self.topology = topology::cabled(both, cabling);
        self
    }

    /// Makes a trial end with [`TestbedError::Interrupted`] soon after `stop` is set.
    #[must_use]
    pub fn with_stop(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop: Some(stop), ..self }
    }

    fn conduct(&self, trial: &Trial) -> Result<TrialRecord, Mishap> {
        let topology = &self.topology;
        let scene = Scene { topology, profile: &self.profile, hosts: &self.hosts, trial };
        let start = learning::time(trial, &self.profile) + trial.phases.learned.into();
        let stop = start + trial.phases.load.into();
        let window = Window { start, stop, closed: stop + trial.phases.residual.into() };
        let (mut world, lanes) = scene.set_up(chance(self.seed, trial), window)?;
        let until = |death: Death| (Nanos(EPOCH) + death.after).saturating_sub(self.clock);
        world.death = self.hosts.dies.map(|death| until(death).into());
        self.learn(&mut world, &lanes, window)?;
        let before = Baseline::take(&mut world);
        world.hosts.begin(window);
        let deeds = deeds::carry_out(trial, &mut world, window, self.stop.as_deref())?;
        world.run(window.closed, self.stop.as_deref())?;
        let ports = before.changes(&world, &self.profile, topology);
        let flows = flow_records(&trial.flows, world.hosts.flows);
        let outcome = judge(trial, &flows, &ports, &[]);
        Ok(TrialRecord {
            ordinal: 0,
            started_unix_ns: (self.clock + start.to_nanos()).0,
            outcome,
            flows,
            ports,
            hosts: Vec::new(),
            start_spread: Nanos::ZERO,
            device: DeviceRecord { deeds, ..DeviceRecord::default() },
            unanswered: false,
        })
    }

    fn learn(&self, world: &mut World, lanes: &[Lane], window: Window) -> Result<(), Interrupted> {
        for (at, lane) in learning::frames(lanes, &self.profile) {
            world.run(at, self.stop.as_deref())?;
            learning::send(world, &lane);
        }
        learning::announce_stations(world, lanes, &self.profile, self.stop.as_deref())?;
        world.run(window.start, self.stop.as_deref())
    }
}

impl Testbed for VirtualTestbed {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Runs a trial. A congestion control without a model is unavailable; anything else that cannot
    /// be carried out is a failed record.
    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let record = match self.conduct(trial) {
            Ok(record) => record,
            Err(Mishap::Stopped) => return Err(TestbedError::Interrupted),
            Err(Mishap::Unfit(Unfit::Testbed(reason))) => {
                return Err(TestbedError::Unavailable { label: trial.label.clone(), reason });
            }
            Err(Mishap::Unfit(Unfit::Trial(reason))) => TrialRecord::failed(self.clock.0, reason),
        };
        let took = learning::time(trial, &self.profile).to_nanos() + trial.phases.total();
        self.clock += took;
        Ok(record)
    }
}

/// Seed of a trial: FNV-1a over its identity, so that a resumed study has the same chances.
fn chance(seed: u64, trial: &Trial) -> u64 {
    let numbers = [trial.block, trial.attempt].into_iter().flat_map(u32::to_le_bytes);
    let octets = seed.to_le_bytes().into_iter().chain(numbers).chain(trial.label.bytes());
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    })
}
