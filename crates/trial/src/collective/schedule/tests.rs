//! Schedules held against what each collective promises: every rank has all that it must, and no
//! more octets moved than the textbook's.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Ranks whose vectors are in a sum, for every octet of every rank's vector.
type Vectors = Vec<Vec<BTreeSet<u32>>>;

fn collective() -> impl Strategy<Value = Collective> {
    prop::sample::select(&Collective::ALL[..])
}

fn schedule() -> impl Strategy<Value = Schedule> {
    (collective(), 2..24_u32, 1..100_u64)
        .prop_map(|(collective, ranks, octets)| Schedule::new(collective, ranks, octets).unwrap())
}

/// True if a received part is added to what is there, false if it replaces it.
fn adds(schedule: &Schedule, at: u32) -> bool {
    match schedule.collective {
        Collective::AllReduceRing => at < schedule.ranks - 1,
        Collective::ReduceScatter => true,
        Collective::AllReduceTree => at < levels(schedule.ranks),
        Collective::AllReduceHalvingDoubling => {
            at < schedule.ranks.ilog2() + u32::from(schedule.folded() > 0)
        }
        Collective::AllGather | Collective::AllToAll | Collective::Broadcast => false,
    }
}

/// Carries the steps out: in the beginning each rank has its own vector.
fn carry_out(schedule: &Schedule) -> Vectors {
    let own = |rank| vec![BTreeSet::from([rank]); schedule.octets as usize];
    let mut vectors: Vectors = (0..schedule.ranks).map(own).collect();
    for at in 0..schedule.steps() {
        let before = vectors.clone();
        for rank in 0..schedule.ranks {
            let Some(part) = schedule.step(rank, at).receive else { continue };
            for octet in part.offset..part.offset + part.octets {
                let sent = &before[part.peer as usize][octet as usize];
                let kept = &mut vectors[rank as usize][octet as usize];
                if adds(schedule, at) {
                    assert!(kept.is_disjoint(sent), "step {at}: rank {rank} adds one twice");
                    kept.extend(sent);
                } else {
                    kept.clone_from(sent);
                }
            }
        }
    }
    vectors
}

fn start(schedule: &Schedule, block: u32) -> usize {
    (schedule.octets * u64::from(block) / u64::from(schedule.ranks)) as usize
}

fn sent_by_all(schedule: &Schedule) -> u64 {
    let steps = (0..schedule.steps()).flat_map(|at| (0..schedule.ranks).map(move |r| (r, at)));
    steps.filter_map(|(rank, at)| schedule.step(rank, at).send).map(|part| part.octets).sum()
}

