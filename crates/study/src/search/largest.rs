//! Search over whole numbers: the largest that holds, if all smaller ones do.
//!
//! Owns the order of the numbers: doubling until one fails, then the middle of what remains. A
//! number that fails may be tested again before it counts (loss verification, ETSI GS NFV-TST 009
//! §12.3.3, as RFC 9004 §6 recommends). Pure: never tests by itself.

/// Range and parameters of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Within {
    /// Number that is known to hold before the search.
    pub(crate) known: Option<u64>,
    /// First number to test.
    pub(crate) first: u64,
    /// Second number to test if the first holds; twice the first if `None`.
    pub(crate) second: Option<u64>,
    /// Largest number to test.
    pub(crate) most: u64,
    /// Distance of holding and failing number at which the search ends, as a share of the latter.
    /// It also ends if they are adjacent.
    pub(crate) width: f64,
    /// Scale on which the middle is taken.
    pub(crate) scale: Scale,
    /// Number of repetitions of a failed number before it counts.
    pub(crate) verifications: u32,
}

/// Scale of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Distances are differences.
    Linear,
    /// Distances are ratios.
    Logarithmic,
}

impl Within {
    /// Searches from `first` up to `most`, to the exact number.
    pub(crate) const fn exactly(first: u64, most: u64) -> Self {
        let (known, second, width) = (None, None, 0.0);
        Self { known, first, second, most, width, scale: Scale::Linear, verifications: 0 }
    }

    /// Searches from `most` down, in ratios.
    pub(crate) const fn down_from(most: u64) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::exactly(most, most) }
    }
}

/// Result for one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Holds,
    Fails,
    /// The tester could not test so large a number.
    BeyondTester,
    /// There is no result, and there will be none: the search ends.
    Unknown,
}

impl From<bool> for Answer {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

/// Result of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Largest {
    /// Largest number known to hold; `None` if not even the first did.
    pub(crate) holds: Option<u64>,
    /// Smallest number that failed; `None` if even the highest held.
    pub(crate) fails: Option<u64>,
    /// True if the failing number is only beyond the tester.
    pub(crate) by_tester: bool,
    /// Count of numbers tested.
    pub(crate) asked: u64,
    /// True if a test had no result, and the search ended.
    pub(crate) broken: bool,
}

/// Search in progress. It never tests a number again that has its result.
#[derive(Debug, Clone, PartialEq)]
struct LargestSearch {
    within: Within,
    found: Largest,
    /// Number of failures of the current number.
    failed: u32,
}

impl LargestSearch {
    fn new(within: Within) -> Self {
        let first = within.first.clamp(1, within.most.max(1));
        let (holds, fails) = (within.known, None);
        let found = Largest { holds, fails, by_tester: false, asked: 0, broken: false };
        Self { within: Within { first, ..within }, found, failed: 0 }
    }

    /// Next number to test; `None` at the end.
    fn next(&self) -> Option<u64> {
        let Within { first, second, most, width, scale, .. } = self.within;
        if self.found.broken {
            return None;
        }
        if self.found.asked == 0 {
            return Some(first);
        }
        let low = self.found.holds.unwrap_or(0);
        match self.found.fails {
            None if low >= most => None,
            None => {
                let next = second.filter(|_| low == first).unwrap_or(low.saturating_mul(2));
                Some(next.min(most))
            }
            Some(high) if high <= low + 1 || (high - low) as f64 <= width * high as f64 => None,
            Some(high) => Some(match scale {
                Scale::Linear => low + (high - low) / 2,
                Scale::Logarithmic => {
                    let middle = (low.max(1) as f64 * high as f64).sqrt().round() as u64;
                    middle.clamp(low + 1, high - 1)
                }
            }),
        }
    }

    /// Takes the result for the tested number.
    fn learn(&mut self, answer: Answer) {
        let Some(number) = self.next() else { return };
        if answer == Answer::Fails && self.failed < self.within.verifications {
            self.failed += 1;
            return;
        }
        self.failed = 0;
        self.found.asked += 1;
        match answer {
            Answer::Holds => self.found.holds = Some(number),
            Answer::Fails | Answer::BeyondTester => {
                self.found.fails = Some(number);
                self.found.by_tester = answer == Answer::BeyondTester;
            }
            Answer::Unknown => self.found.broken = true,
        }
    }
}

