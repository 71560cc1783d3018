//! Outage of a device, by comparison with the same load without the deed.
//!
//! Owns the rule that attributes an interruption to the device and not to the tester. Never looks
//! at a record.

use measure::quantile::median;

use super::rows::Row;
use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Figure, Metric, Unit};

/// Number of repetitions from which on [`BEYOND`] applies.
pub(super) const REPEATS: u32 = 3;
/// Factor by which every trial with the deed must exceed any trial without it, to show an outage.
/// With three deeds and four controls, chance makes all three the largest once in 35.
const BEYOND: f64 = 2.0;
/// Factor for fewer repetitions.
const FAR_BEYOND: f64 = 10.0;

/// Outage duration by one estimate, in nanoseconds.
#[derive(Debug, PartialEq)]
pub(super) enum Outage {
    /// Outage of each trial, less the typical interruption by the tester. In any trial, the tester
    /// may have caused more (`shorter`) or nothing (`longer`).
    Shown { each: Vec<f64>, shorter: f64, longer: f64 },
    /// Upper bound of an outage, if there was one.
    AtMost(f64),
    /// Undetermined: no trials or no control.
    Untold,
}

/// Resolution of an outage in the trials.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolution {
    /// Nanoseconds between frames; nothing is observed between them.
    pub(super) spacing: f64,
    /// Maximum number of frames inside the device that were lost with the deed.
    pub(super) inside: f64,
}

impl Outage {
    /// Compares the trials with the deed and those without.
    pub(super) fn from_trials(deeds: &[f64], controls: &[f64]) -> Self {
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

    /// Writes the outage as a figure; without a value for a bound, or if undetermined.
    pub(super) fn figure(
        &self,
        mut row: Row,
        metric: Metric,
        setting: Setting,
        of: Resolution,
    ) -> Figure {
        // A cable has no deed: the device without the deed is the control.
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
            assert_eq!(Outage::from_trials(deeds, controls), expected, "{deeds:?}");
        }
    }
}
