//! (under construction)
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CountersError;

/// The whole host's counters at one moment; totals since it started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostSnapshot {
    busy: u64,
    softirq: u64,
    stolen: u64,
    total: u64,
    counters: BTreeMap<String, u64>,
}

/// How busy a host was between two snapshots.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostChange {
    /// Busy share of all its processors, 0…1, softirq included.
    pub busy: f64,
    /// Share of all its processors spent in softirq, 0…1.
    pub softirq: f64,
    /// Share that a hypervisor took away, 0…1.
    pub stolen: f64,
    /// The counters that moved, and by how much.
    pub counters: BTreeMap<String, u64>,
}

/// Reads the host's counters.
pub fn host() -> Result<HostSnapshot, CountersError> {
    Ok(HostSnapshot::default())
}

impl HostSnapshot {
    /// The change since `before`.
    pub fn since(&self, before: &Self) -> HostChange {
        let _ = before;
        HostChange::default()
    }
}
