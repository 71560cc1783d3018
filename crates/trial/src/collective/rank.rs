//! Steps of one rank of a collective, repeated with a barrier between.
//!
//! Owns the order: a step begins when the part awaited in the one before has arrived and the own
//! part has left. The first repetition warms the connections up and is not counted. Real and
//! simulated hosts run the same state machine, each with its own time unit. Never reads a clock,
//! never does I/O, and never counts a part that the current step does not await.

use std::collections::BTreeMap;
use std::ops::Sub;

use super::schedule::{Schedule, Step, Transfer};

/// Happening at a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<T> {
    /// A part must be sent now; [`Rank::left`] records that it has left.
    Send {
        /// Receiving rank.
        to: u32,
        /// Number of octets.
        octets: u64,
    },
    /// The part awaited in a step has arrived.
    Received {
        /// Sending rank.
        from: u32,
        /// Number of octets.
        octets: u64,
        /// Time since the step's begin.
        took: T,
    },
    /// The rank has all that a repetition must give it.
    Finished {
        /// Sending rank of the last part.
        from: u32,
        /// Time since the repetition's begin.
        took: T,
    },
}

/// State of one rank.
#[derive(Debug)]
pub struct Rank<T> {
    schedule: Schedule,
    own: u32,
    /// Current step; `None` before the load.
    at: Option<u32>,
    repetitions: u64,
    began: T,
    step_began: T,
    to_send: Option<Transfer>,
    awaited: Option<Transfer>,
    /// Receiver of the own part, until that has left.
    leaving: Option<u32>,
    /// Sender of the repetition's last part.
    last: Option<u32>,
    /// Octets arrived and not yet taken by a step, by sender.
    arrived: BTreeMap<u32, u64>,
}

impl<T: Copy + Default + Sub<Output = T>> Rank<T> {
    /// Creates a rank at rest.
    pub fn new(schedule: Schedule, rank: u32) -> Self {
        Self {
            schedule,
            own: rank,
            at: None,
            repetitions: 0,
            began: T::default(),
            step_began: T::default(),
            to_send: None,
            awaited: None,
            leaving: None,
            last: None,
            arrived: BTreeMap::new(),
        }
    }

    /// Starts the first repetition.
    pub fn begin(&mut self, now: T) {
        self.began = now;
        self.enter(0, now);
    }

    /// Records octets from another rank, in order.
    pub fn arrive(&mut self, from: u32, octets: u64) {
        *self.arrived.entry(from).or_default() += octets;
    }

    /// Records that everything has left that was to be sent to another rank.
    pub fn finish_part(&mut self, to: u32) {
        self.leaving.take_if(|leaving| *leaving == to);
    }

    /// Returns the next event; `None` until something arrives or has left.
    pub fn poll(&mut self, now: T) -> Option<Event<T>> {
        let mut at = self.at?;
        loop {
            if let Some(Transfer { peer: to, octets, .. }) = self.to_send.take() {
                self.leaving = Some(to);
                return Some(Event::Send { to, octets });
            }
            let is_counted = self.repetitions > 0 && at < self.schedule.steps();
            if let Some(Transfer { peer: from, octets, .. }) = self.awaited {
                self.take(from, octets)?;
                self.awaited = None;
                if at < self.schedule.steps() {
                    self.last = Some(from);
                }
                if is_counted {
                    return Some(Event::Received { from, octets, took: now - self.step_began });
                }
            }
            if self.leaving.is_some() {
                return None;
            }
            let finished = self.last.filter(|_| is_counted && at + 1 == self.schedule.steps());
            let took = now - self.began;
            at = if at + 1 < self.schedule.steps_and_barrier() {
                at + 1
            } else {
                self.repetitions += 1;
                (self.began, self.last) = (now, None);
                0
            };
            self.enter(at, now);
            if let Some(from) = finished {
                return Some(Event::Finished { from, took });
            }
        }
    }

    fn enter(&mut self, at: u32, now: T) {
        let Step { send, receive } = self.schedule.step(self.own, at);
        (self.at, self.step_began) = (Some(at), now);
        (self.to_send, self.awaited) = (send, receive);
    }

