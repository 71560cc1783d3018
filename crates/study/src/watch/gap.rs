//! Gaps in a watch, as distinct from outages: a suspended machine, a clock step, missing agents, a
//! stopped watch.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Largest difference between clocks of one machine over two readings, in nanoseconds.
const SLACK: u64 = 1_000_000_000;

/// Readings of three clocks at one moment, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Time since the machine started, without suspended time.
    pub awake: u64,
    /// Time since the machine started, suspended time included.
    pub since_boot: u64,
    /// Time since 1970 by the machine's calendar clock.
    pub unix: u64,
}

/// Cause of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The machine was suspended.
    Suspended,
    /// The calendar clock was set: times before and after cannot be subtracted.
    ClockStep,
    /// Agents of the hosts were unavailable.
    Agents,
    /// The watch did not run.
    Stopped,
}

impl Cause {
    /// Name of the cause: `suspended`, `clock-step`, `agents`, `stopped`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Suspended => "suspended",
            Self::ClockStep => "clock-step",
            Self::Agents => "agents",
            Self::Stopped => "stopped",
        }
    }
}

/// Time in which nothing was watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Cause of the gap.
    pub cause: Cause,
    /// Start, in nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// End, in nanoseconds since 1970.
    pub to_unix_ns: u64,
    /// Details in words, if known.
    pub detail: Option<String>,
}

impl Gap {
    /// Duration of the gap; for a clock step, its size.
    pub const fn lasted(&self) -> Nanos {
        Nanos(self.to_unix_ns.abs_diff(self.from_unix_ns))
    }
}

impl Reading {
    /// Finds the gaps since an earlier reading that no trial can reveal.
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
