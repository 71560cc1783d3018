//! One-to-one rounds: pairs of sender and receiver in which no port sends or receives twice.
//!
//! Owns their construction from the groups believed in. Pure: random rounds have a seed. Never
//! measures.

use std::collections::BTreeSet;

use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

/// Sending and receiving port of each flow.
pub(super) type Flows = Vec<(usize, usize)>;

/// Maximum number of crossing rounds, even if some port has not met some group.
const MOST_CROSSINGS: usize = 3;

/// Flows from every port to the one `by` places further on in `ports`.
pub(super) fn shifted(ports: &[usize], by: usize) -> Flows {
    let to = |at: usize| ports[(at + by) % ports.len()];
    ports
        .iter()
        .enumerate()
        .filter(|(at, _)| to(*at) != ports[*at])
        .map(|(at, p)| (*p, to(at)))
        .collect()
}

/// Ring through all ports in random order.
pub(super) fn random(ports: &[usize], chance: &mut Pcg64) -> Flows {
    let mut ring = ports.to_vec();
    ring.shuffle(chance);
    shifted(&ring, 1)
}

/// Rounds in which all flows leave their group, as far as there are ports elsewhere. There are at
/// least two, and every port meets every other group if that takes few rounds.
pub(super) fn crossing(
    groups: &[Vec<usize>],
    rank: &dyn Fn(usize) -> u64,
    chance: &mut Pcg64,
) -> Vec<Flows> {
    let mut groups: Vec<Vec<usize>> = groups.to_vec();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let total: usize = groups.iter().map(Vec::len).sum();
    let Some(largest) = groups.first().map(Vec::len) else { return Vec::new() };
    if groups.len() < 2 {
        return Vec::new();
    }
    if 2 * largest > total {
        return around_the_largest(&mut groups, chance);
    }
    let mut met: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut rounds: Vec<Flows> = Vec::new();
    let wanted = (groups.len() - 1) * total;
    while rounds.len() < MOST_CROSSINGS && (rounds.len() < 2 || met.len() < wanted) {
        let ring = ring(&mut groups, rank, chance);
        let of = |port: &usize| groups.iter().position(|group| group.contains(port)).unwrap_or(0);
        let news = |by: &usize| {
            let flows = shifted(&ring, *by);
            let pairs = flows.iter().map(|(from, to)| (*from, of(to)));
            pairs.filter(|pair| !met.contains(pair)).count()
        };
        let mut shifts: Vec<usize> = (largest..=total - largest).collect();
        shifts.shuffle(chance);
        let Some(by) = shifts.into_iter().max_by_key(news) else { break };
        let flows = shifted(&ring, by);
        let pairs: Vec<(usize, usize)> = flows.iter().map(|(from, to)| (*from, of(to))).collect();
        met.extend(pairs);
        rounds.push(flows);
    }
    rounds
}

/// Concatenates all groups. Within a group, ports of one rate are adjacent, so that a shift by
/// whole groups pairs fast ports with fast ones.
fn ring(groups: &mut [Vec<usize>], rank: &dyn Fn(usize) -> u64, chance: &mut Pcg64) -> Vec<usize> {
    for group in groups.iter_mut() {
        group.shuffle(chance);
        group.sort_by_key(|port| rank(*port));
    }
    groups.concat()
}

/// Rounds for one group with more ports than all others together. All other ports exchange with as
/// many of the largest group, in both directions.
fn around_the_largest(groups: &mut [Vec<usize>], chance: &mut Pcg64) -> Vec<Flows> {
    let others: Vec<usize> = groups[1..].concat();
    groups[0].shuffle(chance);
    let largest = &groups[0];
    let rounds = largest.len().div_ceil(others.len()).clamp(2, 3);
    let round = |round: usize| {
        let partner = |at: usize| largest[(round * others.len() + at) % largest.len()];
        let pairs = others.iter().enumerate().map(|(at, other)| (*other, partner(at)));
        pairs.flat_map(|(a, b)| [(a, b), (b, a)]).collect()
    };
    (0..rounds).map(round).collect()
}