/// Runs the search to its end.
pub(crate) fn largest<E>(
    within: Within,
    mut ask: impl FnMut(u64) -> Result<Answer, E>,
) -> Result<Largest, E> {
    let mut search = LargestSearch::new(within);
    while let Some(number) = search.next() {
        search.learn(ask(number)?);
    }
    Ok(search.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches for `truth`, and counts the questions.
    fn find(truth: u64, within: Within) -> (Largest, u32) {
        let mut asked = Vec::new();
        let found = largest::<()>(within, |n| {
            let again = asked.iter().filter(|other| **other == n).count();
            assert!(again <= within.verifications as usize, "{n} too often");
            assert!(asked.len() < 100, "{within:?}");
            asked.push(n);
            Ok(Answer::from(n <= truth))
        });
        (found.expect("no error"), asked.len() as u32)
    }

    #[test]
    fn the_exact_number_is_found() {
        for truth in [0, 1, 7, 63, 64, 65, 1000, 8190, 65_535, 65_536] {
            let (found, asked) = find(truth, Within::exactly(64, 65_536));
            assert_eq!(found.holds.unwrap_or(0), truth);
            assert_eq!(found.fails, (truth < 65_536).then_some(truth + 1));
            assert!(u64::from(asked) == found.asked && asked <= 28, "{truth}: {asked}");
        }
    }

    #[test]
    fn it_goes_on_from_what_is_known() {
        let (found, _) = find(1_000, Within { known: Some(40), ..Within::exactly(41, 65_536) });
        assert_eq!((found.holds, found.fails), (Some(1_000), Some(1_001)));
        let (none, _) = find(40, Within { known: Some(40), ..Within::exactly(41, 65_536) });
        assert_eq!((none.holds, none.fails, none.asked), (Some(40), Some(41), 1));
    }

    #[test]
    fn a_guess_at_both_ends_may_be_wrong_at_both() {
        for truth in [1_u64, 7, 100, 4_711, 90_000] {
            for (low, high) in [(1, 2), (80, 120), (4_000, 5_000), (100_000, 200_000)] {
                let within = Within { second: Some(high), ..Within::exactly(low, 1_000_000) };
                let (found, asked) = find(truth, within);
                assert_eq!(found.holds, Some(truth), "{low}…{high}");
                assert!(asked < 60, "{truth}: {asked}");
            }
        }
        let mut tried = Vec::new();
        let within = Within { second: Some(20), ..Within::exactly(10, 50) };
        let found = largest::<()>(within, |n| {
            tried.push(n);
            Ok(Answer::Holds)
        });
        assert_eq!(tried, [10, 20, 40, 50]);
        assert_eq!(found.map(|found| (found.holds, found.fails)), Ok((Some(50), None)));
    }

    #[test]
    fn a_width_ends_it_sooner_on_either_scale() {
        let (found, _) = find(100_000, Within { width: 0.01, ..Within::exactly(64, 1 << 20) });
        let (low, high) = (found.holds.expect("some"), found.fails.expect("some"));
        assert!(low <= 100_000 && high > 100_000 && (high - low) as f64 <= 0.01 * high as f64);
        let down = |most| Within { width: 0.005, verifications: 1, ..Within::down_from(most) };
        for truth in [0, 1, 2, 29, 128, 4_711, 1_000_000, 2_999_999] {
            let (found, asked) = find(truth, down(3_000_000));
            let least = truth - (truth as f64 * 0.0051) as u64 - u64::from(truth > 200);
            let holds = found.holds.unwrap_or(0);
            assert!((least..=truth).contains(&holds), "{truth}: {found:?}");
            assert!(asked <= 40 && found.fails.is_some(), "{truth}: {asked}");
        }
        let (ceiling, asked) = find(5_000, down(3_000));
        assert_eq!((ceiling.holds, ceiling.fails, asked), (Some(3_000), None, 1));
    }

    #[test]
    fn one_stray_loss_decides_nothing() {
        let mut search = LargestSearch::new(Within { verifications: 1, ..Within::down_from(64) });
        search.learn(Answer::Fails);
        assert_eq!(search.next(), Some(64));
        search.learn(Answer::Holds);
        assert_eq!((search.next(), search.found.holds), (None, Some(64)));
    }

    #[test]
    fn what_the_tester_cannot_do_is_said() {
        let within = Within { width: 0.005, verifications: 1, ..Within::down_from(1_000) };
        let found = largest::<()>(within, |n| {
            Ok(if n > 100 { Answer::BeyondTester } else { Answer::Holds })
        });
        let found = found.expect("no error");
        assert_eq!((found.holds, found.fails, found.by_tester), (Some(100), Some(101), true));
    }

    #[test]
    fn a_question_without_an_answer_ends_it() {
        let found = largest::<()>(Within::exactly(1, 10), |n| {
            Ok(if n < 4 { Answer::Holds } else { Answer::Unknown })
        });
        let found = found.expect("no error");
        assert_eq!((found.holds, found.fails, found.broken), (Some(2), None, true));
    }
}
