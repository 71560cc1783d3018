//! What any evidence comes to in any setting, table by table.
//!
//! Owns the rules that hold for every kind of evidence; each kind's own are tested beside it, and
//! how often a verdict is wrong in `simulated`.

mod simulated;

use super::Verdict::{DeviceLimited, LinkLimited, TesterLimited, Undetermined};
use super::*;

const BESIDE: Setting = Setting { standing: Standing::Beside, shared_processors: false };

#[test]
fn a_device_alone_is_never_called_the_limit_and_a_cable_is_the_tester_s() {
    let seen = Evidence::Sight { seen: true, in_control: Some(false) };
    for (evidence, beside, alone) in [
        (seen, DeviceLimited, Undetermined),
        (Evidence::Sight { seen: true, in_control: None }, Undetermined, Undetermined),
        (Evidence::Sight { seen: true, in_control: Some(true) }, Undetermined, Undetermined),
        (Evidence::Sight { seen: false, in_control: None }, TesterLimited, TesterLimited),
        (Evidence::Bound, TesterLimited, TesterLimited),
        (Evidence::Nothing, Undetermined, Undetermined),
    ] {
        let on = |standing| evidence.verdict(Setting { standing, ..BESIDE });
        assert_eq!(on(Standing::Beside), beside, "{evidence:?}");
        assert_eq!(on(Standing::Alone), alone, "{evidence:?}");
        assert_eq!(on(Standing::Cable), TesterLimited, "{evidence:?}");
    }
}

#[test]
fn line_rate_is_the_link_s_on_any_path() {
    let reached = RateEvidence {
        link: Some(100.0),
        ..RateEvidence::new(Rates::Paired(&[(99.95, None)]), Driven::No)
    };
    for standing in [Standing::Cable, Standing::Alone, Standing::Beside] {
        let setting = Setting { standing, ..BESIDE };
        assert_eq!(Evidence::Rate(reached).verdict(setting), LinkLimited, "{standing:?}");
    }
}
