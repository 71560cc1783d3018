//! Searches for several goals with different trial durations: one search per duration, one after
//! the other.
//!
//! RFC 9971 §4.6.1 recommends one final trial duration for all goals of a search, and rightly. A
//! single trial of 60 s outweighs the 21 of one second behind a non-drop rate, so that one stall in
//! it would move a quantity meant to tolerate stalls. Owns the order; never a load.

use super::{BinarySearch, Goal, LoadRange, MlrSearch, Search, Seen, Step};

/// Returns the search for those goals. A goal that a single full-length trial decides gets a binary
/// search, as RFC 2544 and TST 009 describe. Any other goal, and several with the same final
/// duration, get MLRsearch. Goals with different final durations are searched one after the other,
/// short trials first.
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

/// Search for goals of one final duration.
fn alike(goals: Vec<Goal>, range: LoadRange) -> Box<dyn Search> {
    match goals[..] {
        [goal] if goal.one_pass_decides() => Box::new(BinarySearch::new(goal, range)),
        _ => Box::new(MlrSearch::new(goals, range)),
    }
}

struct Series {
    parts: Vec<Part>,
}

/// Search, with the indices of its goals among all.
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
