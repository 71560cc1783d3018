//! Trials that a value rests on, by their indices in the run.
//!
//! Owns their notation: `[[0, 3], [7, 7]]` are the first four and the eighth. Never knows a trial.

use serde::{Deserialize, Serialize};

/// Indices of trials, from 0 in the order in which they ran, as ranges that neither overlap nor
/// touch.
///
/// Of more than [`MOST`] ranges only the first and the last index are kept, with all between them.
/// A run of 100,000 trials must not take more memory than one of 1,000.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trials(Vec<[u64; 2]>);

/// Largest number of separate ranges.
const MOST: usize = 128;

impl Trials {
    /// Creates the range from `first` to before `end`.
    pub fn between(first: u64, end: u64) -> Self {
        if first < end { Self(vec![[first, end - 1]]) } else { Self::default() }
    }

    /// Adds one index.
    pub fn insert(&mut self, place: u64) {
        self.extend(&Self(vec![[place, place]]));
    }

    /// Adds the indices of another value.
    pub fn extend(&mut self, other: &Self) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(&other.0);
        all.sort_unstable();
        for [first, last] in all {
            match self.0.last_mut() {
                Some(before) if first <= before[1].saturating_add(1) => {
                    before[1] = before[1].max(last);
                }
                _ => self.0.push([first, last]),
            }
        }
        if let ([[first, _], .., [_, last]], true) = (&self.0[..], self.0.len() > MOST) {
            self.0 = vec![[*first, *last]];
        }
    }

    /// True if no trial is known.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this trial may be among them.
    pub fn contains(&self, place: u64) -> bool {
        self.0.iter().any(|[first, last]| (*first..=*last).contains(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_written_as_ranges_and_read_back() {
        let mut trials = Trials::default();
        for place in [7, 0, 2, 1, 3, 9] {
            trials.insert(place);
        }
        let written = serde_json::to_string(&trials).expect("JSON");
        assert_eq!(written, "[[0,3],[7,7],[9,9]]");
        assert_eq!(serde_json::from_str::<Trials>(&written).expect("read back"), trials);
        assert!(trials.contains(2) && !trials.contains(8));
    }

    #[test]
    fn many_take_no_more_room_than_few() {
        let mut trials = Trials::default();
        (0..10 * MOST as u64).for_each(|place| trials.insert(3 * place));
        assert!(trials.0.len() <= MOST && trials.contains(0), "{trials:?}");
        assert!(trials.contains(3 * (10 * MOST as u64 - 1)), "{trials:?}");
    }
}
