//! Arrangements: which of the ports 0…n-1 talk to which, at the same time.
//!
//! Owns the matchings; the patterns with several pairs per port are shared by all studies. Pure:
//! random arrangements have a seed. Never knows what a port is, nor what the pairs do.

use std::fmt;
use std::str::FromStr;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::Pattern;

/// Rule that pairs ports up, in one round or in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Arrangement {
    /// Port 1 with 2, 3 with 4…: the same as an offset of 1.
    Neighbours,
    /// Pairs of ports this far apart, wrapping around all ports.
    Offset(u32),
    /// Every offset from 1 to n-1, one round each.
    Sweep,
    /// Rounds of random pairs (effective bisection bandwidth).
    Bisections(u32),
    /// Round robin: n-1 rounds (n if n is odd) in which every port meets every other once.
    Tournament,
    /// Rounds in which the two halves of all ports meet, halved again and again: about twice the
    /// binary logarithm of n, and each port has as many partners.
    Halves,
    /// Pattern with several pairs per port (RFC 2889 §5.1 to §5.4); never [`Pattern::Pairs`], which
    /// are neighbours.
    Pattern(Pattern),
}

/// Patterns that are arrangements.
const PATTERNS: [Pattern; 5] =
    [Pattern::Mesh, Pattern::OneToMany, Pattern::ManyToOne, Pattern::HalfToHalf, Pattern::OneWay];

/// Pairs of ports that talk at the same time. No port is in two pairs, except in a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matching {
    /// Code word of its round: `offset=12`, `tournament-3`, `mesh`.
    pub name: String,
    /// Indices of ports, in the order in which pairs are taken if only some talk.
    pub pairs: Vec<(usize, usize)>,
}

impl Arrangement {
    /// Returns the rounds of `nodes` nodes among the ports: the first pairs of a matching, or a
    /// pattern of the first ports. Only bisections depend on the seed.
    pub fn rounds_of(self, nodes: usize, ports: usize, seed: u64) -> Vec<Matching> {
        if let Self::Pattern(pattern) = self {
            return vec![Matching { name: self.to_string(), pairs: pairs_of(pattern, nodes) }];
        }
        let mut rounds = self.rounds(ports, seed);
        for round in &mut rounds {
            round.pairs.truncate(nodes / 2);
        }
        // A large offset may form rings without a partner for any port.
        rounds.retain(|round| !round.pairs.is_empty());
        rounds
    }

    /// Upper bounds of the pairs of all rounds and of the pairs that talk at once, over `ports`
    /// ports.
    pub const fn pairs(self, ports: usize) -> (usize, usize) {
        let half = ports.div_ceil(2);
        match self {
            Self::Neighbours | Self::Offset(_) => (half, half),
            Self::Halves => (half.saturating_mul(2 * usize::BITS as usize), half),
            Self::Sweep | Self::Tournament => (ports.saturating_mul(half), half),
            Self::Bisections(rounds) => (half.saturating_mul(rounds as usize), half),
            Self::Pattern(Pattern::Mesh) => {
                (ports.saturating_mul(half), ports.saturating_mul(half))
            }
            Self::Pattern(_) => (ports, ports),
        }
    }

    /// Returns the rounds over all ports.
    fn rounds(self, ports: usize, seed: u64) -> Vec<Matching> {
        let one = |pairs| vec![Matching { name: self.to_string(), pairs }];
        match self {
            Self::Neighbours => one(offset(ports, 1)),
            Self::Offset(by) => one(offset(ports, by as usize)),
            Self::Sweep => (1..ports)
                .map(|by| Matching { name: format!("sweep-{by}"), pairs: offset(ports, by) })
                .collect(),
            Self::Bisections(rounds) => {
                let mut chance = Pcg64::seed_from_u64(seed);
                (1..=rounds)
                    .map(|round| Matching {
                        name: format!("bisection-{round}"),
                        pairs: bisection(ports, &mut chance),
                    })
                    .collect()
            }
            Self::Tournament => tournament(ports),
            Self::Halves => halves(ports),
            Self::Pattern(pattern) => one(pairs_of(pattern, ports)),
        }
    }

    /// Pattern of the arrangement; `None` for a matching.
    pub const fn pattern(self) -> Option<Pattern> {
        if let Self::Pattern(pattern) = self { Some(pattern) } else { None }
    }

    /// True if no port is in two pairs, so that pairs can only delay each other inside the device.
    pub const fn is_matching(self) -> bool {
        !matches!(self, Self::Pattern(_))
    }

