//! Schedule of a collective: which rank sends how many octets to whom in which step.
//!
//! Owns the algorithms, and the barrier behind each repetition. A step is computed from its number;
//! nothing is stored, so a schedule of 1,024 ranks takes no memory. What one rank sends in a step,
//! its peer receives in the same step: no step depends on a later one. Never does I/O.

use std::collections::BTreeSet;
use std::fmt;

use super::Collective;

/// Largest number of ranks.
pub const MOST_RANKS: u32 = 1024;
/// Largest size of a collective, in octets.
pub const LARGEST_COLLECTIVE: u64 = 1 << 30;

/// Octets of a message of the barrier.
const TOKEN: u64 = 1;

/// Schedule of a collective over a vector of octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    collective: Collective,
    ranks: u32,
    octets: u64,
}

/// Octets that pass between a rank and a peer in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Other rank.
    pub peer: u32,
    /// First octet, in the vector of the sending rank.
    pub offset: u64,
    /// Number of octets; never 0.
    pub octets: u64,
}

/// Step of one rank. It begins when the step before is over, and is over when its own part has left
/// and the other's has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// Part that the rank sends.
    pub send: Option<Transfer>,
    /// Part that the rank waits for.
    pub receive: Option<Transfer>,
}

/// Reason why there is no such schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotASchedule {
    /// Fewer than two ranks, or more than [`MOST_RANKS`].
    Ranks(u32),
    /// No octets, or more than [`LARGEST_COLLECTIVE`].
    Octets(u64),
}

impl fmt::Display for NotASchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranks(ranks) => {
                write!(f, "a collective among {ranks} ranks: 2 to {MOST_RANKS} are possible")
            }
            Self::Octets(octets) => {
                write!(f, "a collective over {octets} octets: 1 octet to 1 GiB is possible")
            }
        }
    }
}

impl std::error::Error for NotASchedule {}

impl Schedule {
    /// Creates the schedule of a collective among `ranks` over `octets`.
    ///
    /// # Errors
    ///
    /// Fails for fewer than two ranks, for no octets, and above the largest of either.
    pub const fn new(
        collective: Collective,
        ranks: u32,
        octets: u64,
    ) -> Result<Self, NotASchedule> {
        if ranks < 2 || ranks > MOST_RANKS {
            return Err(NotASchedule::Ranks(ranks));
        }
        if octets == 0 || octets > LARGEST_COLLECTIVE {
            return Err(NotASchedule::Octets(octets));
        }
        Ok(Self { collective, ranks, octets })
    }

    /// Collective that it carries out.
    pub const fn collective(&self) -> Collective {
        self.collective
    }

    /// Number of ranks.
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Size of the collective, in octets.
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// Number of steps of the collective, the same for all ranks; in some a rank may do nothing.
    pub fn steps(&self) -> u32 {
        let around = self.ranks - 1;
        match self.collective {
            Collective::AllReduceRing => 2 * around,
            Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => around,
            Collective::AllReduceTree => 2 * levels(self.ranks),
            Collective::Broadcast => levels(self.ranks),
            Collective::AllReduceHalvingDoubling => {
                let folds = if self.folded() > 0 { 2 } else { 0 };
                2 * self.ranks.ilog2() + folds
            }
        }
    }

    /// Number of steps with those of the barrier behind them: each rank waits for all others
    /// before it begins the next repetition.
    pub fn steps_and_barrier(&self) -> u32 {
        self.steps() + 2 * levels(self.ranks)
    }

    /// Returns a step of a rank; those from [`Self::steps`] on are the barrier's.
    pub fn step(&self, rank: u32, at: u32) -> Step {
        let steps = self.steps();
        if at >= steps {
            return self.tree(rank, at - steps, TOKEN);
        }
        match self.collective {
            Collective::AllReduceRing if at < self.ranks - 1 => self.scatter(rank, at),
            Collective::AllReduceRing => self.gather(rank, at - (self.ranks - 1)),
            Collective::ReduceScatter => self.scatter(rank, at),
            Collective::AllGather => self.gather(rank, at),
            Collective::AllToAll => self.all_to_all(rank, at),
            Collective::AllReduceTree => self.tree(rank, at, self.octets),
            Collective::Broadcast => self.tree(rank, at + levels(self.ranks), self.octets),
            Collective::AllReduceHalvingDoubling => self.halving_doubling(rank, at),
        }
    }

    /// Ranks with which a rank exchanges something, the barrier's included.
    pub fn peers(&self, rank: u32) -> BTreeSet<u32> {
        let steps = (0..self.steps_and_barrier()).map(|at| self.step(rank, at));
        steps.flat_map(|step| [step.send, step.receive]).flatten().map(|part| part.peer).collect()
    }

    /// Pairs of ranks that exchange something, each once and the lower rank first; the barrier's
    /// included.
    pub fn pairs(&self) -> BTreeSet<[u32; 2]> {
        let mut pairs = BTreeSet::new();
        for rank in 0..self.ranks {
            let mut last = None;
            for at in 0..self.steps_and_barrier() {
                let Some(send) = self.step(rank, at).send else { continue };
                if last != Some(send.peer) {
                    last = Some(send.peer);
                    pairs.insert([rank.min(send.peer), rank.max(send.peer)]);
                }
            }
        }
        pairs
    }

