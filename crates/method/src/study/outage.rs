//! How long a device was away, told beside the same load without the deed that took it away.
//!
//! Owns when an interruption is the device's and not the tester's own. Never looks at a record.

use measure::quantile::median;

use super::rows::Row;
use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Figure, Metric, Unit};

/// Repetitions from which on the first of these holds.
pub(super) const REPEATS: u32 = 3;
/// An outage is shown where each trial with the deed has more than so many times what any without
/// one had: of three deeds and four controls all three come out highest once in 35 by chance
/// alone.
const BEYOND: f64 = 2.0;
/// The same of fewer.
const FAR_BEYOND: f64 = 10.0;

/// What the device was away for, of one estimate, in nanoseconds.
#[derive(Debug, PartialEq)]
pub(super) enum Outage {
    /// So long each time beyond what the tester alone typically shows; in any one trial that may
    /// have been its longest (`shorter` by so much), or nothing (`longer`).
    Shown { each: Vec<f64>, shorter: f64, longer: f64 },
    /// No longer than so, if at all.
    AtMost(f64),
    /// Nothing to tell it by, or no control.
    Untold,
}

/// How finely trials tell an outage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolution {
    /// Nanoseconds between frames: where none was due nothing was seen.
    pub(super) spacing: f64,
    /// Frames that the device had inside as it went away and that were lost too, at most.
    pub(super) inside: f64,
}

impl Outage {
    /// From what each trial with the deed showed, and each without one.
    pub(super) fn of(deeds: &[f64], controls: &[f64]) -> Self {
        let most = |values: &[f64]| values.iter().copied().max_by(f64::total_cmp);
        let (Some(longest), Some(own)) = (most(deeds), most(controls)) else {
            return Self::Untold;
        };
        let clear = if deeds.len() >= REPEATS as usize { BEYOND } else { FAR_BEYOND };
        if deeds.iter().all(|one| *one > clear * own) {
            let typical = median(controls).unwrap_or(own);
            let each = deeds.iter().map(|one| one - typical).collect();
            Self::Shown { each, shorter: own - typical, longer: typical }
        } else {
            Self::AtMost(longest)
        }
    }

    /// As a figure: without a value where it is only a bound, or nothing.
    pub(super) fn figure(
        &self,
        mut row: Row,
        metric: Metric,
        setting: Setting,
        of: Resolution,
    ) -> Figure {
        // Nothing is done to a cable: what a device does without the deed is the control.
        let setting = Setting { standing: Standing::Beside, ..setting };
        let sight = |seen| Evidence::Sight { seen, in_control: Some(false) }.verdict(setting);
        match self {
            Self::Shown { each, shorter, longer } => {
                row.verdict = sight(true);
                let mut figure = row.over_blocks(metric, Unit::Nanoseconds, each);
                let low = |low: f64| low - shorter - (1.0 + of.inside) * of.spacing;
                figure.low = figure.low.map(low);
                figure.high = figure.high.map(|high| high + longer + of.spacing);
                figure
            }
            Self::AtMost(longest) => {
                row.verdict = sight(false);
                row.caveats.insert(Caveat::NotResolved);
                let mut figure = row.single(metric, Unit::Nanoseconds, None);
                figure.high = Some(longest + of.spacing);
                figure
            }
            Self::Untold => row.single(metric, Unit::Nanoseconds, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_testers_own_gaps_are_no_outage() {
        let own = [150e3, 95e3, 400e3, 210e3];
        for (deeds, controls, expected) in [
            (&[218e3, 95e3, 1_091e3][..], &own[..], Outage::AtMost(1_091e3)),
            (
                &[900e3, 850e3, 1_000e3],
                &own,
                Outage::Shown { each: vec![720e3, 670e3, 820e3], shorter: 220e3, longer: 180e3 },
            ),
            // One control in which the tester lost the processor moves the interval, not the value.
            (
                &[500e6, 500e6, 500e6],
                &[0.0, 62e6, 0.0, 0.0],
                Outage::Shown { each: vec![500e6; 3], shorter: 62e6, longer: 0.0 },
            ),
            // Of one or two, further off.
            (&[900e3, 850e3], &own, Outage::AtMost(900e3)),
            (&[0.0, 0.0, 0.0], &[0.0; 4], Outage::AtMost(0.0)),
            (&[900e3, 850e3, 1_000e3], &[], Outage::Untold),
            (&[], &own, Outage::Untold),
        ] {
            assert_eq!(Outage::of(deeds, controls), expected, "{deeds:?}");
        }
    }
}
