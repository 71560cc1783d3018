//! Companions of a testbed's agents: devices are put into a state, disturbed, and their counters
//! read; hosts delay arriving frames.
//!
//! Owns their order: the last one is nearest to the load. Never takes part in a trial itself.

use super::accounts::Accounts;
use super::companion::Companion;
use super::delays::Delays;
use super::lab_devices::LabDevices;
use super::subjects::Subjects;

/// All companions of a testbed.
#[derive(Debug, Default)]
pub struct Companions {
    /// Device states, and disturbances of the devices.
    pub subjects: Subjects,
    /// Delays that hosts add to the path.
    pub delays: Delays,
    /// Counters that devices report for their own ports.
    pub accounts: Accounts,
    /// Devices on this machine.
    pub devices: LabDevices,
}

impl Companions {
    /// Lists the companions, the farthest from the load first.
    pub fn list(&mut self) -> [&mut dyn Companion; 4] {
        let Self { subjects, delays, accounts, devices } = self;
        [subjects, delays, accounts, devices]
    }
}