    /// Octets from block `first` on, of a vector cut into `blocks` almost equal ones.
    fn blocks(&self, peer: u32, first: u32, count: u32, blocks: u32) -> Option<Transfer> {
        let start = |block: u32| {
            // At most 2^30 octets by 2^10 blocks.
            self.octets * u64::from(block) / u64::from(blocks)
        };
        let (offset, end) = (start(first), start(first + count));
        (end > offset).then_some(Transfer { peer, offset, octets: end - offset })
    }

    /// Block of the vector, of as many as there are ranks.
    fn block(&self, peer: u32, block: u32) -> Option<Transfer> {
        self.blocks(peer, block, 1, self.ranks)
    }

    /// Rank that is `by` behind, round the ring.
    const fn back(&self, rank: u32, by: u32) -> u32 {
        (rank + self.ranks - by % self.ranks) % self.ranks
    }

    const fn ahead(&self, rank: u32, by: u32) -> u32 {
        (rank + by) % self.ranks
    }

    /// Step of a reduce-scatter round the ring: in the end rank r has block r.
    fn scatter(&self, rank: u32, at: u32) -> Step {
        Step {
            send: self.block(self.ahead(rank, 1), self.back(rank, at + 1)),
            receive: self.block(self.back(rank, 1), self.back(rank, at + 2)),
        }
    }

    /// Step of an all-gather round the ring: in the beginning rank r has block r.
    fn gather(&self, rank: u32, at: u32) -> Step {
        Step {
            send: self.block(self.ahead(rank, 1), self.back(rank, at)),
            receive: self.block(self.back(rank, 1), self.back(rank, at + 1)),
        }
    }

    fn all_to_all(&self, rank: u32, at: u32) -> Step {
        let (to, from) = (self.ahead(rank, at + 1), self.back(rank, at + 1));
        Step { send: self.block(to, to), receive: self.block(from, rank) }
    }

    /// Step up a binomial tree to rank 0, and then down from it.
    fn tree(&self, rank: u32, at: u32, octets: u64) -> Step {
        let levels = levels(self.ranks);
        let is_up = at < levels;
        let distance = 1 << if is_up { at } else { 2 * levels - 1 - at };
        let whole = |peer| Some(Transfer { peer, offset: 0, octets });
        let (is_child, is_parent) = match rank % (2 * distance) {
            0 => (false, rank + distance < self.ranks),
            rest => (rest == distance, false),
        };
        let to_parent = if is_child { whole(rank - distance) } else { None };
        let to_child = if is_parent { whole(rank + distance) } else { None };
        if is_up {
            Step { send: to_parent, receive: to_child }
        } else {
            Step { send: to_child, receive: to_parent }
        }
    }

    /// Number of ranks beyond a power of two.
    const fn folded(&self) -> u32 {
        self.ranks - (1 << self.ranks.ilog2())
    }

    /// Rank among the power of two that halves and doubles; `None` for one that is folded into its
    /// neighbour (Thakur, Rabenseifner and Gropp, 2005).
    const fn core(&self, rank: u32) -> Option<u32> {
        let folded = self.folded();
        if rank >= 2 * folded {
            Some(rank - folded)
        } else if rank % 2 == 1 {
            Some(rank / 2)
        } else {
            None
        }
    }

    const fn core_to_rank(&self, core: u32) -> u32 {
        if core < self.folded() { 2 * core + 1 } else { core + self.folded() }
    }

    fn halving_doubling(&self, rank: u32, at: u32) -> Step {
        let levels = self.ranks.ilog2();
        if self.folded() == 0 {
            return self.halve_or_double(rank, at);
        }
        match at {
            0 => self.fold(rank, true),
            at if at <= 2 * levels => self.halve_or_double(rank, at - 1),
            _ => self.fold(rank, false),
        }
    }

    /// Step in which the ranks beyond a power of two hand their vector in, or get the result.
    fn fold(&self, rank: u32, is_in: bool) -> Step {
        if rank >= 2 * self.folded() {
            return Step::default();
        }
        let whole = Some(Transfer { peer: rank ^ 1, offset: 0, octets: self.octets });
        if rank.is_multiple_of(2) == is_in {
            Step { send: whole, receive: None }
        } else {
            Step { send: None, receive: whole }
        }
    }

    fn halve_or_double(&self, rank: u32, at: u32) -> Step {
        let Some(own) = self.core(rank) else { return Step::default() };
        let levels = self.ranks.ilog2();
        let is_halving = at < levels;
        let distance = 1 << if is_halving { levels - 1 - at } else { at - levels };
        let other = own ^ distance;
        let peer = self.core_to_rank(other);
        let around =
            |core: u32| self.blocks(peer, core / distance * distance, distance, 1 << levels);
        // Halving sends the partner's half and keeps its own; doubling sends its own.
        let (sent, received) = if is_halving { (other, own) } else { (own, other) };
        Step { send: around(sent), receive: around(received) }
    }
}

/// Levels of a binomial tree.
const fn levels(ranks: u32) -> u32 {
    ranks.next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests;
