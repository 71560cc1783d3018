//! A device's port counters at one moment, and their changes between two moments.
//!
//! Owns the wrap of narrow counters and the detection of a restarted device. Never interprets a
//! change.

use std::collections::BTreeMap;

/// Modulus at which counters of 32 bits wrap (RFC 2578 §7.1.6).
const WRAP: u64 = 1 << 32;

/// Port counters as a device reports them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Ports by the device's own names: `swp1`, `Ethernet4`, `ge-0/0/1`.
    pub ports: BTreeMap<String, PortAccount>,
    /// Hundredths of a second since the device's management came up; `None` if not reported.
    pub uptime_cs: Option<u32>,
}

/// One port's counters, by names such as `rx_packets`, `tx_dropped`, `rx_pause`, or by names that
/// the user gave.
pub type PortAccount = BTreeMap<String, Counter>;

/// A counter reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Value of the counter.
    pub value: u64,
    /// True if the counter has 32 bits and so wraps at 4,294,967,296.
    pub narrow: bool,
}

impl Counter {
    /// Creates a counter that never wraps.
    pub const fn wide(value: u64) -> Self {
        Self { value, narrow: false }
    }
}

/// Increase of a device's counters between two accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Increases by port and counter. Only counters in both accounts with an unambiguous change are
    /// listed.
    pub ports: BTreeMap<String, BTreeMap<String, u64>>,
    /// Reasons why changes are missing.
    pub doubts: Vec<Doubt>,
}

/// Reason why a change cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The device's management restarted in between, and so did its counters.
    Restarted,
    /// A counter decreased and is not known to have 32 bits.
    WentBack {
        /// The device's name of the port.
        port: String,
        /// Name of the counter.
        counter: String,
    },
    /// A port of the earlier account is missing in the later one.
    Gone {
        /// The device's name of the port.
        port: String,
    },
}

impl Account {
    /// Computes the increases since `before`. A narrow counter may have wrapped once; two wraps
    /// cannot be distinguished from one or none.
    pub fn since(&self, before: &Self) -> Changes {
        // Wraps after 497 days, which looks like a restart.
        if let (Some(then), Some(now)) = (before.uptime_cs, self.uptime_cs)
            && now < then
        {
            return Changes { ports: BTreeMap::new(), doubts: vec![Doubt::Restarted] };
        }
        let mut changes = Changes::default();
        for (port, then) in &before.ports {
            let Some(now) = self.ports.get(port) else {
                changes.doubts.push(Doubt::Gone { port: port.clone() });
                continue;
            };
            let counted = changes.ports.entry(port.clone()).or_default();
            for (counter, then) in then {
                let Some(now) = now.get(counter) else { continue };
                if let Some(by) = now.since(*then) {
                    counted.insert(counter.clone(), by);
                } else {
                    let (port, counter) = (port.clone(), counter.clone());
                    changes.doubts.push(Doubt::WentBack { port, counter });
                }
            }
        }
        changes
    }
}

impl Counter {
    fn since(self, before: Self) -> Option<u64> {
        let narrow = self.narrow && before.narrow && before.value < WRAP && self.value < WRAP;
        let wrapped = || narrow.then(|| self.value + WRAP - before.value);
        self.value.checked_sub(before.value).or_else(wrapped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(uptime_cs: Option<u32>, ports: &[(&str, u64, bool)]) -> Account {
        let port = |&(name, value, narrow): &(&str, u64, bool)| {
            let counters =
                PortAccount::from([("rx_packets".to_owned(), Counter { value, narrow })]);
            (name.to_owned(), counters)
        };
        Account { ports: ports.iter().map(port).collect(), uptime_cs }
    }

    #[test]
    fn a_change_is_told_or_a_doubt() {
        let went_back = Doubt::WentBack { port: "1".to_owned(), counter: "rx_packets".to_owned() };
        let up = Some(100);
        for (before, after, by, doubts) in [
            ((up, 5, false), (up, 12, false), Some(7), vec![]),
            ((None, 5, false), (None, 5, false), Some(0), vec![]),
            ((up, WRAP - 3, true), (Some(200), 4, true), Some(7), vec![]),
            ((up, WRAP - 3, false), (Some(200), 4, false), None, vec![went_back.clone()]),
            ((None, WRAP + 3, true), (None, 4, true), None, vec![went_back]),
            ((up, 5, true), (Some(50), 12, true), None, vec![Doubt::Restarted]),
        ] {
            let of = |(uptime, value, narrow)| account(uptime, &[("1", value, narrow)]);
            let changes = of(after).since(&of(before));
            let told = changes.ports.get("1").and_then(|port| port.get("rx_packets"));
            assert_eq!((told.copied(), changes.doubts), (by, doubts), "{before:?} {after:?}");
        }
        let gone = account(None, &[]).since(&account(None, &[("1", 5, false)]));
        assert_eq!(gone.doubts, [Doubt::Gone { port: "1".to_owned() }]);
    }
}