/// Flows between all ports of one group and as many elsewhere, in both directions, spread over the
/// other groups by capacity. No other group's uplink is loaded much.
pub(super) fn alone(
    groups: &[Vec<usize>],
    which: usize,
    rooms: &[f64],
    chance: &mut Pcg64,
) -> Flows {
    let mut own = groups[which].clone();
    own.shuffle(chance);
    let mut elsewhere: Vec<(f64, usize)> = Vec::new();
    for (at, group) in groups.iter().enumerate().filter(|(at, _)| *at != which) {
        let mut group = group.clone();
        group.shuffle(chance);
        let place = |i: usize| (i as f64 + 0.5 + 0.01 * at as f64) / rooms[at];
        elsewhere.extend(group.iter().enumerate().map(|(i, port)| (place(i), *port)));
    }
    elsewhere.sort_by(|a, b| a.0.total_cmp(&b.0));
    let pairs = own.into_iter().zip(elsewhere.into_iter().map(|(_, port)| port));
    pairs.flat_map(|(a, b)| [(a, b), (b, a)]).collect()
}

/// Ring within each group, in random order. With neighbours only, two groups taken for one would
/// exchange hardly any traffic.
pub(super) fn inside(groups: &[Vec<usize>], chance: &mut Pcg64) -> Flows {
    groups.iter().flat_map(|group| random(group, chance)).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    fn scattered(sizes: &[usize], chance: &mut Pcg64) -> Vec<Vec<usize>> {
        let mut ports: Vec<usize> = (0..sizes.iter().sum()).collect();
        ports.shuffle(chance);
        let mut rest = &ports[..];
        let mut groups = Vec::new();
        for size in sizes {
            groups.push(rest[..*size].to_vec());
            rest = &rest[*size..];
        }
        groups
    }

    fn once(flows: &Flows) -> bool {
        let senders: BTreeSet<usize> = flows.iter().map(|f| f.0).collect();
        let receivers: BTreeSet<usize> = flows.iter().map(|f| f.1).collect();
        senders.len() == flows.len() && receivers.len() == flows.len()
    }

    #[test]
    fn crossing_rounds_leave_every_group_and_meet_all() {
        let mut chance = Pcg64::seed_from_u64(3);
        for sizes in [&[4, 4][..], &[8, 8, 8], &[12, 12, 12, 12], &[5, 9, 7], &[6, 2], &[40, 4, 4]]
        {
            let groups = scattered(sizes, &mut chance);
            let of = |port: usize| groups.iter().position(|group| group.contains(&port));
            let rounds = crossing(&groups, &|_| 0, &mut chance);
            assert!(rounds.len() >= 2, "{sizes:?}");
            for flows in &rounds {
                assert!(once(flows), "{sizes:?}: {flows:?}");
                assert!(flows.iter().all(|(a, b)| of(*a) != of(*b)), "{sizes:?}: {flows:?}");
            }
            for which in 0..groups.len() {
                let rooms: Vec<f64> = groups.iter().map(|group| group.len() as f64).collect();
                let flows = alone(&groups, which, &rooms, &mut chance);
                assert!(once(&flows) && !flows.is_empty(), "{sizes:?}");
                assert!(
                    flows.iter().all(|(a, b)| (of(*a) == Some(which)) != (of(*b) == Some(which)))
                );
            }
            assert!(inside(&groups, &mut chance).iter().all(|(a, b)| of(*a) == of(*b)));
        }
        let equal = scattered(&[12, 12, 12, 12], &mut chance);
        assert_eq!(crossing(&equal, &|_| 0, &mut chance).len(), 3, "every port meets every group");
        assert!(crossing(&[vec![0, 1]], &|_| 0, &mut chance).is_empty());
    }

    #[test]
    fn rings_of_one_port_are_none() {
        assert!(
            shifted(&[3], 1).is_empty() && random(&[1], &mut Pcg64::seed_from_u64(1)).is_empty()
        );
        assert_eq!(shifted(&[3, 5, 9], 1), [(3, 5), (5, 9), (9, 3)]);
        assert!(once(&random(&[0, 1, 2, 3, 4], &mut Pcg64::seed_from_u64(1))));
    }
}
