//! How busy the hosts were.
//!
//! Never judges it: gates do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How busy a host was while the load ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostUsage {
    /// The host's name.
    pub host: String,
    /// What its kernel counted.
    #[serde(flatten)]
    pub usage: Usage,
}

/// Shares of all processors' time, and the host's own counters, over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Busy share of all its processors, 0…1: softirq included, stolen time not.
    pub busy: f64,
    /// Share of all its processors spent in softirq, 0…1.
    pub softirq: f64,
    /// Share that a hypervisor took away, 0…1.
    pub stolen: f64,
    /// Share that programs took which have nothing to do with the trial, 0…1: at least so much.
    /// Zero where nobody looked.
    #[serde(default)]
    pub foreign: f64,
    /// Counters of the whole host that moved: `softnet_dropped`, `udp_rcvbuf_errors`…
    pub counters: BTreeMap<String, u64>,
}

impl Usage {
    /// The share that other programs and the hypervisor had, 0…1.
    pub fn by_others(&self) -> f64 {
        self.foreign + self.stolen
    }
}
