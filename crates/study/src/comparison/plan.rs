//! Check before a run starts whether its repetitions suffice to compare its devices.
//!
//! Owns the count of figures. Never refuses: one figure is always decided first.

use measure::comparison::{ERROR, Shape, blocks_for, least};

use crate::StudySpec;

/// Number of repetitions of a study of several devices, and of compared figures per device if known
/// beforehand; `None` for one device.
fn compared(study: &StudySpec) -> Option<(u32, Option<usize>)> {
    let (mut alone, blocks) = study.in_one_block()?;
    let figures = alone.varied().compared_figures();
    (study.subjects().len() > 1).then_some((blocks, figures))
}

/// Largest number of figures of two devices that this many repetitions can decide.
pub fn decidable(blocks: u32) -> usize {
    (ERROR / least(Shape::Interleaved(blocks as usize))) as usize
}

/// Note before the start: `10 repetitions decide up to 25 figures of two devices`; `None` if
/// nothing will be compared.
pub fn before_start(studies: &[StudySpec]) -> Option<String> {
    let all: Vec<(u32, Option<usize>)> = studies.iter().filter_map(compared).collect();
    let blocks = all.iter().map(|one| one.0).min()?;
    let known: usize = all.iter().filter_map(|one| one.1).sum();
    let able = decidable(blocks);
    let repetitions = if blocks == 1 { "1 repetition" } else { &format!("{blocks} repetitions") };
    if able == 0 {
        let least = blocks_for(1, true);
        return Some(format!(
            "{repetitions} cannot tell two devices apart: at least {least} are needed (--blocks {least})"
        ));
    }
    if known > able {
        let needed = blocks_for(known, true);
        return Some(format!(
            "{repetitions} decide the first figure of two devices, not all {known}: {needed} are \
             needed for that (--blocks {needed})"
        ));
    }
    Some(format!("{repetitions} decide up to {able} figures of two devices"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LatencySpec;
    use trial::Subject;

    #[test]
    fn what_so_many_repetitions_decide() {
        let study = |blocks, devices: usize| {
            let subject = |at| Subject { device: format!("sw{at}"), variant: None };
            let subjects = (0..devices).map(subject).collect();
            StudySpec::Latency(LatencySpec { subjects, blocks, ..LatencySpec::quick() })
        };
        for (blocks, devices, said) in [
            (10, 1, None),
            (10, 2, Some("10 repetitions decide up to 25 figures of two devices")),
            (6, 2, Some("6 repetitions decide the first figure of two devices, not all 12: 9 are")),
            (5, 2, Some("5 repetitions cannot tell two devices apart: at least 6 are needed")),
            (1, 2, Some("1 repetition cannot tell")),
        ] {
            let found = before_start(&[study(crate::Blocks::known(blocks), devices)]);
            assert_eq!(found.is_some(), said.is_some(), "{blocks} {devices}");
            let begins = found.unwrap_or_default().starts_with(said.unwrap_or_default());
            assert!(begins, "{blocks} {devices}");
        }
    }
}
