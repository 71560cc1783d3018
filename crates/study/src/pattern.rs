//! Traffic patterns: which port sends to which, as pairs of the ports 0…n-1.
//!
//! Owns the constructions (RFC 2889 §5.1 to §5.4, RFC 8239 §2), in the order of a sender's
//! receivers, for every study with several busy ports. Pure. Never knows what a port is, nor what
//! is sent.

use serde::{Deserialize, Serialize};

/// Maximum number of ports; more would have more flows than a trial can number.
pub const MOST_PORTS: usize = 255;

/// Traffic pattern between ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Ports 1 and 2, 3 and 4…, in both directions.
    Pairs,
    /// Every port to every other.
    Mesh,
    /// First port to all others.
    OneToMany,
    /// All others to the first port.
    ManyToOne,
    /// First half of the ports to the second half, and back.
    HalfToHalf,
    /// First half of the ports to the second half.
    OneWay,
}

impl Pattern {
    /// Name in figures.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Mesh => "mesh",
            Self::OneToMany => "one-to-many",
            Self::ManyToOne => "many-to-one",
            Self::HalfToHalf => "half-to-half",
            Self::OneWay => "one-way",
        }
    }

    /// True if no receiver ever sends.
    pub const fn is_one_way(self) -> bool {
        matches!(self, Self::OneToMany | Self::ManyToOne | Self::OneWay)
    }

    /// Returns sender and receiver of each stream, for `n` ports. Senders take their receivers in
    /// turn, and where possible no two have the same receiver in a turn. In RFC 2889 §5.1.3, port i
    /// sends to i+1, i+2… and wraps around.
    pub fn streams(self, n: usize) -> Vec<(usize, usize)> {
        let half = n / 2;
        let across = |turn: usize| (0..half).map(move |i| (i, half + (i + turn) % half));
        match self {
            Self::Pairs => {
                (0..half).flat_map(|k| [(2 * k, 2 * k + 1), (2 * k + 1, 2 * k)]).collect()
            }
            Self::Mesh => {
                (1..n).flat_map(|turn| (0..n).map(move |i| (i, (i + turn) % n))).collect()
            }
            Self::OneToMany => (1..n).map(|to| (0, to)).collect(),
            Self::ManyToOne => (1..n).map(|from| (from, 0)).collect(),
            Self::OneWay => (0..half).flat_map(across).collect(),
            Self::HalfToHalf => {
                let both = move |(i, j): (usize, usize)| [(i, j), (j, i)];
                (0..half).flat_map(across).flat_map(both).collect()
            }
        }
    }

    /// Number of sending ports, and the number of receivers of each.
    pub fn senders(self, n: usize) -> (usize, usize) {
        match self {
            Self::Pairs => (2 * (n / 2), 1),
            Self::Mesh => (n, n - 1),
            Self::OneToMany => (1, n - 1),
            Self::ManyToOne => (n - 1, 1),
            Self::OneWay => (n / 2, n / 2),
            Self::HalfToHalf => (2 * (n / 2), n / 2),
        }
    }

    /// Load of a receiver while every sender sends at its port's rate, in ports' rates.
    pub fn overload(self, n: usize) -> f64 {
        match self {
            Self::ManyToOne => (n - 1) as f64,
            Self::OneToMany => 1.0 / (n - 1) as f64,
            Self::Pairs | Self::Mesh | Self::OneWay | Self::HalfToHalf => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ALL: [Pattern; 6] = [
        Pattern::Pairs,
        Pattern::Mesh,
        Pattern::OneToMany,
        Pattern::ManyToOne,
        Pattern::HalfToHalf,
        Pattern::OneWay,
    ];

    #[test]
    fn every_sender_has_as_many_receivers_and_none_is_its_own() {
        for n in 2..20 {
            for pattern in ALL {
                let streams = pattern.streams(n);
                let mut out: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
                let mut into: BTreeMap<usize, f64> = BTreeMap::new();
                let (senders, each) = pattern.senders(n);
                for (from, to) in &streams {
                    assert!(from != to && *from < n && *to < n, "{pattern:?} {n}");
                    out.entry(*from).or_default().push(*to);
                    *into.entry(*to).or_default() += 1.0 / each as f64;
                }
                assert_eq!(out.len(), senders, "{pattern:?} {n}");
                for receivers in out.values_mut() {
                    assert_eq!(receivers.len(), each);
                    receivers.sort_unstable();
                    receivers.dedup();
                    assert_eq!(receivers.len(), each, "{pattern:?} {n}: one twice");
                }
                let most = into.values().copied().fold(0.0, f64::max);
                assert!((most - pattern.overload(n)).abs() < 1e-9, "{pattern:?} {n}: {most}");
            }
        }
    }

    #[test]
    fn a_mesh_goes_round_without_two_at_one_receiver() {
        let streams = Pattern::Mesh.streams(5);
        for turn in streams.chunks(5) {
            let mut receivers: Vec<usize> = turn.iter().map(|(_, to)| *to).collect();
            receivers.sort_unstable();
            assert_eq!(receivers, [0, 1, 2, 3, 4]);
        }
        assert_eq!(streams[..2], [(0, 1), (1, 2)]);
    }
}