    /// True if the second port of a pair never sends.
    pub const fn is_one_way(self) -> bool {
        matches!(self, Self::Pattern(pattern) if pattern.is_one_way())
    }

    /// True if the arrangement has more than one matching.
    pub const fn has_rounds(self) -> bool {
        matches!(self, Self::Sweep | Self::Bisections(_) | Self::Tournament | Self::Halves)
    }
}

/// Pairs of a pattern's streams; if both directions are used, one pair stands for both.
fn pairs_of(pattern: Pattern, ports: usize) -> Vec<(usize, usize)> {
    let mut pairs = pattern.streams(ports);
    if !pattern.is_one_way() {
        pairs.retain(|(from, to)| from < to);
    }
    pairs
}

/// Follows i, i + by, i + 2 by… around all ports and pairs them two by two, from each start in
/// turn. A ring of an odd number of ports leaves its last one idle. Going ring by ring spreads the
/// first few pairs of a large offset over the whole device.
fn offset(ports: usize, by: usize) -> Vec<(usize, usize)> {
    if ports == 0 || by.is_multiple_of(ports) {
        return Vec::new();
    }
    let rings = gcd(ports, by);
    let length = ports / rings;
    let at = |start: usize, step: usize| (start + step * by) % ports;
    let pairs = |start: usize| {
        (0..length / 2).map(move |pair| (at(start, 2 * pair), at(start, 2 * pair + 1)))
    };
    (0..rings).flat_map(pairs).collect()
}

const fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn bisection(ports: usize, chance: &mut Pcg64) -> Vec<(usize, usize)> {
    let mut places: Vec<usize> = (0..ports).collect();
    places.shuffle(chance);
    places.chunks_exact(2).map(|two| (two[0], two[1])).collect()
}

/// Circle method: the last port stays, the others rotate. With an odd number of ports the last
/// place is a bye.
fn tournament(ports: usize) -> Vec<Matching> {
    if ports < 2 {
        return Vec::new();
    }
    let seats = ports + ports % 2;
    let circle = seats - 1;
    let round = |round: usize| {
        let opposite = |k: usize| ((round + k) % circle, (round + circle - k) % circle);
        let fixed = (seats == ports).then_some((round, seats - 1));
        fixed.into_iter().chain((1..seats / 2).map(opposite)).collect()
    };
    (0..circle)
        .map(|at| Matching { name: format!("tournament-{}", at + 1), pairs: round(at) })
        .collect()
}

/// Pairs i with i xor a mask of one bit, then of two neighbouring bits. A port without a partner is
/// paired with the next such port but one half of them.
fn halves(ports: usize) -> Vec<Matching> {
    if ports < 2 {
        return Vec::new();
    }
    let bits = (usize::BITS - (ports - 1).leading_zeros()) as usize;
    let one = (0..bits).map(|bit| 1 << bit);
    let two = (0..bits).map(|bit| (1 << bit) ^ (1 << ((bit + 1) % bits)));
    let mut masks: Vec<usize> = Vec::new();
    for mask in one.chain(two).filter(|mask| *mask != 0) {
        if !masks.contains(&mask) {
            masks.push(mask);
        }
    }
    let round = |mask: usize| {
        let (with, without): (Vec<usize>, Vec<usize>) =
            (0..ports).partition(|port| port ^ mask < ports);
        let pairs = with.into_iter().filter(|port| *port < port ^ mask);
        let half = without.len() / 2;
        let rest = (0..half).map(|at| (without[at], without[at + half]));
        pairs.map(|port| (port, port ^ mask)).chain(rest).collect()
    };
    (1..)
        .zip(masks)
        .map(|(at, mask)| Matching { name: format!("halves-{at}"), pairs: round(mask) })
        .collect()
}

/// Error: a text names no arrangement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an arrangement; known are `neighbours`, `offset=N`, `sweep`, `bisections=N`, \
     `tournament`, `halves`, `mesh`, `one-to-many`, `many-to-one`, `half-to-half` and `one-way`"
)]
pub struct NotAnArrangement(pub String);

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Neighbours => f.pad("neighbours"),
            Self::Offset(by) => f.pad(&format!("offset={by}")),
            Self::Sweep => f.pad("sweep"),
            Self::Bisections(rounds) => f.pad(&format!("bisections={rounds}")),
            Self::Tournament => f.pad("tournament"),
            Self::Halves => f.pad("halves"),
            Self::Pattern(pattern) => f.pad(pattern.as_str()),
        }
    }
}

