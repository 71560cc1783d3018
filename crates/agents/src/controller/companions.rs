//! Companions of a testbed's agents: devices are put into a state, disturbed and asked for their
//! counters, and hosts delay what arrives.
//!
//! Owns their order: what comes last is nearest to the load. Never takes part in a trial itself.

use super::accounts::Accounts;
use super::companion::Companion;
use super::delays::Delays;
use super::lab_devices::LabDevices;
use super::subjects::Subjects;

/// All of a testbed's.
#[derive(Debug, Default)]
pub struct Companions {
    /// The state that devices are in, and what is done to them.
    pub subjects: Subjects,
    /// What hosts add to the path.
    pub delays: Delays,
    /// What devices say of their own ports.
    pub accounts: Accounts,
    /// Devices that are this machine's own.
    pub devices: LabDevices,
}

impl Companions {
    /// The farthest from the load first.
    pub fn list(&mut self) -> [&mut dyn Companion; 4] {
        let Self { subjects, delays, accounts, devices } = self;
        [subjects, delays, accounts, devices]
    }
}
