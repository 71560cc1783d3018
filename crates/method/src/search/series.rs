//! Searches for several goals of different trial lengths: one search for each length, one after the
//! other.
//!
//! RFC 9971 §4.6.1 recommends one final trial duration for all goals of a search, and rightly: a
//! single trial of 60 s outweighs the 21 of one second that a non-drop rate is made of, so that one
//! stall in it would move what exists to stand stalls. Owns the order; never a load.

use super::{BinarySearch, Goal, LoadRange, MlrSearch, Search, Seen, Step};

/// The search for those goals: a binary search for one that a single full-length trial decides,
/// which is what RFC 2544 and TST 009 describe; for any other, and for several of the same final
/// duration, MLRsearch; and one after the other, short trials first, where final durations differ.
pub fn begin(goals: &[Goal], range: LoadRange) -> Box<dyn Search> {
    let mut durations: Vec<_> = goals.iter().map(|goal| goal.final_duration).collect();
    durations.sort_unstable();
    durations.dedup();
    let mut parts = durations.iter().map(|duration| {
        let own = |at: &usize| goals[*at].final_duration == *duration;
        let places: Vec<usize> = (0..goals.len()).filter(own).collect();
        let goals: Vec<Goal> = places.iter().map(|at| goals[*at]).collect();
        Part { search: alike(goals, range), places }
    });
    match (parts.next(), parts.next()) {
        (None, _) => alike(Vec::new(), range),
        (Some(only), None) => only.search,
        (Some(first), Some(second)) => {
            Box::new(Series { parts: [first, second].into_iter().chain(parts).collect() })
        }
    }
}

/// For goals of one final duration.
fn alike(goals: Vec<Goal>, range: LoadRange) -> Box<dyn Search> {
    match goals[..] {
        [goal] if goal.one_pass_decides() => Box::new(BinarySearch::new(goal, range)),
        _ => Box::new(MlrSearch::new(goals, range)),
    }
}

struct Series {
    parts: Vec<Part>,
}

/// A search, and which of all goals are its own.
struct Part {
    search: Box<dyn Search>,
    places: Vec<usize>,
}

impl Search for Series {
    fn next(&self) -> Step {
        let mut results = Vec::new();
        for part in &self.parts {
            match part.search.next() {
                Step::Try(attempt) => return Step::Try(attempt),
                Step::Done(own) => results.extend(part.places.iter().copied().zip(own)),
            }
        }
        results.sort_by_key(|(place, _)| *place);
        Step::Done(results.into_iter().map(|(_, result)| result).collect())
    }

    fn learn(&mut self, seen: Seen) {
        let under_way = |part: &&mut Part| matches!(part.search.next(), Step::Try(_));
        if let Some(part) = self.parts.iter_mut().find(under_way) {
            part.search.learn(seen);
        }
    }
}