impl FromStr for Arrangement {
    type Err = NotAnArrangement;
    fn from_str(text: &str) -> Result<Self, NotAnArrangement> {
        let (name, number) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v)));
        let number = match number.map(str::parse::<u32>) {
            Some(Ok(number)) if number > 0 => Some(number),
            None => None,
            Some(_) => return Err(NotAnArrangement(text.to_owned())),
        };
        match (name, number) {
            ("neighbours", None) => Ok(Self::Neighbours),
            ("offset", Some(by)) => Ok(Self::Offset(by)),
            ("sweep", None) => Ok(Self::Sweep),
            ("bisections", Some(rounds)) => Ok(Self::Bisections(rounds)),
            ("tournament", None) => Ok(Self::Tournament),
            ("halves", None) => Ok(Self::Halves),
            (name, None) => {
                let found = PATTERNS.into_iter().find(|pattern| pattern.as_str() == name);
                found.map(Self::Pattern).ok_or_else(|| NotAnArrangement(text.to_owned()))
            }
            _ => Err(NotAnArrangement(text.to_owned())),
        }
    }
}

impl From<Arrangement> for String {
    fn from(arrangement: Arrangement) -> Self {
        arrangement.to_string()
    }
}

impl TryFrom<String> for Arrangement {
    type Error = NotAnArrangement;
    fn try_from(text: String) -> Result<Self, NotAnArrangement> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn rounds(arrangement: &str, ports: usize) -> Vec<Vec<(usize, usize)>> {
        let arrangement: Arrangement = arrangement.parse().expect("an arrangement");
        arrangement.rounds(ports, 7).into_iter().map(|round| round.pairs).collect()
    }

