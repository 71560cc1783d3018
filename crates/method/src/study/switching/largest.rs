//! The largest whole number that holds, where all smaller ones do: first by doubling, then by
//! halving.
//!
//! Owns the order of the questions. Never asks one twice. Pure but for what it asks.

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Largest {
    /// The largest that is known to hold; none where not even the first did.
    pub(super) holds: Option<u64>,
    /// The smallest that was seen not to; none where even the highest held.
    pub(super) fails: Option<u64>,
    /// How often was asked.
    pub(super) asked: u64,
    /// No answer could be had to one question, and no more was asked.
    pub(super) broken: bool,
}

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Within {
    /// Known to hold before anything is asked.
    pub(super) known: Option<u64>,
    /// What is asked first.
    pub(super) first: u64,
    /// Nothing above it is asked.
    pub(super) most: u64,
    /// It ends where what holds and what fails are so close, as a share of what fails; or next to
    /// each other.
    pub(super) width: f64,
}

impl Within {
    /// From `first` up to `most`, to the exact number.
    pub(super) const fn exactly(first: u64, most: u64) -> Self {
        Self { known: None, first, most, width: 0.0 }
    }
}

/// Asks for numbers. An answer of none ends it.
pub(super) fn search<E>(
    within: Within,
    mut holds: impl FnMut(u64) -> Result<Option<bool>, E>,
) -> Result<Largest, E> {
    let Within { known, first, most, width } = within;
    let mut found = Largest { holds: known, fails: None, asked: 0, broken: false };
    let mut next = first.clamp(1, most.max(1));
    loop {
        found.asked += 1;
        match holds(next)? {
            Some(true) => found.holds = Some(next),
            Some(false) => found.fails = Some(next),
            None => {
                found.broken = true;
                return Ok(found);
            }
        }
        let low = found.holds.unwrap_or(0);
        next = match found.fails {
            None if low >= most => return Ok(found),
            None => low.saturating_mul(2).min(most),
            Some(high) if high <= low + 1 || (high - low) as f64 <= width * high as f64 => {
                return Ok(found);
            }
            Some(high) => low + (high - low) / 2,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(truth: u64, within: Within) -> Largest {
        let mut asked = Vec::new();
        let found = search::<()>(within, |n| {
            assert!(!asked.contains(&n), "{n} twice");
            asked.push(n);
            Ok(Some(n <= truth))
        });
        found.expect("no error")
    }

    #[test]
    fn the_exact_number_is_found() {
        for truth in [0, 1, 7, 63, 64, 65, 1000, 8190, 65_535, 65_536] {
            let found = find(truth, Within::exactly(64, 65_536));
            assert_eq!(found.holds.unwrap_or(0), truth);
            assert_eq!(found.fails, (truth < 65_536).then_some(truth + 1));
            assert!(found.asked <= 28, "{truth}: {}", found.asked);
        }
    }

    #[test]
    fn it_goes_on_from_what_is_known() {
        let found = find(1_000, Within { known: Some(40), ..Within::exactly(41, 65_536) });
        assert_eq!((found.holds, found.fails), (Some(1_000), Some(1_001)));
        let none = find(40, Within { known: Some(40), ..Within::exactly(41, 65_536) });
        assert_eq!((none.holds, none.fails, none.asked), (Some(40), Some(41), 1));
    }

    #[test]
    fn a_width_ends_it_sooner() {
        let found = find(100_000, Within { width: 0.01, ..Within::exactly(64, 1 << 20) });
        let (low, high) = (found.holds.expect("some"), found.fails.expect("some"));
        assert!(low <= 100_000 && high > 100_000 && (high - low) as f64 <= 0.01 * high as f64);
    }

    #[test]
    fn a_question_without_an_answer_ends_it() {
        let found = search::<()>(Within::exactly(1, 10), |n| Ok((n < 4).then_some(true)));
        let found = found.expect("no error");
        assert_eq!((found.holds, found.fails, found.broken), (Some(2), None, true));
    }
}
