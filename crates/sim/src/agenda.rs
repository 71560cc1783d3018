//! Agenda: the next time of each actor, the earliest on top.
//!
//! Owns the order of a trial's events. It is a tournament: setting an actor's time costs at most
//! the logarithm of their number, and usually one or two comparisons. Of actors with the same time
//! the lower number comes first, so that the order is the same on every machine.

use measure::Picos;

/// Actor and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    at: Picos,
    who: u32,
}

/// Next time of every actor; [`Picos::MAX`] if it waits for others.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Heap in the shape of a tournament: node i's winner is the better of those of 2i and 2i+1.
    nodes: Vec<Turn>,
    leaves: usize,
}

impl Agenda {
    /// Creates the agenda of actors 0…`actors`-1, none of which has a time.
    pub(crate) fn new(actors: usize) -> Self {
        let leaves = actors.next_power_of_two().max(2);
        let turn = |node: usize| Turn { at: Picos::MAX, who: node as u32 };
        let mut nodes: Vec<Turn> =
            (0..2 * leaves).map(|node| turn(node.saturating_sub(leaves))).collect();
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes, leaves }
    }

    /// Earliest time and its actor.
    #[inline]
    pub(crate) fn first(&self) -> (Picos, u32) {
        (self.nodes[1].at, self.nodes[1].who)
    }

    /// Time of an actor.
    #[inline]
    pub(crate) fn at(&self, who: u32) -> Picos {
        self.nodes[self.leaves + who as usize].at
    }

    /// Sets an actor's time.
    #[inline]
    pub(crate) fn set(&mut self, who: u32, at: Picos) {
        let mut node = self.leaves + who as usize;
        self.nodes[node].at = at;
        while node > 1 {
            let parent = node / 2;
            let (left, right) = (self.nodes[2 * parent], self.nodes[2 * parent + 1]);
            let winner = if right.at < left.at { right } else { left };
            if self.nodes[parent] == winner {
                return;
            }
            self.nodes[parent] = winner;
            node = parent;
        }
    }

    /// Brings an actor's time forward; a later one than it has changes nothing.
    #[inline]
    pub(crate) fn hasten(&mut self, who: u32, at: Picos) {
        if at < self.at(who) {
            self.set(who, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_equal_moments_the_lower_number_comes_first() {
        let mut agenda = Agenda::new(5);
        assert_eq!(agenda.first().0, Picos::MAX);
        for who in [4, 2, 3] {
            agenda.set(who, Picos(7));
        }
        assert_eq!(agenda.first(), (Picos(7), 2));
        agenda.set(2, Picos::MAX);
        assert_eq!(agenda.first(), (Picos(7), 3));
        agenda.hasten(4, Picos(6));
        agenda.hasten(4, Picos(9));
        assert_eq!(agenda.first(), (Picos(6), 4));
    }

    proptest! {
        #[test]
        fn the_first_is_the_least(
            actors in 1usize..40,
            moves in prop::collection::vec((0usize..40, 0u64..50), 0..200),
        ) {
            let mut agenda = Agenda::new(actors);
            let mut plain = vec![Picos::MAX; actors];
            for (who, at) in moves {
                let who = who % actors;
                agenda.set(who as u32, Picos(at));
                plain[who] = Picos(at);
                let least = plain.iter().enumerate().min_by_key(|(who, at)| (**at, *who)).unwrap();
                prop_assert_eq!(agenda.first(), (*least.1, least.0 as u32));
            }
        }
    }
}
