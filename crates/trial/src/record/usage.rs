//! Processor load of the hosts. Never judges it: the gates do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Processor load of one host during the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostUsage {
    /// Name of the host.
    pub host: String,
    /// Load and counters by its kernel.
    #[serde(flatten)]
    pub usage: Usage,
}

/// Processor shares and host counters over a time window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Busy share of all processors, 0…1, softirq included, stolen time excluded.
    pub busy: f64,
    /// Share of all processors spent in softirq, 0…1.
    pub softirq: f64,
    /// Share taken by a hypervisor, 0…1.
    pub stolen: f64,
    /// Share used by programs unrelated to the trial, 0…1: a lower bound. Zero if it was not
    /// measured.
    #[serde(default)]
    pub foreign: f64,
    /// Counters of the whole host that moved: `softnet_dropped`, `udp_rcvbuf_errors`…
    pub counters: BTreeMap<String, u64>,
}

impl Usage {
    /// Share used by other programs and the hypervisor, 0…1.
    pub fn by_others(&self) -> f64 {
        self.foreign + self.stolen
    }
}
