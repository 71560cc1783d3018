//! Frames delayed but not dropped: PAUSE frames (IEEE 802.3 annex 31B) as a device's ports count
//! them.
//!
//! Owns which end paused which. Never says that it limited anything: a device may pause a host that
//! had nothing to send.

use crate::counters::{RX_PAUSE, RX_PAUSE_US, TX_PAUSE, TX_PAUSE_US};
use crate::record::{PortCounters, Side, TrialRecord};
use measure::Nanos;

/// End of a cable that the other end paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Port that was paused.
    pub port: String,
    /// Port that sent the PAUSE frames.
    pub by: String,
    /// Number of PAUSE frames.
    pub frames: u64,
    /// Total pause time; `None` if the device does not count it.
    pub time: Option<Nanos>,
}

/// Lists the PAUSE counts of each device port that has such counters, in both directions, zeros
/// included.
pub fn pause_counts(record: &TrialRecord) -> Vec<Held> {
    let devices = record.ports.iter().filter(|port| port.side != Side::Tester);
    devices.flat_map(of_port).collect()
}

fn of_port(port: &PortCounters) -> Vec<Held> {
    let Some(host) = &port.cable else { return Vec::new() };
    let count = |name: &str| port.counters.get(name).copied();
    let of = |[frames, time]: [&str; 2], held: &str, by: &str| {
        let time = count(time).map(|us| Nanos(us.saturating_mul(1_000)));
        let frames = count(frames);
        (frames.is_some() || time.is_some()).then(|| Held {
            port: held.to_owned(),
            by: by.to_owned(),
            frames: frames.unwrap_or(0),
            time,
        })
    };
    let told = of([TX_PAUSE, TX_PAUSE_US], host, &port.place);
    let obeyed = of([RX_PAUSE, RX_PAUSE_US], &port.place, host);
    [told, obeyed].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(side: Side, cable: Option<&str>, counters: &[(&str, u64)]) -> PortCounters {
        PortCounters {
            place: "sw1/1".to_owned(),
            side,
            cable: cable.map(str::to_owned),
            counters: counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        }
    }

    #[test]
    fn the_end_that_sent_pauses_held_the_other_one() {
        let held = |port: &str, by: &str, frames, time: Option<u64>| Held {
            port: port.to_owned(),
            by: by.to_owned(),
            frames,
            time: time.map(Nanos),
        };
        for (port, expected) in [
            (
                port(Side::Reported, Some("h1/eth1"), &[("tx_pause", 12), ("tx_pause_us", 7)]),
                vec![held("h1/eth1", "sw1/1", 12, Some(7_000))],
            ),
            (
                port(Side::Reported, Some("h1/eth1"), &[("rx_pause", 3), ("tx_pause", 0)]),
                vec![held("h1/eth1", "sw1/1", 0, None), held("sw1/1", "h1/eth1", 3, None)],
            ),
            (
                port(Side::Reported, Some("h1/eth1"), &[("rx_pause_us", u64::MAX)]),
                vec![held("sw1/1", "h1/eth1", 0, Some(u64::MAX))],
            ),
            (port(Side::Reported, None, &[("tx_pause", 12)]), vec![]),
            (port(Side::Reported, Some("h1/eth1"), &[("rx_packets", 12)]), vec![]),
        ] {
            assert_eq!(of_port(&port), expected, "{port:?}");
        }
    }
}
