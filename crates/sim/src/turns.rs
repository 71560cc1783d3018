//! Due times of a paced load's frames: frame i at start + i * gap, floor(load / gap) of them, as
//! all testers here count them. A falling load is two of these in sequence.
//!
//! Pure arithmetic; uses no events for frames that can be calculated.

use measure::{FrameRate, Nanos, Picos};

/// Rounding of load / gap: 1 s at a gap of 1e12/30000 ps is 30,000 frames, not 29,999.
const ROUNDING: f64 = 1e-6;

const PICOS_PER_SECOND: f64 = 1e12;

/// Turns at a constant gap.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: Picos,
    gap: f64,
    turns: u64,
}

impl Part {
    fn new(start: Picos, load: Picos, rate: FrameRate) -> Self {
        let gap = PICOS_PER_SECOND / rate.0;
        Self { start, gap, turns: (load.0 as f64 / gap + ROUNDING).floor() as u64 }
    }

    #[inline]
    fn due(&self, turn: u64) -> Picos {
        self.start + Picos((turn as f64 * self.gap) as u64)
    }

    /// Number of turns due by `now`.
    fn come(&self, now: Picos) -> u64 {
        if now < self.start {
            return 0;
        }
        let passed = ((now - self.start).0 as f64 / self.gap) as u64;
        // Rounding: the next turn may be due already, or this one not yet.
        let certain = passed.saturating_sub(1);
        let come = (certain..certain + 3).take_while(|turn| self.due(*turn) <= now).count() as u64;
        (certain + come).min(self.turns)
    }
}

/// Due times of one load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    first: Part,
    second: Option<Part>,
}

impl Turns {
    /// Schedules frames at a constant rate for the given time.
    pub(crate) fn paced(start: Picos, load: Nanos, rate: FrameRate) -> Self {
        Self { first: Part::new(start, load.into(), rate), second: None }
    }

    /// Changes from one rate to another, `after` the start.
    pub(crate) fn falling(
        start: Picos,
        load: Nanos,
        from: FrameRate,
        to: FrameRate,
        after: Nanos,
    ) -> Self {
        let after = after.min(load);
        let first = Part::new(start, after.into(), from);
        let second = Part::new(start + after.into(), load.saturating_sub(after).into(), to);
        Self { first, second: Some(second) }
    }

    /// Shortest gap between two turns.
    pub(crate) fn shortest_gap(&self) -> Picos {
        let second = self.second.map_or(f64::INFINITY, |part| part.gap);
        Picos(self.first.gap.min(second) as u64)
    }

    /// Total number of turns.
    pub(crate) fn total(&self) -> u64 {
        self.first.turns + self.second.map_or(0, |part| part.turns)
    }

    /// Due time of a turn; [`Picos::MAX`] past the last.
    #[inline]
    pub(crate) fn due(&self, turn: u64) -> Picos {
        if turn < self.first.turns {
            return self.first.due(turn);
        }
        let turn = turn - self.first.turns;
        match self.second {
            Some(part) if turn < part.turns => part.due(turn),
            _ => Picos::MAX,
        }
    }

    /// Number of turns due by `now`.
    pub(crate) fn come(&self, now: Picos) -> u64 {
        let first = self.first.come(now);
        match self.second {
            Some(part) if first == self.first.turns => first + part.come(now),
            _ => first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Picos = Picos(5_000_000);

    #[test]
    fn turns_come_when_they_are_due() {
        let second = Nanos::from_secs(1);
        let table = [
            Turns::paced(START, second, FrameRate(30_000.0)),
            Turns::paced(START, second, FrameRate(1_488_095.238)),
            Turns::falling(START, second, FrameRate(7_000.0), FrameRate(3.0), second / 2),
        ];
        for (turns, total) in table.into_iter().zip([30_000, 1_488_095, 3_501]) {
            assert_eq!(turns.total(), total);
            assert_eq!(turns.due(0), START);
            assert_eq!(turns.due(total), Picos::MAX);
            for turn in (0..total).step_by(997) {
                let due = turns.due(turn);
                assert_eq!(turns.come(due), turn + 1);
                assert_eq!(turns.come(due.saturating_sub(Picos(1))), turn, "{turn} of {total}");
            }
            assert_eq!(turns.come(Picos(u64::MAX / 2)), total);
        }
    }
}
