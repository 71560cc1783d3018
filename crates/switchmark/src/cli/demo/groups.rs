//! The demo's switch that blocks: sixteen modelled ports in three groups behind uplinks that are
//! short.
//!
//! Owns its study, and which groups its profile has. Never builds a lab.

use device::profile::Group;
use measure::{Nanos, Rate};
use study::{Arrangement, Blocks, FabricSpec, Nodes, StudySpec};
use trial::Carrier;

use crate::cli::Failure;
use crate::config::resolved::{Source, Testbed};
use crate::config::testbed;

/// Name of the switch and of its testbed.
pub const BLOCKING: &str = "sim:blocking-16";

/// A simulated switch of sixteen ports that blocks.
pub fn run() -> Result<(Testbed, Vec<StudySpec>), Failure> {
    Ok((testbed::from_argument("--testbed", BLOCKING)?, vec![StudySpec::Fabric(study())]))
}

/// Neighbours and the arrangement that crosses most, and which ports share an uplink.
fn study() -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours, Arrangement::Offset(8)],
        nodes: Nodes::These(vec![2, 16]),
        messages: Vec::new(),
        carrier: Carrier::Datagrams { credits: 64 },
        infer: true,
        duration: Nanos::from_millis(100),
        blocks: Blocks::known(2),
        ..FabricSpec::quick()
    }
}

/// The groups in its profile: their ports, from 1, and what their uplinks carry.
pub fn known_groups() -> Vec<(Vec<u16>, Rate)> {
    let place = testbed::from_argument("demo", BLOCKING).map(|place| place.source);
    let Ok(Source::Virtual(config)) = place else { return Vec::new() };
    let groups = config.profile.devices().iter().flat_map(|device| &device.groups);
    let ports = |group: &Group| group.ports.iter().map(|port| port + 1).collect();
    groups.filter_map(|group| Some((ports(group), group.uplink?))).collect()
}