    #[test]
    fn the_two_arrangements_of_the_first_write_up() {
        let a = &rounds("neighbours", 48)[0];
        assert_eq!((a.len(), a[0], a[23]), (24, (0, 1), (46, 47)));
        let b = &rounds("offset=12", 48)[0];
        assert_eq!((b.len(), b[0], b[1], b[2]), (24, (0, 12), (24, 36), (1, 13)));
        assert!(b.contains(&(11, 23)) && b.contains(&(35, 47)));
        assert_eq!(rounds("offset=3", 9)[0], [(0, 3), (1, 4), (2, 5)], "rings of three leave one");
        assert_eq!(rounds("tournament", 4), [[(0, 3), (1, 2)], [(1, 3), (2, 0)], [(2, 3), (0, 1)]]);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "neighbours",
            "offset=12",
            "sweep",
            "bisections=50",
            "tournament",
            "halves",
            "mesh",
            "one-to-many",
            "many-to-one",
            "half-to-half",
            "one-way",
        ] {
            assert_eq!(name.parse::<Arrangement>().expect(name).to_string(), name);
        }
        for wrong in
            ["", "offset", "offset=0", "offset=x", "sweep=2", "mesh=2", "pairs", "bisections=-1"]
        {
            assert!(wrong.parse::<Arrangement>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_pattern_is_of_as_many_ports_as_talk() {
        let pairs = |name: &str, nodes| {
            let arrangement: Arrangement = name.parse().expect("an arrangement");
            arrangement.rounds_of(nodes, 48, 7).remove(0).pairs
        };
        assert_eq!(pairs("mesh", 4).len(), 6, "both ways are one pair");
        assert_eq!(pairs("mesh", 48).len(), 48 * 47 / 2);
        assert_eq!(pairs("half-to-half", 4), [(0, 2), (1, 3), (0, 3), (1, 2)]);
        assert_eq!(pairs("one-to-many", 4), [(0, 1), (0, 2), (0, 3)]);
        assert_eq!(pairs("many-to-one", 4), [(1, 0), (2, 0), (3, 0)]);
        assert_eq!(pairs("one-way", 4), [(0, 2), (1, 3), (0, 3), (1, 2)]);
        assert_eq!(pairs("offset=12", 4), [(0, 12), (24, 36)], "of all ports, as before");
        for name in ["mesh", "half-to-half", "one-to-many", "many-to-one", "one-way"] {
            assert_eq!(pairs(name, 2).len(), 1, "{name}");
        }
    }

    /// The rows of docs/methods/fabric.md.
    #[test]
    fn rounds_by_hosts_are_those_of_the_page() {
        let page = include_str!("../../../../docs/methods/fabric.md");
        for hosts in [8, 16, 32, 64, 128, 256, 512] {
            let [halves, sweep] = ["halves", "sweep"].map(|name| rounds(name, hosts).len());
            let row = format!("| {hosts} | {} | {sweep} |", halves + 3);
            assert!(page.contains(&row), "{row}");
        }
    }

    fn any_arrangement() -> impl Strategy<Value = Arrangement> {
        prop_oneof![
            Just(Arrangement::Neighbours),
            (1u32..200).prop_map(Arrangement::Offset),
            Just(Arrangement::Sweep),
            (1u32..20).prop_map(Arrangement::Bisections),
            Just(Arrangement::Tournament),
            Just(Arrangement::Halves),
        ]
    }

    proptest! {
        #[test]
        fn no_port_is_in_two_pairs(arrangement in any_arrangement(), ports in 0usize..80, seed: u64) {
            for round in arrangement.rounds(ports, seed) {
                let ends: Vec<usize> = round.pairs.iter().flat_map(|p| [p.0, p.1]).collect();
                let distinct: BTreeSet<usize> = ends.iter().copied().collect();
                prop_assert_eq!(distinct.len(), ends.len(), "{}", round.name);
                prop_assert!(ends.iter().all(|end| *end < ports), "{}", round.name);
            }
        }

        #[test]
        fn no_more_pairs_than_are_told_before(arrangement in any_arrangement(), ports in 2usize..80, seed: u64) {
            let rounds = arrangement.rounds_of(ports, ports, seed);
            let (all, at_once) = arrangement.pairs(ports);
            prop_assert!(rounds.iter().map(|round| round.pairs.len()).sum::<usize>() <= all);
            prop_assert!(rounds.iter().all(|round| round.pairs.len() <= at_once));
        }

        #[test]
        fn an_offset_is_kept_and_leaves_one_port_of_each_odd_ring(ports in 2usize..80, by in 1usize..80) {
            let pairs = offset(ports, by);
            prop_assert!(pairs.iter().all(|(a, b)| (a + by) % ports == *b));
            let rings = gcd(ports, by);
            let idle = if (ports / rings) % 2 == 1 { rings } else { 0 };
            let talking = if by % ports == 0 { 0 } else { ports - idle };
            prop_assert_eq!(2 * pairs.len(), talking);
        }

        #[test]
        fn a_tournament_meets_every_pair_once(ports in 2usize..80) {
            let rounds = Arrangement::Tournament.rounds(ports, 0);
            prop_assert_eq!(rounds.len(), ports - 1 + ports % 2);
            let met: Vec<(usize, usize)> = rounds
                .iter()
                .flat_map(|round| &round.pairs)
                .map(|(a, b)| (*a.min(b), *a.max(b)))
                .collect();
            prop_assert_eq!(met.len(), ports * (ports - 1) / 2);
            prop_assert_eq!(met.iter().collect::<BTreeSet<_>>().len(), met.len());
            prop_assert!(rounds.iter().all(|round| round.pairs.len() == ports / 2));
        }

        #[test]
        fn halves_take_two_rounds_a_bit_and_give_each_port_many_partners(ports in 2usize..600) {
            let rounds = Arrangement::Halves.rounds(ports, 0);
            prop_assert!(rounds.len() <= 2 * (ports as f64).log2().ceil() as usize);
            let mut partners = vec![BTreeSet::new(); ports];
            for (from, to) in rounds.iter().flat_map(|round| &round.pairs) {
                partners[*from].insert(*to);
                partners[*to].insert(*from);
            }
            for (port, partners) in partners.iter().enumerate() {
                prop_assert!(partners.len() >= 3.min(ports - 1), "port {port} of {ports}");
            }
        }

        #[test]
        fn a_sweep_takes_every_distance(ports in 2usize..80) {
            let rounds = Arrangement::Sweep.rounds(ports, 0);
            prop_assert_eq!(rounds.len(), ports - 1);
            for (by, round) in (1..).zip(&rounds) {
                prop_assert!(round.pairs.iter().all(|(a, b)| (a + by) % ports == *b));
            }
        }

        #[test]
        fn bisections_repeat_with_their_seed_and_pair_all_they_can(ports in 2usize..80, seed: u64) {
            let rounds = Arrangement::Bisections(5).rounds(ports, seed);
            prop_assert_eq!(&rounds, &Arrangement::Bisections(5).rounds(ports, seed));
            prop_assert!(rounds.iter().all(|round| round.pairs.len() == ports / 2));
        }
    }
}
