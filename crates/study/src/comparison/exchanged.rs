//! Two fabric runs around an exchange of cables: whether a port's slowness stayed with its host or
//! went with its cable.
//!
//! Owns the rule. Pure; never knows whether the cables were really exchanged.

use std::collections::BTreeSet;

use page::{Figure, Key, Metric};
use serde::Serialize;

/// Slow port of the first run, and what became of it in the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exchanged {
    /// Port that was slow.
    pub port: String,
    /// Port whose cable was to be exchanged with its own.
    pub with: String,
    /// Place of the slowness in the second run.
    pub now: Slowness,
}

/// Place of a slowness after two cables were exchanged at their hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slowness {
    /// The same port is slow: its host or its NIC.
    Stayed,
    /// The other port is slow: the cable or the switch port.
    Moved,
    /// Both ports are slow.
    Both,
    /// Neither port is slow.
    Gone,
}

/// Reads a second run together with the first; empty where nothing was slow in the first, or where
/// the second measured no fabric.
pub(super) fn exchanged(before: &[Figure], after: &[Figure]) -> Vec<Exchanged> {
    if !after.iter().any(|figure| figure.metric == Metric::PairGoodput) {
        return Vec::new();
    }
    let slow: BTreeSet<&str> = after.iter().filter_map(|f| f.text(Key::SlowPort)).collect();
    let asked: BTreeSet<(&str, &str)> = before
        .iter()
        .filter_map(|figure| Some((figure.text(Key::SlowPort)?, figure.text(Key::ExchangeWith)?)))
        .collect();
    let found = |(port, with): (&str, &str)| {
        let now = match (slow.contains(port), slow.contains(with)) {
            (true, false) => Slowness::Stayed,
            (false, true) => Slowness::Moved,
            (true, true) => Slowness::Both,
            (false, false) => Slowness::Gone,
        };
        Exchanged { port: port.to_owned(), with: with.to_owned(), now }
    };
    asked.into_iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use page::Unit;

    use super::*;

    fn slow(port: &str, with: &str) -> Figure {
        let mut figure = Figure::new(Metric::PortShare, Unit::Ratio, Some(0.8));
        figure.set(Key::SlowPort, port.to_owned());
        figure.set(Key::ExchangeWith, with.to_owned());
        figure
    }

    fn goodput() -> Figure {
        Figure::new(Metric::PairGoodput, Unit::BitsPerSecond, Some(1e9))
    }

    #[test]
    fn slowness_stays_with_the_host_or_goes_with_the_cable() {
        let before = [slow("h4/eth1", "h5/eth1"), goodput()];
        let table = [
            (vec![slow("h4/eth1", "h5/eth1"), goodput()], Slowness::Stayed),
            (vec![slow("h5/eth1", "h4/eth1"), goodput()], Slowness::Moved),
            (
                vec![slow("h4/eth1", "h3/eth1"), slow("h5/eth1", "h6/eth1"), goodput()],
                Slowness::Both,
            ),
            (vec![slow("h9/eth1", "h8/eth1"), goodput()], Slowness::Gone),
            (vec![goodput()], Slowness::Gone),
        ];
        for (after, now) in table {
            let [found] = &exchanged(&before, &after)[..] else { panic!("{after:?}") };
            assert_eq!((found.port.as_str(), found.with.as_str()), ("h4/eth1", "h5/eth1"));
            assert_eq!(found.now, now, "{after:?}");
        }
        assert_eq!(exchanged(&before, &[]), [], "no fabric was measured");
        assert_eq!(exchanged(&[goodput()], &before), [], "nothing was slow");
    }
}
