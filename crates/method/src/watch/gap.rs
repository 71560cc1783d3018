//! Times in which nothing was watched, told from outages: a machine that slept, a clock that was
//! set, agents that were gone, a watch that was not running.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Clocks of one machine differ by less than this between two looks, in nanoseconds.
const SLACK: u64 = 1_000_000_000;

/// Three clocks, read at one moment, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Since the machine started, without the time that it slept.
    pub awake: u64,
    /// The same with that time.
    pub since_boot: u64,
    /// Since 1970, as the machine believes.
    pub unix: u64,
}

/// Why nothing was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The machine slept.
    Suspended,
    /// Its calendar clock was set: moments before and after can't be subtracted.
    ClockStep,
    /// Hosts' agents could not be had.
    Agents,
    /// Nobody watched.
    Stopped,
}

impl Cause {
    /// `suspended`, `clock-step`, `agents`, `stopped`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Suspended => "suspended",
            Self::ClockStep => "clock-step",
            Self::Agents => "agents",
            Self::Stopped => "stopped",
        }
    }
}

/// A time in which nothing was watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Why.
    pub cause: Cause,
    /// From when, nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// Until when.
    pub to_unix_ns: u64,
    /// In the words of whoever knows more.
    pub detail: Option<String>,
}

impl Gap {
    /// How long nothing was watched; of a clock that was set, by how much.
    pub const fn lasted(&self) -> Nanos {
        Nanos(self.to_unix_ns.abs_diff(self.from_unix_ns))
    }
}

impl Reading {
    /// What happened between an earlier look and this one that no trial can tell.
    pub fn gaps_since(&self, earlier: &Self) -> Vec<Gap> {
        let awake = self.awake.saturating_sub(earlier.awake);
        let passed = self.since_boot.saturating_sub(earlier.since_boot);
        let slept = passed.saturating_sub(awake);
        let should_be = earlier.unix.saturating_add(passed);
        let gap =
            |cause, from_unix_ns, to_unix_ns| Gap { cause, from_unix_ns, to_unix_ns, detail: None };
        let mut gaps = Vec::new();
        if slept > SLACK {
            gaps.push(gap(Cause::Suspended, should_be.saturating_sub(slept), should_be));
        }
        if self.unix.abs_diff(should_be) > SLACK {
            gaps.push(gap(Cause::ClockStep, should_be, self.unix));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_three_clocks_tell() {
        let at = |awake, since_boot, unix| Reading {
            awake: awake * S,
            since_boot: since_boot * S,
            unix: unix * S,
        };
        let start = at(100, 100, 1_000);
        for (later, expected) in [
            (at(160, 160, 1_060), vec![]),
            (at(160, 3_760, 4_660), vec![(Cause::Suspended, 1_060, 4_660)]),
            (at(160, 160, 8_260), vec![(Cause::ClockStep, 1_060, 8_260)]),
            (at(160, 160, 500), vec![(Cause::ClockStep, 1_060, 500)]),
            (
                at(160, 1_160, 3_000),
                vec![(Cause::Suspended, 1_060, 2_060), (Cause::ClockStep, 2_060, 3_000)],
            ),
        ] {
            let found = later.gaps_since(&start);
            let found: Vec<_> =
                found.iter().map(|g| (g.cause, g.from_unix_ns / S, g.to_unix_ns / S)).collect();
            assert_eq!(found, expected);
        }
    }
}
