//! Lateness of a host's processor when it hands over frames: up to a frame's time, drawn from the
//! seed.
//!
//! Owns the draws. Each depends only on the seed, the sender and a count, so it does not depend on
//! how the driver advances time. Never changes an order, and never the long-run rate.
//!
//! Without it, flows with the same frame interval stay in step. Of two into one full queue the same
//! one then always finds it full (Floyd and Jacobson, 1992: traffic phase effects).

use device::chance;
use measure::Picos;

/// Jitter of one sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jitter {
    seed: u64,
}

impl Jitter {
    /// Creates the jitter of one sender, by a number that is unique within its kind.
    pub(crate) fn new(seed: u64, sender: u64) -> Self {
        Self { seed: chance::scatter(!seed, sender) }
    }

    /// Lateness of the `turn`th time: uniform from zero to below `most`.
    #[inline]
    pub(crate) fn late(self, turn: u64, most: Picos) -> Picos {
        let share = u128::from(chance::scatter(self.seed, turn)) * u128::from(most.0);
        Picos((share >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_even_and_its_own_for_each_sender() {
        const TURNS: u64 = 10_000;
        let most = Picos(1_000_000);
        let mean = |jitter: Jitter| -> u64 {
            (0..TURNS).map(|turn| jitter.late(turn, most).0).sum::<u64>() / TURNS
        };
        let draws = |sender| -> Vec<Picos> {
            (0..TURNS).map(|turn| Jitter::new(7, sender).late(turn, most)).collect()
        };
        for sender in 0..4 {
            // The standard error of the mean is 0.3 % of the span.
            assert!(mean(Jitter::new(7, sender)).abs_diff(500_000) < 15_000);
            assert!(draws(sender).iter().all(|late| *late < most));
            assert_ne!(draws(sender), draws(sender + 1));
        }
    }
}
