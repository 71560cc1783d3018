//! How busy a host was over a window.
//!
//! Data only; the agent reads it from the kernel and a record keeps it beside the host's name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Shares of all processors' time, and the host's own counters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Busy share, 0…1.
    pub busy: f64,
    /// Share spent in softirq, 0…1.
    pub softirq: f64,
    /// Share that a hypervisor took away, 0…1.
    pub stolen: f64,
    /// Share that programs took which have nothing to do with the trial, 0…1: at least so much.
    #[serde(default)]
    pub foreign: f64,
    /// Counters of the whole host: `softnet_dropped`, `udp_rcvbuf_errors`…
    pub counters: BTreeMap<String, u64>,
}
