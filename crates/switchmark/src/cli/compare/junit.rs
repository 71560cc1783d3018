//! A comparison as test cases: one a figure. A worse figure fails; one of which nothing is shown,
//! or that cannot be put down to the device, is skipped and says why.
//!
//! Never decides; it only words.

use page::{LEAST_CONFIDENCE, RANGE};
use study::comparison::{Baseline, Compared, Row};

use crate::cli::junit::{self, Case, Ended};

/// The document.
pub fn document(compared: &Compared) -> String {
    let name = format!("{} compared with {}", compared.subject, compared.reference);
    let case = |row: &Row| Case {
        name: row.label(),
        said: describe_row(row),
        ended: ended(row, compared),
    };
    let lacking = |name: &String| Case {
        name: name.clone(),
        said: format!("measured of {} alone", compared.reference),
        ended: Ended::Skipped("not measured".to_owned()),
    };
    let cases: Vec<Case> =
        compared.rows.iter().map(case).chain(compared.lacking.iter().map(lacking)).collect();
    junit::document(&name, "compare", &cases)
}

fn ended(row: &Row, compared: &Compared) -> Ended {
    if !compared.attribution.is_given() {
        return Ended::Skipped(compared.attribution.sentence());
    }
    match row.against_baseline(compared.margin) {
        Baseline::Kept => Ended::Passed,
        Baseline::Worse => Ended::Failed("worse".to_owned()),
        Baseline::Inconclusive => Ended::Skipped("inconclusive".to_owned()),
    }
}

fn describe_row(row: &Row) -> String {
    let own = &row.comparison;
    let interval = match own.interval.confidence {
        sure if sure >= LEAST_CONFIDENCE => format!("{:.1} % CI", sure * 100.0),
        _ => RANGE.to_owned(),
    };
    format!(
        "{}: {:.4}, {interval} {:.4} to {:.4}, margin {:.4}",
        own.decision.as_str(),
        own.value,
        own.interval.low,
        own.interval.high,
        own.margin
    )
}