proptest! {
    /// What one sends in a step the other receives in the same, so no step depends on a later one.
    #[test]
    fn each_part_is_sent_and_awaited_in_the_same_step(schedule in schedule()) {
        for at in 0..schedule.steps_and_barrier() {
            for rank in 0..schedule.ranks {
                let Step { send, receive } = schedule.step(rank, at);
                for part in [send, receive].into_iter().flatten() {
                    prop_assert!(part.octets > 0 && part.peer < schedule.ranks && part.peer != rank);
                }
                if let Some(part) = send {
                    let seen = schedule.step(part.peer, at).receive;
                    prop_assert_eq!(seen, Some(Transfer { peer: rank, ..part }));
                }
                if let Some(part) = receive {
                    let seen = schedule.step(part.peer, at).send;
                    prop_assert_eq!(seen, Some(Transfer { peer: rank, ..part }));
                }
            }
        }
    }

    #[test]
    fn all_octets_are_the_textbooks(schedule in schedule()) {
        let expected = schedule.collective.octets_sent(schedule.ranks, schedule.octets);
        prop_assert_eq!(sent_by_all(&schedule), expected);
    }

    #[test]
    fn every_rank_ends_with_all_that_it_must_have(schedule in schedule()) {
        let all: BTreeSet<u32> = (0..schedule.ranks).collect();
        // The pieces of an all-to-all are told apart by where they were received.
        if schedule.collective == Collective::AllToAll {
            for rank in 0..schedule.ranks {
                let steps = (0..schedule.steps()).filter_map(|at| schedule.step(rank, at).receive);
                let peers: Vec<u32> = steps.map(|part| part.peer).collect();
                let (own, next) = (start(&schedule, rank), start(&schedule, rank + 1));
                let others = if next > own { schedule.ranks as usize - 1 } else { 0 };
                prop_assert_eq!(peers.len(), others);
                prop_assert_eq!(peers.iter().collect::<BTreeSet<_>>().len(), others);
            }
            return Ok(());
        }
        for (rank, vector) in (0..).zip(carry_out(&schedule)) {
            let own = start(&schedule, rank)..start(&schedule, rank + 1);
            for (octet, has) in vector.iter().enumerate() {
                let block = (0..schedule.ranks).find(|b| octet < start(&schedule, b + 1)).unwrap();
                match schedule.collective {
                    Collective::ReduceScatter if !own.contains(&octet) => {}
                    Collective::AllGather => prop_assert_eq!(has, &BTreeSet::from([block])),
                    Collective::Broadcast => prop_assert_eq!(has, &BTreeSet::from([0])),
                    _ => prop_assert_eq!(has, &all, "rank {}, octet {}", rank, octet),
                }
            }
        }
    }

    #[test]
    fn the_pairs_are_those_that_the_steps_name(schedule in schedule()) {
        let pairs = schedule.pairs();
        for at in 0..schedule.steps_and_barrier() {
            for rank in 0..schedule.ranks {
                if let Some(part) = schedule.step(rank, at).receive {
                    prop_assert!(pairs.contains(&[rank.min(part.peer), rank.max(part.peer)]));
                }
            }
        }
        prop_assert!(pairs.iter().all(|[low, high]| low < high));
    }
}

/// No rank leaves the barrier before each has entered it.
#[test]
fn the_barrier_holds_every_rank_until_all_are_there() {
    for ranks in 2..70 {
        let schedule = Schedule::new(Collective::AllGather, ranks, 1).unwrap();
        let mut known: Vec<BTreeSet<u32>> = (0..ranks).map(|rank| BTreeSet::from([rank])).collect();
        for at in schedule.steps()..schedule.steps_and_barrier() {
            let before = known.clone();
            for rank in 0..ranks {
                if let Some(part) = schedule.step(rank, at).receive {
                    known[rank as usize].extend(&before[part.peer as usize]);
                }
            }
        }
        assert!(known.iter().all(|heard| heard.len() == ranks as usize), "{ranks} ranks");
    }
}

#[test]
fn steps_are_as_many_as_the_algorithms_need() {
    let steps = |collective, ranks| Schedule::new(collective, ranks, 1 << 20).unwrap().steps();
    for (ranks, expected) in [(2, [2, 2, 2, 1, 1, 1, 1]), (8, [14, 6, 6, 7, 7, 7, 3])] {
        assert_eq!(Collective::ALL.map(|collective| steps(collective, ranks)), expected);
    }
    assert_eq!(steps(Collective::AllReduceHalvingDoubling, 7), 2 + 2 * 2);
    assert_eq!(steps(Collective::AllReduceTree, 5), 2 * 3);
}

#[test]
fn too_many_ranks_and_octets_are_refused() {
    let new = |ranks, octets| Schedule::new(Collective::AllToAll, ranks, octets);
    assert_eq!(new(1, 8), Err(NotASchedule::Ranks(1)));
    assert_eq!(new(1025, 8), Err(NotASchedule::Ranks(1025)));
    assert_eq!(new(8, 0), Err(NotASchedule::Octets(0)));
    assert_eq!(new(8, (1 << 30) + 1), Err(NotASchedule::Octets((1 << 30) + 1)));
    let largest = new(1024, 1 << 30).unwrap();
    assert_eq!(largest.step(1023, 0).send.unwrap().octets, 1 << 20);
}