    /// Takes a whole part of a sender; `None` if not all of it has arrived.
    fn take(&mut self, from: u32, octets: u64) -> Option<()> {
        let arrived = self.arrived.get_mut(&from)?;
        *arrived = arrived.checked_sub(octets)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use measure::Nanos;
    use proptest::prelude::*;

    use super::super::Collective;
    use super::*;

    /// Octets on the way to a rank.
    struct Delivery {
        to: usize,
        from: u32,
        octets: u64,
    }

    /// Ranks on wires that deliver in order, each part in two pieces, as chance has it.
    struct Wires {
        ranks: Vec<Rank<Nanos>>,
        on_the_way: VecDeque<Delivery>,
        received: Vec<u64>,
        finished: Vec<u64>,
        now: u64,
    }

    impl Wires {
        fn new(schedule: Schedule) -> Self {
            let ranks = (0..schedule.ranks()).map(|rank| Rank::new(schedule, rank)).collect();
            let none = vec![0; schedule.ranks() as usize];
            let (received, finished) = (none.clone(), none);
            Self { ranks, on_the_way: VecDeque::new(), received, finished, now: 0 }
        }

        fn poll(&mut self, rank: usize) {
            while let Some(event) = self.ranks[rank].poll(Nanos(self.now)) {
                match event {
                    Event::Send { to, octets } => {
                        let half = octets / 2;
                        for octets in [half, octets - half] {
                            let delivery = Delivery { to: to as usize, from: rank as u32, octets };
                            self.on_the_way.push_back(delivery);
                        }
                        self.ranks[rank].finish_part(to);
                    }
                    Event::Received { octets, .. } => self.received[rank] += octets,
                    Event::Finished { .. } => self.finished[rank] += 1,
                }
            }
        }

        /// Delivers a number of pieces; false if none is left.
        fn run(&mut self, pieces: usize) -> bool {
            for _ in 0..pieces {
                let Some(Delivery { to, from, octets }) = self.on_the_way.pop_front() else {
                    return false;
                };
                self.now += 1;
                self.ranks[to].arrive(from, octets);
                self.poll(to);
            }
            true
        }
    }

    proptest! {
        /// No collective ever stops by itself, all ranks are in the same repetition or the next,
        /// and each receives its share in every repetition.
        #[test]
        fn repetitions_go_on_and_stay_together(
            which in 0..Collective::ALL.len(),
            ranks in 2..20_u32,
            octets in 1..5000_u64,
        ) {
            let collective = Collective::ALL[which];
            let schedule = Schedule::new(collective, ranks, octets).unwrap();
            let mut wires = Wires::new(schedule);
            for rank in 0..ranks as usize {
                wires.ranks[rank].begin(Nanos(0));
                wires.poll(rank);
            }
            prop_assert!(wires.run(6 * (ranks * schedule.steps_and_barrier()) as usize));
            let of_rank = |rank: u32| -> u64 {
                let steps = (0..schedule.steps()).filter_map(|at| schedule.step(rank, at).receive);
                steps.map(|part| part.octets).sum()
            };
            let repetitions: Vec<u64> = wires.ranks.iter().map(|rank| rank.repetitions).collect();
            let most = *repetitions.iter().max().unwrap();
            prop_assert!(most >= 2);
            for rank in 0..ranks {
                let at = rank as usize;
                prop_assert!(repetitions[at] + 1 >= most);
                if of_rank(rank) > 0 {
                    prop_assert!(wires.finished[at] + 2 >= most, "rank {} of {}", rank, collective);
                    prop_assert!(wires.received[at] >= wires.finished[at] * of_rank(rank));
                    prop_assert!(wires.received[at] <= most * of_rank(rank));
                }
            }
        }
    }

    #[test]
    fn a_step_waits_for_the_part_to_arrive_and_for_its_own_to_leave() {
        let schedule = Schedule::new(Collective::AllReduceRing, 2, 10).unwrap();
        let mut rank = Rank::new(schedule, 0);
        assert_eq!(rank.poll(Nanos(0)), None, "not begun");
        rank.begin(Nanos(5));
        let send = Some(Event::Send { to: 1, octets: 5 });
        assert_eq!([rank.poll(Nanos(5)), rank.poll(Nanos(5))], [send, None]);
        rank.arrive(1, 5);
        assert_eq!(rank.poll(Nanos(9)), None, "its own part has not left");
        rank.finish_part(2);
        assert_eq!(rank.poll(Nanos(9)), None, "that was another's");
        rank.finish_part(1);
        assert_eq!([rank.poll(Nanos(9)), rank.poll(Nanos(9))], [send, None]);
        rank.finish_part(1);
        assert_eq!(rank.poll(Nanos(9)), None, "nothing has arrived");
    }
}
