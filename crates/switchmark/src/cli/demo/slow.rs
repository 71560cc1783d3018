//! The demo's slow cable: one of eight simulated hosts has a cable that damages frames.
//!
//! Owns the device, which cable it is, and the study. Never sends a packet.

use measure::Nanos;
use sim::HostModel;
use study::{Arrangement, Blocks, FabricSpec, Nodes, StudySpec};

use super::simulated;
use crate::config::resolved::Testbed;

/// The switch's name, and its testbed's.
const NAME: &str = "slow-cable";
pub const TESTBED: &str = "sim:demo-slow-cable";

const HOSTS: u16 = 8;
/// Number of the host with the bad cable.
const BAD: u16 = 4;
/// Share of the frames that the cable damages.
const DAMAGED: f64 = 0.01;
const TRIAL: Nanos = Nanos::from_millis(30);
/// As few as have a 95 % interval.
const BLOCKS: Blocks = Blocks::known(6);

/// Port with the bad cable.
pub fn guilty() -> String {
    format!("h{BAD}/eth1")
}

/// Exchanges in which each port meets several partners.
pub fn run() -> (Testbed, Vec<StudySpec>) {
    let text = format!(
        "name = \"{NAME}\"\nports = {HOSTS}\nrate = \"1Gbit\"\nbuffer = {{ per_port = \"512KiB\" }}\n\
         forwarding = {{ mode = \"store-and-forward\", latency = \"2us\" }}\n\
         cables = [{{ ports = \"{BAD}\", damaged = {{ in = {DAMAGED} }} }}]\n"
    );
    let place = simulated(NAME, &text, HostModel::ideal(HOSTS));
    let study = FabricSpec {
        arrangements: vec![Arrangement::Neighbours, Arrangement::Halves],
        nodes: Nodes::These(vec![2, u32::from(HOSTS)]),
        messages: Vec::new(),
        duration: TRIAL,
        interval: TRIAL / 10,
        blocks: BLOCKS,
        ..FabricSpec::quick()
    };
    (place, vec![StudySpec::Fabric(study)])
}
